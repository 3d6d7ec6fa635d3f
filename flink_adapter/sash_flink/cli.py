"""The engine of ``sash run --engine flink``: an embedded Flink with Python workers of its own.

Rows travel with the job as Arrow's bytes, in the order of the files, and results come back as such. That is for data
that fits on this machine: jobs with sources and sinks of their own call :func:`sash_flink.aggregate`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyflink.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from pyflink.java_gateway import get_gateway

import sash_flink
from sash.spi import DataError, Job, UsageError, in_micros, root_cause
from sash_flink import pipeline
from sash_flink.following import follow, settings_of
from sash_flink.packed import RESULTS, encode
from sash_flink.pipeline import load_jar
from sash_flink.results import pack_for_client

__all__ = ["run"]

ROWS = 1 << 14
"""The rows of a batch that goes into the job."""


def run(job: Job) -> Iterator[Any]:
    """The results of a job."""
    job.tally.doing = "starting Flink"
    if job.scratch != Path():
        os.environ.setdefault("FLINK_LOG_DIR", str(job.scratch / "flink-log"))
    settings = {} if job.follow is None else settings_of(job.follow.state, job.follow.jars)
    try:
        env = sash_flink.environment(job.parallelism or 1, {"table.local-time-zone": "UTC", **settings})
    except RuntimeError as error:  # no Java
        raise UsageError(str(error)) from error
    if job.follow is not None:
        try:
            follow(env, job)
        except Py4JJavaError as error:
            raise DataError(root_cause(_messages(error.java_exception))) from error
        return
    if not job.streaming:
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    stream = _stream(env, job)
    if job.streaming and job.query.time in job.query.orders:
        stream = sash_flink.with_watermarks(stream, job.query, every_record=True)
    results = sash_flink.aggregate(stream, job.query)
    j_results, schema = pack_for_client(results)
    sides = [pack_for_client(results.get_side_output(tag))[0] for tag in (sash_flink.LATE, sash_flink.REJECTED)]
    batches, late, rejected = (j_stream.collectAsync() for j_stream in (j_results, *sides))
    job.tally.doing = "computing"
    try:
        env.execute_async("sash run")
        micros = in_micros(schema)  # as the rows that went in
        yield micros.empty_table()
        for table in _tables(batches):
            yield table.cast(schema).cast(micros)
        job.tally.late = sum(map(len, _tables(late)))
        reasons = [reason for table in _tables(rejected) for reason in table.column("reason").to_pylist()]
    except Py4JJavaError as error:
        raise DataError(root_cause(_messages(error.java_exception))) from error
    if reasons:
        raise DataError(f"{reasons[0]} ({len(reasons)} rows could not be taken)")


def _stream(env: StreamExecutionEnvironment, job: Job) -> DataStream:
    """The source's rows in the order of files, decoded in the JVM, where they get their types."""
    schema = in_micros(job.source.schema).remove_metadata()
    blobs = []
    for table in job.source.tables():
        job.tally.rows_in += len(table)
        blobs += [encode(RESULTS, [batch]) for batch in table.cast(schema).to_batches(ROWS)]
    blobs = blobs or [encode(RESULTS, schema.empty_table().to_batches() or [pa.RecordBatch.from_pylist([], schema)])]
    load_jar(env._j_stream_execution_environment)
    j_blobs = get_gateway().jvm.java.util.ArrayList()
    for blob in blobs:
        j_blobs.add(bytearray(blob))
    source = env._j_stream_execution_environment.fromData(j_blobs, pipeline.BYTES.get_java_type_info())
    source.setParallelism(1)
    rows = pipeline.unpack(source, [schema], [None], -1, table=False)
    rows.setParallelism(1)  # they stay in order
    return DataStream(rows)


def _tables(j_batches: Any) -> Iterator[pa.Table]:
    while j_batches.hasNext():
        yield pa.ipc.open_stream(j_batches.next().getField(1)).read_all()


def _messages(cause: Any) -> Iterator[str]:
    """The messages of a Java exception and of its causes."""
    while cause is not None:
        yield str(cause.getMessage() or "")
        cause = cause.getCause()
