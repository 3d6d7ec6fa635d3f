"""How Sash and the engines' own windows scale: the PBA paper's figure 8, on Flink and Spark. By ``make scalability``.

The maximum, and the 23 numbers of a moment sketch, of every window of 2^10 readings at slide 1; readings of 84 plugs on
one machine (an embedded Flink, a local Spark), by parallelism, and of 336 on clusters of containers, by the number of
workers, a core each. Of Sash run the operator of the paper (FPBA by record), the packed operator with a second thread
and without one (FPBA packed, SBA packed), and on Spark the stateful streaming operator and a batch. Beside them run
what an expert takes today (SQL OVER on Flink, van Herk in SQL window functions on Spark) and the engines' plain
windows, which are slow: those are given few rows, and run once. HOP and F.window know windows of time only: theirs are
as long as 2^10 readings of a plug take on average. Warm-ups do not count. CPU seconds are those of the whole process
tree, or of all containers, the client's included.

A model that is fitted on 1 and 2 workers predicts more of them, and is held against the runs of 4.

``--scale small`` takes some 20 minutes without clusters. Parts can be run by themselves (``--only``), and their results
take the place of those that are kept (``--again``).

The clusters are those of compose/compose.yaml. Without a Docker engine that has their image (``make cluster-image``)
only the local part runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from sash_experiments.benchmark import Benchmark, Row, is_chosen, say
from sash_experiments.benchmarks.scalability.places import Place, cluster, has_image, local
from sash_experiments.benchmarks.scalability.runs import MARK, WARM, Name, word_of
from sash_experiments.benchmarks.scalability.sizes import SCALES, Size
from sash_experiments.benchmarks.scalability.tables import tables

__all__ = ["BENCHMARK", "named", "without_start"]

ENGINES = ["flink", "spark"]
PLACES = ["local", "cluster"]


def measured(place: Place, command: list[str]) -> Iterator[Row]:
    """What a driver reports of its runs, with the CPU seconds and the state of each."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as driver:
        assert driver.stdout is not None
        said, cpu = [], 0.0
        for line in driver.stdout:
            if not line.startswith(MARK):
                said.append(line)
                continue
            run = json.loads(line.removeprefix(MARK))
            if "seconds" not in run:
                cpu = place.cpu()
            else:
                yield {"state_bytes": place.state_bytes(), **run, "cpu_seconds": place.cpu() - cpu}
    if driver.returncode:
        raise SystemExit("".join([*said[-40:], f"{command} ended with {driver.returncode}"]))


def without_start(runs: Iterator[Row]) -> Iterator[Row]:
    """Runs without warm-ups, and without what the start of a job costs.

    That is what a run on few rows took before one on many: the difference is what the rows cost.
    """
    started: Row | None = None
    for run in runs:
        if run["repeat"] == WARM:
            continue
        if run.pop("start"):
            started = run
            continue
        if started is not None:
            spent = {name: run[name] - started[name] for name in ("rows", "seconds", "cpu_seconds")}
            started = None
            if min(spent.values()) <= 0:
                say(f"{run['contender']}: more records took less time, which tells nothing: left out")
                continue
            run |= spent
        yield run


def named(engine: str, where: str, keys: int, parallelism: int, name: Name) -> str:
    """What ``--only`` calls a part.

    >>> named("flink", "local", 84, 2, ("max", "SBA packed"))
    'flink-local-84-2-max:SBA packed'
    """
    return f"{engine}-{where}-{keys}-{parallelism}-{name[0]}:{name[1]}"


def rows_at(
    engine: str, place: Place, parallelism: int, keys: int, size: Size, contenders: dict[Name, int]
) -> Iterator[Row]:
    labels = {"engine": engine, "where": place.name, "parallelism": parallelism, "keys": keys, "range": size.range}
    options = {"parallelism": parallelism, "keys": keys, "range": size.range, "repeats": size.repeats}
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    command = place.driver([*words, *(word_of(name, rows) for name, rows in contenders.items())])
    for run in without_start(measured(place, command)):
        run |= {"seconds": round(run["seconds"], 3), "cpu_seconds": round(run["cpu_seconds"], 3)}
        say(f"{engine}, {place.name}, {parallelism}: {run}")
        yield {**run, **labels}


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """All runs; contenders compute the same, as the tests of this benchmark check."""
    size = SCALES["smoke" if options.smoke else options.scale]
    wheres = options.where or places()
    if "cluster" not in wheres:
        say("The clusters are not measured: that takes a Docker engine with their image (make cluster-image).")
    found = False
    for where, engine in product(wheres, options.engines):
        for keys, parallelism in product(size.keys[where], size.parallelisms):
            contenders = {
                name: rows
                for name, rows in size.contenders(engine, keys, parallelism).items()
                if is_chosen(named(engine, where, keys, parallelism, name), options.only)
            }
            if not contenders:
                continue
            found = True
            with tempfile.TemporaryDirectory() as folder:
                there = local(engine, Path(folder)) if where == "local" else cluster(engine, parallelism)
                with there as place:
                    yield from rows_at(engine, place, parallelism, keys, size, contenders)
    if not found:
        raise SystemExit(
            f"--only {options.only!r} chooses nothing: parts are called as flink-local-84-2-max:SBA packed"
        )


def places() -> list[str]:
    """Where it can be run on this machine."""
    return PLACES if has_image() else ["local"]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scale", choices=list(SCALES), default="small", help="default %(default)s")
    parser.add_argument("--smoke", action="store_true", help="--scale smoke: so few rows that the numbers tell nothing")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--where", nargs="+", choices=PLACES, help="default: both, if there is Docker")
    parser.add_argument(
        "--only",
        help="parts such as flink-local-84-2-max:SBA packed, with semicolons between; flink-local- are all that begin "
        "so, and flink-:FPBA packed those of one contender",
    )


KEY = ("engine", "where", "contender", "aggregate", "parallelism", "keys", "range")
BENCHMARK = Benchmark(
    "scalability",
    __doc__,
    (*KEY, "rows", "seconds", "cpu_seconds", "state_bytes", "repeat"),
    KEY,
    rows,
    tables,
    ("sash", "apache-flink", "pyspark", "pyarrow", "pandas", "numpy", "numba"),
    arguments=arguments,
    complete=lambda options: options.again or "cluster" in places(),
    page="docs/benchmarks/scalability.md",
)
