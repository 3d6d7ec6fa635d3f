"""Columns named as those that Sash adds on the way, in batches and streams, are columns like any other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import sash
import sash_spark

NAMES = ["g", "c0", "c1", "o0", "o1", "bucket", "task", "piece", "sash_event_time", "sash_late", "keys", "order_0"]
SCHEMA = "rank string, rows timestamp, " + ", ".join(f"{name} int" for name in NAMES)
QUERY = sash.Query(
    key=["rank", "bucket"],
    windows=sash.tumbling("10s"),
    aggregates={name: sash.Sum(name) for name in NAMES if name != "bucket"},
    time="rows",
)
START = datetime(2024, 1, 1, tzinfo=UTC)
ROWS: list[tuple[Any, ...]] = [
    (key, START + timedelta(seconds=second), *(1 if name == "bucket" else second + i for i, name in enumerate(NAMES)))
    for second in range(15)
    for key in ("a", "b")
]


@pytest.mark.parametrize("order", [None, ["o0", "g"]])
def test_in_batches_and_streams(stream_of: Callable[..., Any], order: Any) -> None:
    stream = stream_of(SCHEMA, [ROWS[:14], ROWS[14:]])
    expected = sorted(
        [key, 1, *(sum(range(10)) + 10 * i for i, name in enumerate(NAMES) if name != "bucket")] for key in ("a", "b")
    )
    whole = sash_spark.aggregate(stream.spark.createDataFrame(ROWS, SCHEMA), QUERY, order)
    batch = whole.where("window_start < timestamp'2024-01-01 00:00:10'")  # the stream's last window stays open
    streamed = stream.run(lambda df: sash_spark.aggregate(df, QUERY, order, buckets=2))
    for rows in (batch.collect(), streamed):
        assert sorted([row[name] for name in ("rank", *QUERY.keys[1:], *QUERY.aggregates)] for row in rows) == expected
