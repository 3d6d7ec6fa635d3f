"""Output mode update: who replaces rows by key and window has the windows of all rows so far, open ones included."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

import sash
import sash_spark
from sash_spark.streaming_parts import PROVIDER, ROCKSDB, importable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "k string, ts timestamp, n long"
QUERY = sash.Query(
    key="k",
    windows=sash.sliding("20s", "10s"),
    aggregates={"sum": sash.Sum("n"), "rows": sash.Count()},
    time="ts",
    watermark_delay="2s",
    allowed_lateness="1m",
)
BATCHES = [[("a", 1, 1), ("b", 3, 10), ("a", 9, 2)], [("a", 12, 4), ("b", 35, 20)], [("a", 40, 1), ("b", 2, 40)]]


def at(seconds: float) -> datetime:
    return datetime(2024, 3, 31, tzinfo=UTC) + timedelta(seconds=seconds)


def rows_of(rows: list[tuple[str, int, int]]) -> list[tuple[str, datetime, int]]:
    return [(k, at(seconds), n) for k, seconds, n in rows]


@pytest.fixture(params=["whole", "parts"])
def state(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    if request.param == "parts":
        if importable() is not None:
            pytest.xfail(f"state in parts: {importable()}")
        spark.conf.set(PROVIDER, ROCKSDB)
    yield request.param
    spark.conf.unset(PROVIDER)


def test_the_last_rows_are_the_windows_of_all_rows(state: str, stream_of: Callable[..., Any]) -> None:
    stream, counts = stream_of(SCHEMA), []
    kept: dict[Any, Any] = {}
    for number in range(len(BATCHES)):
        stream.add(rows_of(BATCHES[number]))
        found = stream.run(lambda df: sash_spark.aggregate(df, QUERY, buckets=2, mode="update", state=state), "update")
        counts.append(len(found))
        for row in found:
            kept[row.k, row.window_start.astimezone(UTC), row.window_end.astimezone(UTC)] = (row.sum, row.rows)
        so_far = [row for batch in BATCHES[: number + 1] for row in rows_of(batch)]
        expected = sash.run(QUERY, [dict(zip(("k", "ts", "n"), row, strict=True)) for row in so_far])
        bounds = ("k", "window_start", "window_end")
        assert kept == {tuple(row[name] for name in bounds): (row["sum"], row["rows"]) for row in expected}
    assert counts[0] >= 4  # a and b have two open windows each


def test_what_cannot_be_updated(stream_of: Callable[..., Any]) -> None:
    source = stream_of(SCHEMA, [[]]).source
    sessions = QUERY.using(windows=sash.session("5s"), allowed_lateness=None)
    with pytest.raises(ValueError, match=r"windows cannot be updated: the bounds of session .* depend on tuples"):
        sash_spark.aggregate(source, sessions, mode="update")
    with pytest.raises(ValueError, match="salted= is for batches: a stream follows the watermark of each key"):
        sash_spark.aggregate(source, QUERY, salted=2)
    with pytest.raises(ValueError, match="mode must be 'append' or 'update'; got 'complete'"):
        sash_spark.aggregate(source, QUERY, mode="complete")
