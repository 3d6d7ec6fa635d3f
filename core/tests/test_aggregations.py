"""The aggregations: what they mean, their algebra, and their numerical manners."""

from __future__ import annotations

import inspect
import math
import pickle
import statistics
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import cloudpickle
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from catalogue import CASES, DATASKETCHES, SKETCHES, Case, close, same
from sash import aggregations
from sash.aggregations import Aggregation, Kind
from sash.aggregators import DABA, SlideSide, SubtractOnEvict
from sash.testing import naive

nan, inf = math.nan, math.inf
ALL = CASES + SKETCHES + DATASKETCHES


def test_every_aggregation_is_in_the_catalogue() -> None:
    classes = {
        thing
        for thing in vars(aggregations).values()
        if inspect.isclass(thing) and issubclass(thing, Aggregation) and thing is not Aggregation
    }
    # KLL compacts at random beyond k values, so QuantileSketch is compared within its error in its own test
    assert classes - {type(case.aggregation) for case in ALL} == {aggregations.QuantileSketch}
    assert {cls.__name__ for cls in classes} <= set(sash.__all__)


@pytest.mark.parametrize(
    ("aggregation", "values", "expected"),
    [
        (sash.Count(), [1, None, 2], 3),
        (sash.Count("x"), [1, None, 2], 2),
        (sash.Sum(), [1, None, 2], 3),
        (sash.Sum(), [0.5, 2], 2.5),
        (sash.Min(), [3, None, 1, 2], 1),
        (sash.Max(), [3, 1, None], 3),
        (sash.Max(), ["b", "c", "a"], "c"),
        (sash.Max(), [datetime(2024, 1, 2), datetime(2024, 1, 1)], datetime(2024, 1, 2)),
        (sash.Mean(), [1, 2, None, 6], 3.0),
        (sash.GeometricMean(), [1, 10, 100], 10.0),
        (sash.GeometricMean(), [5, 0, 3], 0.0),
        (sash.GeometricMean(), [5, -1], nan),
        (sash.GeometricMean(), [5, nan], nan),
        (sash.GeometricMean(), [5, inf], inf),
        (sash.GeometricMean(), [0, inf], nan),
        (sash.GeometricMean(), [5, 0, -1], nan),
        (sash.GeometricMean(), [1e300, 1e300, 1e-300], 1e100),
        (sash.MinCount(), [2, 1, 3, 1, 1.0], 3),
        (sash.MaxCount(), [2, 3, 1, 3], 2),
        (sash.MaxCount(), [2, nan, 1, nan], 2),
        (sash.SampleStdDev(), [2, 4, 4, 4, 5, 5, 7, 9], statistics.stdev([2, 4, 4, 4, 5, 5, 7, 9])),
        (sash.PopulationStdDev(), [2, 4, 4, 4, 5, 5, 7, 9], 2.0),
        (sash.SampleStdDev(), [3], None),
        (sash.PopulationStdDev(), [3], 0.0),
        (sash.SampleStdDev(), [1, inf, 2], nan),
        (sash.SampleStdDev(), [1, nan, 2], nan),
        (sash.SampleVariance(), [2, 4, None, 9], 13.0),
        (sash.SampleVariance(), [3], None),
        (sash.SampleVariance(), [1, inf], nan),
        (sash.PopulationVariance(), [1, 3], 1.0),
        (sash.PopulationVariance(), [3], 0.0),
        (sash.Skewness(), [1, 2], None),
        (sash.Skewness(), [3, 3, 3], nan),
        (sash.Skewness(), [1, 2, inf], nan),
        (sash.Kurtosis(), [1, 2, 4], None),
        (sash.Kurtosis(), [3, 3, 3, 3], nan),
        (sash.Covariance(), [(1, 10), (3, 14), (None, 5), (7, None)], 4.0),
        (sash.Covariance(), [(1, 10), (None, 5)], None),
        (sash.Covariance(), [(1, nan), (2, 5)], nan),
        (sash.Correlation(), [(1, 10), (3, 14), (5, 18)], 1.0),
        (sash.Correlation(), [(1, 10), (3, 10)], nan),
        (sash.Correlation(), [(1, 10)], None),
        (sash.Slope(), [(10, 1), (14, 3), (18, 5)], 2.0),
        (sash.Slope(), [(10, 1), (14, 1)], nan),
        (sash.WeightedMean(), [(10, 3), (14, 1), (None, 9), (5, None)], 11.0),
        (sash.WeightedMean(), [(10, 0)], None),
        (sash.Product(), [1e300, 1e300, None, 1e-300], 1e300),
        (sash.Product(), [1e-300, 1e-300, 0.5, 1e300], 5e-301),
        (sash.Product(), [1e300, 1e300], inf),
        (sash.Product(), [-1e300, 1e300], -inf),
        (sash.Product(), [1e-300, 1e-300], 0.0),
        (sash.Product(), [2, -3, 0], 0.0),
        (sash.Product(), [inf, 0], nan),
        (sash.Any(), [None, False, True], True),
        (sash.Any(), [False, False], False),
        (sash.All(), [None, True, True], True),
        (sash.All(), [True, False], False),
        (sash.ExactDistinctCount(), [3, None, 1, 3, nan, nan], 3),
        (sash.Mode(), [3, 1, None, 1, 3, 2], 1),
        (sash.Mode(), ["b", "b", "a"], "b"),
        (sash.Mode(), [1.0, nan, nan], nan),
        (sash.ExponentialMean(half_life="10s"), [(3, datetime(2024, 1, 1)), (6, datetime(2024, 1, 1, 0, 0, 10))], 5.0),
        (sash.ExponentialMean(half_life=1), [(6, 2), (None, 9), (3, 1), (5, None)], 5.0),
        (sash.ArgMin(), [(2, "a"), (1, "b"), (1, "c")], "b"),
        (sash.ArgMax(), [(2, "a"), (3, "b"), (3, "c")], "b"),
        (sash.ArgMax(), [(2, "a"), (None, "b"), (3, None)], None),
        (sash.ArgMax(), [(2, "a"), (nan, "b"), (nan, "c"), (9, "d")], "b"),
        (sash.First(), [None, "x", "y"], "x"),
        (sash.Last(), ["x", "y", None], "y"),
        (sash.Collect(), [3, None, 1, 3], [3, 1, 3]),
        (sash.CollectDistinct(), [3, None, 1, 3], [3, 1]),
        (sash.Concat(), ["a", None, "b"], "a,b"),
        (sash.Concat(separator=""), ["", "a", ""], "a"),
        (sash.M4(), [3, 1, None, 9, 4], (1, 9, 3, 4)),
        (sash.Median(), [5, 1, None, 3], 3),
    ],
    ids=str,
)
def test_meanings(aggregation: Aggregation, values: list[Any], expected: Any) -> None:
    result = naive(aggregation, values)
    if isinstance(expected, float):
        assert result == pytest.approx(expected, rel=1e-12, nan_ok=True)
    else:
        assert result == expected


