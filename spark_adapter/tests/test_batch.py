"""A query over a batch DataFrame gives what :func:`sash.run` gives, and what Spark's own windows do."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PythonException
from pyspark.sql import Row, Window
from pyspark.sql import functions as F

import sash
import sash_spark

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "plug string, ts timestamp_ntz, km double, load double, house int, stop boolean, seq long"


def readings(rows: int = 300, keys: int = 7) -> list[dict[str, Any]]:
    """Rows in no order, with nulls, equal times and keys of different lengths, one of them null."""
    chance = random.Random(5)
    plugs = [None, *(f"plug {i}" for i in range(keys - 1))]
    return [
        {
            "plug": chance.choices(plugs, range(1, keys + 1))[0],
            "ts": dt.datetime(2024, 3, 1) + dt.timedelta(seconds=chance.randrange(200)),
            "km": chance.randrange(400) / 4,
            "load": None if chance.random() < 0.1 else round(chance.random(), 3),
            "house": chance.randrange(5),
            "stop": chance.random() < 0.1,
            "seq": seq,
        }
        for seq in range(rows)
    ]


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([Row(**row) for row in readings()], SCHEMA).cache()


def plain(value: Any) -> Any:
    """Values that compare: rows as tuples, NaN as a word."""
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def listed(rows: list[Any], keys: int = 1) -> list[list[Any]]:
    """Rows as lists, key by key, the order within a key kept."""
    whole = [plain(list(row.values()) if isinstance(row, dict) else row) for row in rows]
    return sorted(whole, key=lambda row: [(each is not None, each) for each in row[:keys]])


def agrees(frame: DataFrame, query: sash.Query, rows: list[dict[str, Any]] | None = None, **options: Any) -> None:
    result = sash_spark.aggregate(frame, query, order="seq", **options)
    expected = sash.run(query, readings() if rows is None else rows)
    assert result.columns == list(query.results)
    assert listed(result.collect(), len(query.keys)) == listed(expected, len(query.keys))


AGGREGATES: dict[str, sash.Aggregation] = {
    "rows": sash.Count(),
    "peak": sash.Max("load"),
    "last": sash.Last("load"),
    "who": sash.ArgMax("load", "house"),
}

WINDOWS: dict[str, Any] = {
    "count": sash.sliding(7, 3),
    "count, partial": sash.sliding(7, 3, partial=True),
    "time": sash.sliding("30s", "7s"),
    "tumbling": sash.tumbling("45s"),
    "session": sash.session("8s"),
    "punctuated": sash.punctuated("stop"),
    "last": sash.last(5, every="20s"),
    "km": sash.sliding(10, 2.5, on="km"),
    "several": {"short": sash.sliding("30s", "10s"), "gap": sash.session("8s")},
}


@pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS)
def test_as_in_this_process(frame: DataFrame, window: Any) -> None:
    agrees(frame, sash.Query(key="plug", windows=window, aggregates=AGGREGATES, time="ts"))


def test_without_a_key(frame: DataFrame) -> None:
    agrees(frame, sash.Query(windows=sash.sliding(20, 5), aggregates=AGGREGATES, time="ts"))


def test_in_an_order_that_is_named(frame: DataFrame) -> None:
    query = sash.Query(key="plug", windows=sash.sliding(6), aggregates={"all": sash.Collect("seq")})
    agrees(frame, query)


def test_counting_rows_alone(frame: DataFrame) -> None:
    agrees(frame, sash.Query(windows=sash.tumbling(50), aggregates={"rows": sash.Count()}))


def test_several_keys(frame: DataFrame) -> None:
    agrees(frame, sash.Query(key=("plug", "house"), windows=sash.sliding(3), aggregates=AGGREGATES, time="ts"))


def test_corrections_have_nothing_to_correct(frame: DataFrame) -> None:
    query = sash.Query(
        key="plug",
        windows=sash.sliding("30s", "10s"),
        aggregates={"peak": sash.Max("load")},
        time="ts",
        watermark_delay="5s",
        allowed_lateness="1m",
    )
    agrees(frame, query)


def test_functions_of_ones_own_travel(frame: DataFrame) -> None:
    limit = 0.5
    spread = sash.aggregation(
        "load",
        lift=lambda v: (v, v),
        combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
        lower=lambda p: p[1] - p[0],
        commutative=True,
    )
    stops = sash.punctuated(lambda load: load is not None and load > limit, "load")
    agrees(frame, sash.Query(key="plug", windows=stops, aggregates={"spread": spread}, time="ts"))


def test_windows_told_of_each_tuple(frame: DataFrame) -> None:
    class Doors(sash.windows.ContextAware):
        columns = ("stop",)

        def observe(self, time: Any, row: Any, edges: Any) -> None:
            if row["stop"]:
                edges.add(time)

    agrees(frame, sash.Query(key="plug", windows=Doors(), aggregates=AGGREGATES, time="ts"))


def test_an_algorithm_by_name(frame: DataFrame) -> None:
    query = sash.Query(
        key="plug", windows=sash.sliding(4), aggregates={"peak": sash.Max("load")}, time="ts", algorithm="daba"
    )
    agrees(frame, query)


def test_windows_in_several_orders(frame: DataFrame) -> None:
    windows = {"count": sash.sliding(5, 5), "time": sash.sliding("40s", "20s"), "road": sash.sliding(20, 10, on="km")}
    query = sash.Query(key="plug", windows=windows, aggregates={"n": sash.Count()}, time="ts")
    result = sash_spark.aggregate(frame, query, order="seq")
    assert result.schema["window_start"].dataType.simpleString() == "struct<position:bigint,ts:timestamp_ntz,km:double>"
    found = [
        [
            row.plug,
            row.window,
            *(next(x for x in end if x is not None) for end in (row.window_start, row.window_end)),
            row.n,
        ]
        for row in result.collect()
    ]
    expected = sash.run(query, readings())
    key = lambda row: (row[0] is not None, row[0], row[1])  # noqa: E731  # of two lanes, neither comes first
    assert sorted(found, key=key) == sorted((list(row.values()) for row in expected), key=key)


# what Spark's own windows can express


@pytest.mark.parametrize(("size", "slide"), [(1, 1), (8, 1), (8, 3), (400, 1)])
def test_count_windows_as_rows_between(frame: DataFrame, size: int, slide: int) -> None:
    """Spark's begin with windows that are not full; with a slide, every so many of them count."""
    ours: dict[str, sash.Aggregation] = {
        "peak": sash.Max("load"),
        "low": sash.Min("load"),
        "n": sash.Count("load"),
        "rows": sash.Count(),
        "first": sash.First("seq"),
        "last": sash.Last("seq"),
        "sum": sash.Sum("house"),
        "mean": sash.Mean("house"),
        "all": sash.Collect("seq"),
        "who": sash.ArgMax("seq", "house"),
    }
    theirs = {
        "peak": F.max("load"),
        "low": F.min("load"),
        "n": F.count("load"),
        "rows": F.count("*"),
        "first": F.first("seq"),
        "last": F.last("seq"),
        "sum": F.sum("house"),
        "mean": F.avg("house"),
        "all": F.collect_list("seq"),
        "who": F.max_by("house", "seq"),
    }
    query = sash.Query(key="plug", windows=sash.sliding(size, slide, partial=slide == 1), aggregates=ours, time="ts")
    found = sash_spark.aggregate(frame, query, order="seq").orderBy("plug", "window_end").drop("window_start")
    ordered = Window.partitionBy("plug").orderBy("ts", "seq")
    spans = [each.over(ordered.rowsBetween(1 - size, 0)).alias(name) for name, each in theirs.items()]
    every = frame.select("plug", F.row_number().over(ordered).cast("bigint").alias("window_end"), *spans)
    if slide > 1:
        every = every.where(f"window_end >= {size} AND (window_end - {size}) % {slide} = 0")
    assert found.collect() == every.orderBy("plug", "window_end").collect()


