"""Every merging algorithm side by side: the time per slide and the worst slide. Run by ``make bench``.

A slide is what a window of fixed size does when a value comes: evict, insert, query. Each algorithm is filled to n
and then slid for at least one full cycle of its own (n slides, so that what flips has flipped), within a budget of
time. The garbage collector is off meanwhile, as timeit does it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import sash
from sash_experiments.benchmark import Benchmark, Case, Contender, Row, in_turn
from sash_experiments.contenders import ALGORITHMS, over_values, uniform_values
from sash_experiments.tables import grid, medians
from sash_experiments.timing import Slide, latencies, microseconds

__all__ = ["BENCHMARK"]

AGGREGATIONS: dict[str, Callable[[], sash.Aggregation]] = {
    "max": sash.Max,
    "mean": sash.Mean,
    "bloom": lambda: sash.Bloom(capacity=100, error_rate=0.01),
}
NAMES = [name for name in ALGORITHMS if name != "PBA"]


def measure(make: Callable[[], Slide], values: list[Any], n: int, budget: float) -> Iterator[Row]:
    """Slide for a cycle of n and some more, or until the budget is spent."""
    slide, cpu = make(), time.process_time()
    taken = latencies(slide, values, max(2 * n, 2000), budget, time.perf_counter_ns)
    yield {
        "slides": len(taken),
        "cycles": round(len(taken) / n, 2),
        **microseconds(taken, time.process_time() - cpu),
    }


def cases(options: argparse.Namespace) -> Iterator[Case]:
    """Contenders are checked where they are made."""
    for n in (2**size for size in options.sizes):
        values = uniform_values(max(n, 4096))
        for label, create in AGGREGATIONS.items():
            contenders = [
                Contender(name, partial(measure, make, values, n, options.budget))
                for name, make in over_values(NAMES, create(), n, values[:n])
            ]
            yield Case({"aggregation": label, "n": n}, contenders)


def rows(options: argparse.Namespace) -> Iterator[Row]:
    for row in in_turn(cases(options), options.rounds):
        yield {"algorithm": row.pop("contender"), **row}


def tables(found: list[dict[str, str]], facts: Mapping[str, Any]) -> Iterator[str]:
    """A table an aggregation and measure: medians over the rounds, an algorithm a line, a window size a column."""
    for label in dict.fromkeys(row["aggregation"] for row in found):
        mine = [row for row in found if row["aggregation"] == label]
        for column, title, style in (("mean_us", "time per slide", "{:.1f}"), ("worst_us", "worst slide", "{:.0f}")):
            lines: dict[str, dict[str, float]] = {}
            for (name, n), value in medians(mine, column, "algorithm", "n").items():
                lines.setdefault(name, {})[n] = value
            sizes = sorted({row["n"] for row in mine}, key=int)
            yield from grid(f"{label}: {title}, µs (median of rounds)", "algorithm", lines, style, sizes)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sizes", type=int, nargs="+", default=list(range(4, 18)), help="window sizes, as powers of 2")
    parser.add_argument("--budget", type=float, default=1.0, help="seconds of one measurement (default %(default)s)")


KEY = ("aggregation", "n", "algorithm")
BENCHMARK = Benchmark(
    "aggregators",
    __doc__,
    (*KEY, "round", "slides", "mean_us", "cpu_us", "p50_us", "p999_us", "worst_us", "cycles"),
    KEY,
    rows,
    tables,
    rounds=3,
    arguments=arguments,
    mark="bench",
    page="docs/benchmarks/algorithms.md",
)
