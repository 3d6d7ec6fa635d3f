"""``sliding`` and ``tumbling``: windows on counts, on time, on another measure or of a calendar."""

from __future__ import annotations

from datetime import timedelta

from sash.windows.calendar import CalendarWindow, WeekDay, is_of_calendar
from sash.windows.count import CountWindow
from sash.windows.time import TimeWindow

__all__ = ["sliding", "tumbling"]


def sliding(
    range: int | float | str | timedelta,
    slide: int | float | str | timedelta = 1,
    *,
    offset: int | float | str | timedelta = 0,
    on: str | None = None,
    partial: bool = False,
    zone: str | None = None,
    week_start: WeekDay = "monday",
) -> CountWindow | TimeWindow | CalendarWindow:
    """The last ``range``, every ``slide``: whole numbers are counts of tuples, durations are event time.

    ``on`` names a column to measure along instead, with range and slide as numbers in its unit. ``zone`` names the time
    zone whose days, weeks, months, quarters and years range and slide count ("7d", "1w", "1mo", "1q", "1y"): a day has
    23 or 25 hours when its clocks change. Without it, they are those of UTC or, for times without a zone, of their own
    clock. Weeks start on Monday, or on Sunday.

    >>> sliding(range=1024, slide=8)
    CountWindow(range=1024, slide=8, partial=False)
    >>> sliding(range="1h", slide="10s")
    TimeWindow(range='1h', slide='10s', offset='0s', on=None)
    >>> sliding(range=5.0, slide=0.5, on="km")
    TimeWindow(range=5.0, slide=0.5, offset=0, on='km')
    >>> sliding(range="7d", slide="1d", zone="America/New_York")
    CalendarWindow(range='7d', slide='1d', offset='0s', zone='America/New_York', week_start='monday')
    """
    if on is None and isinstance(range, int) and isinstance(slide, int):
        if offset:
            raise ValueError(f"a window on counts begins at the first tuple and takes no offset; got {offset!r}")
        if zone is not None:
            raise ValueError(f"a window on counts has no time zone; got zone={zone!r}")
        return CountWindow(range, slide, bool(partial))
    if on is None and any(isinstance(value, int | float) for value in (range, slide)):
        raise TypeError(
            f"range {range!r} and slide {slide!r} must both be counts of tuples (whole numbers) or both durations "
            "such as '10s'; for numbers along a column name it with on="
        )
    if partial:
        raise ValueError("partial=True is for windows on counts; windows on time are emitted from the first tuple on")
    if on is None and (zone is not None or week_start != "monday" or is_of_calendar(range) or is_of_calendar(slide)):
        return CalendarWindow(range, slide, offset, zone, week_start)  # type: ignore[arg-type]  # it refuses numbers
    if zone is not None:
        raise ValueError(f"zone={zone!r} is for days of event time; numbers along column {on!r} have no time zone")
    return TimeWindow(range, slide, offset, on)


def tumbling(
    range: int | float | str | timedelta,
    *,
    offset: int | float | str | timedelta = 0,
    on: str | None = None,
    zone: str | None = None,
    week_start: WeekDay = "monday",
) -> CountWindow | TimeWindow | CalendarWindow:
    """One window after the other; arguments as for :func:`sliding`.

    >>> tumbling(60)
    CountWindow(range=60, slide=60, partial=False)
    >>> tumbling("1m")
    TimeWindow(range='1m', slide='1m', offset='0s', on=None)
    >>> tumbling("1mo", zone="Europe/Berlin")
    CalendarWindow(range='1mo', slide='1mo', offset='0s', zone='Europe/Berlin', week_start='monday')
    """
    return sliding(range, range, offset=offset, on=on, zone=zone, week_start=week_start)
