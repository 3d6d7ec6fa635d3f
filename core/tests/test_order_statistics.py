"""Quantiles by ranks: the definition's results, in both tiers, whatever the ranges, the nulls and the types."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sash
from sash.kernels import order_statistics
from sash.testing import count_windows, naive
from sash.values.arrays import objects, with_nulls

Array = np.ndarray[Any, Any]
INTERPOLATIONS = ["linear", "lower", "higher", "nearest"]


@pytest.fixture(params=["sorted by itself", "walk over bits"])
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges sorted one by one, or the compiled walk, in chunks of few rows."""
    if request.param == "walk over bits":
        monkeypatch.setattr(order_statistics, "FEW", 0)
        monkeypatch.setattr(order_statistics, "CHUNK", 8)


def listed(results: Any) -> list[Any]:
    return list(results.tolist())


NUMBERS = st.one_of(
    st.integers(-5, 5).map(float), st.floats(-1e300, 1e300), st.sampled_from([np.inf, -np.inf, np.nan, 0.5])
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=st.lists(st.one_of(st.none(), NUMBERS), min_size=1, max_size=60),
    q=st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0, 1)),
    interpolation=st.sampled_from(INTERPOLATIONS),
    range_=st.integers(1, 20),
    data=st.data(),
)
def test_windows_over_floats(
    tier: None, values: list[Any], q: float, interpolation: str, range_: int, data: st.DataObject
) -> None:
    slide = data.draw(st.integers(1, range_))
    aggregation = sash.Quantile("x", q, interpolation=interpolation)
    mask = np.array([value is None for value in values])
    array = np.array([0.0 if value is None else value for value in values])
    expected = [naive(aggregation, window) for window in count_windows(values, range_, slide)]
    window = sash.Rolling(aggregation, range_, slide)
    cut = data.draw(st.integers(0, len(values)))
    results = [
        result
        for part in (slice(0, cut), slice(cut, None))
        for result in listed(window.push(array[part], mask=mask[part]))
    ]
    np.testing.assert_equal(results, expected)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=st.lists(st.integers(-9, 9), min_size=1, max_size=60),
    codes=st.lists(st.integers(0, 3), min_size=60, max_size=60),
    range_=st.integers(1, 8),
    partial=st.booleans(),
    data=st.data(),
)
def test_groups(
    tier: None, values: list[int], codes: list[int], range_: int, partial: bool, data: st.DataObject
) -> None:
    slide = data.draw(st.integers(1, range_))
    numbers = np.array(codes[: len(values)])
    ends, medians = sash.rolling_by(numbers, np.array(values), sash.Median(), range_, slide, partial)
    for code in set(numbers.tolist()):
        own = np.array(values)[numbers == code]
        mine = medians[numbers[ends] == code]
        np.testing.assert_equal(listed(mine), listed(sash.rolling(own, sash.Median(), range_, slide, partial)))


@pytest.mark.parametrize(
    "values",
    [
        [Decimal("1.5"), Decimal(3), Decimal("2.25"), Decimal(9)],
        [timedelta(seconds=5), timedelta(seconds=1), timedelta(seconds=4), timedelta(seconds=4)],
        [datetime(2024, 1, day) for day in (5, 1, 9, 2)],
    ],
    ids=["decimals", "durations", "timestamps"],
)
def test_other_types(tier: None, values: list[Any]) -> None:
    objects = np.empty(len(values), object)
    objects[:] = values
    expected = [naive(sash.Median("x"), window) for window in count_windows(values, 3, 1)]
    assert listed(sash.rolling(objects, sash.Median(), 3)) == expected


def test_values_without_an_order_are_refused() -> None:
    with pytest.raises(TypeError, match="linear interpolation needs numbers"):
        sash.rolling(np.array(["a", "b"], object), sash.Median(), 2)
    assert listed(sash.rolling(np.array(["b", "a", "c"], object), sash.Median(interpolation="lower"), 2)) == ["a", "a"]


