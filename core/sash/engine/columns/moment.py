"""Rows, slices and windows as the rules of windows see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from sash.engine.columns.keys import Array, Keys, Marks, bounds
from sash.values.arrays import concatenate

__all__ = ["CompleteWindows", "Moment", "Pairs", "Pending", "Rows"]


@dataclass(frozen=True)
class Pending:
    """Rows in the order of arrival: those of a batch, or those that wait.

    ``tied`` tells the rows at whose time the watermark had arrived before them; None: it does not matter. What they
    bring comes after all else that became complete at that time.
    """

    codes: Array
    times: Array
    columns: Mapping[str, Array]
    tied: Array | None = None

    def __len__(self) -> int:
        return len(self.times)

    def take(self, which: Any) -> Pending:
        columns = {name: column[which] for name, column in self.columns.items()}
        tied = None if self.tied is None else self.tied[which]
        return Pending(self.codes[which], self.times[which], columns, tied)

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
        names = [array.name for array in fields(CompleteWindows)][:-1]
        whole = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return CompleteWindows(**whole, position=np.concatenate(positions))

    def take(self, which: Any) -> CompleteWindows:
        arrays: Any = [getattr(self, array.name) for array in fields(self)]
        kept: Any = (None if array is None else array[which] for array in arrays)
        return CompleteWindows(*kept)
