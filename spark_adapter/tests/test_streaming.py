"""Streaming: micro-batches, watermarks, timers, late rows, states that go on, metrics; on a real local Spark."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

import sash
import sash_spark
from sash import StateError
from sash.spi import KeyedOperator
from sash_spark import state
from sash_spark.state import read_state

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

SCHEMA = "k string, ts timestamp, x double, n long"
TIMED = sash.Query(
    key="k",
    windows=sash.tumbling("10s"),
    aggregates={"peak": sash.Max("x"), "rows": sash.Count(), "sum": sash.Sum("n")},
    time="ts",
    watermark_delay="2s",
)


def at(seconds: float) -> datetime:
    return datetime(2024, 3, 31, 0, 59, 50, tzinfo=UTC) + timedelta(seconds=seconds)


def told(rows: list[Row], *names: str) -> list[tuple[Any, ...]]:
    """Rows as tuples of some columns, in order; times as seconds."""

    def plain(value: Any) -> Any:
        if isinstance(value, datetime):
            return (value.astimezone(UTC) - at(0)).total_seconds()
        return value

    return sorted(tuple(plain(row[name]) for name in names) for row in rows)


def over(query: sash.Query, **options: Any) -> Callable[[DataFrame], DataFrame]:
    return lambda df: sash_spark.aggregate(df, query, buckets=2, **options)


def test_windows_fire_by_the_watermark_also_of_keys_that_went_silent(stream_of: Callable[..., Any]) -> None:
    """The session's clock is put back at 1:00 UTC: 00:30 local exists twice."""
    stream = stream_of(
        SCHEMA,
        [
            [("a", at(1), 1.5, 1), ("b", at(3), None, None), ("a", at(9), float("nan"), 2**60)],
            [("a", at(12), 2.0, 1), ("a", at(8), 3.0, 5)],
            [("a", at(40), 4.0, 1)],
        ],
    )
    stream.spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        df = over(TIMED)(stream.source)
        rows = stream.run(over(TIMED))
    finally:
        stream.spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert df.schema.json() == sash_spark.output_schema(TIMED, stream.source.schema).json()
    found = told(rows, "k", "window_start", "rows", "sum")
    assert found == [("a", 0, 3, 2**60 + 6), ("a", 10, 1, 1), ("b", 0, 1, None)]
    peaks = {(row.k, row.rows): row.peak for row in rows}
    assert peaks["b", 1] is None
    assert peaks["a", 3] != peaks["a", 3]
    assert (stream.metric("tuples_in"), stream.metric("results_out"), stream.metric("late_dropped")) == (6, 3, 0)