@pytest.mark.parametrize("range_", [7, 64, 1000])
def test_many_rows(range_: int) -> None:
    values = np.random.default_rng(3).normal(size=40_000).round(2)
    medians = sash.rolling(values, sash.Median(), range_)
    for place in np.random.default_rng(4).integers(0, len(medians), 50).tolist():
        assert medians[place] == np.quantile(values[place : place + range_], 0.5)


def test_a_keyed_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sash.engine.columns.whole.LEAST", 0)
    keys, values = np.arange(30) % 3, np.arange(30.0)[::-1].copy()
    query = sash.Query(
        key="k", windows=sash.sliding(3), aggregates={"m": sash.Median("x"), "q": sash.Quantile("x", 0.9)}
    )
    found = sash.run(query, {"k": keys, "x": values})
    expected = [np.median(values[keys == key][i : i + 3]) for key in range(3) for i in range(8)]
    assert found["m"].tolist() == expected
    assert found["q"].tolist() == [
        np.quantile(values[keys == key][i : i + 3], 0.9) for key in range(3) for i in range(8)
    ]


@pytest.mark.parametrize(
    "values",
    [
        [0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, 5e-324, -5e-324, 1e308, 0.0, 1.5],
        [0, -1, 1, 2**63 - 1, -(2**63), 7, 7, 1 << 40, -(1 << 40)],
        [7] * 5,
    ],
)
def test_the_order_of_rows_is_numpys_stable_one(values: list[Any]) -> None:
    array = np.random.default_rng(6).choice(np.array(values), 300)
    assert order_statistics._order(array).tolist() == np.argsort(array, kind="stable").tolist()


WINDOWS = {
    "sliding": sash.sliding("10s", "2s"),
    "long": sash.sliding("30s", "10s"),
    "cumulative": sash.cumulative("20s", "5s"),
    "session": sash.session("3s"),
}


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 90),
            st.integers(0, 2),
            st.one_of(st.none(), st.sampled_from([np.nan, np.inf, -np.inf]), st.integers(-9, 9)),
        ),
        min_size=1,
        max_size=60,
    ),
    names=st.lists(st.sampled_from(list(WINDOWS)), min_size=1, max_size=3, unique=True),
    interpolation=st.sampled_from(INTERPOLATIONS),
)
def test_time_windows_of_a_run(
    tier: None, rows: list[tuple[int, int, Any]], names: list[str], interpolation: str
) -> None:
    query = sash.Query(
        key="k",
        time="t",
        windows={name: WINDOWS[name] for name in names},
        aggregates={
            "m": sash.Median("x", interpolation=interpolation),
            "q": sash.Quantile("x", 0.9, interpolation=interpolation),
            "n": sash.Count(),
        },
    )
    rows.sort(key=lambda row: row[0])
    times = [datetime(2024, 1, 1) + timedelta(seconds=row[0]) for row in rows]
    table = [{"t": time, "k": row[1], "x": row[2]} for time, row in zip(times, rows, strict=True)]
    operator = sash.Operator(query)
    expected = [result for row in table for result in operator.process(row)] + operator.close()
    found = sash.run(query, table)
    key = lambda row: (row["k"], row["window_end"], str(row.get("window")), row["window_start"])  # noqa: E731
    np.testing.assert_equal(sorted(found, key=key), sorted(expected, key=key))


@pytest.mark.parametrize(
    "of", [lambda i: Decimal(i) / 4, lambda i: timedelta(seconds=i), lambda i: datetime(2024, 1, i)]
)
def test_time_windows_of_other_types(tier: None, of: Any) -> None:
    values, begin = [of(place) for place in (5, 1, 9, 2, 2, 8)], datetime(2024, 1, 1)
    times = [begin + timedelta(seconds=place) for place in range(6)]
    query = sash.Query(windows=sash.sliding("3s", "1s"), time="t", aggregates={"m": sash.Median("x")})
    found = sash.run(query, [{"t": time, "x": value} for time, value in zip(times, values, strict=True)])
    assert [row["m"] for row in found[2:6]] == [naive(sash.Median("x"), values[i : i + 3]) for i in range(4)]


