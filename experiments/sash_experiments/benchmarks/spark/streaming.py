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
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import sash
import sash_spark
from sash_experiments.benchmark import Case, Contender, Row
from sash_experiments.benchmarks.spark.session import Spent
from sash_experiments.benchmarks.spark.tables import KEYS, RATIOS

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["COUNT", "SCHEMA", "TIME", "Files", "answer", "count_cases", "time_cases"]

SCHEMA = "plug int, seq long, ts timestamp, load double"
Compute = Callable[["DataFrame", int], "DataFrame"]
Batches = tuple[int, int]
"""(micro-batches, rows of each)."""


# count windows


def ours(df: DataFrame, n: int) -> DataFrame:
    query = sash.Query(key="plug", windows=sash.sliding(n), aggregates={"peak": sash.Max("load")})
    return sash_spark.aggregate(df, query, order="seq", buckets=4)


def plain(df: DataFrame, n: int) -> DataFrame:
    def work(key: Any, frames: Iterable[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
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


COUNT: dict[str, Compute] = {"sash": ours, "plain": plain}
COUNT_STREAMS = [(10_000, 10, (2, 100_000)), (84, 1024, (4, 1_000_000)), (84, 1024, (8, 100_000))]
"""Keys, rows a window, micro-batches; windows are full before those that count begin."""


def count_cases(spark: SparkSession, folder: Path) -> Iterator[Case]:
    for keys, size, counted in COUNT_STREAMS:
        batches, rows = counted
        stream = Stream(spark, folder, keys, size, ((40, 200), (batches // 2, rows)), counted)
        contenders = [stream.contender(name, compute) for name, compute in COUNT.items()]
        yield Case({"workload": f"streaming {keys} keys", "n": rows}, contenders)


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


TIME: dict[str, Compute] = {"sash": ours_in_time, "F.window": native_in_time}
NATIVE: dict[int, tuple[tuple[Batches, ...], Batches]] = {
    1: (((20, 200), (1, 500_000)), (2, 500_000)),
    10: (((20, 200), (1, 50_000)), (2, 100_000)),
    60: (((20, 80), (1, 8_000)), (2, 16_000)),
    600: (((5, 40), (1, 400)), (1, 1_000)),
    3600: (((1, 8),), (1, 24)),
}
"""What Spark's own windows are given: a row is in ``ratio`` windows, and is put into each."""


def time_cases(spark: SparkSession, folder: Path) -> Iterator[Case]:
    for ratio in RATIOS:
        loads = {"sash": (((20, 200), (1, 500_000)), (2, 500_000)), "F.window": NATIVE[ratio]}
        contenders = [
            Stream(spark, folder, KEYS, ratio, *loads[name]).contender(name, compute) for name, compute in TIME.items()
        ]
        yield Case({"workload": "streaming time", "n": ratio}, contenders)


# measuring


def write(path: Path, keys: int, begin: int, rows: int) -> None:
    """A file of the stream: a reading a key and second."""
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

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

    def new(self, batches: int, rows: int) -> list[Path]:
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

    def read(self, spark: SparkSession) -> DataFrame:
        """The stream of them."""
        return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(self.folder))


@dataclass(frozen=True)
class Stream:
    """A stream of so many keys and windows of a size: first micro-batches that warm it up, then those that count."""

    spark: SparkSession
    folder: Path
    keys: int
    size: int
    warm: tuple[Batches, ...]
    counted: Batches

    def contender(self, name: str, compute: Compute) -> Contender:
        return Contender(name, partial(self.measure, compute), partial(self.answer, compute))

    def new_folder(self) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(dir=self.folder))

    def answer(self, compute: Compute) -> list[Any]:
        """All results of a short stream of few keys and windows of at most 10."""
        folder = self.new_folder()
        files = Files(folder / "in", 3)
        files.add(files.new(2, 100))
        return answer(self.spark, compute, min(self.size, 10), files, folder / "checkpoint")

    def measure(self, compute: Compute) -> Iterator[Row]:
        """What the micro-batches cost that count."""
        folder = self.new_folder()
        files = Files(folder / "in", self.keys)
        files.add([path for batches in self.warm for path in files.new(*batches)])
        more = files.new(*self.counted)
        writer = compute(files.read(self.spark), self.size).writeStream.format("noop")
        stream = writer.option("checkpointLocation", str(folder / "checkpoint")).start()
        try:
            stream.processAllAvailable()
            begin = Spent.now()
            files.add(more)
            stream.processAllAvailable()
            batches, rows = self.counted
            yield begin.row(batches * rows)
        finally:
            stream.stop()


def answer(spark: SparkSession, compute: Compute, size: int, files: Files, checkpoint: Path) -> list[Any]:
    """All results over files, in order."""
    table = f"bench_{abs(hash(checkpoint))}"
    writer = compute(files.read(spark), size).writeStream.format("memory").queryName(table)
    writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start().awaitTermination()
    return sorted(map(tuple, spark.table(table).select("plug", "window_start", "window_end", "peak").collect()))
