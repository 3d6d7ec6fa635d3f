"""The table of the conformance matrix: every aggregation, every type of column, and what each pair results in.

A *cell* is an aggregation over a column type, in one way into Sash, with or without ``allowed_lateness``. The table
says which pairs are supported and what type their results have; the values are those of the definition
(:mod:`sash.testing`). What is not supported must be refused, in every way, with the same sentence.

The ways are elsewhere: those in this process in :mod:`matrix_ways`, Spark and Flink beside the conformance suite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]

import sash
from sash.testing import Evaluator

Row = dict[str, Any]
ZONE = "Europe/Berlin"


# column types


@dataclass(frozen=True)
class ColumnType:
    """A type of column: its name in Arrow, its family, and the Python value that stands for a small number."""

    name: str
    arrow: Any
    family: str
    value: Callable[[int], Any]

    def __str__(self) -> str:
        return self.name


def moments_of(unit: str, zone: str | None) -> Callable[[int], Any]:
    if unit == "ns":
        return lambda number: pd.Timestamp(1_709_290_800_000_000_000 + number, tz=zone)
    step = {"s": timedelta(seconds=1), "ms": timedelta(milliseconds=1), "us": timedelta(microseconds=1)}[unit]
    start = datetime(2024, 3, 1, 12, tzinfo=None if zone is None else ZoneInfo(zone))
    return lambda number: start + number * step


def durations_of(unit: str) -> Callable[[int], Any]:
    if unit == "ns":
        return pd.Timedelta
    step = {"s": timedelta(seconds=1), "ms": timedelta(milliseconds=1), "us": timedelta(microseconds=1)}[unit]
    return lambda number: number * step


UNITS = ("s", "ms", "us", "ns")
TYPES = {
    column.name: column
    for column in [
        ColumnType("bool", pa.bool_(), "bool", lambda number: number % 8 == 0),
        *(ColumnType(f"int{bits}", getattr(pa, f"int{bits}")(), "int", int) for bits in (8, 16, 32, 64)),
        *(ColumnType(f"uint{bits}", getattr(pa, f"uint{bits}")(), "uint", int) for bits in (8, 16, 32, 64)),
        ColumnType("float32", pa.float32(), "float", lambda number: number / 8),
        ColumnType("float64", pa.float64(), "float", lambda number: number / 8),
        ColumnType("decimal", pa.decimal128(10, 2), "decimal", lambda number: Decimal(number).scaleb(-2)),
        ColumnType("text", pa.string(), "text", lambda number: chr(0xE0 + number)),
        ColumnType("binary", pa.binary(), "binary", lambda number: bytes([number, 0, 255])),
        ColumnType("date", pa.date32(), "date", lambda number: date(1969, 12, 30) + timedelta(days=number)),
        ColumnType("time", pa.time64("us"), "time", lambda number: time(number // 4, microsecond=number)),
        *(ColumnType(f"timestamp[{unit}]", pa.timestamp(unit), "timestamp", moments_of(unit, None)) for unit in UNITS),
        *(
            ColumnType(f"timestamp[{unit}, zone]", pa.timestamp(unit, ZONE), "timestamp", moments_of(unit, ZONE))
            for unit in UNITS
        ),
        *(ColumnType(f"duration[{unit}]", pa.duration(unit), "duration", durations_of(unit)) for unit in UNITS),
    ]
}
LIKE_ANOTHER = {
    "int16", "int32", "uint16", "uint32", "timestamp[ms]", "timestamp[s, zone]", "timestamp[ms, zone]", "duration[s]",
    "duration[ms]",
}  # fmt: skip
"""Types between two others of their family: make test-all only tries them with all windows and streams."""
FAMILIES = frozenset(column.family for column in TYPES.values())
NUMBERS = frozenset({"bool", "int", "uint", "float", "decimal"})
HASHED = FAMILIES - {"decimal", "time"}


# aggregations


@dataclass(frozen=True)
class Entry:
    """An aggregation of a column, the families of types that it takes, and the type of its results."""

    aggregation: sash.Aggregation
    families: frozenset[str]
    result: Callable[[ColumnType], Any]
    """The type of results in Arrow."""
    close: float = 0.0
    """By how much results may differ, relatively: floating point depends on the order of merges."""


def _always(kind: Any) -> Callable[[ColumnType], Any]:
    return lambda column: kind


def _like(column: ColumnType) -> Any:
    return column.arrow


def _total(column: ColumnType) -> Any:
    match column.family:
        case "decimal":
            return pa.decimal128(column.arrow.precision + 10, column.arrow.scale)
        case "duration":
            return column.arrow
        case family:
            return {"float": pa.float64(), "uint": pa.uint64()}.get(family, pa.int64())


def _between(column: ColumnType) -> Any:
    match column.family:
        case "decimal":
            return pa.decimal128(column.arrow.precision + 4, column.arrow.scale + 4)
        case "timestamp":
            return pa.timestamp(_finer(column), column.arrow.tz)
        case "duration":
            return pa.duration(_finer(column))
        case _:
            return pa.float64()


def _finer(column: ColumnType) -> str:
    """Between two times may lie a part of their unit."""
    return "ns" if column.arrow.unit == "ns" else "us"


def _hits(column: ColumnType) -> Any:
    value = pa.int64() if column.family == "bool" else column.arrow
    return pa.list_(pa.struct([("value", value), ("count", pa.int64())]))


def _own(column: ColumnType) -> Any:
    """What a value of Python becomes, if nothing says that it is one of the column's."""
    if column.family == "decimal":
        return _between(column)
    if column.family in ("timestamp", "duration"):
        return _between(column)
    if column.family in ("int", "uint"):
        return pa.uint64() if column.name == "uint64" else pa.int64()
    return {"float": pa.float64()}.get(column.family, column.arrow)


