"""Batches on Spark: count windows beside ``Window.rowsBetween`` and van Herk in SQL, time windows beside ``F.window``.

The data, readings of 8 plugs, a second apart, is in a Parquet file; every contender reads it and computes the maximum
of every window; results go nowhere (the noop sink). Before a contender is measured it is run on few rows, where it also
has to find the same as the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sash
import sash_spark
from sash_experiments.benchmark import Case, Contender, Row
from sash_experiments.benchmarks.spark.session import Spent
from sash_experiments.benchmarks.spark.tables import KEYS, RATIOS, SIZES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["answer", "count_cases", "count_query", "readings", "rows_between", "sink", "time_cases", "van_herk"]

CHECK = 20_000
"""Rows that all contenders are compared on."""

Compute = Callable[["DataFrame"], "DataFrame"]


def contender(name: str, compute: Compute, given: DataFrame, few: DataFrame | None) -> Contender:
    """What computes something over the rows that it is given, and is checked on few others, if any."""

    def measure() -> Iterator[Row]:
        rows = given.count()
        # Right before, because workers that are idle for a minute end, and a new one imports for two seconds.
        for _ in range(2 if rows > CHECK else 0):
            sink(compute(given.where("seconds < 1000")))
        result = compute(given)
        begin = Spent.now()
        sink(result)
        yield begin.row(rows)

    return Contender(name, measure, None if few is None else partial(answer, compute, few))


def answer(compute: Compute, few: DataFrame) -> Any:
    """How many windows there are, and what their results add up to."""
    return compute(few).selectExpr("count(*)", "round(sum(peak), 6)", "count(distinct plug, window_end)").head()


# (a) count windows


def count_query(n: int) -> sash.Query:
    return sash.Query(key="plug", windows=sash.sliding(n), aggregates={"peak": sash.Max("load")}, time="ts")


def rows_between(frame: DataFrame, n: int) -> DataFrame:
    """What a user of Spark writes."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    ordered = Window.partitionBy("plug").orderBy("ts")
    last = F.max("load").over(ordered.rowsBetween(1 - n, 0))
    return frame.select("plug", F.row_number().over(ordered).alias("window_end"), last.alias("peak")).where(
        f"window_end >= {n}"
    )


def van_herk(frame: DataFrame, n: int) -> DataFrame:
    """What an expert writes: running maxima of chunks of n rows, forwards (csa) and backwards (lcs), one of each."""
    frame.createOrReplaceTempView("readings")
    return frame.sparkSession.sql(f"""
        WITH placed AS (
            SELECT plug, load, row_number() OVER (PARTITION BY plug ORDER BY ts) - 1 AS place FROM readings
        ), chunked AS (
            SELECT plug, load, place, place div {n} AS chunk FROM placed
        ), merged AS (
            SELECT plug, place,
                   max(load) OVER (PARTITION BY plug, chunk ORDER BY place
                                   ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS csa,
                   max(load) OVER (PARTITION BY plug, chunk ORDER BY place DESC
                                   ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS lcs
            FROM chunked
        ), windows AS (
            SELECT plug, place, csa, lag(lcs, {n - 1}) OVER (PARTITION BY plug ORDER BY place) AS older FROM merged
        )
        SELECT plug, place + 1 AS window_end, greatest(csa, older) AS peak FROM windows WHERE place >= {n - 1}
    """)


def shuffled(frame: DataFrame) -> DataFrame:
    """What comes before anything can be computed."""
    return frame.select("plug", "ts", "load").repartition("plug").sortWithinPartitions("plug", "ts")


def count_cases(frame: DataFrame, rows: int) -> Iterator[Case]:
    for n in SIZES:
        if n * KEYS >= rows:
            continue
        short_of = {2**6: rows, 2**10: 200 * n, 2**16: n + n // 4}
        few = frame.where(f"seconds < {max(CHECK // KEYS, n + 5)}")
        few = few if n <= 2**10 else few.where("plug = 0")
        # The first rows of one key: a window over as many rows as before, but not over as many keys.
        short = frame.where("plug = 0").where(f"seconds < {short_of[n]}")
        contenders = [
            contender("sash", partial(sash_spark.aggregate, query=count_query(n)), frame, few),
            contender("rowsBetween", partial(rows_between, n=n), short, few if n <= 2**10 else None),
            contender("van Herk in SQL", partial(van_herk, n=n), frame, few),
            contender("shuffle and sort", shuffled, frame, None),
        ]
        yield Case({"workload": "count", "n": n}, contenders)


# (b) time windows


def time_query(ratio: int) -> sash.Query:
    window = sash.sliding(f"{ratio}s", "1s")
    return sash.Query(key="plug", windows=window, aggregates={"peak": sash.Max("load")}, time="ts")


def native(frame: DataFrame, ratio: int) -> DataFrame:
    from pyspark.sql import functions as F

    window = F.window("ts", f"{ratio} seconds", "1 second") if ratio > 1 else F.window("ts", "1 second")
    return (
        frame.groupBy("plug", window)
        .agg(F.max("load").alias("peak"))
        .select("plug", F.col("window.end").alias("window_end"), "peak")
    )


def time_cases(frame: DataFrame, rows: int) -> Iterator[Case]:
    for ratio in RATIOS:
        short = min(rows, {1: rows, 10: rows // 2, 60: rows // 10, 600: rows // 1000, 3600: 160}[ratio])
        few = frame.where(f"seconds < {20 if ratio > 60 else CHECK // KEYS}")
        given = frame.where(f"seconds < {short // KEYS}")
        contenders = [
            contender("sash", partial(sash_spark.aggregate, query=time_query(ratio)), frame, few),
            contender("F.window", partial(native, ratio=ratio), given, few),
        ]
        yield Case({"workload": "time", "n": ratio}, contenders)


def readings(spark: SparkSession, rows: int, path: Path) -> DataFrame:
    """A reading a plug and second, in no order: rows are where their number's hash puts them."""
    numbers = spark.range(rows).selectExpr(f"id % {KEYS} AS plug", f"id div {KEYS} AS seconds", "id")
    columns = numbers.selectExpr("plug", "seconds", "timestamp_seconds(seconds) AS ts", "rand(5) AS load", "id")
    columns.repartition(4).drop("id").write.mode("overwrite").parquet(str(path))
    return spark.read.parquet(str(path))


def sink(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()
