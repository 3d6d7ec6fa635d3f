"""The same jobs on clusters of containers, with faults. See docs/clusters.md."""
