"""What is a time and what is none: ranges, units, zones, and what is said of a value that cannot be one."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Any, NoReturn
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

__all__ = [
    "checked_number",
    "in_range",
    "numbers",
    "refuse_null",
    "ticks",
    "unit_for",
    "unit_of",
    "zone_name",
    "zone_of",
]

Array = np.ndarray[Any, Any]

LEAST, MOST = -(2**63) + 1, 2**63 - 1  # the lowest is NaT
STEPS = {"D": 86400 * 10**9, "h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
"""Nanoseconds in each unit, the finest last."""
A_TIME = "a timestamp (datetime, date, datetime64) or a plain number"


def refuse_null(value: Any, row: int, column: str) -> NoReturn:
    """Raise what a missing time is answered with."""
    raise ValueError(f"column {column!r}, row {row}: every row needs a time, but it is {value!r} here")


def value_at(array: Array, i: int) -> Any:
    """A value of an array as Python's own, None for a null."""
    return None if array[i] is np.ma.masked else plain(array[i])


def plain(value: Any) -> Any:
    """A number of NumPy as Python's own."""
    return value.item() if isinstance(value, np.number) else value


def checked_number(value: Any, row: int, column: str, expected: str) -> Any:
    """A finite number, int or float, that fits 64 bits."""
    value = plain(value)
    if value is None:
        refuse_null(value, row, column)
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float):
        raise TypeError(f"column {column!r}, row {row}: expected {expected}; got {value!r} of {type(value).__name__}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"column {column!r}, row {row}: {value} is not a time: expected a finite number")
    if not isinstance(value, float):
        in_range(value, value, row, column)
    return value


def in_range(inside: int, value: Any, row: int, column: str) -> int:
    """``inside``, which is ``value`` in nanoseconds, if it fits 64 bits."""
    if not LEAST <= inside <= MOST:
        _refuse_far(value, row, column)
    return inside


def _refuse_far(value: Any, row: int, column: str) -> NoReturn:
    limits = "of 64 bits" if isinstance(value, int | np.integer) else "between the years 1677 and 2262"
    raise ValueError(f"column {column!r}, row {row}: {value} is out of range: expected a time {limits}")


def checked_dtype(array: Array, column: str) -> None:
    """Refuse a column that is not of numbers."""
    if array.dtype.kind not in "iuf":
        raise TypeError(f"column {column!r}: expected {A_TIME} in each row; got values of type {array.dtype}")


def numbers(array: Array, column: str, row: int) -> Array:
    """An array of finite numbers as int64 or float64; O(n), without a copy if it is of such a type."""
    checked_dtype(array, column)
    if array.dtype.kind == "f":
        array = array.astype(np.float64, copy=False)
        if not (finite := np.isfinite(array)).all():
            at = int((~finite).argmax())
            checked_number(float(array[at]), row + at, column, A_TIME)
        return array
    if array.dtype == np.uint64 and (array > MOST).any():
        at = int((array > MOST).argmax())
        _refuse_far(array[at], row + at, column)
    return array.astype(np.int64, copy=False)


def ticks(array: Array, column: str, row: int) -> Array:
    """The nanoseconds of an array of datetime64; O(n), without a copy if it is in nanoseconds."""
    if (nulls := np.isnat(array)).any():
        refuse_null(array[int(nulls.argmax())], row + int(nulls.argmax()), column)
    unit = unit_of(array.dtype, column)
    counts = array.astype(f"datetime64[{unit}]", copy=False).view(np.int64)
    step = STEPS[unit]
    if step > 1 and len(counts) and max(-int(counts.min()), int(counts.max())) > MOST // step:
        at = int((np.abs(counts) > MOST // step).argmax())
        _refuse_far(array[at], row + at, column)
    return counts * step if step > 1 else counts


def unit_of(dtype: np.dtype[Any], column: str) -> str:
    """The unit of a datetime64 type: days for longer ones, and without multiples."""
    unit, _ = np.datetime_data(dtype)
    if unit in ("ps", "fs", "as"):
        raise TypeError(f"column {column!r}: expected timestamps of at most nanoseconds; got {dtype}")
    if unit in ("Y", "M", "W"):
        return "D"
    return unit if unit in STEPS else "ns"


def unit_for(times: Array, unit: str) -> str:
    """``unit``, or the first finer one that all ``times`` are multiples of."""
    units = list(STEPS)
    finer = units[units.index(unit) :]
    return next(unit for unit in finer if not (times % STEPS[unit]).any())


def zone_name(value: datetime) -> str | None:
    """The name of a datetime's zone; its offset, where the zone has no name that another process would know."""
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
    """The zone of this name, which may be an offset such as +02:00."""
    if name[0] in "+-":
        hours, minutes, *seconds = map(int, name[1:].split(":"))
        offset = timedelta(hours=hours, minutes=minutes, seconds=seconds[0] if seconds else 0)
        return timezone(-offset if name[0] == "-" else offset)
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ValueError(f"time zone {name!r} is not known here: install the package tzdata") from error
