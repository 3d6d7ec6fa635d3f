"""What follows a query may be stateful too: the ends of its windows are event time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

import sash
import sash_spark
from sash_spark.streaming_parts import PROVIDER, ROCKSDB, importable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "k string, ts timestamp, n long"
QUERY = sash.Query(
    key="k", windows=sash.tumbling("10s"), aggregates={"sum": sash.Sum("n")}, time="ts", watermark_delay="2s"
)


def at(seconds: float) -> datetime:
    return datetime(2024, 3, 31, tzinfo=UTC) + timedelta(seconds=seconds)


@pytest.fixture
def rocksdb(spark: SparkSession) -> Iterator[None]:
    spark.conf.set(PROVIDER, ROCKSDB)
    yield
    spark.conf.unset(PROVIDER)


@pytest.mark.xfail(importable() is not None, run=False, reason=f"state in parts: {importable()}")
@pytest.mark.usefixtures("rocksdb")
def test_windows_of_windows(stream_of: Callable[..., Any]) -> None:
    """Sums of ten seconds, and the largest of them of each minute; their ends are in (0, 60], as with Spark's own."""
    seconds = [1, 3, 12, 14, 25, 31, 33, 47, 58, 59, 61, 63, 75, 88, 99, 130, 200, 300]
    rows = [("ab"[i % 2], at(second), i) for i, second in enumerate(seconds)]
    stream = stream_of(SCHEMA, [rows[:5], rows[5:9], rows[9:14], rows[14:16], rows[16:17], rows[17:]])

    def largest(df: DataFrame) -> DataFrame:
        sums = sash_spark.aggregate(df, QUERY, buckets=2, event_time=True)
        return sums.groupBy(F.window("window_end", "1 minute")).agg(F.max("sum").alias("most"), F.count("*").alias("n"))

    found = {row.window.start.astimezone(UTC): (row.most, row.n) for row in stream.run(largest)}
    sums = sash.run(QUERY, [dict(zip(("k", "ts", "n"), row, strict=True)) for row in rows])
    expected: dict[datetime, tuple[int, int]] = {}
    for row in sums:
        minute = row["window_end"].replace(second=0)
        most, count = expected.get(minute, (0, 0))
        expected[minute] = max(most, row["sum"]), count + 1
    assert len(found) >= 3
    assert found == {minute: expected[minute] for minute in found}


def test_what_cannot_be_event_time(stream_of: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="event_time= needs state in parts: it needs Spark's RocksDB"):
        sash_spark.aggregate(stream_of(SCHEMA, [[]]).source, QUERY, event_time=True)


@pytest.mark.xfail(importable() is not None, run=False, reason=f"state in parts: {importable()}")
@pytest.mark.usefixtures("rocksdb")
def test_corrections_would_be_late(stream_of: Callable[..., Any]) -> None:
    source = stream_of(SCHEMA, [[]]).source
    with pytest.raises(ValueError, match="they would be late for what follows"):
        sash_spark.aggregate(source, QUERY.using(allowed_lateness="1m"), event_time=True)
    with pytest.raises(ValueError, match="for windows that end at timestamps"):
        sash_spark.aggregate(source, QUERY.using(windows=sash.tumbling(3)), event_time=True)
