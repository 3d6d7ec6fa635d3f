"""The local runtime: queries over whole data sets, and what they say of bad ones."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, assert_type

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sash
from sash.runtime.operator import KeyedOperator
from sash.testing import count_windows, naive

ALGORITHMS = "auto sba pba recalc twostacks two_stacks_lite aba daba DABALite flatfat flatfit slideside".split()

ROWS = st.lists(
    st.fixed_dictionaries({"plug": st.sampled_from("ab"), "load": st.one_of(st.none(), st.integers(0, 9))}), max_size=40
)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(rows=ROWS, r=st.integers(1, 8), data=st.data())
def test_results_are_those_of_the_definition(
    algorithm: str, rows: list[dict[str, Any]], r: int, data: st.DataObject
) -> None:
    s = data.draw(st.integers(1, r))
    aggregates = {"all": sash.Collect("load"), "rows": sash.Count(), "who": sash.ArgMax("load", "plug")}
    query = sash.Query(key="plug", windows=sash.sliding(r, s), aggregates=aggregates, algorithm=algorithm)
    results = sash.run(query, rows)
    for plug in "ab":
        loads = [row["load"] for row in rows if row["plug"] == plug]
        expected = [
            {
                "plug": plug,
                "window_start": i * s,
                "window_end": i * s + r,
                "all": naive(sash.Collect(), window),
                "rows": r,
                "who": plug if any(load is not None for load in window) else None,
            }
            for i, window in enumerate(count_windows(loads, r, s))
        ]
        assert [row for row in results if row["plug"] == plug] == expected


def test_columns_in_columns_out() -> None:
    query = sash.Query(windows=sash.tumbling(2), aggregates={"total": sash.Sum("x"), "n": sash.Count()})
    expected = {"window_start": [0, 2], "window_end": [2, 4], "total": [3, 7], "n": [2, 2]}
    assert sash.run(query, {"x": [1, 2, 3, 4, 5]}) == expected
    arrays = sash.run(query, {"x": np.array([1, 2, 3, 4, 5], dtype=np.int8), "unused": "?"})
    assert {name: array.tolist() for name, array in arrays.items()} == expected
    assert all(isinstance(array, np.ndarray) for array in arrays.values())
    assert sash.run(query, {"x": []}) == {name: [] for name in expected}


def test_several_keys_and_none() -> None:
    rows = [{"a": 1, "b": i % 2, "x": i} for i in range(4)]
    by_two = sash.Query(key=["a", "b"], windows=sash.tumbling(2), aggregates={"last": sash.Last("x")})
    assert [tuple(row.values()) for row in sash.run(by_two, rows)] == [(1, 0, 0, 2, 2), (1, 1, 0, 2, 3)]
    count = sash.Query(windows=sash.tumbling(3), aggregates={"n": sash.Count()})
    assert sash.run(count, rows) == [{"window_start": 0, "window_end": 3, "n": 3}]


def test_ends_at_times_and_at_positions_in_tables_whose_columns_have_one_type() -> None:
    """Structures, batch by batch the same, with the times' zone; where columns hold anything, as they are."""
    both = {"rows": sash.sliding(2), "times": sash.tumbling("2s")}
    query = sash.Query(key="k", windows=both, aggregates={"n": sash.Count()}, time="event time")
    rows = [{"k": i % 2, "event time": datetime(2024, 1, 1, 0, 0, i, tzinfo=UTC)} for i in range(6)]
    plain = sash.run(query, rows)
    expected = [
        [{"position": end, "event time": None} if row["window"] == "rows" else {"position": None, "event time": end}]
        for row in plain
        for end in (row["window_start"], row["window_end"])
    ]
    zoned = pa.timestamp("ms", "Europe/Berlin")
    table = pa.Table.from_pylist(rows).cast(pa.schema([("k", pa.int64()), ("event time", zoned)]))
    kind = pa.struct([("position", pa.int64()), ("event time", zoned)])
    found = sash.run(query, table)
    assert found.schema.field("window_end").type == found.schema.field("window_start").type == kind
    assert [[row[name]] for row in found.to_pylist() for name in ("window_start", "window_end")] == expected
    op = KeyedOperator(query)
    pieces = [op.process_batch(table[i : i + 2]) for i in range(0, 8, 2)]  # one with windows of one kind, one empty
    assert {piece.schema.field("window_end").type for piece in pieces} == {kind}
    polars = sash.run(query, pl.DataFrame(rows)).to_dicts()
    assert [[row[name]] for row in polars for name in ("window_start", "window_end")] == expected
    numbers = sash.Query(windows={"a": sash.sliding(2), "b": sash.tumbling(2, on="t")}, aggregates={"n": sash.Count()})
    assert sash.run(numbers, pa.table({"t": [0, 1, 2]})).schema.field("window_end").type == pa.int64()


