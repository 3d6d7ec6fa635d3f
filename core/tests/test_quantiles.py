"""Quantile and Median against NumPy, and the algebra they claim."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sash

INTERPOLATIONS = ["linear", "lower", "higher", "nearest"]
INTEGERS = st.integers(-(10**6), 10**6)
FLOATS = st.floats(-1e9, 1e9, allow_nan=False)
REPEATING = st.integers(0, 5)
NUMBERS = st.one_of([st.lists(kind, min_size=1, max_size=60) for kind in (INTEGERS, FLOATS, REPEATING)])
SHARES = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0]))


def partial_of(aggregation: sash.Aggregation, values: list[Any]) -> Any:
    return reduce(aggregation.combine, map(aggregation.lift, values), aggregation.identity)


def result_of(aggregation: sash.Aggregation, values: list[Any]) -> Any:
    return aggregation.lower(partial_of(aggregation, values))


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@given(values=NUMBERS, q=SHARES)
def test_equals_numpy(interpolation: str, values: list[float], q: float) -> None:
    method: Any = interpolation
    expected = np.quantile(np.array(values, dtype=float), q, method=method)
    got = result_of(sash.Quantile(q=q, interpolation=interpolation), values)
    # NumPy may contract a·b + c to one rounding: two units in the last place of the largest value, no more.
    assert got == pytest.approx(expected, rel=0, abs=4.5e-16 * max(map(abs, values)))


@given(values=NUMBERS)
def test_median_is_the_middle(values: list[float]) -> None:
    within = 4.5e-16 * max(map(abs, values))  # as above: where large values cancel out, that is not little
    assert result_of(sash.Median(), values) == pytest.approx(float(np.median(values)), rel=0, abs=within)


@pytest.mark.parametrize(("older", "newer"), [(2000, 1), (1, 2000), (2000, 40), (700, 700), (2000, 1000)])
@pytest.mark.parametrize("distinct", [10, 500, 10**9])
def test_every_way_to_merge_and_to_take_out(older: int, newer: int, distinct: int) -> None:
    """Few into many, disjoint runs and common values have code of their own: compare with a plain sort."""
    random = np.random.default_rng(older + distinct)
    a, b = (random.integers(0, distinct, size).tolist() for size in (older, newer))
    q = sash.Quantile(0.37, interpolation="lower")
    merged = q.combine(encoded(a), encoded(b))
    assert merged == encoded(a + b) == q.combine(encoded(b), encoded(a))
    assert q.invert(merged, encoded(a)) == encoded(b)
    assert q.invert(merged, encoded(b)) == encoded(a)
    assert q.lower(merged) == np.quantile(a + b, 0.37, method="lower")


def test_a_few_values_that_repeat_go_into_many() -> None:
    q, many, few = sash.Median(), list(range(200)), [7, 7, 7, 500, 500]
    merged = q.combine(encoded(many), encoded(few))
    assert merged == encoded(many + few)
    assert q.invert(merged, encoded(few)) == encoded(many)


def encoded(values: list[Any]) -> Any:
    """The partial of these values, by its definition."""
    distinct = sorted(set(values))
    return (len(values), 0, tuple(distinct), tuple(map(values.count, distinct)))


@given(st.lists(REPEATING), st.lists(REPEATING), st.lists(REPEATING, min_size=1))
def test_algebra(x: list[int], y: list[int], z: list[int]) -> None:
    q = sash.Median()
    a, b, c = (partial_of(q, values) for values in (x, y, z))
    assert q.combine(a, q.combine(b, c)) == q.combine(q.combine(a, b), c)
    assert q.combine(a, c) == q.combine(c, a)
    assert q.invert(q.combine(a, c), a) == c


@given(st.lists(FLOATS, min_size=2, max_size=30), st.data())
def test_slides_without_drift(values: list[float], data: st.DataObject) -> None:
    q = sash.Quantile(0.75)
    size = data.draw(st.integers(1, len(values)))
    window = partial_of(q, values[:size])
    for i, value in enumerate(values[size:]):
        window = q.invert(q.combine(window, q.lift(value)), q.lift(values[i]))
        assert window == partial_of(q, values[i + 1 : i + 1 + size])


def test_nan_poisons_until_it_has_left() -> None:
    q = sash.Median()
    window = partial_of(q, [math.nan, 1.0, 2.0])
    assert math.isnan(q.lower(window))
    assert q.lower(q.invert(window, q.lift(math.nan))) == 1.5
    assert math.isnan(q.lower(q.lift(math.nan)))


def test_nulls_are_skipped_and_nothing_is_null() -> None:
    assert result_of(sash.Median(), [None, 4, None]) == 4.0
    assert result_of(sash.Median(), [None]) is None


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2], 1.5),
        ([3], 3.0),
        ([math.inf, math.inf], math.inf),
        ([-math.inf, 5.0], -math.inf),
        ([-1e308, 1.5e308], 2.5e307),
        ([Fraction(1, 3), Fraction(2, 3)], 0.5),
        ([Decimal("1.1"), Decimal("1.3")], Decimal("1.2")),
        ([timedelta(seconds=1), timedelta(seconds=2)], timedelta(seconds=1.5)),
        ([datetime(2024, 1, 1), datetime(2024, 1, 3)], datetime(2024, 1, 2)),
    ],
)
def test_linear_between(values: list[Any], expected: Any) -> None:
    got = result_of(sash.Median(), values)
    assert got == expected
    assert type(got) is type(expected)


def test_text_has_an_order() -> None:
    words = ["pear", "apple", "fig", "apple"]
    assert result_of(sash.Median(interpolation="lower"), words) == "apple"
    assert result_of(sash.Median(interpolation="higher"), words) == "fig"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sash.Quantile("load"), "needs q"),
        (sash.Quantile, "needs q"),
        (lambda: sash.Quantile("load", True), "number between 0 and 1"),
        (lambda: sash.Quantile(q=False), "number between 0 and 1"),
        (lambda: sash.Quantile(1.5), "between 0 and 1; got 1.5"),
        (lambda: sash.Quantile(-0.1), "between 0 and 1; got -0.1"),
        (lambda: sash.Quantile(math.nan), "between 0 and 1; got nan"),
        (lambda: sash.Quantile("load", 0.5, q=0.5), "column names"),
        (lambda: sash.Quantile("a", "b", 0.5), "1 column"),
        (lambda: sash.Median(interpolation="midpoint"), "'nearest'"),
        (lambda: sash.Median().lift("word"), "interpolation='lower'"),
        (lambda: sash.Median(interpolation="lower").lift({}), "cannot aggregate {}"),
    ],
)
def test_clear_errors(make: Callable[[], object], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_constructors_agree() -> None:
    forms = [sash.Quantile("load", 0.9), sash.Quantile("load", q=0.9)]
    assert len(set(forms)) == 1
    assert sash.Quantile(0.9) == sash.Quantile(q=0.9) != sash.Quantile(0.9, interpolation="lower")
    assert sash.Quantile(q=np.array([0.9])[0]) == sash.Quantile(0.9)
    assert sash.Quantile(1) == sash.Quantile(1.0)
    assert repr(sash.Median("load")) == "Median('load', interpolation='linear')"
    for form in (*forms, sash.Median()):
        assert pickle.loads(pickle.dumps(form)) == form
