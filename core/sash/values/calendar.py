"""Calendars: days and months, counted from 1970, and the time at which each starts.

Durations of a calendar are written as others are, in days, weeks, months, quarters and years: ``"1d"``, ``"2w"``,
``"1y 6mo"``. How long one lasts depends on the calendar; it is so many days, or so many months.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from sash.values import Array
from sash.values.timestamps import LEAST, MOST, STEPS
from sash.values.zones import ZoneClock

__all__ = ["Calendar", "CalendarSpan", "Unit"]

Unit = Literal["day", "month"]
_PART = re.compile(r"\s*(\d+)\s*([a-z]+)")
_DAYS = {"w": 7, "d": 1}
_MONTHS = {"y": 12, "q": 3, "mo": 1}
_DAY = STEPS["D"]
_REACH = 400 * _DAY
"""Times nearer to the ends of 64 bits than this are taken as that near."""


class CalendarSpan(NamedTuple):
    """So many days or months.

    >>> CalendarSpan.of("2w"), str(CalendarSpan.of("18mo"))
    (CalendarSpan(number=14, unit='day', weeks=True), '1y 6mo')
    """

    number: int
    unit: Unit
    weeks: bool = False
    """Whether it was written in weeks alone."""

    @staticmethod
    def of(duration: Any) -> CalendarSpan | None:
        """A duration in units of a calendar, None for any other. O(1).

        >>> CalendarSpan.of("1h"), CalendarSpan.of("1mo 1d"), CalendarSpan.of(timedelta(days=3))
        (None, None, CalendarSpan(number=3, unit='day', weeks=False))
        """
        if isinstance(duration, timedelta):
            return None if duration % timedelta(days=1) else CalendarSpan(duration.days, "day")
        if not isinstance(duration, str):
            return None
        parts, position = [], 0
        while match := _PART.match(duration, position):
            parts.append((int(match[1]), match[2]))
            position = match.end()
        units = {unit for _, unit in parts}
        if not parts or duration[position:].strip():
            return None
        if units <= _DAYS.keys():
            return CalendarSpan(sum(count * _DAYS[unit] for count, unit in parts), "day", units == {"w"})
        if units <= _MONTHS.keys():
            return CalendarSpan(sum(count * _MONTHS[unit] for count, unit in parts), "month")
        return None

    def __str__(self) -> str:
        if self.unit == "day":
            return f"{self.number // 7}w" if self.weeks else f"{self.number}d"
        years, months = divmod(self.number, 12)
        return " ".join(f"{count}{unit}" for count, unit in ((years, "y"), (months, "mo")) if count) or "0mo"


@dataclass(frozen=True)
class Calendar:
    """The days or months of a time zone, or of UTC; each starts ``shift`` nanoseconds after its midnight.

    Times without a zone are those of their own clock. Converting n times costs O(n log changes of the zone's offset).

    >>> calendar = Calendar("month", "Europe/Berlin")
    >>> times = np.array(["2024-03-31T23:00"], "datetime64[ns]").astype(np.int64)
    >>> calendar.index(times), calendar.start(np.array([651])).astype("datetime64[ns]").astype("datetime64[m]")
    (array([651]), array(['2024-03-31T22:00'], dtype='datetime64[m]'))
    """

    unit: Unit
    zone: str | None = None
    shift: int = 0

    @property
    def _clock(self) -> ZoneClock | None:
        return None if self.zone is None else ZoneClock.of(self.zone)

    def index(self, times: Array) -> Array:
        """The day or month that each time is in."""
        times = np.clip(times, LEAST + _REACH, MOST - _REACH)
        local = times if self._clock is None else self._clock.local(times)
        days: Array = (local - self.shift) // _DAY
        return days if self.unit == "day" else days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)

    def start(self, index: Array) -> Array:
        """When days or months start."""
        days = index if self.unit == "day" else index.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
        local: Array = np.clip(days, -_FARTHEST, _FARTHEST) * _DAY + self.shift
        return local if self._clock is None else self._clock.first(local)

    def index_of(self, time: int) -> int:
        """:meth:`index` of one time."""
        return int(self.index(np.array([time], np.int64))[0])

    def start_of(self, index: int) -> int:
        """:meth:`start` of one day or month."""
        return _start_of(self, index)


_FARTHEST = (MOST - _REACH) // _DAY


@lru_cache(maxsize=4096)  # windows end at the same times for all keys, and begin where others ended
def _start_of(calendar: Calendar, index: int) -> int:
    return int(calendar.start(np.array([index], np.int64))[0])
