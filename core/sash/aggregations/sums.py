"""Counts, and sums that neither drift nor stay poisoned.

A running sum of floats loses a little precision with every step, and one NaN or infinity spoils it for ever. Here a sum
is a pair (hi, lo) with the value ``hi + lo``: ``lo`` holds what rounding took from ``hi``, about 106 bits in all
instead of 53. NaN and infinities are counted beside the pair instead of added, so that a window recovers when they
leave it. Integers, decimals, fractions and timedeltas go through the same code: their additions do not round, ``lo``
stays zero, and the result has their type.

A sum that overflows is infinite, as in NumPy; in a structure that subtracts it stays so until the window is empty.
"""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import numpy as np

from sash.aggregations.base import LOWER_ARRAYS, Aggregation, Full, Functions, Sliced, same

__all__ = ["Count", "Sum", "counter_of"]

Partial = tuple[Any, ...]

_DURATIONS = (timedelta, np.timedelta64)


def _add(a_hi: Any, a_lo: Any, b_hi: Any, b_lo: Any) -> tuple[Any, Any]:
    """(hi, lo) of the sum of two pairs: Knuth's two-sum of the high parts, then the low parts on top."""
    total = a_hi + b_hi
    b_part = total - a_hi
    error = (a_hi - (total - b_part)) + (b_hi - b_part) + (a_lo + b_lo)
    if error != error:  # the sum overflowed: infinity has no low part
        return (total, b_lo - b_lo)
    hi = total + error
    return (hi, error - (hi - total))


def _lift(value: Any) -> Partial:
    zero = value - value  # of the value's own type; NaN exactly where the value is not finite
    if zero == zero:
        return (value, zero, 0, 0, 0)
    if value != value:
        return (0, 0, 1, 0, 0)
    if value > 0:
        return (0, 0, 0, 1, 0)
    return (0, 0, 0, 0, 1)


def _lift_any(value: Any) -> Partial:
    """As :func:`_lift`, for values that need not be numbers."""
    zero = value - value
    if zero == zero:
        if isinstance(zero, _DURATIONS) and not isinstance(value, _DURATIONS):
            raise TypeError("timestamps cannot be added: take the Median, or subtract a fixed time from them first")
        return (value, zero, 0, 0, 0)
    return _lift(value)


def _combine(a: Partial, b: Partial) -> Partial:
    hi, lo = _add(a[0], a[1], b[0], b[1])
    return (hi, lo, a[2] + b[2], a[3] + b[3], a[4] + b[4])


def _invert(total: Partial, oldest: Partial) -> Partial:
    hi, lo = _add(total[0], total[1], -oldest[0], -oldest[1])
    return (hi, lo, total[2] - oldest[2], total[3] - oldest[3], total[4] - oldest[4])


def _lower(partial: Partial) -> Any:
    hi, lo, nans, infinities, negative_infinities = partial
    if nans or (infinities and negative_infinities):
        return math.nan
    if infinities:
        return math.inf
    if negative_infinities:
        return -math.inf
    return hi + lo


def _lower_arrays(hi: Any, lo: Any, *odd: Any) -> Any:
    return None if any(map(np.any, odd)) else hi + lo


LOWER_ARRAYS[_lower] = _lower_arrays


def _plus(a: Any, b: Any) -> Any:
    return a + b


def _with_rest(value: Any, _: Any) -> tuple[Any, float]:
    return (value, -0.0)  # which no addition changes: compilers leave it out


