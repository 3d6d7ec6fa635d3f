"""Kernels for windows that slide over an array."""
