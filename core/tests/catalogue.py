"""Every aggregation with values that suit it and the way its results are compared: what the tests are driven by."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import sash
from sash.aggregations.laws import alike
from sash.aggregators import DABA

# Dyadic fractions of this size add up without rounding, so sums of them can be compared to the bit.
EXACT = st.integers(-1000, 1000).map(lambda n: n / 8)
SPECIAL = st.sampled_from([None, math.nan, math.inf, -math.inf, 0.0, -1])
NUMBERS = st.one_of(st.integers(-5, 5), EXACT, EXACT, SPECIAL)
POSITIVE = st.one_of(st.integers(1, 100), st.just(None), st.floats(0.01, 100.0))
FINITE = st.one_of(st.integers(-5, 5), EXACT, st.none())
TEXT = st.one_of(st.none(), st.text("abc", max_size=3))
MILD = st.one_of(st.integers(-5, 5), EXACT, st.none())
NUMBER_PAIRS = st.tuples(MILD, MILD)
BOOLEANS = st.sampled_from([None, True, False])
PAIRS = st.tuples(st.one_of(st.none(), st.integers(-3, 3), st.just(math.nan)), st.sampled_from("abcd"))


class UncachedDABA(DABA):
    """DABA without the sums that it keeps to save merges."""

    def __init__(self, aggregation: sash.Aggregation) -> None:
        super().__init__(aggregation, cached=False)


def same(a: Any, b: Any) -> bool:
    """Equal to the bit and in type of container, NaN being equal to NaN."""
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return bool(a == b) or (a != a and b != b)


def near(a: Any, b: Any) -> bool:
    """Within a relative 5 %, as estimates of one thing may be."""
    if isinstance(a, float | int) and isinstance(b, float | int):
        return math.isclose(a, b, rel_tol=0.05, abs_tol=1e-9) or (a != a and b != b)
    return same(a, b)


def close(a: Any, b: Any) -> bool:
    """Within 1e-6 of the largest number around: where moments cancel, digits are lost."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        most = max(map(abs, (*a, *b)))
        return all(math.isclose(x, y, rel_tol=1e-6, abs_tol=1e-6 * most) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-6) or (a != a and b != b)
    return same(a, b)


LIKE_ANOTHER = {
    "Min", "MaxCount", "ArgMin", "Last", "PopulationStdDev", "SampleVariance", "PopulationVariance", "Kurtosis",
    "Correlation", "Slope", "All",
}  # fmt: skip
"""Mirrors of another aggregation, and those that only lower its partials in another way: compiled, they are alike."""


def marks_of(aggregation: sash.Aggregation) -> list[pytest.MarkDecorator]:
    """The marks of a test that compiles an aggregation."""
    return [pytest.mark.like_another] if aggregation.name in LIKE_ANOTHER else []


INTEGERS: list[Any] = [
    *(np.int8, np.int64, np.uint8, np.uint64),
    *(pytest.param(dtype, marks=pytest.mark.like_another) for dtype in (np.int16, np.int32, np.uint16, np.uint32)),
]
"""The types of whole numbers, for tests that compile: of those that are widened, the narrowest are compiled."""


@dataclass(frozen=True)
class Case:
    """An aggregation, what goes in, and what counts as the same result."""

    aggregation: sash.Aggregation
    values: st.SearchStrategy[Any]
    equal: Callable[[Any, Any], bool] = same
    exact: bool = True
    """Whether the partial of a window is the same to the bit however it was merged."""

    def __str__(self) -> str:
        return self.aggregation.name


def _spread() -> sash.Aggregation:
    return sash.aggregation(
        "load",
        lift=lambda v: (v, v),
        combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
        lower=lambda p: p[1] - p[0],
        commutative=True,
        name="spread",
    )


def _matrix_product() -> sash.Aggregation:
    """2×2 integer matrices: associative, and neither commutative nor invertible."""
    return sash.aggregation(
        lift=lambda v: (1, v, v, v * v + 1),
        combine=lambda a, b: (
            (a[0] * b[0] + a[1] * b[2]) % 10007,
            (a[0] * b[1] + a[1] * b[3]) % 10007,
            (a[2] * b[0] + a[3] * b[2]) % 10007,
            (a[2] * b[1] + a[3] * b[3]) % 10007,
        ),
        name="matrix_product",
    )


CASES = [
    Case(sash.Count(), NUMBERS),
    Case(sash.Count("x"), NUMBERS),
    Case(sash.Sum(), NUMBERS),
    Case(sash.Min(), NUMBERS),
    Case(sash.Max(), NUMBERS),
    Case(sash.Mean(), NUMBERS),
    Case(sash.GeometricMean(), st.one_of(POSITIVE, POSITIVE, POSITIVE, SPECIAL), alike, exact=False),
    Case(sash.MinCount(), NUMBERS),
    Case(sash.MaxCount(), NUMBERS),
    Case(sash.SampleStdDev(), NUMBERS, alike, exact=False),
    Case(sash.PopulationStdDev(), NUMBERS, alike, exact=False),
    Case(sash.SampleVariance(), NUMBERS, alike, exact=False),
    Case(sash.PopulationVariance(), NUMBERS, alike, exact=False),
    Case(sash.Skewness(), MILD, close, exact=False),
    Case(sash.Kurtosis(), MILD, close, exact=False),
    Case(sash.Covariance(), NUMBER_PAIRS, close, exact=False),
    Case(sash.Correlation(), NUMBER_PAIRS, close, exact=False),
    Case(sash.Slope(), NUMBER_PAIRS, close, exact=False),
    Case(sash.WeightedMean(), st.tuples(MILD, st.one_of(POSITIVE)), alike, exact=False),
    Case(sash.ExponentialMean(half_life=3), st.tuples(MILD, st.integers(0, 20)), alike, exact=False),
    Case(sash.Product(), st.one_of(NUMBERS, POSITIVE), alike, exact=False),
    Case(sash.Any(), BOOLEANS),
    Case(sash.All(), BOOLEANS),
    Case(sash.ExactDistinctCount(), NUMBERS),
    Case(sash.Mode(), NUMBERS),
    Case(sash.ArgMin(), PAIRS),
    Case(sash.ArgMax(), PAIRS),
    Case(sash.First(), NUMBERS),
    Case(sash.Last(), NUMBERS),
    Case(sash.Collect(), NUMBERS),
    Case(sash.CollectDistinct(), TEXT),
    Case(sash.Concat(separator="·"), TEXT),
    Case(sash.M4(), NUMBERS),
    Case(sash.Bloom(capacity=50, error_rate=0.1), st.one_of(st.none(), st.integers(0, 9), TEXT)),
    Case(sash.Median(), NUMBERS),
    Case(sash.Quantile(q=0.9), NUMBERS),
    Case(_spread(), FINITE),
    Case(_matrix_product(), st.one_of(st.none(), st.integers(0, 50))),
]
# Compared by their totals: what they estimate from them is tested on its own.
SKETCHES = [
    Case(sash.MomentSketch(), POSITIVE, alike, exact=False),
]
DATASKETCHES = [
    Case(sash.DistinctCount(), st.one_of(st.none(), st.integers(0, 20)), near, exact=False),
    Case(sash.HeavyHitters(), st.one_of(st.none(), st.sampled_from("abcdef")), exact=False),
]
