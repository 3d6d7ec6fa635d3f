"""Early results: open windows at every multiple of ``early``, if a tuple is new.

early 10       0         10        20        30        40
tuples           a   b                   c
W[40]                    |·                  |·        |  early with ab at 10, with abc at 30; final at 40
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.runtime.operator import KeyedOperator
from sash.testing import evaluate
from strategies import (
    DISORDER,
    HALVES,
    HALVES_IN_DISORDER,
    HALVES_IN_ORDER,
    IN_ORDER,
    WHOLE,
    Row,
    Scenario,
    cumulatives,
    ordered_windows,
    queries,
    scenarios,
    sessions,
    time_windows,
)
from test_operator import batch, on

pytestmark = pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")


def query(windows: Any, **options: Any) -> sash.Query:
    return sash.Query(windows=windows, aggregates={"all": sash.Concat("x")}, time="t", **options)


def shown(rows: list[Row]) -> list[tuple[Any, ...]]:
    return [(row["window_start"], row["window_end"], row["final"], row["all"]) for row in rows]


PACES = [IN_ORDER, DISORDER, DISORDER]
ROWS = [{"t": 2, "x": "a"}, {"t": 6, "x": "b"}, {"t": 25, "x": "c"}, {"t": 41, "x": "d"}]


def test_open_windows_are_emitted_when_a_tuple_is_new() -> None:
    op = sash.Operator(query(sash.tumbling(40, on="t"), early=10))
    assert shown([result for row in ROWS for result in op.process(row)]) == [
        (0, 40, False, "a,b"),
        (0, 40, False, "a,b,c"),
        (0, 40, True, "a,b,c"),
    ]
    assert shown(op.peek()) == [(40, 80, False, "d")]
    assert shown(op.close()) == [(40, 80, False, "d"), (40, 80, True, "d")]


def test_sessions_are_those_that_the_tuples_so_far_show() -> None:
    op = sash.Operator(query(sash.session(20, on="t"), early=10))
    assert shown([*(result for row in ROWS for result in op.process(row)), *op.close()]) == [
        (2, 26, False, "a,b"),
        (2, 45, False, "a,b,c"),
        (2, 61, False, "a,b,c,d"),
        (2, 61, True, "a,b,c,d"),
    ]


@st.composite
def early_scenarios(draw: st.DrawFn, numbers: st.SearchStrategy[Any] = WHOLE, paces: Any = PACES) -> Scenario:
    """Any windows, at least one of them with early results."""
    emitting = st.one_of(time_windows(numbers), cumulatives(numbers), sessions(numbers))
    asked = draw(queries(draw(st.sampled_from([emitting, st.one_of(emitting, ordered_windows(numbers))]))))
    windows = asked.named if None not in asked.named else {}
    if not any(window.emits_early for window in asked.named.values()):
        windows = {"early": sash.tumbling(30, on="ts"), **windows}  # the first is never removed
    asked = asked.using(windows=windows or asked.windows, early=draw(numbers))
    return draw(scenarios(st.just(asked), paces, changes=draw(st.booleans())))


@settings(max_examples=90, deadline=None)
@given(st.one_of(early_scenarios(), early_scenarios(), early_scenarios(HALVES, [HALVES_IN_ORDER, HALVES_IN_DISORDER])))
def test_rows_and_batches_give_the_results_of_the_definition(scenario: Scenario) -> None:
    expected = evaluate(scenario.query, scenario.events)
    by_row, by_batch = sash.Operator(scenario.query), sash.Operator(scenario.query)
    assert [row for event in scenario.events for row in on(by_row, event)] == expected
    results: list[Row] = []
    for begin, end in pairwise([0, *scenario.cuts, len(scenario.events)]):
        results += batch(by_batch, scenario.events[begin:end])
        by_batch = sash.Operator.restore(by_batch.query, by_batch.snapshot())
    assert results == expected


@settings(max_examples=30, deadline=None)
@given(early_scenarios())
def test_keys_of_one_stream(scenario: Scenario) -> None:
    asked = scenario.query.using(key="k", allowed_lateness=None)
    rows = [event[1] | {"k": "abc"[n % 3]} for n, event in enumerate(scenario.events) if event[0] == "row"]
    by_row, by_batch = sash.Operator(asked), KeyedOperator(asked, own_watermark=True)
    expected = [result for row in rows for result in by_row.process(row)] + by_row.close()
    found: list[Row] = []
    for part in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
        found += by_batch.process_batch(part) if part else []
        by_batch = KeyedOperator.restore(asked, by_batch.snapshot(), own_watermark=True)
    found += by_batch.close(like=rows[:0]) if rows else []
    for key in "abc":
        assert [row for row in found if row["k"] == key] == [row for row in expected if row["k"] == key]


def test_corrections_are_final_and_early_results_have_no_revision() -> None:
    op = sash.Operator(query(sash.tumbling(10, on="t"), early=5, allowed_lateness=20))
    rows = [*ROWS[:2], {"t": 12, "x": "c"}, {"t": 3, "x": "late"}, {"t": 11, "x": "too"}, {"t": 16, "x": "d"}]
    results = [result for row in rows for result in op.process(row)]
    assert [(row["final"], row["revision"], row["all"]) for row in results] == [
        (False, 0, "a"),
        (True, 0, "a,b"),
        (True, 1, "a,late,b"),
        (False, 0, "too,c"),
    ]
    counting = op.query.using(aggregates={"n": sash.Count()})
    assert "early ones hold what came before them" in sash.explain(counting, verbose=True)


def test_a_whole_table_has_final_results_alone() -> None:
    asked = query(sash.tumbling(40, on="t"), early=10)
    table = pa.Table.from_pylist(ROWS)
    assert sash.run(asked, table).to_pylist() == sash.run(asked, ROWS)
    assert shown(sash.run(asked, ROWS)) == [(0, 40, True, "a,b,c"), (40, 80, True, "d")]
    op = sash.Operator(asked.using(early=0))
    assert [*(result for row in ROWS for result in op.process(row)), *op.close()] == sash.run(asked, ROWS)
    stream = sash.run(asked, pa.RecordBatchReader.from_batches(table.schema, table.to_batches(1))).read_all()
    op = sash.Operator(asked)
    assert stream.to_pylist() == [*(result for row in ROWS for result in op.process(row)), *op.close()]


def test_queries_as_files_words_and_states(tmp_path: Path) -> None:
    asked = sash.Query(
        windows={"day": sash.tumbling("1d", zone="Europe/Berlin"), "three": sash.sliding(3)},
        aggregates={"n": sash.Count()},
        time="ts",
        early="90s",
    )
    assert 'early = "1m 30s"' in sash.dump_query(asked)
    (tmp_path / "query.toml").write_text(sash.dump_query(asked))
    assert sash.load_query(tmp_path / "query.toml") == asked
    assert "early      open windows are emitted every 1m 30s, marked final=False" in sash.explain(asked, verbose=True)
    assert asked.results == ("window", "window_start", "window_end", "final", "n")
    blob = sash.Operator(asked.using(early=None)).snapshot()
    with pytest.raises(ValueError, match="window 'day' differs from the one in the saved state"):
        sash.Operator.restore(asked, blob)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"windows": sash.sliding(3), "early": 5}, "early=5 is for windows on time and sessions"),
        ({"windows": sash.tumbling(10, on="t"), "early": -1}, "early must not be negative"),
        ({"windows": sash.tumbling(10, on="t"), "early": "5s"}, "measured in durations and in plain numbers"),
        ({"windows": sash.tumbling(10, on="t"), "early": {"km": 5}}, "early names .*, which orders no window"),
        ({"windows": sash.tumbling(10, on="t"), "early": 5, "key": "final"}, "key column 'final' has the name"),
        ({"windows": sash.tumbling(10, on="t"), "early": 5, "algorithm": "daba"}, "early results use slices of open"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], error: str) -> None:
    with pytest.raises((TypeError, ValueError), match=error):
        sash.explain(query(**options), verbose=True)
