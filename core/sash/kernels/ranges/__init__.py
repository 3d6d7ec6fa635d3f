"""Kernels for totals of ranges of slices."""
