"""A whole data set: in blocks of keys, by kernels of rows, or at once, the results are the same."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sash
from sash.engine.columns import whole
from sash.testing import evaluate
from strategies import aggregates, ordered_windows

KEYS = 5
Data = dict[str, np.ndarray[Any, Any]]


@pytest.fixture
def in_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every data set is large enough for blocks, of about 7 rows each."""
    monkeypatch.setattr(whole, "LEAST", 0)
    monkeypatch.setattr(whole, "BLOCK", 7)


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
    columns = {name: list(column) for name, column in table.items()}
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
def test_progress_is_shown_on_a_terminal_after_a_second(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("sash.engine.columns.whole.time.monotonic", lambda: next(clock))
    query = sash.Query(key="k", windows=sash.session(2, on="ts"), aggregates={"n": sash.Count()})
    sash.run(query, {"k": np.arange(60) % 6, "ts": np.arange(60)})
    shown = capsys.readouterr().err
    assert "% of the keys" in shown and shown.endswith("\r")
