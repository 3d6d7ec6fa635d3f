"""The values and types of aggregates are those of the definition, whichever way rows come in."""

from __future__ import annotations

import math
import warnings
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, cast
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

import sash
from every_way import KEY, WAYS, differences, refusals
from sash.runtime.operator import KeyedOperator
from sash.testing import naive

NAN = math.nan
NOON = datetime(2024, 3, 1, 12)
BIG = 2**53 + 1
STEPS = [3, 1, None, 4, 4, None, None, None, -2, 7, 7]
"""From which the values of a column are made: with nulls, and one window of nothing else."""
MEASURE = [5, 9, 9, None, 1, 2, 3, 3, 1, 8, 0]


def top() -> sash.Aggregation:
    return sash.aggregation(
        "x",
        lift=lambda v: (v, v),
        combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
        lower=lambda p: p[1],
        name="top",
    )


CHOSEN: dict[str, sash.Aggregation] = {
    "max": sash.Max("x"),
    "min": sash.Min("x"),
    "first": sash.First("x"),
    "last": sash.Last("x"),
    "m4": sash.M4("x"),
    "argmax": sash.ArgMax("m", "x"),
    "argmin": sash.ArgMin("m", "x"),
    "argmax_of": sash.ArgMax("x", "m"),
}
MADE: dict[str, sash.Aggregation] = {
    "rows": sash.Count(),
    "values": sash.Count("x"),
    "collect": sash.Collect("x"),
    "distinct": sash.CollectDistinct("x"),
    "min_count": sash.MinCount("x"),
    "max_count": sash.MaxCount("x"),
    "lower": sash.Quantile("x", 0.9, interpolation="lower"),
    "top": top(),
}
ADDED: dict[str, sash.Aggregation] = {"sum": sash.Sum("x"), "mean": sash.Mean("x"), "median": sash.Median("x")}
FLOATS: dict[str, sash.Aggregation] = {"sd": sash.SampleStdDev("x"), "gm": sash.GeometricMean("x")}


def stepped(made: Any) -> list[Any]:
    return [None if step is None else made(step) for step in STEPS]


ANY = CHOSEN | MADE
MEDIAN = {"median": ADDED["median"]}
TYPES: dict[str, tuple[pa.DataType, list[Any], dict[str, sash.Aggregation]]] = {
    "bool": (pa.bool_(), stepped(lambda n: n > 3), ANY | ADDED | FLOATS),
    "int64": (pa.int64(), stepped(int), ANY | ADDED | FLOATS),
    "int32": (pa.int32(), stepped(int), ANY | ADDED | FLOATS),
    "float64": (pa.float64(), stepped(lambda n: NAN if n in (1, 7) else n + 0.5), ANY | ADDED | FLOATS),
    "float32": (pa.float32(), stepped(lambda n: n + 0.5), ANY | ADDED | FLOATS),
    "decimal": (pa.decimal128(10, 2), stepped(lambda n: Decimal(n).scaleb(-2)), ANY | ADDED),
    "text": (pa.string(), stepped(lambda n: chr(100 + n)), ANY),
    "date": (pa.date32(), stepped(lambda n: date(2024, 3, 10) + timedelta(days=n)), ANY),
    "timestamp_s": (pa.timestamp("s"), stepped(lambda n: NOON + timedelta(seconds=n)), ANY | MEDIAN),
    "timestamp_us": (pa.timestamp("us"), stepped(lambda n: NOON + timedelta(microseconds=2 * n)), ANY | MEDIAN),
    "timestamp_ns": (pa.timestamp("ns"), stepped(lambda n: NOON + timedelta(microseconds=2 * n)), ANY | MEDIAN),
    "timestamp_zone": (
        pa.timestamp("us", "UTC"),
        stepped(lambda n: NOON.replace(tzinfo=UTC) + timedelta(seconds=n)),
        ANY | MEDIAN,
    ),
    "timestamp_zone_chosen": (
        pa.timestamp("ms", "America/New_York"),
        stepped(lambda n: (NOON + timedelta(seconds=n)).replace(tzinfo=ZoneInfo("America/New_York"))),
        CHOSEN,
    ),
    "duration_s": (pa.duration("s"), stepped(lambda n: timedelta(seconds=2 * n)), ANY | ADDED),
    "duration_ns": (pa.duration("ns"), stepped(lambda n: timedelta(seconds=2 * n)), ANY | ADDED),
}


