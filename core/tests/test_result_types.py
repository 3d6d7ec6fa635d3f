"""The types of results are those that the types of the input say, whatever rows there are, and if there are none."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

import sash
from sash.runtime.arrow_output import bound_types
from sash.runtime.operator import KeyedOperator

pytestmark = pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")

MOMENTS = [datetime(2024, 1, day) for day in (1, 2, 3)]
COLUMNS: dict[str, Any] = {
    "bool": pa.array([True, False, True]),
    "int8": pa.array([1, 2, 3], pa.int8()),
    "int32": pa.array([1, 2, 3], pa.int32()),
    "int64": pa.array([1, 2, 3]),
    "uint64": pa.array([1, 2, 3], pa.uint64()),
    "float32": pa.array([1.5, 2.5, 3.0], pa.float32()),
    "float64": pa.array([1.5, 2.5, 3.0]),
    "decimal": pa.array([Decimal("1.25"), Decimal("2.5"), Decimal(3)], pa.decimal128(10, 2)),
    "text": pa.array(["a", "b", "c"]),
    "large text": pa.array(["a", "b", "c"], pa.large_string()),
    "dictionary": pa.array(["a", "b", "c"]).dictionary_encode(),
    "binary": pa.array([b"a", b"b", b"c"]),
    "date": pa.array([moment.date() for moment in MOMENTS]),
    "time": pa.array([time(1), time(2), time(3)], pa.time64("us")),
    "duration": pa.array([timedelta(seconds=second) for second in (1, 2, 3)], pa.duration("us")),
    **{
        f"timestamp {unit} {zone}": pa.array(MOMENTS, pa.timestamp(unit)).cast(pa.timestamp(unit, zone))
        for unit in ("s", "ms", "us", "ns")
        for zone in (None, "UTC", "Europe/Berlin")
    },
}
AGGREGATES = {
    "count": sash.Count("x"),
    "sum": sash.Sum("x"),
    "min": sash.Min("x"),
    "max": sash.Max("x"),
    "mean": sash.Mean("x"),
    "geometric mean": sash.GeometricMean("x"),
    "min count": sash.MinCount("x"),
    "max count": sash.MaxCount("x"),
    "sample": sash.SampleStdDev("x"),
    "population": sash.PopulationStdDev("x"),
    "first": sash.First("x"),
    "last": sash.Last("x"),
    "collect": sash.Collect("x"),
    "collect distinct": sash.CollectDistinct("x"),
    "concat": sash.Concat("x"),
    "m4": sash.M4("x"),
    "bloom": sash.Bloom("x"),
    "moments": sash.MomentSketch("x"),
    "median": sash.Median("x"),
    "quantile": sash.Quantile("x", q=0.3),
    "sample variance": sash.SampleVariance("x"),
    "skewness": sash.Skewness("x"),
    "kurtosis": sash.Kurtosis("x"),
    "product": sash.Product("x"),
    "any": sash.Any("x"),
    "distinct": sash.ExactDistinctCount("x"),
    "mode": sash.Mode("x"),
    "covariance": sash.Covariance("x", "x"),
    "weighted": sash.WeightedMean("x", "x"),
    "arg": sash.ArgMin("x", "x"),
}


def query_of(aggregate: str, **more: Any) -> sash.Query:
    return sash.Query(windows=sash.tumbling(2), aggregates={"r": AGGREGATES[aggregate]}, **more)


def kind_of(results: Any, name: str = "r") -> Any:
    return results.schema.field(name).type if isinstance(results, pa.Table) else results[name].dtype


def made(kind: str, column: Any) -> Any:
    table = pa.table({"x": column})
    match kind:
        case "arrow":
            return table
        case "polars":
            return pl.from_arrow(table)
        case "pandas arrow":
            return table.to_pandas(types_mapper=pd.ArrowDtype)
        case "nullable":
            kinds = {"bool": "boolean", "int8": "Int8", "int32": "Int32", "int64": "Int64", "uint64": "UInt64"}
            kinds |= {"float": "Float32", "double": "Float64", "string": "string"}
            frame = table.to_pandas()
            return frame.astype({"x": kinds[str(column.type)]}) if str(column.type) in kinds else frame
    return table.to_pandas()


@pytest.mark.parametrize("kind", ["arrow", "polars", "pandas", "nullable", "pandas arrow"])
@pytest.mark.parametrize("column", COLUMNS)
def test_rows_do_not_change_the_type(column: str, kind: str) -> None:
    data = made(kind, COLUMNS[column])
    untyped = isinstance(data, pd.DataFrame) and data["x"].dtype == object
    aggregates = ("count", "first", "last", "min count") if untyped else AGGREGATES
    for aggregate in aggregates:
        query = query_of(aggregate)
        if (expected := tried(query, data)) is None:
            continue
        assert kind_of(sash.run(query, data[:0])) == expected, f"{aggregate} of no row"
        assert kind_of(sash.run(query, data[:1])) == expected, f"{aggregate}, no window is complete"
        assert kind_of(KeyedOperator(query).process_batch(data[:1])) == expected, aggregate
        assert kind_of(sash.Operator(query).process_batch(data[:1])) == expected, aggregate


@pytest.mark.parametrize("column", COLUMNS)
def test_nulls_do_not_change_the_type(column: str) -> None:
    nulls = pa.table({"x": pa.nulls(2, COLUMNS[column].type)})
    for aggregate in AGGREGATES.keys() - {"arg"}:
        query = query_of(aggregate)
        if (expected := tried(query, pa.table({"x": COLUMNS[column]}))) is not None:
            assert kind_of(sash.run(query, nulls)) == expected, aggregate


def tried(query: sash.Query, data: Any) -> Any:
    """The type of the results; None if the query cannot aggregate such a column, which it says."""
    try:
        return kind_of(sash.run(query, data))
    except (TypeError, ValueError):
        return None


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        ("sum", pa.decimal128(20, 2)),
        ("mean", pa.decimal128(14, 6)),
        ("median", pa.decimal128(14, 6)),
        ("quantile", pa.decimal128(14, 6)),
        ("max", pa.decimal128(10, 2)),
        ("first", pa.decimal128(10, 2)),
        ("collect", pa.list_(pa.decimal128(10, 2))),
    ],
)
def test_decimals_have_the_digits_of_the_type_not_of_the_data(aggregate: str, expected: Any) -> None:
    assert kind_of(sash.run(query_of(aggregate), pa.table({"x": COLUMNS["decimal"]}))) == expected
    wide = pa.table({"x": COLUMNS["decimal"].cast(pa.decimal128(36, 20))})
    if aggregate == "sum":
        assert kind_of(sash.run(query_of(aggregate), wide)) == pa.decimal128(38, 20)
    polars = sash.run(query_of(aggregate), made("polars", COLUMNS["decimal"]))
    assert pl.Series([], dtype=kind_of(polars)).to_arrow().type in (expected, pa.large_list(pa.decimal128(10, 2)))


def test_values_of_decimals_are_those_of_rows_with_the_digits_of_the_type() -> None:
    values = [Decimal("0.01"), Decimal("0.02"), Decimal("0.02")]
    table = pa.table({"x": pa.array(values, pa.decimal128(10, 2))})
    query = sash.Query(windows=sash.tumbling(3), aggregates={"m": sash.Mean("x"), "s": sash.Sum("x")})
    for results in (sash.run(query, table).to_pylist(), sash.run(query, pl.DataFrame(pl.from_arrow(table))).to_dicts()):
        assert [(row["m"], row["s"]) for row in results] == [(Decimal("0.016667"), Decimal("0.05"))]


def test_a_sum_that_its_column_cannot_hold_is_an_error() -> None:
    most = Decimal(10**38 - 1)
    words = r"'r' has a result that is not a decimal128\(38, 0\), the type of its column: .* cast what it reads"
    with pytest.raises(TypeError, match=words):
        sash.run(query_of("sum"), pa.table({"x": pa.array([most, most], pa.decimal128(38, 0))}))
    assert sash.run(query_of("sum"), {"x": [most, most]})["r"] == [2 * most], "lists hold any number"


def test_an_aggregate_of_your_own_may_give_what_two_samples_do_not_tell() -> None:
    half = sash.aggregation("x", lift=lambda v: v, combine=lambda a, b: a + b, lower=lambda p: p / 2 if p > 9 else p)
    query = sash.Query(windows=sash.tumbling(2), aggregates={"r": half})
    for data in (pa.table({"x": [4, 7]}), pl.DataFrame({"x": [4, 7]}), pd.DataFrame({"x": [4, 7]})):
        assert next(iter(sash.run(query, data)["r"])) in (5.5, pa.scalar(5.5))


@pytest.mark.parametrize("kind", ["arrow", "polars", "pandas", "nullable", "pandas arrow"])
@pytest.mark.parametrize("column", ["bool", "int32", "float32", "decimal", "text", "date", "timestamp ns UTC"])
def test_keys_keep_their_type(kind: str, column: str) -> None:
    query = sash.Query(key="x", windows=sash.tumbling(1), aggregates={"n": sash.Count()})
    data = made(kind, COLUMNS[column])
    assert kind_of(data, "x") == kind_of(sash.run(query, data), "x") == kind_of(sash.run(query, data[:0]), "x")


BOTH = {"rows": sash.sliding(2), "numbers": sash.tumbling(2, on="t")}


@pytest.mark.parametrize(
    ("times", "windows"),
    [
        (pa.array([1, 2, 3], pa.int32()), sash.tumbling(2, on="t")),
        (pa.array([1, 2, 3]), sash.tumbling(2.5, on="t")),
        (pa.array([1, 2, 3], pa.float32()), sash.session(2, on="t")),
        (pa.array([1, 2, 3]), sash.sliding(2)),
        (COLUMNS["date"], sash.tumbling("2d")),
        (COLUMNS["date"], sash.tumbling("36h")),
        (pa.array([1, 2, 3]), BOTH),
        (pa.array([1.0, 2.0, 3.0]), BOTH),
        *((COLUMNS[name], sash.tumbling("1d")) for name in COLUMNS if name.startswith("timestamp")),
        *((COLUMNS[name], {"a": sash.sliding(2), "b": sash.tumbling("1d")}) for name in COLUMNS if "timestamp" in name),
    ],
)
def test_ends_are_of_the_types_that_engines_have(times: Any, windows: Any) -> None:
    query = sash.Query(windows=windows, aggregates={"n": sash.Count()}, time="t")
    table = pa.table({"t": times})
    types = bound_types(query, {"t": times.type})
    expected = next(iter(types.values())) if len(set(types.values())) == 1 else pa.struct(list(types.items()))
    for name in ("window_start", "window_end"):
        assert kind_of(sash.run(query, table), name) == expected
        assert kind_of(sash.run(query, table[:0]), name) == expected
        frame: Any = pl.from_arrow(table)
        assert kind_of(sash.run(query, frame), name) == kind_of(sash.run(query, frame[:0]), name)


def test_windows_finer_than_times_have_ends_of_a_finer_unit_before_any_row() -> None:
    query = sash.Query(windows=sash.tumbling("1500us"), aggregates={"n": sash.Count()}, time="t")
    for unit in ("s", "ms"):
        table = pa.table({"t": pa.array(MOMENTS, pa.timestamp(unit, "UTC"))})
        for rows in (table, table[:0]):
            assert kind_of(sash.run(query, rows), "window_end") == pa.timestamp("us", "UTC")


def test_floats_of_pandas_stay_floats_of_numpy() -> None:
    frame = pd.DataFrame({"x": [1.0, np.nan, np.nan, np.nan]})
    for aggregate in ("sum", "mean", "median", "max"):
        results = sash.run(query_of(aggregate), frame)["r"]
        assert results.dtype == np.float64 and str(results.tolist()) == "[1.0, nan]", aggregate


def test_an_empty_frame_without_types_stays_one() -> None:
    query = sash.Query(windows=sash.tumbling("1d"), aggregates={"r": sash.Sum("x")}, time="t")
    empty: Any
    for empty in ([], {"t": [], "x": []}, {"t": np.array([]), "x": np.array([])}, pd.DataFrame({"t": [], "x": []})):
        assert len(sash.run(query, empty)) in (0, 3)