@pytest.mark.parametrize("q", [0.0, 0.5, 1.0])
def test_beside_infinities_results_are_those_of_the_definition(tier: None, q: float) -> None:
    values = [1.0, 2.0, np.inf, -np.inf, 3.0, 4.0]
    expected = [naive(sash.Quantile(q=q), window) for window in count_windows(values, 3, 1)]
    np.testing.assert_equal(listed(sash.rolling(np.array(values), sash.Quantile(q=q), 3)), expected)


def test_none_is_null_among_objects() -> None:
    values = np.array(["b", None, "a", "c"], object)
    lower = sash.Median(interpolation="lower")
    assert listed(sash.rolling(values, lower, 2)) == ["b", "a", "a"]
    assert listed(sash.rolling(np.array([None, None, 1], object), sash.Median(), 2)) == [None, 1.0]


def test_text_arrays_are_refused_or_ordered_as_their_values_are() -> None:
    texts = np.array(["b", "a", "c"])
    with pytest.raises(TypeError, match="linear interpolation needs numbers"):
        sash.rolling(texts, sash.Median(), 2)
    assert listed(sash.rolling(texts, sash.Median(interpolation="higher"), 2)) == ["b", "c"]


@pytest.mark.parametrize("later", [np.array(["x"]), np.array([1]), np.array([True])], ids=["text", "int", "bool"])
def test_a_batch_of_another_type_is_refused_and_changes_nothing(later: Array) -> None:
    window = sash.Rolling(sash.Median(), 3)
    assert listed(window.push(np.array([1.0, 2.0]))) == []
    with pytest.raises(TypeError, match="were of type float64 in earlier batches"):
        window.push(later)
    assert listed(window.push(np.array([9.0]))) == [2.0]


@pytest.mark.parametrize("out", [np.zeros(9), np.zeros(4, np.int64)], ids=["shape", "type"])
def test_an_unfit_out_is_refused(out: Array) -> None:
    with pytest.raises(TypeError, match=r"out must be of the type float64 and the shape \(4,\)"):
        sash.rolling(np.arange(5.0), sash.Median(), 2, out=out)


def test_out_is_filled() -> None:
    out = np.zeros(4)
    assert sash.rolling(np.arange(5.0), sash.Median(), 2, out=out) is out
    assert out.tolist() == [0.5, 1.5, 2.5, 3.5]


STREAMS: dict[str, Any] = {
    "counts": {"windows": sash.sliding(5)},
    "slides": {"windows": sash.sliding(6, 4, partial=True)},
    "time": {
        "windows": {"a": sash.sliding("10s", "2s"), "b": sash.sliding("30s", "10s")},
        "time": "t",
        "time_unit": "s",
    },
    "session": {"windows": sash.session("3s"), "time": "t", "time_unit": "s"},
    "trailing": {"windows": sash.trailing("5s"), "time": "t", "time_unit": "s"},
    "late": {"windows": sash.sliding("10s", "2s"), "time": "t", "time_unit": "s", "allowed_lateness": "20s"},
}


SMALL = st.integers(-5, 5)
STREAMED = {
    "floats": NUMBERS,
    "whole numbers": SMALL,
    "timestamps": st.one_of(SMALL, SMALL, st.integers(0, 10**6)).map(
        lambda s: datetime(2024, 1, 1) + timedelta(seconds=s)
    ),
    "zoned": SMALL.map(lambda s: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=s)),
    "durations": SMALL.map(lambda s: timedelta(milliseconds=s)),
    "decimals": SMALL.map(lambda s: Decimal(s) / 4),
    "decimals and NaN": st.one_of(SMALL.map(Decimal), st.just(np.nan)),
    "fractions and whole numbers": st.one_of(SMALL, SMALL.map(lambda s: Fraction(s, 3))),
}


