"""How Sash and the engines' own windows scale: the PBA paper's figure 8, on Flink and Spark. By ``make scalability``.

The maximum of every window of 2^10 readings at slide 1; readings of 84 plugs on one machine (an embedded Flink, a
local Spark), by parallelism, and of 336 on clusters of containers, by the number of workers, a core each. Beside Sash
run what an expert takes today (SQL OVER on Flink, van Herk in SQL window functions on Spark) and the engines' plain
windows, which are slow: those are given few rows, and run once. HOP and F.window know windows of time only: theirs are
as long as 2^10 readings of a plug take on average. Warm-ups do not count. CPU seconds are those of the whole process
tree, or of all containers, the client's included.

The clusters are those of compose/compose.yaml. Without a Docker engine that has their image (``make cluster-image``)
only the local part runs. Raw results, one row a run, go to a CSV file, and the machine and the versions to a JSON file
beside it; ``--table FILE`` makes the tables again.
"""

from __future__ import annotations

import argparse
import csv
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sash_experiments.machine import facts
from scalability_places import Place, cluster, has_image, local
from scalability_runs import MARK, WARM
from scalability_tables import Results
from tables import insert

HERE = Path(__file__).parent
FIELDS = [
    "engine", "where", "contender", "parallelism", "keys", "range", "rows", "seconds", "cpu_seconds", "state_bytes",
    "repeat",
]  # fmt: skip
ENGINES = ["flink", "spark"]
KEYS = {"local": 84, "cluster": 336}
PACKAGES = ["sash", "apache-flink", "pyspark", "pyarrow", "pandas", "numpy", "numba"]

Row = dict[str, Any]


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


SMOKE = Size(rows=40_000, range=64, repeats=1, parallelisms=(1,))


def say(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)


def measured(place: Place, command: list[str]) -> Iterator[Row]:
    """What a driver tells of its runs, with the CPU seconds and the state of each."""
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


def bench(engine: str, place: Place, parallelism: int, size: Size) -> Iterator[Row]:
    keys = KEYS[place.name]
    given = size.contenders(engine, keys, parallelism)
    options = {"parallelism": parallelism, "keys": keys, "range": size.range, "repeats": size.repeats}
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    runs = measured(place, place.driver([*words, *(f"{name}={rows}" for name, rows in given.items())]))
    for run in without_start(runs) if engine == "flink" else runs:
        if run["repeat"] == WARM:
            continue
        run |= {"seconds": round(run["seconds"], 3), "cpu_seconds": round(run["cpu_seconds"], 3)}
        told = {"engine": engine, "where": place.name, "parallelism": parallelism, "keys": keys, "range": size.range}
        yield {name: {**run, **told}[name] for name in FIELDS}


def everything(size: Size, engines: list[str], wheres: list[str]) -> Iterator[Row]:
    for where in wheres:
        for engine in engines:
            for parallelism in size.parallelisms:
                with tempfile.TemporaryDirectory() as folder:
                    there = local(engine, Path(folder)) if where == "local" else cluster(engine, parallelism)
                    with there as place:
                        for row in bench(engine, place, parallelism, size):
                            say(
                                f"{engine}, {where}, {parallelism}: {row['contender']}, {row['rows']:,} rows, "
                                f"{row['seconds']} s, {row['cpu_seconds']} CPU s"
                            )
                            yield row


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="so few rows that the numbers tell nothing")
    parser.add_argument("--rows", type=int, default=Size.rows)
    parser.add_argument("--repeats", type=int, default=Size.repeats)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--where", nargs="+", choices=list(KEYS), help="default: both, if there is Docker")
    parser.add_argument("--output", type=Path, help="default: results/scalability.csv, or build/ if not all is run")
    parser.add_argument("--again", action="store_true", help="put what is run in the place of the same in the output")
    parser.add_argument("--table", type=Path, help="print the tables of this CSV file and measure nothing")
    parser.add_argument("--page", type=Path, help="also put the tables into this page")
    return parser.parse_args()


def run(options: argparse.Namespace) -> Path:
    """Measure; the path of the raw results."""
    size = SMOKE if options.smoke else Size(rows=options.rows, repeats=options.repeats)
    wheres = options.where or (list(KEYS) if has_image() else ["local"])
    if "cluster" not in wheres:
        say("The clusters are not measured: that takes a Docker engine with their image (make cluster-image).")
    whole = size == Size() and (options.again or (wheres == list(KEYS) and options.engines == ENGINES))
    path: Path = options.output or (HERE / "results" if whole else HERE.parent / "build") / "scalability.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    known = facts(PACKAGES, rows=size.rows, range=size.range, keys=KEYS, repeats=size.repeats)
    path.with_suffix(".json").write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    kept = _others(path, options.engines, wheres) if options.again else []
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(kept)
        for row in everything(size, options.engines, wheres):
            writer.writerow(row)
            file.flush()
    return path


def _others(path: Path, engines: list[str], wheres: list[str]) -> list[Row]:
    """The results that there are of other engines and places."""
    with path.open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["engine"] not in engines or row["where"] not in wheres]


def main() -> None:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # so that no cluster is left behind
    path = options.table or run(options)
    text = "\n".join(Results.read(path).tables())
    print(text)
    if options.page:
        insert(text, options.page, "scalability")


if __name__ == "__main__":
    main()
