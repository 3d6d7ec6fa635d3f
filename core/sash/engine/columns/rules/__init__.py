"""Rules: each knows which windows of one window type are complete, over columns."""
