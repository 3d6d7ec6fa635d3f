"""Sash on Spark beside what Spark itself has. Run by ``make bench-spark``.

One local Spark with two cores; what is measured is described by the modules ``batch``, ``skew``, ``streaming`` and
``pipeline``. CPU seconds are those of the whole process tree: this process, the JVM (with its compiler and garbage
collector) and the Python workers. They are what is compared: walls tell more about what else a machine does. Contenders
that are slow are given fewer rows, of fewer or shorter keys; numbers are per million rows. ``--rounds`` are of the
batches.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sash_experiments.benchmark import Benchmark, Case, Row, in_turn
from sash_experiments.benchmarks.spark import batch, pipeline, skew, streaming
from sash_experiments.benchmarks.spark.session import session
from sash_experiments.benchmarks.spark.tables import KEYS, PACKAGES, ROWS, tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["BENCHMARK"]

BATCH = {"count": batch.count_cases, "time": batch.time_cases}
OTHERS: dict[str, Callable[[SparkSession, Path], Iterator[Case]]] = {
    "streaming": streaming.count_cases,
    "streaming-time": streaming.time_cases,
    "pipeline": pipeline.cases,
}
WORKLOADS = [*BATCH, "skew", *OTHERS]


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """All raw results. Batches, streams and the pipeline have a Spark of their own each."""
    chosen = options.only or WORKLOADS
    for part in (("count", "time"), ("skew",), ("streaming", "streaming-time"), ("pipeline",)):
        names = [name for name in part if name in chosen]
        if names:
            with tempfile.TemporaryDirectory() as folder:
                spark = session(Path(folder))
                yield from _rows(spark, Path(folder), names, options)
                spark.stop()


def _rows(spark: SparkSession, folder: Path, names: list[str], options: argparse.Namespace) -> Iterator[Row]:
    if names[0] in BATCH:
        frame = batch.readings(spark, options.rows, folder / "readings")
        for name in names:
            yield from in_turn(BATCH[name](frame, options.rows), options.rounds)
    elif names == ["skew"]:
        yield from in_turn(skew.cases(spark, folder, options.rows), options.rounds)
    else:
        for name in names:
            yield from in_turn(OTHERS[name](spark, folder / name))


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of the batches (default %(default)s)")
    parser.add_argument("--only", nargs="+", choices=WORKLOADS, metavar="WORKLOAD", help=", ".join(WORKLOADS))


KEY = ("workload", "n", "contender")
SPENT = ("wall_s", "cpu_s", "rows_per_s", "cpu_s_per_million", "python_s", "compiler_s", "collector_s")
BENCHMARK = Benchmark(
    "spark",
    __doc__,
    (*KEY, "round", "rows", *SPENT),
    KEY,
    rows,
    tables,
    PACKAGES,
    arguments=arguments,
    facts=lambda: {"keys": KEYS},
    page="docs/benchmarks/spark.md",
)
