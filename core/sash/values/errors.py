"""Warnings that every layer may issue."""

from __future__ import annotations

__all__ = ["PerformanceWarning"]


class PerformanceWarning(UserWarning):
    """Something runs in a slower way than it could; the message says why."""
