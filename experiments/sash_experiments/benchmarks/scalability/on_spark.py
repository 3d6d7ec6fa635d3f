"""The runs of ``bench scalability`` on one Spark, in this process or a cluster (SPARK_MASTER), of a given parallelism.

Readings like those of DEBS 2014 are in Parquet files; results go nowhere (the noop sink). ``batch`` takes all files at
once. ``stateful streaming`` takes a stream of them, each a micro-batch, by the operator that keeps its state with
Spark (``applyInPandasWithState``); before it comes a stream of one small file, and the difference is what counts.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

import sash_spark
from sash_experiments import generators
from sash_experiments.benchmark import Case, Contender, check
from sash_experiments.benchmarks.scalability.aggregates import count_query
from sash_experiments.benchmarks.scalability.runs import PLAIN, Run, arguments, report, runs
from sash_experiments.benchmarks.spark.batch import answer, rows_between, sink, van_herk
from sash_experiments.benchmarks.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = 4
"""Of the readings: micro-batches of the stream."""
TASKS = 4
"""Of a shuffle, however many run at a time: so that the work is the same."""
MODIFIED = 1_700_000_000
"""When the first file was modified, the others a second apart: Spark's streams take files in this order."""
FEW = 1_000
"""Readings of the stream that measures what the start of one costs."""
STREAMING = "stateful streaming"
SCHEMA = "plug int, ts timestamp, load double"
Compute = Callable[["DataFrame", int], "DataFrame"]
OWN: dict[str, Compute] = {"van Herk in SQL": van_herk, "rowsBetween": rows_between}
"""The engine's own, which know a maximum."""


def batch(aggregate: str) -> Compute:
    """A whole table."""
    return lambda frame, n: sash_spark.aggregate(frame, count_query(aggregate, n, time="ts"))


def stream(aggregate: str) -> Compute:
    """A stream, in the order of arrival."""
    return lambda frame, n: sash_spark.aggregate(
        frame, count_query(aggregate, n), order="ts", buckets=TASKS, state="whole"
    )


def time_windows(keys: int) -> Compute:
    """F.window, of as much time as so many readings of a plug take on average."""
    from pyspark.sql import functions as F

    def run(frame: DataFrame, n: int) -> DataFrame:
        window = F.window("ts", f"{n * keys} milliseconds", f"{keys} milliseconds")
        return frame.groupBy("plug", window).agg(F.max("load").alias("peak"))

    return run


def contenders_of(keys: int) -> dict[tuple[str, str], Compute]:
    """All that take a table."""
    ours = {(aggregate, "batch"): batch(aggregate) for aggregate in ("max", "moments")}
    own = {**OWN, "F.window": time_windows(keys)}
    return {**ours, **{("max", name): compute for name, compute in own.items()}}


def write_readings(folder: Path, rows: int, keys: int, files: int = FILES) -> str:
    """Readings in the order of time, no two of them at the same."""
    readings = generators.debs14(rows, keys)
    times = readings["ts"][0] + np.arange(rows).astype("timedelta64[ms]")
    plugs = readings["key"].astype(np.int32)
    table = pa.table({"plug": plugs, "ts": times.astype("datetime64[us]"), "load": readings["load"]})
    table = table.cast(table.schema.set(1, pa.field("ts", pa.timestamp("us", "UTC"))))
    path = folder / f"readings-{rows}-{keys}"
    path.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        begin, end = (rows * place // files for place in (number, number + 1))
        pq.write_table(table.slice(begin, end - begin), path / f"{number}.parquet")
        os.utime(path / f"{number}.parquet", (MODIFIED + number, MODIFIED + number))
    return str(path)


def run_stream(spark: SparkSession, path: str, aggregate: str, n: int, writer: Callable[[DataFrame], Any]) -> int:
    """Run a stream of files to its end; the bytes that Spark holds of its state."""
    files = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(path)
    # beside the files, which all nodes of a cluster see
    with tempfile.TemporaryDirectory(dir=Path(path).parent) as checkpoint:
        started = writer(stream(aggregate)(files, n)).option("checkpointLocation", checkpoint)
        running = started.trigger(availableNow=True).start()
        running.awaitTermination()
        progress = [json.loads(each.json) for each in running.recentProgress]
    return max((each["memoryUsedBytes"] for step in progress for each in step["stateOperators"]), default=0)


def _answer(few: DataFrame, compute: Compute) -> Any:
    return answer(lambda frame: compute(frame, 16), few)


def main() -> None:
    options = arguments(__doc__)
    data = Path(options.data)
    paths = {rows: write_readings(data, rows, options.keys) for rows in set(options.contenders.values())}
    paths[FEW] = write_readings(data, FEW, options.keys, 1)
    spark = session(data, options.parallelism, TASKS, options.setting)
    computes = contenders_of(options.keys)

    def work(run: Run) -> int | None:
        if run.contender == STREAMING:
            nowhere = lambda frame: frame.writeStream.format("noop")  # noqa: E731
            return run_stream(spark, paths[run.rows], run.aggregate, options.range, nowhere)
        sink(computes[run.name](spark.read.parquet(paths[run.rows]), options.range))
        return None

    few = spark.read.parquet(write_readings(data, 3_000, 5))
    alike = {name: compute for name, compute in computes.items() if name[0] == "max" and name[1] != "F.window"}
    check(
        Case(
            {"n": 16},
            [Contender(name[1], tuple, partial(_answer, few, compute)) for name, compute in alike.items()],
        )
    )
    for (aggregate, name), rows in options.contenders.items():
        if name not in PLAIN:
            work(Run(aggregate, name, rows, 0))  # plans, classes and kernels, and Python workers
    for run in runs(options.contenders, options.repeats):
        report(run, work, options.pause, FEW if run.contender == STREAMING else None)
    spark.stop()


if __name__ == "__main__":
    main()
