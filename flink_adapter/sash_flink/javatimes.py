"""Times in thread mode: PyFlink hands over Java's own objects there, and takes no others."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from sash_flink.values import Converter, Times, local_of, seconds_of

__all__ = ["in_threads"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1)


def in_threads() -> Times:
    """How times cross in a thread of the JVM, where alone this can be called."""
    # It works in an interpreter inside a JVM only, so that this module must do without it elsewhere. It has no types.
    from pemja import findClass  # type: ignore[import-untyped]

    instant, local, day, clock = (
        findClass(f"java.time.{name}") for name in ("Instant", "LocalDateTime", "LocalDate", "LocalTime")
    )

    def local_made(value: Any) -> Any:
        moment = local_of(value)
        return local.of(moment.year, moment.month, moment.day, *_clock(moment))

    written: dict[str, Converter] = {
        "instant": lambda value: instant.ofEpochSecond(*seconds_of(value)),
        "local": local_made,
        "date": lambda value: day.ofEpochDay((value - _FIRST_DAY).days),
        "time": lambda value: clock.of(*_clock(value)),
    }
    return Times({"instant": _instant, "local": _local, "date": _date, "time": _time}, written)


def _clock(value: datetime | time) -> tuple[int, int, int, int]:
    """What Java asks for, the last in nanoseconds."""
    return value.hour, value.minute, value.second, value.microsecond * 1000


def _instant(value: Any) -> Any:
    if value is None or isinstance(value, datetime):
        return value
    return _EPOCH + timedelta(seconds=value.getEpochSecond(), microseconds=value.getNano() // 1000)


def _local(value: Any) -> Any:
    if value is None or isinstance(value, datetime):
        return value
    return datetime(value.getYear(), value.getMonthValue(), value.getDayOfMonth(), *_of_day(value))


def _date(value: Any) -> Any:
    if value is None or isinstance(value, date):
        return value
    return _FIRST_DAY + timedelta(days=value.toEpochDay())


def _time(value: Any) -> Any:
    return value if value is None or isinstance(value, time) else time(*_of_day(value))


def _of_day(value: Any) -> tuple[int, int, int, int]:
    """What Python asks for of Java's objects, the last in microseconds."""
    return value.getHour(), value.getMinute(), value.getSecond(), value.getNano() // 1000
