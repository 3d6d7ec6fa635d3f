"""A whole data set: in blocks of keys, by kernels of rows, or at once, the results are the same."""

from __future__ import annotations

import math
import sys
import threading
import warnings
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sash
from sash.engine.columns import whole
from sash.frames import columns_of, factorize
from sash.kernels import tiers
from sash.kernels.partition import Partition
from sash.testing import evaluate
from sash.values import shares
from sash.values.arrays import objects
from sash.values.progress import show_progress
from strategies import aggregates, ordered_windows

KEYS = 5
Data = dict[str, np.ndarray[Any, Any]]


@pytest.fixture
def in_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every data set is large enough for blocks, of about 7 rows each, and for passes that three cores share."""
    monkeypatch.setattr(whole, "LEAST", 0)
    monkeypatch.setattr(whole, "BLOCK", 7)
    monkeypatch.setattr(shares, "LEAST", 5)
    monkeypatch.setattr(shares, "available_cores", lambda: 3)


@st.composite
def data_sets(draw: st.DrawFn) -> Data:
    """Rows of several keys, by time or not, of numbers."""
    size = draw(st.integers(1, 60))
    keys = draw(st.lists(st.integers(0, KEYS - 1), min_size=size, max_size=size))
    times = draw(st.lists(st.integers(-20, 60), min_size=size, max_size=size))
    values = draw(st.lists(st.integers(-9, 9), min_size=size, max_size=size))
    times = sorted(times) if draw(st.booleans()) else times
    kind = draw(st.sampled_from([np.int64, np.float64]))
    return {"k": np.array(keys), "ts": np.array(times), "x": np.array(values, kind)}


def expected_rows(query: sash.Query, data: Data) -> list[dict[str, Any]]:
    """By the definition, key by key in the order of appearance, each key's rows in the order of time."""
    results = []
    for key in dict.fromkeys(data["k"].tolist()):
        rows = [dict(zip(data, row, strict=True)) for row in zip(*(c.tolist() for c in data.values()), strict=True)]
        own = [row for row in rows if row["k"] == key]
        own.sort(key=lambda row: row["ts"] if query.time else 0)
        events: list[Any] = [("row", row) for row in own]
        results += [{"k": key, **result} for result in evaluate(query.using(key=None), [*events, ("close",)])]
    return results


