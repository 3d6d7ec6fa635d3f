"""The runs of ``scalability.py`` on one Spark, in this process or a cluster (SPARK_MASTER), of a given parallelism.

Readings like those of DEBS 2014 are in Parquet files; results go nowhere (the noop sink).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

import sash_spark
from bench_spark_batch import count_query, rows_between, sink, van_herk
from sash import generators
from scalability_runs import PLAIN, arguments, runs, told

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = 4
TASKS = 4
"""Of a shuffle, however many run at a time: so that the work is the same."""
Contender = Callable[["DataFrame", int], "DataFrame"]
CONTENDERS: dict[str, Contender] = {
    "sash": lambda frame, n: sash_spark.aggregate(frame, count_query(n)),
    "van Herk in SQL": van_herk,
    "rowsBetween": rows_between,
}


def time_windows(keys: int) -> Contender:
    """F.window, of as much time as so many readings of a plug take on average."""
    from pyspark.sql import functions as F

    def run(frame: DataFrame, n: int) -> DataFrame:
        window = F.window("ts", f"{n * keys} milliseconds", f"{keys} milliseconds")
        return frame.groupBy("plug", window).agg(F.max("load").alias("peak"))

    return run


def session(parallelism: int, settings: dict[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder: Any = SparkSession.builder.appName("sash-scalability")
    if "SPARK_MASTER" in os.environ:
        builder = builder.master(os.environ["SPARK_MASTER"])
    else:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = builder.master(f"local[{parallelism}]").config("spark.driver.host", "127.0.0.1")
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
    fixed = {
        "spark.driver.memory": "2g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": TASKS,
        "spark.sql.adaptive.coalescePartitions.enabled": False,
        "spark.sql.execution.arrow.maxRecordsPerBatch": 100_000,
        "spark.sql.execution.arrow.maxBytesPerBatch": 2**31 - 1,  # else Spark adds up a batch's bytes at each row
        "spark.eventLog.enabled": False,
        "spark.ui.enabled": False,
        "spark.ui.showConsoleProgress": False,
    }
    for name, value in {**fixed, **settings}.items():
        builder = builder.config(name, value)
    spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel("FATAL")
    return spark


def written(folder: Path, rows: int, keys: int) -> str:
    """Readings in the order of time, no two of them at the same."""
    readings = generators.debs14(rows, keys)
    times = readings["ts"][0] + np.arange(rows).astype("timedelta64[ms]")
    table = pa.table({"plug": readings["key"], "ts": times.astype("datetime64[us]"), "load": readings["load"]})
    table = table.cast(table.schema.set(1, pa.field("ts", pa.timestamp("us", "UTC"))))
    path = folder / f"readings-{rows}-{keys}"
    path.mkdir(parents=True)
    for number in range(FILES):
        begin, end = (rows * each // FILES for each in (number, number + 1))
        pq.write_table(table.slice(begin, end - begin), path / f"{number}.parquet")
    return str(path)


def main() -> None:
    options = arguments(__doc__)
    paths = {rows: written(Path(options.data), rows, options.keys) for rows in set(options.contenders.values())}
    spark = session(options.parallelism, options.setting)

    contenders = {**CONTENDERS, "F.window": time_windows(options.keys)}

    def work(name: str, rows: int) -> None:
        sink(contenders[name](spark.read.parquet(paths[rows]), options.range))

    for name, rows in options.contenders.items():
        if name not in PLAIN:
            work(name, rows)  # plans, classes and kernels, and Python workers
    for run in runs(options.contenders, options.repeats):
        told(run, work, options.pause)
    spark.stop()


if __name__ == "__main__":
    main()
