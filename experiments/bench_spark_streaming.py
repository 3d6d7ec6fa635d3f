"""Streams on Spark: count windows beside a plain stateful function, time windows beside ``F.window``. A part of
``make bench-spark``.

A stream of files, each a micro-batch; the maximum of each window; results go nowhere (the noop sink). The plain
function is what a user writes with ``applyInPandasWithState``: grouped by key, a row out for each row in, the last
n - 1 values as state, and the same kernel (``sash.rolling``).

Streams run for days, so what is measured is a stream that has been running: first come many small micro-batches and
some like those that count, until the JVM has compiled what it runs; then, in the same stream, those that count. CPU
seconds are of the whole process tree, source, shuffle and sink included; nothing is subtracted. Contenders that are
slow are given fewer rows, but so many that a micro-batch's own cost is little beside that of its rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import sash
import sash_spark
from bench_spark_common import Row, Spent, row, session
from spark_tables import KEYS, RATIOS

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "plug int, seq long, ts timestamp, load double"
Made = Callable[["DataFrame", int], "DataFrame"]
Batches = tuple[int, int]
"""(micro-batches, rows of each)."""


@dataclass(frozen=True)
class Case:
    """A contender on a stream: ``size`` is its windows', ``n`` what the table is by."""

    workload: str
    n: int
    contender: str
    made: Made
    size: int
    keys: int
    warm: tuple[Batches, ...]
    counted: Batches


# count windows


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
    rows = df.select("plug", "seq", "load")
    return rows.groupBy("plug").applyInPandasWithState(work, schema, "tail binary, count long", "append", "NoTimeout")


COUNT: dict[str, Made] = {"sash": ours, "plain": plain}
COUNT_STREAMS = [(10_000, 10, (2, 100_000)), (84, 1024, (4, 1_000_000)), (84, 1024, (8, 100_000))]
"""Keys, rows a window, micro-batches; windows are full before those that count begin."""


def count_cases() -> Iterator[Case]:
    for keys, size, (batches, rows) in COUNT_STREAMS:
        for name, made in COUNT.items():
            warm = ((40, 200), (batches // 2, rows))
            yield Case(f"streaming {keys} keys", rows, name, made, size, keys, warm, (batches, rows))


# time windows


def ours_in_time(df: DataFrame, ratio: int) -> DataFrame:
    window = sash.sliding(f"{ratio}s", "1s")
    query = sash.Query(key="plug", windows=window, aggregates={"peak": sash.Max("load")}, time="ts")
    return sash_spark.aggregate(df, query, buckets=4)


def native_in_time(df: DataFrame, ratio: int) -> DataFrame:
    from pyspark.sql import functions as F

    window = F.window("ts", f"{ratio} seconds", "1 second") if ratio > 1 else F.window("ts", "1 second")
    peaks = df.withWatermark("ts", "0 seconds").groupBy("plug", window).agg(F.max("load").alias("peak"))
    return peaks.select("plug", "window.start", "window.end", "peak").toDF("plug", "window_start", "window_end", "peak")


TIME: dict[str, Made] = {"sash": ours_in_time, "F.window": native_in_time}
NATIVE: dict[int, tuple[tuple[Batches, ...], Batches]] = {
    1: (((20, 200), (1, 500_000)), (2, 500_000)),
    10: (((20, 200), (1, 50_000)), (2, 100_000)),
    60: (((20, 80), (1, 8_000)), (2, 16_000)),
    600: (((5, 40), (1, 400)), (1, 1_000)),
    3600: (((1, 8),), (1, 24)),
}
"""What Spark's own windows are given: a row is in ``ratio`` windows, and is put into each."""


def time_cases() -> Iterator[Case]:
    for ratio in RATIOS:
        loads = {"sash": (((20, 200), (1, 500_000)), (2, 500_000)), "F.window": NATIVE[ratio]}
        for name, made in TIME.items():
            yield Case("streaming time", ratio, name, made, ratio, KEYS, *loads[name])


# measuring


def write(path: Path, keys: int, begin: int, rows: int) -> None:
    """A file of the stream: a reading a key and second."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    seq = np.arange(begin, begin + rows)
    load = np.random.default_rng(begin).random(rows)
    ts = pa.array(seq // keys * 10**6, pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"plug": (seq % keys).astype(np.int32), "seq": seq, "ts": ts, "load": load}), path)


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

    def add(self, paths: Iterable[Path]) -> None:
        for path in paths:
            path.rename(self.folder / path.name)


def measure(spark: SparkSession, folder: Path, case: Case) -> Spent:
    """What the micro-batches cost that count."""
    files = Files(folder / "in", case.keys)
    files.add([path for batches in case.warm for path in files.made(*batches)])
    more = files.made(*case.counted)
    df = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(files.folder))
    writer = case.made(df, case.size).writeStream.format("noop")
    stream = writer.option("checkpointLocation", str(folder / "checkpoint")).start()
    try:
        stream.processAllAvailable()
        begin = Spent.now()
        files.add(more)
        stream.processAllAvailable()
        return Spent.now().since(begin)
    finally:
        stream.stop()


STREAMS: dict[str, Callable[[], Iterator[Case]]] = {"streaming": count_cases, "streaming-time": time_cases}


def measured(folder: Path, workloads: list[str]) -> Iterator[Row]:
    """A row for each case."""
    spark = session(folder)
    for number, case in enumerate(case for name in workloads for case in STREAMS[name]()):
        spent = measure(spark, folder / str(number), case)
        rows = case.counted[0] * case.counted[1]
        yield row(case.workload, case.n, case.contender, rows, spent)
    spark.stop()