def table_of(kind: pa.DataType, values: list[Any]) -> tuple[list[dict[str, Any]], pa.Schema]:
    schema = pa.schema([(KEY, pa.string()), ("t", pa.int64()), ("m", pa.int64()), ("x", kind)])
    rows = [{KEY: "a", "t": t, "m": m, "x": x} for t, (m, x) in enumerate(zip(MEASURE, values, strict=False))]
    return rows, schema


def asked(aggregates: dict[str, sash.Aggregation], **options: Any) -> sash.Query:
    return sash.Query(key=KEY, windows=sash.sliding(3, 1, on="t"), aggregates=aggregates, **options)


def ways_for(name: str) -> list[str]:
    """NumPy's arrays have no zones."""
    return [way for way in WAYS if not name.startswith("timestamp_zone") or "arrays" not in way]


@pytest.mark.parametrize("lateness", [None, 2], ids=["final", "lateness"])
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
def test_every_aggregation_of_every_type_is_the_definitions(name: str, lateness: int | None) -> None:
    kind, values, aggregates = TYPES[name]
    rows, schema = table_of(kind, values)
    assert differences(asked(aggregates, allowed_lateness=lateness), rows, schema, ways_for(name)) == []


# a null argument of ArgMin and ArgMax


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.float64(), [1.5, None, 2.5]),
        (pa.float32(), [1.5, None, 2.5]),
        (pa.int64(), [1, None, 2]),
        (pa.bool_(), [True, None, True]),
        (pa.timestamp("us"), [NOON, None, NOON]),
        (pa.string(), ["a", None, "b"]),
    ],
    ids=str,
)
def test_a_null_argument_of_argmax_is_a_result(kind: pa.DataType, values: list[Any]) -> None:
    rows, schema = table_of(kind, values)
    query = asked({"who": sash.ArgMax("m", "x"), "n": sash.Count()})
    assert differences(query, rows, schema) == []
    found = sash.run(query, pa.Table.from_pylist(rows, schema))
    assert found.column("who").to_pylist() == [values[0], None, None, None, values[2]]
    assert found.column("who").type == kind


def test_a_null_argument_keeps_the_row_in_other_aggregates_of_a_keyed_stream() -> None:
    query = sash.Query(key=KEY, windows=sash.tumbling(2), aggregates={"who": sash.ArgMax("m", "x"), "n": sash.Sum("m")})
    op = KeyedOperator(query)
    first = pa.table({KEY: ["a", "a"], "m": [1, 5], "x": pa.array([1, 2])})
    with_null = pa.table({KEY: ["a", "a"], "m": [7, 2], "x": pa.array([None, 2], pa.int64())})
    assert op.process_batch(first).column("who").to_pylist() == [2]
    found = op.process_batch(with_null)
    assert found.select(["window_start", "who", "n"]).to_pylist() == [{"window_start": 2, "who": None, "n": 9}]
    assert op.process_batch(first).column("who").to_pylist() == [2]
    restored = KeyedOperator.restore(query, op.snapshot())
    assert restored.process_batch(first).column("who").to_pylist() == [2]


@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
def test_rolling_carries_a_null_argument() -> None:
    argument: Any = np.ma.MaskedArray([1.5, 0.0, 2.5], [False, True, False])  # type: ignore[no-untyped-call]
    found = sash.rolling((np.array([1, 3, 2]), argument), sash.ArgMax(), range=2)
    assert found.tolist() == [None, None]
    assert sash.rolling((np.array([1, 3, 2]), argument), sash.ArgMin(), range=2).tolist() == [1.5, 2.5]


