"""Of two columns: covariance, correlation, slope and the weighted mean.

A partial of the first three is (n, x, x_low, y, y_low, Sxx, Sxy, Syy): the means, each with the low part that keeps
what rounding takes from it (:mod:`sash.aggregations.moments`), and the sums of the products of the distances from them,
merged pairwise by the formulas of Chan et al. and Pébay. Undoing a merge would cancel, so these offer no ``invert``.
"""

from __future__ import annotations

import math
from typing import Any

from sash.aggregations.base import Aggregation, Kind
from sash.aggregations.sums import _add

__all__ = ["Correlation", "Covariance", "Slope", "WeightedMean"]

Products = tuple[int, float, float, float, float, float, float, float]


class _OfPairs(Aggregation):
    """Base of aggregations of two columns that skip a row with a null in either."""

    arity = 2
    kind = Kind.ALGEBRAIC
    commutative = True
    result_kind = float

    def lift(self, value: Any) -> Any:
        try:
            x, y = value
        except (TypeError, ValueError):
            raise TypeError(f"{self!r} takes pairs; got {value!r}") from None
        return None if x is None or y is None else super().lift(value)


def _lift_products(pair: Any) -> Products:
    x, y = pair
    return (1, float(x**1), 0.0, float(y**1), 0.0, 0.0, 0.0, 0.0)  # only numbers have powers


def _combine_products(a: Products, b: Products) -> Products:
    count = a[0] + b[0]
    share = b[0] / count
    x = (b[1] - a[1]) + (b[2] - a[2])
    y = (b[3] - a[3]) + (b[4] - a[4])
    weight = a[0] * share
    x_mean, x_low = _add(a[1], a[2], x * share, 0.0)
    y_mean, y_low = _add(a[3], a[4], y * share, 0.0)
    return (
        count,
        x_mean,
        x_low,
        y_mean,
        y_low,
        a[5] + b[5] + x * x * weight,
        a[6] + b[6] + x * y * weight,
        a[7] + b[7] + y * y * weight,
    )


def _undefined(partial: Products) -> bool:
    """Whether a value was NaN or infinite."""
    return partial[1] - partial[1] != 0 or partial[3] - partial[3] != 0


def _lower_covariance(partial: Products) -> float | None:
    if partial[0] < 2:
        return None
    return math.nan if _undefined(partial) else partial[6] / (partial[0] - 1)


def _lower_correlation(partial: Products) -> float | None:
    if partial[0] < 2:
        return None
    if _undefined(partial) or partial[5] == 0 or partial[7] == 0:
        return math.nan
    scale = math.sqrt(partial[5] * partial[7])
    if scale == 0 or scale == math.inf:
        scale = math.sqrt(partial[5]) * math.sqrt(partial[7])
    result = partial[6] / scale
    return 1.0 if result > 1.0 else -1.0 if result < -1.0 else result


def _lower_slope(partial: Products) -> float | None:
    if partial[0] < 2:
        return None
    # y comes first, as in SQL
    return math.nan if _undefined(partial) or partial[7] == 0 else partial[6] / partial[7]


class _Products(_OfPairs):
    _lift = staticmethod(_lift_products)
    _combine = staticmethod(_combine_products)


class Covariance(_Products):
    """``Covariance("x", "y")``: of a sample (divisor n - 1), as SQL's ``COVAR_SAMP`` and pandas' ``cov``.

    Rows with a null in either column are skipped. ``None`` for fewer than two pairs; NaN or an infinity makes it NaN.
    Algebraic, commutative, not invertible; a combine takes about 25 flops.

    >>> import sash
    >>> both = sash.Covariance("load", "heat")
    >>> both.lower(both.combine(both.lift((1, 10)), both.lift((3, 14))))
    4.0
    """

    _lower = staticmethod(_lower_covariance)


class Correlation(_Products):
    """``Correlation("x", "y")``: Pearson's coefficient, from -1 to 1, as SQL's ``CORR`` and pandas' ``corr``.

    Rows with a null in either column are skipped. ``None`` for fewer than two pairs. NaN if the values of a column are
    all equal, where it is 0/0, or if one is NaN or infinite. Algebraic, commutative, not invertible; a combine takes
    about 25 flops.

    >>> import sash
    >>> both = sash.Correlation("load", "heat")
    >>> both.lower(both.combine(both.lift((1, 10)), both.lift((3, 14))))
    1.0
    """

    _lower = staticmethod(_lower_correlation)


class Slope(_Products):
    """``Slope("y", "x")``: how much ``y`` rises a unit of ``x``, by least squares, as SQL's ``REGR_SLOPE``.

    Rows with a null in either column are skipped. ``None`` for fewer than two pairs. NaN if all ``x`` are equal, where
    it is 0/0, or if a value is NaN or infinite. Algebraic, commutative, not invertible; a combine takes about 25 flops.

    >>> import sash
    >>> trend = sash.Slope("load", "hour")
    >>> trend.lower(trend.combine(trend.lift((10, 1)), trend.lift((14, 3))))
    2.0
    """

    _lower = staticmethod(_lower_slope)


Weighted = tuple[float, float, float, float]


def _lift_weighted(pair: Any) -> Weighted:
    value, weight = pair
    weight = float(weight**1)
    return (float(value**1) * weight, 0.0, weight, 0.0)  # only numbers have powers


def _combine_weighted(a: Weighted, b: Weighted) -> Weighted:
    total, total_low = _add(a[0], a[1], b[0], b[1])
    weight, weight_low = _add(a[2], a[3], b[2], b[3])
    return (total, total_low, weight, weight_low)


def _lower_weighted(partial: Weighted) -> float | None:
    weight = partial[2] + partial[3]
    return None if weight == 0 else (partial[0] + partial[1]) / weight


class WeightedMean(_OfPairs):
    """``WeightedMean("value", "weight")``: Σ value · weight / Σ weight, such as the price of a share by volume.

    Rows with a null in either column are skipped. ``None`` if the weights add up to 0; NaN if a value or a weight
    is. Sums are those of :class:`sash.Sum`, of 106 bits. Algebraic, commutative, not invertible; a combine takes about
    20 flops.

    >>> import sash
    >>> price = sash.WeightedMean("price", "volume")
    >>> price.lower(price.combine(price.lift((10.0, 3)), price.lift((14.0, 1))))
    11.0
    """

    _lift = staticmethod(_lift_weighted)
    _combine = staticmethod(_combine_weighted)
    _lower = staticmethod(_lower_weighted)
