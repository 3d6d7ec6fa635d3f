"""What is said of states that are too large for Spark to write them in each micro-batch."""

from __future__ import annotations

import warnings

from sash import PerformanceWarning

__all__ = ["LARGE", "WIDE", "warn_large", "warn_wide"]

LARGE = 16 << 20
"""From so many bytes on, a bucket's state is worth a warning, which is in the log of the worker."""
WIDE = 1 << 16
"""A window of so many slices is about a megabyte of state for each key."""


def warn_large(size: int, number: int, keys: int) -> None:
    """Say so if what is written of a bucket in each micro-batch is much."""
    if size > LARGE:
        warnings.warn(
            f"the state of bucket {number} with {keys} keys has {size >> 20} MB, which Spark writes whole in each "
            "micro-batch: use longer slides or more buckets, forget silent keys (ttl=), or keep it in parts (state=)",
            PerformanceWarning,
            stacklevel=3,
        )


def warn_wide(slices: int, reason: str) -> None:
    """Say before anything runs that windows have too many slices for a state that is, for a reason, written whole."""
    if slices >= WIDE:
        warnings.warn(
            f"a window has {slices:,} slices, and the state of each key, some {slices >> 16} MB, is written whole in "
            f"each micro-batch: use a longer slide, or have Spark keep it in parts ({reason})",
            PerformanceWarning,
            stacklevel=4,
        )
