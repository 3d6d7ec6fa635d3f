"""Standard deviations by the pairwise merge of Chan, Golub and LeVeque.

A partial is (n, mean, m2), ``m2`` the sum of squared distances from the mean. A sum of squares minus a squared sum
would cancel to noise where the mean is large beside the spread. Undoing a merge would cancel in the same way, so
neither deviation offers ``invert``.

Full windows of columns avoid the merge's division: they sum distances from an origin, and their squares. The origin is
a value of the window, so its own squared distance from the mean is part of ``m2``, the sum of squares is at most n
times ``m2``, and no more cancels than the digits of n, however large the mean is and wherever the origin lies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation, Full, Kind

__all__ = ["PopulationStdDev", "SampleStdDev"]

Partial = tuple[int, float, float]


def _lift(value: Any) -> Partial:
    return (1, float(value**1), 0.0)  # only numbers have powers: text and times are refused


def _combine(a: Partial, b: Partial) -> Partial:
    count = a[0] + b[0]
    delta = b[1] - a[1]
    weight = b[0] / count
    return (count, a[1] + delta * weight, a[2] + b[2] + delta * delta * (a[0] * weight))


def _deviation(mean: float, m2: float, degrees: int) -> float:
    if mean - mean != 0:  # NaN or infinite values: undefined, as in NumPy
        return math.nan
    return math.sqrt(m2 / degrees)


def _lower_sample(partial: Partial) -> float | None:
    count, mean, m2 = partial
    return _deviation(mean, m2, count - 1) if count > 1 else None


def _lower_population(partial: Partial) -> float:
    count, mean, m2 = partial
    return _deviation(mean, m2, count)


def _distance(value: Any, origin: Any) -> tuple[float, float]:
    distance = float(value) - float(origin)
    return (distance, distance * distance)


def _add(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return (a[0] + b[0], a[1] + b[1])


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


def _counted(partial: tuple[Any, Any], count: Any, origin: Any) -> tuple[Any, Any, Any]:
    total, squares = partial
    return (count, origin + total / count, np.maximum(squares - total * (total / count), 0.0))


class _StdDev(Aggregation):
    """What both share. ``_lower_full`` lowers a full window's partial and count."""

    kind = Kind.ALGEBRAIC
    commutative = True
    _lift = staticmethod(_lift)
    _combine = staticmethod(_combine)
    _lower_full: Callable[[tuple[float, float], int], float]

    def full(self, kind: str) -> Full:
        return Full(_distance, _add, self._lower_full, _counted)


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
