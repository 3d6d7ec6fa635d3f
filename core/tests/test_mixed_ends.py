"""Windows that end at times beside windows that end at positions: every way in and out gives the same ends."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

import sash
from sash.runtime.operator import KeyedOperator

WINDOWS = {"times": sash.tumbling("2d"), "rows": sash.sliding(2)}
QUERY = sash.Query(windows=WINDOWS, aggregates={"peak": sash.Max("x")}, time="ts")
DAYS = [datetime(2020, 1, 1) + timedelta(days=day) for day in (0, 1, 2, 5)]
EXPECTED = {  # days 18262 and 18266 are multiples of the slide
    ("rows", 0, 2, 2),
    ("rows", 1, 3, 3),
    ("rows", 2, 4, 4),
    ("times", datetime(2020, 1, 1), datetime(2020, 1, 3), 2),
    ("times", datetime(2020, 1, 3), datetime(2020, 1, 5), 3),
    ("times", datetime(2020, 1, 5), datetime(2020, 1, 7), 4),
}
UNITS = ["s", "ms", "us", "ns"]
ZONES = [None, "UTC", "Europe/Berlin"]
WAYS = ["pandas", "pandas arrow", "polars", "arrow", "arrow batch", "arrays", "series", "lists", "rows", "timestamps"]


def table(way: str, unit: str, zone: str | None) -> Any:
    moments: Any = pd.Series(np.array(DAYS, f"datetime64[{unit}]")).dt.tz_localize("UTC")  # multiples are those of UTC
    moments = moments.dt.tz_localize(None) if zone is None else moments.dt.tz_convert(zone)
    numbers = [1, 2, 3, 4]
    match way:
        case "pandas":
            return pd.DataFrame({"ts": moments, "x": numbers})
        case "pandas arrow":
            kind = pd.ArrowDtype(pa.timestamp(unit, zone))
            return pd.DataFrame({"ts": moments.astype(kind), "x": pd.Series(numbers, dtype="Int64")})
        case "polars":
            kinds: Any = {"ts": pl.Datetime("ms" if unit == "s" else unit, zone), "x": pl.Int64}  # type: ignore[arg-type]
            return pl.DataFrame({"ts": [moment.to_pydatetime() for moment in moments], "x": numbers}, schema=kinds)
        case "arrow":
            return pa.table({"ts": pa.array(moments, pa.timestamp(unit, zone)), "x": numbers})
        case "arrow batch":
            return pa.record_batch({"ts": pa.array(moments, pa.timestamp(unit, zone)), "x": pa.array(numbers)})
        case "arrays":
            return {"ts": np.array(DAYS, f"datetime64[{unit}]"), "x": np.array(numbers)}
        case "series":
            return {"ts": moments, "x": np.array(numbers)}
        case "lists":
            return {"ts": [moment.to_pydatetime() for moment in moments], "x": numbers}
        case "rows":
            return [{"ts": moment.to_pydatetime(), "x": x} for moment, x in zip(moments, numbers, strict=True)]
        case _:
            return [{"ts": moment, "x": x} for moment, x in zip(moments, numbers, strict=True)]


def rows_of(results: Any) -> list[dict[str, Any]]:
    if isinstance(results, pd.DataFrame):
        return [dict(zip(results.columns, row, strict=True)) for row in results.itertuples(index=False)]
    if isinstance(results, pl.DataFrame):
        return results.to_dicts()
    if isinstance(results, pa.Table | pa.RecordBatch):
        return results.to_pylist()  # type: ignore[no-any-return]
    if isinstance(results, dict):
        return [dict(zip(results, row, strict=True)) for row in zip(*results.values(), strict=True)]
    return list(results)


def plain(end: Any, zone: str | None) -> Any:
    """A position as an int, a time as a datetime of UTC without a zone; the zone has to be there."""
    if isinstance(end, dict):
        (end,) = [part for part in end.values() if part is not None]
    if isinstance(end, np.datetime64):
        return end.astype("datetime64[us]").item()
    if isinstance(end, datetime):
        assert (end.tzinfo is None) == (zone is None), f"{end!r} is not in the zone {zone}"
        if zone is not None:
            assert end.utcoffset() == end.astimezone(ZoneInfo(zone)).utcoffset()
            end = end.astimezone(UTC).replace(tzinfo=None)
        return pd.Timestamp(end).to_pydatetime()
    assert type(end) is int or isinstance(end, np.int64), f"{end!r} is of {type(end).__name__}"
    return int(end)


def ends(results: Any, zone: str | None) -> set[tuple[Any, ...]]:
    return {
        (row["window"], plain(row["window_start"], zone), plain(row["window_end"], zone), row["peak"])
        for row in rows_of(results)
    }


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_and_out_gives_the_same_ends(way: str, unit: str, zone: str | None) -> None:
    data = table(way, unit, zone)
    known = None if way == "arrays" else zone  # NumPy has no zones
    assert ends(sash.run(QUERY, data), known) == EXPECTED
    op = sash.Operator(QUERY)
    batch = rows_of(op.process_batch(data))
    assert ends(batch + op.close(), known) == EXPECTED
    keyed = KeyedOperator(QUERY)
    batch = rows_of(keyed.process_batch(data))
    like = {name: column[:0] for name, column in data.items()} if isinstance(data, dict) else data[:0]
    assert ends(batch + rows_of(keyed.close(like)), known) == EXPECTED


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("unit", UNITS)
def test_pandas_ends_are_timestamps_and_whole_numbers(unit: str, zone: str | None) -> None:
    for way in ("pandas", "pandas arrow"):
        results = sash.run(QUERY, table(way, unit, zone))
        found = results.groupby("window")["window_start"].agg(lambda ends: {type(end) for end in ends}).to_dict()
        assert found == {"rows": {int}, "times": {pd.Timestamp}}


def test_dates_beside_positions() -> None:
    days = [moment.date() for moment in DAYS]
    expected = {
        (name, *(end.date() if isinstance(end, datetime) else end for end in (start, stop)), peak)
        for name, start, stop, peak in EXPECTED
    }
    for data in (
        {"ts": days, "x": [1, 2, 3, 4]},
        [{"ts": day, "x": x} for day, x in zip(days, [1, 2, 3, 4], strict=True)],
        {"ts": np.array(days, "datetime64[D]"), "x": np.array([1, 2, 3, 4])},
    ):
        for results in (rows_of(sash.run(QUERY, data)), (op := sash.Operator(QUERY)).process_batch(data)):
            found = {(r["window"], r["window_start"], r["window_end"], r["peak"]) for r in rows_of(results)}
            assert found <= expected
            assert {type(end) for _, end, _, _ in found} == {int, date}
        assert {type(row["window_start"]) for row in op.close()} <= {int, date, np.datetime64}


@pytest.mark.parametrize("slide", ["12h", "1d"])
def test_ends_over_dates_are_of_one_type_by_rows_and_by_columns(slide: str) -> None:
    query = sash.Query(windows=sash.sliding("1d", slide), aggregates={"n": sash.Count()}, time="ts")
    data = [{"ts": moment.date()} for moment in DAYS]
    op = sash.Operator(query)
    by_rows = [result for row in data for result in op.process(row)] + op.close()
    assert [(type(row["window_start"]), row["window_start"]) for row in by_rows] == [
        (type(row["window_start"]), row["window_start"]) for row in sash.run(query, data)
    ]


@pytest.mark.parametrize("times", [[0, 1, 2, 5], [0.0, 1.0, 2.5, 5.0]])
def test_plain_numbers_beside_positions(times: list[Any]) -> None:
    windows = {"times": sash.tumbling(2, on="t"), "rows": sash.sliding(2)}
    query = sash.Query(windows=windows, aggregates={"peak": sash.Max("x")}, time="t")
    op = sash.Operator(query)
    data = [{"t": t, "x": x} for x, t in enumerate(times)]
    rows = [result for row in data for result in op.process(row)] + op.close()
    expected = sorted((row["window"], row["window_start"], row["window_end"], row["peak"]) for row in rows)
    columns = {"t": times, "x": list(range(len(times)))}
    for given in (columns, data, {name: np.array(column) for name, column in columns.items()}, pd.DataFrame(columns)):
        found = rows_of(sash.run(query, given))
        assert sorted((r["window"], r["window_start"], r["window_end"], r["peak"]) for r in found) == expected
        assert {type(plain(r["window_start"], None)) for r in found if r["window"] == "rows"} == {int}


def test_times_beside_another_measure() -> None:
    """Each window is ordered by a column of its own: the ends of both are in one column."""
    windows = {"times": sash.tumbling("2d"), "way": sash.tumbling(10, on="km")}
    query = sash.Query(windows=windows, aggregates={"n": sash.Count()}, time="ts")
    for unit in UNITS:
        frame = pd.DataFrame({"ts": np.array(DAYS, f"datetime64[{unit}]"), "km": [0, 4, 11, 12]})
        results = sash.run(query, frame)
        found = results.groupby("window")["window_start"].agg(list).to_dict()
        assert found["times"] == [pd.Timestamp(2020, 1, day) for day in (1, 3, 5)]
        assert found["way"] == [0, 10]