def test_only_a_null_measure_skips_a_row() -> None:
    assert sash.ArgMax.carried == (1,)
    every = [getattr(sash, name) for name in sash.__all__ if isinstance(getattr(sash, name), type)]
    several = [each for each in every if issubclass(each, sash.Aggregation) and each.arity > 1]
    # Statistics of two columns measure both; a decayed mean has no weight without its time.
    measures = {sash.Correlation, sash.Covariance, sash.ExponentialMean, sash.Slope, sash.WeightedMean}
    assert {each for each in several if each.carried != (1,)} == measures
    product = sash.aggregation(["m", "x"], lift=lambda m, x: m * x, combine=lambda a, b: a + b)
    for values in ([2, None, 3], [2.5, None, 3.0]):
        rows, schema = table_of(pa.float64() if 2.5 in values else pa.int64(), values)
        assert differences(asked({"product": product}), rows, schema) == []


def test_own_aggregations_of_several_columns_take_times() -> None:
    latest = sash.aggregation(["x", "m"], lift=lambda x, m: (x, m), combine=max, lower=lambda p: p[0])
    for name in ("timestamp_us", "timestamp_zone", "duration_s"):
        kind, values, _ = TYPES[name]
        rows, schema = table_of(kind, values)
        assert differences(asked({"latest": latest}), rows, schema, ["process", "keyed_arrow_2", "run_rows"]) == []
        assert differences(asked({"latest": latest}), rows, schema, ["keyed_lists_100", "alternating"]) == []


# booleans


def test_collected_booleans_are_booleans_by_columns() -> None:
    frame = pd.DataFrame({"x": [True, False, True]})
    query = sash.Query(
        windows=sash.tumbling(3), aggregates={"all": sash.Collect("x"), "set": sash.CollectDistinct("x")}
    )
    with pytest.warns(sash.PerformanceWarning):
        row = sash.run(query, frame).iloc[0]
    assert list(map(repr, row["all"] + row["set"])) == ["True", "False", "True", "True", "False"]


@pytest.mark.parametrize("aggregation", [sash.Max("x"), sash.First("x"), sash.ArgMax("t", "x"), sash.M4("x")], ids=repr)
def test_booleans_with_nulls_and_lateness_stay_booleans(aggregation: sash.Aggregation) -> None:
    query = sash.Query(windows=sash.tumbling(2, on="t"), aggregates={"x": aggregation}, allowed_lateness=1)
    op = sash.Operator(query)
    found = op.process_batch({"t": [0, 1, 2, 3, 4, 6], "x": [True, True, None, None, False, None]})["x"]
    values = [value and value.min if isinstance(aggregation, sash.M4) else value for value in found]
    assert repr(values) == "[True, None, False]"


# timestamps and durations


SIX = [NOON + timedelta(seconds=n) for n in (5, 1, 1, 9, 3, 3)]


@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_come_back_as_times_of_the_tables_kind(unit: str) -> None:
    query = sash.Query(
        windows=sash.tumbling(3),
        aggregates={
            "middle": sash.Median("x"),
            "all": sash.Collect("x"),
            "total": sash.Sum("d"),
            "mean": sash.Mean("d"),
        },
    )
    arrays = {"x": np.array(SIX, f"M8[{unit}]"), "d": np.array(SIX, f"M8[{unit}]") - np.datetime64(NOON, unit)}
    middles, totals = [SIX[1], SIX[4]], [timedelta(seconds=7), timedelta(seconds=15)]
    frame = sash.run(query, pd.DataFrame(arrays))
    assert frame["middle"].dtype.kind == "M" and frame["middle"].tolist() == middles
    assert frame["total"].dtype.kind == "m" and frame["total"].tolist() == totals
    assert frame["all"].tolist() == [SIX[:3], SIX[3:]]
    table = sash.run(query, pa.table(arrays))
    assert pa.types.is_timestamp(table.column("middle").type) and table.column("middle").to_pylist() == middles
    assert pa.types.is_duration(table.column("total").type) and table.column("total").to_pylist() == totals
    assert pa.types.is_timestamp(table.column("all").type.value_type)
    if unit != "s":
        found = sash.run(query, pl.DataFrame(arrays))
        kind = pl.Datetime(cast(Any, unit))
        fine = pl.Datetime("us") if unit == "ms" else kind  # between two times of a median may lie half a unit
        assert found["middle"].dtype == fine and found["middle"].to_list() == middles
        assert found["all"].dtype == pl.List(kind) and found["all"].to_list() == [SIX[:3], SIX[3:]]


