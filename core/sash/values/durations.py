"""Durations as users write them: "10ms", "1h 30m", a timedelta. Held as whole nanoseconds."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction

__all__ = ["nanoseconds"]

_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "sec": 10**9,
    "m": 60 * 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86400 * 10**9,
}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zµ]+)")


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
    while match := _PART.match(duration, position):
        if match[2] not in _UNITS:
            break
        total += Fraction(match[1]) * _UNITS[match[2]]
        position = match.end()
    if position == 0 or duration[position:].strip():
        raise ValueError(
            f"{duration!r} is not a duration: write a number and one of {', '.join(_UNITS)}, such as '10ms'"
        )
    if total.denominator != 1:
        raise ValueError(f"{duration!r} is not a whole number of nanoseconds")
    return int(total)


_CANONICAL = {unit: _UNITS[unit] for unit in ("d", "h", "m", "s", "ms", "us", "ns")}


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
    for unit, size in _CANONICAL.items():
        number, left = divmod(left, size)
        if number:
            parts.append(f"{number}{unit}")
    return " ".join(parts) or "0s"
