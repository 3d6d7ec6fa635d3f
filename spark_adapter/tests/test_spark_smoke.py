"""Spark's Python workers have Sash: the core computes inside a real local Spark."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import sash

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from pyspark.sql import SparkSession

ROWS = [("a", 1, 3.0), ("a", 2, 1.0), ("a", 3, 2.0), ("b", 1, 5.0), ("b", 2, 4.0)]

# What the workers run is defined inside the tests, to be sent by value: a worker cannot import test modules.


def test_sliding_maximum_in_apply_in_pandas(spark: SparkSession) -> None:
    def sliding_max(group: pd.DataFrame) -> pd.DataFrame:
        window = sash.aggregators.DABA(sash.Max())
        group = group.sort_values("ts")
        peaks = []
        for load in group["load"]:
            window.insert(load)
            if len(window) > 2:
                window.evict()
            peaks.append(window.query())
        group["peak"], group["pid"] = peaks, os.getpid()
        return group

    frame = spark.createDataFrame(ROWS, "plug string, ts long, load double")
    schema = "plug string, ts long, load double, peak double, pid long"
    rows = frame.groupBy("plug").applyInPandas(sliding_max, schema).collect()

    assert sorted((row.plug, row.ts, row.peak) for row in rows) == [
        ("a", 1, 3.0),
        ("a", 2, 3.0),
        ("a", 3, 2.0),
        ("b", 1, 5.0),
        ("b", 2, 5.0),
    ]
    assert os.getpid() not in {row.pid for row in rows}


def test_workers_run_in_this_environment(spark: SparkSession) -> None:
    def where(batches: Iterable[pd.DataFrame]) -> Iterable[pd.DataFrame]:
        for batch in batches:
            yield batch.assign(prefix=sys.prefix, version=sys.version, core=sash.__file__)

    schema = "id long, prefix string, version string, core string"
    (row,) = spark.range(1).mapInPandas(where, schema).collect()
    assert (row.prefix, row.version, row.core) == (sys.prefix, sys.version, sash.__file__)


def test_workers_do_not_look_for_garbage_among_what_they_have_loaded(spark: SparkSession) -> None:
    def counted(batches: Iterable[pd.DataFrame]) -> Iterable[pd.DataFrame]:
        import gc

        from sash_spark.worker import settle

        for batch in batches:
            settle()
            settle()  # the second call of a worker's, whatever tasks it had before, or a later one
            yield batch.assign(id=gc.get_freeze_count())

    rows = spark.range(0, 1, 1, 1).mapInPandas(counted, "id long").collect()
    assert [row.id > 20_000 for row in rows] == [True]
