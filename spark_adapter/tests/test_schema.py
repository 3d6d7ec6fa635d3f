"""Types of all kinds in and out, and what is refused before a job starts."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

import sash
import sash_spark
from sash_spark import checked, output_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ZOO: dict[str, list[Any]] = {
    "tinyint": [1, -3, 2],
    "smallint": [1, -3, 2],
    "int": [1, -3, 2],
    "bigint": [2**60, -3, 2],
    "float": [1.5, float("inf"), -2.5],
    "double": [1.5, -0.25, 2.5],
    "boolean": [True, False, True],
    "string": ["b", "", "ü"],
    "binary": [b"b", b"", b"\x00\xff"],
    "date": [dt.date(2024, 3, 1), dt.date(1969, 12, 31), dt.date(2024, 2, 29)],
    "timestamp_ntz": [dt.datetime(2024, 3, 1, 12, 0, 0, 1), dt.datetime(1969, 12, 31), dt.datetime(2024, 2, 29)],
    "timestamp": [dt.datetime(2024, 3, 1, 12, 0, 0, 1), dt.datetime(1969, 12, 31), dt.datetime(2024, 2, 29)],
    "decimal(12,3)": [Decimal("1.500"), Decimal("-0.250"), Decimal("123456789.125")],
}


@pytest.fixture(scope="module")
def zoo(spark: SparkSession) -> Any:
    """Every type as a column, with a null, in one frame; ``key`` is of each type in turn."""
    names = {kind: f"c{i}" for i, kind in enumerate(ZOO)}
    schema = ", ".join(["seq int", *(f"{name} {kind}" for kind, name in names.items())])
    rows = [(i, *(None if i == 3 else values[i] for values in ZOO.values())) for i in range(4)]
    return spark.createDataFrame(rows, schema).cache(), names


def test_values_of_all_types(zoo: Any) -> None:
    frame, names = zoo
    aggregates: dict[str, sash.Aggregation] = {}
    for name in names.values():
        aggregates |= {
            f"max_{name}": sash.Max(name),
            f"all_{name}": sash.Collect(name),
            f"last_{name}": sash.Last(name),
        }
    query = sash.Query(windows=sash.sliding(4), aggregates=aggregates)
    result = sash_spark.aggregate(frame, query, order="seq")
    (row,) = result.collect()
    for kind, name in names.items():
        assert row[f"max_{name}"] == max(ZOO[kind])
        assert row[f"all_{name}"] == ZOO[kind]
        assert row[f"last_{name}"] == ZOO[kind][-1]
        assert result.schema[f"max_{name}"].dataType == frame.schema[name].dataType
        assert result.schema[f"all_{name}"].dataType == T.ArrayType(frame.schema[name].dataType)


def test_keys_of_all_types(zoo: Any) -> None:
    frame, names = zoo
    for kind in ("boolean", "float", "string", "binary", "date", "timestamp", "decimal(12,3)"):
        query = sash.Query(key=names[kind], windows=sash.tumbling(1), aggregates={"n": sash.Count()})
        result = sash_spark.aggregate(frame, query, order="seq")
        assert sorted(map(repr, (row[0] for row in result.collect()))) == sorted(map(repr, [*ZOO[kind], None]))
        assert result.schema[0].dataType == frame.schema[names[kind]].dataType


def test_decimals(spark: SparkSession) -> None:
    values = [Decimal("99999999.99"), Decimal("0.01"), Decimal("0.02")]
    frame = spark.createDataFrame([(i, value) for i, value in enumerate(values)], "i int, x decimal(10,2)")
    aggregates = {"total": sash.Sum("x"), "mean": sash.Mean("x"), "half": sash.Median("x")}
    result = sash_spark.aggregate(frame, sash.Query(windows=sash.sliding(3), aggregates=aggregates), order="i")
    assert [each.dataType.simpleString() for each in result.schema.fields[2:]] == [
        "decimal(20,2)",
        "decimal(14,6)",
        "decimal(14,6)",
    ]
    (row,) = result.collect()
    (native,) = frame.selectExpr("sum(x)", "avg(x)").collect()
    assert (row.total, row.mean) == tuple(native) and row.half == Decimal("0.02")


def test_the_two_zeros_are_one_key(spark: SparkSession) -> None:
    nan = float("nan")
    frame = spark.createDataFrame([(i, x) for i, x in enumerate([0.0, -0.0, nan, 1.0, nan])], "i int, x double")
    query = sash.Query(key="x", windows=sash.tumbling(2), aggregates={"n": sash.Count()})
    rows = sash_spark.aggregate(frame, query, order="i").collect()
    assert sorted(str(row.x) for row in rows) == ["0.0", "nan"]


def test_names_nested_and_quoted(spark: SparkSession) -> None:
    schema = "`a b` int, `x.y` double, meter struct<id: int, `p.q`: double>, ```odd``` int"
    frame = spark.createDataFrame([(1, 2.0, (7, 3.0), 5), (2, 4.0, (7, 5.0), 6)], schema)
    aggregates = {"flat": sash.Max("x.y"), "deep": sash.Max("meter.`p.q`"), "odd": sash.Max("`odd`")}
    query = sash.Query(key="meter.id", windows=sash.sliding(2), aggregates=aggregates)
    result = sash_spark.aggregate(frame, query, order="a b")
    assert result.columns == ["meter.id", "window_start", "window_end", "flat", "deep", "odd"]
    assert [tuple(row) for row in result.collect()] == [(7, 0, 2, 4.0, 5.0, 6)]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_instants_in_any_zone(spark: SparkSession, zone: str) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        frame = spark.sql("SELECT timestamp_seconds(id * 60) AS ts, id FROM range(-3, 3)")
        query = sash.Query(windows=sash.tumbling("2m"), aggregates={"n": sash.Count()}, time="ts")
        rows = sash_spark.aggregate(frame, query).selectExpr("unix_seconds(window_start)", "n").collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", before or "UTC")
    assert [tuple(row) for row in rows] == [(-240, 1), (-120, 2), (0, 2), (120, 1)]


def test_dates_as_times(spark: SparkSession) -> None:
    frame = spark.sql("SELECT date_add(DATE'2024-02-27', CAST(id AS int)) AS day, id FROM range(5)")
    days = sash.Query(windows=sash.sliding("2d", "1d"), aggregates={"n": sash.Count()}, time="day")
    rows = sash_spark.aggregate(frame, days).collect()
    assert rows[2].window_start == dt.date(2024, 2, 28) and rows[2].n == 2
    hours = sash.Query(windows=sash.tumbling("36h"), aggregates={"n": sash.Count()}, time="day")
    assert isinstance(sash_spark.aggregate(frame, hours).head().window_start, dt.datetime)  # type: ignore[union-attr]


def test_results_of_several_kinds(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(i, float(i), f"t{i}") for i in range(4)], "i int, x double, t string")
    aggregates = {
        "chart": sash.M4("x"),
        "seen": sash.Bloom("t"),
        "often": sash.HeavyHitters("t", share=0.1),
        "shares": sash.QuantileSketch("x", q=(0.0, 1.0)),
        "text": sash.Concat("t"),
        "ends": sash.aggregation("x", lift=lambda v: (v, v), combine=lambda a, b: (a[0], b[1])),
    }
    result = sash_spark.aggregate(frame, sash.Query(windows=sash.tumbling(4), aggregates=aggregates), order="i")
    (row,) = result.collect()
    assert (row.chart.min, row.chart.max, row.text) == (0.0, 3.0, "t0,t1,t2,t3")
    assert "t2" in sash.aggregations.BloomFilter.from_bytes(bytes(row.seen))
    assert row.often[0].value == "t0" and row.often[0]["count"] == 1
    assert (row.shares, row.ends) == ([0.0, 3.0], [0.0, 3.0])


# what is known before anything runs

FLAT = T.StructType(
    [
        T.StructField("plug", T.StringType(), False),
        T.StructField("ts", T.TimestampType()),
        T.StructField("km", T.DoubleType()),
        T.StructField("load", T.DoubleType(), False),
        T.StructField("x", T.DoubleType()),
        T.StructField("m", T.MapType(T.IntegerType(), T.IntegerType())),
    ]
)


def query(**changes: Any) -> sash.Query:
    given: dict[str, Any] = {
        "windows": sash.sliding("1h", "1s"),
        "aggregates": {"peak": sash.Max("load")},
        "time": "ts",
    }
    return sash.Query(**{"key": "plug", **given, **changes})


def test_the_columns_of_results() -> None:
    aggregates = {
        "n": sash.Count("x"),
        "peak": sash.Max("load"),
        "low": sash.Min("x"),
        "dev": sash.SampleStdDev("load"),
    }
    found = output_schema(query(aggregates=aggregates, allowed_lateness="1m"), FLAT)
    assert [(field.name, field.dataType.simpleString(), field.nullable) for field in found] == [
        ("plug", "string", False),
        ("window_start", "timestamp", False),
        ("window_end", "timestamp", False),
        ("revision", "bigint", False),
        ("n", "bigint", False),
        ("peak", "double", False),
        ("low", "double", True),
        ("dev", "double", True),
    ]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"key": "plugg"}, "column 'plugg' is not in the DataFrame, which has .*did you mean 'plug'"),
        ({"key": "Plug"}, "column 'Plug' is not in the DataFrame, .*did you mean 'plug'"),
        ({"time": "load"}, "column 'load' is double, but windows.* are durations"),
        ({"windows": sash.sliding(10, on="ts"), "time": None}, "column 'ts' is timestamp, but .* plain numbers"),
        ({"windows": sash.sliding(3), "time": "plug"}, "column 'plug' is string, which orders nothing"),
        ({"aggregates": {"s": sash.Sum("plug")}}, "aggregate 's': .*cannot aggregate.* 'plug' is string"),
        ({"aggregates": {"s": sash.Max("ts.hour")}}, "column 'ts.hour' is not in 'ts', which is no structure but time"),
        ({"key": "m"}, "key column 'm' is map<int,int>"),
        (
            {"windows": sash.tumbling("1500ns")},
            "1500 ns has ends that it cannot represent; make it one of whole microseconds",
        ),
    ],
)
def test_what_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises((KeyError, TypeError, ValueError), match=message):
        checked(query(**wrong), FLAT)


def test_types_that_are_told(spark: SparkSession) -> None:
    odd = sash.aggregation("load", lift=lambda v: {v}, combine=lambda a, b: a | b)
    with pytest.raises(TypeError, match=r"aggregate 'odd': the type of the results .* cannot be inferred"):
        output_schema(query(aggregates={"odd": odd}), FLAT)
    told = output_schema(query(aggregates={"odd": odd}), FLAT, types={"odd": "array<double>"})
    assert told["odd"].dataType == T.ArrayType(T.DoubleType())
    with pytest.raises(ValueError, match="not aggregates of the query"):
        output_schema(query(), FLAT, types={"other": "int"})


def test_an_order_must_be_named(spark: SparkSession) -> None:
    with pytest.raises(ValueError, match="no order of its own"):
        sash_spark.aggregate(spark.range(3), sash.Query(windows=sash.sliding(2), aggregates={"n": sash.Count()}))
    with pytest.raises(KeyError, match="'when' is not in the DataFrame"):
        sash_spark.aggregate(
            spark.range(3), sash.Query(windows=sash.sliding(2), aggregates={"n": sash.Count()}), "when"
        )


SPARK_TYPES: dict[str, tuple[T.DataType, list[Any]]] = {
    "boolean": (T.BooleanType(), [True, False]),
    "tinyint": (T.ByteType(), [1, 2]),
    "int": (T.IntegerType(), [1, 2]),
    "bigint": (T.LongType(), [1, 2]),
    "float": (T.FloatType(), [1.5, 2.5]),
    "double": (T.DoubleType(), [1.5, 2.5]),
    "decimal": (T.DecimalType(10, 2), [Decimal("1.25"), Decimal("2.50")]),
    "wide decimal": (T.DecimalType(38, 20), [Decimal("1.25"), Decimal("2.50")]),
    "string": (T.StringType(), ["a", "b"]),
    "binary": (T.BinaryType(), [b"a", b"b"]),
    "date": (T.DateType(), [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]),
    "timestamp": (T.TimestampType(), [dt.datetime(2024, 1, 1, tzinfo=dt.UTC), dt.datetime(2024, 1, 2, tzinfo=dt.UTC)]),
    "timestamp_ntz": (T.TimestampNTZType(), [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2)]),
}
AGGREGATES = [
    *(kind("x") for kind in (sash.Count, sash.Sum, sash.Min, sash.Max, sash.Mean, sash.GeometricMean, sash.MinCount)),
    *(kind("x") for kind in (sash.MaxCount, sash.SampleStdDev, sash.PopulationStdDev, sash.First, sash.Last)),
    *(kind("x") for kind in (sash.Collect, sash.CollectDistinct, sash.Concat, sash.M4, sash.Bloom, sash.Median)),
    sash.Quantile("x", q=0.3),
    sash.ArgMin("x", "x"),
    *(kind("x") for kind in (sash.SampleVariance, sash.PopulationVariance, sash.Skewness, sash.Kurtosis, sash.Product)),
    *(kind("x") for kind in (sash.Any, sash.All, sash.ExactDistinctCount, sash.Mode)),
    *(kind("x", "x") for kind in (sash.Covariance, sash.Correlation, sash.Slope, sash.WeightedMean)),
]


@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
@pytest.mark.parametrize("name", SPARK_TYPES)
def test_a_local_run_has_the_types_that_are_declared_here(name: str) -> None:
    kind, values = SPARK_TYPES[name]
    (column,) = to_arrow_schema(T.StructType([T.StructField("x", kind)])).types
    table = pa.table({"x": pa.array(values, column)})
    compared = 0
    for aggregation in AGGREGATES:
        query = sash.Query(windows=sash.tumbling(2), aggregates={"r": aggregation})
        try:
            schema = output_schema(query, T.StructType([T.StructField("x", kind)]))
            results = sash.run(query, table)
        except (TypeError, ValueError):  # it cannot aggregate them
            continue
        declared = to_arrow_schema(schema).field("r").type
        for found in (results, sash.run(query, table[:0])):
            assert found.schema.field("r").type == declared, aggregation
        compared += 1
    assert compared > 5
