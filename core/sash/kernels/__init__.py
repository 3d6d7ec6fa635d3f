"""Compiled loops over columns, made from the functions of aggregations. Importing this package imports no Numba."""