@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
@pytest.mark.parametrize("zone", [None, "Europe/Vienna"])
def test_nanoseconds_are_kept(zone: str | None) -> None:
    times = pd.Series(np.array([1, 3, 5]) + 1577836800000000000).astype("M8[ns]")
    times = times if zone is None else times.dt.tz_localize("UTC").dt.tz_convert(zone)
    aggregates = {"all": sash.Collect("x"), "distinct": sash.CollectDistinct("x"), "middle": sash.Median("x")}
    query = sash.Query(windows=sash.sliding(3), aggregates=aggregates)
    frame = pd.DataFrame({"x": times})
    for table in (pa.Table.from_pandas(frame), pl.from_pandas(frame)):
        found = sash.run(query, table)
        found = found if isinstance(found, pa.Table) else found.to_arrow()
        ticks = [found.column(name).combine_chunks() for name in ("all", "distinct")]
        assert [each.flatten().cast(pa.int64()).to_pylist() for each in ticks] == [times.astype("int64").tolist()] * 2
        assert found.column("middle").cast(pa.int64()).to_pylist() == [times.astype("int64").iloc[1]]
        assert found.column("middle").type == pa.timestamp("ns", zone)


@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
@pytest.mark.parametrize("aggregation", [sash.Bloom("x"), sash.Bloom("x", capacity=10)], ids=repr)
def test_bloom_takes_times_by_columns(aggregation: sash.Aggregation) -> None:
    query = sash.Query(windows=sash.tumbling(6), aggregates={"seen": aggregation})
    found = sash.run(query, {"x": np.array(SIX, "M8[us]")})["seen"][0]
    assert found.to_bytes() == naive(aggregation, SIX).to_bytes()
    assert SIX[0] in found and NOON not in found


@pytest.mark.parametrize("aggregation", [sash.Sum("x"), sash.Mean("x")], ids=repr)
@pytest.mark.parametrize("lateness", [None, 2], ids=["final", "lateness"])
def test_timestamps_are_not_added_in_any_way(aggregation: sash.Aggregation, lateness: int | None) -> None:
    rows, schema = table_of(pa.timestamp("us"), [NOON])
    said = refusals(asked({"sum": aggregation}, allowed_lateness=lateness), rows, schema)
    expected = (
        f"row 0: {aggregation!r} cannot aggregate {NOON!r} of type datetime: timestamps cannot be added: take the "
        "Median, or subtract a fixed time from them first"
    )
    assert {way: words for way, words in said.items() if words != expected} == {}


@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
def test_rolling_takes_times_that_it_computes_with() -> None:
    times = np.array(SIX, "M8[us]")
    assert sash.rolling(times, sash.Median(), range=3).tolist() == [SIX[1], SIX[1], SIX[4], SIX[4]]
    assert sash.rolling(times, sash.Collect(), range=5).tolist() == [SIX[:5], SIX[1:]]
    assert sash.rolling(times - times[1], sash.Sum(), range=6).tolist() == [timedelta(seconds=16)]
    names = np.array(list("fabcde"), object)
    assert sash.rolling((names, times), sash.ArgMax(), range=5).tolist() == [SIX[0], SIX[5]]


def test_the_unit_of_timestamps_may_change_between_batches() -> None:
    query = sash.Query(
        key=KEY,
        windows=sash.sliding(4),
        aggregates={"max": sash.Max("x"), "who": sash.ArgMin("x", "x"), "m4": sash.M4("x"), "n": sash.Count("x")},
    )
    op = KeyedOperator(query)
    op.process_batch({KEY: np.zeros(2, int), "x": np.array(SIX[:2], "M8[s]")})
    found = op.process_batch({KEY: np.zeros(2, int), "x": np.array(SIX[2:4], "M8[ns]")})
    assert found["max"].astype("M8[us]").tolist() == [SIX[3]]
    assert found["who"].astype("M8[us]").tolist() == [SIX[1]]
    with pytest.warns(sash.PerformanceWarning):
        found = op.process_batch({KEY: [0], "x": [SIX[4]]})
    assert found["max"] == [SIX[3]] and found["who"] == [SIX[1]] and found["m4"][0].last == SIX[4]
    assert found["n"] == [4]