def test_results_are_in_the_order_of_completion() -> None:
    query = sash.Query(key="k", windows=sash.sliding(2), aggregates={"all": sash.Collect("x")})
    data = {"k": list("abab" + "b"), "x": [1, 2, 3, 4, 5]}
    assert sash.run(query, data)["all"] == [[1, 3], [2, 4], [4, 5]]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"windows": 10}, ValueError, "expected a window such as"),
        ({"aggregates": {}}, TypeError, "at least one"),
        ({"aggregates": {"peak": max}}, ValueError, "aggregate 'peak' must be an aggregation"),
        ({"aggregates": {"peak": sash.Max()}}, ValueError, r"aggregate 'peak': Max\(\) names no column"),
        ({"aggregates": {"k": sash.Max("x")}}, ValueError, "aggregate 'k' has the name of another column"),
        ({"aggregates": {"window_end": sash.Max("x")}}, ValueError, "'window_end' has the name of another"),
        ({"key": 3}, TypeError, "key must be a column name"),
        ({"key": ["a", 3]}, ValueError, "key must be a column name"),
        ({"key": "window"}, ValueError, "key column 'window' has the name of a column .* rename the column"),
        ({"key": "window_start"}, ValueError, "key column 'window_start' has the name of a column"),
        ({"key": ["a", "window_end"]}, ValueError, "key column 'window_end' has the name of a column"),
        ({"key": ("revision",)}, ValueError, "key column 'revision' has the name of a column"),
        ({"key": ["a", "a"]}, ValueError, "key names column 'a' twice: name it once"),
        ({"aggregates": {"revision": sash.Max("x")}}, ValueError, "'revision' has the name of another"),
    ],
)
def test_queries_that_are_none(change: dict[str, Any], error: type[Exception], words: str) -> None:
    good: dict[str, Any] = {"windows": sash.sliding(2), "aggregates": {"peak": sash.Max("x")}, "key": "k"}
    with pytest.raises(error, match=words):
        sash.Query(**good | change)


def test_windows_that_are_none() -> None:
    with pytest.raises(ValueError, match="range 2 is below slide 3"):
        sash.sliding(2, 3)
    with pytest.raises(ValueError, match="range 1m is below slide 1h"):
        sash.sliding("1m", "1h")
    with pytest.raises(TypeError, match=r"must both be counts of tuples .* or both durations"):
        sash.sliding("1h", 5)
    with pytest.raises(TypeError, match="range must be a number in the unit of column 'km'"):
        sash.sliding("1h", "1m", on="km")
    with pytest.raises(TypeError, match="gap must be a duration"):
        sash.session(30)
    with pytest.raises(ValueError, match="is a window on event time: name its column with time="):
        _query(windows=sash.session("30s"))


def _query(**change: Any) -> sash.Query:
    default: dict[str, Any] = {"windows": sash.sliding(2), "aggregates": {"total": sash.Sum("x")}}
    return sash.Query(**default | change)


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        ({"y": [1]}, KeyError, "column 'x' is not in the data, which has 'y'"),
        ([{"x": 1}, {"y": 2}], KeyError, "row 1 has no column 'x'; it has 'y'"),
        ([{"x": 1}, {"x": "two"}], TypeError, r"row 1: Sum\('x'\) cannot aggregate 'two' of type str"),
    ],
)
def test_bad_data_is_told_by_row_and_column(data: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        sash.run(_query(), data)


def test_values_and_keys_that_do_not_go_together() -> None:
    peak = {"peak": sash.Max("x"), "n": sash.Count()}
    with pytest.raises(TypeError, match=r"row 1: Max\('x'\) cannot combine 1 with 'a'"):
        sash.run(_query(aggregates=peak), [{"x": 1}, {"x": "a"}])
    with pytest.raises(TypeError, match=r"column 'k', row 0: \[1\] cannot be a key: unhashable"):
        sash.run(_query(key="k"), {"k": [[1]], "x": [1]})


def test_columns_of_different_lengths() -> None:
    with pytest.raises(ValueError, match=r"different lengths: \{'k': 1, 'x': 2\}"):
        sash.run(_query(key="k"), {"k": [1], "x": [1, 2]})


def test_an_unknown_algorithm() -> None:
    with pytest.raises(
        ValueError, match=r"algorithm must be 'auto' or one of 'lazy', 'eager', 'sba', .*; got 'quantum'"
    ):
        sash.explain(_query(algorithm="quantum"), verbose=True)


def test_an_algorithm_that_cannot_serve_an_aggregate() -> None:
    with pytest.raises(TypeError, match="SubtractOnEvict needs an invertible aggregation"):
        sash.run(_query(algorithm="subtractonevict", aggregates={"peak": sash.Max("x")}), {"x": [1]})


def test_explain_says_which_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sash.aggregators.pba.available_cores", lambda: 2)
    monkeypatch.setattr("sash.aggregators.pba.handover_ns", lambda: 50_000)
    native = sash.aggregation("x", lift=float, combine=max, releases_gil=True)
    text = sash.explain(_query(windows=sash.sliding(10_000, 3), aggregates={"peak": native}), verbose=True)
    assert "PBA: a second thread helps: 2 cores; a chunk of 2501 slices saves 2499 µs of merges" in text
    assert "3333 a window and 1 tuples" in text and "Theorem 1 with n = 3333, m = 1, s = 3: b* = 2501" in text
    assert "DABA: the query asks for it" in sash.explain(_query(algorithm="daba"), verbose=True)


def test_what_comes_out_is_typed_by_what_goes_in() -> None:
    """Type checkers read this; here the types are those at run time too."""
    query = sash.Query(windows=sash.sliding(2), aggregates={"peak": sash.Max("load")})
    of_pandas = sash.run(query, pd.DataFrame({"load": [1, 2]}))
    of_polars = sash.run(query, pl.DataFrame({"load": [1, 2]}))
    of_lists = sash.run(query, {"load": [1, 2]})
    of_rows = sash.run(query, [{"load": 1}, {"load": 2}])
    assert_type(of_pandas, pd.DataFrame)
    assert_type(of_polars, pl.DataFrame)
    assert_type(of_lists, dict[str, Any])
    assert_type(of_rows, list[dict[str, Any]])
    assert list(map(type, (of_pandas, of_polars, of_lists, of_rows))) == [pd.DataFrame, pl.DataFrame, dict, list]
