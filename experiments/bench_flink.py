"""Sash on Flink beside what Flink itself has. Run by ``make bench-flink``.

One embedded Flink, parallelism 1, Python workers of their own. A generator in the JVM makes readings of 84 (or 8)
plugs, in order of time; every contender computes the maximum of every window; results go nowhere. SQL and Sash with
packed records take a table and give one, the others streams. Each contender is run on few and on many records: what is
told is the difference, so that the start of a job and of its workers does not count. Few are so many that count windows
are full, for until then all contenders cost less; and for Sash and what does nothing as many at all sizes of windows,
some results of the longest included, so that the JVM has compiled as much. All is run, and then run once more
(``--passes``) but for what took long, and the better counts: what slows the machine for a while does not slow one
contender only; and all sizes of a contender one after the other. Runs of packed records have four times as many of
them, for they cost least. SQL OVER orders rows by their time, or by the millisecond of their arrival,
which costs less the more rows arrive in one. CPU is that of the whole process tree: this process, the JVM and the
Python workers. ``source alone`` has no windows: what the generator and the copies of its rows cost all others, too.

``identity`` is a keyed process function that does nothing, as anyone would write it: PyFlink takes the key of a row in
a Python worker of its own. Sash has the JVM take it; with ``identity, keyed in the JVM`` so has the function.

SQL HOP and PyFlink's own windows are slow, and given fewer records than fill them, which favours them. Some contenders
can be run again by themselves (``--only``), and their results be kept with the others (``--keep build/flink.csv``).
The last workload is FPBA: how long the worst record is in the operator when it comes at a chunk's end.

Raw results, one row a run, go to a CSV file, and the machine and the versions to a JSON file beside it; ``--table
FILE`` makes the tables again, ``--readme FILE`` puts them into a page.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sash
from flink_contenders import (
    Contender,
    Readings,
    by_record,
    count_query,
    count_window,
    hop,
    identity,
    identity_in_jvm,
    ours,
    over,
    sliding_windows,
    source_alone,
    time_query,
)
from flink_tables import Results
from process_tree import cpu_seconds
from sash_experiments.machine import facts
from tables import insert

HERE = Path(__file__).parent
FIELDS = [
    "workload", "keys", "n", "contender", "records", "wall_s", "cpu_s", "records_per_s", "cpu_us_per_record",
    "p50_us", "p999_us", "worst_us", "worst_own_us",
]  # fmt: skip
SIZES = [2**6, 2**10, 2**12, 2**14]
RATIOS = [10, 600, 3600]
LATENCIES = [("moments", sash.MomentSketch("load"), 2**14), ("bloom", sash.Bloom("load"), 2**16)]
LONG = 60.0
"""Seconds of a run that is not made again."""
RESULTS = 600
"""Windows whose latency is looked at: the first chunk that ends while there are results is among them."""
Case = tuple[str, int, int, Contender]


def count_cases(records: int) -> Iterator[Case]:
    for n in SIZES:
        for keys in (84, 8):
            full, all_full = keys * n, keys * SIZES[-1]
            few = all_full + records
            contenders = [Contender("sash packed", ours(count_query(n)), few + 4 * records, few)]
            if keys == 84:
                contenders.append(Contender("SQL OVER, arrival", over(n, "proc"), full + records, full))
            if n >= 2**10:
                contenders.append(
                    Contender("SQL OVER, time", over(n, "ts"), full + max(records * 60 // n, 20_000), full)
                )
            if keys == 8:
                few = all_full + records // 20
                most = few + records // 5
                contenders.append(Contender("sash by record", by_record(count_query(n)), most, few))
            if keys == 8 and n == 2**10:
                contenders.append(Contender("identity", identity, most, few))
                contenders.append(Contender("identity, keyed in the JVM", identity_in_jvm, most, few))
            if keys == 84 and n in (2**10, 2**14):
                in_time = count_query(n).using(time="ts")
                contenders.append(Contender("sash packed, time", ours(in_time), few + 4 * records, few))
                if n == 2**10:
                    contenders.append(Contender("source alone", source_alone, few + 4 * records, few))
            yield from (("count", keys, n, each) for each in contenders)
    yield "count", 1, 2**10, Contender("count_window", count_window(2**10), 400, 300)


def time_cases(records: int) -> Iterator[Case]:
    for ratio in RATIOS:
        contenders = [Contender("sash packed", ours(time_query(ratio)), 84 * ratio + 4 * records, 84 * ratio)]
        # When the input ends, all windows that have begun are given, a key about ratio of them, whatever came before:
        # more records must bring many more.
        contenders.append(Contender("SQL HOP", hop(ratio), 2_000 + max(4 * records // ratio, records // 50)))
        contenders.append(Contender("sash by record", by_record(time_query(ratio)), records // 10, records // 50))
        if ratio == RATIOS[0]:
            contenders.append(Contender("SlidingEventTimeWindows", sliding_windows(ratio), 3_000, 1_000))
        yield from (("time", 84, ratio, each) for each in contenders)


def measured(contender: Contender, records: int, keys: int) -> tuple[float, float]:
    """Wall and CPU seconds of a run."""
    readings = Readings(records, keys)
    ended = threading.Event()
    watch = threading.Thread(target=_watch, args=(ended,))
    wall, cpu = time.perf_counter(), cpu_seconds()
    watch.start()
    try:
        contender.run(readings)
        return time.perf_counter() - wall, cpu_seconds() - cpu
    finally:
        ended.set()
        watch.join()


def _watch(ended: threading.Event) -> None:
    """Workers end with their job: what they have spent must have been seen before."""
    while not ended.wait(0.2):
        cpu_seconds()


class Runs:
    """Those of one contender: wall and CPU seconds on few records, and on many."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.few: list[tuple[float, float]] = []
        self.many: list[tuple[float, float]] = []

    def add(self) -> None:
        """Run it, unless that takes long and has been done."""
        _, keys, _, contender = self.case
        for runs, records in ((self.few, contender.few), (self.many, contender.records)):
            if not runs or runs[0][0] < LONG:
                runs.append(measured(contender, records, keys))
        walls = [f"{wall:.1f} s" for wall, _ in (self.few[-1], self.many[-1])]
        print(*self.case[:3], contender.name, *walls, sep=", ", file=sys.stderr, flush=True)

    def row(self) -> dict[str, Any] | None:
        """What more records take, by the better runs; None if these tell nothing."""
        workload, keys, n, contender = self.case
        few, many = (min(runs, key=lambda run: run[1]) for runs in (self.few, self.many))
        wall, cpu = (b - a for a, b in zip(few, many, strict=True))
        if min(wall, cpu) <= 0:
            print(*self.case[:3], contender.name, "more records took less time: left out", sep=", ", file=sys.stderr)
            return None
        records = contender.records - contender.few
        values = [workload, keys, n, contender.name, records, round(wall, 3), round(cpu, 3)]
        return dict(zip(FIELDS, [*values, round(records / wall), round(cpu / records * 1e6, 2)], strict=False))