COUNT, FLOAT = _always(pa.int64()), _always(pa.float64())
OWN: dict[str, Any] = {
    "lift": lambda value: (value, value),
    "combine": lambda a, b: (a[0], b[1]),
    "lower": lambda partial: partial[1],
    "name": "newest",
}


@cache
def aggregates_of(x: str) -> dict[str, Entry]:
    """All aggregations, of a column of this name."""
    return {
        "Count()": Entry(sash.Count(), FAMILIES, COUNT),
        "Count": Entry(sash.Count(x), FAMILIES, COUNT),
        "Sum": Entry(sash.Sum(x), NUMBERS | {"duration"}, _total),
        "Min": Entry(sash.Min(x), FAMILIES, _like),
        "Max": Entry(sash.Max(x), FAMILIES, _like),
        "Mean": Entry(sash.Mean(x), NUMBERS | {"duration"}, _between, close=1e-14),
        "GeometricMean": Entry(sash.GeometricMean(x), NUMBERS, FLOAT, close=1e-12),
        "MinCount": Entry(sash.MinCount(x), FAMILIES, COUNT),
        "MaxCount": Entry(sash.MaxCount(x), FAMILIES, COUNT),
        "SampleStdDev": Entry(sash.SampleStdDev(x), NUMBERS, FLOAT, close=1e-12),
        "PopulationStdDev": Entry(sash.PopulationStdDev(x), NUMBERS, FLOAT, close=1e-12),
        "SampleVariance": Entry(sash.SampleVariance(x), NUMBERS, FLOAT, close=1e-12),
        "PopulationVariance": Entry(sash.PopulationVariance(x), NUMBERS, FLOAT, close=1e-12),
        "Skewness": Entry(sash.Skewness(x), NUMBERS, FLOAT, close=1e-9),
        "Kurtosis": Entry(sash.Kurtosis(x), NUMBERS, FLOAT, close=1e-9),
        "Covariance": Entry(sash.Covariance(x, "n"), NUMBERS, FLOAT, close=1e-9),
        "Correlation": Entry(sash.Correlation("n", x), NUMBERS, FLOAT, close=1e-9),
        "Slope": Entry(sash.Slope(x, "n"), NUMBERS, FLOAT, close=1e-9),
        "WeightedMean": Entry(sash.WeightedMean(x, "n"), NUMBERS, FLOAT, close=1e-12),
        "ExponentialMean": Entry(sash.ExponentialMean(x, "t", half_life=3), NUMBERS, FLOAT, close=1e-12),
        "Product": Entry(sash.Product(x), NUMBERS, FLOAT, close=1e-12),
        "Any": Entry(sash.Any(x), frozenset({"bool"}), _like),
        "All": Entry(sash.All(x), frozenset({"bool"}), _like),
        "ExactDistinctCount": Entry(sash.ExactDistinctCount(x), FAMILIES, COUNT),
        "Mode": Entry(sash.Mode(x), FAMILIES, _like),
        "ArgMin of it": Entry(sash.ArgMin(x, "n"), FAMILIES, COUNT),
        "ArgMax of it": Entry(sash.ArgMax(x, "n"), FAMILIES, COUNT),
        "ArgMin with it": Entry(sash.ArgMin("n", x), FAMILIES, _like),
        "ArgMax with it": Entry(sash.ArgMax("n", x), FAMILIES, _like),
        "First": Entry(sash.First(x), FAMILIES, _like),
        "Last": Entry(sash.Last(x), FAMILIES, _like),
        "Collect": Entry(sash.Collect(x), FAMILIES, lambda column: pa.list_(column.arrow)),
        "CollectDistinct": Entry(sash.CollectDistinct(x), FAMILIES, lambda column: pa.list_(column.arrow)),
        "Concat": Entry(sash.Concat(x), frozenset({"text"}), _like),
        "M4": Entry(sash.M4(x), FAMILIES, lambda column: pa.struct([(name, column.arrow) for name in sash.M4.fields])),
        "Bloom": Entry(sash.Bloom(x, capacity=20), HASHED, _always(pa.binary())),
        "Median": Entry(sash.Median(x), NUMBERS | {"timestamp", "duration"}, _between),
        "Quantile": Entry(sash.Quantile(x, 0.75), NUMBERS | {"timestamp", "duration"}, _between),
        "Quantile lower": Entry(sash.Quantile(x, 0.75, interpolation="lower"), FAMILIES, _own),
        "MomentSketch": Entry(sash.MomentSketch(x, k=3), NUMBERS, FLOAT, close=1e-3),
        "DistinctCount": Entry(sash.DistinctCount(x), HASHED, FLOAT, close=1e-6),
        "QuantileSketch": Entry(sash.QuantileSketch(x), NUMBERS - {"decimal"}, FLOAT),
        "HeavyHitters": Entry(sash.HeavyHitters(x), frozenset({"bool", "int", "uint", "float", "text"}), _hits),
        "own": Entry(sash.aggregation(x, **OWN), FAMILIES, _own),
    }


