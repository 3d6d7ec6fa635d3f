"""Standard deviations by the pairwise merge of Chan, Golub and LeVeque.

A partial is (n, mean, m2), ``m2`` the sum of squared distances from the mean. It is never formed as a sum of squares
minus a squared sum, which cancels to noise where the mean is large beside the spread. For the same reason neither
deviation offers ``invert``: undoing the merge cancels in the same way.
"""

from __future__ import annotations

import math
from typing import Any

from sash.aggregations.base import Aggregation, Kind

__all__ = ["PopulationStdDev", "SampleStdDev"]

Partial = tuple[int, float, float]


def _lift(value: Any) -> Partial:
    return (1, float(value), 0.0)


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


class SampleStdDev(Aggregation):
    """The standard deviation of a sample (divisor n - 1); ``None`` for fewer than two values, as in SQL.

    Algebraic, commutative, not invertible: an inverse would cancel, see the module.

    >>> import sash
    >>> spread = sash.SampleStdDev()
    >>> spread.lower(spread.combine(spread.lift(1e9), spread.lift(1e9 + 2))) == 2 ** 0.5
    True
    """

    kind = Kind.ALGEBRAIC
    commutative = True
    _lift = staticmethod(_lift)
    _combine = staticmethod(_combine)
    _lower = staticmethod(_lower_sample)


class PopulationStdDev(Aggregation):
    """The standard deviation of a whole population (divisor n). Algebraic, commutative, not invertible.

    >>> import sash
    >>> spread = sash.PopulationStdDev()
    >>> spread.lower(spread.combine(spread.lift(1), spread.lift(3)))
    1.0
    """

    kind = Kind.ALGEBRAIC
    commutative = True
    _lift = staticmethod(_lift)
    _combine = staticmethod(_combine)
    _lower = staticmethod(_lower_population)
