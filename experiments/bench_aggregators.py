"""Every merging algorithm side by side: the time per slide and the worst slide. Run by ``make bench``.

A slide is what a window of fixed size does when a value comes: evict, insert, query. Each algorithm is filled to n
and then slid for at least one full cycle of its own (n slides, so that what flips has flipped), within a budget of
time; all algorithms of one window size are measured in turn, round by round, so that a busy moment of the machine
hits all alike. The garbage collector is off meanwhile, as timeit does it. Raw results, one row a round, go to a CSV
file; the tables are made from it and can be made again: ``bench_aggregators.py --table FILE``.
"""

from __future__ import annotations

import argparse
import csv
import gc
import math
import os
import platform
import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import sash
from sash.aggregators import FIFO, PBA, SBA
from sash_experiments.slides import Slide, boundary, fiba, fifo
from tables import insert

RESULTS = Path(__file__).parent / "results"
FIELDS = ["aggregation", "n", "algorithm", "round", "slides", "mean_us", "p50_us", "p999_us", "worst_us", "cycles"]
AGGREGATIONS: dict[str, Callable[[], sash.Aggregation]] = {
    "max": sash.Max,
    "mean": sash.Mean,
    "bloom": lambda: sash.Bloom(capacity=100, error_rate=0.01),
}
RECALC_MOST = 2**10  # recalculation is linear: beyond this it only takes the time of the others


def contenders(aggregation: sash.Aggregation, n: int, values: list[Any]) -> Iterator[tuple[str, Callable[[], Slide]]]:
    """(name, how to make it) of each algorithm that admits the aggregation."""
    for algorithm in FIFO:
        if algorithm.__name__ == "Recalc" and n > RECALC_MOST:
            continue
        try:
            algorithm(aggregation)
        except TypeError:  # needs an inverse or a selective combine, and says so
            continue
        yield algorithm.__name__, lambda algorithm=algorithm: fifo(algorithm, aggregation, values)  # type: ignore[misc]
    yield "FiBA", lambda: fiba(aggregation, values)
    yield "SBA", lambda: boundary(lambda: SBA(aggregation, n), values)
    yield "PBA (1 thread)", lambda: boundary(lambda: PBA(aggregation, n, parallel=False), values)
    yield "PBA (2 threads)", lambda: boundary(lambda: PBA(aggregation, n, parallel=True), values)


def measure(slide: Slide, values: list[Any], n: int, budget: float) -> dict[str, Any]:
    """Slide for a cycle of n and some more, or until the budget is spent."""
    wanted, clock, taken = max(2 * n, 2000), time.perf_counter, []
    stop = clock() + budget
    position, size = 0, len(values)
    before = clock()
    while len(taken) < wanted and before < stop:
        value = values[position]
        position = position + 1 if position + 1 < size else 0
        begin = clock()
        slide(value)
        before = clock()
        taken.append(before - begin)
    taken.sort()
    micro = [
        seconds * 1e6
        for seconds in (statistics.fmean(taken), taken[len(taken) // 2], taken[len(taken) * 999 // 1000], taken[-1])
    ]
    names = ["mean_us", "p50_us", "p999_us", "worst_us"]
    return {"slides": len(taken), "cycles": round(len(taken) / n, 2)} | {
        name: round(value, 3) for name, value in zip(names, micro, strict=True)
    }


def bench(sizes: list[int], rounds: int, budget: float) -> Iterator[dict[str, Any]]:
    rng = random.Random(5)
    for n in sizes:
        values = [rng.random() * 100 for _ in range(max(n, 4096))]
        for label, make in AGGREGATIONS.items():
            for number in range(rounds):
                for name, build in contenders(make(), n, values[:n]):
                    slide = build()
                    gc.collect()
                    gc.disable()
                    result = measure(slide, values, n, budget)
                    gc.enable()
                    yield {"aggregation": label, "n": n, "algorithm": name, "round": number} | result
                print(f"  {label}, n = {n}, round {number + 1} of {rounds}", file=sys.stderr, flush=True)


def tables(rows: Iterable[dict[str, str]]) -> Iterator[str]:
    """A table an aggregation and measure: medians over the rounds, an algorithm a line, a window size a column."""
    cells: dict[tuple[str, str], dict[str, dict[int, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for row in rows:
        for measure_ in ("mean_us", "worst_us"):
            cells[row["aggregation"], measure_][row["algorithm"]][int(row["n"])].append(float(row[measure_]))
    titles = {"mean_us": "time per slide, µs", "worst_us": "worst slide, µs"}
    for (label, measure_), lines in cells.items():
        sizes = sorted({n for line in lines.values() for n in line})
        yield f"\n{label}: {titles[measure_]} (median of rounds)\n"
        yield "| algorithm | " + " | ".join(f"2^{math.log2(n):g}" for n in sizes) + " |"
        yield "| --- |" + " ---: |" * len(sizes)
        for name, line in lines.items():
            shown = [
                f"{statistics.median(line[n]):.{1 if measure_ == 'mean_us' else 0}f}" if n in line else ""
                for n in sizes
            ]
            yield f"| {name} | " + " | ".join(shown) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(range(4, 18)), help="window sizes, as powers of 2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--budget", type=float, default=1.0, help="seconds at most for one measurement (default %(default)s)"
    )
    parser.add_argument("--output", type=Path, default=RESULTS / "aggregators.csv")
    parser.add_argument("--table", type=Path, help="print the tables of this CSV file and measure nothing")
    parser.add_argument("--readme", type=Path, help="also put the first table (time per slide, max) into this file")
    options = parser.parse_args()
    if not options.table:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        with options.output.open("w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS)
            writer.writeheader()
            for row in bench([2**size for size in options.sizes], options.rounds, options.budget):
                writer.writerow(row)
                file.flush()
    path = options.table or options.output
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}; raw results in {path.name}"
    )
    with path.open(newline="") as file:
        lines = list(tables(csv.DictReader(file)))
    print("\n".join(lines))
    if options.readme:
        titles = [i for i, line in enumerate(lines) if not line.startswith("|")]
        insert("\n".join(lines[titles[0] + 1 : titles[1]]), options.readme, "bench")


if __name__ == "__main__":
    main()
