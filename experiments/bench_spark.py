"""Sash on Spark beside what Spark itself has. Run by ``make bench-spark``.

One local Spark with two cores; what is measured is told by bench_spark_batch, bench_spark_streaming and
bench_spark_pipeline. CPU seconds are those of the whole process tree: this process, the JVM (with its compiler and
garbage collector) and the Python workers. They are what is compared: walls tell more about what else a machine does.

Contenders that are slow are given fewer rows, of fewer or shorter keys; numbers are per million rows.

Raw results, one row a run, go to a CSV file and the machine and versions to a JSON file beside it; the tables are made
from them and can be made again: ``bench_spark.py --table FILE``, with ``--docs`` into docs/spark.md. A run that is not
the whole one (``--rows``, ``--only``) goes to build/ if not told otherwise; with ``--again`` it replaces its part of
the results that are there.
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import bench_spark_batch
import bench_spark_pipeline
import bench_spark_streaming
from bench_spark_common import FIELDS, Row
from sash_experiments.machine import facts
from spark_tables import KEYS, PACKAGES, ROWS, Results, preamble
from tables import insert

HERE = Path(__file__).parent
WORKLOADS = [*bench_spark_batch.BATCH, *bench_spark_streaming.STREAMS, "pipeline"]


def everything(workloads: list[str], rows: int, rounds: int) -> Iterator[Row]:
    """All raw results; each part has a Spark of its own."""
    with tempfile.TemporaryDirectory() as folder:
        if batch := [name for name in workloads if name in bench_spark_batch.BATCH]:
            yield from bench_spark_batch.measured(Path(folder, "batch"), batch, rows, rounds)
        if streams := [name for name in workloads if name in bench_spark_streaming.STREAMS]:
            yield from bench_spark_streaming.measured(Path(folder, "streams"), streams)
        if "pipeline" in workloads:
            yield from bench_spark_pipeline.measured(Path(folder, "pipeline"))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of the batches (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=1, help="of the batches")
    parser.add_argument("--only", nargs="+", choices=WORKLOADS, metavar="WORKLOAD", help=", ".join(WORKLOADS))
    parser.add_argument("--output", type=Path, help="default: results/spark.csv, or build/spark.csv if not all is run")
    parser.add_argument("--again", action="store_true", help="keep the results of other workloads that are there")
    parser.add_argument("--table", type=Path, help="print the tables of this CSV file and measure nothing")
    parser.add_argument(
        "--docs",
        type=Path,
        nargs="?",
        const=HERE.parent / "docs" / "spark.md",
        help="put the tables into this Markdown file too (default %(const)s)",
    )
    return parser.parse_args()


def run(options: argparse.Namespace) -> Path:
    """Measure; the path of the raw results."""
    workloads = list(options.only or WORKLOADS)
    whole = options.rows == ROWS and (options.again or set(workloads) == set(WORKLOADS))
    path: Path = options.output or (HERE / "results" if whole else HERE.parent / "build") / "spark.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    known = json.dumps(facts(PACKAGES, rows=options.rows, keys=KEYS, rounds=options.rounds), indent=2)
    path.with_suffix(".json").write_text(known + "\n", encoding="utf-8")
    kept = [row for row in _rows(path) if _part(row["workload"]) not in workloads] if options.again else []
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(kept)
        for row in everything(workloads, options.rows, options.rounds):
            writer.writerow(row)
            file.flush()
    return path


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _part(workload: str) -> str:
    """Which of the WORKLOADS raw results are of: streams of so many keys are one."""
    return "streaming" if workload.endswith(" keys") else workload.replace(" ", "-")


def main() -> None:
    options = arguments()
    path = options.table or run(options)
    about = preamble(path)
    tables = "\n".join(Results(_rows(path)).tables())
    print(f"{about}\n{tables}")
    if options.docs:
        insert(f"{about}.\n{tables}", options.docs, "spark")


if __name__ == "__main__":
    main()
