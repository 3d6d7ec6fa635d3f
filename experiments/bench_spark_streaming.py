"""Streaming count windows on Spark: Sash beside a plain stateful function. A part of ``make bench-spark``.

A stream of files, each a micro-batch; the maximum of each key's last n rows, a result a row; results go nowhere (the
noop sink). The plain one is what a user writes with ``applyInPandasWithState``: grouped by key, a row out for each row
in, the last n - 1 values as state, and the same kernel (``sash.rolling``).

Streams run for days, so what is measured is a stream that has been running: first come many small micro-batches and
some like those that count, until the JVM has compiled what it runs; then, in the same stream, those that count. CPU
seconds are of the whole process tree, source, shuffle and sink included; nothing is subtracted.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import sash
import sash_spark

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "plug int, seq long, load double"
Made = Callable[["DataFrame", int], "DataFrame"]
CASES = [(10_000, 64, 2, 100_000), (84, 1024, 4, 1_000_000), (84, 1024, 8, 100_000)]
"""(keys, rows a window, micro-batches, rows of each)."""
WARM = (40, 200)
"""(micro-batches, rows of each) before."""


def ours(df: DataFrame, n: int) -> DataFrame:
    query = sash.Query(key="plug", windows=sash.sliding(n), aggregates={"peak": sash.Max("load")})
    return sash_spark.aggregate(df, query, order="seq", buckets=4)


def plain(df: DataFrame, n: int) -> DataFrame:
    def work(key: Any, frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        import pandas as pd

        tail, count = (np.frombuffer(state.get[0]), state.get[1]) if state.exists else (np.zeros(0), 0)
        rows = pd.concat(list(frames)).sort_values("seq")
        values = np.concatenate([tail, rows["load"].to_numpy()])
        count += len(rows)
        state.update((values[len(values) - min(len(values), n - 1) :].tobytes(), count))
        if len(values) >= n:
            peaks = sash.rolling(values, sash.Max(), range=n)
            ends = np.arange(count - len(peaks) + 1, count + 1)
            yield pd.DataFrame({"plug": key[0], "window_start": ends - n, "window_end": ends, "peak": peaks})

    schema = "plug int, window_start long, window_end long, peak double"
    return df.groupBy("plug").applyInPandasWithState(work, schema, "tail binary, count long", "append", "NoTimeout")


CONTENDERS: dict[str, Made] = {"sash": ours, "plain": plain}


def write(path: Path, keys: int, begin: int, rows: int) -> None:
    """A file of the stream."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    seq = np.arange(begin, begin + rows)
    load = np.random.default_rng(begin).random(rows)
    pq.write_table(pa.table({"plug": (seq % keys).astype(np.int32), "seq": seq, "load": load}), path)


class Files:
    """The files of a stream, each a micro-batch, in the order in which they are added."""

    def __init__(self, folder: Path, keys: int) -> None:
        self.folder, self.keys = folder, keys
        self._files = self._rows = 0
        folder.mkdir(parents=True)

    def made(self, batches: int, rows: int) -> list[Path]:
        """Files that the stream does not see yet."""
        paths = []
        for _ in range(batches):
            path = self.folder.parent / f"{self.folder.name}_{self._files}.parquet"
            write(path, self.keys, self._rows, rows)
            os.utime(path, (10**9 + self._files, 10**9 + self._files))
            self._files, self._rows = self._files + 1, self._rows + rows
            paths.append(path)
        return paths

    def add(self, paths: list[Path]) -> None:
        for path in paths:
            path.rename(self.folder / path.name)


def measure(spark: SparkSession, folder: Path, made: Made, case: tuple[int, int, int, int]) -> tuple[float, float]:
    """CPU seconds and wall seconds of the micro-batches that count."""
    from process_tree import cpu_seconds

    keys, n, batches, rows = case
    files = Files(folder / "in", keys)
    files.add([*files.made(*WARM), *files.made(min(2, batches // 2), rows)])
    more = files.made(batches, rows)
    df = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(files.folder))
    writer = made(df, n).writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
    stream = writer.start()
    try:
        stream.processAllAvailable()
        begin, cpu = time.perf_counter(), cpu_seconds()
        files.add(more)
        stream.processAllAvailable()
        return cpu_seconds() - cpu, time.perf_counter() - begin
    finally:
        stream.stop()


def measured(folder: Path, cases: Sequence[tuple[int, int, int, int]] = CASES) -> Iterator[dict[str, Any]]:
    """A row for each case and contender, as bench_spark writes them: n is the number of rows of a micro-batch."""
    spark = session(folder)
    for number, case in enumerate(cases):
        keys, _, batches, rows = case
        for name, made in CONTENDERS.items():
            spent, wall = measure(spark, folder / f"{number}_{name}", made, case)
            total = rows * batches
            yield {
                "workload": f"streaming {keys} keys",
                "n": rows,
                "contender": name,
                "round": 0,
                "rows": total,
                "wall_s": round(wall, 3),
                "cpu_s": round(spent, 3),
                "rows_per_s": round(total / wall),
                "cpu_s_per_million": round(spent / total * 1e6, 4),
            }
    spark.stop()


def session(folder: Path) -> SparkSession:
    """A local Spark with two workers."""
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder.master("local[2]").appName("sash-bench-streaming")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.shuffle.partitions": 2,
        "spark.sql.execution.arrow.maxRecordsPerBatch": 100_000,
        "spark.sql.execution.arrow.maxBytesPerBatch": 2**31 - 1,  # else Spark adds up a batch's bytes at each row
        "spark.ui.enabled": False,
        "spark.ui.showConsoleProgress": False,
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    made: SparkSession = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made
