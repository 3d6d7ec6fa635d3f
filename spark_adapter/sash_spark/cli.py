"""The engine of ``sash run --engine spark``: Spark in this process, unless SPARK_MASTER or spark-defaults name one.

Parquet files are read by Spark itself. Rows of CSV and JSON lines are first copied to Parquet, so that their types are
those that every engine sees. Among equal times, and without a time, rows are taken in the order of the files.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

import sash_spark
from sash.spi import ArrowOutput, DataError, Job, UsageError, in_micros
from sash_spark.schema import arrow_schema
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
        if job.follow is not None:
            _follow(spark, job)
        job.tally.doing = "computing"
        (_stream if job.streaming else _batch)(spark, job, out)
        job.tally.doing = "writing"
        # A stream's files are those that its log of commits names, which only Spark reads.
        files = sorted(spark.read.parquet(out).inputFiles())
    except PySparkException as error:
        raise DataError(_cause(error)) from error
    yield from (pq.read_table(path.removeprefix("file://")).replace_schema_metadata() for path in files)
    if job.streaming:
        yield from _open_windows(spark, job)


def _open_windows(spark: SparkSession, job: Job) -> Iterator[Any]:
    """The results of windows that are still open after the last file: to Spark, a stream never ends."""
    columns = ArrowOutput(job.query, arrow_schema(sash_spark.output_schema(job.query, _schema(job))))
    for operator in read_state(spark, str(job.scratch / "checkpoint"), job.query).values():
        yield from map(pa.table, columns.batches(operator.close_outcomes()))


def _session(job: Job) -> SparkSession:
    """The Spark that runs already, or a new one, whose JVM logs to a file."""
    log = job.scratch / "spark.log"
    try:
        with _redirect_stderr(log):
            jars = () if job.follow is None else job.follow.jars
            return SparkSession.getActiveSession() or _start(job.parallelism or os.cpu_count() or 1, jars)
    except PySparkRuntimeError as error:
        said = log.read_text(encoding="utf-8").split("\n") if log.exists() else []
        why = next((line for line in said if line and not line.startswith("WARNING")), str(error))
        raise UsageError(f"Spark does not start; it needs Java 17 or newer in JAVA_HOME or on PATH: {why}") from error


def _start(tasks: int, jars: tuple[Path, ...]) -> SparkSession:
    """A Spark for so many tasks at a time, in this process unless SPARK_MASTER or spark-defaults name another."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings: dict[str, Any] = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": tasks,
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.ui.enabled": False,
        "spark.ui.showConsoleProgress": False,
    }
    if jars:
        settings["spark.jars"] = ",".join(str(jar.resolve()) for jar in jars)
    master = os.environ.get("SPARK_MASTER", f"local[{tasks}]")
    if master.startswith("local"):  # nobody else has to reach it
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    builder: Any = SparkSession.builder.appName("sash run").master(master)
    spark: SparkSession = builder.config(map=settings).getOrCreate()
    return spark


@contextmanager
def _redirect_stderr(log: Path) -> Iterator[None]:
    """Redirect stderr to a file: a JVM that is started meanwhile inherits it for good."""
    sys.stderr.flush()
    kept, file = os.dup(2), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.dup2(file, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(file)


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
                try:
                    for table in job.source.tables_of(file):
                        writer.write_table(table.cast(schema))
                except pa.ArrowInvalid as error:
                    raise DataError(f"Spark's times are of microseconds: {error}") from error
        elif linked:
            target.symlink_to(file.resolve())
            continue
        else:
            shutil.copyfile(file, target)
        os.utime(target, (10**9 + number, 10**9 + number))
    return folder


def _schema(job: Job) -> Any:
    return from_arrow_schema(in_micros(job.source.schema), prefer_timestamp_ntz=True)


def _number_rows(df: DataFrame) -> DataFrame:
    """The DataFrame with columns that tell the order of rows."""
    file, row = (F.col(f"_metadata.{name}") for name in ("file_name", "row_index"))
    return df.select("*", file.alias(_ORDER[0]), row.alias(_ORDER[1]))


def _batch(spark: SparkSession, job: Job, out: str) -> None:
    df = spark.read.schema(_schema(job)).parquet(str(_folder(job)))
    results = sash_spark.aggregate(_number_rows(df), job.query, order=list(_ORDER))
    results.write.parquet(out)
    job.tally.rows_in, job.tally.late = df.count(), 0


def _stream(spark: SparkSession, job: Job, out: str) -> None:
    files = spark.readStream.schema(_schema(job)).option("maxFilesPerTrigger", 1)
    df = _number_rows(files.parquet(str(_folder(job))))
    results = sash_spark.aggregate(df, job.query, order=list(_ORDER), state="whole")
    writer = results.writeStream.format("parquet").option("checkpointLocation", str(job.scratch / "checkpoint"))
    running = writer.trigger(availableNow=True).start(out)
    while not running.awaitTermination(1):
        _count(job, running.recentProgress)
    _count(job, running.recentProgress)


def _follow(spark: SparkSession, job: Job) -> None:
    """From topic to topic by Spark's own connector, at least once, until interrupted.

    Offsets and state are in the stream's checkpoint. What a micro-batch had written before it failed is written again.
    """
    assert job.follow is not None
    source, target, query = job.follow.source, job.follow.target, job.query
    own = {f"kafka.{name}": value for name, value in job.follow.settings.items()}
    read = {"kafka.bootstrap.servers": source.servers, "subscribe": source.name, "startingOffsets": "earliest"} | own
    record = F.from_json(F.col("value").cast("string"), _schema(job), {"mode": "FAILFAST"}).alias("record")
    places = [F.col(name).alias(place) for name, place in zip(("partition", "offset"), _ORDER, strict=True)]
    raw = spark.readStream.format("kafka").options(**read).load().where("value IS NOT NULL")
    rows = raw.select(record, *places).select("record.*", *_ORDER)
    folder = str(job.follow.state / "checkpoint")
    results = sash_spark.aggregate(rows, query, order=list(_ORDER), checkpoint=folder)
    text = len(query.keys) == 1 and results.schema[0].dataType.typeName() == "string"
    keys = [F.col(f"`{name}`") for name in query.keys]
    key = keys[0] if text else F.to_json(F.struct(*keys)) if keys else F.lit(None).cast("string")
    value = F.to_json(F.struct("*"), {"ignoreNullFields": "false"})
    write = {"kafka.bootstrap.servers": target.servers, "topic": target.name, "checkpointLocation": folder} | own
    job.tally.doing = "following"
    stream = results.select(key.alias("key"), value.alias("value")).writeStream.format("kafka").options(**write)
    stream.start().awaitTermination()


def _count(job: Job, progress: list[Any]) -> None:
    job.tally.rows_in = sum(batch["numInputRows"] for batch in progress)
    observed = [batch["observedMetrics"].get("sash", {}) for batch in progress]
    metrics = [row.asDict() if hasattr(row, "asDict") else row for row in observed]
    job.tally.late = sum(int(counts.get("late_dropped") or 0) for counts in metrics)
    job.tally.state_bytes = max((int(counts.get("state_bytes") or 0) for counts in metrics), default=None)


def _cause(error: PySparkException) -> str:
    """The message of a worker or of Spark, without the traces."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith(("TypeError:", "ValueError:", "KeyError:", "OverflowError:"))]
    return ours[-1].partition(": ")[2] if ours else lines[0]
