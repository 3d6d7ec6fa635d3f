"""Trailing windows: the last five minutes at every tuple."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar, Literal, get_args

from sash.windows.base import ContextClass, Window
from sash.windows.time import measure_fields

__all__ = ["Closed", "TrailingWindow", "trailing"]

Closed = Literal["right", "both", "left", "neither"]
"""Which bounds of a window belong to it."""


@dataclass(frozen=True)
class TrailingWindow(Window):
    """At each tuple those of the last ``range``; all tuples of its own time see the same ones.

    A result is emitted when the watermark is behind the tuple's time, so that no other tuple of that time can come.
    """

    includes_end: ClassVar[bool] = True
    slices_vary: ClassVar[bool] = True
    range: Any
    closed: Closed = "right"
    on: str | None = None
    columns: tuple[str, ...] = field(default=(), init=False, repr=False)
    number: Any = field(init=False, repr=False, compare=False)
    """The range in the unit that times have inside."""
    closed_left: bool = field(init=False, repr=False, compare=False)
    closed_right: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.closed not in get_args(Closed):
            raise ValueError(f"closed must be 'right', 'both', 'left' or 'neither'; got {self.closed!r}")
        (number,) = measure_fields(self, "range")
        object.__setattr__(self, "number", number)
        object.__setattr__(self, "closed_left", self.closed in ("left", "both"))
        object.__setattr__(self, "closed_right", self.closed in ("right", "both"))

    @property
    def bound_steps(self) -> tuple[Any, ...]:
        return (self.number,)

    @property
    def time_reach(self) -> Any:
        return 0

    def context_class(self, arrival: bool) -> ContextClass:
        return ContextClass.FCF

    def file_table(self) -> dict[str, Any]:
        closed = None if self.closed == "right" else self.closed
        return {"type": "trailing", "range": self.range, "closed": closed, "on": self.on}

    def plain_words(self) -> str:
        return f"the last {self.range}{f' of {self.on}' if self.on else ''}, at every row"

    def __str__(self) -> str:
        closed = "" if self.closed == "right" else f" closed {self.closed}"
        return f"trailing {self.range}{closed}" + (f" on {self.on}" if self.on else "")

    def behind(self, time: Any) -> Any:
        """The first time after ``time``: nanoseconds are whole, numbers along a column may be fractions."""
        if isinstance(time, int) and (self.on is None or abs(time) >= 1 << 53):
            return time + 1
        return math.nextafter(time, math.inf)


def trailing(range: float | str | timedelta, closed: Closed = "right", *, on: str | None = None) -> TrailingWindow:
    """The last ``range`` at every tuple: pandas' ``rolling("5min")``, SQL's ``RANGE … PRECEDING``.

    For a tuple at time t the tuples in (t - range, t], those that share its time included, as SQL and polars have it.
    ``closed`` says which bounds belong to a window: "right", "both" (SQL's RANGE), "left" or "neither". ``range`` is a
    duration of event time, or, with ``on``, a number in the unit of that column.

    Every tuple has one result, emitted when the watermark has passed its time: ``window_start`` is t - range,
    ``window_end`` t. Where a window closed "left" or "neither" holds no tuple, aggregates have their values of no
    values: null, and 0 for Count. A late tuple within ``allowed_lateness`` adds its own result and corrects those
    after it; results of one time have one revision. 3 merges a tuple amortised, O(log n) with lateness; a slice is kept
    for each time in the range.

    >>> import sash
    >>> query = sash.Query(windows=trailing(5, on="minute"), aggregates={"sum": sash.Sum("load")})
    >>> results = sash.run(query, {"minute": [0, 3, 5, 5, 12], "load": [1, 2, 4, 8, 16]})
    >>> list(zip(results["window_start"], results["window_end"], results["sum"]))
    [(-5, 0, 1), (-2, 3, 3), (0, 5, 14), (0, 5, 14), (7, 12, 16)]
    """
    if on is None and isinstance(range, int | float):
        raise TypeError(
            f"a trailing window is on time: range {range!r} must be a duration such as '5m'; for numbers along a "
            f"column name it with on=, and for the last {range!r} tuples use sash.sliding({range!r}, 1, partial=True)"
        )
    return TrailingWindow(range, closed, on)