@pytest.mark.parametrize("case", ALL, ids=str)
@pytest.mark.parametrize("values", [[], [None], [None, None]], ids=str)
def test_a_window_without_values(case: Case, values: list[Any]) -> None:
    if case.aggregation.arity == 2:
        values = [(value, "x") for value in values]
    expected = len(values) if case.aggregation == sash.Count() else case.aggregation.empty
    assert naive(case.aggregation, values) == expected


@pytest.mark.parametrize("case", CASES, ids=str)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_laws_hold(case: Case, data: st.DataObject) -> None:
    samples = data.draw(st.lists(case.values, min_size=1, max_size=6))
    if any(case.aggregation.lift(sample) is not None for sample in samples):
        # deviations of windows with infinities are NaN in the end, but not alike on the way
        if "StdDev" in case.aggregation.name or "Variance" in case.aggregation.name:
            samples = [sample for sample in samples if sample is None or math.isfinite(sample)] or [1]
        if any(case.aggregation.lift(sample) is not None for sample in samples):
            sash.check_laws(case.aggregation, samples, close if case.equal is close else None)


ALGEBRA = {
    "Count": "distributive commutative invertible",
    "Sum": "distributive commutative invertible",
    "Min": "distributive commutative selective",
    "Max": "distributive commutative selective",
    "Mean": "algebraic commutative invertible",
    "GeometricMean": "algebraic commutative invertible",
    "MinCount": "algebraic commutative",
    "MaxCount": "algebraic commutative",
    "SampleStdDev": "algebraic commutative",
    "PopulationStdDev": "algebraic commutative",
    "SampleVariance": "algebraic commutative",
    "PopulationVariance": "algebraic commutative",
    "Skewness": "algebraic commutative",
    "Kurtosis": "algebraic commutative",
    "Covariance": "algebraic commutative",
    "Correlation": "algebraic commutative",
    "Slope": "algebraic commutative",
    "WeightedMean": "algebraic commutative",
    "ExponentialMean": "algebraic commutative",
    "Product": "algebraic commutative",
    "Any": "distributive commutative",
    "All": "distributive commutative",
    "ExactDistinctCount": "holistic commutative invertible",
    "Mode": "holistic commutative invertible",
    "ArgMin": "algebraic selective",
    "ArgMax": "algebraic selective",
    "First": "distributive selective",
    "Last": "distributive invertible selective",
    "Collect": "holistic invertible",
    "CollectDistinct": "holistic",
    "Concat": "holistic invertible",
    "M4": "algebraic",
    "Bloom": "algebraic commutative",
    "MomentSketch": "algebraic commutative",
    "Median": "holistic commutative invertible",
    "Quantile": "holistic commutative invertible",
    "DistinctCount": "algebraic commutative",
    "HeavyHitters": "algebraic commutative",
    "spread": "algebraic commutative",
    "matrix_product": "algebraic",
}


