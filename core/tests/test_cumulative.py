"""Cumulative windows: against the definition row by row and in batches, and against DuckDB over tables.

range 6, step 2     0  1  2  3  4  5  6  7  8
                    [-----)
                    [-----------)
                    [-----------------)
                                      [-----)
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.engine.columns.rules.periods import CumulativePeriods
from sash.testing import evaluate
from strategies import HALVES, TENTHS, Scenario, cumulatives, queries, scenarios
from test_operator import check_rows_and_batches

pytestmark = pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")


def query(window: Any, **options: Any) -> sash.Query:
    aggregates = {"all": sash.Collect("x"), "n": sash.Count()}
    return sash.Query(windows=window, aggregates=aggregates, time="ts", **options)


def test_windows_grow_by_a_step_and_begin_anew_with_each_range() -> None:
    rows = [{"ts": ts, "x": ts} for ts in (0, 1, 5, 6)]
    results = sash.run(query(sash.cumulative(6, step=2, on="ts")), rows)
    assert [tuple(result.values()) for result in results] == [
        (0, 2, [0, 1], 2),
        (0, 4, [0, 1], 2),
        (0, 6, [0, 1, 5], 3),
        (6, 8, [6], 1),
        (6, 10, [6], 1),
        (6, 12, [6], 1),
    ]


def test_durations_of_timestamps_before_and_behind_1970() -> None:
    window = sash.cumulative("1h", step="30m", offset="15m")
    rows = [{"ts": datetime.fromisoformat(ts), "x": 1} for ts in ("1969-12-31T23:50:00", "2024-01-01T12:20:00")]
    bounds = [(str(row["window_start"]), str(row["window_end"])) for row in sash.run(query(window), rows)]
    assert bounds == [
        ("1969-12-31 23:15:00", "1970-01-01 00:15:00"),
        ("2024-01-01 12:15:00", "2024-01-01 12:45:00"),
        ("2024-01-01 12:15:00", "2024-01-01 13:15:00"),
    ]


@settings(max_examples=60, deadline=None)
@given(scenarios(queries(st.one_of(cumulatives(), cumulatives(HALVES), cumulatives(TENTHS)))))
def test_rows_and_batches_give_the_results_of_the_definition(scenario: Scenario) -> None:
    check_rows_and_batches(scenario)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(-40, 40), st.integers(0, 9)), max_size=60),
    st.integers(1, 5),
    st.integers(1, 6),
    st.integers(0, 7),
)
def test_duckdb_has_the_same_rows(rows: list[tuple[str, int, int]], step: int, steps: int, offset: int) -> None:
    rows.sort(key=lambda row: row[1])
    frame = pd.DataFrame(rows, columns=["k", "ts", "x"]).astype({"ts": np.int64, "x": np.int64})
    window = sash.cumulative(step * steps, step=step, offset=offset, on="ts")
    asked = sash.Query(key="k", windows=window, aggregates={"sum": sash.Sum("x"), "n": sash.Count()}, time="ts")
    with duckdb.connect() as connection:
        expected = connection.execute(
            """
            with starts as (select distinct $range * floor((ts - $offset) / $range) + $offset as s from frame)
            select k, s::bigint, (s + i * $step)::bigint as e, sum(x)::bigint, count(*)
            from starts, range(1, $steps + 1) as steps(i), frame
            where ts >= s and ts < s + i * $step
            group by all order by k, e
            """,
            {"range": step * steps, "step": step, "steps": steps, "offset": offset},
        ).fetchall()
    results = sash.run(asked, frame)
    found = sorted(results.itertuples(index=False, name=None), key=lambda row: (row[0], row[2]))
    assert [tuple(row) for row in found] == expected


def test_a_cumulative_window_shares_slices_with_others() -> None:
    windows = {"day": sash.cumulative(12, step=3, on="ts"), "slide": sash.sliding(6, 3, on="ts")}
    op = sash.Operator(sash.Query(windows=windows, aggregates={"n": sash.Count()}, time="ts"))
    for ts in range(12):
        op.process({"ts": ts})
    assert op.metrics["slices_held"] <= 4


def test_explain_files_and_equality(tmp_path: Path) -> None:
    window = sash.cumulative("1d", step="1h", offset="30m")
    assert "cumulative 1d by 1h offset 30m; context free" in sash.explain(query(window), verbose=True)
    assert "Numba" in sash.explain(query(window), verbose=True)
    text = sash.dump_query(query(window))
    assert '[window]\ntype = "cumulative"\nrange = "1d"\nstep = "1h"\noffset = "30m"\n' in text
    (tmp_path / "query.toml").write_text(text)
    assert sash.load_query(tmp_path / "query.toml") == query(window)
    assert sash.cumulative("60m", step="60m") == sash.cumulative("1h", step="1h")
    on_km = sash.dump_query(query(sash.cumulative(10, step=2.5, on="km")))
    assert 'step = 2.5\non = "km"' in on_km


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"range": "1h", "step": "25m"}, "step 25m does not divide range 1h"),
        ({"range": "1h", "step": "2h"}, "step 2h does not divide range 1h"),
        ({"range": "30d", "step": "7ns"}, "step 7ns does not divide range 30d"),
        ({"range": 10, "step": 2}, "cumulative windows are on time"),
        ({"range": "1h", "step": 2}, "cumulative windows are on time"),
        ({"range": "1h", "step": "0s"}, "step must be more than 0"),
        ({"range": 10, "step": "1s", "on": "km"}, "step must be a number in the unit of column 'km'"),
        ({"range": 1.0, "step": 0.3, "on": "km"}, "step 0.3 does not divide range 1.0"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], error: str) -> None:
    with pytest.raises((TypeError, ValueError), match=error):
        sash.cumulative(**arguments)


def test_it_needs_a_time() -> None:
    with pytest.raises(ValueError, match="name its column with time="):
        sash.Query(windows=sash.cumulative("1h", step="1m"), aggregates={"n": sash.Count()})


@pytest.mark.parametrize("names", [1, 12])
@pytest.mark.parametrize("keys", [1, 3])
def test_long_gaps_between_tuples_of_several_keys(names: int, keys: int) -> None:
    windows = {f"w{i}": sash.cumulative(3 * (i + 1), step=i + 1, offset=i, on="ts") for i in range(names)}
    asked = sash.Query(key="k", windows=windows, aggregates={"n": sash.Count()}, time="ts")
    rows = [{"k": i % keys, "ts": i * i * 1000 + i % 3} for i in range(40)]
    table = sash.run(asked, pd.DataFrame(rows)).to_dict("records")
    for key in range(keys):
        events = [("row", row) for row in rows if row["k"] == key]
        expected = evaluate(asked, [*events, ("close",)])
        assert [row for row in table if row["k"] == key] == [{"k": key, **row} for row in expected]


def test_numbers_of_windows_on_floats_may_be_infinite() -> None:
    """A key without a watermark has one before all times."""
    periods = CumulativePeriods([(2, 0.5, 0)], np.float64)
    number = periods.first_behind(np.array([-np.inf, 1.6]))
    assert periods.start(number).tolist() == [-np.inf, 1.0]
    assert periods.end(number).tolist() == [-np.inf, 2.0]
