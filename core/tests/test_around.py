"""Windows around each tuple, ``center`` and ``min_periods``: against the definition, and against pandas.

range 4, center     a  b  c  d  e           the tuple, one of the two in the middle, and what lies around it
                   [---a----]
                   [------b----]
                   [---------c---]          complete with e
                      [---------d---)       complete at the end of the input, as is e's
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.query.file import parse_query
from sash.testing import evaluate
from strategies import (
    NAMES,
    Scenario,
    aggregates,
    arrival_scenarios,
    count_windows,
    queries,
    scenarios,
    sessions,
    time_windows,
)
from test_operator import check_rows_and_batches, on

pytestmark = pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
STATISTICS = ("sum", "max", "mean", "var", "median", "count")
AGGREGATES = {
    "sum": sash.Sum("x"),
    "max": sash.Max("x"),
    "mean": sash.Mean("x"),
    "var": sash.SampleVariance("x"),
    "median": sash.Median("x"),
    "count": sash.Count("x"),
}


@st.composite
def arounds(draw: st.DrawFn) -> Any:
    range_ = draw(st.integers(1, 6))
    least = draw(st.one_of(st.none(), st.integers(1, range_)))
    centered = least is None or draw(st.booleans())
    return sash.sliding(range_, center=centered, min_periods=least, partial=draw(st.booleans()))


@st.composite
def with_arounds(draw: st.DrawFn) -> sash.Query:
    """A window around each tuple, alone or beside others."""
    asked = draw(queries(st.one_of(arounds(), arounds(), count_windows(), time_windows(), sessions())))
    if draw(st.booleans()):
        return asked.using(windows=draw(arounds()))
    return asked.using(
        windows={**dict(list(asked.named.items())[:3]), "around": draw(arounds())}
        if None not in asked.named
        else {"around": draw(arounds())}
    )


@settings(max_examples=300, deadline=None)
@given(scenarios(with_arounds()))
def test_rows_and_batches_give_the_results_of_the_definition(scenario: Scenario) -> None:
    check_rows_and_batches(scenario)


@settings(max_examples=100, deadline=None)
@given(arrival_scenarios(), arounds(), aggregates())
def test_in_the_order_of_arrival_too(scenario: Scenario, window: Any, computed: dict[str, sash.Aggregation]) -> None:
    scenario.query = sash.Query(windows=window, aggregates=computed)
    check_rows_and_batches(scenario)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.integers(-9, 9)), max_size=30),
    st.integers(1, 9),
    st.booleans(),
    st.data(),
)
def test_a_key_at_a_time_as_pandas_has_it(values: list[Any], range_: int, center: bool, data: st.DataObject) -> None:
    least = data.draw(st.integers(1, range_))
    keys = data.draw(st.lists(st.sampled_from("ab"), min_size=len(values), max_size=len(values)))
    frame = pd.DataFrame({"k": keys, "x": np.array(values, float)})
    window = sash.sliding(range_, center=center, min_periods=least)
    results = sash.run(sash.Query(key="k", windows=window, aggregates=AGGREGATES), frame)
    for key, of_key in frame.groupby("k"):
        rolling = of_key["x"].rolling(range_, center=center, min_periods=least)
        found = results[results["k"] == key]
        for name in STATISTICS:
            expected = getattr(rolling, name)().to_numpy(float)
            np.testing.assert_allclose(found[name].to_numpy(float, na_value=np.nan), expected, atol=1e-12)


def test_by_default_a_window_needs_as_many_values_as_it_has_rows() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, None, 4.0, 5.0, 6.0, 7.0]})
    query = sash.Query(windows=sash.sliding(3, center=True), aggregates={"sum": sash.Sum("x")})
    expected = frame["x"].rolling(3, center=True).sum()
    pd.testing.assert_series_equal(sash.run(query, frame)["sum"].astype(float), expected, check_names=False)
    ones = query.using(windows=sash.sliding(3, center=True, partial=True))
    expected = frame["x"].rolling(3, center=True, min_periods=1).sum()
    pd.testing.assert_series_equal(sash.run(ones, frame)["sum"].astype(float), expected, check_names=False)


def test_each_aggregate_counts_its_own_values() -> None:
    rows = [{"x": 1, "y": None, "ok": True}, {"x": None, "y": 5, "ok": True}, {"x": 3, "y": 6, "ok": False}]
    computed = {
        "x": sash.Sum("x"),
        "y": sash.Sum("y"),
        "paid": sash.Sum("x", where="ok"),
        "both": sash.Covariance("x", "y"),
        "who": sash.ArgMax("x", "y"),
        "rows": sash.Count(),
        "values": sash.Count("y"),
        "m4": sash.M4("x"),
    }
    query = sash.Query(windows=sash.sliding(3, min_periods=2), aggregates=computed)
    first, second, third = sash.run(query, rows)
    assert set(first.values()) - {0, 1} == {None}
    assert [second[name] for name in computed] == [None, None, None, None, None, 2, 1, None]
    assert [third[name] for name in computed if name != "m4"] == [4, 11, None, None, 6, 3, 2]
    assert third["m4"] is not None


def test_results_are_emitted_with_the_last_tuple_of_their_window_and_the_others_at_the_end() -> None:
    op = sash.Operator(sash.Query(windows=sash.sliding(5, center=True, min_periods=1), aggregates={"n": sash.Count()}))
    ends = [[row["window_end"] for row in op.process({})] for _ in range(4)]
    assert ends == [[], [], [3], [4]]
    assert [(row["window_start"], row["window_end"], row["n"]) for row in op.peek()] == [(0, 5, 4), (1, 6, 3)]
    assert op.peek() == op.close()


def test_one_large_table_and_several_kinds_of_tables() -> None:
    """Beyond the size from which blocks of keys run apart."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"k": rng.integers(0, 40, 150_000), "x": rng.normal(size=150_000)})
    query = sash.Query(key="k", windows=sash.sliding(7, center=True, min_periods=5), aggregates={"max": sash.Max("x")})
    found = sash.run(query, frame)
    rolled = frame.groupby("k", sort=False)["x"].rolling(7, center=True, min_periods=5).max()
    np.testing.assert_array_equal(found["max"].to_numpy(float, na_value=np.nan), rolled.to_numpy())
    tables = sash.run(query, pa.Table.from_pandas(frame[:500])), sash.run(query, pl.from_pandas(frame[:500]))
    assert tables[0]["max"].to_pylist() == tables[1]["max"].to_list()


