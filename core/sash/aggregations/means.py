"""Means, and standard deviations by the pairwise merge of Chan, Golub and LeVeque.

Means are a count and the sum of :mod:`sash.aggregations.sums`. A partial of a deviation is (n, mean, m2), ``m2`` the
sum of squared distances from the mean. A sum of squares minus a squared sum would cancel to noise where the mean is
large beside the spread. Undoing a merge would cancel in the same way, so neither deviation offers ``invert``.

Full windows of columns avoid the merge's division: they sum distances from an origin, and their squares. The origin is
a value of the window, so its own squared distance from the mean is part of ``m2``, the sum of squares is at most n
times ``m2``, and no more cancels than the digits of n, however large the mean is and wherever the origin lies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sash.aggregations.base import LOWER_ARRAYS, Aggregation, Full, Functions, Kind, Sliced
from sash.aggregations.sums import (
    Partial,
    _add_keeping_rest,
    _add_pairs,
    _combine_counted,
    _invert_counted,
    _lift_counted,
    _lift_counted_any,
    _lower,
    _lower_arrays,
    _plus,
    _sums_from_rows,
    _sums_to_rows,
    _whole,
    _with_rest,
)

__all__ = ["GeometricMean", "Mean", "PopulationStdDev", "SampleStdDev"]

Deviation = tuple[int, float, float]


def _lower_mean(partial: Partial) -> Any:
    total = _lower(partial[1:])
    return total / partial[0]


def _lower_means(count: Any, *sums: Any) -> Any:
    total = _lower_arrays(*sums)
    return None if total is None else total / count


LOWER_ARRAYS[_lower_mean] = _lower_means


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
    """The quotient. By a power of two the product is the same to the bit, and takes a fraction of the time."""
    inverse = 1.0 / count
    return total * inverse if count & (count - 1) == 0 else total / count


def _whole_over(partial: tuple[Any, Any], count: int) -> Any:
    return _over(_whole(partial, count), count)


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
            return Functions(_counted, _add_pairs, _mean)
        return Functions(_counted_halves, _add_counted_halves, _mean_of_halves)

    def full(self, kind: str) -> Full:
        if kind == "f":
            return Full(_value, _plus, _over, _count_and_sum)
        return Full(_value_halves, _add_pairs, _halves_over, _count_and_halves)

    def full_as_sliced(self, kind: str) -> Full:
        return Full(_with_rest, _add_keeping_rest, _whole_over) if kind == "f" else self.full(kind)

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


def _lift_deviation(value: Any) -> Deviation:
    return (1, float(value**1), 0.0)  # only numbers have powers: text and times are refused


def _combine_deviation(a: Deviation, b: Deviation) -> Deviation:
    count = a[0] + b[0]
    delta = b[1] - a[1]
    weight = b[0] / count
    return (count, a[1] + delta * weight, a[2] + b[2] + delta * delta * (a[0] * weight))


def _deviation(mean: float, m2: float, degrees: int) -> float:
    if mean - mean != 0:  # NaN or infinite values: undefined, as in NumPy
        return math.nan
    return math.sqrt(m2 / degrees)


def _lower_sample(partial: Deviation) -> float | None:
    count, mean, m2 = partial
    return _deviation(mean, m2, count - 1) if count > 1 else None


def _lower_population(partial: Deviation) -> float:
    count, mean, m2 = partial
    return _deviation(mean, m2, count)


def _distance(value: Any, origin: Any) -> tuple[float, float]:
    distance = float(value) - float(origin)
    return (distance, distance * distance)


def _m2(partial: tuple[float, float], count: int) -> float:
    total, squares = partial
    m2 = squares - total * (total * (1.0 / count))
    if m2 < 0:
        m2 = 0.0
    return m2 if m2 == m2 else squares + (total - total)  # infinite if only the squares are, else undefined


def _full_sample(partial: tuple[float, float], count: int) -> float:
    return math.sqrt(_m2(partial, count) * (1.0 / (count - 1)))


def _full_population(partial: tuple[float, float], count: int) -> float:
    return math.sqrt(_m2(partial, count) * (1.0 / count))


def _deviation_of(partial: tuple[Any, Any], count: Any, origin: Any) -> tuple[Any, Any, Any]:
    total, squares = partial
    return (count, origin + total / count, np.maximum(squares - total * (total / count), 0.0))


class _StdDev(Aggregation):
    """Base of both; ``_lower_full`` lowers a full window's partial and count."""

    kind = Kind.ALGEBRAIC
    commutative = True
    _lift = staticmethod(_lift_deviation)
    _combine = staticmethod(_combine_deviation)
    _lower_full: Callable[[tuple[float, float], int], float]

    def full(self, kind: str) -> Full:
        return Full(_distance, _add_pairs, self._lower_full, _deviation_of)

    def full_as_sliced(self, kind: str) -> Full:
        return self.full(kind)


class SampleStdDev(_StdDev):
    """The standard deviation of a sample (divisor n - 1); ``None`` for fewer than two values, as in SQL.

    Algebraic, commutative, not invertible: an inverse would cancel, see the module.

    >>> import sash
    >>> spread = sash.SampleStdDev()
    >>> spread.lower(spread.combine(spread.lift(1e9), spread.lift(1e9 + 2))) == 2 ** 0.5
    True
    """

    _lower = staticmethod(_lower_sample)
    _lower_full = staticmethod(_full_sample)


class PopulationStdDev(_StdDev):
    """The standard deviation of a whole population (divisor n). Algebraic, commutative, not invertible.

    >>> import sash
    >>> spread = sash.PopulationStdDev()
    >>> spread.lower(spread.combine(spread.lift(1), spread.lift(3)))
    1.0
    """

    _lower = staticmethod(_lower_population)
    _lower_full = staticmethod(_full_population)