def test_late_rows_correct_or_are_counted_and_a_changed_query_goes_on(
    stream_of: Callable[..., Any], spark: SparkSession
) -> None:
    query = TIMED.using(
        windows={"ten": sash.tumbling("10s")}, aggregates={"sum": sash.Sum("n")}, allowed_lateness="20s"
    )
    stream = stream_of(SCHEMA, [[("a", at(1), 0.0, 1), ("a", at(15), 0.0, 2)]])
    first = stream.run(over(query))
    assert told(first, "window_start", "revision", "sum") == [(0, 0, 1)]

    stream.add([("a", at(2), 0.0, 10), ("a", at(42), 0.0, 4), ("a", at(3), 0.0, 100)])  # late, on time, too late
    second = stream.run(over(query, order="n"))  # by n: 4, 10, 100
    assert told(second, "window_start", "revision", "sum") == [(10, 0, 2)]
    assert stream.metric("late_dropped") == 2

    stream.add([("a", at(25), 0.0, 7)])
    third = stream.run(over(query))
    assert told(third, "window_start", "revision", "sum") == [(20, 0, 7)]

    operators = read_state(spark, str(stream.folder / "checkpoint"), query)
    (op,) = operators.values()
    assert (op.keys, op.metrics["late_dropped"], op.metrics["late_corrected"]) == (1, 2, 1)
    stored = spark.read.format("statestore").load(str(stream.folder / "checkpoint"))
    assert stored.selectExpr("sum(value.groupState.keys)").head() == (1,)

    wrong = query.using(aggregates={"sum": sash.Max("n")})
    stream.add([("a", at(100), 0.0, 1)])
    with pytest.raises(StateError, match="aggregate 'sum' differs from the one in the saved state"):
        over(wrong, checkpoint=str(stream.folder / "checkpoint"))(stream.source)
    with pytest.raises(StreamingQueryException, match="key_aggregates_and_buckets_must_be_those_of_the_che"):
        stream.run(over(wrong))
    with pytest.raises(StreamingQueryException, match="key_aggregates_and_buckets_must_be_those_of_the_che"):
        stream.run(lambda df: sash_spark.aggregate(df, query, buckets=3))
    other = query.using(windows={"ten": sash.tumbling("9s")})
    with pytest.raises(StreamingQueryException, match="window 'ten' differs from the one in the saved state"):
        stream.run(over(other))

    more = query.using(windows={"ten": sash.tumbling("10s"), "half": sash.tumbling("30s")}, allowed_lateness=None)
    stream.add([("a", at(101), 0.0, 1), ("a", at(300), 0.0, 1)])
    fourth = stream.run(over(more.using(allowed_lateness="0s")))
    found = told(fourth, "window", "window_start", "sum")
    assert found == [("half", 100, 2), ("ten", 40, 4), ("ten", 100, 2)]  # no row was lost when it was refused


def test_an_aggregate_that_is_added_is_refused_before_a_row_is_lost(stream_of: Callable[..., Any]) -> None:
    query = TIMED.using(aggregates={"sum": sash.Sum("n")})
    stream = stream_of(SCHEMA, [[("a", at(1), 0.0, 1), ("b", at(2), 0.0, 2)]])
    checkpoint = f"file://{stream.folder}/checkpoint"
    assert stream.run(over(query, checkpoint=checkpoint)) == []  # there is none yet
    more = query.using(aggregates={"sum": sash.Sum("n"), "peak": sash.Max("x")})
    stream.add([("a", at(5), 0.0, 10), ("b", at(30), 0.0, 4)])
    with pytest.raises(StreamingQueryException, match="key_aggregates_and_buckets_must_be_those_of_the_che"):
        stream.run(over(more))
    with pytest.raises(StateError, match="peak"):
        over(more, checkpoint=checkpoint)(stream.source)
    uncommitted = shutil.copytree(stream.folder / "checkpoint", stream.folder / "uncommitted")
    shutil.rmtree(uncommitted / "commits")  # as the kill of a first micro-batch leaves it
    over(more, checkpoint=f"file://{uncommitted}")(stream.source)
    assert told(stream.run(over(query, checkpoint=checkpoint)), "k", "window_start", "sum") == [
        ("a", 0, 11),
        ("b", 0, 2),
    ]


def test_corrections_to_files_of_which_the_last_one_counts(stream_of: Callable[..., Any], tmp_path: Path) -> None:
    """The file sink and ``availableNow``; update semantics as docs/spark.md has them."""
    query = TIMED.using(aggregates={"sum": sash.Sum("n")}, allowed_lateness="1h")
    stream = stream_of(SCHEMA, [])
    rows = [("ab"[i % 2], at(5 * i - 23 * (i % 3)), 0.0, 2**i) for i in range(16)]
    for begin in range(0, 16, 4):
        stream.add(rows[begin : begin + 4])
    results = over(query)(stream.source)
    out = str(tmp_path / "out")
    writer = results.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "c"))
    assert writer.trigger(availableNow=True).start(out).awaitTermination(600)
    written = stream.spark.read.parquet(out)
    assert written.where("revision > 0").count() > 0
    last = written.groupBy("k", "window_start", "window_end").agg(F.max_by("sum", "revision").alias("sum"))
    whole = sash_spark.aggregate(stream.spark.createDataFrame(rows, SCHEMA), query)
    closed = [row for row in whole.collect() if row.window_end <= max(row.window_end for row in last.collect())]
    assert told(last.collect(), "k", "window_start", "sum") == told(closed, "k", "window_start", "sum")


