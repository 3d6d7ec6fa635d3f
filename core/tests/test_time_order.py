"""Rows of many keys in the order of time, straight into their slices: the results are those of the definition.

rows       a b a a b │ b a b a a │ b …      blocks, stretches and tiles of a few rows each
sessions   a────────a   a──────────a        some go on from a stretch into the next
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.engine.columns import time_order, whole
from sash.frames import Renumbered, columns_of, factorize, number_keys
from sash.kernels import slots, tiers
from sash.testing import evaluate
from sash.values import shares
from sash.values.shares import Span, scaled, span_of

Columns = dict[str, Any]

WINDOWS = {
    "tumbling": sash.tumbling(4, offset=1, on="ts"),
    "tumbling of floats": sash.tumbling(2.5, on="ts"),
    "sliding": sash.sliding(6, 2, on="ts"),
    "sliding, uneven": sash.sliding(7, 3, on="ts"),
    "several": {"fast": sash.tumbling(3, on="ts"), "slow": sash.sliding(10, 5, on="ts")},
    "session": sash.session(3, on="ts"),
    "session of floats": sash.session(2.5, on="ts"),
    "sessions": {"short": sash.session(2, on="ts"), "long": sash.session(9, on="ts")},
}
AGGREGATES = {
    "n": sash.Count(),
    "max": sash.Max("x"),
    "mean": sash.Mean("x"),
    "sum": sash.Sum("x"),
    "some": sash.Sum("x", where="mark"),
}


@pytest.fixture
def in_small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every data set is large enough, and cut into parts of a few rows, shared by three threads."""
    monkeypatch.setattr(whole, "LEAST", 0)
    monkeypatch.setattr(time_order, "BLOCK", 3)
    monkeypatch.setattr(time_order, "STRETCH", 16)
    monkeypatch.setattr(time_order, "TILE", 8)
    monkeypatch.setattr(time_order, "FILLING", 0.01)
    monkeypatch.setattr(shares, "LEAST", 5)
    monkeypatch.setattr(shares, "available_cores", lambda: 3)


