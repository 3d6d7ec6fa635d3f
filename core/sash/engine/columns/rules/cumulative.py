"""The rule of cumulative windows, over columns: that of time windows, but for where they start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sash.engine.columns.keys import Array
from sash.engine.columns.rules.base import rule_of
from sash.engine.columns.rules.periods import Periods
from sash.engine.columns.rules.time import TimeRule
from sash.windows.cumulative import CumulativeWindow

__all__ = ["CumulativeRule"]


class CumulativePeriods(Periods):
    """Windows numbered by the steps that they end with; a range has ``steps`` steps."""

    def __init__(self, numbers: Sequence[tuple[Any, Any, Any]], dtype: Any) -> None:
        self.ticks = Periods([(step, step, offset) for _, step, offset in numbers], dtype)
        self.steps = np.array([steps for steps, _, _ in numbers], dtype)

    def __len__(self) -> int:
        return len(self.ticks)

    def of(self, which: Any) -> CumulativePeriods:
        part = object.__new__(CumulativePeriods)
        part.ticks, part.steps = self.ticks.of(which), self.steps[which]
        return part

    def start(self, k: Array) -> Array:
        return self.ticks.start(self._first(k))

    def _first(self, k: Array) -> Array:
        """The first window that starts where window k does; with float times numbers may be infinite."""
        first: Array = (k // self.steps if self.ticks.whole else np.floor(k / self.steps)) * self.steps
        return first

    def end(self, k: Array) -> Array:
        return self.ticks.end(k)

    def index(self, time: Array) -> Array:
        last: Array = self._first(self.ticks.index(time)) + self.steps - 1
        return last

    def first_behind(self, time: Array) -> Array:
        return self.ticks.first_behind(time)


class CumulativeRule(TimeRule):
    """All cumulative windows of a lane, at once."""

    series = CumulativePeriods


rule_of.register(CumulativeWindow, lambda window: CumulativeRule)
