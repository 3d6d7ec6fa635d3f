"""Timestamps and durations: their units and time zones as users write them, and times as numbers since 1970.

Whole numbers are exact. A float becomes the nearest nanosecond; its whole part and the rest are converted apart, in the
same way for a value and for an array, so that both give the same nanosecond. Without a unit, numbers stay as they are.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from fractions import Fraction
from functools import lru_cache
from typing import Any, NoReturn
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from sash.values import Array
from sash.values.shares import Span, scaled, span_of

__all__ = [
    "A_TIME",
    "EPOCH",
    "EPOCH_UTC",
    "FARTHEST",
    "FIRST_DAY",
    "LEAST",
    "MOST",
    "STEPS",
    "UNIT_NAMES",
    "as_duration",
    "check_number",
    "check_numbers",
    "check_range",
    "check_step",
    "milliseconds",
    "moment",
    "nanoseconds",
    "nanoseconds_of",
    "nanoseconds_since",
    "numbers_of",
    "plain",
    "refuse_null",
    "ticks",
    "unit_of",
    "zone_name",
    "zone_of",
]

STEPS = {"D": 86400 * 10**9, "h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
"""Nanoseconds in each unit, the finest last."""
UNIT_NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
EPOCH, EPOCH_UTC, FIRST_DAY = datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC), date(1970, 1, 1)
LEAST, MOST = -(2**63) + 1, 2**63 - 1
"""The nanoseconds since 1970 that 64 bits hold; the lowest number is NaT."""
FARTHEST = MOST // 10**6 - 1000
"""The farthest time from 1970 in milliseconds that fits 64 bits of nanoseconds."""
A_TIME = "a timestamp (datetime, date, datetime64, text in ISO 8601) or a plain number"
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
_OFFSET = re.compile(r"[+-]\d{2}:[0-5]\d(:[0-5]\d)?")
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
    if _OFFSET.fullmatch(name):
        hours, minutes, *seconds = map(int, name[1:].split(":"))
        offset = timedelta(hours=hours, minutes=minutes, seconds=seconds[0] if seconds else 0)
        return timezone(-offset if name[0] == "-" else offset)
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:  # a name is a path, of a folder perhaps, or too long
        raise ValueError(
            f"time zone {name!r} is not known here: expected a name such as 'Europe/Berlin' or '+05:30'; if it is "
            "right, install the package tzdata"
        ) from error


# numbers since 1970


def plain(value: Any) -> Any:
    """A number of NumPy as Python's own; any other value unchanged."""
    return value.item() if isinstance(value, np.number) else value


def refuse_null(value: Any, row: int, column: str) -> NoReturn:
    """Refuse a missing time."""
    raise ValueError(f"column {column!r}, row {row}: every row needs a time, but it is {value!r} here")