@pytest.mark.parametrize("kind", STREAMED)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    stream=st.sampled_from(list(STREAMS)),
    interpolation=st.sampled_from(INTERPOLATIONS),
    data=st.data(),
)
def test_streams_of_batches(tier: None, kind: str, stream: str, interpolation: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.one_of(st.none(), STREAMED[kind]), min_size=1, max_size=50))
    size = len(values)
    seconds = data.draw(st.lists(st.integers(0, 60), min_size=size, max_size=size))
    if stream != "late":
        seconds.sort()
    keys = data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    aggregates = {
        "m": sash.Median("x", interpolation=interpolation),
        "q": sash.Quantile("x", 0.9, interpolation=interpolation),
        "n": sash.Count(),
    }
    query = sash.Query(key="k", aggregates=aggregates, **STREAMS[stream])
    rows = [{"t": t, "k": key, "x": value} for t, key, value in zip(seconds, keys, values, strict=True)]
    by_row = sash.Operator(query)
    expected = [result for row in rows for result in by_row.process(row)] + by_row.close()
    operator, found, at = sash.Operator(query), [], 0
    while at < size:
        end = at + data.draw(st.integers(1, 20))
        found += _listed_rows(operator.process_batch(_columns(rows[at:end])))
        if data.draw(st.booleans()):
            operator = sash.Operator.restore(query, operator.snapshot())
        if data.draw(st.booleans()) and end < size:
            found += operator.process(rows[end])
            end += 1
        at = end
    found += operator.close()
    if stream == "late":  # batches correct once a batch, rows at once
        expected, found = _last_revisions(expected), _last_revisions(found)
    np.testing.assert_equal(sorted(found, key=_place), sorted(expected, key=_place))


def _place(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["k"], row["window_end"], str(row.get("window")), row["window_start"])


def _last_revisions(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({_place(row): row | {"revision": 0} for row in rows}.values())


def _columns(rows: list[dict[str, Any]]) -> dict[str, Any]:
    values = [row["x"] for row in rows]
    if all(isinstance(value, int | float | None) for value in values):
        whole = all(isinstance(value, int | None) for value in values)
        numbers = np.array([0 if value is None else value for value in values], np.int64 if whole else np.float64)
        column = with_nulls(numbers, np.array([value is None for value in values]))
    else:
        column = objects(values)
    return {"t": np.array([row["t"] for row in rows]), "k": np.array([row["k"] for row in rows]), "x": column}


def _listed_rows(table: dict[str, Any]) -> list[dict[str, Any]]:
    columns = {name: listed(column) for name, column in table.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=st.lists(NUMBERS, min_size=1, max_size=60),
    shares=st.lists(st.floats(0, 1), min_size=2, max_size=4),
    interpolations=st.lists(st.sampled_from(INTERPOLATIONS), min_size=4, max_size=4),
    window=st.sampled_from([sash.sliding(5), sash.sliding(7, 3, partial=True), sash.sliding(9, 4, on="t")]),
)
def test_several_quantiles_in_one_pass(
    tier: None, values: list[float], shares: list[float], interpolations: list[str], window: Any
) -> None:
    size = len(values)
    data = {"k": np.arange(size) % 2, "t": np.arange(size), "x": np.array(values), "w": np.arange(size) % 3 > 0}
    aggregates = {
        f"{i}": sash.Quantile("x", q, interpolation=one, where="w" if i == 1 else None)
        for i, (q, one) in enumerate(zip(shares, interpolations, strict=False))
    }
    aggregates["again"] = aggregates["0"]
    together = sash.run(sash.Query(key="k", windows=window, aggregates=aggregates), data)
    for name, aggregate in aggregates.items():
        alone = sash.run(sash.Query(key="k", windows=window, aggregates={name: aggregate}), data)
        np.testing.assert_equal(listed(together[name]), listed(alone[name]))
