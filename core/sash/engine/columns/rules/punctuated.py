"""The rule of punctuated windows, over columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.engine.columns.keys import Array, Marks, evolve
from sash.engine.columns.moment import CompleteWindows, Moment, Pairs, Rows
from sash.engine.columns.rules.base import SingleRule, rule_of
from sash.engine.columns.table import View
from sash.kernels.row_passes import search
from sash.windows import Punctuated

__all__ = ["PunctuatedRule"]


class PunctuatedRule(SingleRule):
    """From edge to edge. A tuple may bring an edge at the time of tuples that are there already: so those of the newest
    time are a slice of their own, which joins the one before if time goes on without an edge."""

    reconsiders = True
    completes_at_tuples = True
    open_slices = 2
    window: Punctuated

    def edges(self, rows: Rows, moment: Moment) -> dict[int, tuple[Array, ...]]:
        """(keys, times, positions) of the rows that set new edges, in order."""
        holds, marks = self._holds(rows), moment.marks[self.name]
        if marks.since is not None:
            holds &= rows.times > marks.since[rows.each_code]
        at = np.flatnonzero(holds)
        code, time = rows.each_code[at], rows.times[at]
        new = np.ones(len(at), np.bool_)
        new[1:] = (code[1:] != code[:-1]) | (time[1:] != time[:-1])
        if marks.edge is not None:
            new &= time != marks.edge[code]
        return {self.place: (code[new], time[new], rows.positions[at[new]])}

    def _holds(self, rows: Rows) -> Array:
        columns = [np.asanyarray(rows.columns[column]) for column in self.window.columns]
        if isinstance(self.window.when, str) and columns[0].dtype.kind in "biuf":
            masked: Any = np.ma
            holds: Array = np.asarray(masked.getdata(columns[0]) != 0) & ~masked.getmaskarray(columns[0])
            return holds
        rows_of = zip(*(column.tolist() for column in columns), strict=True)
        return np.array([self.window.holds(list(values)) for values in rows_of], np.bool_)

    def cut(self, rows: Rows, moment: Moment, cut: Array) -> None:
        begins = np.zeros(len(moment.after) + 1, np.int64)
        begins[rows.keys + 1] = np.diff(rows.begins)
        begins = np.cumsum(begins)
        code, time, _ = moment.edges[self.place]
        cut[search(rows.times, begins, code, time)] = True
        cut[search(rows.times, begins, rows.keys, rows.times[rows.begins[1:] - 1])] = True

    def has_edge(self, pairs: Pairs, moment: Moment) -> Array:
        code, time, _ = self._all_edges(moment)
        begins = np.searchsorted(code, np.arange(len(moment.after) + 1))
        at = search(time, begins, pairs.code, pairs.after)
        parted = at < begins[pairs.code + 1]
        parted[parted] = time[at[parted]] == pairs.after[parted]
        return np.asarray(parted | (pairs.after == moment.latest[pairs.code]))

    def _all_edges(self, moment: Moment) -> tuple[Array, ...]:
        """The last known edge of each key, then the new ones: (keys, times, positions of their tuples)."""
        none = np.zeros(0, np.int64)
        edges = moment.edges.get(self.place, (none, np.zeros(0, moment.after.newest.dtype), none))
        known = moment.marks[self.name].edge
        if known is None:
            return edges
        keys = np.flatnonzero(known != moment.low)
        old = (keys, known[keys], np.zeros(len(keys), np.int64))
        joint = tuple(map(np.concatenate, zip(old, edges, strict=True)))
        order = np.argsort(joint[0], kind="stable")
        return tuple(array[order] for array in joint)

    def unsure(self, view: View, moment: Moment) -> Array:
        return np.asarray(view.begins[view.held + 1] - 1)

    def complete(self, view: View, moment: Moment) -> CompleteWindows | None:
        code, time, position = self._all_edges(moment)
        at = np.flatnonzero(code[1:] == code[:-1])
        if not len(at):
            return None
        code, start, end = code[at], time[at], time[at + 1]
        lo, hi = view.at_time(code, start), view.at_time(code, end)
        return CompleteWindows(code, np.full(len(at), self.place), start, end, end, lo, hi, position[at + 1])

    def marks(self, moment: Moment) -> dict[str | None, Marks]:
        if self.place not in moment.edges:
            return {}
        return {self.name: evolve(moment.marks[self.name], edge=self._last_edges(moment))}

    def _last_edges(self, moment: Moment) -> Array:
        """The last edge of each key after this batch."""
        code, time, _ = self._all_edges(moment)
        edge = np.full(len(moment.after), moment.low)
        edge[code] = time
        return edge

    def needed(self, view: View, moment: Moment) -> Array:
        edge = self._last_edges(moment)
        needed = view.at_time(np.arange(len(edge)), edge)
        newest = np.maximum(view.begins[1:] - 1, view.begins[:-1])
        return np.where(edge == moment.low, newest, needed)

    def begins(self, view: View, moment: Moment) -> Array:
        begins = np.zeros(len(view.table), np.bool_)
        needed = self.needed(view, moment)
        begins[needed[needed < view.begins[1:]]] = True
        return begins


rule_of.register(Punctuated, lambda window: PunctuatedRule)
