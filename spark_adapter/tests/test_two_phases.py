"""A batch in two phases gives what :func:`sash.run` gives, wherever the rows of a key are."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

import sash
import sash_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "plug string, house int, ts timestamp, km double, load double, price decimal(12,2), ok boolean"
NAMES = [column.split()[0] for column in SCHEMA.split(", ")]


def readings(rows: int = 400) -> list[tuple[Any, ...]]:
    """Rows in no order, nine tenths of them of one key, with nulls."""
    chance = random.Random(11)
    begin = dt.datetime(2024, 3, 1, tzinfo=dt.UTC)
    return [
        (
            "big" if chance.random() < 0.9 else chance.choice(["small", None, "other"]),
            chance.randrange(3),
            begin + dt.timedelta(seconds=chance.randrange(300)),
            chance.randrange(400) / 4,
            None if chance.random() < 0.1 else chance.randrange(64) / 8,
            None if chance.random() < 0.1 else Decimal(chance.randrange(1000)).scaleb(-2),
            chance.random() < 0.5,
        )
        for _ in range(rows)
    ]


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> Iterator[DataFrame]:
    frame = spark.createDataFrame(readings(), SCHEMA).repartition(3).cache()
    yield frame
    frame.unpersist()


AGGREGATES: dict[str, sash.Aggregation] = {
    "rows": sash.Count(),
    "peak": sash.Max("load"),
    "total": sash.Sum("price"),
    "mean": sash.Mean("load"),
    "spread": sash.SampleStdDev("load"),
    "middle": sash.Median("load"),
    "latest": sash.Max("ts"),
    "cheap": sash.Min("price", where="ok"),
}
WINDOWS: dict[str, Any] = {
    "time": sash.sliding("30s", "7s"),
    "tumbling": sash.tumbling("45s"),
    "cumulative": sash.cumulative("1m", "20s"),
    "session": sash.session("2s"),
    "calendar": sash.tumbling("1mo", zone="UTC"),
    "km": sash.sliding(10, 2.5, on="km"),
    "several orders": {
        "short": sash.sliding("30s", "10s"),
        "gap": sash.session("2s"),
        "km": sash.tumbling(20, on="km"),
    },
}


def same(found: Any, query: sash.Query) -> None:
    expected = sash.run(query, [dict(zip(NAMES, row, strict=True)) for row in readings()])
    assert found.columns == list(query.results)
    assert listed(found.collect()) == listed(row.values() for row in expected)


def listed(rows: Any) -> list[str]:
    """Rows that compare: times in UTC, since Spark has them in the zone of the machine; sums of floats rounded."""

    def plain(value: Any) -> Any:
        if isinstance(value, dt.datetime):
            return value.astimezone(dt.UTC)
        return round(value, 9) if isinstance(value, float) else value

    return sorted(repr([plain(value) for value in row]) for row in rows)


@pytest.mark.parametrize("name", WINDOWS)
def test_as_in_one_process(frame: DataFrame, name: str) -> None:
    query = sash.Query(key="plug", windows=WINDOWS[name], aggregates=AGGREGATES, time="ts")
    if name == "several orders":  # whose bounds are structures here
        columns = ["plug", "window", *AGGREGATES]
        found, expected = (sash_spark.aggregate(frame, query, salted=salted) for salted in (True, None))
        assert listed(found.select(columns).collect()) == listed(expected.select(columns).collect())
        return
    same(sash_spark.aggregate(frame, query, salted=True), query)


@pytest.mark.parametrize("salted", [None, True, 5])
def test_without_a_key(frame: DataFrame, salted: Any) -> None:
    query = sash.Query(windows=sash.sliding("30s", "7s"), aggregates=AGGREGATES, time="ts")
    same(sash_spark.aggregate(frame, query, salted=salted), query)


def test_dealt_to_tasks_and_merged_in_others(frame: DataFrame) -> None:
    query = sash.Query(key=("plug", "house"), windows=sash.tumbling("1m"), aggregates=AGGREGATES, time="ts")
    same(sash_spark.aggregate(frame, query, salted=4, partitions=3), query)
    same(sash_spark.aggregate(frame.coalesce(1), query, salted=True), query)


def test_corrections_have_nothing_to_correct(frame: DataFrame) -> None:
    query = sash.Query(
        key="plug", windows=sash.tumbling("1m"), aggregates={"n": sash.Count()}, time="ts", watermark_delay="1s",
        allowed_lateness="1m",
    )  # fmt: skip
    same(sash_spark.aggregate(frame, query, salted=True), query)


def test_no_rows(spark: SparkSession) -> None:
    query = sash.Query(windows=sash.tumbling("1m"), aggregates=AGGREGATES, time="ts")
    assert sash_spark.aggregate(spark.createDataFrame([], SCHEMA), query).collect() == []


def test_what_cannot_be_and_what_is_said(frame: DataFrame) -> None:
    query = sash.Query(key="plug", windows=sash.tumbling("1m"), aggregates={"n": sash.Count()}, time="ts")
    last = query.using(aggregates={"last": sash.Last("load")})
    with pytest.raises(ValueError, match=r"salted= cannot be used here: Last.* is not commutative"):
        sash_spark.aggregate(frame, last, salted=4)
    with pytest.raises(ValueError, match="salted must be a whole number"):
        sash_spark.aggregate(frame, query, salted="4")
    assert "two phases" not in sash_spark.explain(frame, query)
    told = sash_spark.explain(frame, query, salted=4)
    assert "in two phases: rows, dealt to 4 tasks, are reduced to slices" in told and "merged by plug" in told
    assert "merged in one task" in sash_spark.explain(frame, query.using(key=None))
    one_task = "into one task, because the query has no key"
    assert one_task in sash_spark.explain(frame, query.using(key=None), salted=False)
    assert one_task in sash_spark.explain(frame, last.using(key=None))
