"""The base of rules: a rule holds all that is particular to one window type, over columns.

Of periodic edges, edge k lies at ``offset + k · slide``, or ``shift`` behind that where a window ends elsewhere than
others begin. Numbers of edges have the type of times: whole, or float, where a quotient may be one off and is put
right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import singledispatch
from typing import Any, ClassVar

import numpy as np

from sash.engine.columns.moment import Array, CompleteWindows, Keys, Marks, Moment, Pairs, Rows
from sash.engine.columns.table import View
from sash.windows import TimeWindow, Window

__all__ = ["Covering", "Grid", "Periods", "Rule", "SingleRule", "Windows", "first_rows", "least", "numbered", "rule_of"]


class Periods:
    """Windows [offset + k · slide, + range), or edges, by their numbers; each an array over the windows."""

    def __init__(self, numbers: Sequence[tuple[Any, Any, Any]], dtype: Any) -> None:
        self.range, self.slide, self.offset = (
            np.array([window[i] for window in numbers], dtype).reshape(-1) for i in range(3)
        )
        self.whole = self.slide.dtype.kind == "i"

    def __len__(self) -> int:
        return len(self.slide)

    def of(self, which: Any) -> Periods:
        """Those of the given places."""
        part = object.__new__(Periods)
        part.range, part.slide, part.offset, part.whole = (
            self.range[which],
            self.slide[which],
            self.offset[which],
            self.whole,
        )
        return part

    @property
    def tumble(self) -> bool:
        """Whether each time lies in one window, to be found without rounding."""
        return self.whole and bool((self.range == self.slide).all())

    def start(self, k: Array) -> Array:
        """Where window k begins."""
        start: Array = self.offset + k * self.slide
        return start

    def end(self, k: Array) -> Array:
        """Where window k ends."""
        end: Array = self.start(k) + self.range
        return end

    def index(self, time: Array) -> Array:
        """The largest k whose window begins at or before ``time``."""
        k: Array = (time - self.offset) // self.slide if self.whole else np.floor((time - self.offset) / self.slide)
        if self.whole:
            return k
        for _ in range(4):
            k = k - (self.start(k) > time)
        for _ in range(4):
            k = k + (self.start(k + 1) <= time)
        return k

    def first_behind(self, time: Array) -> Array:
        """The first k whose window ends behind ``time``."""
        behind = time - self.offset - self.range
        k: Array = (behind // self.slide if self.whole else np.floor(behind / self.slide)) + 1
        if self.whole:
            return k
        for _ in range(4):
            k = k + (self.end(k) <= time)
        for _ in range(4):
            k = k - (self.end(k - 1) > time)
        return k


class Grid:
    """Several sets of periodic edges together."""

    def __init__(self, numbers: Sequence[tuple[Any, Any, Any]], dtype: Any) -> None:
        self.sets = Periods(numbers, dtype)
        self._whole = [(slide, offset) for _, slide, offset in numbers] if self.sets.whole else []

    @staticmethod
    def of(windows: Iterable[TimeWindow], dtype: Any) -> Grid:
        """The bounds of all these windows, each set of edges once."""
        numbers: dict[tuple[Any, Any, Any], None] = {}
        for window in windows:
            range_, slide, offset = window.numbers
            numbers[_reduced(0, slide, offset, dtype)] = None
            if not window.aligned:  # of floats, even where range and slide are equal: sums are rounded
                numbers[_reduced(range_, slide, offset, dtype)] = None
        return Grid(list(numbers), dtype)

    def __len__(self) -> int:
        return len(self.sets)

    def between(self, low: Any, high: Any, most: int) -> Array | None:
        """All edges in (low, high], in order; None if there are more than ``most``."""
        if len(self._whole) == 1:  # with single numbers NumPy is slow
            slide, offset = self._whole[0]
            first, last = (int(low) - offset) // slide + 1, (int(high) - offset) // slide
            return None if last - first >= most else np.arange(first, last + 1) * slide + offset
        before, upto = self._last(self.sets, low), self._last(self.sets, high)
        counts = np.maximum(upto - before, 0)
        if counts.sum(dtype=np.float64) > most:
            return None
        which, k = numbered(before + 1, counts)
        edges = self.sets.of(which).end(k)
        return np.unique(edges) if len(self.sets) > 1 else edges

    def crossed(self, before: Array, after: Array) -> Array:
        """Whether an edge lies in (before, after]."""
        if len(before) == 1 and 0 < len(self._whole) < 8:
            low, high = int(before[0]), int(after[0])
            return np.array([any((low - o) // s != (high - o) // s for s, o in self._whole)])
        crossed = np.zeros(len(before), np.bool_)
        block = max(1, (1 << 20) // max(1, len(before)))
        for i in range(0, len(self.sets), block):
            sets = self.sets.of(slice(i, i + block))
            crossed |= (self._last(sets, before[:, None]) != self._last(sets, after[:, None])).any(axis=1)
        return crossed

    def cut(self, times: Array, cut: Array) -> None:
        """Mark the times that an edge separates from the previous one."""
        for i in range(len(self.sets)):
            last = self._last(self.sets.of(i), times)
            cut[1:] |= last[1:] != last[:-1]

    @staticmethod
    def _last(sets: Periods, time: Any) -> Array:
        """The last edge at or before ``time``, of each set."""
        return sets.first_behind(time) - 1


def numbered(first: Array, counts: Array) -> tuple[Array, Array]:
    """(i, first[i] + j) for each i and each j below counts[i].

    >>> numbered(np.array([5, 9, 2]), np.array([2, 0, 3]))
    (array([0, 0, 2, 2, 2]), array([5, 6, 2, 3, 4]))
    """
    counts = counts.astype(np.int64)
    which = np.repeat(np.arange(len(counts)), counts)
    begins = np.cumsum(counts) - counts
    return which, first[which] + (np.arange(len(which)) - begins[which]).astype(first.dtype)


def _reduced(shift: Any, slide: Any, offset: Any, dtype: Any) -> tuple[Any, Any, Any]:
    return (0, slide, (offset + shift) % slide) if np.dtype(dtype).kind == "i" else (shift, slide, offset)


def first_rows(parted: Array, starts: Array) -> Array:
    """The rows that begin a window: those that are ``parted`` from the previous row, and the first of each key."""
    begins = np.ones(len(parted) + 1, np.bool_)
    begins[1:] = parted
    begins[starts[:-1][starts[:-1] < starts[1:]]] = True
    return np.flatnonzero(begins)


def least(times: Array) -> Iterator[Any]:
    """The least of some times, if there is any."""
    if len(times):
        yield times.min()


Windows = Mapping[int, tuple[str | None, Any]]
"""Windows and their names, by their places in the lane."""


Covering = tuple[Array, Array, Array, Array]
"""Windows around rows: which row, the window's place, its start and end."""