def test_count_windows_in_the_order_that_is_named(stream_of: Callable[..., Any]) -> None:
    schema = "key struct<`a.b`: int, c: date>, n int, v decimal(10, 2), s string, seq long"
    query = sash.Query(
        key=["key.`a.b`", "key.c"],
        windows=sash.sliding(3, 2),
        aggregates={"all": sash.Concat("s"), "sum": sash.Sum("v"), "low": sash.Min("n"), "who": sash.ArgMax("v", "s")},
    )
    from datetime import date
    from decimal import Decimal

    day = date(1969, 12, 30)
    rows = [({"a.b": 1, "c": day}, i if i % 3 else None, Decimal(i) / 4, chr(97 + i), i) for i in range(9)]
    stream = stream_of(schema, [rows[3::-1], rows[:3:-1]])
    found = stream.run(over(query, order="seq"))
    names = ["key.`a.b`", "key.c", "window_start", "all", "sum", "low", "who"]
    assert [tuple(row[name] for name in names) for row in sorted(found, key=lambda row: row.window_start)] == [
        (1, day, 0, "a,b,c", Decimal("0.75"), 1, "c"),
        (1, day, 2, "c,d,e", Decimal("2.25"), 2, "e"),
        (1, day, 4, "e,f,g", Decimal("3.75"), 4, "g"),
        (1, day, 6, "g,h,i", Decimal("5.25"), 7, "i"),
    ]
    with pytest.raises(ValueError, match="name the column that tells which came first with order="):
        over(query)(stream.source)


def test_silent_keys_are_forgotten(stream_of: Callable[..., Any]) -> None:
    query = sash.Query(key="k", windows=sash.sliding(2), aggregates={"sum": sash.Sum("n")}, time="ts")
    stream = stream_of(
        SCHEMA,
        [
            [("a", at(0), 0.0, 1), ("b", at(0), 0.0, 2)],
            [("b", at(100), 0.0, 3)],
            [("b", at(101), 0.0, 4)],
            [("a", at(102), 0.0, 5), ("a", at(103), 0.0, 6)],
        ],
    )
    rows = stream.run(lambda df: sash_spark.aggregate(df, query, buckets=1, ttl="1m"))
    assert told(rows, "k", "window_start", "sum") == [("a", 0, 11), ("b", 0, 5), ("b", 1, 7)]


def test_a_watermark_that_the_data_frame_has(stream_of: Callable[..., Any]) -> None:
    stream = stream_of(SCHEMA, [[("a", at(1), 0.0, 1)]])
    query = TIMED.using(watermark_delay=None)
    with pytest.raises(ValueError, match="the DataFrame's watermark is 1000 ms behind, less than the query's"):
        over(TIMED)(stream.source.withWatermark("ts", "1 second"))
    other = stream.source.withWatermark("ts", "1 second").selectExpr("*", "cast(ts as timestamp_ntz) as other")
    with pytest.raises(ValueError, match="has a watermark on 'ts', the query's time is 'other'"):
        over(query.using(time="other"))(other)
    stream.add([("a", at(11), 0.0, 2), ("a", at(14), 0.0, 2)])
    marked: Any = lambda df: over(query)(df.withWatermark("ts", "5 seconds"))  # noqa: E731
    assert told(stream.run(marked), "window_start", "sum") == []
    stream.add([("a", at(9), 0.0, 4), ("b", at(15), 0.0, 2)])
    assert told(stream.run(marked), "k", "window_start", "sum") == [("a", 0, 5)]


