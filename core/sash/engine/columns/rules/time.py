"""The rules of windows on time, cumulative ones and those of calendars included, over columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sash.engine.columns.moment import Array, CompleteWindows, Moment, bounds
from sash.engine.columns.rules.base import Covering, Rule, Windows, first_rows, least, rule_of
from sash.engine.columns.rules.periods import CalendarPeriods, CumulativePeriods, Periods, numbered
from sash.engine.columns.table import Table, View
from sash.kernels.row_passes import search
from sash.windows import CalendarWindow, TimeWindow
from sash.windows.cumulative import CumulativeWindow

__all__ = ["CalendarRule", "CumulativeRule", "TimeRule"]


class TimeRule(Rule):
    """All time windows of a lane at once. A grid cuts at their edges together with those of others."""

    joint = True
    timely = True

    def __init__(self, windows: Windows, dtype: Any, limit: Any) -> None:
        super().__init__(windows, dtype, limit)
        self.places = np.array(list(windows), np.int64)
        self.names = [name for name, _ in windows.values()]
        self.members = [window for _, window in windows.values()]
        self.ticks = [window.ticks for window in self.members]
        self.periods = self._periods(dtype)
        self.limit = limit

    def _periods(self, dtype: Any) -> Periods:
        return Periods([window.numbers for window in self.members], dtype)

    @property
    def has_runs(self) -> bool:
        return len(self.members) == 1 and self.periods.tumble

    def runs(self, times: Array, starts: Array) -> tuple[Array, Array, Array]:
        k = self.periods.index(times)
        begins = first_rows(k[1:] != k[:-1], starts)
        return begins, self.periods.start(k[begins]), self.periods.end(k[begins])

    def complete(self, view: View, moment: Moment) -> CompleteWindows | None:
        keys = view.held
        if not len(keys):
            return None
        if len(view.begins) == 2 and len(self.members) < 8:
            parts = [part for which in range(len(self.members)) for part in self._of_one_key(which, view, moment)]
            return _joined(parts) if parts else None
        return _joined([
            part for which in self._blocks(len(keys)) for part in self._complete(which, keys, view, moment)
        ])  # fmt: skip

    def _of_one_key(self, which: int, view: View, moment: Moment) -> Iterator[tuple[Array, ...]]:
        """The same for one window of the only key, in Python numbers: NumPy is slow with single ones."""
        window, table = self.members[which], view.table
        oldest, newest = table.first[0].item(), table.last[-1].item()
        before, after = moment.before.watermark[0].item(), moment.after.watermark[0].item()
        first, last = window.first_behind(max(before, oldest)), window.index(newest)
        if after != moment.high:
            last = min(last, window.first_behind(after) - 1 if after != moment.low else first - 1)
        since = moment.marks[self.names[which]].since
        if since is not None and since[0] != moment.low:
            first = max(first, window.index(since[0].item()) + 1)
        if last - first >= 4 * len(table) + 64:
            ends = np.array([first], table.first.dtype), np.array([last], table.first.dtype)
            yield self._by_slice(which, np.zeros(1, np.int64), *ends, view)
        elif last >= first:
            one = np.zeros((1, 1), table.first.dtype)
            yield self._by_number(np.array([which]), one[0].astype(np.int64), one + first, one + last - first + 1, view)

    def _complete(self, which: Array, keys: Array, view: View, moment: Moment) -> list[tuple[Array, ...]]:
        first, counts = self._numbers(which, keys, view, moment)
        near = counts.sum(axis=0, dtype=np.float64) <= 4 * len(view.table) + 64
        parts = []
        if near.any():
            parts.append(self._by_number(which[near], keys, first[:, near], counts[:, near], view))
        # Of keys that have none, the first may be the least number that there is: nothing is taken from that.
        some = counts > 0
        first, last = np.where(some, first, moment.high), np.where(some, first + counts - 1, moment.low)
        far = np.flatnonzero(~near).tolist()  # with long gaps, in which windows are empty
        return parts + [self._by_slice(which[i], keys, first[:, i], last[:, i], view) for i in far]

    def _numbers(self, which: Array, keys: Array, view: View, moment: Moment) -> tuple[Array, Array]:
        """The first new window of each key that can hold a tuple, and the number of windows up to the last such."""
        table, begins = view.table, view.begins
        oldest, newest = table.first[begins[keys]], table.last[begins[keys + 1] - 1]
        before = np.maximum(self._legal(moment.before.watermark[keys]), oldest)
        return self._between(which, keys, before, newest, moment.after.watermark[keys], moment)

    def _between(
        self, which: Array, codes: Array, after: Array, latest: Array, upto: Array, moment: Moment
    ) -> tuple[Array, Array]:
        """The first window of a key that ends behind ``after``, and how many there are from it on.

        That is, of those that start at or before ``latest`` and end at or before ``upto``.
        """
        periods = self.periods.of(which)
        first = periods.first_behind(after[:, None])
        for i in which:
            since = moment.marks[self.names[i]].since
            if since is not None:
                window = self.periods.of(i)
                at = i - which[0]
                first[:, at] = np.maximum(first[:, at], window.index(self._legal(since[codes])) + 1)
        last = periods.index(latest[:, None])
        closed = periods.first_behind(self._legal(upto)[:, None]) - 1
        last = np.where((upto == moment.high)[:, None], last, np.minimum(last, closed))
        return first, np.maximum(last - first + 1, 0)

    def _legal(self, times: Array) -> Array:
        return times if self.limit is None else np.clip(times, -self.limit, self.limit)

    def _by_number(self, which: Array, keys: Array, first: Array, counts: Array, view: View) -> tuple[Array, ...]:
        """Each window in turn, empty or not."""
        at, place, start, end = self._listed(which, first, counts)
        code = keys[at]
        lo, hi = view.at_time(code, start), view.at_time(code, end)
        windows = (code, place, start, end, lo, hi)
        held = hi > lo
        return windows if held.all() else tuple(array[held] for array in windows)

    def _listed(self, which: Array, first: Array, counts: Array) -> Covering:
        """The windows from ``first`` on, so many: the row of both arrays that they are of, and what they are."""
        at, k = numbered(first.ravel(), counts.ravel())
        place = which[at % len(which)] if len(which) > 1 else np.full(len(at), which[0])
        periods = self.periods.of(place if len(self.places) > 1 else 0)
        return at // len(which), self.places[place], periods.start(k), periods.end(k)

    def open_at(self, at: Array, ticks: Array, view: View, moment: Moment) -> CompleteWindows | None:
        code, high, parts = view.table.code[at], np.full(len(at), moment.high), []
        for which in self._blocks(len(at)):
            row, place, start, end = self._listed(which, *self._between(which, code, ticks, ticks, high, moment))
            lo, hi = view.at_time(code[row], start), at[row] + 1
            held = (hi > lo) & (start < ticks[row])
            parts.append(tuple(a[held] for a in (code[row], place, start, end, ticks[row], lo, hi)))
        return CompleteWindows(*map(np.concatenate, zip(*parts, strict=True)))

    def covering(self, codes: Array, times: Array, upto: Array, moment: Moment) -> Iterator[Covering]:
        for which in self._blocks(len(codes)):
            yield self._listed(which, *self._between(which, codes, times, times, upto, moment))

    def _blocks(self, rows: int) -> Iterator[Array]:
        """The windows, so many at a time that a number for each and each row is not too many."""
        block = max(1, (1 << 21) // max(1, rows))
        for i in range(0, len(self.places), block):
            yield np.arange(len(self.places))[i : i + block]

    def _by_slice(self, which: int, keys: Array, first: Array, last: Array, view: View) -> tuple[Array, ...]:
        """For each slice, the windows that start with it."""
        table, periods = view.table, self.periods.of(which)
        place_of = np.zeros(len(view.settled), np.int64)
        place_of[keys] = np.arange(len(keys))
        at = place_of[table.code]
        index = periods.index(table.first)
        low = np.maximum(periods.first_behind(table.first), first[at])
        same = table.code[1:] == table.code[:-1]
        low[1:] = np.where(same, np.maximum(low[1:], index[:-1] + 1), low[1:])
        upto = np.minimum(index, last[at])
        lo, k = numbered(low, np.where(upto >= low, upto - low + 1, 0))
        code, start, end = table.code[lo], periods.start(k), periods.end(k)
        return code, np.full(len(lo), self.places[which]), start, end, lo, view.at_time(code, end)

    def next_ends(self, view: View, watermark: Array) -> Iterator[Any]:
        keys, table = view.held, view.table
        oldest, newest = table.first[view.begins[keys]], table.last[view.begins[keys + 1] - 1]
        k = self.periods.first_behind(np.maximum(self._legal(watermark[keys]), oldest)[:, None])
        there = self.periods.start(k) <= newest[:, None]
        yield from least(self.periods.end(k)[there & (watermark[keys] != bounds(watermark.dtype)[1])[:, None]])

    def needed(self, view: View, moment: Moment) -> Array:
        watermark = moment.after.watermark
        if len(watermark) == 1 and len(self.members) < 8:
            after = watermark[0].item()
            if after in (moment.low, moment.high):
                return view.begins[:1] if after == moment.low else view.begins[1:]
            oldest = min(window.start(window.first_behind(after)) for window in self.members)
            return np.searchsorted(view.table.last, np.array([oldest], view.table.last.dtype))
        periods, legal = self.periods, self._legal(watermark)
        if len(periods) == 1:
            start = periods.of(0).start(periods.of(0).first_behind(legal))
        else:
            start = np.full(len(watermark), moment.high)
            for which in self._blocks(len(watermark)):
                part = periods.of(which)
                start = np.minimum(start, part.start(part.first_behind(legal[:, None])).min(axis=1))
        start = np.where(watermark == moment.high, moment.high, start)
        return search(view.table.last, view.begins, np.arange(len(watermark)), start)

    def begins(self, view: View, moment: Moment) -> Array:
        table, watermark = view.table, self._legal(moment.after.watermark)
        begins = np.zeros(len(table), np.bool_)
        for which in range(len(self.members)):
            period = self.periods.of(which)
            index = period.index(table.first)
            begins[1:] |= (period.start(index[1:]) > table.last[:-1]) & self._coming(which, index[1:], watermark, table)
        return begins

    def _coming(self, which: int, index: Array, watermark: Array, table: Table) -> Array:
        """Whether windows of these numbers are still to be emitted."""
        coming: Array = index >= self.periods.of(which).first_behind(watermark)[table.code[1:]]
        return coming


def _joined(parts: Sequence[tuple[Array, ...]]) -> CompleteWindows:
    arrays = parts[0] if len(parts) == 1 else [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
    code, place, start, end, lo, hi = arrays
    return CompleteWindows(code, place, start, end, end, lo, hi)


rule_of.register(TimeWindow, lambda window: TimeRule)


class CumulativeRule(TimeRule):
    """All cumulative windows of a lane, at once."""

    def _periods(self, dtype: Any) -> Periods:
        return CumulativePeriods([window.numbers for window in self.members], dtype)


rule_of.register(CumulativeWindow, lambda window: CumulativeRule)


class CalendarRule(TimeRule):
    """A window of a calendar."""

    joint = False

    def _periods(self, dtype: Any) -> Periods:
        (window,) = self.members
        return CalendarPeriods([window.numbers], window.calendar)


rule_of.register(CalendarWindow, lambda window: CalendarRule)
