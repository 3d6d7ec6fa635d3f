"""Rows reduced to slices part by part, in any order, and merged after give what the definition does."""

from __future__ import annotations

from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.runtime.arrow_output import Column, EngineTypes, result_columns
from sash.runtime.operator import KeyedOperator
from sash.runtime.two_phases import (
    SliceMerger,
    SliceReducer,
    SliceStream,
    reduces_first,
    why_one_phase,
    why_one_phase_streams,
)
from sash.state.snapshot_format import StateError
from sash.testing import evaluate
from strategies import COMMUTATIVE, Growing, Lookback, cumulatives, sessions, time_windows

SCHEMA = pa.schema([("k", pa.string()), ("ts", pa.int64()), ("x", pa.int64())])
BUILT_IN = [aggregation for aggregation in COMMUTATIVE if aggregation.name != "spread"]
WINDOWS = st.one_of(time_windows(), cumulatives(), sessions(), st.sampled_from([Growing("ts"), Lookback()]))
Row = dict[str, Any]


def in_two_phases(
    query: sash.Query, parts: list[list[Row]], groups: int, most: int, schema: pa.Schema = SCHEMA
) -> list[Row]:
    """As an engine does: each part by a reducer of its own, then the slices of each group by a merger."""
    by_group: dict[int, list[bytes]] = {}
    for rows in parts:
        reducer = SliceReducer(query, most)
        for begin in range(0, len(rows), 3):
            batch = pa.RecordBatch.from_pylist(rows[begin : begin + 3], schema).select(list(query.columns))
            numbers = pa.array([len(row["k"] or "") % groups for row in rows[begin : begin + 3]], pa.int32())
            for group, slices in reducer.take(batch, numbers):
                by_group.setdefault(group, []).append(slices)
        for group, slices in reducer.flush():
            by_group.setdefault(group, []).append(slices)
    columns = result_columns(query, lambda name: Column(name, schema.field(name).type), EngineTypes())
    merger = SliceMerger(query, pa.schema([(name, kind) for name, kind, _ in columns]))
    results: list[Row] = []
    for of_group in by_group.values():
        for slices in of_group:
            merger.take(slices)
        for batch in merger.end():
            results += batch.to_pylist()
    return results


def by_definition(query: sash.Query, rows: list[Row]) -> list[Row]:
    results = []
    for key in dict.fromkeys(row["k"] for row in rows) if query.keys else [None]:
        own = [row for row in rows if row["k"] == key or not query.keys]
        events: list[Any] = [("row", row) for row in sorted(own, key=lambda row: row["ts"])]
        found = evaluate(query.using(key=None), [*events, ("close",)])
        results += [{"k": key, **result} for result in found] if query.keys else found
    return results


def same(found: list[Row], expected: list[Row]) -> None:
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "k": st.sampled_from(["a", "a", "a", "bb", "ccc", None]),
            "ts": st.integers(-20, 60),
            "x": st.one_of(st.none(), st.integers(-9, 9)),
        }
    ),
    max_size=40,
)


@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
@settings(max_examples=150)
@given(
    windows=st.lists(WINDOWS, min_size=1, max_size=3),
    computed=st.lists(st.sampled_from(BUILT_IN), min_size=1, max_size=3, unique_by=repr),
    rows=ROWS,
    more=st.data(),
)
def test_any_parts_of_the_rows(windows: Any, computed: Any, rows: list[Row], more: st.DataObject) -> None:
    query = sash.Query(
        key=more.draw(st.sampled_from(["k", None])),
        windows={f"w{i}": window for i, window in enumerate(windows)},
        aggregates={f"a{i}": aggregation for i, aggregation in enumerate(computed)},
        time="ts",
    )
    if (reason := why_one_phase(query)) is not None:
        with pytest.raises(ValueError, match="rows of a key must come together"):
            SliceReducer(query)
        assert any(isinstance(window, Lookback) for window in windows), reason
        return
    places = more.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    parts = [[row for row, at in zip(rows, places, strict=True) if at == place] for place in range(4)]
    groups = more.draw(st.integers(1, 3)) if query.keys else 1
    found = in_two_phases(query, parts, groups, more.draw(st.sampled_from([1, 5, 100])))
    same(found, by_definition(query, rows))


def test_one_session_of_many_parts() -> None:
    """Tuples far apart in their own parts are one session together:

    part 0   x       x       x
    part 1       x       x          gap 3
             0   2   4   6   8
    """
    query = sash.Query(windows=sash.session(3, on="ts"), aggregates={"n": sash.Count()}, time="ts")
    parts = [[{"k": "a", "ts": ts, "x": 1} for ts in times] for times in ([0, 4, 8], [2, 6])]
    assert in_two_phases(query, parts, 1, 100) == [{"window_start": 0, "window_end": 11, "n": 5}]


