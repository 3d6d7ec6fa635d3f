"""Sliding and tumbling windows on time, or on any other column that advances."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar

from sash.aggregators.chunk_size import BestChunk
from sash.values.calendar import Calendar
from sash.values.timestamps import STEPS, as_duration, nanoseconds
from sash.windows.base import ContextFree, Extent

__all__ = ["DAYS_OF_UTC", "END_CUTS", "TimeWindow", "measure_fields", "number_along", "range_words"]

DAYS_OF_UTC = "days are those of UTC or, for times without a zone, of their own clock"


END_CUTS = (", cut where windows end too", ", by batches cut where windows end too")
"""What ``explain`` says of ends where no window begins; the second if single rows are cut only at begins."""


def range_words(range_: str, slide: str) -> str:
    """A range and a slide, for who does not know the papers' notation.

    >>> range_words("1h", "1m"), range_words("1d", "1d")
    ('the last 1h, every 1m', '1d, one window after the other')
    """
    return f"{range_}, one window after the other" if range_ == slide else f"the last {range_}, every {slide}"


@dataclass(frozen=True)
class TimeWindow(ContextFree):
    """[k·slide + offset, k·slide + offset + range) for every whole k, as Flink and Spark align them.

    Durations of event time; with ``on``, numbers in the unit of that column. A window without a tuple emits no result.
    """

    corrected_by_columns: ClassVar[bool] = True
    emits_early: ClassVar[bool] = True
    calendar: ClassVar[Calendar | None] = None
    """What counts the units of its edges; None: they are times themselves."""
    range: Any
    slide: Any
    offset: Any = 0
    on: str | None = None
    numbers: tuple[Any, Any, Any] = field(init=False, repr=False, compare=False)
    """Range, slide and offset in the unit that times have inside: nanoseconds, or that of ``on``."""
    aligned: bool = field(init=False, repr=False, compare=False)
    """Whether the slide divides the range, so that windows end where others begin."""

    def __post_init__(self) -> None:
        numbers = measure_fields(self, "range", "slide", "offset")
        range_, slide, _ = numbers
        if range_ < slide:
            raise ValueError(
                f"range {self.range} is below slide {self.slide}: tuples between windows would be in none; "
                f"use a range of at least {self.slide}, or sample the input first"
            )
        object.__setattr__(self, "numbers", numbers)
        whole = isinstance(range_, int) and isinstance(slide, int)
        object.__setattr__(self, "aligned", whole and range_ % slide == 0)

    @property
    def ticks(self) -> TimeWindow:
        """The windows whose bounds are its edges."""
        return self

    @property
    def bound_steps(self) -> tuple[Any, ...]:
        return self.numbers

    @property
    def slices_a_window(self) -> int:
        return int(self.numbers[0] // self.numbers[1])

    @property
    def slices_covered(self) -> int:
        return self.slices_a_window if self.aligned else self.slices_a_window * 2 + 1

    def best_chunk(self, merge_ns: Callable[[], int]) -> BestChunk | None:
        """By Theorem 2, unless the window is on a measure whose units are no times."""
        return BestChunk.of_times(*self.numbers[:2], merge_ns()) if self.on is None else None

    def explain_words(self, arrival: bool) -> str:
        return super().explain_words(arrival) + self._days_words()

    def _days_words(self) -> str:
        return f"; {DAYS_OF_UTC}" if self.on is None and self.numbers[1] % STEPS["D"] == 0 else ""

    def plain_words(self) -> str:
        on = f" of {self.on}" if self.on else ""
        return range_words(f"{self.range}{on}", f"{self.slide}{on}") + self._days_words()

    def slices_words(self, begins_only: bool) -> str:
        return super().slices_words(begins_only) + ("" if self.aligned else END_CUTS[begins_only])

    def file_offset(self) -> Any:
        """The offset as a query file has it; None if there is none."""
        return None if self.offset in (0, "0s") else self.offset

    def file_table(self) -> dict[str, Any]:
        tumbles = self.range == self.slide
        table = {"type": "tumbling" if tumbles else "sliding", "range": self.range}
        return table | {"slide": None if tumbles else self.slide, "offset": self.file_offset(), "on": self.on}

    def __str__(self) -> str:
        text = f"W[{self.range}, {self.slide}]"
        return text + (f" offset {self.offset}" if self.numbers[2] else "") + (f" on {self.on}" if self.on else "")

    def index(self, time: Any) -> int:
        """The largest k whose window begins at or before ``time``."""
        _, slide, offset = self.numbers
        k = (time - offset) // slide
        if isinstance(k, int):
            return k
        k = int(k)
        while offset + k * slide > time:  # a quotient of floats may be one off
            k -= 1
        while offset + (k + 1) * slide <= time:
            k += 1
        return k

    def start(self, k: int) -> Any:
        """Where window k begins."""
        _, slide, offset = self.numbers
        return offset + k * slide

    def first_behind(self, after: Any) -> int:
        """The first k whose window ends after ``after``."""
        range_ = self.numbers[0]
        k = self.index(after - range_)
        while self.start(k) + range_ <= after:
            k += 1
        while self.start(k - 1) + range_ > after:
            k -= 1
        return k

    def next_edge(self, after: Any) -> Any:
        start = TimeWindow.next_begin(self, after)
        if self.aligned:
            return start
        return min(start, self.start(self.first_behind(after)) + self.numbers[0])

    def next_begin(self, after: Any) -> Any:
        return self.start(self.index(after) + 1)

    def windows(self, after: Any, upto: Any) -> Iterator[Extent]:
        range_ = self.numbers[0]
        for k in count(self.first_behind(after)):
            start = self.start(k)
            if start + range_ > upto:
                return
            yield start, start + range_


def measure_fields(window: Any, *names: str) -> tuple[Any, ...]:
    """The named fields of a window as numbers in the unit that times have inside; durations are normalised in place.

    All but ``offset`` must be more than 0.
    """
    values = {name: getattr(window, name) for name in names}
    if window.on is None:
        for name, value in values.items():
            object.__setattr__(window, name, as_duration(value, name))
        numbers = {name: nanoseconds(getattr(window, name)) for name in names}
    else:
        numbers = {name: number_along(value, name, window.on) for name, value in values.items()}
    for name, number in numbers.items():
        if number <= 0 and name != "offset":
            raise ValueError(f"{name} must be more than 0; got {values[name]!r}")
    return tuple(numbers.values())


def number_along(value: Any, name: str, on: str) -> Any:
    """A finite number, which is what a measure other than time is values in."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"{name} must be a number in the unit of column {on!r}; got {value!r}")
    return value
