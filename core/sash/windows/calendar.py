"""Windows of a calendar: days, weeks, months and years of a time zone, over changes of its clocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any, ClassVar, Literal

from sash.values.calendar import Calendar, CalendarSpan
from sash.values.timestamps import STEPS, as_duration, nanoseconds, zone_of
from sash.windows.base import ContextFree, Extent
from sash.windows.time import DAYS_OF_UTC, END_CUTS, TimeWindow, range_words

__all__ = ["CalendarWindow", "WeekDay", "is_of_calendar"]

WeekDay = Literal["monday", "sunday"]
_FIRST_WEEK = {"monday": 4, "sunday": 3}
"""The first day of a week, counted from 1 January 1970, which was a Thursday."""
_IN_CALENDARS_ONLY = re.compile(r"\d\s*(w|mo|q|y)\b")


@dataclass(frozen=True)
class CalendarWindow(ContextFree):
    """``range`` of a calendar every ``slide``, both so many days or both so many months.

    Slides are counted as polars counts them: days and months from 1 January 1970, so that quarters are those of the
    year, weeks from the first Monday or Sunday behind it. With an ``offset`` windows start that much later by the local
    clock. A window without a tuple emits no result.
    """

    corrected_by_columns: ClassVar[bool] = True
    emits_early: ClassVar[bool] = True
    range: str
    slide: str
    offset: Any = 0
    zone: str | None = None
    week_start: WeekDay = "monday"
    calendar: Calendar = field(init=False, repr=False, compare=False)
    """What counts the days or months."""
    units: TimeWindow = field(init=False, repr=False, compare=False)
    """The same window over the numbers of days or months."""

    def __post_init__(self) -> None:
        if self.zone is not None:
            if not isinstance(self.zone, str) or not self.zone:
                raise TypeError(f"zone must be the name of a time zone such as 'Europe/Berlin'; got {self.zone!r}")
            zone_of(self.zone)
        if self.week_start not in _FIRST_WEEK:
            raise ValueError(f"week_start must be 'monday' or 'sunday'; got {self.week_start!r}")
        range_, slide = (_span(getattr(self, name), name, self.zone) for name in ("range", "slide"))
        if range_.unit != slide.unit:
            raise ValueError(
                f"range {self.range} and slide {self.slide} must both be of days and weeks, or both of months and years"
            )
        if self.week_start != "monday" and not slide.weeks:
            raise ValueError(f"week_start={self.week_start!r} is for windows of weeks; got slide {self.slide}")
        if range_.number < slide.number:
            raise ValueError(
                f"range {self.range} is below slide {self.slide}: tuples between windows would be in none; "
                f"use a range of at least {self.slide}, or sample the input first"
            )
        first = _FIRST_WEEK[self.week_start] if slide.weeks else 0
        months, shift = self._offset(slide)
        range_ = range_._replace(weeks=slide.weeks and range_.number % 7 == 0)
        fields: dict[str, Any] = {"range": str(range_), "slide": str(slide), "offset": _offset_text(months, shift)}
        fields["calendar"] = Calendar(slide.unit, self.zone, shift)
        fields["units"] = TimeWindow(range_.number, slide.number, (first + months) % slide.number, on="calendar")
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _offset(self, slide: CalendarSpan) -> tuple[int, int]:
        """The offset in whole months and in nanoseconds."""
        span = CalendarSpan.of(self.offset)
        if span is not None and span.unit == "month":
            if slide.unit != "month":
                raise ValueError(f"offset {self.offset} is of months: windows of days can start hours or days later")
            return span.number, 0
        return 0, nanoseconds(as_duration(self.offset, "offset")) if span is None else span.number * STEPS["D"]

    @property
    def numbers(self) -> tuple[int, int, int]:
        """Range, slide and offset in days or months."""
        range_, slide, offset = self.units.numbers
        return range_, slide, offset

    @property
    def aligned(self) -> bool:
        """Whether the slide divides the range, so that windows end where others begin."""
        return self.units.aligned

    @property
    def ticks(self) -> CalendarWindow:
        """The windows whose bounds are its edges."""
        return self

    @property
    def bound_steps(self) -> tuple[Any, ...]:
        """Clocks have been changed by whole seconds, and by a day at most."""
        longest = self.units.range * (31 if self.calendar.unit == "month" else 1) * STEPS["D"]
        step = STEPS["D"] if self.zone is None else STEPS["s"]
        return longest + (0 if self.zone is None else STEPS["D"]), step, self.calendar.shift

    @property
    def slices_a_window(self) -> int:
        return self.units.slices_a_window

    @property
    def slices_covered(self) -> int:
        return self.units.slices_covered

    def explain_words(self, arrival: bool) -> str:
        return f"{super().explain_words(arrival)}; {self._days_words()}"

    def plain_words(self) -> str:
        return f"{range_words(self.range, self.slide)}; {self._days_words()}"

    def _days_words(self) -> str:
        return DAYS_OF_UTC if self.zone is None else f"days are those of {self.zone}"

    def slices_words(self, begins_only: bool) -> str:
        return super().slices_words(begins_only) + ("" if self.units.aligned else END_CUTS[begins_only])

    def file_table(self) -> dict[str, Any]:
        tumbles = self.range == self.slide
        table: dict[str, Any] = {"type": "tumbling" if tumbles else "sliding", "range": self.range}
        table |= {"slide": None if tumbles else self.slide, "offset": None if self.offset == "0s" else self.offset}
        return table | {"zone": self.zone, "week_start": None if self.week_start == "monday" else self.week_start}

    def __str__(self) -> str:
        text = f"W[{self.range}, {self.slide}]" + (f" offset {self.offset}" if self.offset != "0s" else "")
        weeks = "" if self.week_start == "monday" else f" from {self.week_start}"
        return text + (f" in {self.zone}" if self.zone else "") + weeks

    def index(self, time: Any) -> int:
        """The largest k whose window begins at or before ``time``."""
        return self.units.index(self.calendar.index_of(time))

    def start(self, k: int) -> int:
        """Where window k begins."""
        return self.calendar.start_of(self.units.start(k))

    def end(self, k: int) -> int:
        """Where window k ends."""
        return self.calendar.start_of(self.units.start(k) + self.units.range)

    def first_behind(self, after: Any) -> int:
        """The first k whose window ends after ``after``."""
        return self.units.first_behind(self.calendar.index_of(after))

    def next_edge(self, after: Any) -> int:
        return self.calendar.start_of(self.units.next_edge(self.calendar.index_of(after)))

    def next_begin(self, after: Any) -> int:
        return self.start(self.index(after) + 1)

    def windows(self, after: Any, upto: Any) -> Iterator[Extent]:
        for k in count(self.first_behind(after)):
            start, end = self.start(k), self.end(k)
            if end > upto:
                return
            yield start, end


def is_of_calendar(duration: Any) -> bool:
    """Whether a duration needs a calendar: weeks, months, years. Days of UTC all have 24 hours."""
    return isinstance(duration, str) and _IN_CALENDARS_ONLY.search(duration) is not None


def _span(duration: str | timedelta, name: str, zone: str | None) -> CalendarSpan:
    span = CalendarSpan.of(duration)
    if span is None:
        days = "" if zone is None else f" in zone={zone!r}"
        raise ValueError(
            f"{name}: windows of a calendar{days} are of whole days ('1d'), weeks ('1w'), months ('1mo'), quarters "
            f"('1q') or years ('1y'); got {duration!r}"
        )
    if not span.number:
        raise ValueError(f"{name} must be more than 0; got {duration!r}")
    return span


def _offset_text(months: int, shift: int) -> str:
    return str(CalendarSpan(months, "month")) if months else as_duration(f"{shift}ns", "offset")
