"""Trailing windows: against the definition by row and in batches, and against DuckDB, pandas and polars over tables.

range 3, right    0  1  2  3  4  5  6
                  a     b     c
               (--]
                  (-----]              a is outside: it is 2 before b, inside; and 4 before c, outside
                        (-----]
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from strategies import (
    HALVES,
    HALVES_IN_DISORDER,
    HALVES_IN_ORDER,
    TENTHS,
    TENTHS_IN_DISORDER,
    TENTHS_IN_ORDER,
    Scenario,
    queries,
    scenarios,
    trailings,
)
from test_operator import check_rows_and_batches

pytestmark = pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
CLOSED = ["right", "both", "left", "neither"]


def query(window: Any, **options: Any) -> sash.Query:
    aggregates = {"all": sash.Collect("x"), "n": sash.Count()}
    return sash.Query(windows=window, aggregates=aggregates, time="ts", **options)


@pytest.mark.parametrize(
    ("closed", "held"),
    [
        ("right", [[0], [0, 2], [2, 4, 44], [2, 4, 44], [7]]),
        ("both", [[0], [0, 2], [2, 4, 44], [2, 4, 44], [4, 44, 7]]),
        ("left", [[], [0], [2], [2], [4, 44]]),
        ("neither", [[], [0], [2], [2], []]),
    ],
)
def test_one_result_a_tuple_with_all_of_its_time(closed: Any, held: list[list[int]]) -> None:
    rows = [{"ts": ts, "x": x} for ts, x in [(0, 0), (2, 2), (4, 4), (4, 44), (7, 7)]]
    results = sash.run(query(sash.trailing(3, closed, on="ts")), rows)
    assert [result["all"] or [] for result in results] == held
    assert [(result["window_start"], result["window_end"]) for result in results] == [
        (ts - 3, ts) for ts in (0, 2, 4, 4, 7)
    ]
    assert [result["n"] for result in results] == [len(part) for part in held]


def test_results_come_when_the_watermark_is_behind_the_time() -> None:
    op = sash.Operator(query(sash.trailing("3s")))
    times = [datetime(2024, 1, 1, 0, 0, second) for second in (1, 2, 2, 9)]
    emitted = [[result["all"] for result in op.process({"ts": ts, "x": ts.second})] for ts in times]
    assert emitted == [[], [[1]], [], [[1, 2, 2], [1, 2, 2]]]
    assert op.advance(times[-1]) == []
    assert [result["all"] for result in op.advance(times[-1] + timedelta(microseconds=1))] == [[9]]
    assert op.close() == []


@pytest.mark.parametrize(
    ("times", "unit", "timer"),
    [
        ([datetime(2024, 1, 1), datetime(2024, 1, 2)], None, datetime(2024, 1, 2, microsecond=1)),
        ([10, 12], "s", 13),
        (["2024-01-01T00:00:00Z"], None, "2024-01-01T00:00:00.000001Z"),
        ([pd.Timestamp(5), pd.Timestamp(7)], None, pd.Timestamp(8)),
    ],
)
def test_timers_are_times_behind_the_end_that_columns_can_write(times: list[Any], unit: Any, timer: Any) -> None:
    for batches in (False, True):
        op = sash.Operator(query(sash.trailing("3s"), time_unit=unit))
        for time in times:
            if batches:
                op.process_batch({"ts": np.array([time]), "x": [1]})
            else:
                op.process({"ts": time, "x": 1})
        assert op.next_timer() == timer
        assert len(op.advance(timer)) == 1 and op.next_timer() is None


def test_a_late_tuple_has_its_own_result_and_corrects_those_after_it() -> None:
    op = sash.Operator(query(sash.trailing(5, on="ts"), allowed_lateness=20))
    for ts in (1, 4, 9, 20):
        op.process({"ts": ts, "x": ts})
    late = [tuple(result.values()) for result in op.process({"ts": 3, "x": 3})]
    assert late == [(-2, 3, 0, [1, 3], 2), (-1, 4, 1, [1, 3, 4], 3)]
    late = [tuple(result.values()) for result in op.process({"ts": 4, "x": 44})]
    assert late == [(-1, 4, 2, [1, 3, 4, 44], 4)] * 2
    assert [result["revision"] for result in op.process({"ts": 5, "x": 5})] == [0, 1]


@settings(max_examples=80, deadline=None)
@given(scenarios(queries(st.one_of(trailings(), trailings(), trailings(HALVES))), changes=True, windows=trailings()))
def test_rows_and_batches_give_the_results_of_the_definition(scenario: Scenario) -> None:
    check_rows_and_batches(scenario)


@settings(max_examples=40, deadline=None)
@given(
    st.one_of(
        scenarios(queries(trailings(HALVES)), paces=[HALVES_IN_ORDER, HALVES_IN_DISORDER]),
        scenarios(queries(trailings(TENTHS)), paces=[TENTHS_IN_ORDER, TENTHS_IN_DISORDER]),
    )
)
def test_fractions_give_the_results_of_the_definition(scenario: Scenario) -> None:
    check_rows_and_batches(scenario)


FRAMES = st.lists(st.tuples(st.sampled_from("ab"), st.integers(-40, 40), st.integers(0, 9)), min_size=1, max_size=60)


def frame_of(rows: list[tuple[str, int, int]]) -> pd.DataFrame:
    rows = sorted(rows, key=lambda row: (row[0], row[1]))
    return pd.DataFrame(rows, columns=["k", "ts", "x"]).astype({"ts": np.int64, "x": np.int64})


def run_over(frame: pd.DataFrame, range_: int, closed: Any) -> pd.DataFrame:
    aggregates = {"sum": sash.Sum("x"), "n": sash.Count()}
    asked = sash.Query(key="k", windows=sash.trailing(range_, closed, on="ts"), aggregates=aggregates)
    result: pd.DataFrame = sash.run(asked, frame)
    return result


@settings(max_examples=25, deadline=None)
@given(FRAMES, st.integers(1, 12))
def test_duckdb_has_the_same_rows(rows: list[tuple[str, int, int]], range_: int) -> None:
    frame = frame_of(rows)
    with duckdb.connect() as connection:
        expected = connection.execute(
            f"""
            select k, ts - {range_} as s, ts as e, sum(x) over w::bigint as sum, count(*) over w as n from frame
            window w as (partition by k order by ts range between {range_} preceding and current row)
            order by k, ts
            """
        ).fetchall()
    assert list(run_over(frame, range_, "both").itertuples(index=False, name=None)) == expected


@settings(max_examples=25, deadline=None)
@given(FRAMES, st.integers(1, 12), st.sampled_from(CLOSED))
def test_polars_has_the_same_rows(rows: list[tuple[str, int, int]], range_: int, closed: Any) -> None:
    frame = frame_of(rows)
    table = pl.from_pandas(frame).set_sorted("ts")
    expected = (
        table.rolling("ts", period=f"{range_}i", group_by="k", closed="none" if closed == "neither" else closed)
        .agg(sum=pl.col("x").sum(), n=pl.len())
        .sort("k", "ts", maintain_order=True)
    )
    results = run_over(frame, range_, closed)
    assert results["n"].tolist() == expected["n"].to_list()
    assert results["sum"].fillna(0).astype(int).tolist() == expected["sum"].to_list()  # polars adds nothing up to 0


@settings(max_examples=25, deadline=None)
@given(FRAMES, st.integers(1, 12), st.sampled_from(CLOSED))
def test_pandas_has_the_same_rows_where_times_differ(
    rows: list[tuple[str, int, int]], range_: int, closed: Any
) -> None:
    frame = frame_of(rows).drop_duplicates(["k", "ts"])
    times = pd.to_datetime(frame["ts"], unit="s")
    expected = frame.assign(ts=times).groupby("k").rolling(f"{range_}s", on="ts", closed=closed)["x"].sum()
    results = run_over(frame, range_, closed)["sum"].astype(float)
    np.testing.assert_array_equal(results.to_numpy(), expected.to_numpy())


def test_merges_a_row_are_few_whatever_the_range() -> None:
    for range_ in (10, 1000):
        op = sash.Operator(sash.Query(windows=sash.trailing(range_, on="ts"), aggregates={"m": sash.Max("x")}))
        for i in range(5000):
            op.process({"ts": i // 2, "x": i * 7 % 101})
        assert op.metrics["merges"] <= 4 * 5000


def test_explain_files_and_equality(tmp_path: Path) -> None:
    window = sash.trailing("1h", "both")
    text = str(sash.explain(query(window), verbose=True))
    assert "trailing 1h closed both; forward context free" in text
    few = sash.Query(windows=window, aggregates={"sum": sash.Sum("x")}, time="ts")
    assert "TwoStacksLite: windows cover different numbers of slices" in sash.explain(few, verbose=True)
    assert "FiBA: late tuples change slices" in sash.explain(few.using(allowed_lateness="1m"), verbose=True)
    assert "FiBA: partials grow" in text
    text = sash.dump_query(query(window))
    assert '[window]\ntype = "trailing"\nrange = "1h"\nclosed = "both"\n' in text
    (tmp_path / "query.toml").write_text(text)
    assert sash.load_query(tmp_path / "query.toml") == query(window)
    assert sash.trailing("60m") == sash.trailing("1h", closed="right")
    assert "closed" not in sash.dump_query(query(sash.trailing("1h")))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"range": 10}, "use sash.sliding\\(10, 1, partial=True\\)"),
        ({"range": "0s"}, "range must be more than 0"),
        ({"range": "1h", "on": "km"}, "range must be a number in the unit of column 'km'"),
        ({"range": "1h", "closed": "up"}, "closed must be 'right', 'both', 'left' or 'neither'; got 'up'"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], error: str) -> None:
    with pytest.raises((TypeError, ValueError), match=error):
        sash.trailing(**arguments)


def test_it_needs_a_time() -> None:
    with pytest.raises(ValueError, match="name its column with time="):
        sash.Query(windows=sash.trailing("1h"), aggregates={"n": sash.Count()})
