"""The base of rules: a rule holds all that is particular to one window type, over columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import singledispatch
from typing import Any, ClassVar

import numpy as np

from sash.engine.columns.moment import Array, CompleteWindows, Keys, Marks, Moment, Pairs, Rows
from sash.engine.columns.rules.periods import Grid
from sash.engine.columns.table import View
from sash.windows import CalendarWindow, TimeWindow, Window

__all__ = ["Covering", "Rule", "SingleRule", "Windows", "first_rows", "least", "rule_of"]


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
    least_gap: Any = None
    """Where rows cut alone: how far apart rows of a key are at least that it cuts between; None: there is no such."""
    ticks: Sequence[TimeWindow | CalendarWindow] = ()
    """The windows whose bounds are its edges, if these are periodic."""

    def __init__(self, windows: Windows, dtype: Any, limit: Any) -> None:
        self.windows = windows

    def buckets(self, dtype: np.dtype[Any]) -> Grid | None:
        """Edges between which no two tuples can be in different slices; None: the ticks are enough."""
        return None

    @property
    def has_runs(self) -> bool:
        """Whether no slices are needed if all rows are there: :meth:`runs`, or :meth:`ranges`."""
        return False

    def runs(self, times: Array, starts: Array) -> tuple[Array, Array, Array]:
        """The first row of each window, where it starts and where it ends, for rows key by key from ``starts`` on."""
        raise NotImplementedError

    def ranges(self, times: Array, starts: Array) -> tuple[Array, Array, Array, Array] | None:
        """Where such rows have one window each, instead of :meth:`runs`: the first row of each window, the one behind
        its last, where it starts and where it ends. Neither of the first two ever goes back."""
        return None

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

    def open_at(self, at: Array, ticks: Array, view: View, moment: Moment) -> CompleteWindows | None:
        """The windows that are open at ``ticks``, and hold the slices ``at``, the last ones before these."""
        return None

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
