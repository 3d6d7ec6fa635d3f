"""When the days and months of a calendar start, as naively as it can be read: by watching the clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

from sash.values.calendar import Calendar
from sash.values.timestamps import zone_of

__all__ = ["number_near", "starts_at"]

_EPOCH = datetime(1970, 1, 1)


@lru_cache(maxsize=4096)
def starts_at(calendar: Calendar, number: int) -> int:
    """When day or month ``number`` since January 1970 starts, in nanoseconds: when the local clock first shows it.

    >>> starts_at(Calendar("day", "Europe/Berlin"), 1) // 10**9 / 3600
    23.0
    """
    if calendar.unit == "day":
        local = _EPOCH + timedelta(days=number)
    else:
        local = datetime(1970 + number // 12, number % 12 + 1, 1)
    local += timedelta(microseconds=calendar.shift // 1000)
    first = local if calendar.zone is None else _first_shown(zone_of(calendar.zone), local)
    return (first - _EPOCH) // timedelta(microseconds=1) * 1000


def number_near(calendar: Calendar, time: int) -> int:
    """The day or month that ``time`` is in, or one beside it: clocks and shifts are left out."""
    days = time // (86400 * 10**9)
    day = _EPOCH + timedelta(days=days - calendar.shift // (86400 * 10**9))
    return (day - _EPOCH).days if calendar.unit == "day" else (day.year - 1970) * 12 + day.month - 1


def _first_shown(zone: tzinfo, local: datetime) -> datetime:
    """The first time in UTC at which the clock shows ``local`` or later: by the minute, then by the second."""
    step, at = timedelta(minutes=1), local - timedelta(hours=26)
    while _shown(zone, at + step) < local:
        at += step
    while _shown(zone, at) < local:
        at += timedelta(seconds=1)
    return at


def _shown(zone: tzinfo, at: datetime) -> datetime:
    return at.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None)
