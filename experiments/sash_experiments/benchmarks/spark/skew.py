"""A key with nine tenths of the rows on two cores of Spark, beside eight keys with as many rows each.

Both have the same rows in Parquet files but for their keys, and the maximum of every minute is computed, in one phase
(rows are shuffled by key and sorted) and in two (``salted``: rows become slices where they are). What skew costs shows
in the wall: one of both cores waits. The goal is how much longer the skewed rows take than the even ones do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import sash
import sash_spark
from sash_experiments.benchmark import Case
from sash_experiments.benchmarks.spark.batch import CHECK, contender
from sash_experiments.benchmarks.spark.tables import EVEN, KEYS, SKEWED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["cases"]

QUERY = sash.Query(key="plug", windows=sash.tumbling("1m"), aggregates={"peak": sash.Max("load")}, time="ts")
PLUGS = {EVEN: f"seconds % {KEYS}", SKEWED: f"CASE WHEN seconds % 100 < {SKEWED} THEN 0 ELSE 1 + seconds % {KEYS} END"}
"""The key of a row, by the percentage of the rows that the most frequent one has."""


def cases(spark: SparkSession, path: Path, rows: int) -> Iterator[Case]:
    """One for each spread of the keys."""
    ways: dict[str, Callable[[DataFrame], DataFrame]] = {
        "sash": lambda frame: sash_spark.aggregate(frame, QUERY),
        "sash, salted": lambda frame: sash_spark.aggregate(frame, QUERY, salted=True),
    }
    for percent, plug in PLUGS.items():
        numbers = spark.range(rows).selectExpr("id AS seconds", "timestamp_millis(id * 10) AS ts", "rand(5) AS load")
        frame = _write(numbers.selectExpr(f"{plug} AS plug", "seconds", "ts", "load"), path / str(percent))
        few = frame.where(f"seconds < {CHECK}")
        contenders = [contender(name, compute, frame, few) for name, compute in ways.items()]
        yield Case({"workload": "skew", "n": percent}, contenders)


def _write(frame: DataFrame, path: Path) -> DataFrame:
    frame.repartition(4).write.mode("overwrite").parquet(str(path))
    return frame.sparkSession.read.parquet(str(path))