def test_nulls_in_one_part_only() -> None:
    query = sash.Query(
        windows=sash.tumbling(10, on="ts"), aggregates={"sum": sash.Sum("x"), "n": sash.Count("x")}, time="ts"
    )
    parts = [[{"k": "a", "ts": 1, "x": 2}], [{"k": "a", "ts": 2, "x": None}], [{"k": "a", "ts": 3, "x": 5}]]
    assert in_two_phases(query, parts, 1, 100) == [{"window_start": 0, "window_end": 10, "sum": 7, "n": 2}]


def test_columns_of_other_types_in_another_part() -> None:
    query = sash.Query(windows=sash.tumbling(10, on="ts"), aggregates={"top": sash.Max("x")}, time="ts")
    schemas = [SCHEMA, SCHEMA.set(2, pa.field("x", pa.float64()))]
    merger = SliceMerger(query, pa.schema([("window_start", "int64"), ("window_end", "int64"), ("top", "float64")]))
    for schema, value in zip(schemas, (3, 4.5), strict=True):
        reducer = SliceReducer(query)
        batch = pa.RecordBatch.from_pylist([{"k": "a", "ts": 1, "x": value}], schema).select(["ts", "x"])
        assert not list(reducer.take(batch, pa.array([0], pa.int32())))
        for _, slices in reducer.flush():
            merger.take(slices)
    assert merger.end()[0].to_pylist() == [{"window_start": 0, "window_end": 10, "top": 4.5}]


def test_times_of_other_types_in_another_part_are_refused() -> None:
    query = sash.Query(windows=sash.tumbling("1s"), aggregates={"n": sash.Count()}, time="ts")
    merger = SliceMerger(query, pa.schema([("window_start", pa.timestamp("ms")), ("window_end", pa.timestamp("ms"))]))
    for position, zone in enumerate((None, "UTC")):
        reducer = SliceReducer(query)
        times = pa.record_batch({"ts": pa.array([0], pa.timestamp("ms", zone))})
        assert not list(reducer.take(times, pa.array([0], pa.int32())))
        ((_, slices),) = reducer.flush()
        if position:
            with pytest.raises(StateError, match="of different types"):
                merger.take(slices)
        else:
            merger.take(slices)


def test_a_function_of_ones_own() -> None:
    spread = next(aggregation for aggregation in COMMUTATIVE if aggregation.name == "spread")
    query = sash.Query(key="k", windows=sash.sliding(6, 2, on="ts"), aggregates={"spread": spread}, time="ts")
    schema = SCHEMA.set(2, pa.field("x", pa.float64()))
    rows = [{"k": "a", "ts": i, "x": float(i * i % 7)} for i in range(20)]
    merger_schema = pa.schema(
        [("k", "string"), ("window_start", "int64"), ("window_end", "int64"), ("spread", "double")]
    )
    merger = SliceMerger(query, merger_schema)
    for part in (rows[::2], rows[1::2]):
        reducer = SliceReducer(query)
        assert not list(reducer.take(pa.RecordBatch.from_pylist(part, schema), pa.array([0] * 10, pa.int32())))
        for _, slices in reducer.flush():
            merger.take(slices)
    same([row for batch in merger.end() for row in batch.to_pylist()], by_definition(query, rows))


ONE_PHASE: dict[str, dict[str, Any]] = {
    "Last('x') is not commutative": {"aggregates": {"last": sash.Last("x")}},
    "count rows in the order of arrival": {"windows": sash.sliding(3), "time": None},
    "counts tuples that may come out of order": {"windows": sash.sliding(3)},
    "each row is a slice of trailing 5 on ts": {"windows": sash.trailing(5, on="ts")},
    "the edges of": {"windows": sash.punctuated("mark")},
    "runs row by row": {"algorithm": "daba"},
}


@pytest.mark.parametrize("reason", ONE_PHASE)
def test_what_needs_all_rows_of_a_key(reason: str) -> None:
    plain: dict[str, Any] = {"windows": sash.tumbling(5, on="ts"), "aggregates": {"n": sash.Count()}, "time": "ts"}
    query = sash.Query(**plain | ONE_PHASE[reason])
    assert reason in str(why_one_phase(query))
    assert not reduces_first(query, None)
    with pytest.raises(ValueError, match="salted= cannot be used here: "):
        reduces_first(query, 4)


