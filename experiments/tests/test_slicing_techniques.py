"""Pairs and Cutty, contenders of the slicing benchmark, give what the definition says, in few slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sash
from sash.testing import evaluate
from sash_experiments.benchmarks.slicing.contenders import ordered, results
from sash_experiments.benchmarks.slicing.count_buffer import CountBuffer
from sash_experiments.benchmarks.slicing.cutters import Cutter, Cutty, Pairs

extents = st.integers(1, 9).flatmap(lambda slide: st.tuples(st.integers(slide, 30), st.just(slide)))
steps = st.lists(st.integers(0, 12), min_size=1, max_size=60)
AGGREGATIONS: list[Callable[[], sash.Aggregation]] = [
    lambda: sash.Concat("x"),
    lambda: sash.Max("x"),
    lambda: sash.Median("x"),
]


def _rows(gaps: list[int], first: int) -> list[dict[str, Any]]:
    ts = first
    found = []
    for place, gap in enumerate(gaps):
        ts += gap
        found.append({"ts": ts, "x": place * 37 % 11})
    return found


@pytest.mark.parametrize("technique", [Pairs, Cutty])
@given(
    windows=st.lists(extents, min_size=1, max_size=3), gaps=steps, first=st.integers(-20, 20), which=st.integers(0, 2)
)
def test_they_give_what_the_definition_says(
    technique: type[Cutter], windows: list[tuple[int, int]], gaps: list[int], first: int, which: int
) -> None:
    rows, aggregation = _rows(gaps, first), AGGREGATIONS[which]
    if which == 0:
        rows = [{**row, "x": str(row["x"])} for row in rows]
    named = {f"w{i}": sash.sliding(*extent, on="ts") for i, extent in enumerate(windows)}
    query = sash.Query(windows=named, aggregates={"result": aggregation()}, time="ts")
    expected = evaluate(query, [("row", row) for row in rows])
    assert ordered(results(technique(windows, aggregation()), rows)) == ordered(expected)


@given(windows=st.lists(extents, min_size=1, max_size=2), gaps=steps, gap=st.integers(1, 8))
def test_cutty_has_sessions_too(windows: list[tuple[int, int]], gaps: list[int], gap: int) -> None:
    rows = _rows(gaps, 0)
    named: dict[str, Any] = {f"w{i}": sash.sliding(*extent, on="ts") for i, extent in enumerate(windows)}
    query = sash.Query(
        windows={**named, "session": sash.session(gap, on="ts")}, aggregates={"result": sash.Collect("x")}, time="ts"
    )
    expected = evaluate(query, [("row", row) for row in rows])
    assert ordered(results(Cutty(windows, sash.Collect("x"), gap), rows)) == ordered(expected)


@pytest.mark.parametrize("technique", [Pairs, Cutty])
def test_a_warm_start_changes_no_results(technique: type[Cutter]) -> None:
    rows = _rows([1] * 400, 0)
    whole, warmed = (technique([(30, 7), (9, 9)], sash.Sum("x")) for _ in range(2))
    warmed.warm(rows[:200])
    assert results(whole, rows[:200])
    assert ordered(results(warmed, rows[200:])) == ordered(results(whole, rows[200:]))


@pytest.mark.parametrize(
    ("technique", "extent", "held"),
    [(Pairs, (10, 3), 7), (Pairs, (9, 3), 3), (Cutty, (10, 3), 4), (Cutty, (9, 3), 3)],
)
def test_they_hold_as_few_slices_as_they_say(technique: type[Cutter], extent: tuple[int, int], held: int) -> None:
    """W[10, 3]: a pair of slices a slide, 2 ⌊10/3⌋ + 1, or one, ⌈10/3⌉; beside those that wait to be dropped."""
    cutter = technique([extent], sash.Sum("x"))
    in_window = []
    for row in _rows([1] * 100, 0):
        for result in cutter.process(row):
            starts = cutter.starts
            # the tuple has joined a slice since, which may be a new one
            in_window.append(sum(result["window_start"] <= start < result["window_end"] for start in starts))
    assert max(in_window) == held
    assert cutter.slices < 3 * held


def test_what_they_cannot_do_is_an_error() -> None:
    with pytest.raises(ValueError, match="Pairs takes tuples in order only; got a delay of 5"):
        Pairs([(10, 3)], sash.Sum("x"), None, 5)
    with pytest.raises(ValueError, match="Pairs has windows on time only; got a session"):
        Pairs([(10, 3)], sash.Sum("x"), 5)


@given(
    windows=st.lists(extents, min_size=1, max_size=3), arrivals=st.lists(st.integers(0, 60), min_size=1, max_size=60)
)
def test_a_tuple_buffer_has_windows_on_counts_with_late_tuples(
    windows: list[tuple[int, int]], arrivals: list[int]
) -> None:
    rows = [{"ts": ts, "x": str(place)} for place, ts in enumerate(arrivals)]
    named = {f"w{i}": sash.sliding(*extent) for i, extent in enumerate(windows)}
    query = sash.Query(windows=named, aggregates={"result": sash.Concat("x")}, time="ts", watermark_delay=7)
    expected = evaluate(query, [("row", row) for row in rows])
    buffer = CountBuffer(windows, sash.Concat("x"), delay=7)
    assert ordered(results(buffer, rows)) == ordered(expected)
