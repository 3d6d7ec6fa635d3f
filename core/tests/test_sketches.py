"""The sketches of Apache DataSketches: within their documented errors of the exact answer, however merged."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sash
from sash.aggregations import sketches

pytest.importorskip("datasketches")

ITEMS = st.one_of(st.integers(-3, 3), st.floats(-2, 2), st.booleans(), st.text("ab", max_size=2))


def left_to_right(aggregation: sash.Aggregation, parts: list[Any]) -> Any:
    return reduce(aggregation.combine, parts)


def right_to_left(aggregation: sash.Aggregation, parts: list[Any]) -> Any:
    return reduce(lambda a, b: aggregation.combine(b, a), reversed(parts))


def as_a_tree(aggregation: sash.Aggregation, parts: list[Any]) -> Any:
    while len(parts) > 1:
        pairs = [aggregation.combine(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + parts[len(parts) - len(parts) % 2 :]
    return parts[0]


SHAPES = pytest.mark.parametrize("merge", [left_to_right, right_to_left, as_a_tree])


def result_of(aggregation: sash.Aggregation, values: list[Any], merge: Callable[..., Any] = left_to_right) -> Any:
    return aggregation.lower(merge(aggregation, [aggregation.lift(value) for value in values]))


@SHAPES
@pytest.mark.parametrize(("lg_k", "distinct"), [(12, 300), (12, 20_000), (8, 5_000)])
def test_distinct_count_within_its_error(merge: Callable[..., Any], lg_k: int, distinct: int) -> None:
    values = [f"user-{i % distinct}" for i in range(distinct + 500)]
    standard_error = 1.04 / math.sqrt(2**lg_k)
    got = result_of(sash.DistinctCount(lg_k=lg_k), values, merge)
    assert got == pytest.approx(distinct, rel=3 * standard_error)
    if distinct < 2**lg_k / 10:
        assert round(got) == distinct


@given(st.lists(ITEMS, min_size=1, max_size=40))
def test_few_distinct_values_are_counted_exactly(values: list[Any]) -> None:
    assert round(result_of(sash.DistinctCount(), values)) == len(set(values))


def test_empty_windows() -> None:
    assert sash.DistinctCount().lower(None) is None
    assert sash.QuantileSketch().lower(None) is None
    assert sash.HeavyHitters().lower(sash.HeavyHitters().lift(None)) is None


@SHAPES
def test_quantiles_within_their_error(merge: Callable[..., Any]) -> None:
    """Ranks may be off by more than 1.33 % once in a hundred times; twice that is beyond chance."""
    values = np.random.default_rng(1).lognormal(size=20_000)
    shares = (0.01, 0.25, 0.5, 0.9, 0.99)
    estimates = result_of(sash.QuantileSketch(q=shares), values.tolist(), merge)
    ranks = [float(np.mean(values <= estimate)) for estimate in estimates]
    assert ranks == pytest.approx(shares, abs=2 * 0.0133)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=150), st.floats(0, 1))
def test_quantiles_of_few_values_are_exact(values: list[float], q: float) -> None:
    expected = np.quantile(values, q, method="inverted_cdf")
    # KLL decides a rank that falls between two values by its own rounding: one place in the order, no more.
    near = {np.quantile(values, min(1.0, max(0.0, q + shift)), method="inverted_cdf") for shift in (-1e-9, 1e-9)}
    assert result_of(sash.QuantileSketch(q=q), values) in {expected, *near}


def test_quantile_sketch_takes_one_share_or_several() -> None:
    assert result_of(sash.QuantileSketch(), [3, 1, 2]) == 2.0
    assert result_of(sash.QuantileSketch(), [1, 2]) == 1.0  # the lower of two, like SQL's percentile_disc
    assert result_of(sash.QuantileSketch(q=[0.0, 1.0]), [3, 1, 2]) == (1.0, 3.0)


def test_nan_makes_quantiles_nan() -> None:
    for values in ([math.nan, 1.0], [1.0, math.nan, 2.0], [math.nan]):
        assert math.isnan(result_of(sash.QuantileSketch(), values))
    assert list(map(math.isnan, result_of(sash.QuantileSketch(q=[0.1, 0.2]), [math.nan]))) == [True, True]


@SHAPES
def test_heavy_hitters_within_their_error(merge: Callable[..., Any]) -> None:
    values = np.random.default_rng(2).zipf(1.3, 20_000).tolist()
    exact = Counter(values)
    assert len(exact) > 0.75 * 2**8  # more than the sketch can count, so that it must estimate
    error = 3.5 / 2**8 * len(values)
    found = result_of(sash.HeavyHitters(lg_max_k=8, share=0.02), values, merge)
    assert {value for value, count in exact.items() if count > 0.02 * len(values)} <= {value for value, _ in found}
    for value, estimate in found:
        assert abs(estimate - exact[value]) <= error
        assert estimate > 0.02 * len(values)
    assert found == sorted(found, key=lambda item: (-item[1], item[0]))


@given(st.lists(ITEMS | st.tuples(ITEMS, ITEMS), min_size=1, max_size=40))
def test_few_values_are_counted_exactly(values: list[Any]) -> None:
    assert dict(result_of(sash.HeavyHitters(share=0), values)) == dict(Counter(values))


def test_heavy_hitters_are_sorted_whatever_their_types() -> None:
    values = ["b", 2, ("a", 1), 10, 1.5, "a", ("a", "b"), "b"]
    expected = [("b", 2), (1.5, 1), (2, 1), (10, 1), ("a", 1), (("a", 1), 1), (("a", "b"), 1)]
    assert result_of(sash.HeavyHitters(share=0.0), values) == expected
    assert result_of(sash.HeavyHitters(share=0.2), values) == [("b", 2)]


@pytest.mark.parametrize(
    "aggregation",
    [sash.DistinctCount(), sash.QuantileSketch(), sash.HeavyHitters()],
    ids=lambda a: str(a.name),
)
def test_partials_are_values_and_combine_is_pure(aggregation: sash.Aggregation) -> None:
    a, b = (left_to_right(aggregation, [aggregation.lift(i) for i in part]) for part in (range(50), range(40, 90)))
    before = (bytes(bytearray(a)), bytes(bytearray(b)))
    merged = aggregation.combine(a, b)
    assert (a, b) == before
    assert merged == aggregation.combine(a, b)  # below their size all three are deterministic
    assert pickle.loads(pickle.dumps(merged)) == merged
    assert pickle.loads(pickle.dumps(aggregation)) == aggregation
    assert not aggregation.invertible
    assert aggregation.lower(merged) == aggregation.lower(aggregation.combine(b, a))


@pytest.mark.parametrize("aggregation", [sash.DistinctCount(lg_k=6), sash.HeavyHitters(lg_max_k=4)], ids=repr)
def test_hashing_is_the_same_in_every_process(aggregation: sash.Aggregation) -> None:
    program = (
        f"import sys, functools; sys.path[:] = {sys.path!r}\n"
        f"import sash; a = sash.{aggregation!r}\n"
        "print(functools.reduce(a.combine, [a.lift(str(i % 50)) for i in range(200)]).hex())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_importing_sash_does_not_import_datasketches() -> None:
    program = f"import sys; sys.path[:] = {sys.path!r}; import sash; print('datasketches' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "False"


def test_a_missing_package_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasketches", None)
    sketches._library.cache_clear()
    for kind in (sash.DistinctCount, sash.QuantileSketch, sash.HeavyHitters):
        with pytest.raises(ImportError, match=r'pip install "sash\[sketches\]"'):
            kind("load")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sash.DistinctCount(lg_k=3), "lg_k must be a whole number from 4 to 21; got 3"),
        (lambda: sash.QuantileSketch(k=7), "from 8 to 65535"),
        (lambda: sash.QuantileSketch(q=2.0), "between 0 and 1"),
        (lambda: sash.QuantileSketch().lift("3"), "it takes numbers"),
        (lambda: sash.HeavyHitters(lg_max_k=2), "from 3 to 26"),
        (lambda: sash.HeavyHitters(share=1.0), "share must be"),
        (lambda: sash.HeavyHitters().lift(b"x"), "numbers, text and tuples"),
        (lambda: sash.DistinctCount().lift([1]), "stable hash"),
    ],
)
def test_clear_errors(make: Callable[[], object], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()