# M4 of nulls only


@pytest.mark.parametrize("size", [1, 2, 3, 6])
@pytest.mark.parametrize("lateness", [None, 1], ids=["final", "lateness"])
@pytest.mark.parametrize("kind", [pa.float64(), pa.string(), pa.timestamp("us"), pa.bool_()], ids=str)
@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
def test_m4_of_nulls_only_is_none_however_the_stream_is_cut(size: int, lateness: int | None, kind: pa.DataType) -> None:
    value = {pa.float64(): 1.5, pa.string(): "a", pa.timestamp("us"): NOON, pa.bool_(): True}[kind]
    query = sash.Query(windows=sash.tumbling(1, on="t"), aggregates={"m4": sash.M4("x")}, allowed_lateness=lateness)
    table = pa.table({"t": range(6), "x": pa.array([None, None, value, None, None, None], kind)})
    expected = [None, None, value, None, None, None]
    for made in (lambda part: part, pa.Table.to_pydict, pa.Table.to_pylist, pl.from_arrow, in_pandas):
        op = sash.Operator(query)
        found = []
        for start in range(0, 6, size):
            results = op.process_batch(made(table.slice(start, size)))
            found += _listed(results)
        found += [row["m4"] for row in op.close()]
        firsts = [m4 if m4 is None else m4["min"] if isinstance(m4, dict) else m4.min for m4 in found]
        assert firsts == expected
        assert [m4 is None for m4 in found] == [value is None for value in expected]


def in_pandas(table: pa.Table) -> Any:
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def _listed(results: Any) -> list[Any]:
    if isinstance(results, list):
        return [row["m4"] for row in results]
    column = results["m4"]
    return list(column.to_pylist() if isinstance(column, pa.ChunkedArray) else column)


@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
def test_rolling_m4_of_nulls_only_is_null() -> None:
    found = sash.rolling(np.array([None, None, None, 2, 3], object), sash.M4(), range=2)
    assert [part.tolist() for part in found] == [
        [None, None, 2, 2],
        [None, None, 2, 3],
        [None, None, 2, 2],
        [None, None, 2, 3],
    ]
    nothing = sash.rolling(np.array([None, None], object), sash.M4(), range=2)
    assert [part.tolist() for part in nothing] == [[None]] * 4


def test_m4_by_columns_is_the_named_tuple_of_rows() -> None:
    query = sash.Query(windows=sash.tumbling(2), aggregates={"m4": sash.M4("x")})
    assert sash.run(query, {"x": [1, 2]})["m4"] == [sash.aggregations.M4Result(1, 2, 1, 2)]
    assert type(sash.run(query, {"x": [1, 2]})["m4"][0]) is sash.aggregations.M4Result


# NaN


def test_all_nans_are_one_distinct_value_whatever_their_identity() -> None:
    distinct = sash.CollectDistinct()
    values = [float("nan"), 1.0, float("nan"), 1, -0.0, 0.0, float("nan")]
    assert repr(naive(distinct, values)) == "[nan, 1.0, -0.0]"
    older, newer = naive(sash.Collect(), values[:3]), naive(sash.Collect(), values[3:])
    parts = [tuple(older[:2]), tuple(newer)]
    assert repr(distinct.lower(distinct.combine(*parts))) == "[nan, 1.0, -0.0]"


@pytest.mark.parametrize("name", ["distinct", "min_count", "max_count", "collect"])
def test_nan_is_one_value_across_restores_and_cuts(name: str) -> None:
    values = [NAN, 1.0, NAN, -0.0, 0.0, NAN, NAN, 2.0]
    rows, schema = table_of(pa.float64(), values)
    ways = [way for way in WAYS if "pandas" not in way]
    assert differences(asked({name: MADE[name]}), rows, schema, ways) == []


# integers that floats cannot hold


