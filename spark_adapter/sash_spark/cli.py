"""The engine of ``sash run --engine spark``: Spark in this process, unless SPARK_MASTER or spark-defaults name one.

Parquet files are read by Spark itself. Rows of CSV and JSON lines are first copied to Parquet, so that their types are
those that every engine sees. Among equal times, and without a time, rows are taken in the order of the files.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

import sash_spark
from sash.cli.engines import Job
from sash.cli.errors import DataError, UsageError
from sash.cli.files import in_micros
from sash_spark.columns import Columns, array_of, arrow_schema
from sash_spark.local import session
from sash_spark.state import read_state

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["run"]

_ORDER = ("__sash_file", "__sash_row")


def run(job: Job) -> Iterator[Any]:
    """The results of a job, by way of Parquet files that Spark writes."""
    job.tally.doing = "starting Spark"
    out = str(job.scratch / "out")
    try:
        spark = _session(job)
        job.tally.doing = "computing"
        (_stream if job.streaming else _batch)(spark, job, out)
        job.tally.doing = "writing"
        # A stream's files are those that its log of commits names, which only Spark reads.
        files = sorted(spark.read.parquet(out).inputFiles())
    except PySparkException as error:
        raise DataError(_cause(error)) from error
    yield from (pq.read_table(path.removeprefix("file://")).replace_schema_metadata() for path in files)
    if job.streaming:
        yield from _left(spark, job)


def _left(spark: SparkSession, job: Job) -> Iterator[Any]:
    """The results of windows that are open when the files are through: to Spark, a stream never ends."""
    schema = sash_spark.output_schema(job.query, _schema(job))
    columns = Columns(job.query, schema)
    fields = [arrow_schema(schema).field(key) for key in job.query.keys]
    for operator in read_state(spark, str(job.scratch / "checkpoint"), job.query).values():
        outcomes = operator.close_outcomes()
        arrays = [array_of(outcomes.keys[field.name], field.type) for field in fields]
        keys = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
        yield from (pa.table(columns.batch(outcome, keys)) for outcome in outcomes.lanes if len(outcome))


def _session(job: Job) -> SparkSession:
    log = job.scratch / "spark.log"
    try:
        return session("sash run", job.parallelism or os.cpu_count() or 1, log)
    except PySparkRuntimeError as error:
        said = log.read_text(encoding="utf-8").split("\n") if log.exists() else []
        why = next((line for line in said if line and not line.startswith("WARNING")), str(error))
        raise UsageError(f"Spark does not start; it needs Java 17 or newer in JAVA_HOME or on PATH: {why}") from error


def _folder(job: Job) -> Path:
    """Files that Spark reads: a batch in the order of their names, a stream in that of their times."""
    folder, schema = job.scratch / "in", in_micros(job.source.schema)
    folder.mkdir()
    times = [file.stat().st_mtime_ns // 10**6 for file in job.source.files]
    # Spark sees the time of a link's file. A stream's files are in that order already, unless two times are the same.
    linked = not job.streaming or len(set(times)) == len(times)
    for number, file in enumerate(job.source.files):
        target = folder / f"{number:08d}.parquet"
        if job.source.format != "parquet" or schema != job.source.schema:
            with pq.ParquetWriter(target, schema) as writer:
                for table in job.source.tables_of(file):
                    writer.write_table(_cast(table, schema))
        elif linked:
            target.symlink_to(file.resolve())
            continue
        else:
            shutil.copyfile(file, target)
        os.utime(target, (10**9 + number, 10**9 + number))
    return folder


def _cast(table: Any, schema: Any) -> Any:
    try:
        return table.cast(schema)
    except pa.ArrowInvalid as error:
        raise DataError(f"Spark's times are of microseconds: {error}") from error


def _schema(job: Job) -> Any:
    return from_arrow_schema(in_micros(job.source.schema), prefer_timestamp_ntz=True)


def _numbered(df: DataFrame) -> DataFrame:
    """With what tells the order of rows."""
    file, row = (F.col(f"_metadata.{name}") for name in ("file_name", "row_index"))
    return df.select("*", file.alias(_ORDER[0]), row.alias(_ORDER[1]))


def _batch(spark: SparkSession, job: Job, out: str) -> None:
    df = spark.read.schema(_schema(job)).parquet(str(_folder(job)))
    results = sash_spark.aggregate(_numbered(df), job.query, order=list(_ORDER))
    results.write.parquet(out)
    job.tally.rows_in, job.tally.late = df.count(), 0


def _stream(spark: SparkSession, job: Job, out: str) -> None:
    files = spark.readStream.schema(_schema(job)).option("maxFilesPerTrigger", 1)
    df = _numbered(files.parquet(str(_folder(job))))
    results = sash_spark.aggregate(df, job.query, order=list(_ORDER), state="whole")
    writer = results.writeStream.format("parquet").option("checkpointLocation", str(job.scratch / "checkpoint"))
    running = writer.trigger(availableNow=True).start(out)
    while not running.awaitTermination(1):
        _told(job, running.recentProgress)
    _told(job, running.recentProgress)


def _told(job: Job, progress: list[Any]) -> None:
    job.tally.rows_in = sum(each["numInputRows"] for each in progress)
    metrics = [each["observedMetrics"].get("sash", {}) for each in progress]
    job.tally.late = sum(_number(each, "late_dropped") for each in metrics)
    job.tally.state_bytes = max((_number(each, "state_bytes") for each in metrics), default=None)


def _number(metrics: Any, name: str) -> int:
    found = metrics.asDict() if hasattr(metrics, "asDict") else metrics
    return int(found.get(name) or 0)


def _cause(error: PySparkException) -> str:
    """What a worker or Spark complained of, without the traces."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith(("TypeError:", "ValueError:", "KeyError:", "OverflowError:"))]
    return ours[-1].partition(": ")[2] if ours else lines[0]
