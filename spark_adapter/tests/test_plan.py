"""What ``explain`` tells before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

import sash
import sash_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "k string, ts timestamp, n long"


def query(**changes: Any) -> sash.Query:
    given: dict[str, Any] = {"windows": sash.sliding(2**10), "aggregates": {"sum": sash.Sum("n")}}
    return sash.Query(**{"key": "k", "time": "ts"} | given | changes)


def test_a_batch(spark: SparkSession) -> None:
    frame = spark.createDataFrame([], SCHEMA)
    told = sash_spark.explain(frame, query())
    assert told.startswith(sash.explain(query()))
    assert "spark      a batch: shuffled by k and sorted;" in told
    assert "into one task, because the query has no key" in sash_spark.explain(frame, query(key=None))
    with pytest.raises(KeyError, match="'m' is not in the DataFrame"):
        sash_spark.explain(frame, query(aggregates={"sum": sash.Sum("m")}))


def test_a_stream_is_warned_of_above_a_size(stream_of: Callable[..., Any]) -> None:
    source = stream_of(SCHEMA, [[]]).source
    told = sash_spark.explain(source, query(), buckets=4)
    assert "spark      a stream: keys in 4 buckets" in told
    assert "store      whole: a bucket's state is written in each micro-batch; it needs Spark's RocksDB" in told
    assert "warning" not in told
    wide = sash_spark.explain(source, query(windows=sash.sliding(2**20)))
    assert "warning    a window has 1,048,576 slices, and the state of each key, some 16 MB, is written whole" in wide
    slow = sash_spark.explain(source, query(allowed_lateness="1m"))
    assert "warning    " in slow and "row by row" in slow
