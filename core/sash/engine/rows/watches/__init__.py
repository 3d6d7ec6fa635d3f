"""Watches: each knows which windows of one window type are complete, row by row."""