def latencies(name: str, aggregation: sash.Aggregation, n: int, rounds: int) -> Iterator[dict[str, Any]]:
    """How long records are in the operator; of each algorithm the median of some runs' worst."""
    from latency_function import ALGORITHMS, timed_stream

    runs: dict[str, list[list[float]]] = {algorithm: [] for algorithm in ALGORITHMS}
    records = n + RESULTS
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seconds.npy"
        for _ in range(rounds):
            for algorithm in ALGORITHMS:
                path.unlink(missing_ok=True)  # what a run did not write must not be taken for its result
                readings = Readings(records, 1)
                readings.sink(timed_stream(readings.stream("plug, `load`"), aggregation, n, algorithm, path))
                wall, own = np.load(path).T * 1e6
                runs[algorithm].append([*np.quantile(wall, [0.5, 0.999]).tolist(), wall.max(), own.max()])
    for algorithm, found in runs.items():
        told = [round(value, 1) for value in np.median(np.array(found), axis=0).tolist()]
        row = {"workload": f"latency {name}", "keys": 1, "n": n, "contender": algorithm, "records": records}
        yield row | dict(zip(FIELDS[-4:], told, strict=True))


def everything(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    prefix, _, names = (options.only or "").partition(":")
    cases = [*count_cases(options.records), *time_cases(options.records)]
    runs = [
        Runs(case)
        for case in sorted(cases, key=lambda case: (case[0], -case[1], case[3].name, case[2]))
        if "-".join(map(str, case[:3])).startswith(prefix) and (not names or case[3].name in names.split(";"))
    ]
    if runs:
        _, keys, _, contender = runs[0].case
        measured(contender, contender.records, keys)  # the first run of all loads and compiles what all share
    began = time.monotonic()
    for number in range(options.passes):
        for each in runs:
            if number and time.monotonic() - began > options.minutes * 60:
                break
            each.add()
    yield from (row for each in runs if (row := each.row()) is not None)
    for name, aggregation, n in LATENCIES:
        if f"latency-{name}-{n}".startswith(prefix):
            yield from latencies(name, aggregation, n, options.rounds)


def run(options: argparse.Namespace) -> Path:
    """Measure; the path of the raw results."""
    out: Path = options.out or (HERE.parent / "build" if options.only else HERE / "results") / "flink.csv"
    out.parent.mkdir(parents=True, exist_ok=True)
    about = facts(["sash", "apache-flink", "pyarrow", "numpy", "numba"], records=options.records)
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for row in everything(options):
            writer.writerow(row)
            file.flush()
            print({name: value for name, value in row.items() if name != "wall_s"}, file=sys.stderr, flush=True)
    out.with_suffix(".json").write_text(json.dumps(about, indent=1) + "\n")
    return out


def kept(again: Path) -> Path:
    """The kept results, with what was run again in its place."""
    path = HERE / "results" / "flink.csv"
    rows = {}
    for each in (path, again):
        with each.open(newline="") as file:
            rows |= {tuple(row[name] for name in FIELDS[:4]): row for row in csv.DictReader(file)}
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(rows.values())
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--passes", type=int, default=2, help="over all but the latencies; the best of each counts")
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="after which nothing but the latencies is run again"
    )
    parser.add_argument("--rounds", type=int, default=1, help="of the latencies, whose median is told")
    parser.add_argument(
        "--only",
        help="such as count-84-1024: runs whose name begins so, of contenders after a colon, with semicolons between",
    )
    parser.add_argument("--out", type=Path)
    parser.add_argument("--keep", type=Path, help="put the results of this file among those that are kept")
    parser.add_argument("--table", type=Path, help="make the tables from this file again")
    parser.add_argument("--readme", type=Path, help="also put them into this page")
    options = parser.parse_args()
    if options.passes < 1:
        parser.error("--passes must be 1 or more")
    path = options.table or (kept(options.keep) if options.keep else run(options))
    with path.open(newline="") as file:
        results = Results(csv.DictReader(file))
    text = "\n\n".join(results.tables())
    print(text)
    if options.readme:
        insert(text, options.readme, "flink")


if __name__ == "__main__":
    main()