AGGREGATES = aggregates_of("x")


def supported(column: ColumnType, x: str = "x") -> dict[str, Entry]:
    """The aggregations that take columns of this type; ``x`` is the column's name."""
    return {name: entry for name, entry in aggregates_of(x).items() if column.family in entry.families}


def refused(column: ColumnType, x: str = "x") -> dict[str, Entry]:
    """Those that do not."""
    return {name: entry for name, entry in aggregates_of(x).items() if column.family not in entry.families}


# streams

TIMES = [3, 1, 0, 5, 4, 7, 9, 6, 12, 8, 15, 13, 5, 22, 20, 14, 30, 28, 31, 19, 50, 47, 60, 61, 38, 64]
"""As they arrive. By a watermark 3 behind, five tuples are late; by no more than 12 those that come back by 4 … 12."""
DELAY, LATENESS = 3, 12
KEYS = ("a", "b")
SHAPES: dict[str, Any] = {
    "count": sash.sliding(5, 3),
    "time": sash.sliding(7, 3, on="t"),
    "session": sash.session(3, on="t"),
    "several": {
        "count": sash.sliding(5, 3),
        "time": sash.sliding(7, 3, on="t"),
        "session": sash.session(3, on="t"),
    },
}
"""The windows, which are drawn over a time of plain numbers; 5 is no multiple of 3, nor is 7."""
STREAMS = ("mixed", "whole", "nulls", "empty")
"""With nulls in every column that an aggregate reads and NaN; with neither; of nulls only; of no tuple."""
RUNS = {
    "stream": [
        *((shape, "mixed") for shape in SHAPES),
        ("several", "whole"),
        ("count", "nulls"),
        ("time", "empty"),
    ],
    "table": [("count", "mixed"), ("several", "mixed"), ("several", "whole"), ("count", "nulls"), ("time", "empty")],
    "table, late": [("several", "mixed"), ("time", "empty")],
    "brief": [("several", "mixed")],
}
"""The windows and streams that a cell is tried with. In a table nothing is late, so there lateness changes little."""


