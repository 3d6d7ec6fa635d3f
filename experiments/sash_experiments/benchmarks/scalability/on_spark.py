"""The runs of ``bench scalability`` on one Spark, in this process or a cluster (SPARK_MASTER), of a given parallelism.

Readings like those of DEBS 2014 are in Parquet files; results go nowhere (the noop sink).
"""

from __future__ import annotations

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
from sash_experiments.benchmarks.scalability.runs import PLAIN, arguments, report, runs
from sash_experiments.benchmarks.spark.batch import answer, count_query, rows_between, sink, van_herk
from sash_experiments.benchmarks.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FILES = 4
TASKS = 4
"""Of a shuffle, however many run at a time: so that the work is the same."""
Compute = Callable[["DataFrame", int], "DataFrame"]
CONTENDERS: dict[str, Compute] = {
    "sash": lambda frame, n: sash_spark.aggregate(frame, count_query(n)),
    "van Herk in SQL": van_herk,
    "rowsBetween": rows_between,
}


def time_windows(keys: int) -> Compute:
    """F.window, of as much time as so many readings of a plug take on average."""
    from pyspark.sql import functions as F

    def run(frame: DataFrame, n: int) -> DataFrame:
        window = F.window("ts", f"{n * keys} milliseconds", f"{keys} milliseconds")
        return frame.groupBy("plug", window).agg(F.max("load").alias("peak"))

    return run


def write_readings(folder: Path, rows: int, keys: int) -> str:
    """Readings in the order of time, no two of them at the same."""
    readings = generators.debs14(rows, keys)
    times = readings["ts"][0] + np.arange(rows).astype("timedelta64[ms]")
    table = pa.table({"plug": readings["key"], "ts": times.astype("datetime64[us]"), "load": readings["load"]})
    table = table.cast(table.schema.set(1, pa.field("ts", pa.timestamp("us", "UTC"))))
    path = folder / f"readings-{rows}-{keys}"
    path.mkdir(parents=True)
    for number in range(FILES):
        begin, end = (rows * place // FILES for place in (number, number + 1))
        pq.write_table(table.slice(begin, end - begin), path / f"{number}.parquet")
    return str(path)


def _answer(name: str, few: DataFrame) -> Any:
    return answer(lambda frame: CONTENDERS[name](frame, 16), few)


def main() -> None:
    options = arguments(__doc__)
    paths = {rows: write_readings(Path(options.data), rows, options.keys) for rows in set(options.contenders.values())}
    spark = session(Path(options.data), options.parallelism, TASKS, options.setting)

    contenders = {**CONTENDERS, "F.window": time_windows(options.keys)}

    def work(name: str, rows: int) -> None:
        sink(contenders[name](spark.read.parquet(paths[rows]), options.range))

    few = spark.read.parquet(write_readings(Path(options.data), 3_000, 5))
    check(Case({"n": 16}, [Contender(name, tuple, partial(_answer, name, few)) for name in CONTENDERS]))
    for name, rows in options.contenders.items():
        if name not in PLAIN:
            work(name, rows)  # plans, classes and kernels, and Python workers
    for run in runs(options.contenders, options.repeats):
        report(run, work, options.pause)
    spark.stop()


if __name__ == "__main__":
    main()
