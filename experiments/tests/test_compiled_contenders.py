"""The compiled contenders of the papers' experiments, in lockstep with recalculation, the definition."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import sash
from sash import Aggregation
from sash.aggregators import Recalc
from sash_experiments.benchmark import same
from sash_experiments.compiled import rung
from sash_experiments.compiled.atomics import nanoseconds_per_tick
from sash_experiments.compiled.operations import has_operations
from sash_experiments.compiled.window import ALGORITHMS, Window

NAMES = list(ALGORITHMS)
ANY = [name for name in NAMES if name != "SlickDeque"]  # it takes selective and invertible aggregations only


def _then(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return (a[0] * b[0] % 97.0, (a[1] * b[0] + b[1]) % 97.0)


AFFINE = sash.aggregation(lift=lambda x: (x % 7.0 + 2.0, x % 97.0), combine=_then, lower=lambda p: p[0] * 100.0 + p[1])
"""Maps of x to ax + b, one after the other: the order of merges is in the result, to the bit."""
FEW = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
whole = st.integers(0, 9).map(float)


def expected(aggregation: Aggregation, values: list[Any], range_: int, slide: int = 1) -> list[Any]:
    found = []
    for start in range(0, len(values) - range_ + 1, slide):
        window = Recalc(aggregation)
        window.insert_many(values[start : start + range_])
        found.append(window.query())
    return found


def answers(name: str, aggregation: Aggregation, values: list[Any], range_: int, slide: int = 1, **how: Any) -> Any:
    """All results, of the window filled first and slid after."""
    window = Window(name, aggregation, range_, slide, answers=512, **how)
    source = window.source(values)
    window.fill(source)
    window.run(source, len(values) - range_)
    return window.results()


@pytest.mark.parametrize("name", NAMES)
@FEW
@given(st.lists(st.one_of(whole, st.sampled_from([math.nan, math.inf, -math.inf])), min_size=1, max_size=80), st.data())
def test_max_with_nan_and_equal_values(name: str, values: list[float], data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(values)))
    np.testing.assert_array_equal(answers(name, sash.Max(), values, size), expected(sash.Max(), values, size))


@pytest.mark.parametrize("name", ANY)
@FEW
@example([float(i) for i in range(64)], 16)
@given(st.lists(whole, min_size=1, max_size=80), st.integers(1, 80))
def test_merges_are_in_order(name: str, values: list[float], size: int) -> None:
    size = min(size, len(values))
    assert answers(name, AFFINE, values, size) == expected(AFFINE, values, size)


@pytest.mark.parametrize("name", ["TwoStacks", "DABA", "FlatFAT", "SBA", "PBA"])
@FEW
@given(st.lists(whole, min_size=1, max_size=80), st.integers(1, 30), st.integers(2, 7))
def test_windows_of_any_slide(name: str, values: list[float], range_: int, slide: int) -> None:
    """Ranges that the slide does not divide, too."""
    range_ = min(max(range_, slide), len(values))
    if range_ < slide:
        return
    assert answers(name, AFFINE, values, range_, slide) == expected(AFFINE, values, range_, slide)


@pytest.mark.parametrize("name", ["SBA", "PBA"])
@FEW
@given(st.lists(whole, min_size=20, max_size=80), st.integers(2, 20), st.integers(1, 3), st.data())
def test_chunks_of_any_size(name: str, values: list[float], range_: int, slide: int, data: st.DataObject) -> None:
    range_ = max(range_, slide)
    chunk = data.draw(st.integers(1, range_ // slide))
    found = answers(name, AFFINE, values, range_, slide, chunk=chunk)
    assert found == expected(AFFINE, values, range_, slide)


@pytest.mark.parametrize("name", ["SlickDeque", "SlideSide", "DABA"])
@pytest.mark.parametrize("aggregation", [sash.Sum(), sash.GeometricMean()], ids=repr)
@FEW
@given(st.lists(st.integers(-2, 9).map(float), min_size=1, max_size=60), st.integers(1, 60))
def test_sums_and_means_of_logarithms(name: str, aggregation: Aggregation, values: list[float], size: int) -> None:
    size = min(size, len(values))
    np.testing.assert_allclose(
        answers(name, aggregation, values, size), expected(aggregation, values, size), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("name", ["SlickDeque", "SlideSide"])
def test_what_is_not_finite_leaves_the_sums_of_algorithms_that_subtract(name: str) -> None:
    values = [1.0, math.nan, 2.0, math.inf, 3.0, 4.0, -math.inf, 5.0, 6.0, 7.0]
    np.testing.assert_array_equal(answers(name, sash.Sum(), values, 2), expected(sash.Sum(), values, 2))


@pytest.mark.parametrize("name", ["TwoStacks", "DABALite", "SlickDeque", "SlideSide", "SBA", "PBA"])
@FEW
@given(st.lists(st.integers(-3, 9).map(float), min_size=1, max_size=40), st.integers(1, 40))
def test_moment_sketches(name: str, values: list[float], size: int) -> None:
    """Partials are compared: of few values, quantiles depend on roundings. SlickDeque has them by components."""
    sketch, size = sash.MomentSketch(k=3), min(size, len(values))
    partials = sash.aggregation(lift=sketch.lift, combine=sketch.combine)
    found = np.array(answers(name, sketch, values, size))
    np.testing.assert_allclose(found, np.array(expected(partials, values, size)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["TwoStacksLite", "DABA", "FlatFAT", "SBA", "PBA"])
@FEW
@given(st.lists(st.one_of(whole, st.floats()), min_size=1, max_size=40), st.integers(1, 40))
def test_bloom_filters(name: str, values: list[float], size: int) -> None:
    size, bloom = min(size, len(values)), sash.Bloom(capacity=20)
    bits = sash.aggregation(lift=bloom.lift, combine=bloom.combine)
    assert answers(name, bloom, values, size) == expected(bits, values, size)


@pytest.mark.parametrize("aggregation", [sash.ArgMax(), sash.SampleStdDev(), sash.MinCount(), sash.Mean()], ids=repr)
def test_aggregations_of_several_numbers(aggregation: Aggregation) -> None:
    values: list[Any] = [float(value * 7 % 11) for value in range(60)]
    if aggregation.arity == 2:
        values = [(value, float(place)) for place, value in enumerate(values)]
    assert same(expected(aggregation, values, 9), answers("DABA", aggregation, values, 9))


def test_what_has_no_result_is_nan() -> None:
    found = answers("DABA", sash.SampleStdDev(), [1.0, 2.0, 3.0], 1)
    assert len(found) == 3 and all(map(math.isnan, found))


def test_what_can_be_compiled() -> None:
    assert all(map(has_operations, (sash.Sum(), sash.ArgMax(), sash.Count(), sash.Bloom(), sash.MomentSketch())))
    assert not any(map(has_operations, (sash.Collect(), sash.Concat(), sash.CollectDistinct())))


def test_a_wrong_answer_is_noticed_after_it_was_measured() -> None:
    window = Window("SlickDeque", sash.Sum(), 4)
    source = window.source([3.0, 1.0, 2.0, 9.0, 4.0])
    window.fill(source)
    assert rung.seconds_per_value("SlickDeque", window, source, 0.001) > 0
    _, _, total = window.state
    total += 5
    with pytest.raises(SystemExit, match=r"SlickDeque, compiled, ended with .*, not \d.*: nothing to compare"):
        rung.seconds_per_value("SlickDeque", window, source, 0.0)


def test_partials_that_are_ready_are_merged_as_they_are() -> None:
    sketch = sash.MomentSketch(k=2)
    flat = sketch.flat()
    assert flat is not None
    values = [float(value) for value in range(1, 30)]
    rows = np.array([flat.to_row(sketch.lift(value)) for value in values])
    window = Window("SBA", sketch, 7, partials=True, answers=32)
    window.fill(rows)
    window.run(rows, len(rows) - 7)
    assert same(window.results(), answers("SBA", sketch, values, 7))


def test_two_threads_hand_over_thousands_of_chunks() -> None:
    values = [float(value * 37 % 101) for value in range(5000)]
    for size in (2, 3, 16, 100):
        found = [Window(name, AFFINE, size, answers=1024) for name in ("SBA", "PBA")]
        for window in found:
            source = window.source(values)
            window.fill(source)
            for _ in range(3):  # the second thread stops and starts again between
                window.run(source, 20_000)
        assert found[0].results() == found[1].results()
        assert 0 <= found[1].waits <= 60_000 / max(size // 2, 1) + 1
        assert found[0].waits_percent is None and 0 <= (found[1].waits_percent or 0) <= 100


@pytest.mark.parametrize("name", [name for name in NAMES if name != "PBA"])
def test_a_run_in_pieces_is_one_run(name: str) -> None:
    """What loops hold in registers is in the state again when they end."""
    whole, pieces = (Window(name, sash.Max(), 9, answers=64) for _ in range(2))
    source = whole.source([float(value * 37 % 101) for value in range(200)])
    whole.fill(source)
    pieces.fill(source)
    whole.run(source, 60)
    for count in (1, 0, 2, 7, 50):
        pieces.run(source, count)
    assert whole.results() == pieces.results()
    for mine, other in zip(whole.state, pieces.state, strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="processors are chosen on Linux only")
def test_two_threads_leave_the_choice_of_processors_as_it_was() -> None:
    before, window = os.sched_getaffinity(0), Window("PBA", sash.Max(), 8)
    source = window.source([3.0, 1.0, 2.0])
    window.fill(source)
    window.run(source, 1000)
    assert os.sched_getaffinity(0) == before


def test_ticks_are_taken_of_every_step() -> None:
    window, taken = Window("SBA", sash.Max(), 4), np.zeros(1000, np.int64)
    source = window.source([3.0, 1.0, 2.0])
    window.fill(source)
    window.run(source, len(taken), taken)
    assert (taken > 0).all() and 0 < nanoseconds_per_tick() < 1000
    assert window.results() == [3.0]


def test_an_algorithm_that_cannot_merge_an_aggregation_says_so() -> None:
    with pytest.raises(TypeError, match="SlickDeque needs a selective or invertible aggregation"):
        Window("SlickDeque", sash.Bloom(), 4)
