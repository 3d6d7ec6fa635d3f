"""Sash on Spark beside what Spark itself has. Run by ``make bench-spark``.

One local Spark with two cores. The data, readings of 8 plugs, a second apart, is in a Parquet file; every contender
reads it and computes the maximum of every window; results go nowhere (the noop sink). Before a contender is measured it
is run on few rows, where it also has to find the same as the others. CPU seconds are those of the whole process tree:
this process, the JVM (with its compiler and garbage collector) and the Python workers. They are what is compared: walls
tell more about what else a machine does.

Contenders that are slow are given fewer rows, of fewer or shorter keys; numbers are per million rows.

Raw results, one row a run, go to a CSV file and the machine and versions to a JSON file beside it; the tables are made
from them and can be made again: ``bench_spark.py --table FILE``. A run that is not the whole one (``--rows``,
``--only``) goes to build/ if not told otherwise.
"""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sash
import sash_spark
from bench_spark_streaming import measured
from process_tree import cpu_seconds
from spark_tables import KEYS, PACKAGES, RATIOS, ROWS, SIZES, Results, preamble

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HERE = Path(__file__).parent
FIELDS = ["workload", "n", "contender", "round", "rows", "wall_s", "cpu_s", "rows_per_s", "cpu_s_per_million"]
CHECK = 20_000  # rows that all contenders are compared on

Row = dict[str, Any]


@dataclass(frozen=True)
class Contender:
    """One way to compute something, over all rows or, if it is slow, over some."""

    name: str
    run: Callable[[DataFrame], DataFrame]
    some: Callable[[DataFrame], DataFrame] = lambda frame: frame
    compared: bool = True
    """Whether its results are those of the others."""


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
        few = {2**6: rows // KEYS, 2**10: 4 * n * 16, 2**16: 2 * n}[n]
        yield Case(
            "count",
            n,
            [
                Contender("sash", lambda frame, n=n: sash_spark.aggregate(frame, count_query(n))),
                Contender("rowsBetween", lambda frame, n=n: rows_between(frame, n), one_key(few)),
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
        few = min(rows, {1: rows, 10: rows // 2, 60: rows // 10, 600: rows // 200, 3600: 1000}[ratio])
        yield Case(
            "time",
            ratio,
            [
                Contender("sash", lambda frame, r=ratio: sash_spark.aggregate(frame, time_query(r))),
                Contender("F.window", lambda frame, r=ratio: native(frame, r), beginning(few)),
            ],
        )


BATCH: dict[str, Callable[[int], Iterator[Case]]] = {"count": count_cases, "time": time_cases}
WORKLOADS = [*BATCH, "streaming"]  # (c), micro-batches of a stream that runs, has another shape: bench_spark_streaming


# measuring


def say(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)


def session() -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("sash-bench")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": 2,
        "spark.sql.adaptive.coalescePartitions.enabled": False,  # few rows are to warm both workers too
        "spark.sql.execution.arrow.maxRecordsPerBatch": 100_000,
        "spark.ui.enabled": False,
        "spark.ui.showConsoleProgress": False,
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("FATAL")  # at 3600 F.window is too long to compile, at length
    return spark


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
    elif case.contenders[1].name == "rowsBetween" and case.n > 2**10:
        few = few.where(f"seconds < {case.n + 100}")
    expected = None
    for contender in case.contenders:
        if not contender.compared:
            sink(contender.run(few))
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
            cpu, wall = cpu_seconds(), time.perf_counter()
            sink(result)
            cpu, wall = cpu_seconds() - cpu, time.perf_counter() - wall
            yield {
                "workload": case.workload,
                "n": case.n,
                "contender": contender.name,
                "round": number,
                "rows": rows,
                "wall_s": round(wall, 3),
                "cpu_s": round(cpu, 3),
                "rows_per_s": round(rows / wall),
                "cpu_s_per_million": round(cpu / rows * 1e6, 4),
            }
            say(f"{case.workload}, {case.n}: {contender.name}, {rows:,} rows, {cpu:.1f} CPU s, {wall:.1f} s")


def everything(workloads: list[str], rows: int, rounds: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        if batch := [name for name in workloads if name in BATCH]:
            spark = session()
            frame = readings(spark, rows, Path(folder) / "readings")
            for name in batch:
                for case in BATCH[name](rows):
                    yield from bench(case, frame, rounds)
            spark.stop()
        for row in measured(Path(folder)) if "streaming" in workloads else ():
            say(f"{row['workload']}, {row['n']:,} a micro-batch: {row['contender']}, {row['cpu_s']} CPU s")
            yield row


def facts(rows: int, rounds: int) -> dict[str, Any]:
    """What the numbers depend on."""
    return {
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in PACKAGES},
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "rows": rows,
        "keys": KEYS,
        "rounds": rounds,
        "date": time.strftime("%Y-%m-%d"),
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS, help="rows (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=WORKLOADS, metavar="WORKLOAD", help=", ".join(WORKLOADS))
    parser.add_argument("--output", type=Path, help="default: results/spark.csv, or build/spark.csv if not all is run")
    parser.add_argument("--table", type=Path, help="print the tables of this CSV file and measure nothing")
    return parser.parse_args()


def run(options: argparse.Namespace) -> Path:
    """Measure; the path of the raw results."""
    workloads = list(options.only or WORKLOADS)
    whole = options.rows == ROWS and set(workloads) == set(WORKLOADS)
    path: Path = options.output or (HERE / "results" if whole else HERE.parent / "build") / "spark.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    known = json.dumps(facts(options.rows, options.rounds), indent=2)
    path.with_suffix(".json").write_text(known + "\n", encoding="utf-8")
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for row in everything(workloads, options.rows, options.rounds):
            writer.writerow(row)
            file.flush()
    return path


def main() -> None:
    options = arguments()
    path = options.table or run(options)
    print(preamble(path))
    with path.open(newline="") as file:
        print("\n".join(Results(csv.DictReader(file)).tables()))


if __name__ == "__main__":
    main()
