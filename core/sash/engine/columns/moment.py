"""Rows, slices and windows as the rules of windows see them, and what a rule is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sash.engine.columns.keys import Array, Keys, Marks, bounds
from sash.engine.columns.table import View

__all__ = ["Found", "Moment", "Pairs", "Rows", "Rule"]


@dataclass(frozen=True)
class Rows:
    """Rows in the order of keys and time, ready to be sliced. ``codes`` is None for the rows of the only key."""

    codes: Array | None
    times: Array
    columns: Mapping[str, Array]
    settled: Array
    """How many tuples of each key are before these."""
    tied: Array | None = None
    """See :class:`sash.engine.columns.state.Pending`."""

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def begins(self) -> Array:
        """Where the rows of each key that has some begin, and the end."""
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
    """Neighbouring slices of one key: when the older ends and the younger begins, and at which position."""

    code: Array
    before: Array
    after: Array
    position: Array


@dataclass(frozen=True)
class Moment:
    """A batch as the windows see it: the keys before and after it, its rows in order, if any."""

    before: Keys
    after: Keys
    marks: Mapping[str | None, Marks]
    rows: Rows | None = None
    edges: dict[int, tuple[Array, ...]] = field(default_factory=dict)
    """What rows bring as edges, keys first, by the window's place."""

    def turns(self, codes: Array, positions: Array) -> Array:
        """When, among all that becomes complete at one time, what the tuples at positions bring comes.

        -1 is at once, when the watermark arrives there; a tied row is later, at its position.
        """
        rows = self.rows
        if rows is None or rows.tied is None:
            return np.full(len(codes), -1)
        begin = np.zeros(len(self.after), np.int64)
        begin[rows.keys] = rows.begins[:-1]
        own = positions >= rows.settled[codes]
        at = np.where(own, begin[codes] + positions - rows.settled[codes], 0)
        return np.where(own & rows.tied[at], positions, -1)

    @cached_property
    def latest(self) -> Array:
        """The time of each key's last row."""
        latest = np.full(len(self.after), self.low)
        if self.rows is not None:
            latest[self.rows.keys] = self.rows.times[self.rows.begins[1:] - 1]
        return latest

    @property
    def low(self) -> Any:
        """A time before all."""
        return bounds(self.after.watermark.dtype)[0]

    @property
    def high(self) -> Any:
        """A time behind all."""
        return bounds(self.after.watermark.dtype)[1]


@dataclass(frozen=True)
class Found:
    """Complete windows: of which key, which window, where they lie, when they became complete, which slices."""

    code: Array
    place: Array
    start: Array
    end: Array
    completion: Array
    lo: Array
    hi: Array
    position: Array | None = None
    """The position of the tuple that completes it; None: time does."""

    def __len__(self) -> int:
        return len(self.code)

    def take(self, which: Any) -> Found:
        arrays: Any = [getattr(self, each.name) for each in fields(self)]
        taken: Any = (None if array is None else array[which] for array in arrays)
        return Found(*taken)


class Rule:
    """What is particular to one type of window, or to all windows of that type at once."""

    counts: bool = False
    """Whether its edges are positions, so that its results come behind others at the same time."""
    cuts_all: bool = False
    """Whether it cuts before every row."""
    reconsiders: ClassVar[bool] = False
    """Whether it cuts where there may turn out to be no edge."""

    def cut(self, rows: Rows, moment: Moment, cut: Array) -> None:
        """Mark the rows before which an edge lies."""

    def parted(self, pairs: Pairs, moment: Moment) -> Array:
        """Whether an edge lies between two slices."""
        return np.zeros(len(pairs.code), np.bool_)

    def unsure(self, view: View, moment: Moment) -> Array:
        """The slices before which there may turn out to be no edge."""
        raise NotImplementedError

    def complete(self, view: View, moment: Moment) -> Found | None:
        """The windows that are complete now and were not before, key by key, by their end."""
        raise NotImplementedError

    def needed(self, view: View, moment: Moment) -> Array:
        """For each key the first slice that a window to come may cover."""
        raise NotImplementedError

    def begins(self, view: View, moment: Moment) -> Array:
        """Whether a window to come can begin with a slice: for each slice from the first that is needed on."""
        return np.arange(len(view.table)) >= self.needed(view, moment)[view.table.code]