@pytest.mark.parametrize(
    ("size", "slide", "offset"), [("30s", "30s", None), ("30s", "10s", None), ("25s", "10s", "3s")]
)
def test_time_windows_as_spark_has_them(frame: DataFrame, size: str, slide: str, offset: str | None) -> None:
    moved: dict[str, Any] = {} if offset is None else {"offset": offset}
    query = sash.Query(
        key="plug",
        windows=sash.sliding(size, slide, **moved),
        aggregates={"peak": sash.Max("load"), "n": sash.Count()},
        time="ts",
    )
    words = [each.replace("s", " seconds") for each in (size, slide, offset or "0s")]
    theirs = frame.groupBy("plug", F.window("ts", *words).alias("w")).agg(F.max("load"), F.count("*"))
    flat = theirs.select("plug", "w.start", "w.end", "max(load)", "count(1)").orderBy("plug", "start")
    ours = sash_spark.aggregate(frame, query).orderBy("plug", "window_start")
    assert listed(ours.collect()) == listed(flat.collect())


def test_sessions_as_spark_has_them(frame: DataFrame) -> None:
    """But that Spark's go on over a pause of just the gap, where ours and Flink's end."""
    query = sash.Query(key="plug", windows=sash.session("8s"), aggregates={"n": sash.Count()}, time="ts")
    theirs = frame.groupBy("plug", F.session_window("ts", "7999 milliseconds").alias("w")).count()
    flat = theirs.select("plug", "w.start", "count").orderBy("plug", "start")
    ours = sash_spark.aggregate(frame, query).orderBy("plug", "window_start").drop("window_end")
    assert listed(ours.collect()) == listed(flat.collect())


