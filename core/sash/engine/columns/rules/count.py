"""The rules of windows on counts, and of the last N rows every T, over columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sash.engine.columns.moment import Array, CompleteWindows, Keys, Moment, Pairs, Rows, constant
from sash.engine.columns.rules.base import SingleRule, Windows, least, rule_of
from sash.engine.columns.rules.periods import Periods, numbered
from sash.engine.columns.table import View
from sash.kernels.row_passes import search
from sash.windows import CountWindow, Last

__all__ = ["CountRule", "LastRule"]


class CountRule(SingleRule):
    """A window on counts. Windows end at the positions f, f + s, … with f = r mod s, or s.

    One that was added later counts from the first tuple behind ``since`` on; its positions are those less a base.
    """

    counts = True
    window: CountWindow

    def __init__(self, windows: Windows, dtype: Any, limit: Any) -> None:
        super().__init__(windows, dtype, limit)
        window = self.window
        self.phase = window.range % window.slide or window.slide
        self.cuts_all = window.slide == 1
        self.least = window.first_end

    def cut(self, rows: Rows, moment: Moment, cut: Array) -> None:
        slide = self.window.slide
        if rows.codes is None:
            settled = int((rows.settled - self._base(moment))[0])
            cut[-settled % slide :: slide] = True
            cut[max(self.least - settled, (self.phase - settled) % slide) :: slide] = True
        else:
            cut |= self._is_edge(rows.positions - self._base(moment)[rows.each_code])

    def _is_edge(self, positions: Array) -> Array:
        into = positions % self.window.slide
        is_edge: Array = into == 0
        if self.phase < self.window.slide:
            is_edge |= (into == self.phase) & (positions >= self.least)
        return is_edge

    def has_edge(self, pairs: Pairs, moment: Moment) -> Array:
        return self._is_edge(pairs.position - self._base(moment)[pairs.code])

    def complete(self, view: View, moment: Moment) -> CompleteWindows | None:
        slide, base = self.window.slide, self._base(moment)
        ahead = self._ahead(moment)
        keys = np.flatnonzero((moment.after.settled > moment.before.settled) | (ahead > 0))
        before, after = (np.maximum(side.settled - base, 0)[keys] for side in (moment.before, moment.after))
        upto = after + ahead[keys] * (after > 0)
        first = np.maximum((before - self.phase) // slide + 1, (self.least - self.phase) // slide)
        counts = np.maximum((upto - self.phase) // slide + 1 - first, 0)
        if not counts.any():
            return None
        if len(view.begins) == 2:
            end = np.arange(int(first[0]), int(first[0] + counts[0])) * slide + self.phase
            code = constant(0, len(end))
        else:
            which, number = numbered(first, counts)
            code, end, base = keys[which], self.phase + number * slide, base[keys[which]]
        start = np.maximum(end - self.window.range, 0)
        lo, hi = (view.at_position(code, bound + base) for bound in (start, end))
        place = constant(self.place, len(end))
        position = None if moment.rows is None or moment.rows.tied is None else end + base - 1
        completion = view.table.last[hi - 1]
        if ahead.any():
            beyond = end + base > moment.after.settled[code]
            completion[beyond] = moment.high
            position = None if position is None else np.where(beyond, -1, position)
        return CompleteWindows(code, place, start, end, completion, lo, hi, position)

    def _ahead(self, moment: Moment) -> Array:
        """How many windows of each key reach behind its last tuple, and are complete as the input has ended."""
        ends = (moment.after.watermark == moment.high) & (moment.before.watermark != moment.high)
        return np.asarray(ends * self.window.ahead)

    def needed(self, view: View, moment: Moment) -> Array:
        slide, base = self.window.slide, self._base(moment)
        settled = np.maximum(moment.after.settled - base, 0)
        end = self.phase + ((settled - self.phase) // slide + 1) * slide
        start = np.maximum(end - self.window.range, 0) + base
        return view.at_position(np.arange(len(settled)), start)

    def begins(self, view: View, moment: Moment) -> Array:
        position = view.positions - self._base(moment)[view.table.code]
        return np.asarray((position % self.window.slide == 0) & super().begins(view, moment))


rule_of.register(CountWindow, lambda window: CountRule)


class LastRule(SingleRule):
    """The last N at each tick. Where they begin is known at the tick: so the last N tuples are a slice each, which
    become one when time has gone on."""

    reconsiders = True

    window: Last

    def __init__(self, windows: Windows, dtype: Any, limit: Any) -> None:
        super().__init__(windows, dtype, limit)
        self.ticks = [self.window.ticks]
        self._periods = Periods([self.window.ticks.numbers], dtype).of(0)

    def edges(self, rows: Rows, moment: Moment) -> dict[int, tuple[Array, ...]]:
        """(keys, positions) of the starts of windows that end before a row: N before the first row after a tick."""
        index = self._periods.index(rows.times)
        change = np.ones(len(rows), np.bool_)
        change[1:] = index[1:] != index[:-1]
        change[rows.begins[:-1]] = True  # a tick between what was there and these: perhaps, and then it is needed
        return {self.place: (rows.each_code[change], rows.positions[change] - self.window.count)}

    def cut(self, rows: Rows, moment: Moment, cut: Array) -> None:
        code, position = moment.edges[self.place]
        begin = np.zeros(len(moment.after), np.int64)
        begin[rows.keys] = rows.begins[:-1]
        in_batch = position >= rows.settled[code]
        cut[begin[code[in_batch]] + position[in_batch] - rows.settled[code[in_batch]]] = True
        cut |= rows.positions >= (moment.after.settled - self.window.count)[rows.each_code]
        since = moment.marks[self.name].since
        if since is not None:
            edge = since[rows.each_code]
            cut[1:] |= (rows.times[:-1] <= edge[1:]) & (rows.times[1:] > edge[1:])

    def has_edge(self, pairs: Pairs, moment: Moment) -> Array:
        parted = pairs.position >= moment.after.settled[pairs.code] - self.window.count
        if self.place in moment.edges:
            code, position = moment.edges[self.place]
            begins = np.searchsorted(code, np.arange(len(moment.after) + 1))
            at = search(position, begins, pairs.code, pairs.position)
            known = at < begins[pairs.code + 1]
            known[known] = position[at[known]] == pairs.position[known]
            parted |= known
        since = moment.marks[self.name].since
        if since is not None:
            parted |= (pairs.before <= since[pairs.code]) & (pairs.after > since[pairs.code])
        return parted

    def unsure(self, view: View, moment: Moment) -> Array:
        before = moment.before.settled - self.window.count
        return np.flatnonzero(view.positions >= before[view.table.code])

    def complete(self, view: View, moment: Moment) -> CompleteWindows | None:
        table = view.table
        if not len(table):
            return None
        index = self._periods.index(table.first)
        ends = np.ones(len(table), np.bool_)  # the last slice before a tick
        ends[:-1] = (table.code[1:] != table.code[:-1]) | (index[1:] != index[:-1])
        hi = np.flatnonzero(ends) + 1
        code, edge = table.code[hi - 1], self._periods.start(index[hi - 1] + 1)
        fires = (edge <= moment.after.watermark[code]) & (edge > moment.before.watermark[code])
        begin = view.positions[hi - 1] + table.count[hi - 1] - self.window.count
        since = moment.marks[self.name].since_count
        least = np.zeros(1, np.int64) if since is None else since[code]
        fires &= (begin >= least) | (self.window.partial & (begin + self.window.count > least))
        hi, code, edge, begin = hi[fires], code[fires], edge[fires], np.maximum(begin, least)[fires]
        lo = view.at_position(code, begin)
        return CompleteWindows(code, np.full(len(hi), self.place), table.first[lo], edge, edge, lo, hi)

    def next_ends(self, view: View, watermark: Array) -> Iterator[Any]:
        table = view.table
        edge = self._periods.start(self._periods.index(table.last) + 1)
        yield from least(edge[edge > watermark[table.code]])

    def final(self, view: View, keys: Keys) -> Array:
        return view.at_position(np.arange(len(keys)), keys.settled - self.window.count) - 1

    def needed(self, view: View, moment: Moment) -> Array:
        start = moment.after.settled - self.window.count
        return view.at_position(np.arange(len(start)), start)


rule_of.register(Last, lambda window: LastRule)