def check_number(value: Any, row: int, column: str, expected: str) -> Any:
    """A finite number, int or float, that fits 64 bits; any other value is refused. O(1)."""
    value = plain(value)
    if value is None:
        refuse_null(value, row, column)
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float):
        raise TypeError(f"column {column!r}, row {row}: expected {expected}; got {value!r} of {type(value).__name__}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"column {column!r}, row {row}: {value} is not a time: expected a finite number")
    if not isinstance(value, float):
        check_range(value, value, row, column)
    return value


def check_range(inside: int, value: Any, row: int, column: str) -> int:
    """``inside``, which is ``value`` in nanoseconds, if it fits 64 bits. O(1)."""
    if not LEAST <= inside <= MOST:
        _refuse_far(value, None, row, column)
    return inside


def check_numbers(array: Array, column: str) -> None:
    """Refuse an array of other values than numbers. O(1)."""
    if array.dtype.kind not in "iuf":
        raise TypeError(f"column {column!r}: expected {A_TIME} in each row; got values of type {array.dtype}")


def nanoseconds_since(value: Any, unit: str, row: int, column: str) -> int:
    """A number of ``unit`` in nanoseconds. A fraction is exact, and rounded down. O(1).

    >>> nanoseconds_since(1_500, "ms", 0, "ts"), nanoseconds_since(1.5, "s", 0, "ts")
    (1500000000, 1500000000)
    """
    step = STEPS[unit]
    if isinstance(value, Fraction):
        return max(LEAST, min(MOST, math.floor(value * step)))
    value = check_number(value, row, column, f"a plain number of {UNIT_NAMES[unit]}")
    whole: int = math.floor(value)
    if abs(whole) >= MOST // step + (not isinstance(value, float)):
        _refuse_far(value, unit, row, column)
    rest: int = round((value - whole) * step) if isinstance(value, float) else 0
    return whole * step + rest


def nanoseconds_of(array: Array, unit: str | None, column: str, row: int) -> Array:
    """Numbers of ``unit`` in nanoseconds; without one, finite numbers as int64 or float64. O(n).

    >>> nanoseconds_of(np.array([1.5, 2.0]), "s", "ts", row=0)
    array([1500000000, 2000000000])
    """
    check_numbers(array, column)
    step = STEPS[unit or "ns"]
    if array.dtype.kind != "f":
        if array.dtype == np.uint64:
            _check_bound(array, MOST + 1, array, None, column, row)
        array = array.astype(np.int64, copy=False)
        if step == 1:
            return array
        _check_bound(array, MOST // step + 1, array, unit, column, row)
        return np.multiply(array, step)
    array = array.astype(np.float64, copy=False)
    if not (finite := np.isfinite(array)).all():
        at = int((~finite).argmax())
        check_number(float(array[at]), row + at, column, A_TIME)
    if unit is None:
        return array
    whole = np.floor(array)
    _check_bound(whole, MOST // step, array, unit, column, row)
    inside: Array = whole.astype(np.int64) * step + np.rint((array - whole) * step).astype(np.int64)
    return inside


def numbers_of(array: Array, unit: str, whole: bool) -> Array:
    """Nanoseconds as numbers of ``unit``: floats, unless they are asked for as ``whole`` ones and are. O(n).

    >>> numbers_of(np.array([1_500_000_000]), "ms", whole=True), numbers_of(np.array([1_500_000_000]), "s", whole=False)
    (array([1500]), array([1.5]))
    """
    count, rest = np.divmod(array.astype(np.int64, copy=False), STEPS[unit])
    return count if whole and not rest.any() else count + rest / STEPS[unit]


def ticks(array: Array, column: str, row: int) -> Array:
    """The nanoseconds of an array of datetime64; O(n), without a copy if it is in nanoseconds.

    >>> ticks(np.array([3], "datetime64[us]"), "ts", row=0)
    array([3000])
    """
    unit = unit_of(array.dtype, column)
    counts, step = array.astype(f"datetime64[{unit}]", copy=False).view(np.int64), STEPS[unit]
    span = span_of(counts) if len(counts) else Span(0, 0, True)
    low, high = int(span.low), int(span.high)
    if low < LEAST:
        at = int(counts.argmin())
        refuse_null(array[at], row + at, column)
    if step == 1:
        return counts
    if not -MOST <= low * step <= high * step <= MOST:
        _check_bound(counts, MOST // step + 1, array, None, column, row)
    return scaled(counts, step, span)


def check_step(step: int, unit: str, column: str) -> None:
    """Refuse a window whose bounds, ``step`` nanoseconds apart, whole numbers of ``unit`` cannot hold. O(1)."""
    if step % STEPS[unit]:
        raise ValueError(
            f"{column}: a window of {step} ns has bounds that whole numbers of time_unit={unit!r} cannot hold: use "
            f"a window of whole {UNIT_NAMES[unit]}, or a column of floats"
        )


def milliseconds(at: Any) -> int:
    """A time or a plain number of milliseconds, rounded up. O(1).

    >>> milliseconds(datetime(1970, 1, 1, 0, 0, 1, 1)), milliseconds(date(1970, 1, 2))
    (1001, 86400000)
    """
    if isinstance(at, datetime):  # as most often
        since = at - (EPOCH if at.tzinfo is None else EPOCH_UTC)
        return (since.days * 86400 + since.seconds) * 1000 + -(-since.microseconds // 1000)
    if isinstance(at, np.datetime64):
        return -(-int(at.astype("datetime64[ns]").astype(np.int64)) // 10**6)
    if isinstance(at, int | float | np.number):
        return math.ceil(at)
    days: int = (at - FIRST_DAY).days
    return days * 86_400_000


def moment(milliseconds: int, zoned: bool) -> datetime:
    """The time at so many milliseconds since 1970, or the nearest that nanoseconds can hold; in UTC if ``zoned``. O(1).

    >>> moment(1001, zoned=False)
    datetime.datetime(1970, 1, 1, 0, 0, 1, 1000)
    """
    return (EPOCH_UTC if zoned else EPOCH) + timedelta(milliseconds=max(min(milliseconds, FARTHEST), -FARTHEST))


def _check_bound(counts: Array, bound: int, array: Array, unit: str | None, column: str, row: int) -> None:
    """Refuse the first time of an array whose count of units is not between -bound and bound."""
    if len(counts) and not -bound < counts.min() <= counts.max() < bound:
        at = int(((counts <= -bound) | (counts >= bound)).argmax())
        _refuse_far(array[at], unit, row + at, column)


def _refuse_far(value: Any, unit: str | None, row: int, column: str) -> NoReturn:
    bits = unit is None and isinstance(value, int | np.integer)
    limits = "of 64 bits" if bits else "between the years 1677 and 2262"
    unit_name = "" if unit is None else f" {UNIT_NAMES[unit]}"
    hint = "" if unit is None else f"; is time_unit={unit!r} right?"
    raise ValueError(
        f"column {column!r}, row {row}: {value}{unit_name} is out of range: expected a time {limits}{hint}"
    )