# sizes


def test_a_key_larger_than_memory_should_hold(spark: SparkSession) -> None:
    """A worker never holds more rows than one batch of ours and one of Spark's."""
    from sash_spark.batch import Worker, sort_by_key
    from sash_spark.schema import checked

    numbers = spark.range(40_000).select(F.lit("huge").alias("plug"), F.col("id").alias("seq"), F.col("id") % 97)
    frame = numbers.withColumnRenamed("(id % 97)", "load")
    query = sash.Query(key="plug", windows=sash.sliding(1000), aggregates={"peak": sash.Max("load")})
    worker = Worker(query, checked(query, frame.schema), rows=2048)

    def watched(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import gc
        import weakref

        import pyarrow as pa

        alive: dict[int, int] = {}
        most = 0

        def counted() -> Iterator[pa.RecordBatch]:
            nonlocal most
            for number, batch in enumerate(batches):
                alive[number] = len(batch)
                weakref.finalize(batch, alive.pop, number)
                most = max(most, sum(alive.values()))
                yield batch
                del batch
                gc.collect(0)

        found = sum(len(batch) for batch in worker(counted()))
        yield pa.RecordBatch.from_pydict({"results": [found], "most": [most]})

    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 500)
    try:
        (row,) = sort_by_key(frame, query, ["seq"]).mapInArrow(watched, "results long, most long").collect()
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert row.results == 40_000 - 999
    assert 0 < row.most <= 2 * (2048 + 500)


def test_a_hundred_thousand_small_keys_share_few_calls(spark: SparkSession) -> None:
    """What Python does for each key would show in the number of batches of results."""
    from sash_spark.batch import Worker, sort_by_key
    from sash_spark.schema import checked

    keys = 100_000
    frame = spark.range(3 * keys).select((F.col("id") % keys).alias("plug"), "id", (F.col("id") % 7).alias("load"))
    query = sash.Query(key="plug", windows=sash.sliding(2), aggregates={"total": sash.Sum("load")})
    (row,) = (
        sash_spark.aggregate(frame, query, order="id")
        .agg(F.count("*").alias("n"), F.sum("total").alias("total"), F.countDistinct("plug").alias("k"))
        .collect()
    )
    expected = sum((i % 7) + ((i + keys) % 7) for i in range(2 * keys))
    assert (row.n, row.total, row.k) == (2 * keys, expected, keys)

    worker = Worker(query, checked(query, frame.schema))

    def counted(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        yield pa.RecordBatch.from_pydict({"batches": [sum(1 for _ in worker(batches))]})

    tasks = sort_by_key(frame, query, ["id"], partitions=2).mapInArrow(counted, "batches long").collect()
    assert sum(task.batches for task in tasks) < keys // 1000


def test_results_can_be_joined_planned_on_and_written(frame: DataFrame, tmp_path: Path) -> None:
    query = sash.Query(key="plug", windows=sash.tumbling("30s"), aggregates={"peak": sash.Max("load")}, time="ts")
    peaks = sash_spark.aggregate(frame, query)
    within = (frame["ts"] >= peaks["window_start"]) & (frame["ts"] < peaks["window_end"])
    joined = frame.join(peaks, frame["plug"].eqNullSafe(peaks["plug"]) & within)
    assert joined.count() == frame.count()
    assert joined.where("load > peak").count() == 0
    peaks.write.partitionBy("plug").parquet(str(tmp_path / "peaks"))
    again = frame.sparkSession.read.schema(peaks.schema).parquet(str(tmp_path / "peaks")).select(peaks.columns)
    assert listed(again.orderBy("plug", "window_start").collect()) == listed(
        peaks.orderBy("plug", "window_start").collect()
    )


def test_a_time_that_is_null_names_the_column(frame: DataFrame) -> None:
    query = sash.Query(key="plug", windows=sash.tumbling("30s"), aggregates={"n": sash.Count()}, time="ts")
    broken = frame.withColumn("ts", F.expr("nullif(ts, timestamp_ntz'2024-03-01 00:00:07')"))
    with pytest.raises(PythonException, match="'ts'"):
        sash_spark.aggregate(broken, query).collect()
