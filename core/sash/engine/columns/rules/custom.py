"""The rules of windows whose edges users or rows bring, over columns.

Functions of users' context-free windows are called edge by edge, key by key.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from sash.engine.columns.moment import Array, CompleteWindows, Marks, Moment, Pairs, Rows, bounds, evolve
from sash.engine.columns.rules.base import SingleRule, Windows, rule_of
from sash.engine.columns.table import View
from sash.kernels.row_passes import search
from sash.windows import ContextFree, Punctuated

__all__ = ["FreeRule", "PunctuatedRule"]


class FreeRule(SingleRule):
    """A window given by ``next_edge`` and ``windows``, on times or on positions."""

    scatters = False
    window: ContextFree

    def __init__(self, windows: Windows, dtype: Any, limit: Any) -> None:
        super().__init__(windows, dtype, limit)
        self.counts = self.window.measure == "count"
        self.timely = not self.counts

    def cut(self, rows: Rows, moment: Moment, cut: Array) -> None:
        measure = rows.positions - self._base(moment)[rows.each_code] if self.counts else rows.times
        for begin, end in zip(rows.begins[:-1].tolist(), rows.begins[1:].tolist(), strict=True):
            key_measure = measure[begin:end]
            at = 0
            while at < len(key_measure):
                at = int(np.searchsorted(key_measure, self.window.next_edge(key_measure[at].item())))
                cut[begin + at : begin + min(at + 1, len(key_measure))] = True

    def has_edge(self, pairs: Pairs, moment: Moment) -> Array:
        if self.counts:
            position = pairs.position - self._base(moment)[pairs.code]
            before, after = (position - 1).tolist(), position.tolist()
        else:
            before, after = pairs.before.tolist(), pairs.after.tolist()
        edges = map(self.window.next_edge, before)
        return np.array([edge <= time for edge, time in zip(edges, after, strict=True)], np.bool_)

    def complete(self, view: View, moment: Moment) -> CompleteWindows | None:
        extents = [(key, *extent) for key in view.held.tolist() for extent in self._extents(key, view, moment)]
        if not extents:
            return None
        code, start, end = (np.array(list(column)) for column in zip(*extents, strict=True))
        place = np.full(len(code), self.place)
        if not self.counts:
            lo, hi = view.at_time(code, start), view.at_time(code, end)
            return CompleteWindows(code, place, start, end, end, lo, hi).take(hi > lo)
        base = self._base(moment)[code]
        lo, hi = view.at_position(code, start + base), view.at_position(code, end + base)
        return CompleteWindows(code, place, start, end, view.table.last[hi - 1], lo, hi, end + base - 1)

    def _extents(self, key: int, view: View, moment: Moment) -> Iterator[tuple[Any, Any]]:
        """The windows of a key that this batch completes and that hold a tuple."""
        slices = slice(view.begins[key], view.begins[key + 1])
        if self.counts:
            measure = view.positions[slices] - self._base(moment)[key]
            last = view.settled[key].item() - self._base(moment)[key].item() - 1
        else:
            measure, last = view.table.first[slices], view.table.last[slices][-1].item()
        before, upto = self._moments(key, moment)
        since = None if self.counts else moment.marks[self.name].since
        least = -math.inf if since is None else _open(since[key], moment)
        after = max(before, measure[0].item() - self.counts)
        while after < upto:
            for start, stop in self.window.windows(after, upto):
                if start > last:
                    return
                at = int(np.searchsorted(measure, start))
                if at < len(measure) and measure[at] >= stop:  # a gap: go on behind it
                    after = measure[at].item() - self.counts
                    break
                if start > least:
                    yield start, stop
            else:
                return

    def _moments(self, key: int, moment: Moment) -> tuple[Any, Any]:
        """The watermarks before and after; on counts, the numbers of tuples."""
        if self.counts:
            base = self._base(moment)[key]
            return (
                max(0, (moment.before.settled[key] - base).item()),
                max(0, (moment.after.settled[key] - base).item()),
            )
        return _open(moment.before.watermark[key], moment), _open(moment.after.watermark[key], moment)

    def next_ends(self, view: View, watermark: Array) -> Iterator[Any]:
        if self.counts:
            return
        low = bounds(watermark.dtype)[0]
        for key in view.held.tolist():
            oldest = view.table.first[view.begins[key]]
            after = oldest if watermark[key] == low else max(watermark[key], oldest)
            for _, end in self.window.windows(after.item(), math.inf):
                yield np.asarray(end)
                break

    def needed(self, view: View, moment: Moment) -> Array:
        needed = view.begins[:-1].copy()
        for key in view.held.tolist():
            _, after = self._moments(key, moment)
            base = self._base(moment)[key].item() if self.counts else 0
            if after == math.inf:
                needed[key] = view.begins[key + 1]
            elif after != -math.inf:
                values = view.positions if self.counts else view.table.last
                for start, _ in self.window.windows(after, math.inf):
                    needed[key] = search(values, view.begins, np.array([key]), np.array([start + base]))[0]
                    break
                else:
                    needed[key] = view.begins[key + 1]
        return needed


def _open(time: Any, moment: Moment) -> Any:
    """A time as users' functions take it."""
    return -math.inf if time == moment.low else math.inf if time == moment.high else time.item()


rule_of.register(ContextFree, lambda window: FreeRule)


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