class Rule:
    """The rule of windows of one type. ``limit`` is the largest time whose windows' ends do not overflow."""

    joint: ClassVar[bool] = False
    """Whether one rule serves all windows of its type; else each window has its own."""
    counts: bool = False
    """Whether its edges are positions: its results then follow others of the same time."""
    timely: bool = False
    """Whether times alone decide its edges: tuples can then be sliced in any order."""
    scatters: ClassVar[bool] = True
    """Whether all edges of an interval can be listed."""
    cuts_all: bool = False
    """Whether it cuts before every row."""
    reconsiders: ClassVar[bool] = False
    """Whether some of its cuts are provisional."""
    completes_at_tuples: ClassVar[bool] = False
    """Whether a tuple can complete a window that ends at its own time."""
    open_slices: ClassVar[int] = 1
    """How many of the newest slices may still change if tuples come in order."""
    ticks: Sequence[TimeWindow] = ()
    """The windows whose bounds are its edges, if these are periodic."""

    def __init__(self, windows: Windows, dtype: Any, limit: Any) -> None:
        self.windows = windows

    def buckets(self, dtype: np.dtype[Any]) -> Grid | None:
        """Edges between which no two tuples can be in different slices; None: the ticks are enough."""
        return None

    @property
    def has_runs(self) -> bool:
        """Whether a key's rows, in the order of time, are one window after the other: :meth:`runs`."""
        return False

    def runs(self, times: Array, starts: Array) -> tuple[Array, Array, Array]:
        """The first row of each window, where it starts and where it ends, for rows key by key from ``starts`` on."""
        raise NotImplementedError

    def edges(self, rows: Rows, moment: Moment) -> dict[int, tuple[Array, ...]]:
        """The edges that rows set, by the window's place."""
        return {}

    def marks(self, moment: Moment) -> dict[str | None, Marks]:
        """The windows' state by key after the edges that rows have set, where it changed."""
        return {}

    def cut(self, rows: Rows, moment: Moment, cut: Array) -> None:
        """Mark the rows before which an edge lies."""

    def has_edge(self, pairs: Pairs, moment: Moment) -> Array:
        """Whether an edge lies between two slices."""
        return np.zeros(len(pairs.code), np.bool_)

    def unsure(self, view: View, moment: Moment) -> Array:
        """The slices whose first edge is provisional."""
        raise NotImplementedError

    def complete(self, view: View, moment: Moment) -> CompleteWindows | None:
        """The windows that this batch completes; those of a key and a place by end and start."""
        raise NotImplementedError

    def covering(self, codes: Array, times: Array, upto: Array, moment: Moment) -> Iterator[Covering]:
        """The windows around rows that end at or before ``upto``; asked where columns correct windows."""
        raise NotImplementedError

    def next_ends(self, view: View, watermark: Array) -> Iterator[Any]:
        """The timer: times among which is the first that completes a window, unless tuples come."""
        return iter(())

    def needed(self, view: View, moment: Moment) -> Array:
        """For each key the first slice that a future window may cover."""
        raise NotImplementedError

    def begins(self, view: View, moment: Moment) -> Array:
        """Whether a future window can start with each slice."""
        return np.arange(len(view.table)) >= self.needed(view, moment)[view.table.code]

    def final(self, view: View, keys: Keys) -> Array | None:
        """For each key, the slice before which its edges change none any more; None: they change none."""
        return None


class SingleRule(Rule):
    """The rule of one window."""

    def __init__(self, windows: Windows, dtype: Any, limit: Any) -> None:
        super().__init__(windows, dtype, limit)
        ((self.place, (self.name, self.window)),) = windows.items()

    def _base(self, moment: Moment) -> Array:
        """The position from which the window counts tuples, for each key."""
        base = moment.marks[self.name].since_count
        return np.zeros(len(moment.after), np.int64) if base is None else base


@singledispatch
def rule_of(window: Window) -> type[Rule]:
    """The type of rule that runs a window. Each registers itself for its type of window."""
    raise TypeError(f"no rule is registered for windows such as {window!r}")
