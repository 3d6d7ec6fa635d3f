"""General stream slicing: slices, their store and what manages them, for rows and for columns."""
