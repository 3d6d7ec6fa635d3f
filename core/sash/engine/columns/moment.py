"""Keys, rows, slices and windows as the rules of windows see them, as arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from sash.state.time_columns import TIME_BOUNDS
from sash.values.arrays import concatenate
from sash.values.shares import Span, span_of

__all__ = ["CompleteWindows", "Keys", "Marks", "Moment", "Pairs", "Pending", "Rows", "bounds", "constant", "evolve"]

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
        for column in fields(self):
            array = getattr(self, column.name)
            timely = column.name in ("watermark", "newest", "direct_until")
            if timely and array.dtype != dtype:
                below, above = bounds(dtype)
                array = np.where(array == low, below, np.where(array == high, above, array.astype(dtype)))
            new = np.full(size - known, bounds(dtype)[0] if timely else 0, array.dtype)
            changes[column.name] = np.concatenate([array, new])
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


@dataclass(frozen=True)
class Pending:
    """Rows in the order of arrival: those of a batch, or those that wait.

    ``tied`` marks rows whose time the watermark had reached before they came; None: it does not matter. What they
    bring comes after all else that became complete at that time. ``before`` is the watermark before each row came,
    where some are late and can correct results; None: none is.
    """

    codes: Array
    times: Array
    columns: Mapping[str, Array]
    tied: Array | None = None
    before: Array | None = None

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def span(self) -> Span:
        """The span of the times of some rows. O(rows), once."""
        return span_of(self.times)

    def take(self, which: Any) -> Pending:
        columns = {name: column[which] for name, column in self.columns.items()}
        tied = None if self.tied is None else self.tied[which]
        before = None if self.before is None else self.before[which]
        return Pending(self.codes[which], self.times[which], columns, tied, before)

    def append(self, other: Pending) -> Pending:
        if not len(self) or not len(other):
            return self if len(self) else other
        columns = {name: concatenate(column, other.columns[name]) for name, column in self.columns.items()}
        codes, times = np.concatenate([self.codes, other.codes]), np.concatenate([self.times, other.times])
        waited = np.zeros(len(self), np.bool_)  # the watermark had not arrived, or they would not wait
        return Pending(codes, times, columns, None if other.tied is None else np.concatenate([waited, other.tied]))


@dataclass(frozen=True)
class Rows:
    """Rows in the order of keys and time, ready to be sliced. ``codes`` is None for the rows of the only key."""

    codes: Array | None
    times: Array
    columns: Mapping[str, Array]
    settled: Array
    """How many tuples of each key precede these rows."""
    tied: Array | None = None
    """See :class:`Pending`."""

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def begins(self) -> Array:
        """Where the rows of each key start, for keys that have rows, and the end."""
        if self.codes is None:
            return np.array([0, len(self.times)])
        change = np.flatnonzero(self.codes[1:] != self.codes[:-1]) + 1
        return np.concatenate([[0], change, [len(self.codes)]])

    @cached_property
    def keys(self) -> Array:
        """The keys that have rows."""
        return np.zeros(1, np.int64) if self.codes is None else self.codes[self.begins[:-1]]

    @cached_property
    def positions(self) -> Array:
        """The position of each row among the tuples of its key."""
        shift = self.settled[self.keys] - self.begins[:-1]
        return np.asarray(np.arange(len(self.times)) + np.repeat(shift, np.diff(self.begins)))

    @cached_property
    def each_code(self) -> Array:
        """The key of each row."""
        return np.zeros(len(self.times), np.int64) if self.codes is None else self.codes


@dataclass(frozen=True)
class Pairs:
    """Neighbouring slices of one key: the last time of the older, the first time and position of the younger."""

    code: Array
    before: Array
    after: Array
    position: Array


@dataclass(frozen=True)
class Moment:
    """A batch as windows see it: the keys before and after it, and its rows in order, if any."""

    before: Keys
    after: Keys
    marks: Mapping[str | None, Marks]
    rows: Rows | None = None
    edges: dict[int, tuple[Array, ...]] = field(default_factory=dict)
    """The edges that rows set, by the window's place: arrays, of which the first holds keys."""

    def turns(self, windows: CompleteWindows) -> Array | None:
        """The rank of each window among those that complete at the same time; None: ranks do not matter.

        -1: completed by the watermark; else the position of the tied row that completed it.
        """
        rows, codes, positions = self.rows, windows.code, windows.position
        if rows is None or rows.tied is None or positions is None:
            return None
        begin = np.zeros(len(self.after), np.int64)
        begin[rows.keys] = rows.begins[:-1]
        in_batch = positions >= rows.settled[codes]
        at = np.where(in_batch, begin[codes] + positions - rows.settled[codes], 0)
        return np.where(in_batch & rows.tied[at], positions, -1)

    @cached_property
    def latest(self) -> Array:
        """The time of each key's last row."""
        latest = np.full(len(self.after), self.low)
        if self.rows is not None:
            latest[self.rows.keys] = self.rows.times[self.rows.begins[1:] - 1]
        return latest

    @property
    def low(self) -> Any:
        """The time before all others."""
        return bounds(self.after.watermark.dtype)[0]

    @property
    def high(self) -> Any:
        """The time after all others."""
        return bounds(self.after.watermark.dtype)[1]


@dataclass(frozen=True)
class CompleteWindows:
    """Complete windows: their keys, places in the lane, bounds, times of completion, and ranges of slices."""

    code: Array
    place: Array
    start: Array
    end: Array
    completion: Array
    lo: Array
    hi: Array
    position: Array | None = None
    """The position of the completing tuple; None: time completes windows."""
    early: Array | None = None
    """Which are not complete, but early results; None: none is."""

    def __len__(self) -> int:
        return len(self.code)

    @staticmethod
    def concatenate(parts: Sequence[CompleteWindows]) -> CompleteWindows:
        """The windows of all parts."""
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return CompleteWindows(*(np.zeros(0, np.int64) for _ in range(7)))
        positions = [np.full(len(part), -1) if part.position is None else part.position for part in parts]
        early = None
        if any(part.early is not None for part in parts):
            early = np.concatenate([np.full(len(part), part.early is not None) for part in parts])
        names = [array.name for array in fields(CompleteWindows)][:-2]
        whole = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return CompleteWindows(**whole, position=np.concatenate(positions), early=early)

    def take(self, which: Any) -> CompleteWindows:
        arrays: Any = [getattr(self, array.name) for array in fields(self)]
        kept: Any = (None if array is None else array[which] for array in arrays)
        return CompleteWindows(*kept)
