"""Sums and means that neither drift nor stay poisoned.

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

from sash.aggregations.base import Aggregation, Full, Functions, Kind, Sliced, same

__all__ = ["GeometricMean", "Mean", "Sum"]

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


def _plus(a: Any, b: Any) -> Any:
    return a + b


def _halves(value: Any) -> tuple[Any, Any]:
    """A 64-bit integer in two halves, each with room for the sum of a window."""
    return (value >> 32, value & 0xFFFFFFFF)


def _add_halves(a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
    return (a[0] + b[0], a[1] + b[1])


def _whole_signed(partial: tuple[Any, Any]) -> tuple[Any, bool]:
    high = partial[0] + (partial[1] >> 32)
    return ((high << 32) | (partial[1] & 0xFFFFFFFF), high < -(1 << 31) or high >= 1 << 31)


def _whole_unsigned(partial: tuple[Any, Any]) -> tuple[Any, bool]:
    high = partial[0] + (partial[1] >> 32)
    return ((high << 32) | (partial[1] & 0xFFFFFFFF), high >= 1 << 32)


def _sums_to_rows(high: Any, low: Any) -> tuple[Any, ...]:
    """Arrays of halves as those of the partials of rows: Python's integers where 64 bits are too few."""
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
        return Functions(_halves, _add_halves, _whole_unsigned if kind == "u" else _whole_signed, guarded=True)

    def sliced(self, kind: str) -> Sliced:
        if kind == "f":
            return Sliced(Functions(_lift, _combine, _lower))
        return Sliced(self.columnar(kind, clean=False), _sums_to_rows, _sums_from_rows)


def _lift_counted(value: Any) -> Partial:
    return (1, *_lift(value))


def _lift_counted_any(value: Any) -> Partial:
    return (1, *_lift_any(value))


def _combine_counted(a: Partial, b: Partial) -> Partial:
    hi, lo = _add(a[1], a[2], b[1], b[2])
    return (a[0] + b[0], hi, lo, a[3] + b[3], a[4] + b[4], a[5] + b[5])


def _invert_counted(total: Partial, oldest: Partial) -> Partial:
    return (total[0] - oldest[0], *_invert(total[1:], oldest[1:]))


def _lower_mean(partial: Partial) -> Any:
    return _lower(partial[1:]) / partial[0]


def _counted(value: Any) -> tuple[int, Any]:
    return (1, value)


def _mean(partial: tuple[int, Any]) -> Any:
    return partial[1] / partial[0]


def _counted_halves(value: Any) -> tuple[int, Any, Any]:
    return (1, value >> 32, value & 0xFFFFFFFF)


def _add_counted_halves(a: tuple[int, Any, Any], b: tuple[int, Any, Any]) -> tuple[int, Any, Any]:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def _mean_of_halves(partial: tuple[int, Any, Any]) -> Any:
    return (partial[1] * 4294967296.0 + partial[2]) / partial[0]


def _value(value: Any, _: Any) -> Any:
    return value


def _over(total: Any, count: int) -> Any:
    return total / count


def _count_and_sum(total: Any, count: Any, _: Any) -> tuple[Any, Any]:
    return (count, total)


def _value_halves(value: Any, _: Any) -> tuple[Any, Any]:
    return (value >> 32, value & 0xFFFFFFFF)


def _halves_over(total: tuple[Any, Any], count: int) -> Any:
    return (total[0] * 4294967296.0 + total[1]) / count


def _count_and_halves(total: tuple[Any, Any], count: Any, _: Any) -> tuple[Any, Any, Any]:
    return (count, *total)


def _means_to_rows(count: Any, high: Any, low: Any) -> tuple[Any, ...]:
    return (count, *_sums_to_rows(high, low))


def _means_from_rows(count: Any, *sums: Any) -> tuple[Any, Any, Any]:
    return (count, *_sums_from_rows(*sums))


class Mean(Aggregation):
    """The arithmetic mean: a :class:`Sum` and a count. Algebraic, commutative, invertible.

    >>> import sash
    >>> mean = sash.Mean("load")
    >>> mean.lower(mean.combine(mean.lift(1), mean.lift(2)))
    1.5
    """

    kind = Kind.ALGEBRAIC
    commutative = True
    _lift = staticmethod(_lift_counted_any)
    _combine = staticmethod(_combine_counted)
    _lower = staticmethod(_lower_mean)
    _invert = staticmethod(_invert_counted)

    def columnar(self, kind: str, clean: bool) -> Functions:
        if kind == "f":
            return Functions(_counted, _add_halves, _mean)
        return Functions(_counted_halves, _add_counted_halves, _mean_of_halves)

    def full(self, kind: str) -> Full:
        if kind == "f":
            return Full(_value, _plus, _over, _count_and_sum)
        return Full(_value_halves, _add_halves, _halves_over, _count_and_halves)

    def sliced(self, kind: str) -> Sliced:
        if kind == "f":
            return Sliced(Functions(_lift_counted, _combine_counted, _lower_mean))
        return Sliced(self.columnar(kind, clean=False), _means_to_rows, _means_from_rows)


def _lift_log(value: Any) -> Partial:
    if value == 0:
        return (1, 0.0, 0.0, 0, 1, 0)
    if value > 0:
        value**1  # only numbers have powers: times are refused
        log = math.log(value)  # not of the power, which compiled code has as a signed number
        return (1, log, 0.0, 0, 0, 0) if log != math.inf else (1, 0.0, 0.0, 1, 0, 0)
    return (1, 0.0, 0.0, 0, 0, 1)


def _lower_geometric(partial: Partial) -> float:
    count, hi, lo, infinities, zeros, undefined = partial
    if undefined or (zeros and infinities):
        return math.nan
    if zeros:
        return 0.0
    return math.inf if infinities else math.exp((hi + lo) / count)


class GeometricMean(Aggregation):
    """The geometric mean, summed in logarithms so that no product overflows. Algebraic, commutative, invertible.

    A zero in the window makes it 0; a negative value or NaN makes it NaN, and so does a zero together with an infinity.

    >>> import sash
    >>> growth = sash.GeometricMean("factor")
    >>> round(growth.lower(growth.combine(growth.lift(2), growth.lift(8))), 12)
    4.0
    """

    kind = Kind.ALGEBRAIC
    commutative = True
    _lift = staticmethod(_lift_log)
    _combine = staticmethod(_combine_counted)
    _lower = staticmethod(_lower_geometric)
    _invert = staticmethod(_invert_counted)
