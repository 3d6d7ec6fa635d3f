"""Plain numbers that are times, of a unit since 1970, as nanoseconds and back: ``time_unit`` of a query.

Whole numbers are exact. A float is taken as the nearest nanosecond; its whole part and the rest are converted apart, by
rows and by columns in the same way, so that both have the same nanosecond.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from sash.values.timestamps import LEAST, MOST, STEPS, checked_number, numbers

__all__ = ["check_step", "nanoseconds_of", "nanoseconds_since", "numbers_of"]

Array = np.ndarray[Any, Any]
_UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


def nanoseconds_since(value: Any, unit: str, row: int, column: str) -> int:
    """A number of ``unit`` in nanoseconds. A fraction is exact, and rounded down.

    >>> nanoseconds_since(1_500, "ms", 0, "ts"), nanoseconds_since(1.5, "s", 0, "ts")
    (1500000000, 1500000000)
    """
    step = STEPS[unit]
    if isinstance(value, Fraction):
        return max(LEAST, min(MOST, math.floor(value * step)))
    value = checked_number(value, row, column, f"a plain number of {_UNITS[unit]}")
    whole: int = math.floor(value)
    limit = MOST // step
    if isinstance(value, float):
        if not -limit < whole < limit:
            _refuse_far(value, unit, row, column)
        return whole * step + round((value - whole) * step)
    if not -limit <= whole <= limit:
        _refuse_far(value, unit, row, column)
    return whole * step


def nanoseconds_of(array: Array, unit: str, column: str, row: int) -> Array:
    """A column of numbers of ``unit`` in nanoseconds. O(n)."""
    array, step = numbers(array, column, row), STEPS[unit]
    limit = MOST // step
    if array.dtype.kind == "i":
        if step > 1 and len(array):
            _check_range(array, (array < -limit) | (array > limit), unit, row, column)
        inside: Array = array * step if step > 1 else array
        return inside
    whole = np.floor(array)
    _check_range(array, ~((whole > -limit) & (whole < limit)), unit, row, column)
    rest: Array = np.rint((array - whole) * step).astype(np.int64)
    return whole.astype(np.int64) * step + rest


def _check_range(array: Array, far: Array, unit: str, row: int, column: str) -> None:
    if far.any():
        at = int(far.argmax())
        _refuse_far(array[at], unit, row + at, column)


def numbers_of(array: Array, unit: str, whole: bool) -> Array:
    """Nanoseconds as numbers of ``unit``: floats, unless they are asked for as ``whole`` ones and are.

    >>> numbers_of(np.array([1_500_000_000]), "ms", whole=True), numbers_of(np.array([1_500_000_000]), "s", whole=False)
    (array([1500]), array([1.5]))
    """
    count, rest = np.divmod(array.astype(np.int64, copy=False), STEPS[unit])
    return count if whole and not rest.any() else count + rest / STEPS[unit]


def check_step(step: int, unit: str, says: str) -> None:
    """Refuse a window whose ends, ``step`` nanoseconds apart, whole numbers of ``unit`` cannot tell."""
    if step % STEPS[unit]:
        raise ValueError(
            f"{says} of time_unit={unit!r}: a window of {step} ns has ends that they cannot tell; make it one of whole "
            f"{_UNITS[unit]}, or the column one of floats"
        )


def _refuse_far(value: Any, unit: str, row: int, column: str) -> NoReturn:
    raise ValueError(
        f"column {column!r}, row {row}: {value} {_UNITS[unit]} is out of range: expected a time between the years 1677 "
        f"and 2262; is time_unit={unit!r} right?"
    )