def _add_keeping_rest(a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
    """:func:`_add` for windows that are summed once: ``lo`` stays apart, so no sum waits for more than one addition.

    A value that is not finite makes ``lo`` NaN, and so does an overflow.
    """
    total = a[0] + b[0]
    b_part = total - a[0]
    return (total, a[1] + (b[1] + ((a[0] - (total - b_part)) + (b[0] - b_part))))


def _whole(partial: tuple[Any, Any], _: int) -> Any:
    hi, lo = partial
    return hi + lo if lo == lo else hi


def _halves(value: Any) -> tuple[Any, Any]:
    """A 64-bit integer in two halves, each with room for the sum of a window."""
    return (value >> 32, value & 0xFFFFFFFF)


def _add_pairs(a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
    return (a[0] + b[0], a[1] + b[1])


def _whole_signed(partial: tuple[Any, Any]) -> tuple[Any, bool]:
    high = partial[0] + (partial[1] >> 32)
    return ((high << 32) | (partial[1] & 0xFFFFFFFF), high < -(1 << 31) or high >= 1 << 31)


def _whole_unsigned(partial: tuple[Any, Any]) -> tuple[Any, bool]:
    high = partial[0] + (partial[1] >> 32)
    return ((high << 32) | (partial[1] & 0xFFFFFFFF), high >= 1 << 32)


def _sums_to_rows(high: Any, low: Any) -> tuple[Any, ...]:
    """Arrays of halves as arrays of row partials, with Python's integers where 64 bits are too few."""
    high, low = high.astype(np.int64), low.astype(np.int64)
    carried = high + (low >> 32)
    if ((carried >= -(1 << 31)) & (carried < 1 << 31)).all():
        total = (carried << 32) | (low & 0xFFFFFFFF)
    else:
        total = high.astype(object) * (1 << 32) + low.astype(object)
    zeros = np.zeros(len(total), np.int64)
    return (total, zeros, zeros, zeros, zeros)


def _sums_from_rows(total: Any, *others: Any) -> tuple[Any, Any]:
    whole = all(isinstance(value, int) for value in total) if total.dtype == object else total.dtype.kind in "biu"
    if not whole or any(np.any(other) for other in others):
        raise ValueError("a sum of floats")
    total = total.astype(np.int64) if total.dtype.kind == "b" else total
    return (total >> 32, total & 0xFFFFFFFF)


class Sum(Aggregation):
    """The sum, in twice the precision of a float, about 10 flops a combine. Distributive, commutative, invertible.

    >>> import sash
    >>> total = sash.Sum("load")
    >>> partial = total.combine(total.lift(1e100), total.lift(1.0))
    >>> total.lower(total.invert(partial, total.lift(1e100)))
    1.0
    """

    commutative = True
    _lift = staticmethod(_lift_any)
    _combine = staticmethod(_combine)
    _lower = staticmethod(_lower)
    _invert = staticmethod(_invert)

    def columnar(self, kind: str, clean: bool) -> Functions:
        """Plain floats, since nothing is subtracted from a column's sums; integers with a flag for overflow."""
        if kind == "f":
            return Functions(same, _plus, same)
        return Functions(_halves, _add_pairs, _whole_unsigned if kind == "u" else _whole_signed, guarded=True)

    def full_as_sliced(self, kind: str) -> Full | None:
        return Full(_with_rest, _add_keeping_rest, _whole) if kind == "f" else None

    def sliced(self, kind: str) -> Sliced:
        if kind == "f":
            return Sliced(Functions(_lift, _combine, _lower))
        return Sliced(self.columnar(kind, clean=False), _sums_to_rows, _sums_from_rows)


def _lift_counted(value: Any) -> Partial:
    return (1, *_lift(value))


def _lift_counted_any(value: Any) -> Partial:
    hi, lo, nans, infinities, negative_infinities = _lift_any(value)
    return (1, hi, lo, nans, infinities, negative_infinities)


def _combine_counted(a: Partial, b: Partial) -> Partial:
    hi, lo = _add(a[1], a[2], b[1], b[2])
    return (a[0] + b[0], hi, lo, a[3] + b[3], a[4] + b[4], a[5] + b[5])


def _invert_counted(total: Partial, oldest: Partial) -> Partial:
    return (total[0] - oldest[0], *_invert(total[1:], oldest[1:]))


def _one(value: Any) -> int:
    return 1


def _subtract(total: int, oldest: int) -> int:
    return total - oldest


class Count(Aggregation):
    """``Count()`` counts rows, nulls included; ``Count("x")`` the values of ``x`` that are not null, as SQL does.

    An empty window's count is 0. Distributive, commutative, invertible.

    >>> import sash
    >>> rows, values = sash.Count(), sash.Count("x")
    >>> rows.lower(rows.lift(None)), values.lower(values.lift(None))
    (1, 0)
    """

    empty = 0
    commutative = True
    _lift = staticmethod(_one)
    _combine = staticmethod(_plus)
    _invert = staticmethod(_subtract)

    @property
    def takes_ticks(self) -> bool:
        return True

    @property
    def unfiltered(self) -> Count:
        """Rows that are null where the filter is not true are counted by their nulls."""
        return Count(*self.inputs or self.columns)

    def lift(self, value: Any) -> int | None:
        return None if value is None and self.inputs else 1


class _CountComplete(Count):
    """Counts rows without a null in any of several columns."""

    def __init__(self, *columns: str, where: str | None = None) -> None:
        self.arity = len(columns)  # type: ignore[misc]  # of each instance its own
        super().__init__(*columns, where=where)

    @property
    def unfiltered(self) -> _CountComplete:
        return _CountComplete(*self.inputs)

    def lift(self, value: Any) -> int | None:
        return None if any(one is None for one in value) else 1


def counter_of(aggregation: Aggregation) -> Aggregation:
    """What counts the values that an aggregation takes; of a count all rows, null or not. O(columns).

    >>> import sash
    >>> counter_of(sash.ArgMax("load", "house", where="ok")), counter_of(sash.Count("load"))
    (Count('load', where='ok'), Count())
    """
    if isinstance(aggregation, Count):
        return Count()
    skipping = [column for place, column in enumerate(aggregation.inputs) if place not in aggregation.carried]
    kind = Count if len(skipping) < 2 else _CountComplete
    return kind(*skipping, where=aggregation.where)
