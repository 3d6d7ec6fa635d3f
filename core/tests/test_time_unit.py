"""Plain numbers that are times: ``time_unit`` says of which unit, and durations fit them, on every way in."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sash
from sash.cli import main
from sash.query.file import QueryFileError, parse_query
from sash.runtime.operator import KeyedOperator
from sash.runtime.window_bounds import bound_kind, check_order
from sash.state.fingerprint import fingerprint
from sash.state.snapshot_format import StateError
from sash.state.values import loads
from sash.testing import evaluate

STEPS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
WINDOWS = {
    "short": sash.tumbling("4s"),
    "long": sash.sliding("10s", "4s", offset="1s"),
    "visit": sash.session("3s"),
    "rows": sash.sliding(2),
    "recent": sash.last(2, every="5s"),
}
SECONDS = [0, 1, 2, 4, 9, 10, 15, -3, 16, 30]


def query_of(unit: str | None, **changes: Any) -> sash.Query:
    good: dict[str, Any] = {
        "key": "k",
        "windows": WINDOWS,
        "aggregates": {"n": sash.Count(), "total": sash.Sum("x")},
        "time": "ts",
        "time_unit": unit,
    }
    return sash.Query(**good | changes)


def rows_of(results: Any) -> list[dict[str, Any]]:
    if isinstance(results, pd.DataFrame):
        return [{str(name): value for name, value in row.items()} for row in results.to_dict("records")]
    if isinstance(results, pl.DataFrame):
        return results.to_dicts()
    if isinstance(results, pa.Table):
        return results.to_pylist()  # type: ignore[no-any-return]
    if isinstance(results, dict):
        return [dict(zip(results, row, strict=True)) for row in zip(*results.values(), strict=True)]
    return list(results)


def numbers(unit: str, kind: type = int) -> list[Any]:
    scaled = [Fraction(second * 10**9, STEPS[unit]) + 1_577_836_800 * 10**9 // STEPS[unit] for second in SECONDS]
    return [kind(number) for number in scaled]


def expected(unit: str, kind: type = int) -> list[tuple[Any, ...]]:
    """What the same times give as timestamps, told as numbers again."""
    moments = [datetime(2020, 1, 1) + timedelta(seconds=second) for second in SECONDS]
    data = [{"k": second % 2, "ts": moment, "x": second} for second, moment in zip(SECONDS, moments, strict=True)]

    def told(end: Any) -> Any:
        if not isinstance(end, datetime):
            return end
        return kind(Fraction((end - datetime(1970, 1, 1)) // timedelta(microseconds=1) * 1000, STEPS[unit]))

    return sorted(
        (row["k"], row["window"], told(row["window_start"]), told(row["window_end"]), row["n"], row["total"])
        for row in sash.run(query_of(None), data)
    )


def found(results: Any) -> list[tuple[Any, ...]]:
    return sorted(
        (row["k"], row["window"], end(row["window_start"]), end(row["window_end"]), row["n"], row["total"])
        for row in rows_of(results)
    )


def end(value: Any) -> Any:
    return next(part for part in value.values() if part is not None) if isinstance(value, dict) else value


def table(way: str, times: list[Any]) -> Any:
    columns = {"k": [second % 2 for second in SECONDS], "ts": times, "x": SECONDS}
    match way:
        case "rows":
            return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        case "lists":
            return columns
        case "arrays":
            return {name: np.array(column) for name, column in columns.items()}
        case "pandas":
            return pd.DataFrame(columns)
        case "nullable":
            return pd.DataFrame(columns).astype({"ts": "Float64" if isinstance(times[0], float) else "Int64"})
        case "pandas arrow":
            return pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype)
        case "polars":
            return pl.DataFrame(columns)
    return pa.table(columns)


@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize("unit", STEPS)
@pytest.mark.parametrize("way", ["rows", "lists", "arrays", "pandas", "nullable", "pandas arrow", "polars", "arrow"])
def test_durations_over_numbers_are_those_over_timestamps(way: str, unit: str, kind: type) -> None:
    data, query = table(way, numbers(unit, kind)), query_of(unit)
    results = sash.run(query, data)
    assert found(results) == expected(unit, kind)
    assert {type(row["window_start"]) for row in rows_of(results) if row["window"] == "short"} <= {
        *((kind,) if way not in ("polars", "arrow", "arrays") else (kind, dict, np.int64, np.float64))
    }
    op = KeyedOperator(query)
    first = op.process_batch(data)
    assert found(rows_of(first) + rows_of(op.close())) == expected(unit, kind)


@pytest.mark.parametrize("lateness", [None, "2s", "2500ms"])
@pytest.mark.parametrize("unit", STEPS)
def test_rows_batches_and_restarts_are_the_definition(unit: str, lateness: str | None) -> None:
    query = query_of(unit, key=None, watermark_delay="1500ms", allowed_lateness=lateness)
    rows = [{"ts": time, "x": x} for x, time in enumerate(numbers(unit))]
    mark = numbers(unit)[-1] + 100 * 10**9 // STEPS[unit]
    events = [*(("row", row) for row in rows), ("advance", mark), ("close",)]
    wanted = evaluate(query, events)
    op = sash.Operator(query)
    by_row = []
    for row in rows:
        by_row += op.process(row)
        op = sash.Operator.restore(query, op.snapshot())
    by_row += op.advance(mark) + op.close()
    assert by_row == wanted
    assert {type(row["window_end"]) for row in by_row} == {int}
    op = sash.Operator(query)
    batched = [*op.process_batch(rows[:4]), *op.process_batch(rows[4:]), *op.advance(mark), *op.close()]
    order = [sorted(map(repr, results)) for results in (batched, wanted)]
    assert order[0] == order[1]


@given(
    times=st.lists(st.integers(-(2**32), 2**32), min_size=1, max_size=20),
    scale=st.sampled_from([1, 0.5, 0.001]),
    unit=st.sampled_from(["s", "ms", "us"]),
)
def test_rows_and_columns_agree_on_floats(times: list[int], scale: float, unit: str) -> None:
    query = query_of(unit, key=None, windows=sash.tumbling("100ms"), aggregates={"n": sash.Count()})
    column = [time * scale for time in times]
    op = sash.Operator(query, own_watermark=False)
    by_row = [result for time in map(float, column) for result in op.process({"ts": time})] + op.close()
    by_column = sash.run(query, {"ts": np.array(column, np.float64)})
    assert by_row == rows_of(by_column)


def test_a_timer_and_the_newest_time_are_numbers_too() -> None:
    op = sash.Operator(query_of("s", key=None, windows=sash.tumbling("1m")))
    op.process({"ts": 61, "x": 1})
    assert (op.next_timer(), op.newest) == (120, 61)
    keyed = KeyedOperator(query_of("s", windows=sash.tumbling("1m")))
    keyed.process_batch({"k": [1], "ts": [61], "x": [1]})
    assert keyed.next_timer() == 120
    assert keyed.advance(Fraction(239, 2))["n"] == []
    assert keyed.advance(120)["window_end"] == [120]


@pytest.mark.parametrize("mark", [1, Fraction(3, 2), 0.5])
def test_a_watermark_before_any_row_does_not_tell_what_rows_hold(mark: Any) -> None:
    query = query_of("s", windows=sash.tumbling("1500ms"))
    op, keyed = sash.Operator(query), KeyedOperator(query)
    assert op.advance(mark) == [] and keyed.advance(mark)["n"] == []
    op = sash.Operator.restore(query, op.snapshot())
    op.process({"k": 1, "ts": 3.25, "x": 1})
    assert [(row["window_start"], row["window_end"]) for row in op.close()] == [(3.0, 4.5)]
    keyed = KeyedOperator.restore(query, keyed.snapshot())
    keyed.process_batch({"k": [1], "ts": [3.25], "x": [1]})
    assert keyed.close()["window_end"] == [4.5]
    with pytest.raises(TypeError, match="column 'ts', row 0: expected a plain number of seconds"):
        sash.Operator(query).advance(datetime(2020, 1, 1))


def test_whole_numbers_and_floats_may_alternate_in_rows() -> None:
    op = sash.Operator(query_of("s", key=None, windows=sash.session("2s")))
    results = [result for ts in (1, 1.5, 10) for result in op.process({"ts": ts, "x": 1})]
    assert [(row["window_start"], row["window_end"]) for row in results] == [(1, 3.5)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"time_unit": "min"}, "time_unit must be 's', 'ms', 'us' or 'ns', or None; got 'min'"),
        ({"time_unit": 5}, "time_unit must be 's', 'ms', 'us' or 'ns', or None; got 5"),
        ({"time": None, "windows": sash.sliding(2)}, "time_unit='ms' says what the numbers of a column are"),
        ({"watermark_delay": 5}, "measured in durations and in plain numbers: .*with time_unit="),
    ],
)
def test_units_that_are_none(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        query_of("ms").using(**change)


def test_numbers_with_durations_name_the_remedy() -> None:
    query = query_of(None, key=None)
    with pytest.raises(ValueError, match=r"column 'ts' holds plain numbers, .* time='ts', time_unit='ms'"):
        sash.run(query, {"ts": [1], "x": [1]})
    with pytest.raises(TypeError, match=r"column 'ts' is int64, .* time='ts', time_unit='ms'"):
        check_order(query, query.lanes[0], "whole", "int64", 1)


def test_timestamps_with_a_unit_are_refused() -> None:
    query = query_of("ms", key=None)
    for times in ([datetime(2020, 1, 1)], np.array(["2020-01-01"], "datetime64[s]"), [datetime(2020, 1, 1).date()]):
        for refused in (sash.run, lambda query, data: sash.Operator(query).process_batch(data)):
            with pytest.raises(TypeError, match=r"column 'ts'.* a unit of its own: leave out time_unit='ms'"):
                refused(query, {"ts": times, "x": [1]})
    with pytest.raises(TypeError, match="column 'ts' is timestamp, which has a unit of its own: leave out time_unit"):
        check_order(query, query.lanes[0], "timestamp", "timestamp", 1000)


def test_ends_that_whole_numbers_cannot_tell_are_refused_and_floats_tell_them() -> None:
    query = query_of("s", key=None, windows=sash.tumbling("1500ms"))
    words = "a window of 1500000000 ns has bounds that whole numbers of time_unit='s' .* whole seconds, or a column of"
    with pytest.raises(ValueError, match=f"column 'ts' holds whole numbers: {words}"):
        sash.run(query, {"ts": [1, 2], "x": [1, 1]})
    with pytest.raises(ValueError, match=f"column 'ts' holds whole numbers: {words}"):
        sash.Operator(query).process({"ts": 1, "x": 1})
    with pytest.raises(ValueError, match=f"column 'ts' is int64: {words}"):
        check_order(query, query.lanes[0], "whole", "int64", 1000)
    check_order(query, query.lanes[0], "number", "double", 1000)
    assert bound_kind(query, query.lanes[0], "number") == "number"
    assert sash.run(query, {"ts": [1.0, 2.0], "x": [1, 1]})["window_start"] == [0.0, 1.5]


@pytest.mark.parametrize(
    ("value", "unit"),
    [(2**62, "ms"), (-(2**62), "us"), (1e300, "s"), (-1e12, "s"), (2.0**63, "ns"), (-(2.0**63), "ns")],
)
def test_times_that_are_out_of_range(value: Any, unit: str) -> None:
    query = query_of(unit, key=None, windows=sash.tumbling("1h"))
    words = f"column 'ts', row 1: .* is out of range: .* is time_unit='{unit}' right"
    for data in ({"ts": [type(value)(0), value], "x": [1, 1]}, {"ts": np.array([0, value]), "x": np.array([1, 1])}):
        with pytest.raises(ValueError, match=words):
            sash.run(query, data)
    op = sash.Operator(query)
    op.process({"ts": type(value)(0), "x": 1})
    with pytest.raises(ValueError, match=words):
        op.process({"ts": value, "x": 1})


def test_values_that_are_no_numbers() -> None:
    op = sash.Operator(query_of("ms", key=None))
    for value in ("a", None, True, float("nan")):
        with pytest.raises((TypeError, ValueError), match="column 'ts', row 0"):
            op.process({"ts": value, "x": 1})


def test_windows_on_numbers_stay_as_they_are() -> None:
    windows = {"way": sash.tumbling(10, on="km"), "numbers": sash.tumbling(1000, on="ts")}
    query = query_of("ms", key=None, windows=windows)
    assert [lane.time_unit for lane in query.lanes] == [None, None]
    data = {"ts": [0, 1500], "km": [1, 12], "x": [1, 1]}
    assert sorted(sash.run(query, data)["window_end"]) == [10, 20, 1000, 2000]


def test_state_is_of_one_unit_and_without_one_as_it_was() -> None:
    plain, timed = query_of(None, key=None), query_of("ms", key=None)
    assert len(loads(fingerprint(plain))) == 4 and len(loads(fingerprint(timed))) == 5
    op = sash.Operator(timed)
    op.process({"ts": 1000, "x": 1})
    for other, words in ((plain, "time_unit is None, in the saved state it is 'ms'"), (query_of("s", key=None), "'s'")):
        with pytest.raises(StateError, match=words):
            sash.Operator.restore(other, op.snapshot())
    keyed = KeyedOperator(query_of("ms"))
    keyed.process_batch({"k": [1], "ts": [1000], "x": [1]})
    with pytest.raises(StateError, match="time_unit is 'us', in the saved state it is 'ms'"):
        KeyedOperator.restore(query_of("us"), keyed.snapshot())
    again = KeyedOperator.restore(query_of("ms"), keyed.snapshot())
    assert found(again.close()) == found(keyed.close())


def test_a_query_file_has_it_too() -> None:
    query = query_of("us")
    assert parse_query(sash.dump_query(query)) == query
    text = sash.dump_query(query)
    with pytest.raises(QueryFileError, match="line 3: time_unit must be 's', 'ms', 'us' or 'ns', or None; got 'week'"):
        parse_query(text.replace('"us"', '"week"'))
    with pytest.raises(QueryFileError, match=r"line 3: time_unit must be .*; got 5"):
        parse_query(text.replace('"us"', "5"))


@pytest.mark.parametrize("streaming", [False, True])
def test_the_command_line_gives_the_rows_of_run_over_the_same_file(tmp_path: Path, streaming: bool) -> None:
    data, path, out = tmp_path / "data.csv", tmp_path / "query.toml", tmp_path / "out.jsonl"
    pd.DataFrame(table("lists", numbers("ms"))).to_csv(data, index=False)
    query = query_of("ms", watermark_delay="1m", windows={name: WINDOWS[name] for name in ("short", "long", "visit")})
    path.write_text(sash.dump_query(query))
    arguments = ["run", "--query", str(path), "--input", str(data), "--output", str(out), "--quiet"]
    assert main([*arguments, *(["--streaming"] if streaming else [])]) == 0
    written = [json.loads(line) for line in out.read_text().splitlines()]
    assert found(written) == found(sash.run(query, pd.read_csv(data)))
