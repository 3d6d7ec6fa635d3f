"""The matrix on Spark: as a batch, and as a stream of three micro-batches from files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

import matrix
import sash
from matrix import TYPES, ColumnType
from matrix_cells import Wrong

from .matrix_engines import UTC, Engine, Outcome, Run

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


def run_batch(spark: SparkSession, folder: Path) -> Run:
    """Runs batches of some column types."""
    import sash_spark

    df = spark.read.schema(BATCH.sql()).parquet(_files(folder, 1))

    def run(kinds: Sequence[str]) -> dict[bool, Outcome]:
        found = {}
        for late in (False, True):
            results = sash_spark.aggregate(df, _query(BATCH, df, kinds, late), order="seq")
            found[late] = _read(results, results.schema)
        return found

    return run


def run_stream(spark: SparkSession, folder: Path) -> Run:
    """Runs streams of some column types."""
    import sash_spark

    df = spark.readStream.schema(STREAMING.sql()).option("maxFilesPerTrigger", 1).parquet(_files(folder, 3))

    def run(kinds: Sequence[str]) -> dict[bool, Outcome]:
        found = {}
        for late in (False, True):
            results = sash_spark.aggregate(df, _query(STREAMING, df, kinds, late), order="seq", buckets=2)
            name = f"matrix_{STREAMING.column(kinds[0])}_{len(kinds)}_{late}"
            writer = results.writeStream.format("memory").queryName(name)
            writer = writer.option("checkpointLocation", str(folder / name))
            writer.trigger(availableNow=True).start().awaitTermination()
            found[late] = _read(spark.table(name), results.schema)
        return found

    return run


def _query(engine: Engine, df: DataFrame, kinds: Sequence[str], late: bool) -> sash.Query:
    import sash_spark

    return engine.query(kinds, late, lambda query: sash_spark.output_schema(query, df.schema))


def wrong_refusals(engine: Engine, spark: SparkSession, folder: Path, kind: str, late: bool) -> Wrong:
    """What is wrong with how a cell is refused."""
    import sash_spark

    reader: Any = spark.read if engine is BATCH else spark.readStream
    df = reader.schema(engine.sql([kind])).parquet(str(folder))
    return engine.wrong_refusals(kind, late, lambda query: sash_spark.aggregate(df, query, order="seq"))


def _files(folder: Path, number: int) -> str:
    """The stream as so many files, one after the other. Intervals are written as the numbers that they are inside."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(matrix)  # type: ignore[no-untyped-call]  # workers do not have it
    rows = BATCH.tuples()
    schema = pa.schema([(name, column.arrow) for name, column in BATCH.schema().items()])
    size = -(-len(rows) // number)
    (folder / "in").mkdir()
    for place in range(number):
        table = pa.Table.from_pylist(rows[place * size : (place + 1) * size], schema)
        for at, field in enumerate(schema):
            if pa.types.is_duration(field.type):
                table = table.set_column(at, field.name, table[field.name].cast(pa.int64()))
        path = folder / "in" / f"{place}.parquet"
        pq.write_table(table, path)
        os.utime(path, (10**9 + place, 10**9 + place))
    return str(folder / "in")


def _read(results: DataFrame, schema: Any) -> Outcome:
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
