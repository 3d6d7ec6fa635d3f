"""Timestamps and durations as users, Python and NumPy write them: their units, their time zones, and conversions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from fractions import Fraction
from functools import lru_cache
from importlib.util import find_spec
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

__all__ = [
    "STEPS",
    "UNIT_NAMES",
    "as_duration",
    "datetimes",
    "in_micros",
    "in_unit",
    "nanoseconds",
    "ticks_of",
    "unit_for",
    "unit_of",
    "zone_name",
    "zone_of",
]

Array = np.ndarray[Any, Any]

STEPS = {"D": 86400 * 10**9, "h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
"""Nanoseconds in each unit, the finest last."""
UNIT_NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
_DURATION_UNITS = {
    "ns": STEPS["ns"],
    "us": STEPS["us"],
    "µs": STEPS["us"],
    "ms": STEPS["ms"],
    "s": STEPS["s"],
    "sec": STEPS["s"],
    "m": STEPS["m"],
    "min": STEPS["m"],
    "h": STEPS["h"],
    "d": STEPS["D"],
}
_DURATION_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zµ]+)")


def nanoseconds(duration: str | timedelta) -> int:
    """A duration in whole nanoseconds. O(1).

    >>> nanoseconds("10ms"), nanoseconds("1h 30m"), nanoseconds(timedelta(seconds=2))
    (10000000, 5400000000000, 2000000000)
    """
    if isinstance(duration, timedelta):
        return (duration.days * 86400 + duration.seconds) * 10**9 + duration.microseconds * 1000
    if not isinstance(duration, str):
        raise TypeError(f"a duration is a text such as '10ms' or a timedelta; got {duration!r}")
    total, position = Fraction(0), 0
    while match := _DURATION_PART.match(duration, position):
        if match[2] not in _DURATION_UNITS:
            break
        total += Fraction(match[1]) * _DURATION_UNITS[match[2]]
        position = match.end()
    if position == 0 or duration[position:].strip():
        raise ValueError(
            f"{duration!r} is not a duration: write a number and one of {', '.join(_DURATION_UNITS)}, such as '10ms'"
        )
    if total.denominator != 1:
        raise ValueError(f"{duration!r} is not a whole number of nanoseconds")
    return int(total)


def as_duration(value: str | timedelta | int, name: str) -> str:
    """A duration as a text in its shortest form, so that equal ones are equal; errors call it ``name``. O(1).

    >>> as_duration("60s", "range"), as_duration(timedelta(milliseconds=1500), "range"), as_duration(0, "offset")
    ('1m', '1s 500ms', '0s')
    """
    if isinstance(value, int) and value == 0 and not isinstance(value, bool):
        return "0s"
    try:
        left = nanoseconds(value)  # type: ignore[arg-type]  # it refuses the rest
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None
    if left < 0:
        raise ValueError(f"{name} must not be negative; got {value!r}")
    parts = []
    for unit, size in STEPS.items():
        number, left = divmod(left, size)
        if number:
            parts.append(f"{number}{unit.lower()}")
    return " ".join(parts) or "0s"


def unit_of(dtype: np.dtype[Any], column: str) -> str:
    """The unit of a datetime64 type: days for longer ones, and without multiples. O(1).

    >>> unit_of(np.dtype("datetime64[ms]"), "ts"), unit_of(np.dtype("datetime64[Y]"), "ts")
    ('ms', 'D')
    """
    unit, _ = np.datetime_data(dtype)
    if unit in ("ps", "fs", "as"):
        raise TypeError(f"column {column!r}: expected timestamps of at most nanoseconds; got {dtype}")
    if unit in ("Y", "M", "W"):
        return "D"
    return unit if unit in STEPS else "ns"


def unit_for(times: Array, unit: str) -> str:
    """``unit``, or the first finer one that all ``times``, in nanoseconds, are multiples of. O(n).

    >>> unit_for(np.array([1_500_000_000]), "s")
    'ms'
    """
    units = list(STEPS)
    return next(finer for finer in units[units.index(unit) :] if not (times % STEPS[finer]).any())


def in_unit(array: Array, units: Sequence[str]) -> Array:
    """Times in the coarsest of ``units`` that is not coarser than their own: what a library can hold. O(n).

    >>> in_unit(np.array([2], "datetime64[h]"), ("s", "ms", "us", "ns")).dtype
    dtype('<M8[s]')
    """
    if array.dtype.kind not in "mM":
        return array
    unit = np.datetime_data(array.dtype)[0]
    if unit in units or unit not in STEPS:
        return array
    finer = next(other for other in units if STEPS[other] <= STEPS[unit])
    return array.astype(f"{array.dtype.kind}8[{finer}]")


def in_micros(array: Array) -> Array:
    """Times of nanoseconds in microseconds, the finest unit of Python's types, if no value changes. O(n).

    >>> in_micros(np.array([2000], "datetime64[ns]")), in_micros(np.array([2001], "timedelta64[ns]")).dtype
    (array(['1970-01-01T00:00:00.000002'], dtype='datetime64[us]'), dtype('<m8[ns]'))
    """
    if array.dtype.kind not in "mM" or np.datetime_data(array.dtype)[0] != "ns":
        return array
    coarse = array.astype(f"{array.dtype.kind}8[us]")
    fine, back = np.asarray(array), np.asarray(coarse.astype(array.dtype))
    return coarse if ((fine == back) | np.isnat(fine)).all() else array


def ticks_of(value: Any, unit: str) -> Any:
    """A timestamp, in UTC, or a duration as a whole number of units, exactly; any other value unchanged. O(1).

    >>> ticks_of(timedelta(seconds=2), "ms"), ticks_of(np.datetime64(3, "ns"), "ns"), ticks_of(None, "ns")
    (2000, 3, None)
    """
    if hasattr(value, "asm8"):
        value = value.asm8  # pandas' times have nanoseconds
    elif isinstance(value, datetime):
        value = np.datetime64(value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None))
    elif isinstance(value, timedelta):
        value = np.timedelta64(value)
    if not isinstance(value, np.datetime64 | np.timedelta64):
        return value
    converted = value.astype(f"{value.dtype.kind}8[{unit}]")
    if converted != value:
        raise ValueError(f"{value} is no whole number of units of {unit}")
    return int(converted.astype(np.int64))


def datetimes(array: Array, zone: str | None = None) -> list[Any]:
    """Times as Python's datetimes and timedeltas, None for NaT; those of a ``zone`` as datetimes in it. O(n).

    Nanoseconds, which no Python type can hold, stay NumPy's; with a zone they are pandas' Timestamps, if it is
    installed.

    >>> datetimes(np.array(["2024-03-01T12:00", "NaT"], "datetime64[s]"))
    [datetime.datetime(2024, 3, 1, 12, 0), None]
    """
    fine = np.datetime_data(array.dtype)[0] == "ns"
    values: list[Any] = list(array) if fine else array.tolist()
    if fine and (nulls := np.isnat(array)).any():
        values = [None if null else value for value, null in zip(values, nulls, strict=True)]
    if zone is None:
        return values
    inside = zone_of(zone)
    if fine and array.dtype.kind == "M" and find_spec("pandas") is not None:
        from pandas import Timestamp

        return [None if value is None else Timestamp(value, tz="UTC").tz_convert(inside) for value in values]
    return [value.replace(tzinfo=UTC).astimezone(inside) if hasattr(value, "astimezone") else value for value in values]


def zone_name(value: datetime) -> str | None:
    """The name of a datetime's zone; its offset, where the zone has no name that another process would know. O(1).

    >>> zone_name(datetime(2024, 3, 1, tzinfo=timezone(timedelta(hours=2))))
    '+02:00'
    """
    zone: Any = value.tzinfo
    if zone is None:
        return None
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)  # that of zoneinfo, of pytz
    if zone is UTC or name is not None:
        return str(name or "UTC")
    seconds = int((value.utcoffset() or timedelta()).total_seconds())
    hours, rest = divmod(abs(seconds), 3600)
    return f"{'-' if seconds < 0 else '+'}{hours:02}:{rest // 60:02}" + (f":{rest % 60:02}" if rest % 60 else "")


@lru_cache
def zone_of(name: str) -> tzinfo:
    """The zone of this name, which may be an offset such as +02:00. O(1).

    >>> zone_of("-05:30").utcoffset(None) == timedelta(hours=-5, minutes=-30)
    True
    """
    if name[0] in "+-":
        hours, minutes, *seconds = map(int, name[1:].split(":"))
        offset = timedelta(hours=hours, minutes=minutes, seconds=seconds[0] if seconds else 0)
        return timezone(-offset if name[0] == "-" else offset)
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ValueError(f"time zone {name!r} is not known here: install the package tzdata") from error