def batches(*parts: list[Any]) -> tuple[list[Any], list[Any]]:
    """The results of Max, Min, Last, Sum and Collect row by row, and by columns of each part."""
    names = {"max": sash.Max("x"), "min": sash.Min("x"), "last": sash.Last("x"), "all": sash.Collect("x")}
    size = sum(map(len, parts))
    query = sash.Query(windows=sash.tumbling(size), aggregates=names)
    rows, columns = sash.Operator(query), sash.Operator(query)
    by_rows = [result for part in parts for x in part for result in rows.process({"x": x})]
    found: Any = {}
    for part in parts:
        found = columns.process_batch({"x": np.array(part)})
    return [by_rows[0][name] for name in names], [found[name].tolist()[0] for name in names]


@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
@pytest.mark.parametrize(
    "parts",
    [
        ([BIG, BIG + 2], [0.5]),
        ([0.5], [BIG, BIG + 2]),
        ([0.5], [1], [BIG]),
        ([1], [0.5], [BIG]),
        ([-BIG], [0.5], [BIG + 2]),
        ([2**62 + 1], [0.5], [2**63 + 5]),
    ],
    ids=str,
)
def test_integers_beyond_2_to_53_beside_floats_are_exact(parts: tuple[list[Any], ...]) -> None:
    by_rows, by_columns = batches(*parts)
    assert by_columns == by_rows
    assert [int(value) for value in by_columns[3]] == [int(value) for value in by_rows[3]]


def test_small_integers_beside_floats_stay_compiled() -> None:
    query = sash.Query(windows=sash.tumbling(3), aggregates={"max": sash.Max("x")})
    op = sash.Operator(query)
    op.process_batch({"x": np.array([1, 2])})
    assert op.process_batch({"x": np.array([0.5])})["max"].tolist() == [2.0]
    assert "compiled   max: yes" in op.explain()


@pytest.mark.parametrize("algorithm", ["daba", "flatfat", "recalc", "auto"])
@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
def test_integers_beyond_2_to_63_are_exact_with_a_named_algorithm(algorithm: str) -> None:
    values = [2**63 + 1, -1, 5]
    query = sash.Query(windows=sash.sliding(1), aggregates={"last": sash.Last("x")}, algorithm=algorithm)
    for data in ({"x": values}, [{"x": value} for value in values]):
        found = sash.run(query, data)
        last = found["last"] if isinstance(found, dict) else [row["last"] for row in found]
        assert [(value, type(value)) for value in last] == [(value, int) for value in values]
    op = sash.Operator(query)
    assert op.process_batch({"x": values})["last"] == values


@pytest.mark.parametrize("algorithm", ["daba", "auto"])
@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
def test_results_that_are_large_integers_and_floats_are_exact(algorithm: str) -> None:
    values = [BIG, 0.5, 2**63 - 1]
    query = sash.Query(windows=sash.sliding(1), aggregates={"last": sash.Last("x")}, algorithm=algorithm)
    assert sash.run(query, {"x": values})["last"] == values
    assert sash.rolling(np.array(values, object), sash.Last(), range=1).tolist() == values


def test_a_value_of_a_row_is_not_cut_to_the_type_of_a_batch() -> None:
    query = sash.Query(windows=sash.sliding(2), aggregates={"max": sash.Max("x"), "first": sash.First("y")})
    op = sash.Operator(query)
    op.process({"x": 2**40, "y": 0.1})
    found = op.process_batch({"x": np.array([1], np.int32), "y": np.array([2.5], np.float32)})
    assert found["max"].tolist() == [2**40] and found["first"].tolist() == [0.1]
    found = op.process_batch({"x": np.array([1], np.int32), "y": np.array([2.5], np.float32)})
    assert found["max"].dtype == np.int32 and found["first"].dtype == np.float32


@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
@pytest.mark.parametrize("value", [-1, 2**64, 0.5, "a"])
def test_a_value_of_a_row_does_not_wrap_around_in_unsigned_integers(value: Any) -> None:
    op = sash.Operator(sash.Query(windows=sash.sliding(2), aggregates={"first": sash.First("x")}))
    op.process({"x": value})
    assert op.process_batch({"x": np.array([2**63 + 1], np.uint64)})["first"].tolist() == [value]
    assert op.process_batch({"x": np.array([1], np.uint64)})["first"].tolist() == [2**63 + 1]