@pytest.mark.parametrize(
    ("options", "says"),
    [({"buckets": 0}, "buckets must be"), ({"ttl": "1m"}, "ttl is a time"), ({"order": "nope"}, "'nope' is not in")],
)
def test_what_is_wrong_is_said_before_it_starts(
    stream_of: Callable[..., Any], options: dict[str, Any], says: str
) -> None:
    query = sash.Query(windows=sash.sliding(2), aggregates={"sum": sash.Sum("n")})
    stream = stream_of(SCHEMA, [[("a", at(1), 0.0, 1)]])
    with pytest.raises((ValueError, KeyError), match=says):
        sash_spark.aggregate(stream.source, query, **({"order": "ts"} | options))


@pytest.mark.parametrize("windows", [sash.sliding(2), sash.sliding("10s", "5s")], ids=["count", "time"])
def test_the_first_micro_batch_does_not_even_import_numba(
    stream_of: Callable[..., Any], spark: SparkSession, monkeypatch: pytest.MonkeyPatch, windows: sash.windows.Window
) -> None:
    """In workers of their own, for others may have compiled kernels for other tests. A user's function looks."""
    monkeypatch.setitem(spark.sparkContext.environment, "SASH_TESTS_WORKERS", str(windows))
    looks = sash.aggregation("s", lift=len, combine=max, lower=lambda _: "numba" in sys.modules, name="looks")
    query = sash.Query(
        key="k",
        windows=windows,
        aggregates={"peak": sash.Max("v"), "mean": sash.Mean("v"), "numba": looks},
        time="t",
        watermark_delay="0s",
    )
    stream = stream_of("k string, t timestamp, v double, s string", [[("a", at(i), i / 2, "x") for i in range(500)]])
    found = stream.run(over(query))
    assert len(found) > 90 and {row["numba"] for row in found} == {False}


def test_processing_time_triggers_and_foreach_batch(stream_of: Callable[..., Any], tmp_path: Path) -> None:
    stream = stream_of(SCHEMA, [[("a", at(1), 1.0, 1), ("a", at(14), 0.0, 2)]])
    got: list[Row] = []

    def take(batch: DataFrame, number: int) -> None:
        got.extend(batch.collect())

    writer = over(TIMED)(stream.source).writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / "c"))
    running = writer.trigger(processingTime="100 milliseconds").start()
    try:
        running.processAllAvailable()
    finally:
        running.stop()
    assert told(got, "window_start", "peak", "sum") == [(0, 1.0, 1)]


def test_times_of_arrival_pass_although_nothing_comes(stream_of: Callable[..., Any], tmp_path: Path) -> None:
    query = TIMED.using(time=sash.arrival_time, watermark_delay=None, windows=sash.tumbling("1s"))
    stream = stream_of(SCHEMA, [[("a", None, 1.0, 1), ("b", None, 3.0, 2), ("a", None, 2.0, 4)]])
    got: list[Row] = []
    done = threading.Event()

    def take(batch: DataFrame, number: int) -> None:
        got.extend(batch.collect())
        if len(got) >= 2:
            done.set()

    writer = over(query)(stream.source).writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / "c"))
    running = writer.trigger(processingTime="100 milliseconds").start()
    try:
        assert done.wait(120), "the clock has completed no window"
    finally:
        running.stop()
    assert told(got, "k", "peak", "sum") == [("a", 2.0, 5), ("b", 3.0, 2)]
    assert len({row["window_end"] - row["window_start"] for row in got} | {timedelta(seconds=1)}) == 1
    with pytest.raises(ValueError, match="no time of arrival"):
        sash_spark.aggregate(stream.spark.createDataFrame([("a", None, 1.0, 1)], SCHEMA), query)


def test_a_large_state_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "LARGE", 10)
    op = KeyedOperator(TIMED)
    op.process_batch({"k": ["a"], "ts": [at(1)], "x": [1.0], "n": [1]})
    with pytest.warns(sash.PerformanceWarning, match="the state of bucket 3 with 1 keys has 0 MB"):
        state.warn_large(len(op.snapshot()), 3, op.keys)