def rows_of(table: dict[str, Any]) -> list[dict[str, Any]]:
    columns = {name: column.tolist() if isinstance(column, np.ndarray) else column for name, column in table.items()}
    return [
        {name: value.item() if isinstance(value, np.generic) else value for name, value in row.items()}
        for row in (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    ]


@pytest.mark.usefixtures("in_small_blocks")
@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(window=ordered_windows(), computed=aggregates(), data=data_sets())
def test_any_window_in_blocks(window: Any, computed: dict[str, Any], data: Data) -> None:
    query = sash.Query(key="k", windows=window, aggregates=computed, time="ts")
    texts = np.array([f"t{value}" for value in data["x"]], object)
    data = {**data, "s": texts, "mark": data["x"] > 5}
    assert repr(rows_of(sash.run(query, data))) == repr(expected_rows(query, data))


ROLLING = {
    "max": sash.Max("x"),
    "min": sash.Min("x"),
    "mean": sash.Mean("x"),
    "sum": sash.Sum("x"),
    "first": sash.First("x"),
    "last": sash.Last("x"),
    "median": sash.Median("x"),
    "low": sash.Quantile("x", 0.1, interpolation="lower"),
    "high": sash.Quantile("x", 0.9),
}


@pytest.mark.usefixtures("in_small_blocks")
@pytest.mark.parametrize("time", [None, "ts"])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(range_=st.integers(1, 9), data=data_sets(), more=st.data())
def test_a_rolling_window_by_kernels_of_rows(time: str | None, range_: int, data: Data, more: st.DataObject) -> None:
    slide, partial = more.draw(st.integers(1, range_)), more.draw(st.booleans())
    window = sash.sliding(range_, slide, partial=partial)
    query = sash.Query(key="k", windows=window, aggregates=ROLLING, time=time)
    assert rows_of(sash.run(query, data)) == expected_rows(query, data)


ODD = st.sampled_from([math.nan, math.inf, -math.inf, 1.7e308, 1e-300, 0.1, 1e16])
"""What sums keep apart, overflow with, or lose digits of."""


@pytest.mark.usefixtures("in_small_blocks")
@pytest.mark.parametrize("compile_rows", [10**9, 0])
def test_a_rolling_window_over_odd_rows(compile_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    computed = {**ROLLING, "std": sash.SampleStdDev("x"), "who": sash.ArgMax("x", "y")}
    monkeypatch.setattr(tiers, "COMPILE_ROWS", compile_rows)
    numbers = st.integers(-9, 9).map(float)

    @settings(max_examples=40)
    @given(range_=st.integers(2, 7), values=st.lists(st.one_of(numbers, numbers, ODD), min_size=1, max_size=60))
    def check(range_: int, values: list[float]) -> None:
        size = len(values)
        data = {"k": np.arange(size) % 3, "x": np.array(values), "y": np.arange(size)}
        query = sash.Query(key="k", windows=sash.sliding(range_), aggregates=computed)
        found, expected = rows_of(sash.run(query, data)), expected_rows(query, data)
        assert [row.pop("std") for row in found] == pytest.approx([row.pop("std") for row in expected], nan_ok=True)
        assert repr(found) == repr(expected)

    check()


def test_large_data_give_the_rows_that_small_blocks_do(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    size = 3 * whole.LEAST
    data = {"k": rng.integers(0, 40, size), "x": rng.random(size)}
    query = sash.Query(key="k", windows=sash.sliding(1000), aggregates={"max": sash.Max("x"), "mean": sash.Mean("x")})
    at_once = sash.run(query, data)
    monkeypatch.setattr(whole, "LEAST", size + 1)
    singly = sash.run(query, data)
    for name, column in singly.items():
        assert column.dtype == at_once[name].dtype
        np.testing.assert_array_equal(column, at_once[name])


TIME_WINDOWS = {
    "session": sash.session(3, on="ts"),
    "tumbling": sash.tumbling(4, offset=1, on="ts"),
    "tumbling of floats": sash.tumbling(2.5, on="ts"),
    "sliding": sash.sliding(6, 2, on="ts"),
}


@st.composite
def odd_data_sets(draw: st.DrawFn) -> dict[str, list[Any]]:
    """Nulls and NaN, a key with most rows, keys that come late, and times that do not always ascend."""
    size = draw(st.integers(1, 80))
    keys = draw(st.lists(st.sampled_from([3, 3, 3, 3, 0, 7, 10**12]), min_size=size, max_size=size))
    times = draw(st.lists(st.integers(-20, 200), min_size=size, max_size=size))
    real = st.floats(-9, 9, width=16).map(lambda value: value + 0.0)  # of -0.0 and 0.0 either may be the maximum
    number = st.one_of(st.none(), st.just(math.nan), real)
    values = draw(st.lists(number, min_size=size, max_size=size))
    return {"k": keys, "ts": sorted(times) if draw(st.booleans()) else times, "x": values}


@pytest.mark.usefixtures("in_small_blocks")
@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
@pytest.mark.parametrize("compile_rows", [10**9, 0])
@pytest.mark.parametrize("name", TIME_WINDOWS)
def test_time_windows_over_odd_rows(name: str, compile_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    computed = {"max": sash.Max("x"), "mean": sash.Mean("x"), "n": sash.Count()}
    query = sash.Query(key="k", windows=TIME_WINDOWS[name], aggregates=computed, time="ts")
    monkeypatch.setattr(tiers, "COMPILE_ROWS", compile_rows)

    @settings(max_examples=30)
    @given(data=odd_data_sets())
    def check(data: dict[str, list[Any]]) -> None:
        arrays = {column: objects(values) for column, values in data.items()}
        assert repr(rows_of(sash.run(query, data))) == repr(expected_rows(query, arrays))

    check()


@pytest.mark.usefixtures("in_small_blocks")
@given(keys=st.lists(st.integers(-3, 9) | st.integers(0, 2**62), min_size=1, max_size=90))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_keys_are_numbered_in_the_order_of_appearance(keys: list[int]) -> None:
    codes, distinct = factorize(columns_of({"k": np.array(keys)}, ["k"]), ["k"])
    assert distinct["k"].tolist() == list(dict.fromkeys(keys))
    assert distinct["k"][codes].tolist() == keys


@pytest.mark.usefixtures("in_small_blocks")
@pytest.mark.parametrize("dtype", ["f8", "i4", "u2", "?", "M8[us]", "c16", "O"])
@given(codes=st.lists(st.integers(0, 6), min_size=1, max_size=60), masked=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_partition_is_a_stable_sort(dtype: str, codes: list[int], masked: bool) -> None:
    column = np.arange(len(codes)).astype(dtype)
    array = np.ma.MaskedArray(column, np.arange(len(codes)) % 3 == 0) if masked else column  # type: ignore[no-untyped-call]
    order = np.argsort(codes, kind="stable")
    partition = Partition(np.array(codes), 7)
    assert partition.take(array).tolist() == array[order].tolist()
    assert partition.order().tolist() == order.tolist()
    assert partition.starts.tolist() == np.searchsorted(np.sort(codes), np.arange(8)).tolist()


@pytest.mark.usefixtures("in_small_blocks")
def test_functions_that_are_not_compiled_run_in_one_thread() -> None:
    threads = set()

    def note(value: Any) -> Any:
        threads.add(threading.current_thread().name)
        return [value]

    collected = sash.aggregation("x", lift=note, combine=lambda a, b: a + b, lower=sorted)
    query = sash.Query(key="k", windows=sash.session(2, on="ts"), aggregates={"all": collected})
    data = {"k": np.arange(60) % 6, "ts": np.arange(60), "x": np.arange(60)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(sash.run(query, data)["all"]) == 60
    assert threads == {threading.main_thread().name}


@pytest.mark.usefixtures("in_small_blocks")
@pytest.mark.parametrize("tqdm", [True, False])
def test_progress_is_shown_on_a_terminal_after_a_second(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tqdm: bool
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("sash.values.progress.PATIENCE_S", 0.0)
    if not tqdm:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    query = sash.Query(key="k", windows=sash.session(2, on="ts"), aggregates={"n": sash.Count()})
    table = pa.table({"k": np.arange(60) % 6, "ts": np.arange(60)})
    expected = sash.run(query, table)
    shown = capsys.readouterr().err
    assert ("sash: keys: " if tqdm else "% of the keys") in shown and shown.endswith("\r")

    found = sash.run(query, pa.RecordBatchReader.from_batches(table.schema, table.to_batches(10))).read_all()
    assert found.num_rows == expected.num_rows
    assert ("sash: rows: " if tqdm else "60 rows") in capsys.readouterr().err


def test_progress_is_not_shown_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    steps = iter("abc")
    assert show_progress(steps, "letters") is steps
    assert capsys.readouterr().err == ""
