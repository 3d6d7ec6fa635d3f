"""The engine: the planner, and lanes that run row by row or by columns."""
