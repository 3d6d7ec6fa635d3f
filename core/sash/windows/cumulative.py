"""Cumulative windows: they grow step by step until they start again (SQL's CUMULATE)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any, ClassVar

from sash.windows.base import ContextFree, Extent
from sash.windows.time import TimeWindow, measure_fields

__all__ = ["CumulativeWindow", "cumulative"]


@dataclass(frozen=True)
class CumulativeWindow(ContextFree):
    """[j·range + offset, j·range + offset + i·step) for every whole j and i = 1 … range / step.

    Windows are numbered: window k ends with step k, and begins with the first step of its range.
    """

    corrected_by_columns: ClassVar[bool] = True
    emits_early: ClassVar[bool] = True
    range: Any
    step: Any
    offset: Any = 0
    on: str | None = None
    ticks: TimeWindow = field(init=False, repr=False, compare=False)
    """The tumbling windows of one step, whose bounds are its edges."""
    numbers: tuple[int, Any, Any] = field(init=False, repr=False, compare=False)
    """How many steps a range has; a step and the offset in the unit that times have inside."""
    _range: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        range_, step, offset = measure_fields(self, "range", "step", "offset")
        if not (steps := _quotient(range_, step)):
            raise ValueError(f"step {self.step} does not divide range {self.range}: use one that does")
        object.__setattr__(self, "numbers", (steps, step, offset))
        object.__setattr__(self, "_range", range_)
        object.__setattr__(self, "ticks", TimeWindow(self.step, self.step, self.offset, self.on))

    @property
    def bound_steps(self) -> tuple[Any, ...]:
        return self._range, *self.numbers[1:]

    def file_table(self) -> dict[str, Any]:
        table = {"type": "cumulative", "range": self.range, "step": self.step}
        return table | {"offset": self.ticks.file_offset(), "on": self.on}

    def plain_words(self) -> str:
        on = f" of {self.on}" if self.on else ""
        return f"from each multiple of {self.range}{on} on, every {self.step}{on}"

    def __str__(self) -> str:
        offset = f" offset {self.offset}" if self.numbers[2] else ""
        return f"cumulative {self.range} by {self.step}{offset}" + (f" on {self.on}" if self.on else "")

    def index(self, time: Any) -> int:
        """The largest k whose window begins at or before ``time``."""
        k = self.ticks.index(time)
        return k - k % self.numbers[0] + self.numbers[0] - 1

    def start(self, k: int) -> Any:
        """Where window k begins."""
        return self.ticks.start(k - k % self.numbers[0])

    def first_behind(self, after: Any) -> int:
        """The first k whose window ends after ``after``."""
        return self.ticks.first_behind(after)

    def next_edge(self, after: Any) -> Any:
        return self.ticks.next_edge(after)

    def next_begin(self, after: Any) -> Any:
        return self.start(self.index(after) + 1)

    def windows(self, after: Any, upto: Any) -> Iterator[Extent]:
        for k in count(self.first_behind(after)):
            end = self.ticks.start(k) + self.numbers[1]
            if end > upto:
                return
            yield self.start(k), end


def _quotient(range_: Any, step: Any) -> int:
    """How often a step goes into a range; 0 if it does not divide it. Floats need not be exact."""
    if isinstance(range_, int) and isinstance(step, int):
        return 0 if range_ % step else range_ // step
    steps = round(range_ / step)
    return steps if math.isclose(steps * step, range_, rel_tol=1e-12) else 0


def cumulative(
    range: float | str | timedelta,
    step: float | str | timedelta,
    *,
    offset: float | str | timedelta = 0,
    on: str | None = None,
) -> CumulativeWindow:
    """All since the last multiple of ``range``, every ``step``: totals of the day so far, hour by hour.

    ``step`` must divide ``range``. Both are durations of event time, or, with ``on``, numbers in the unit of that
    column. A window without a tuple emits no result. Batches keep one slice a
    step, single rows in order one a range; both are shared with other windows.

    >>> import sash
    >>> query = sash.Query(windows=cumulative(6, step=2, on="hour"), aggregates={"sum": sash.Sum("load")}, time="hour")
    >>> results = sash.run(query, {"hour": [0, 1, 2, 5, 6], "load": [1, 1, 1, 1, 1]})
    >>> list(zip(results["window_start"], results["window_end"], results["sum"]))
    [(0, 2, 2), (0, 4, 3), (0, 6, 4), (6, 8, 1), (6, 10, 1), (6, 12, 1)]
    """
    if on is None and any(isinstance(value, int | float) for value in (range, step)):
        raise TypeError(
            f"cumulative windows are on time: range {range!r} and step {step!r} must be durations such as '1d' and "
            "'1h'; for numbers along a column name it with on="
        )
    return CumulativeWindow(range, step, offset, on)
