"""The rule of sessions, over columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sash.engine.columns.moment import Array, CompleteWindows, Moment, Pairs, Rows
from sash.engine.columns.rules.base import Rule, Windows, first_rows, least, rule_of
from sash.engine.columns.rules.periods import Grid
from sash.engine.columns.table import View
from sash.windows import Session

__all__ = ["SessionRule"]


def apart(before: Array, after: Array, gap: Any) -> Array:
    """Whether times are at least ``gap`` apart, without an overflow."""
    is_apart: Array = after - before >= gap if before.dtype.kind == "f" else after >= before + gap
    return is_apart


class SessionRule(Rule):
    """All sessions of a lane. Slices are cut at the smallest gap; runs of them are sessions."""

    joint = True
    timely = True
    windows: Mapping[int, tuple[str | None, Session]]

    def __init__(self, windows: Windows, dtype: Any, limit: Any) -> None:
        super().__init__(windows, dtype, limit)
        self.least_gap = min(window.number for _, window in windows.values())

    def buckets(self, dtype: np.dtype[Any]) -> Grid:
        return Grid([(0, self.least_gap if dtype.kind == "i" else self.least_gap / 2, 0)], dtype)

    @property
    def has_runs(self) -> bool:
        return len(self.windows) == 1

    def runs(self, times: Array, starts: Array) -> tuple[Array, Array, Array]:
        begins = first_rows(apart(times[:-1], times[1:], self.least_gap), starts)
        return begins, times[begins], times[np.append(begins[1:], len(times)) - 1] + self.least_gap

    def cut(self, rows: Rows, moment: Moment, cut: Array) -> None:
        cut[1:] |= apart(rows.times[:-1], rows.times[1:], self.least_gap)

    def has_edge(self, pairs: Pairs, moment: Moment) -> Array:
        return apart(pairs.before, pairs.after, self.least_gap)

    def complete(self, view: View, moment: Moment) -> CompleteWindows | None:
        if not len(view.table):
            return None
        parts = [self._complete(place, view, moment) for place in self.windows]
        return CompleteWindows(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def _complete(self, place: int, view: View, moment: Moment) -> tuple[Array, ...]:
        (name, window), table = self.windows[place], view.table
        lo, hi = self._runs(window.number, view)
        code, start, end = table.code[lo], table.first[lo], table.last[hi - 1] + window.number
        fires = (end <= moment.after.watermark[code]) & (end > moment.before.watermark[code])
        fires &= self._begun(name, window, code, start, moment)
        windows = (code, np.full(len(lo), place), start, end, end, lo, hi)
        return windows if fires.all() else tuple(array[fires] for array in windows)

    @staticmethod
    def _begun(name: str | None, window: Session, code: Array, start: Array, moment: Moment) -> Any:
        """Which sessions the window emits: if it was added, not even one that continues what reaches back."""
        since = moment.marks[name].since
        if since is None:
            return True
        always = since[code] == moment.low
        behind = np.where(always, start, since[code])
        return always | ((start > behind) & apart(behind, start, window.number))

    def open_at(self, at: Array, ticks: Array, view: View, moment: Moment) -> CompleteWindows | None:
        table, parts = view.table, []
        for place, (name, window) in self.windows.items():
            begins, _ = self._runs(window.number, view)
            lo = begins[np.searchsorted(begins, at, side="right") - 1]
            code, start, end = table.code[at], table.first[lo], table.last[at] + window.number
            is_open = (end > ticks) & self._begun(name, window, code, start, moment)
            windows = (code, np.full(len(at), place), start, end, ticks, lo, at + 1)
            parts.append(tuple(array[is_open] for array in windows))
        return CompleteWindows(*map(np.concatenate, zip(*parts, strict=True)))

    def _runs(self, gap: Any, view: View) -> tuple[Array, Array]:
        table = view.table
        begins = np.ones(len(table), np.bool_)
        begins[1:] = (table.code[1:] != table.code[:-1]) | apart(table.last[:-1], table.first[1:], gap)
        lo = np.flatnonzero(begins)
        return lo, np.concatenate([lo[1:], [len(table)]])

    def next_ends(self, view: View, watermark: Array) -> Iterator[Any]:
        table = view.table
        for _, window in self.windows.values():
            lo, hi = self._runs(window.number, view)
            end = table.last[hi - 1] + window.number
            yield from least(end[end > watermark[table.code[lo]]])

    def needed(self, view: View, moment: Moment) -> Array:
        needed = view.begins[1:].copy()
        if len(view.table):
            for _, window in self.windows.values():
                lo = self._open(window.number, view, moment)
                np.minimum.at(needed, view.table.code[lo], lo)
        return needed

    def _open(self, gap: Any, view: View, moment: Moment) -> Array:
        """The first slices of the sessions that are open."""
        lo, hi = self._runs(gap, view)
        code, end = view.table.code[lo], view.table.last[hi - 1] + gap
        return np.asarray(lo[end > moment.after.watermark[code]])

    def begins(self, view: View, moment: Moment) -> Array:
        begins = np.zeros(len(view.table), np.bool_)
        for _, window in self.windows.values():
            begins[self._open(window.number, view, moment)] = True
        return begins


rule_of.register(Session, lambda window: SessionRule)
