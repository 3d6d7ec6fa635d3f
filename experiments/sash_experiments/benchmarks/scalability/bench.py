"""How Sash and the engines' own windows scale: the PBA paper's figure 8, on Flink and Spark. By ``make scalability``.

The maximum of every window of 2^10 readings at slide 1; readings of 84 plugs on one machine (an embedded Flink, a
local Spark), by parallelism, and of 336 on clusters of containers, by the number of workers, a core each. Beside Sash
run what an expert takes today (SQL OVER on Flink, van Herk in SQL window functions on Spark) and the engines' plain
windows, which are slow: those are given few rows, and run once. HOP and F.window know windows of time only: theirs are
as long as 2^10 readings of a plug take on average. Warm-ups do not count. CPU seconds are those of the whole process
tree, or of all containers, the client's included.

The clusters are those of compose/compose.yaml. Without a Docker engine that has their image (``make cluster-image``)
only the local part runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sash_experiments.benchmark import Benchmark, Row, say
from sash_experiments.benchmarks.scalability.places import Place, cluster, has_image, local
from sash_experiments.benchmarks.scalability.runs import MARK, WARM
from sash_experiments.benchmarks.scalability.tables import KEYS, tables

__all__ = ["BENCHMARK", "without_start"]

ENGINES = ["flink", "spark"]


@dataclass(frozen=True)
class Size:
    """How much is run."""

    rows: int = 4_000_000
    range: int = 2**10
    repeats: int = 3
    parallelisms: tuple[int, ...] = (1, 2)

    def contenders(self, engine: str, keys: int, parallelism: int) -> dict[str, int]:
        """And on how many rows each. HOP and F.window put each row into as many windows, whatever is in them.

        What SQL OVER costs is that of its windows' rows: of its rows, those count that come when windows are full.
        count_window, on one key, is measured when its window is half full: a full one takes too long.
        """
        if engine == "spark":
            few = min(self.rows, 10 * self.range)
            return {"sash": self.rows, "van Herk in SQL": self.rows, "rowsBetween": self.rows // 4, "F.window": few}
        own = {"sash": self.rows, "SQL OVER": keys * self.range * 3 // 2 + self.rows // 8, "HOP": 120 * self.range}
        return {**own, "count_window": self.range * 2 // 3} if parallelism == 1 else own


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
                yield {**run, "cpu_seconds": place.cpu() - cpu, "state_bytes": place.state_bytes()}
    if driver.returncode:
        raise SystemExit("".join([*said[-40:], f"{command} ended with {driver.returncode}"]))


def without_start(runs: Iterator[Row]) -> Iterator[Row]:
    """Runs of Flink come in pairs, on few and on many records: the difference is what the records cost."""
    few: Row | None = None
    for run in runs:
        if few is not None and few["contender"] == run["contender"]:
            spent = {name: run[name] - few[name] for name in ("rows", "seconds", "cpu_seconds")}
            if min(spent.values()) > 0:
                yield {**run, **spent}
            else:
                say(f"{run['contender']}: more records took less time, which tells nothing: left out")
            few = None
        else:
            few = run if run["repeat"] != WARM else None


def rows_at(engine: str, place: Place, parallelism: int, size: Size) -> Iterator[Row]:
    keys = KEYS[place.name]
    labels = {"engine": engine, "where": place.name, "parallelism": parallelism, "keys": keys, "range": size.range}
    options = {"parallelism": parallelism, "keys": keys, "range": size.range, "repeats": size.repeats}
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    contenders = size.contenders(engine, keys, parallelism)
    runs = measured(place, place.driver([*words, *(f"{name}={rows}" for name, rows in contenders.items())]))
    for run in without_start(runs) if engine == "flink" else runs:
        if run["repeat"] != WARM:
            run |= {"seconds": round(run["seconds"], 3), "cpu_seconds": round(run["cpu_seconds"], 3)}
            say(f"{engine}, {place.name}, {parallelism}: {run}")
            yield {**run, **labels}


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """All runs; contenders compute the same, as the tests of this benchmark check."""
    size = Size(40_000, 64, 1, (1,)) if options.smoke else Size(options.rows, repeats=options.repeats)
    wheres = options.where or places()
    if "cluster" not in wheres:
        say("The clusters are not measured: that takes a Docker engine with their image (make cluster-image).")
    for where in wheres:
        for engine in options.engines:
            for parallelism in size.parallelisms:
                with tempfile.TemporaryDirectory() as folder:
                    there = local(engine, Path(folder)) if where == "local" else cluster(engine, parallelism)
                    with there as place:
                        yield from rows_at(engine, place, parallelism, size)


def places() -> list[str]:
    """Where it can be run on this machine."""
    return list(KEYS) if has_image() else ["local"]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--smoke", action="store_true", help="so few rows that the numbers tell nothing")
    parser.add_argument("--rows", type=int, default=Size.rows)
    parser.add_argument("--repeats", type=int, default=Size.repeats)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--where", nargs="+", choices=list(KEYS), help="default: both, if there is Docker")


KEY = ("engine", "where", "contender", "parallelism", "keys", "range")
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
    page="docs/clusters.md",
)
