"""The rule of trailing windows, over columns: a slice for each time with rows, and windows that end with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sash.engine.columns.moment import Array, CompleteWindows, Moment, Pairs, Rows
from sash.engine.columns.rules.base import Rule, Windows, least, rule_of
from sash.engine.columns.table import View
from sash.kernels.row_passes import search
from sash.kernels.trailing_bounds import trailing_bounds
from sash.windows import TrailingWindow

__all__ = ["TrailingRule"]


class TrailingRule(Rule):
    """All trailing windows of a lane."""

    joint = True
    timely = True
    scatters = False
    windows: Mapping[int, tuple[str | None, TrailingWindow]]

    def __init__(self, windows: Windows, dtype: Any, limit: Any) -> None:
        super().__init__(windows, dtype, limit)
        self.limit = limit
        self.numbers = {place: np.dtype(dtype).type(window.number) for place, (_, window) in self.windows.items()}

    @property
    def has_runs(self) -> bool:
        return len(self.windows) == 1

    def ranges(self, times: Array, starts: Array) -> tuple[Array, Array, Array, Array]:
        """For each row, its window: from which row to before which, where it starts and where it ends.

        Rows come key by key from ``starts`` on, each key's in the order of time.
        """
        ((place, (_, window)),) = self.windows.items()
        start = times - self.numbers[place]
        lo, hi = trailing_bounds(times, starts, start, window.closed_left, window.closed_right)
        return lo, hi, start, times

    def cut(self, rows: Rows, moment: Moment, cut: Array) -> None:
        cut[1:] |= rows.times[1:] != rows.times[:-1]

    def has_edge(self, pairs: Pairs, moment: Moment) -> Array:
        return np.asarray(pairs.before != pairs.after)

    def complete(self, view: View, moment: Moment) -> CompleteWindows | None:
        table = view.table
        parted = np.ones(len(table) + 1, np.bool_)  # a restored stream may have two slices of one time
        parted[1:-1] = (table.first[1:] != table.first[:-1]) | (table.code[1:] != table.code[:-1])
        at = np.flatnonzero(parted)
        at, after = at[:-1], at[1:]
        code, end = table.code[at], table.first[at]
        fires = (end >= moment.before.watermark[code]) & (end < moment.after.watermark[code])
        if not fires.any():
            return None
        results = np.add.reduceat(table.count, at)
        if not fires.all():
            at, after, code, end, results = (array[fires] for array in (at, after, code, end, results))
        return CompleteWindows.concatenate(
            [self._ending(place, at, after, code, end, results, view, moment) for place in self.windows]
        )

    def _ending(
        self, place: int, at: Array, after: Array, code: Array, end: Array, results: Array, view: View, moment: Moment
    ) -> CompleteWindows:
        """The windows of one type that end with slices from ``at`` to before ``after``."""
        name, window = self.windows[place]
        start = end - self.numbers[place]
        hi = after if window.closed_right else at
        lo = np.minimum(view.at_time(code, start if window.closed_left else _behind(start)), hi)
        each = np.arange(len(at))
        since = moment.marks[name].since
        if since is not None:
            each = each[(since[code] == moment.low) | (start > since[code])]
        if (results > 1).any():
            each = np.repeat(each, results[each])
        end = end[each]
        return CompleteWindows(code[each], np.full(len(each), place), start[each], end, end, lo[each], hi[each])

    def next_ends(self, view: View, watermark: Array) -> Iterator[Any]:
        first = view.table.first
        yield from least(_behind(first[first >= watermark[view.table.code]]))

    def needed(self, view: View, moment: Moment) -> Array:
        watermark = moment.after.watermark
        legal = watermark if self.limit is None else np.clip(watermark, -self.limit, self.limit)
        start = np.where(watermark == moment.high, moment.high, legal - max(self.numbers.values()))
        return search(view.table.last, view.begins, np.arange(len(watermark)), start)


def _behind(times: Array) -> Array:
    """The first times after some others."""
    return times + 1 if times.dtype.kind == "i" else np.nextafter(times, np.inf)


rule_of.register(TrailingWindow, lambda window: TrailingRule)
