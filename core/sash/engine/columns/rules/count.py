"""The rule of windows on counts, over columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.engine.columns.keys import Array, constant
from sash.engine.columns.moment import CompleteWindows, Moment, Pairs, Rows
from sash.engine.columns.rules.base import SingleRule, Windows, rule_of
from sash.engine.columns.rules.periods import numbered
from sash.engine.columns.table import View
from sash.windows import CountWindow

__all__ = ["CountRule"]


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
        self.least = self.phase if window.partial else window.range  # where the first window ends

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
        keys = np.flatnonzero(moment.after.settled > moment.before.settled)
        before, after = (np.maximum(side.settled - base, 0)[keys] for side in (moment.before, moment.after))
        first = np.maximum((before - self.phase) // slide + 1, (self.least - self.phase) // slide)
        counts = np.maximum((after - self.phase) // slide + 1 - first, 0)
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
        return CompleteWindows(code, place, start, end, view.table.last[hi - 1], lo, hi, position)

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
