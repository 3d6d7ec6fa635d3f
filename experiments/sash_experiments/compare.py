"""Two checkouts compared by CPU in the same hour: ``python -m sash_experiments compare CHECKOUT rolling slicing``.

Each benchmark is run alternately (base, this, base, this …) in processes of their own, by each checkout's own code, so
that a version whose modules lie elsewhere can be the base. What is compared are the raw results: CPU time per row.
Contenders that are not Sash are the control: their ratio says how far the machine, not the code, has changed.
"""

from __future__ import annotations

import argparse
import math
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sash_experiments import benchmarks
from sash_experiments.raw import read_rows
from sash_experiments.tables import table

__all__ = ["main"]

Row = Mapping[str, str]
Key = tuple[str, ...]
HERE = Path(__file__).parents[2]
ROOTS = ("core", "flink_adapter", "spark_adapter", "experiments")
CLOCK = "import runpy, sys, time; time.perf_counter = time.process_time; "
"""The clock of benchmarks in one process: 0.1 wrote wall times only, and others' programs slow those down."""
COSTS: dict[str, Callable[[Row], float | None]] = {
    "aggregators": lambda row: float(row["mean_us"]),
    "rolling": lambda row: float(row["ns_per_value"]) if row["ns_per_value"] else None,
    "slicing": lambda row: 1e6 / float(row["value"]) if row["unit"] == "tuples/s" else float(row["value"]),
    "mta": lambda row: float(row["cpu_us"]),
    "spark": lambda row: float(row["cpu_s_per_million"]),
    "flink": lambda row: float(row["cpu_s"]) / float(row["records"]) * 1e6 if float(row["records"] or 0) else None,
}
"""The CPU time of a row, in any unit; None: it was not measured."""
PEERS = (
    *("bottleneck", "pandas", "polars", "scipy", "copy", "buckets", "tuple buffer", "FlatFAT", "FiBA on tuples"),
    *(
        "rowsBetween",
        "van Herk",
        "shuffle",
        "F.window",
        "plain",
        "SQL",
        "identity",
        "source",
        "Sliding",
        "count_w",
    ),
)
"""How the names of contenders begin that run no code of Sash, or little."""


def command(checkout: Path, name: str, output: Path, arguments: Sequence[str]) -> list[str]:
    """What runs a benchmark of a checkout; before there was one framework, benchmarks were scripts."""
    script = checkout / "experiments" / f"bench_{name}.py"
    words = [str(script)] if script.exists() else ["sash_experiments", "bench", name]
    runner = "run_path" if script.exists() else "run_module"
    clock = CLOCK if name in ("aggregators", "rolling", "slicing") else "import runpy, sys; "
    code = f"{clock}sys.argv = sys.argv[1:]; runpy.{runner}(sys.argv[0], run_name='__main__')"
    return [sys.executable, "-c", code, *words, *arguments, "--out", str(output)]


def costs(checkout: Path, name: str, arguments: Sequence[str]) -> dict[Key, list[float]]:
    """Run a benchmark of a checkout once: the costs of its cases."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(str(checkout / root) for root in ROOTS)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.csv"
        asked = command(checkout, name, path, arguments)
        done = subprocess.run(asked, env=environment, cwd=checkout, stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise SystemExit(f"the benchmark {name} of {checkout} failed")
        rows, _ = read_rows(path)
    found: dict[Key, list[float]] = defaultdict(list)
    for row in rows:
        cost = COSTS[name](row)
        if cost is not None:
            found[tuple(row[column] for column in benchmarks.find(name).key)].append(cost)
    return found


def check_jar(checkout: Path) -> None:
    """Exit if the Java part of the Flink adapter, which Git does not have, is not built in a checkout."""
    if not list(checkout.glob("flink_adapter/sash_flink/lib/*.jar")):
        raise SystemExit(f"there is no jar in {checkout}/flink_adapter/sash_flink/lib: build it there, make venv wheel")


def compare(base: Path, name: str, turns: int, arguments: Sequence[str]) -> None:
    """Run a benchmark of both checkouts in turn, and print the ratios of what its cases cost."""
    if name == "flink":
        check_jar(base)
        check_jar(HERE)
    spent: dict[Path, dict[Key, list[float]]] = {base: defaultdict(list), HERE: defaultdict(list)}
    for number in range(turns):
        for checkout, known in spent.items():
            print(f"{name}, turn {number + 1} of {turns}: {checkout}", file=sys.stderr, flush=True)
            for key, numbers in costs(checkout, name, arguments).items():
                known[key] += numbers
    shared = [key for key in spent[HERE] if key in spent[base]]
    before, after = ({key: statistics.median(known[key]) for key in shared} for known in spent.values())
    ratios = {key: after[key] / before[key] for key in shared if before[key] > 0}
    lines = [[", ".join(filter(None, key)), before[key], after[key], ratio] for key, ratio in ratios.items()]
    for title, control in (("Sash: this / base", False), ("control: this / base", True)):
        chosen = [ratio for key, ratio in ratios.items() if any(part.startswith(PEERS) for part in key) == control]
        if chosen:
            lines.append([f"geometric mean, {title}", "", "", math.exp(statistics.fmean(map(math.log, chosen)))])
    print("\n".join(table(f"{name}: CPU per row", ["case", "base", "this", "this / base"], lines)))


def main(arguments: Sequence[str]) -> None:
    """Compare this checkout with another."""
    parser = argparse.ArgumentParser(prog="python -m sash_experiments compare", description=__doc__)
    parser.add_argument("base", type=Path, metavar="CHECKOUT", help="of the version to compare with")
    parser.add_argument("names", nargs="+", choices=list(COSTS), metavar="BENCHMARK", help=", ".join(COSTS))
    parser.add_argument("--turns", type=int, default=3, help="runs of each checkout (default %(default)s)")
    parser.add_argument("--args", default="", help='passed on to the benchmarks, as in --args="--only max --rounds 1"')
    options = parser.parse_args(arguments)
    for name in options.names:
        compare(options.base.resolve(), name, options.turns, shlex.split(options.args))
