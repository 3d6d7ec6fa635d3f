"""All aggregates of a query as one: what generated functions compute is what the aggregates compute one by one."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sash
from sash.engine.rows.bundle import Bundle
from sash.testing import Failing, naive

ONES = [
    sash.Count("x"),
    sash.Sum("x"),
    sash.Mean("x"),
    sash.Max("x"),
    sash.MinCount("x"),
    sash.SampleStdDev("x"),
    sash.GeometricMean("x"),
    sash.First("x"),
    sash.Collect("x"),
    sash.M4("x"),
    sash.Median("x"),
    sash.MomentSketch("x", k=2),
    sash.ArgMax("x", "y"),
    sash.Count(),
    sash.aggregation("x", lift=lambda v: (v, v), combine=lambda a, b: (a[0], b[1]), lower=lambda p: p[0] - p[1]),
]
NUMBERS = st.one_of(st.none(), st.integers(-9, 9), st.sampled_from([0.5, 1e300, math.inf, -math.inf, math.nan]))


def bundle_of(*aggregations: sash.Aggregation) -> Bundle:
    query = sash.Query(windows=sash.sliding(3), aggregates={f"a{i}": one for i, one in enumerate(aggregations)})
    return Bundle(query)


def values_of(bundle: Bundle, rows: list[tuple[Any, Any]]) -> list[tuple[Any, ...]]:
    """The rows as the bundle reads them."""
    columns = list(dict.fromkeys(column for part in bundle.parts for column in part.columns))
    return [tuple([row["xy".index(column)] for column in columns]) for row in rows]


@given(st.lists(st.sampled_from(ONES), min_size=1, max_size=4), st.lists(st.tuples(NUMBERS, NUMBERS), max_size=9))
def test_results_are_those_of_each_aggregate_alone(
    aggregations: list[sash.Aggregation], rows: list[tuple[Any, Any]]
) -> None:
    bundle = bundle_of(*aggregations)
    inputs = [
        [tuple([row["xy".index(c)] for c in one.columns]) if len(one.columns) > 1 else row[0] for row in rows]
        for one in aggregations
    ]
    expected = [naive(one, values) for one, values in zip(aggregations, inputs, strict=True)]
    half = len(rows) // 2
    older, younger = (bundle.fold(values_of(bundle, part)) for part in (rows[:half], rows[half:]))
    total = bundle.combine(older, younger)
    before = bundle.count.merges
    assert repr(bundle.conclude(older, younger)) == repr(bundle.lower(total))
    assert bundle.count.merges == before + (older is not None and younger is not None)
    assert repr(list(bundle.lower(bundle.join(bundle.separate(total))))) == repr(list(bundle.lower(total)))
    for found, wanted in zip(bundle.lower(total), expected, strict=True):
        assert repr(found) == repr(wanted) or found == pytest.approx(wanted, nan_ok=True, rel=1e-9)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=2, max_size=5))
def test_together_they_are_to_the_bit_what_they_are_alone(rows: list[tuple[Any, Any]]) -> None:
    together = bundle_of(*ONES)
    partials = together.separate(together.fold(values_of(together, rows)))
    for one, partial in zip(ONES, partials, strict=True):
        alone = bundle_of(one)
        assert repr(partial) == repr(alone.fold(values_of(alone, rows)))


@pytest.mark.parametrize("more", [[], [sash.Count()]])
def test_an_error_names_the_aggregate_whose_values_do_not_go_together(more: list[sash.Aggregation]) -> None:
    bundle = bundle_of(sash.Max("x"), *more)
    with pytest.raises(TypeError, match=r"Max\('x'\) cannot combine 1\.5 with 'a': '>=' not supported"):
        bundle.combine(bundle.lift((1.5,)), bundle.lift(("a",)))


def test_merges_are_counted_once_for_all_aggregates() -> None:
    failing = Failing(sash.Sum("x"))
    bundle = bundle_of(failing, sash.Max("x"), sash.Mean("x"))
    assert bundle.lower(bundle.fold([(1,), (None,), (3,)])) == (4, 3, 2.0)
    assert bundle.count.merges == 2
