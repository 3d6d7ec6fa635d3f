"""State by key, and by key and window, as arrays over the keys."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from sash.state.time_columns import TIME_BOUNDS

__all__ = ["Keys", "Marks", "bounds", "constant", "evolve"]

Array = np.ndarray[Any, Any]
_Record = TypeVar("_Record")
bounds = TIME_BOUNDS.__getitem__
"""What stands for no time, and for one behind all, in times of a type. O(1)."""


def evolve(record: _Record, **changes: Any) -> _Record:
    """A copy with some fields replaced: ``dataclasses.replace``, ten times as fast."""
    other = object.__new__(type(record))
    other.__dict__.update(record.__dict__, **changes)
    return other


def constant(value: int, size: int) -> Array:
    """An array that repeats one number. Read-only: a large one takes no memory."""
    return np.full(size, value) if size < 1 << 16 else np.broadcast_to(np.int64(value), size)


@dataclass(frozen=True)
class Keys:
    """What is known of each key, an array each. A missing time is before all times."""

    watermark: Array
    newest: Array
    accepted: Array
    settled: Array
    """How many tuples have been put into slices so far."""
    dropped: Array
    results: Array
    evicted: Array
    """The number of the first slice (:class:`sash.state.lane_state.LaneState`)."""
    direct_until: Array

    @staticmethod
    def none(dtype: Any) -> Keys:
        """No key yet."""
        times, counts = np.zeros(0, dtype), np.zeros(0, np.int64)
        return Keys(times, times, counts, counts, counts, counts, counts, times)

    def extend(self, size: int, dtype: Any, watermark: Any) -> Keys:
        """Add keys up to ``size`` and convert times to ``dtype``; new keys start at ``watermark``."""
        known = len(self.watermark)
        low, high = bounds(self.watermark.dtype)
        changes = {}
        for field in fields(self):
            array = getattr(self, field.name)
            timely = field.name in ("watermark", "newest", "direct_until")
            if timely and array.dtype != dtype:
                below, above = bounds(dtype)
                array = np.where(array == low, below, np.where(array == high, above, array.astype(dtype)))
            new = np.full(size - known, bounds(dtype)[0] if timely else 0, array.dtype)
            changes[field.name] = np.concatenate([array, new])
        if watermark is not None:
            changes["watermark"][known:] = bounds(dtype)[1] if watermark == math.inf else watermark
        return evolve(self, **changes)

    def __len__(self) -> int:
        return len(self.watermark)


@dataclass(frozen=True)
class Marks:
    """State of one window by key: since when it exists, and the last edge that a tuple set.

    None: it existed from the start; no tuple sets edges.
    """

    since: Array | None = None
    since_count: Array | None = None
    edge: Array | None = None

    def extend(self, size: int, dtype: Any) -> Marks:
        """Add keys up to ``size``, for which the window exists from the start."""
        low, _ = bounds(dtype)
        return Marks(_longer(self.since, size, low), _longer(self.since_count, size, 0), _longer(self.edge, size, low))

    def take(self, which: Any) -> Marks:
        """The state of some of the keys."""
        return Marks(*(None if array is None else array[which] for array in (self.since, self.since_count, self.edge)))


def _longer(array: Array | None, size: int, filling: Any) -> Array | None:
    if array is None:
        return None
    dtype = np.asarray(filling).dtype
    if array.dtype != dtype:
        array = np.where(array == bounds(array.dtype)[0], filling, array.astype(dtype))
    longer: Array = np.concatenate([array, np.full(size - len(array), filling, dtype)])
    return longer
