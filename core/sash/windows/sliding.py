"""``sliding`` and ``tumbling``: windows on counts, on time, on another measure or of a calendar."""

from __future__ import annotations

from datetime import timedelta

from sash.windows.calendar import CalendarWindow, WeekDay, is_of_calendar
from sash.windows.count import AroundWindow, CountWindow
from sash.windows.time import TimeWindow

__all__ = ["sliding", "tumbling"]


def sliding(
    range: int | float | str | timedelta,
    slide: int | float | str | timedelta = 1,
    *,
    offset: int | float | str | timedelta = 0,
    on: str | None = None,
    partial: bool = False,
    center: bool = False,
    min_periods: int | None = None,
    zone: str | None = None,
    week_start: WeekDay = "monday",
) -> CountWindow | TimeWindow | CalendarWindow:
    """The last ``range``, every ``slide``: whole numbers are counts of tuples, durations are event time.

    ``on`` names a column to measure along instead, with range and slide as numbers in its unit. ``zone`` names the time
    zone whose days, weeks, months, quarters and years range and slide count ("7d", "1w", "1mo", "1q", "1y"): a day has
    23 or 25 hours when its clocks change. Without it, they are those of UTC or, for times without a zone, of their own
    clock. Weeks start on Monday, or on Sunday.

    Windows on counts are emitted when they are full; ``partial``: also those before the first full one. With ``center``
    or ``min_periods`` there is a result for each tuple, as in pandas (the slide is 1):

    - ``center`` has the tuple in the middle of its window, the younger of two middles. Its position is ``window_end - 1
      - (range - 1) // 2``; ``window_end`` may lie behind the last tuple. A result is emitted with the last tuple of its
      window; those whose windows reach behind the last tuple come when the input ends.
    - ``min_periods``: an aggregate whose window has fewer values is null. Each aggregate counts its own: the tuples
      that it takes, without those that it skips as null in its columns or by ``where``. Counts ask for so many tuples,
      null or not. By default as many as ``range`` are needed, or 1 with ``partial``.

    >>> sliding(range=1024, slide=8)
    CountWindow(range=1024, slide=8, partial=False)
    >>> sliding(range="1h", slide="10s")
    TimeWindow(range='1h', slide='10s', offset='0s', on=None)
    >>> sliding(range=5.0, slide=0.5, on="km")
    TimeWindow(range=5.0, slide=0.5, offset=0, on='km')
    >>> import sash
    >>> centered = sliding(3, center=True, min_periods=2)
    >>> query = sash.Query(windows=centered, aggregates={"sum": sash.Sum("x")})
    >>> sash.run(query, {"x": [3, 1, 4, None, 5]})
    {'window_start': [0, 0, 1, 2, 3], 'window_end': [2, 3, 4, 5, 6], 'sum': [4, 8, 5, 9, None]}
    >>> sliding(range="7d", slide="1d", zone="America/New_York")
    CalendarWindow(range='7d', slide='1d', offset='0s', zone='America/New_York', week_start='monday')
    """
    if on is None and isinstance(range, int) and isinstance(slide, int):
        if offset:
            raise ValueError(f"a window on counts begins at the first tuple and takes no offset; got {offset!r}")
        if zone is not None:
            raise ValueError(f"a window on counts has no time zone; got zone={zone!r}")
        if center or min_periods is not None:
            return AroundWindow(range, slide, bool(partial), bool(center), min_periods)
        return CountWindow(range, slide, bool(partial))
    if center or min_periods is not None:
        raise ValueError("center and min_periods are for windows on counts; sash.trailing has a result for each tuple")
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