@pytest.mark.parametrize("case", ALL, ids=str)
def test_algebra(case: Case) -> None:
    aggregation = case.aggregation
    offers = [name for name in ("commutative", "invertible", "selective") if getattr(aggregation, name)]
    assert " ".join([aggregation.kind.value, *offers]) == ALGEBRA[aggregation.name]
    assert aggregation.identity is None
    if not aggregation.invertible:
        with pytest.raises(TypeError, match="is not invertible"):
            aggregation.invert(1, 1)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_they_travel_and_compare(case: Case) -> None:
    aggregation = case.aggregation
    if type(aggregation).__name__ == "_Custom":
        travelled = cloudpickle.loads(cloudpickle.dumps(aggregation))
        assert travelled.lower(travelled.lift(3)) == aggregation.lower(aggregation.lift(3))
        return
    travelled = pickle.loads(pickle.dumps(aggregation))
    assert travelled == aggregation and hash(travelled) == hash(aggregation)
    assert eval(repr(aggregation), vars(sash)) == aggregation
    assert aggregation != sash.Sum("other")
    assert sash.Max("a") != sash.Max("b") and sash.Max("a") != sash.Min("a")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: sash.Max("a", "b"), "Max reads 1 column; got 2"),
        (lambda: sash.ArgMax("a"), "ArgMax reads 2 columns; got 1"),
        (
            lambda: sash.Max(3),  # type: ignore[arg-type]
            "Max takes column names, which are strings; got",
        ),
        (
            lambda: sash.Concat("a", separator=1),  # type: ignore[arg-type]
            "separator must be a string; got 1",
        ),
        (
            lambda: sash.ExponentialMean("a", "t", half_life=None),  # type: ignore[arg-type]
            "half_life must be a duration such as '5m', or a number; got None",
        ),
    ],
)
def test_wrong_arguments(make: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        make()


@pytest.mark.parametrize(
    ("aggregation", "value"),
    [
        (sash.Sum("load"), "12"),
        (sash.Mean("load"), {}),
        (sash.SampleStdDev("load"), []),
        (sash.GeometricMean("load"), "x"),
        (sash.Concat("load"), 3),
        (sash.CollectDistinct("load"), []),
        (sash.ArgMax("load", "house"), 3),
        (sash.ArgMax("load", "house"), (1, 2, 3)),
        (sash.SampleVariance("load"), "x"),
        (sash.Kurtosis("load"), timedelta(1)),
        (sash.Covariance("load", "heat"), (1, "x")),
        (sash.Slope("load", "heat"), 3),
        (sash.WeightedMean("load", "weight"), (1, datetime(2024, 1, 1))),
        (sash.Product("load"), datetime(2024, 1, 1)),
        (sash.Any("load"), 1),
        (sash.All("load"), "x"),
        (sash.ExactDistinctCount("load"), []),
        (sash.ExponentialMean("load", "ts", half_life="1m"), (1, 5)),
        (sash.ExponentialMean("load", "ts", half_life=5), (1, datetime(2024, 1, 1))),
        (sash.ExponentialMean("load", "ts", half_life=5), (1, "noon")),
    ],
    ids=str,
)
def test_values_that_cannot_be_aggregated(aggregation: Aggregation, value: Any) -> None:
    with pytest.raises(TypeError, match=rf"{aggregation.name}\('load'"):
        aggregation.lift(value)


class TestNumbers:
    def test_types_are_kept(self) -> None:
        assert naive(sash.Sum(), [10**30, 1]) == 10**30 + 1
        assert naive(sash.Sum(), [Fraction(1, 3), Fraction(2, 3)]) == 1
        assert naive(sash.Sum(), [Decimal("0.1"), Decimal("0.2")]) == Decimal("0.3")
        assert naive(sash.Mean(), [timedelta(1), timedelta(3)]) == timedelta(2)
        assert isinstance(naive(sash.Sum(), [1, 2]), int)

    def test_numpy_integers_do_not_wrap_around(self) -> None:
        assert naive(sash.Sum(), [np.int8(127), np.int8(127)]) == 254
        assert naive(sash.Sum(), list(np.array([2**63 - 1, 1]))) == 2**63

    @given(st.lists(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e200, max_value=1e200), max_size=50))
    def test_sums_are_those_of_fsum(self, values: list[float]) -> None:
        """Twice the precision: the error is far below what rounding the result to a float costs."""
        exact = math.fsum(values)
        scale = max((abs(value) for value in values), default=0.0)
        assert abs((naive(sash.Sum(), values) or 0.0) - exact) <= math.ulp(exact) + scale * 1e-29

    @pytest.mark.parametrize("algorithm", [SubtractOnEvict, SlideSide, DABA])
    @pytest.mark.parametrize("aggregation", [sash.Sum(), sash.Mean()], ids=str)
    def test_sums_do_not_drift(self, algorithm: Any, aggregation: Aggregation) -> None:
        """Sizes from 1e-8 to 1e8 pass through before the small ones that stay: a running float would be off by far."""
        rng = np.random.default_rng(7)
        values = (rng.standard_normal(100_000) * 10.0 ** rng.integers(-8, 9, 100_000)).tolist()
        values[-50:] = [v * 1e-8 for v in rng.standard_normal(50)]
        window, running = algorithm(aggregation), 0.0
        for i, value in enumerate(values):
            window.insert(value)
            running += value
            if i >= 50:
                window.evict()
                running -= values[i - 50]
        exact = math.fsum(values[-50:]) / (1 if aggregation == sash.Sum() else 50)
        # 106 bits of the largest value that passed, less what 100,000 roundings of the last bit can add up to
        assert abs(window.query() - exact) <= max(map(abs, values)) * 2.0**-106 * len(values)
        assert abs(window.query() - exact) <= 1e-11 * abs(exact)
        assert abs(running - math.fsum(values[-50:])) > 1e-9  # what the test is there to catch

    @pytest.mark.parametrize("aggregation", [sash.Sum(), sash.Mean(), sash.GeometricMean()], ids=str)
    @pytest.mark.parametrize("poison", [nan, inf, -inf, 0.0, -5.0])
    def test_a_window_recovers_from_what_has_left_it(self, aggregation: Aggregation, poison: float) -> None:
        window = SubtractOnEvict(aggregation)
        window.insert_many([1.0, poison, 2.0, 8.0])
        assert same(window.query(), naive(aggregation, [1.0, poison, 2.0, 8.0]))
        window.evict_many(2)
        assert window.query() == pytest.approx(naive(aggregation, [2.0, 8.0]), rel=1e-15)

    def test_sums_of_infinities(self) -> None:
        assert naive(sash.Sum(), [inf, 1]) == inf
        assert naive(sash.Sum(), [-inf, 1]) == -inf
        assert math.isnan(naive(sash.Sum(), [inf, -inf]))
        assert naive(sash.Sum(), [1e308, 1e308, 1.0]) == inf
        assert naive(sash.Mean(), [-1e308, -1e308]) == -inf

    @pytest.mark.parametrize("offset", [0.0, 1e6, 1e9, 1e12])
    def test_deviations_of_far_off_values(self, offset: float) -> None:
        """A stable merge loses as many digits as the mean has more than the deviation; squared sums lose twice that."""
        values = [offset + v for v in (4.0, 7.0, 13.0, 16.0)] * 250
        exact = float(statistics.pstdev(Fraction(value) for value in values))
        tolerance = max(1e-12, 2.0**-52 * offset / exact)
        assert naive(sash.PopulationStdDev(), values) == pytest.approx(exact, rel=tolerance)
        window = DABA(sash.PopulationStdDev())  # merged as a tree, not one by one
        window.insert_many(values)
        assert window.query() == pytest.approx(exact, rel=tolerance)

    @given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=60))
    def test_deviations_are_numpys(self, values: list[float]) -> None:
        scale = max(map(abs, values))
        assert naive(sash.SampleStdDev(), values) == pytest.approx(np.std(values, ddof=1), rel=1e-9, abs=scale * 1e-9)
        assert naive(sash.PopulationStdDev(), values) == pytest.approx(np.std(values), rel=1e-9, abs=scale * 1e-9)

    @given(st.lists(st.one_of(st.floats(allow_subnormal=False), st.just(nan)), min_size=1, max_size=30))
    def test_extrema_are_numpys(self, values: list[float]) -> None:
        array = np.array(values)
        assert same(naive(sash.Max(), values), float(array.max()))
        assert same(naive(sash.Min(), values), float(array.min()))
        numbered = list(zip(values, range(len(values)), strict=True))
        assert naive(sash.ArgMax(), numbered) == array.argmax()
        assert naive(sash.ArgMin(), numbered) == array.argmin()


def test_kinds_can_be_looked_up() -> None:
    assert Kind("holistic") is sash.Median().kind


@given(total=st.floats(), exponent=st.integers(0, 40), odd=st.integers(1, 9))
def test_the_mean_of_a_full_window_is_a_quotient_to_the_bit(total: float, exponent: int, odd: int) -> None:
    full, count = sash.Mean().full("f"), odd << exponent
    assert full is not None
    assert np.float64(full.lower(total, count)).tobytes() == np.float64(total / count).tobytes()