def rows_of(table: Any) -> list[dict[str, Any]]:
    columns = {name: column.tolist() if isinstance(column, np.ndarray) else column for name, column in table.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def expected_rows(query: sash.Query, data: Columns) -> list[dict[str, Any]]:
    """By the definition, key by key in the order of appearance. NaN is one key."""
    rows = rows_of(data)
    results: list[dict[str, Any]] = []
    for key in dict.fromkeys(repr(row["k"]) for row in rows):
        own = [row for row in rows if repr(row["k"]) == key]
        events: list[Any] = [*(("row", row) for row in own), ("close",)]
        results += [{"k": own[0]["k"], **result} for result in evaluate(query.using(key=None), events)]
    return results


KEYS: dict[str, list[Any]] = {
    "whole": [3, 3, 3, 0, 7],
    "negative and far": [-4, 10**12, 3],
    "floats": [0.5, math.nan, -1.0],
    "texts": ["a", "b", "ä"],
    "with nulls": [1, None, 2],
}


@st.composite
def data_in_order(draw: st.DrawFn, keys: str) -> Columns:
    """Rows in the order of time, with ties and silence, nulls and NaN, and a key that may be rare."""
    size = draw(st.integers(1, 80))
    steps = draw(st.lists(st.sampled_from([0, 0, 1, 1, 1, 2, 5, 40]), min_size=size, max_size=size))
    chosen = draw(st.lists(st.sampled_from(KEYS[keys]), min_size=size, max_size=size))
    real = st.floats(-9, 9, width=16).map(lambda value: value + 0.0)  # of -0.0 and 0.0 either may be the maximum
    number = st.one_of(st.none(), st.sampled_from([math.nan, math.inf, 1e16, 1e300, -1e300]), real, real, real)
    values = draw(st.lists(number, min_size=size, max_size=size))
    marks = draw(st.lists(st.sampled_from([True, True, False, None]), min_size=size, max_size=size))
    return {"k": chosen, "ts": np.cumsum(steps).tolist(), "x": values, "mark": marks}


@pytest.mark.usefixtures("in_small_parts")
@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
@pytest.mark.parametrize("compile_rows", [10**9, 0])
@pytest.mark.parametrize("window", WINDOWS)
def test_the_rows_are_those_of_the_definition(window: str, compile_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    query = sash.Query(key="k", windows=WINDOWS[window], aggregates=AGGREGATES, time="ts")
    monkeypatch.setattr(tiers, "COMPILE_ROWS", compile_rows)

    @settings(max_examples=25)
    @given(data=st.sampled_from(list(KEYS)).flatmap(data_in_order))
    def check(data: Columns) -> None:
        if "floats" in window:
            data["ts"] = [time / 2 for time in data["ts"]]
        found = sash.run(query, pl.DataFrame(data, strict=False)).to_dicts()
        assert repr(found) == repr(expected_rows(query, data))

    check()


@pytest.mark.usefixtures("in_small_parts")
@pytest.mark.parametrize("window", [sash.tumbling("10m"), sash.sliding("1m", "10s"), sash.session("2s")], ids=str)
def test_threads_change_nothing(window: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, size = np.random.default_rng(3), 5000
    monkeypatch.setattr(tiers, "COMPILE_ROWS", 0)
    monkeypatch.setattr(time_order, "STRETCH", 700)
    data = {
        "k": rng.integers(0, 9, size),
        "ts": np.datetime64("2026-01-01", "ms") + np.sort(rng.integers(0, 10**6, size)).astype("m8[ms]"),
        "x": rng.normal(size=size) * 10.0 ** rng.integers(-12, 12, size),
    }
    computed = {"mean": sash.Mean("x"), "std": sash.SampleStdDev("x"), "max": sash.Max("x"), "n": sash.Count()}
    query = sash.Query(key="k", windows=window, aggregates=computed, time="ts")
    results = []
    for threads in (1, 2, 3, 7):
        shares.limit_shares(threads)
        results.append(sash.run(query, data))
    shares.limit_shares(None)
    monkeypatch.setattr(whole, "LEAST", size + 1)  # key by key
    by_key = sash.run(query, data)
    for name, column in results[0].items():
        for other in results[1:]:
            assert column.tobytes() == other[name].tobytes()
        if name == "std":
            np.testing.assert_allclose(column, by_key[name], rtol=1e-12)
        else:
            np.testing.assert_array_equal(column, by_key[name])


@pytest.mark.usefixtures("in_small_parts")
@pytest.mark.parametrize("aggregate", [sash.First("x"), sash.Median("x"), sash.Collect("x")], ids=str)
@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
def test_what_slots_cannot_hold_goes_key_by_key(aggregate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "COMPILE_ROWS", 0)
    data = {"k": [1, 2, 1, 2, 2, 1] * 9, "ts": list(range(54)), "x": [float(i * 7 % 11) for i in range(54)]}
    for window in (sash.tumbling(10, on="ts"), sash.session(2, on="ts")):
        query = sash.Query(key="k", windows=window, aggregates={"a": aggregate}, time="ts")
        assert repr(rows_of(sash.run(query, data))) == repr(expected_rows(query, data))


@pytest.mark.usefixtures("in_small_parts")
def test_as_many_sessions_as_rows_go_key_by_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "COMPILE_ROWS", 0)
    monkeypatch.setattr(time_order, "STRETCH", 64)
    given: list[Any] = []

    def sessions(*arguments: Any) -> Any:
        given.append(time_order.slices_of_sessions(*arguments))
        return given[-1]

    monkeypatch.setattr("sash.engine.columns.rules.all.slices_of_sessions", sessions)
    data = {"k": [1, 2] * 100, "ts": list(range(0, 2000, 10)), "x": [float(i) for i in range(200)]}
    query = sash.Query(key="k", windows=sash.session(2, on="ts"), aggregates={"max": sash.Max("x")}, time="ts")
    assert repr(rows_of(sash.run(query, data))) == repr(expected_rows(query, data))
    assert given == [None]
    query = query.using(windows=sash.session(20, on="ts"))
    assert len(sash.run(query, data)["max"]) == len(expected_rows(query, data)) == 200
    query = query.using(windows=sash.session(21, on="ts"))
    assert len(sash.run(query, data)["max"]) == 2 and given[-1] is not None


def test_cells_by_numpy_are_those_of_the_kernel() -> None:
    rng = np.random.default_rng(1)
    codes, bounds = rng.integers(0, 5, 60), np.array([0, 3, 17, 18, 44, 60])
    for numbers in (np.zeros(0, np.int64), rng.permutation(5)):
        found = [np.zeros(30, np.int64) for _ in range(2)], [np.zeros(20, np.int64) for _ in range(2)]
        both: list[Any] = [slots.cell_slots._interpreted, slots.cell_slots._python]
        for which, function in enumerate(both):
            function(codes, numbers, bounds, 10, 40, 1, 1, 4, found[0][which], found[1][which])
        assert found[0][0].tolist() == found[0][1].tolist() and found[1][0].tolist() == found[1][1].tolist()
        assert found[1][0].sum() == 30


def test_keys_that_lie_close_together_are_numbered_on_the_way() -> None:
    frame = columns_of({"k": np.array([5, 3, 4, 5])}, ["k"])
    codes, distinct = number_keys(frame, ["k"])
    assert isinstance(codes, Renumbered) and codes.tolist() == [0, 1, 2, 0] and len(codes) == 4
    assert distinct["k"].tolist() == [5, 3, 4]
    assert factorize(frame, ["k"])[0].tolist() == [0, 1, 2, 0]
    sparse, _ = number_keys(columns_of({"k": np.array([5, 3, 5])}, ["k"]), ["k"])
    assert not isinstance(sparse, Renumbered) and sparse.tolist() == [0, 1, 0]


def test_the_span_of_scaled_times_is_known() -> None:
    times = np.array([3, 1, 2])
    product = scaled(times, 10, span_of(times))
    assert product.tolist() == [30, 10, 20] and span_of(product) == Span(10, 30, False)
    assert span_of(product.copy()) == Span(10, 30, False)
    other = np.array([7, 8])
    assert span_of(other) == Span(7, 8, True)