@cache
def stream(column: ColumnType, kind: str) -> list[Row]:
    """The tuples of a stream, those of the keys in step."""
    rows: list[Row] = []
    for moment in TIMES if kind != "empty" else []:
        for key in KEYS:
            place = len(rows)
            values = {"x": _value(column, kind, place), "n": _number(kind, place)}
            rows.append({"k": key, "t": moment, **values, "seq": place})
    return rows


def _value(column: ColumnType, kind: str, place: int) -> Any:
    if kind == "nulls" or (kind == "mixed" and place % 5 == 2):
        return None
    if kind == "mixed" and column.family == "float" and place in (16, 18, 19):
        return math.nan
    if place == 41 and column.name in ("int64", "uint64"):
        return 2**53 + 1 if column.name == "int64" else 2**63 + 1  # more digits than a float has
    return column.value(place * 7 % 11 * 4 + 4)


def _number(kind: str, place: int) -> int | None:
    return None if kind == "nulls" or (kind == "mixed" and place % 4 == 1) else place * 5 % 13


def arrow_schema(values: ColumnType, times: ColumnType = TYPES["int64"]) -> Any:
    """The types of a stream's columns."""
    kinds = {"k": pa.string(), "t": times.arrow, "x": values.arrow, "n": pa.int64(), "seq": pa.int64()}
    return pa.schema(list(kinds.items()))


def query(aggregates: Mapping[str, Entry], shape: str, late: bool) -> sash.Query:
    """Aggregates by the names of the table over windows of a shape."""
    return sash.Query(
        key="k",
        windows=SHAPES[shape],
        aggregates={name: entry.aggregation for name, entry in aggregates.items()},
        time="t",
        watermark_delay=DELAY,
        allowed_lateness=LATENESS if late else None,
    )


# what the definition says


@cache
def expected(column: ColumnType, shape: str, kind: str, late: bool, mode: str, nan_is_null: bool = False) -> list[Row]:
    """The results of all supported aggregates.

    ``mode``: "open", tuples come one by one, and perhaps more of them; "closed", and then no more; "settled": all are
    there at once, and nothing is late.
    """
    asked = query(supported(column), shape, late)
    rows = stream(column, kind)
    if nan_is_null:
        rows = [row | {"x": None if row["x"] != row["x"] else row["x"]} for row in rows]
    return evaluate(asked, rows, mode)


def evaluate(asked: sash.Query, rows: list[Row], mode: str) -> list[Row]:
    """The results of a query, in a ``mode`` as above."""
    if mode == "settled":
        final = asked.using(allowed_lateness=None, watermark_delay=None)
        found = _by_key(final, sorted(rows, key=lambda row: row["t"]), close=True)
        return [row | ({"revision": 0} if asked.revises else {}) for row in found]
    return _by_key(asked, rows, close=mode == "closed")


def _by_key(asked: sash.Query, rows: list[Row], close: bool) -> list[Row]:
    results: list[Row] = []
    for key in KEYS:
        evaluator = Evaluator(asked)
        found = [result for row in rows if row["k"] == key for result in evaluator.process(row)]
        results += [{"k": key} | result for result in [*found, *(evaluator.close() if close else [])]]
    return results
