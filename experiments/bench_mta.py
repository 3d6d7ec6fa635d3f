"""The MTA paper's experiments: windows that a slide policy decides on, in memory and in stores. ``make bench-mta``.

1. latency: a window of constant size, a value comes, the policy lets one go, and the result is asked for;
2. bulk: of a large window, 1 to all values leave at once;
3. dimensions: several aggregates over one window, each alone and all together in one structure;
4. memory: what a process holds, by the size of its window, and the latency then; each contender in its own process.

Raw results go to results/mta.csv, a row a measurement; tables and plots are made from it (mta_tables.py), and can be
made again: ``bench_mta.py --table``. ``--only 2 4`` and ``--contenders AMTA`` measure only those, and keep the rows of
the others. What would take hours is left out: recalculation of large windows, and DABA at 2^24.
"""

from __future__ import annotations

import argparse
import csv
import gc
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import sash
from mta_contenders import ALL, Places, enforcer, made, sized
from mta_tables import FIELDS, report
from sash.aggregations.custom import Together
from sash.aggregators import DABA
from sash_experiments.machine import facts

RESULTS = Path(__file__).parent / "results"
CHUNK = 1 << 12  # values that are inserted at once while a window is filled
FEWEST = 300  # steps that are measured, whatever the budget
MOST_RECALC = 1 << 12
MOST_DABA = 1 << 22
Row = dict[str, Any]
clock = time.perf_counter


def fill(window: Any, value: Any, count: int) -> None:
    if isinstance(window, DABA):  # which has no bulk insert of its own: one by one it need not remember how to undo
        for _ in range(count):
            window.insert(value)
        return
    for start in range(0, count, CHUNK):
        window.insert_many([value] * min(CHUNK, count - start))
    if hasattr(window, "flush"):
        window.flush()  # what waits to be written would be counted as the first slides'