def test_windows_come_and_go_beside_one_that_counts_values() -> None:
    around, three = sash.sliding(3, center=True, min_periods=1), sash.sliding(3)
    op = sash.Operator(sash.Query(windows={"a": around}, aggregates={"sum": sash.Sum("x")}))
    events: list[Any] = [("row", {"x": 1}), ("row", {"x": 2}), ("add", "b", around), ("add", "c", three)]
    events += [("row", {"x": x}) for x in (4, 8, None, 16)] + [("remove", "a"), ("row", {"x": 32}), ("close",)]
    assert [row for event in events for row in on(op, event)] == evaluate(
        sash.Query(windows={"a": around}, aggregates={"sum": sash.Sum("x")}), events
    )


def test_the_first_one_cannot_come_to_a_stream_that_runs_nor_the_last_one_go() -> None:
    plain = sash.Operator(sash.Query(windows={"three": sash.sliding(3)}, aggregates={"sum": sash.Sum("x")}))
    with pytest.raises(ValueError, match="slices count values for them; put the window into another query"):
        plain.add_window("five", sash.sliding(5, center=True))
    both = {"three": sash.sliding(3), "five": sash.sliding(5, center=True)}
    counting = sash.Operator(sash.Query(windows=both, aggregates={"sum": sash.Sum("x")}))
    with pytest.raises(ValueError, match="put the window into another query"):
        counting.remove_window("five")
    with pytest.raises(sash.StateError, match="aggregate \"values of Sum\\('x'\\)\" is not in the saved state"):
        sash.Operator.restore(counting.query, plain.snapshot())


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        ((5, 2), {"center": True}, "so the slide must be 1; got 2"),
        ((5,), {"min_periods": 6}, "min_periods must be a whole number from 1 to the range, 5; got 6"),
        ((5,), {"min_periods": True}, "min_periods must be a whole number"),
        (("5m", "1m"), {"center": True}, "center and min_periods are for windows on counts"),
        (("5m",), {"center": True}, "center and min_periods are for windows on counts"),
    ],
)
def test_what_cannot_be_is_refused(arguments: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        sash.sliding(*arguments, **options)


def test_a_query_file_and_explain_tell_of_it() -> None:
    window = sash.sliding(5, center=True, min_periods=3)
    query = sash.Query(windows={NAMES[0]: window}, aggregates={"max": sash.Max("x")})
    text = sash.dump_query(query)
    assert "center = true\nmin_periods = 3" in text
    assert parse_query(text) == query
    assert "5 rows around every row, null with fewer than 3 values" in str(sash.explain(query))
