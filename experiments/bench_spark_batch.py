"""Batches on Spark: count windows beside ``Window.rowsBetween`` and van Herk in SQL, time windows beside ``F.window``.

The data, readings of 8 plugs, a second apart, is in a Parquet file; every contender reads it and computes the maximum
of every window; results go nowhere (the noop sink). Before a contender is measured it is run on few rows, where it also
has to find the same as the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import sash
import sash_spark
from bench_spark_common import Row, Spent, row, session
from spark_tables import KEYS, RATIOS, SIZES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CHECK = 20_000  # rows that all contenders are compared on


@dataclass(frozen=True)
class Contender:
    """One way to compute something, over all rows or, if it is slow, over some."""

    name: str
    run: Callable[[DataFrame], DataFrame]
    some: Callable[[DataFrame], DataFrame] = lambda frame: frame
    compared: bool = True
    """Whether its results are those of the others, and it is fast enough to see to that."""


@dataclass(frozen=True)
class Case:
    """What is compared with each other."""

    workload: str
    n: int
    contenders: list[Contender]


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


def one_key(rows: int) -> Callable[[DataFrame], DataFrame]:
    """The first rows of one key: a window over as many rows as before, but not over as many keys."""
    return lambda frame: frame.where("plug = 0").where(f"seconds < {rows}")


def count_cases(rows: int) -> Iterator[Case]:
    for n in SIZES:
        if n * KEYS >= rows:
            continue
        few = {2**6: rows, 2**10: 200 * n, 2**16: n + n // 4}[n]
        yield Case(
            "count",
            n,
            [
                Contender("sash", lambda frame, n=n: sash_spark.aggregate(frame, count_query(n))),
                Contender("rowsBetween", lambda frame, n=n: rows_between(frame, n), one_key(few), n <= 2**10),
                Contender("van Herk in SQL", lambda frame, n=n: van_herk(frame, n)),
                Contender("shuffle and sort", shuffled, compared=False),
            ],
        )


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


def beginning(rows: int) -> Callable[[DataFrame], DataFrame]:
    return lambda frame: frame.where(f"seconds < {rows // KEYS}")


def time_cases(rows: int) -> Iterator[Case]:
    for ratio in RATIOS:
        few = min(rows, {1: rows, 10: rows // 2, 60: rows // 10, 600: rows // 1000, 3600: 160}[ratio])
        yield Case(
            "time",
            ratio,
            [
                Contender("sash", lambda frame, r=ratio: sash_spark.aggregate(frame, time_query(r))),
                Contender("F.window", lambda frame, r=ratio: native(frame, r), beginning(few)),
            ],
        )


BATCH: dict[str, Callable[[int], Iterator[Case]]] = {"count": count_cases, "time": time_cases}


# measuring


def readings(spark: SparkSession, rows: int, path: Path) -> DataFrame:
    """A reading a plug and second, in no order: rows are where their number's hash puts them."""
    numbers = spark.range(rows).selectExpr(f"id % {KEYS} AS plug", f"id div {KEYS} AS seconds", "id")
    made = numbers.selectExpr("plug", "seconds", "timestamp_seconds(seconds) AS ts", "rand(5) AS load", "id")
    made.repartition(4).drop("id").write.mode("overwrite").parquet(str(path))
    return spark.read.parquet(str(path))


def sink(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def check(case: Case, frame: DataFrame) -> None:
    """Run every contender once on few rows, and make sure that all compute the same."""
    few = frame.where(f"seconds < {max(CHECK // KEYS, case.n + 5 if case.workload == 'count' else 0)}")
    few = few if case.n <= 2**10 else few.where("plug = 0")
    if case.workload == "time" and case.n > 60:
        few = frame.where("seconds < 20")
    expected = None
    for contender in case.contenders:
        if not contender.compared:
            continue
        found = (
            contender.run(few).selectExpr("count(*)", "round(sum(peak), 6)", "count(distinct plug, window_end)").head()
        )
        expected = expected or found
        if found != expected:
            raise SystemExit(f"{contender.name} finds {found}, not {expected}: nothing to compare ({case})")


def bench(case: Case, frame: DataFrame, rounds: int) -> Iterator[Row]:
    check(case, frame)
    for number in range(rounds):
        for contender in case.contenders:
            given = contender.some(frame)
            rows = given.count()
            result = contender.run(given)
            # Right before, because workers that are idle for a minute end, and a new one imports for two seconds.
            for _ in range(2 if rows > CHECK else 0):
                sink(contender.run(given.where("seconds < 1000")))
            begin = Spent.now()
            sink(result)
            yield row(case.workload, case.n, contender.name, rows, Spent.now().since(begin), number)


def measured(folder: Path, workloads: list[str], rows: int, rounds: int) -> Iterator[Row]:
    """A row for each contender and round."""
    spark = session(folder)
    frame = readings(spark, rows, folder / "readings")
    for name in workloads:
        for case in BATCH[name](rows):
            yield from bench(case, frame, rounds)
    spark.stop()
