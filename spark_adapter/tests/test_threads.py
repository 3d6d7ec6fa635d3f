"""A task of Spark has the threads that ``spark.task.cpus`` gives it, and with a second one its windows have PBA."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sash
from sash.testing import count_windows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS, WINDOW = 600, 40
SCRIPT = """
import json, sys, threading
import sash, sash_spark
from pyspark.sql import SparkSession
from sash_spark import batch

folder, cores = sys.argv[1], sys.argv[2]
spark = (
    SparkSession.builder.master("local[2]").config("spark.task.cpus", cores).config("spark.ui.enabled", False)
    .config("spark.sql.execution.arrow.maxRecordsPerBatch", 100)
    .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    .config("spark.sql.shuffle.partitions", 1).config("spark.local.dir", folder + "/local")
    .config("spark.sql.warehouse.dir", folder + "/warehouse").getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")

def merged_here(a, b):
    return a | b | {threading.current_thread().name}

threads = sash.aggregation(
    "load", lift=lambda load: frozenset(), combine=merged_here, lower=lambda names: ",".join(sorted(names))
)
query = sash.Query(
    windows=sash.sliding(40), aggregates={"peak": sash.Max("load"), "threads": threads}, algorithm="pba"
)
options = {"order": "t", "types": {"threads": "string"}}
rows = [(t, float(t * 7 % 31)) for t in range(600)]
for number in range(6):
    part = spark.createDataFrame(rows[100 * number : 100 * number + 100], "t long, load double")
    part.coalesce(1).write.mode("append").parquet(folder + "/in")

def told(results):
    found = sorted((row["window_end"], row["peak"], row["threads"]) for row in results)
    names = {name for row in found for name in row[2].split(",") if name.startswith("sash")}
    return {"peaks": [row[1] for row in found], "pool": sorted(names)}

files = spark.readStream.schema("t long, load double").option("maxFilesPerTrigger", 1).parquet(folder + "/in")
stream = sash_spark.aggregate(files, query, state="whole", **options)
writer = stream.writeStream.format("memory").queryName("streamed").option("checkpointLocation", folder + "/checkpoint")
writer.trigger(availableNow=True).start().awaitTermination()
batch.Worker.__init__.__defaults__ = (100,)
whole = sash_spark.aggregate(spark.read.parquet(folder + "/in"), query, **options)
print("@" + json.dumps([told(whole.collect()), told(spark.table("streamed").collect())]))
"""


def test_a_task_of_one_core_has_no_second_thread(spark: SparkSession) -> None:
    def explain(rows: Iterable[int]) -> Iterator[str]:
        from sash.spi import KeyedOperator
        from sash_spark.worker import settle

        settle()
        op = KeyedOperator(sash.Query(windows=sash.sliding(5), aggregates={"n": sash.Count()}, algorithm="pba"))
        op.process_batch({"x": list(range(9))})
        yield op.explain()

    (said,) = spark.sparkContext.parallelize([0], 1).mapPartitions(explain).collect()
    assert "a second thread would not help: no second thread is wanted" in said


@pytest.mark.engine
def test_a_task_of_two_cores_computes_lcs_on_the_second(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(SCRIPT, encoding="utf-8")
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), "2"],
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (said,) = [line for line in done.stdout.splitlines() if line.startswith("@")]
    loads = [float(t * 7 % 31) for t in range(ROWS)]
    whole, streamed = json.loads(said[1:])
    for found in (whole, streamed):
        assert sorted(found["peaks"]) == sorted(max(window) for window in count_windows(loads, WINDOW))
    assert whole["pool"] == ["sash-lcs_0"]
    assert set(streamed["pool"]) <= {"sash-lcs_0"}  # the next micro-batch may go to another worker
