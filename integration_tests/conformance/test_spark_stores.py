"""Where Spark keeps state: whichever store it is, a query that is stopped and started goes on from its checkpoint."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

import sash_spark
from sash_spark.streaming_parts import PROVIDER, ROCKSDB, importable

from .cases import CASES, ORDER, Case
from .rows import sorted_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("spark")]
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
STORES = {
    "hdfs": {},
    "rocksdb": {PROVIDER: ROCKSDB, CHANGELOG: "false"},
    "rocksdb, changelog": {PROVIDER: ROCKSDB, CHANGELOG: "true"},
}
PARTS = pytest.mark.xfail(importable() is not None, run=False, reason=f"state in parts: {importable()}")
(CASE,) = [case for case in CASES if case.name == "time-late"]
STARTS = 3


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    for name, value in STORES[request.param].items():
        spark.conf.set(name, value)
    yield request.param
    for name in STORES[request.param]:
        spark.conf.unset(name)


def run(spark: SparkSession, folder: Path, case: Case, state: str) -> None:
    """Take the files that are new since the last time, each as a micro-batch."""
    source = spark.readStream.schema(case.ddl).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    results = sash_spark.aggregate(source, case.query, order=ORDER, buckets=2, state=state)
    writer = results.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start(str(folder / "out")).awaitTermination()


@pytest.mark.parametrize("state", ["whole", pytest.param("parts", marks=PARTS)])
def test_a_query_goes_on_from_any_store(spark: SparkSession, store: str, state: str, tmp_path: Path) -> None:
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[Case.__module__])  # type: ignore[no-untyped-call]
    if state == "parts" and store == "hdfs":
        pytest.xfail("never: state in parts needs RocksDB")
    (tmp_path / "in").mkdir()
    for number in range(STARTS):
        begin, end = (len(CASE.rows) * part // STARTS for part in (number, number + 1))
        path = tmp_path / "in" / f"{number}.parquet"
        pq.write_table(pa.Table.from_pylist(CASE.rows[begin:end], CASE.arrow), path)
        os.utime(path, (10**9 + number, 10**9 + number))
        run(spark, tmp_path, CASE, state)
    found: list[dict[str, Any]] = [row.asDict() for row in spark.read.parquet(str(tmp_path / "out")).collect()]
    assert sorted_rows(CASE.query, found) == sorted_rows(CASE.query, CASE.streamed())
