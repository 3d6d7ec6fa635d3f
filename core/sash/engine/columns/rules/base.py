"""What a rule is: all that is particular to one type of window, over columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import singledispatch
from typing import Any, ClassVar

import numpy as np

from sash.engine.columns.keys import Array, Keys, Marks
from sash.engine.columns.moment import CompleteWindows, Moment, Pairs, Rows
from sash.engine.columns.rules.periods import Grid
from sash.engine.columns.table import View
from sash.windows import TimeWindow, Window

__all__ = ["Rule", "SingleRule", "Windows", "rule_of"]

Windows = Mapping[int, tuple[str | None, Any]]
"""Windows and their names, by their places in the lane."""


class Rule:
    """The rule of windows of one type. ``limit`` is the largest time whose windows' ends can be told."""

    joint: ClassVar[bool] = False
    """Whether one rule takes all windows of its type; else each window has a rule of its own."""
    counts: bool = False
    """Whether its edges are positions, so that its results come behind others at the same time."""
    timely: bool = False
    """Whether its edges are known from times alone, so that tuples can be put into slices in any order."""
    scatters: ClassVar[bool] = True
    """Whether all edges of a stretch of time can be told at once."""
    cuts_all: bool = False
    """Whether it cuts before every row."""
    reconsiders: ClassVar[bool] = False
    """Whether it cuts where there may turn out to be no edge."""
    completes_at_tuples: ClassVar[bool] = False
    """Whether a tuple completes a window at the tuple's own time."""
    open_slices: ClassVar[int] = 1
    """How many of the youngest slices may still change where tuples come in order."""
    ticks: Sequence[TimeWindow] = ()
    """The windows whose bounds are its edges, if those come back at regular times."""

    def __init__(self, windows: Windows, dtype: Any, limit: Any) -> None:
        self.windows = windows

    def buckets(self, dtype: np.dtype[Any]) -> Grid | None:
        """Edges between which no two tuples can be in different slices; None: the ticks are enough."""
        return None

    def edges(self, rows: Rows, moment: Moment) -> dict[int, tuple[Array, ...]]:
        """What rows bring as edges, by the window's place."""
        return {}

    def marks(self, moment: Moment) -> dict[str | None, Marks]:
        """What windows know of each key after the edges that rows have brought, where that has changed."""
        return {}

    def cut(self, rows: Rows, moment: Moment, cut: Array) -> None:
        """Mark the rows before which an edge lies."""

    def has_edge(self, pairs: Pairs, moment: Moment) -> Array:
        """Whether an edge lies between two slices."""
        return np.zeros(len(pairs.code), np.bool_)

    def unsure(self, view: View, moment: Moment) -> Array:
        """The slices before which there may turn out to be no edge."""
        raise NotImplementedError

    def complete(self, view: View, moment: Moment) -> CompleteWindows | None:
        """The windows that are complete now and were not before; those of a key and a place by end and start."""
        raise NotImplementedError

    def next_ends(self, view: View, watermark: Array) -> Iterator[Any]:
        """The timer: times that include the first at which a window is complete, unless tuples come."""
        return iter(())

    def needed(self, view: View, moment: Moment) -> Array:
        """For each key the first slice that a window to come may cover."""
        raise NotImplementedError

    def begins(self, view: View, moment: Moment) -> Array:
        """Whether a window to come can begin with a slice: for each slice from the first that is needed on."""
        return np.arange(len(view.table)) >= self.needed(view, moment)[view.table.code]

    def final(self, view: View, keys: Keys) -> Array | None:
        """Before which slice none can change any more by its edges, for each key; None: it changes none."""
        return None


class SingleRule(Rule):
    """The rule of one window."""

    def __init__(self, windows: Windows, dtype: Any, limit: Any) -> None:
        super().__init__(windows, dtype, limit)
        ((self.place, (self.name, self.window)),) = windows.items()

    def _base(self, moment: Moment) -> Array:
        """From which position on the window counts tuples, for each key."""
        base = moment.marks[self.name].since_count
        return np.zeros(len(moment.after), np.int64) if base is None else base


@singledispatch
def rule_of(window: Window) -> type[Rule]:
    """The type of rule that runs a window. Each registers itself for its type of window."""
    raise TypeError(f"no rule is registered for windows such as {window!r}")