def test_when_two_phases_are_chosen() -> None:
    query = sash.Query(windows=sash.tumbling(5, on="ts"), aggregates={"n": sash.Count()}, time="ts")
    keyed, growing = query.using(key="k"), query.using(aggregates={"median": sash.Median("x")})
    assert [reduces_first(query, salted) for salted in (None, False, 0, True, 3)] == [True, False, False, True, True]
    assert [reduces_first(keyed, salted) for salted in (None, False, True, 3)] == [False, False, True, True]
    assert [reduces_first(growing, salted) for salted in (None, True)] == [False, True]
    for odd in (-1, "4", 2.5):
        with pytest.raises(ValueError, match="salted must be a whole number of tasks"):
            reduces_first(query, odd)  # type: ignore[arg-type]


def streamed_in_two_phases(query: sash.Query, parts: list[list[Row]], watermarks: list[int], more: Any) -> list[Row]:
    """Rounds of rows and a watermark after each; every reducer takes its share of each round, in any order."""
    columns = result_columns(query, lambda name: Column(name, SCHEMA.field(name).type), EngineTypes())
    schema = pa.schema([(name, kind) for name, kind, _ in columns])
    stream, results, before = SliceStream(query, schema), [], None
    for rows, watermark in zip(parts, watermarks, strict=True):
        for share in (rows[::2], rows[1::2]):
            batch = pa.RecordBatch.from_pylist(share, SCHEMA).select(list(query.columns))
            reducer = SliceReducer(query)
            if before is not None:
                batch = batch.filter(pa.array(~reducer.late(batch, before)))
            for _, slices in [*reducer.take(batch, pa.array([0] * len(batch), pa.int32())), *reducer.flush()]:
                stream.take(slices)
        before = watermark if before is None else max(before, watermark)
        due = stream.next_timer()
        moved = [row for batch in stream.move(before) for row in batch.to_pylist()]
        assert not moved or due <= before
        results += moved
        if more.draw(st.booleans()):
            stream, saved = SliceStream(query, schema), stream.snapshot(trusted=True)
            stream.load(saved)
    return results + [row for batch in stream.end() for row in batch.to_pylist()]


@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
@settings(max_examples=150)
@given(
    windows=st.lists(st.one_of(time_windows(), cumulatives(), st.just(Growing("ts"))), min_size=1, max_size=3),
    computed=st.lists(st.sampled_from(BUILT_IN), min_size=1, max_size=3, unique_by=repr),
    parts=st.lists(ROWS, min_size=1, max_size=5),
    more=st.data(),
)
def test_a_stream_in_two_phases_gives_what_one_phase_does(
    windows: Any, computed: Any, parts: list[list[Row]], more: st.DataObject
) -> None:
    """Slices come before and behind watermarks, and a restored stream goes on."""
    query = sash.Query(
        key=more.draw(st.sampled_from(["k", None])),
        windows={f"w{i}": window for i, window in enumerate(windows)},
        aggregates={f"a{i}": aggregation for i, aggregation in enumerate(computed)},
        time="ts",
        early=more.draw(st.sampled_from([None, 4])) if any(window.emits_early for window in windows) else None,
    )
    watermarks = [more.draw(st.integers(-25, 60)) for _ in parts]
    one = KeyedOperator(query)
    expected: list[Row] = []
    like = pa.Table.from_pylist([], SCHEMA)
    for rows, watermark in zip(parts, watermarks, strict=True):
        expected += one.process_batch(pa.Table.from_pylist(rows, SCHEMA)).to_pylist() if rows else []
        expected += one.advance(watermark, like=like).to_pylist()
    expected += one.close(like=like).to_pylist()
    same(streamed_in_two_phases(query, parts, watermarks, more), expected)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"windows": sash.session(3, on="ts")}, "depend on tuples of all tasks"),
        ({"allowed_lateness": 5}, "allowed_lateness: which results a late row corrects"),
        ({"windows": sash.tumbling(5, on="x")}, "windows follow 'x', which has no watermark of the stream"),
        ({"aggregates": {"last": sash.Last("x")}}, "is not commutative"),
        ({"time": sash.arrival_time, "windows": sash.tumbling("5s")}, "which has no watermark of the stream"),
    ],
)
def test_streams_that_cannot_be_reduced_first(changes: dict[str, Any], reason: str) -> None:
    query = sash.Query(windows=sash.tumbling(5, on="ts"), aggregates={"n": sash.Count("x")}, time="ts")
    assert why_one_phase_streams(query) is None
    assert reason in (why_one_phase_streams(query.using(**changes)) or "")
    with pytest.raises(ValueError, match="rows of a key must come together"):
        SliceStream(query.using(**changes), SCHEMA)