@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
def test_booleans_before_numbers_stay_booleans() -> None:
    by_rows, by_columns = batches([True, False], [3])
    assert list(map(repr, by_columns)) == list(map(repr, by_rows))


def test_keys_change_between_columns_and_rows_with_times_in_their_state() -> None:
    aggregates = {"max": sash.Max("x"), "who": sash.ArgMin("x", "x"), "n": sash.Count("x")}
    final = sash.Query(key=KEY, windows=sash.tumbling(4, on="t"), aggregates=aggregates)
    by_rows = final.using(algorithm="daba")
    parts = [
        pa.table(
            {KEY: ["a", "a"], "t": [0 + 2 * i, 1 + 2 * i], "x": pa.array(SIX[2 * i : 2 * i + 2], pa.timestamp("ms"))}
        )
        for i in range(3)
    ]
    for first, second in ((final, by_rows), (by_rows, final)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sash.PerformanceWarning)
            op = KeyedOperator(first, own_watermark="key")
            op.process_batch(parts[0])
            op = KeyedOperator.restore(second, op.snapshot(), own_watermark="key")
            found = [row for part in parts[1:] for row in op.process_batch(part).select(list(aggregates)).to_pylist()]
        assert found == [{"max": SIX[3], "who": SIX[1], "n": 4}]


def test_nanoseconds_have_a_median_and_a_stable_hash() -> None:
    times = np.array(SIX, "M8[ns]") + np.timedelta64(1, "ns")
    assert sash.rolling(times, sash.Median(), range=5)[0] == times[4]
    seen = naive(sash.Bloom(), [timedelta(seconds=1), np.timedelta64(2, "ns"), NOON])
    for value in (np.timedelta64(1, "s"), pd.Timedelta(1, "s"), pd.Timedelta(2, "ns"), np.datetime64(NOON, "ns")):
        assert value in seen
    assert timedelta(seconds=2) not in seen


def test_equally_frequent_values_are_listed_in_one_order_with_nan_among_them() -> None:
    pytest.importorskip("datasketches")
    hitters = sash.HeavyHitters()
    for values in ([NAN, 2.5, 1], [2.5, NAN, 1], [1, 2.5, NAN]):
        assert repr(naive(hitters, values)) == "[(1, 1), (2.5, 1), (nan, 1)]"


@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
def test_unsigned_integers_of_64_bits_keep_their_type_beside_nulls() -> None:
    table = pa.table({"m": [1, 2, 3], "x": pa.array([2**64 - 1, None, 1], pa.uint64())})
    query = sash.Query(windows=sash.tumbling(1), aggregates={"x": sash.ArgMax("m", "x"), "last": sash.Last("x")})
    found = sash.run(query, table)
    assert found.column("x").to_pylist() == found.column("last").to_pylist() == [2**64 - 1, None, 1]
    assert found.schema.field("x").type == found.schema.field("last").type == pa.uint64()
    assert (
        str(
            sash.run(query, pd.DataFrame({name: pd.array(table[name].to_pylist(), "UInt64") for name in "mx"}))[
                "x"
            ].dtype
        )
        == "UInt64"
    )


@pytest.mark.parametrize("values", [[1.5, None, 2.5], [1, None, 2], [True, None, True]], ids=str)
def test_a_null_argument_stays_compiled(values: list[Any]) -> None:
    query = sash.Query(windows=sash.tumbling(3), aggregates={"who": sash.ArgMax("m", "x"), "n": sash.ArgMin("m", "x")})
    op = sash.Operator(query)
    for m in ([1, 3, 2], [3, 2, 1]):
        assert op.process_batch({"m": m, "x": values})["who"] == [values[m.index(3)]]
    for row in ({"m": 4, "x": None}, {"m": 3, "x": values[0]}):
        assert op.process(row) == []
    found = op.process_batch({"m": [9], "x": values[2:]})
    assert found["who"] == values[2:] and found["n"] == values[:1]
    assert op.explain().count(": yes") == 2
