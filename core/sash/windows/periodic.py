"""Sliding and tumbling windows, on counts of tuples and on time or any other measure that advances."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any, ClassVar, Literal

from sash.aggregators.chunk_size import checked_window
from sash.values.durations import as_duration, nanoseconds
from sash.windows.base import ContextFree, Extent

__all__ = ["CountWindow", "TimeWindow", "sliding", "tumbling"]


@dataclass(frozen=True)
class CountWindow(ContextFree):
    """W[range, slide]: window i covers the values i·slide … i·slide + range - 1 and is complete with the last.

    Only full windows give results. ``partial``: also those before the first full one, which are not yet full; they end
    a whole number of slides before it.
    """

    measure: ClassVar[Literal["time", "count"]] = "count"
    range: int
    slide: int
    partial: bool = False

    def __post_init__(self) -> None:
        checked_window(self.range, self.slide)

    def __str__(self) -> str:
        return f"W[{self.range}, {self.slide}]" + ", partial ones too" * self.partial

    def next_edge(self, after: int) -> int:
        start = max(0, (after // self.slide + 1) * self.slide)
        return min(start, self._end_behind(after))

    def _end_behind(self, after: int) -> int:
        first = self.range % self.slide or self.slide
        least = first if self.partial else self.range
        return max(least, (after - first) // self.slide * self.slide + self.slide + first)

    def windows(self, after: int, upto: float) -> Iterator[Extent]:
        for end in count(self._end_behind(after), self.slide):
            if end > upto:
                return
            yield max(0, end - self.range), end


@dataclass(frozen=True)
class TimeWindow(ContextFree):
    """[k·slide + offset, k·slide + offset + range) for every whole k, as Flink and Spark align them.

    Durations of event time; with ``on``, numbers in the unit of that column. A window without a tuple gives no result.
    """

    range: Any
    slide: Any
    offset: Any = 0
    on: str | None = None
    _numbers: tuple[Any, Any, Any] = field(init=False, repr=False, compare=False)
    _aligned: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        given = {"range": self.range, "slide": self.slide, "offset": self.offset}
        if self.on is None:
            for name, value in given.items():
                object.__setattr__(self, name, as_duration(value, name))
            numbers = [nanoseconds(getattr(self, name)) for name in given]
        else:
            numbers = [checked_number(value, name, self.on) for name, value in given.items()]
        range_, slide, _ = numbers
        for name, number in zip(("range", "slide"), (range_, slide), strict=True):
            if number <= 0:
                raise ValueError(f"{name} must be more than 0; got {given[name]!r}")
        if range_ < slide:
            raise ValueError(
                f"range {self.range} is below slide {self.slide}: tuples between windows would be in none; "
                f"use a range of at least {self.slide}, or sample the input first"
            )
        object.__setattr__(self, "_numbers", tuple(numbers))
        whole = isinstance(range_, int) and isinstance(slide, int)
        object.__setattr__(self, "_aligned", whole and range_ % slide == 0)

    @property
    def numbers(self) -> tuple[Any, Any, Any]:
        """Range, slide and offset in the unit that times have inside: nanoseconds, or that of ``on``."""
        return self._numbers

    @property
    def aligned(self) -> bool:
        """Whether the slide divides the range, so that windows end where others begin."""
        return self._aligned

    def __str__(self) -> str:
        text = f"W[{self.range}, {self.slide}]"
        return text + (f" offset {self.offset}" if self._numbers[2] else "") + (f" on {self.on}" if self.on else "")

    def index(self, time: Any) -> int:
        """The largest k whose window begins at or before ``time``."""
        _, slide, offset = self._numbers
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
        _, slide, offset = self._numbers
        return offset + k * slide

    def first_behind(self, after: Any) -> int:
        """The first k whose window ends behind ``after``."""
        range_ = self._numbers[0]
        k = self.index(after - range_)
        while self.start(k) + range_ <= after:
            k += 1
        while self.start(k - 1) + range_ > after:
            k -= 1
        return k

    def next_edge(self, after: Any) -> Any:
        start = self.start(self.index(after) + 1)
        if self._aligned:
            return start
        return min(start, self.start(self.first_behind(after)) + self._numbers[0])

    def windows(self, after: Any, upto: Any) -> Iterator[Extent]:
        range_ = self._numbers[0]
        for k in count(self.first_behind(after)):
            start = self.start(k)
            if start + range_ > upto:
                return
            yield start, start + range_


def checked_number(value: Any, name: str, on: str) -> Any:
    """A finite number, which is what a measure other than time is given in."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"{name} must be a number in the unit of column {on!r}; got {value!r}")
    return value


def sliding(
    range: int | float | str | timedelta,
    slide: int | float | str | timedelta = 1,
    *,
    offset: int | float | str | timedelta = 0,
    on: str | None = None,
    partial: bool = False,
) -> CountWindow | TimeWindow:
    """The last ``range``, every ``slide``: whole numbers are counts of tuples, durations are event time.

    ``on`` names a column to measure along instead, with range and slide as numbers in its unit.

    >>> sliding(range=1024, slide=8)
    CountWindow(range=1024, slide=8, partial=False)
    >>> sliding(range="1h", slide="10s")
    TimeWindow(range='1h', slide='10s', offset='0s', on=None)
    >>> sliding(range=5.0, slide=0.5, on="km")
    TimeWindow(range=5.0, slide=0.5, offset=0, on='km')
    """
    if on is None and isinstance(range, int) and isinstance(slide, int):
        if offset:
            raise ValueError(f"a window on counts begins at the first tuple and takes no offset; got {offset!r}")
        return CountWindow(range, slide, bool(partial))
    if on is None and any(isinstance(value, int | float) for value in (range, slide)):
        raise TypeError(
            f"range {range!r} and slide {slide!r} must both be counts of tuples (whole numbers) or both durations "
            "such as '10s'; for numbers along a column name it with on="
        )
    if partial:
        raise ValueError("partial=True is for windows on counts; windows on time are emitted from the first tuple on")
    return TimeWindow(range, slide, offset, on)


def tumbling(
    range: int | float | str | timedelta,
    *,
    offset: int | float | str | timedelta = 0,
    on: str | None = None,
) -> CountWindow | TimeWindow:
    """One window after the other.

    >>> tumbling(60)
    CountWindow(range=60, slide=60, partial=False)
    >>> tumbling("1m")
    TimeWindow(range='1m', slide='1m', offset='0s', on=None)
    """
    return sliding(range, range, offset=offset, on=on)
