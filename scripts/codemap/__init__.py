"""The map of the source: its modules by layer, their sizes, and counts that say how far each idea is in one place."""
