"""Streams of files for the tests of streaming: each file is a micro-batch."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

_NUMBERS = count()


@dataclass
class Stream:
    """A folder of files, and where a stream over it has got to."""

    spark: SparkSession
    folder: Path
    schema: str
    progress: list[Any] = field(default_factory=list)
    _files: int = 0

    def add(self, rows: Sequence[Any]) -> None:
        """A file of rows, the next micro-batch."""
        self.write(self.spark.createDataFrame(list(rows), self.schema))

    def write(self, df: DataFrame) -> None:
        """The rows of a DataFrame as the next micro-batch."""
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        table = df.toArrow()
        self.folder.joinpath("in").mkdir(exist_ok=True)
        path = self.folder / "in" / f"{self._files}.parquet"
        pq.write_table(table, path)
        os.utime(path, (10**9 + self._files, 10**9 + self._files))
        self._files += 1

    @property
    def source(self) -> DataFrame:
        """The streaming DataFrame."""
        files = self.spark.readStream.schema(self.schema).option("maxFilesPerTrigger", 1)
        return files.parquet(str(self.folder / "in"))

    def run(self, made: Callable[[DataFrame], DataFrame], mode: str = "append") -> list[Row]:
        """All results of what there is now, from where the checkpoint is."""
        found: list[Row] = []

        def take(batch: DataFrame, number: int) -> None:
            found.extend(batch.collect())

        writer = made(self.source).writeStream.foreachBatch(take).outputMode(mode)
        query = writer.option("checkpointLocation", str(self.folder / "checkpoint")).trigger(availableNow=True).start()
        try:
            assert query.awaitTermination(600), "the stream has not come to its end"
        finally:
            self.progress = list(query.recentProgress)
            query.stop()
        return found

    def metric(self, name: str) -> int:
        """The sum of a metric over the micro-batches of the last run."""
        return sum(each.observedMetrics["sash"][name] for each in self.progress if "sash" in each.observedMetrics)


@pytest.fixture
def stream_of(spark: SparkSession, tmp_path: Path) -> Callable[..., Stream]:
    """Makes a stream: ``stream_of("k string, ts timestamp", [rows of a micro-batch, …])``."""

    def made(schema: str, batches: Sequence[Sequence[Any]] = ()) -> Stream:
        stream = Stream(spark, tmp_path / f"stream{next(_NUMBERS)}", schema)
        stream.folder.mkdir()
        for batch in batches:
            stream.add(batch)
        return stream

    return made
