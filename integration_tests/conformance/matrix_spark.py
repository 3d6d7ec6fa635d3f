"""The matrix on Spark: as a batch, and as a stream of three micro-batches from files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

import matrix
from matrix import TYPES, ColumnType, Row, arrow_schema, query, refused
from matrix_cells import Wrong

from .matrix_engines import UTC, Engine, tuples, wrong_refusal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS: dict[str, tuple[ColumnType, str]] = {
    "bool": (TYPES["bool"], "boolean"),
    "int8": (TYPES["int8"], "tinyint"),
    "int16": (TYPES["int16"], "smallint"),
    "int32": (TYPES["int32"], "int"),
    "int64": (TYPES["int64"], "bigint"),
    "float32": (TYPES["float32"], "float"),
    "float64": (TYPES["float64"], "double"),
    "decimal": (TYPES["decimal"], "decimal(10,2)"),
    "text": (TYPES["text"], "string"),
    "binary": (TYPES["binary"], "binary"),
    "date": (TYPES["date"], "date"),
    "timestamp[us]": (TYPES["timestamp[us]"], "timestamp_ntz"),
    "timestamp[us, zone]": (UTC["us"], "timestamp"),
    "duration[us]": (TYPES["duration[us]"], "interval day to second"),
}
"""Spark has neither unsigned integers nor times of day, and its timestamps and intervals are of microseconds."""
BATCH = Engine("Spark batch", "settled", COLUMNS)
STREAMING = Engine("Spark streaming", "open", COLUMNS)


def wrong_in_batch(spark: SparkSession, folder: Path, kind: str, late: bool) -> Wrong:
    import sash_spark

    df = spark.read.schema(_ddl(kind)).parquet(_files(folder, kind, 1))
    results = sash_spark.aggregate(df, BATCH.query(kind, late, _not_built(BATCH, df, kind, late)), order="seq")
    outcome = _read(results, results.schema)
    return BATCH.wrong(kind, late, outcome, spark_type) | _wrong_refusals(df, kind, late)


def wrong_in_stream(spark: SparkSession, folder: Path, kind: str, late: bool) -> Wrong:
    import sash_spark

    files = _files(folder, kind, 3)
    df = spark.readStream.schema(_ddl(kind)).option("maxFilesPerTrigger", 1).parquet(files)
    results = sash_spark.aggregate(
        df, STREAMING.query(kind, late, _not_built(STREAMING, df, kind, late)), order="seq", buckets=2
    )
    name = f"matrix_{list(COLUMNS).index(kind)}_{late}"
    writer = results.writeStream.format("memory").queryName(name).option("checkpointLocation", str(folder / "c"))
    writer.trigger(availableNow=True).start().awaitTermination()
    outcome = _read(spark.table(name), results.schema)
    return STREAMING.wrong(kind, late, outcome, spark_type) | _wrong_refusals(df, kind, late)


def _not_built(engine: Engine, df: DataFrame, kind: str, late: bool) -> Wrong:
    import sash_spark

    return engine.not_built(kind, late, lambda asked: sash_spark.output_schema(asked, df.schema))


def _wrong_refusals(df: DataFrame, kind: str, late: bool) -> Wrong:
    import sash_spark

    column = COLUMNS[kind][0]
    wrong: Wrong = {}
    for name, entry in refused(column).items():
        error: Exception | None = None
        try:
            sash_spark.aggregate(df, query({name: entry}, "count", late), order="seq")
        except Exception as raised:
            error = raised
        if problem := wrong_refusal(error, entry.aggregation, column):
            wrong[name] = problem
    return wrong


def _ddl(kind: str) -> str:
    return f"k string, t bigint, x {COLUMNS[kind][1]}, n bigint, seq bigint"


def _files(folder: Path, kind: str, number: int) -> str:
    """The stream as so many files, one after the other. Intervals are written as the numbers that they are inside."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(matrix)  # type: ignore[no-untyped-call]  # workers do not have it
    column = COLUMNS[kind][0]
    rows = tuples(column)
    size = -(-len(rows) // number)
    (folder / "in").mkdir()
    for place in range(number):
        table = pa.Table.from_pylist(rows[place * size : (place + 1) * size], arrow_schema(column))
        if pa.types.is_duration(column.arrow):
            table = table.set_column(2, "x", table["x"].cast(pa.int64()))
        path = folder / "in" / f"{place}.parquet"
        pq.write_table(table, path)
        os.utime(path, (10**9 + place, 10**9 + place))
    return str(folder / "in")


def _read(results: DataFrame, schema: Any) -> tuple[list[Row], dict[str, Any]]:
    types = {field.name: field.dataType.simpleString() for field in schema}
    return results.toArrow().to_pylist(), types


def spark_type(kind: Any) -> str:
    """What Spark calls an Arrow type."""
    if pa.types.is_list(kind):
        return f"array<{spark_type(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{','.join(f'{field.name}:{spark_type(field.type)}' for field in kind)}>"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return next(name for column, name in COLUMNS.values() if column.arrow == kind)
