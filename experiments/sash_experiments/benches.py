"""Experiments whose numbers come from benchmarks (slicing, MTA, scalability): their raw results, read as ours.

At the smallest scale the benchmarks are run by ``sash experiment run``, too, each in a process of its own.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sash_experiments.experiment import Experiment
from sash_experiments.raw import Measured, Results, read_rows

__all__ = ["MTA", "MTA_OWN", "SLICING", "missing", "of_bench", "run_smoke"]

Row = dict[str, str]


def of_bench(experiment: Experiment, folder: Path) -> Results | None:
    """The results of an experiment in a benchmark's files; None if they are not there."""
    path = folder / experiment.bench_file
    if not path.exists():
        path = _smoke(experiment, folder)
        if not path.exists():
            return None
    raw, facts = read_rows(path)
    rows = tuple(_READERS[experiment.bench_name](experiment, iter(raw)))
    return Results(rows, facts) if rows else None


def _smoke(experiment: Experiment, folder: Path) -> Path:
    return folder / f"{experiment.bench_name}.smoke.csv"


_PROGRAMS = {"mta": ("redis-server",), "scalability": ("java",)}
_MODULES = {"mta": ("lmdb", "rocksdict", "redis"), "scalability": ("pyflink", "pyspark", "pyarrow", "pandas")}


def missing(experiment: Experiment) -> list[str]:
    """What the benchmark of an experiment needs, and this machine does not have."""
    name = experiment.bench_name
    programs = [each for each in _PROGRAMS.get(name, ()) if shutil.which(each) is None]
    return programs + [each for each in _MODULES.get(name, ()) if importlib.util.find_spec(each) is None]


def run_smoke(experiment: Experiment, folder: Path) -> int:
    """Run the benchmark of an experiment at its smallest scale; how many rows it wrote. Exit if it fails."""
    kept = _smoke(experiment, folder)
    kept.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "sash_experiments", "bench", experiment.bench_name, *experiment.bench_smoke]
    with tempfile.TemporaryDirectory(dir=kept.parent) as place:  # a benchmark draws its plots beside its rows
        path = Path(place, experiment.bench_file)
        asked = subprocess.run([*command, "--output", str(path)], capture_output=True, text=True, check=False)
        if asked.returncode:
            raise SystemExit(f"{' '.join(command)} failed: {asked.stderr.strip()[-2000:]}")
        rows, about = read_rows(path)
        kept.with_suffix(".json").write_text(json.dumps(about | {"scale": "smoke"}, indent=2) + "\n", encoding="utf-8")
        path.replace(kept)
    return len(rows)


def _slicing(experiment: Experiment, rows: Iterator[Row]) -> Iterator[Measured]:
    figure = experiment.name.removeprefix("slicing-fig")
    for row in rows:
        if row["figure"].rstrip("abcd") == figure:
            part = f"{row['figure']}: " if row["figure"] != figure else ""
            series = row["setting"] if figure == "15" else row["contender"]
            panel = "a split" if figure == "15" else part + row["setting"]
            x = row["x"].replace("% late", "").replace("up to ", "").removesuffix(" s") if figure == "12" else row["x"]
            yield Measured(panel, x, series, int(row["round"]), row["unit"], float(row["value"]))


MTA_OWN = ", of the processor's time"
"""What latencies are called that count the process's own time, of all its threads, and not the clock's."""
_TIMES = {"mean_us": "", "cpu_us": MTA_OWN}
_MTA: dict[str, list[tuple[str, str, dict[str, str], str]]] = {
    # experiment of the paper: what the benchmark calls it and its parts, their x, what is measured, the unit
    "mta-exp1": [("latency", "n", _TIMES, "µs")],
    "mta-exp2": [("bulk", "evicted", _TIMES, "µs")],
    "mta-exp3": [("dimensions", "aggregate", _TIMES, "µs"), ("policies", "aggregate", _TIMES, "µs")],
    "mta-exp4": [("memory", "n", {"anonymous_mb": ""}, "MB"), ("limited", "aggregate", {"steps": ""}, "values")],
    "mta-exp5": [("many", "aggregate", _TIMES, "µs")],
}


def _mta(experiment: Experiment, rows: Iterator[Row]) -> Iterator[Measured]:
    rounds: Counter[tuple[str, ...]] = Counter()
    known = list(rows)
    for name, x, measures, unit in _MTA[experiment.name]:
        mine = [row for row in known if row["experiment"] == name]
        for measure, suffix in measures.items():
            for row in mine:
                if row[measure]:
                    place = (name, measure, row[x], row["contender"])
                    number, rounds[place] = rounds[place], rounds[place] + 1
                    yield Measured(name + suffix, row[x], row["contender"], number, unit, float(row[measure]))


def _scalability(_: Experiment, rows: Iterator[Row]) -> Iterator[Measured]:
    """Rows a second by parallelism on one machine, and by workers on a cluster."""
    for row in rows:
        panel = f"{row['engine']}, {row['where']}, {int(row['keys']):,} keys, {row['aggregate']}, W[{row['range']}, 1]"
        rate = float(row["rows"]) / float(row["seconds"])
        yield Measured(panel, row["parallelism"], row["contender"], int(row["repeat"]), "rows/s", rate)
        if float(row["cpu_seconds"] or 0):
            own = float(row["rows"]) / float(row["cpu_seconds"])
            yield Measured(f"CPU: {panel}", row["parallelism"], row["contender"], int(row["repeat"]), "rows/CPU s", own)


