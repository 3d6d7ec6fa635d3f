"""Times in thread mode: PyFlink hands over Java's own objects there, and takes no others."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import numpy as np

from sash_flink.values import Converter, Times

__all__ = ["in_threads"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1)


def in_threads() -> Times:
    """How times cross in a thread of the JVM, where alone this can be called."""
    from pemja import findClass  # type: ignore[import-untyped]  # of use in the JVM only

    instant, local, day, clock = (
        findClass(f"java.time.{name}") for name in ("Instant", "LocalDateTime", "LocalDate", "LocalTime")
    )

    def instant_of(value: Any) -> Any:
        return instant.ofEpochSecond(*_seconds(value))

    def local_of(value: Any) -> Any:
        if isinstance(value, np.datetime64):
            value = value.astype("datetime64[us]").item()
        if not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)
        return local.of(
            value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond * 1000
        )

    written: dict[str, Converter] = {
        "instant": instant_of,
        "local": local_of,
        "date": lambda value: day.ofEpochDay((value - _FIRST_DAY).days),
        "time": lambda value: clock.of(value.hour, value.minute, value.second, value.microsecond * 1000),
    }
    return Times({"instant": _instant, "local": _local, "date": _date, "time": _time}, written)


def _seconds(value: Any) -> tuple[int, int]:
    """Since 1970, and nanoseconds."""
    if isinstance(value, np.datetime64):
        return divmod(int(value.astype("datetime64[ns]").astype(np.int64)), 10**9)
    since = value - _EPOCH
    return since.days * 86400 + since.seconds, since.microseconds * 1000


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
    return value.getHour(), value.getMinute(), value.getSecond(), value.getNano() // 1000
