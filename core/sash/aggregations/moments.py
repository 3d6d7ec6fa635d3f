"""Variance, skewness and kurtosis: central moments, merged pairwise by the formulas of Chan et al. and Pébay.

A partial is (n, hi, lo, m2), or (n, hi, lo, m2, m3, m4) for the higher ones: ``mk`` is the sum of the k-th powers of
the distances from the mean, and the mean is hi + lo, the pair of :mod:`sash.aggregations.sums`. So means of values
around 1e9 keep the digits that tell them apart: what rounding takes is small beside the spread, not beside the offset.

Undoing a merge would cancel, so none of them offers ``invert``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation, Full, Kind
from sash.aggregations.means import _distance, _m2
from sash.aggregations.sums import _add, _add_pairs

__all__ = ["Kurtosis", "PopulationVariance", "SampleVariance", "Skewness"]

Variance = tuple[int, float, float, float]
Moments = tuple[int, float, float, float, float, float]


def _lift_variance(value: Any) -> Variance:
    return (1, float(value**1), 0.0, 0.0)  # only numbers have powers: text and times are refused


def _combine_variance(a: Variance, b: Variance) -> Variance:
    count = a[0] + b[0]
    delta = (b[1] - a[1]) + (b[2] - a[2])
    step = delta * (b[0] / count)
    hi, lo = _add(a[1], a[2], step, 0.0)
    return (count, hi, lo, a[3] + b[3] + delta * step * a[0])


def _variance(partial: Variance, degrees: int) -> float:
    if partial[1] - partial[1] != 0:  # NaN or infinite values: undefined, as in NumPy
        return math.nan
    return partial[3] / degrees


def _lower_sample_variance(partial: Variance) -> float | None:
    return _variance(partial, partial[0] - 1) if partial[0] > 1 else None


def _lower_population_variance(partial: Variance) -> float:
    return _variance(partial, partial[0])


def _full_sample_variance(partial: tuple[float, float], count: int) -> float:
    return _m2(partial, count) * (1.0 / (count - 1))


def _full_population_variance(partial: tuple[float, float], count: int) -> float:
    return _m2(partial, count) * (1.0 / count)


def _variance_of(partial: tuple[Any, Any], count: Any, origin: Any) -> tuple[Any, ...]:
    total, squares = partial
    mean = total / count
    hi = origin + mean
    return (count, hi, mean - (hi - origin), np.maximum(squares - total * mean, 0.0))


class _Variance(Aggregation):
    """Base of both; ``_lower_full`` lowers a full window's partial and count."""

    kind = Kind.ALGEBRAIC
    commutative = True
    _lift = staticmethod(_lift_variance)
    _combine = staticmethod(_combine_variance)
    _lower_full: Callable[[tuple[float, float], int], float]

    def full(self, kind: str) -> Full:
        return Full(_distance, _add_pairs, self._lower_full, _variance_of)


class SampleVariance(_Variance):
    """The variance of a sample (divisor n - 1); ``None`` for fewer than two values, as SQL's ``VAR_SAMP``.

    NaN or an infinity makes it NaN. Algebraic, commutative, not invertible; a combine takes about 20 flops.

    >>> import sash
    >>> spread = sash.SampleVariance("load")
    >>> spread.lower(spread.combine(spread.lift(1e9), spread.lift(1e9 + 2)))
    2.0
    """

    _lower = staticmethod(_lower_sample_variance)
    _lower_full = staticmethod(_full_sample_variance)


class PopulationVariance(_Variance):
    """The variance of a whole population (divisor n), as SQL's ``VAR_POP``.

    NaN or an infinity makes it NaN. Algebraic, commutative, not invertible; a combine takes about 20 flops.

    >>> import sash
    >>> spread = sash.PopulationVariance("load")
    >>> spread.lower(spread.combine(spread.lift(1), spread.lift(3)))
    1.0
    """

    _lower = staticmethod(_lower_population_variance)
    _lower_full = staticmethod(_full_population_variance)


def _lift_moments(value: float) -> Moments:
    return (1, float(value**1), 0.0, 0.0, 0.0, 0.0)  # only numbers have powers: text and times are refused


def _combine_moments(a: Moments, b: Moments) -> Moments:
    count = a[0] + b[0]
    older, newer = a[0] / count, b[0] / count
    delta = (b[1] - a[1]) + (b[2] - a[2])
    hi, lo = _add(a[1], a[2], delta * newer, 0.0)
    square = delta * delta
    product = square * (a[0] * newer)
    m2 = a[3] + b[3] + product
    m3 = a[4] + b[4] + product * delta * (older - newer) + 3.0 * delta * (older * b[3] - newer * a[3])
    m4 = (
        (a[5] + b[5] + product * square * (older * older - older * newer + newer * newer))
        + 6.0 * square * (older * older * b[3] + newer * newer * a[3])
        + 4.0 * delta * (older * b[4] - newer * a[4])
    )
    return (count, hi, lo, m2, m3, m4)


def _lower_skewness(partial: Moments) -> float | None:
    count, mean, _, m2, m3, _ = partial
    if count < 3:
        return None
    if mean - mean != 0 or m2 == 0:
        return math.nan
    spread = math.sqrt(m2 / (count - 1))
    return (m3 / spread / spread / spread) * count / ((count - 1.0) * (count - 2.0))


def _lower_kurtosis(partial: Moments) -> float | None:
    count, mean, _, m2, _, m4 = partial
    if count < 4:
        return None
    if mean - mean != 0 or m2 == 0:
        return math.nan
    variance = m2 / (count - 1)
    n, pairs = float(count), (count - 2.0) * (count - 3.0)
    return (m4 / variance / variance) * n * (n + 1.0) / ((n - 1.0) * pairs) - 3.0 * (n - 1.0) * (n - 1.0) / pairs


class _HigherMoment(Aggregation):
    kind = Kind.ALGEBRAIC
    commutative = True
    result_kind = float
    _lift = staticmethod(_lift_moments)
    _combine = staticmethod(_combine_moments)


class Skewness(_HigherMoment):
    """The skewness of a sample, corrected for bias: G₁, as pandas' ``skew`` and DuckDB's ``skewness``.

    ``None`` for fewer than three values. NaN if all values are equal, where it is 0/0, or if one is NaN or infinite.
    Algebraic, commutative, not invertible; a combine takes about 40 flops.

    >>> import sash
    >>> lean = sash.Skewness("load")
    >>> partial = lean.identity
    >>> for load in [1, 2, 3, 10]:
    ...     partial = lean.combine(partial, lean.lift(load))
    >>> round(lean.lower(partial), 4)
    1.7636
    """

    _lower = staticmethod(_lower_skewness)


class Kurtosis(_HigherMoment):
    """The excess kurtosis of a sample, corrected for bias: G₂, as pandas' ``kurt`` and DuckDB's ``kurtosis``.

    0 for a normal distribution. ``None`` for fewer than four values. NaN if all values are equal, where it is 0/0, or
    if one is NaN or infinite. Algebraic, commutative, not invertible; a combine takes about 40 flops.

    >>> import sash
    >>> tails = sash.Kurtosis("load")
    >>> partial = tails.identity
    >>> for load in [1, 2, 3, 10]:
    ...     partial = tails.combine(partial, tails.lift(load))
    >>> round(tails.lower(partial), 4)
    3.228
    """

    _lower = staticmethod(_lower_kurtosis)