_READERS: dict[str, Callable[[Experiment, Iterator[Row]], Iterator[Measured]]] = {
    "slicing": _slicing,
    "mta": _mta,
    "scalability": _scalability,
}


_TINY = ("--tiny", "--rounds", "1")


def _figure(number: int, title: str, workload: str, x: str, **more: Any) -> Experiment:
    bench: dict[str, Any] = {"bench": "make bench-slicing", "bench_file": "slicing.csv", "bench_smoke": _TINY}
    return Experiment(f"slicing-fig{number}", title, workload, x=x, **bench, **more)


_LATE = "20 % of tuples late by up to 2 s"
SLICING = [
    _figure(
        8,
        "Throughput in order",
        "Tumbling windows of 1 to 20 s, sum, football data; tuples a second. Pairs and Cutty, which take tuples in "
        "order only, beside them: on windows that slide, too, and the slices that they hold.",
        "windows",
    ),
    _figure(9, "Throughput with disorder and sessions", f"The same with a session window, {_LATE}.", "windows"),
    _figure(
        10,
        "Memory",
        "Bytes by slices and by tuples in the allowed lateness, windows on time and on counts.",
        "slices or tuples",
    ),
    _figure(
        11, "Output latency of aggregate stores", "Microseconds of one firing by entries; sum and median.", "entries"
    ),
    _figure(
        12,
        "Stream order",
        "20 windows and a session; tuples a second by the share of late tuples and their delay.",
        "late, % or s",
        x_log=False,
    ),
    _figure(13, "Aggregations", f"20 windows, {_LATE}; tuples a second.", "aggregation", x_log=False),
    _figure(14, "Median", f"Tuples a second by windows, football data and a machine's 37 values, {_LATE}.", "windows"),
    _figure(15, "Splits", "Microseconds to recompute a slice that is split, by its tuples.", "tuples"),
    _figure(16, "Window measures", f"Windows on time and on counts, {_LATE}; tuples a second.", "windows"),
]


_MONOIDS = ("Naive", "KVS Log MTA", "Log MTA", "DABA", "KVS AMTA", "AMTA")
_NANOSECONDS = {
    "sum": (3.69e8, 14_320, 10_341, 4_288, 6_253, 4_163),
    "mean": (3.26e8, 14_027, 10_378, 4_389, 6_111, 4_033),
    "geometric mean": (2.83e8, 15_267, 11_166, 4_795, 6_198, 4_183),
    "standard deviation": (3.5e8, 15_439, 12_934, 4_880, 6_131, 3_864),
    "max, evicting in bulk": (2_554, 8_501, 6_188, 3_500, 2_886, 1_763),
    "longest rising run, evicting in bulk": (19_294, 22_306, 19_794, 10_027, 7_350, 6_476),
}
MTA_TABLE_2 = {row: dict(zip(_MONOIDS, numbers, strict=True)) for row, numbers in _NANOSECONDS.items()}


_FEW = tuple(
    "--sizes 2 6 10 --largest 10 --dimensions-size 12 --smallest-held 10 --largest-held 12 --budget 0.01 "
    "--limits 8 --counts 1 3".split()
)


def _mta_experiment(number: int, title: str, workload: str, x: str, gap: str = "", **more: Any) -> Experiment:
    bench: dict[str, Any] = {"bench": "make bench-mta", "bench_file": "mta.csv", "bench_smoke": _FEW}
    return Experiment(f"mta-exp{number}", title, workload, x=x, gap=gap, **bench, **more)


MTA = [
    _mta_experiment(
        1,
        "Latency of windows of constant size",
        "A value comes, the slide policy lets the oldest go, and the result is asked for; mean µs by window size.",
        "window size",
        "Stores are on this machine (LMDB, RocksDB, Redis), not Couchbase in a cluster; windows up to 2^24.",
    ),
    _mta_experiment(2, "Bulk eviction", "Of a large window 1 to all values leave at once; µs by how many.", "evicted"),
    _mta_experiment(
        3,
        "Analytics of several dimensions",
        "Several aggregates over one window, each alone and all together; and policies that let all go that is older "
        "than the maximum, or than the longest run; µs.",
        "aggregate",
        "The paper's stream of two years of memory readings is not public; values are made up.",
        x_log=False,
        published=MTA_TABLE_2,
        published_unit="ns (Java 8)",
    ),
    _mta_experiment(
        4,
        "Memory",
        "What a process holds by the size of its window, in memory and in stores, MB; and the window that it reaches "
        "where the system lets it allocate so many MB more than it has, and no more (RLIMIT_DATA).",
        "window size, or MB",
    ),
    _mta_experiment(
        5,
        "Many dimensions",
        "1 to 50 counts over one window of constant size, in memory and in a store; µs.",
        "dimensions",
        x_log=False,
        y_log=False,
    ),
]