def timed(steps: Iterator[Callable[[], Any]], budget: float, most: int) -> Row:
    """The times of steps, until the budget is spent; at least some, also on a busy machine."""
    taken: list[float] = []
    cpu = time.process_time()
    stop = clock() + budget
    for step in steps:
        begin = clock()
        step()
        end = clock()
        taken.append(end - begin)
        if (end > stop and len(taken) >= FEWEST) or len(taken) >= most:
            break
    cpu = (time.process_time() - cpu) / len(taken)  # of all threads: what is written in the background, too
    taken.sort()
    at = {"p50_us": len(taken) // 2, "p999_us": len(taken) * 999 // 1000, "worst_us": len(taken) - 1}
    mean = math.fsum(taken) / len(taken)
    return {"steps": len(taken), "mean_us": round(mean * 1e6, 3), "cpu_us": round(cpu * 1e6, 3)} | {
        name: round(taken[place] * 1e6, 3) for name, place in at.items()
    }


def slides(window: Any, enforce: Callable[[], None], value: Any) -> Iterator[Callable[[], Any]]:
    def slide() -> None:
        window.insert(value)
        enforce()
        window.query()

    for _ in range(100):  # a window of 2^k values may have to grow for the one that comes before the first leaves
        slide()
    return repeat(slide)


def latency(options: argparse.Namespace, places: Places) -> Iterator[Row]:
    aggregation, policy = sized()
    for n in [1 << power for power in options.sizes]:
        for name in options.contenders:
            if n > {"Recalc": MOST_RECALC, "DABA": MOST_DABA}.get(name, n):
                continue
            with made(name, aggregation, places) as window:
                fill(window, n, n)
                steps = slides(window, enforcer(window, policy, (1, n)), n)
                yield {"contender": name, "n": n} | timed(steps, options.budget, 4 * n + 1000)


def bulk(options: argparse.Namespace, places: Places) -> Iterator[Row]:
    """The policy is told the new size by the value that comes, so that ``count`` values and the one leave.

    Not by recalculation: the policy asks for the result before each value leaves, which is n merges then.
    """
    aggregation, policy = sized()
    n = 1 << options.largest
    counts = [1 << power for power in range(0, options.largest + 1, 2)]
    for name in [each for each in options.contenders if each != "Recalc"]:
        with made(name, aggregation, places) as window:
            fill(window, n, n)
            for count in counts:
                enforce = enforcer(window, policy, (1, n))
                rounds = 1 if name == "DABA" and count > 1 << 14 else 5
                for _ in range(rounds):
                    window.insert(max(n - count, 0))
                    window.query()
                    found = timed(iter([lambda enforce=enforce, window=window: (enforce(), window.query())]), 0, 1)  # type: ignore[misc]
                    yield {"contender": name, "n": n, "evicted": count} | found
                    fill(window, n, n - len(window))


def rising_run() -> sash.Aggregation:
    """The longest run of rising values, as a monoid: (first, last, length, rising prefix, rising suffix, longest)."""

    def combine(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
        joined = a[1] < b[0]
        prefix = a[2] + b[3] if joined and a[3] == a[2] else a[3]
        suffix = b[2] + a[4] if joined and b[4] == b[2] else b[4]
        across = a[4] + b[3] if joined else 0
        return (a[0], b[1], a[2] + b[2], prefix, suffix, max(a[5], b[5], across))

    return sash.aggregation(
        lift=lambda v: (v, v, 1, 1, 1, 1), combine=combine, lower=lambda p: p[5], name="longest rising run"
    )


def dimensions(options: argparse.Namespace, places: Places) -> Iterator[Row]:
    """A window of constant size, as all of them have; the second aggregate counts, and is what the policy looks at."""
    n = 1 << options.dimensions_size
    alone = {
        "sum": sash.Sum(),
        "mean": sash.Mean(),
        "geometric mean": sash.GeometricMean(),
        "deviation": sash.SampleStdDev(),
        "max": sash.Max(),
        "rising run": rising_run(),
    }
    kinds = {name: [each] for name, each in alone.items()} | {"all six together": list(alone.values())}
    values = [1.0 + (i * 7919 % 10007) / 10007 for i in range(CHUNK)]
    for kind, parts in kinds.items():
        aggregation = Together([sash.Count(), *parts])
        width = len(parts) + 1
        rows = [(value,) * width for value in values]
        for name in options.contenders:
            if name == "Recalc":
                continue
            with made(name, aggregation, places) as window:
                for _ in range(n // CHUNK):
                    window.insert_many(rows)
                enforce = enforcer(window, lambda total, oldest: total[0] - oldest[0] >= n, (1, *parts))
                row = {"contender": name, "n": n, "aggregate": kind}
                yield row | timed(_rows(window, enforce, rows), options.budget, n)


def _rows(window: Any, enforce: Callable[[], None], rows: list[Any]) -> Iterator[Callable[[], Any]]:
    for step in range(1 << 30):
        row = rows[step & (CHUNK - 1)]

        def slide(row: Any = row) -> None:
            window.insert(row)
            enforce()
            window.query()

        yield slide


def memory(options: argparse.Namespace, places: Places) -> Iterator[Row]:
    for name in options.contenders:
        if name.startswith(("Recalc", "LogMTA,")):  # n partials; and what AMTA holds
            continue
        command = [sys.executable, __file__, "--held", name, "--largest", str(options.largest_held)]
        command += ["--smallest-held", str(options.smallest_held), "--budget", str(options.budget), "--url", places.url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                yield json.loads(line)
        if process.returncode:
            raise SystemExit(f"measuring the memory of {name} failed")


def held(options: argparse.Namespace, places: Places) -> Iterator[Row]:
    """In a process of its own: as the window grows."""
    name = options.held
    aggregation, policy = sized()
    before = _status()
    with made(name, aggregation, places) as window:
        for power in range(options.smallest_held, options.largest + 1, 2):
            n = 1 << power
            if name == "DABA" and n > MOST_DABA:
                break
            fill(window, n, n - len(window))
            steps = slides(window, enforcer(window, policy, (1, n)), n)
            found = timed(steps, 3 * options.budget, n)
            held = {field: round((_status()[field] - before[field]) / 1024, 1) for field in before}
            yield {"contender": name, "n": n, "rss_mb": held["VmRSS"], "anonymous_mb": held["RssAnon"]} | found


def _status() -> dict[str, int]:
    lines = Path("/proc/self/status").read_text().splitlines()
    return {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith(("VmRSS", "RssAnon"))}


EXPERIMENTS: dict[str, Callable[[argparse.Namespace, Places], Iterator[Row]]] = {
    "latency": latency,
    "bulk": bulk,
    "dimensions": dimensions,
    "memory": memory,
}


def measure(options: argparse.Namespace) -> None:
    server = subprocess.run(["redis-server", "--version"], capture_output=True, text=True, check=True).stdout.split()[2]
    about = facts(["sash", "lmdb", "rocksdict", "redis"], **{"redis-server": server.removeprefix("v=")})
    wanted = [name for number, name in enumerate(EXPERIMENTS, 1) if number in options.only]
    rows: list[dict[str, str]] = []
    if options.output.exists():
        with options.output.open(newline="") as file:
            rows = list(csv.DictReader(file))
    rows = [row for row in rows if row["experiment"] not in wanted or row["contender"] not in options.contenders]
    with options.output.open("w", newline="") as file, Places.opened() as places:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(rows)
        for name in wanted:
            for row in EXPERIMENTS[name](options, places):
                writer.writerow({"experiment": name} | row)
                file.flush()
                print("  " + ", ".join(f"{key} {value}" for key, value in ({"": name} | row).items()), file=sys.stderr)
    options.output.with_suffix(".json").write_text(json.dumps(about, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=int, nargs="+", default=[1, 2, 3, 4], help="numbers of experiments")
    parser.add_argument("--contenders", nargs="+", default=ALL, choices=ALL, metavar="NAME")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(range(0, 23, 2)), help="powers of 2, of latency")
    parser.add_argument("--largest", type=int, default=22, help="power of 2: the window of bulk")
    parser.add_argument("--dimensions-size", type=int, default=16, help="power of 2: the window of dimensions")
    parser.add_argument("--smallest-held", type=int, default=16, help="power of 2: the smallest window of memory")
    parser.add_argument("--largest-held", type=int, default=24, help="power of 2: the largest window of memory")
    parser.add_argument("--budget", type=float, default=1.0, help="seconds for one measurement (default %(default)s)")
    parser.add_argument("--output", type=Path, default=RESULTS / "mta.csv")
    parser.add_argument("--table", action="store_true", help="measure nothing, make tables and plots of what is there")
    parser.add_argument("--docs", type=Path, help="also put the tables into this Markdown file")
    parser.add_argument("--held", help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    options = parser.parse_args()
    gc.disable()  # there are no cycles, and looking for some takes longer than all else in a window of millions
    if options.held:
        import tempfile

        with tempfile.TemporaryDirectory(prefix="sash-mta-") as folder:
            for row in held(options, Places(Path(folder), options.url)):
                print(json.dumps(row), flush=True)
        return
    if not options.table:
        measure(options)
    report(options.output, options.docs)


if __name__ == "__main__":
    main()
