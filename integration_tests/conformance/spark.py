"""The case on Spark: as a batch, and as a stream of two micro-batches from files."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from sash.runtime.two_phases import why_one_phase

from .cases import CASES, ORDER, Case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCH_GAPS: dict[str, str] = {}
STREAMING_GAPS: dict[str, str] = {}
ALL_THERE = {"watermark_delay": None, "allowed_lateness": None, "early": None}
"""What changes nothing in a batch."""
ONE_PHASE_ONLY = {
    case.name: f"never: {reason}"
    for case in CASES
    if (reason := why_one_phase(case.query.using(**ALL_THERE))) is not None
}


def _session(request: pytest.FixtureRequest) -> SparkSession:
    from pyspark import cloudpickle

    # Workers do not have these modules.
    cloudpickle.register_pickle_by_value(sys.modules[Case.__module__])  # type: ignore[no-untyped-call]
    found: SparkSession = request.getfixturevalue("spark")
    return found


def _folder(case: Case, request: pytest.FixtureRequest) -> Path:
    folder: Path = request.getfixturevalue("tmp_path")
    for number, rows in enumerate(case.batches()):
        path = folder / "in" / f"{number}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows, case.arrow), path)
        os.utime(path, (10**9 + number, 10**9 + number))
    return folder


def in_two_phases(case: Case, request: pytest.FixtureRequest) -> list[Mapping[str, Any]]:
    return batch(case, request, salted=3)


def batch(case: Case, request: pytest.FixtureRequest, **options: Any) -> list[Mapping[str, Any]]:
    import sash_spark

    spark, folder = _session(request), _folder(case, request)
    df = spark.read.schema(case.ddl).parquet(str(folder / "in"))
    results = sash_spark.aggregate(df, case.query, order=ORDER, **options, **case.options)
    return [_told(row.asDict()) for row in results.collect()]


def parts_missing() -> str | None:
    """Why this environment cannot keep state in parts."""
    from sash_spark.streaming_parts import importable

    return importable()


def in_parts(case: Case, request: pytest.FixtureRequest) -> list[Mapping[str, Any]]:
    from sash_spark.streaming_parts import PROVIDER, ROCKSDB

    spark = _session(request)
    spark.conf.set(PROVIDER, ROCKSDB)
    try:
        return streaming(case, request, state="parts")
    finally:
        spark.conf.unset(PROVIDER)


def streaming(case: Case, request: pytest.FixtureRequest, **options: Any) -> list[Mapping[str, Any]]:
    import sash_spark

    spark, folder = _session(request), _folder(case, request)
    name = "conformance_" + case.name.replace("-", "_")
    df = spark.readStream.schema(case.ddl).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    results = sash_spark.aggregate(df, case.query, order=ORDER, buckets=2, **options, **case.options)
    writer = results.writeStream.format("memory").queryName(name).option("checkpointLocation", str(folder / "c"))
    running = writer.trigger(availableNow=True).start()
    running.awaitTermination()
    return [_told(row.asDict()) for row in spark.table(name).collect()]


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """With ends of windows as they are elsewhere, where they are structures because they differ in type."""
    for name in ("window_start", "window_end"):
        if hasattr(row[name], "asDict"):
            (row[name],) = [value for value in row[name] if value is not None]
    return row
