"""The MTA paper's experiments: windows that a slide policy decides on, in memory and in stores. ``make bench-mta``.

1. latency: a window of constant size, a value comes, the policy lets one go, and the result is asked for;
2. bulk: of a large window, 1 to all values leave at once;
3. dimensions: several aggregates over one window, each alone and all together in one structure;
   and two policies that let many values go at once;
4. memory: what a process holds, by the size of its window, and the latency then; each contender in its own process.
   And the window that it reaches where the system grants it so many megabytes and no more;
5. many: 1 to 50 counts in one window in a store, which cost less than a window each.

``--only 2 4`` and ``--contenders AMTA`` measure only those; with ``--again`` the rows of the others are kept. What
would take hours is left out: recalculation of large windows, and DABA at 2^24.
"""

from __future__ import annotations

import argparse
import gc
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import sash
from sash.aggregations.custom import Together
from sash.aggregators import DABA
from sash_experiments.benchmark import Benchmark, Case, Contender, Row, in_turn
from sash_experiments.benchmarks.mta import policies
from sash_experiments.benchmarks.mta.contenders import ALL, Enforce, Places, enforcer, new_window, sized
from sash_experiments.benchmarks.mta.policies import POLICIES, rising_run
from sash_experiments.benchmarks.mta.tables import plots, tables
from sash_experiments.children import in_child
from sash_experiments.processes import memory_kb
from sash_experiments.timing import microseconds

__all__ = ["BENCHMARK"]

CHUNK = 1 << 12
"""Values that are inserted at once while a window is filled."""
FEWEST = 300
"""Steps that are measured, whatever the budget."""
MOST = {"Recalc": 1 << 12, "DABA": 1 << 22}
"""The largest windows of those that would take hours."""
MANY = ("AMTA", "AMTA, LMDB")
LIMITED = ("DABA", "AMTA", "AMTA, LMDB")
CHECKED = 6
"""Values of the window in which all contenders are compared with recalculation."""


def fill(window: Any, value: Any, count: int) -> None:
    if isinstance(window, DABA):  # which has no bulk insert of its own: one by one it need not remember how to undo
        for _ in range(count):
            window.insert(value)
        return
    for start in range(0, count, CHUNK):
        window.insert_many([value] * min(CHUNK, count - start))
    flush(window)


def flush(window: Any) -> None:
    """Have a store write what waits: it would be counted as the first slides'."""
    if hasattr(window, "flush"):
        window.flush()


def timed(steps: Iterator[Callable[[], Any]], budget: float, most: int) -> Row:
    """The times of steps, until the budget is spent; at least some, also on a busy machine."""
    taken: list[int] = []
    clock, cpu = time.perf_counter_ns, time.process_time()
    stop = clock() + budget * 1e9
    for step in steps:
        begin = clock()
        step()
        end = clock()
        taken.append(end - begin)
        if (end > stop and len(taken) >= FEWEST) or len(taken) >= most:
            break
    # CPU of all threads: what is written in the background, too
    return {"steps": len(taken), **microseconds(taken, time.process_time() - cpu)}


def slides(window: Any, enforce: Enforce, value: Any) -> Iterator[Callable[[], Any]]:
    def slide() -> None:
        window.insert(value)
        enforce()
        window.query()

    for _ in range(100):  # a window of 2^k values may have to grow for the one that comes before the first leaves
        slide()
    return repeat(slide)


class Bench:
    """The experiments of one run."""

    def __init__(self, options: argparse.Namespace, places: Places) -> None:
        self.options, self.places = options, places

    def contenders(self, measure: Callable[[str], Iterator[Row]], *without: str) -> list[Contender]:
        """Those that are asked for, each checked against recalculation."""
        names = [name for name in self.options.contenders if name not in without]
        oracle = partial(self.answer, "Recalc")
        return [Contender(name, partial(measure, name), partial(self.answer, name), oracle) for name in names]

    def answer(self, name: str) -> list[Any]:
        """The results of a small window that grows, slides and shrinks."""
        aggregation, policy = sized()
        with new_window(name, aggregation, self.places) as window:
            enforce, found = enforcer(window, policy, (1, CHECKED)), []
            for most in [CHECKED] * 20 + [2, 2, CHECKED]:
                window.insert(most)
                enforce()
                found.append((window.query(), len(window)))
        return found

    def latency(self) -> Iterator[Case]:
        for n in (1 << power for power in self.options.sizes):
            slow = [name for name, most in MOST.items() if n > most]
            yield Case({"experiment": "latency", "n": n}, self.contenders(partial(self._latency, n), *slow))

    def _latency(self, n: int, name: str) -> Iterator[Row]:
        aggregation, policy = sized()
        with new_window(name, aggregation, self.places) as window:
            fill(window, n, n)
            yield timed(slides(window, enforcer(window, policy, (1, n)), n), self.options.budget, 4 * n + 1000)

    def bulk(self) -> Iterator[Case]:
        """Not by recalculation: the policy asks for the result before each value leaves, which is n merges then."""
        n = 1 << self.options.largest
        yield Case({"experiment": "bulk", "n": n}, self.contenders(partial(self._bulk, n), "Recalc"))

    def _bulk(self, n: int, name: str) -> Iterator[Row]:
        """The policy is told the new size by the value that comes, so that ``count`` values and the one leave."""
        aggregation, policy = sized()
        with new_window(name, aggregation, self.places) as window:
            fill(window, n, n)
            enforce = enforcer(window, policy, (1, n))
            for count in (1 << power for power in range(0, self.options.largest + 1, 2)):
                for _ in range(1 if name == "DABA" and count > 1 << 14 else 5):
                    window.insert(max(n - count, 0))
                    window.query()
                    yield {"evicted": count, **timed(iter([lambda: (enforce(), window.query())]), 0, 1)}
                    fill(window, n, n - len(window))

    def dimensions(self) -> Iterator[Case]:
        """A window of constant size, as all have; the first aggregate counts, and is what the policy looks at."""
        n = 1 << self.options.dimensions_size
        alone: dict[str, sash.Aggregation] = {
            "sum": sash.Sum(),
            "mean": sash.Mean(),
            "geometric mean": sash.GeometricMean(),
            "deviation": sash.SampleStdDev(),
            "max": sash.Max(),
            "rising run": rising_run(),
        }
        kinds = {name: [aggregation] for name, aggregation in alone.items()} | {
            "all six together": list(alone.values())
        }
        for kind, parts in kinds.items():
            contenders = self.contenders(partial(self._dimensions, n, parts), "Recalc")
            yield Case({"experiment": "dimensions", "n": n, "aggregate": kind}, contenders)

        for kind in POLICIES:
            names = [name for name in self.options.contenders if name != "Recalc"]
            runs = policies.contenders(kind, n, names, self.places, timed, self.options.budget)
            yield Case({"experiment": "policies", "n": n, "aggregate": kind}, list(runs))

    def many(self) -> Iterator[Case]:
        """So many counts of one window, in memory and in a store."""
        n = 1 << self.options.dimensions_size - 1
        for count in self.options.counts:
            parts: list[sash.Aggregation] = [sash.Count()] * (count - 1)
            runs = self.contenders(partial(self._dimensions, n, parts), *set(ALL).difference(MANY))
            yield Case({"experiment": "many", "n": n, "aggregate": count}, runs)

    def _dimensions(self, n: int, parts: list[sash.Aggregation], name: str) -> Iterator[Row]:
        rows = [(1.0 + (i * 7919 % 10007) / 10007,) * (len(parts) + 1) for i in range(CHUNK)]
        with new_window(name, Together([sash.Count(), *parts]), self.places) as window:
            for _ in range(n // CHUNK):
                window.insert_many(rows)
            flush(window)
            enforce = enforcer(window, lambda total, oldest: total[0] - oldest[0] >= n, (1, *parts))
            yield timed(_slides_of(window, enforce, rows), self.options.budget, n)

    def memory(self) -> Iterator[Case]:
        """Not of recalculation, which holds n partials, and of LogMTA in stores, which holds what AMTA does."""
        stored = [name for name in ALL if name.startswith("LogMTA,")]
        yield Case({"experiment": "memory"}, self.contenders(self._memory, "Recalc", *stored))
        for megabytes in self.options.limits:
            runs = self.contenders(partial(self._limited, megabytes), *set(ALL).difference(LIMITED))
            yield Case({"experiment": "limited", "aggregate": megabytes}, runs)

    def _limited(self, megabytes: int, name: str) -> Iterator[Row]:
        return in_child(reached, name, self.places.url, megabytes, 1 << self.options.largest_held)

    def _memory(self, name: str) -> Iterator[Row]:
        options = self.options
        return in_child(held, name, self.places.url, options.smallest_held, options.largest_held, options.budget)


def _slides_of(window: Any, enforce: Enforce, rows: list[Any]) -> Iterator[Callable[[], Any]]:
    for step in range(1 << 30):
        row = rows[step & (CHUNK - 1)]

        def slide(row: Any = row) -> None:
            window.insert(row)
            enforce()
            window.query()

        yield slide


def held(name: str, url: str, smallest: int, largest: int, budget: float) -> Iterator[Row]:
    """What a process holds as its window grows; in a process of its own."""
    gc.disable()
    aggregation, policy = sized()
    before = memory_kb()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="sash-mta-"))
        window = stack.enter_context(new_window(name, aggregation, Places(Path(folder), url)))
        for n in (1 << power for power in range(smallest, largest + 1, 2)):
            if n > MOST.get(name, n):
                break
            fill(window, n, n - len(window))
            found = timed(slides(window, enforcer(window, policy, (1, n)), n), 3 * budget, n)
            grown = {field: round((size - before[field]) / 1024, 1) for field, size in memory_kb().items()}
            yield {"n": n, "rss_mb": grown["VmRSS"], "anonymous_mb": grown["RssAnon"], **found}


def reached(name: str, url: str, megabytes: int, goal: int) -> Iterator[Row]:
    """How many values a window takes up to a goal where its process may allocate so many megabytes more than it has."""
    aggregation, _ = sized()
    gc.disable()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="sash-mta-"))
        window = stack.enter_context(new_window(name, aggregation, Places(Path(folder), url)))
        fill(window, goal, CHUNK)  # what every window needs
        most = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, ((memory_kb()["VmData"] << 10) + (megabytes << 20), most[1]))
        with suppress(MemoryError):
            while len(window) < goal:
                fill(window, goal, CHUNK)
        size = len(window)
        resource.setrlimit(resource.RLIMIT_DATA, most)
        yield {"steps": size}


EXPERIMENTS = (Bench.latency, Bench.bulk, Bench.dimensions, Bench.memory, Bench.many)


def rows(options: argparse.Namespace) -> Iterator[Row]:
    gc.disable()  # there are no cycles, and looking for some takes longer than all else in a window of millions
    with Places.opened() as places:
        for number in options.only:
            yield from in_turn(EXPERIMENTS[number - 1](Bench(options, places)), options.rounds)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", type=int, nargs="+", default=[1, 2, 3, 4, 5], help="numbers of experiments")
    parser.add_argument("--contenders", nargs="+", default=ALL, choices=ALL, metavar="NAME")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(range(0, 23, 2)), help="powers of 2, of latency")
    parser.add_argument("--largest", type=int, default=22, help="power of 2: the window of bulk")
    parser.add_argument("--dimensions-size", type=int, default=16, help="power of 2: the window of dimensions")
    parser.add_argument("--smallest-held", type=int, default=16, help="power of 2: the smallest window of memory")
    parser.add_argument("--largest-held", type=int, default=24, help="power of 2: the largest window of memory")
    parser.add_argument("--limits", type=int, nargs="+", default=[16, 64, 256], help="megabytes a process may allocate")
    parser.add_argument("--counts", type=int, nargs="+", default=[1, 2, 5, 10, 20, 35, 50], help="counts of one window")
    parser.add_argument("--budget", type=float, default=1.0, help="seconds of one measurement (default %(default)s)")


def facts() -> dict[str, str]:
    asked = subprocess.run(["redis-server", "--version"], capture_output=True, text=True, check=True)
    return {"redis-server": asked.stdout.split()[2].removeprefix("v=")}


KEY = ("experiment", "contender", "n", "evicted", "aggregate")
TIMES = ("steps", "mean_us", "cpu_us", "p50_us", "p999_us", "worst_us")
BENCHMARK = Benchmark(
    "mta",
    __doc__,
    (*KEY, "round", *TIMES, "rss_mb", "anonymous_mb"),
    KEY,
    rows,
    tables,
    ("sash", "lmdb", "rocksdict", "redis"),
    arguments=arguments,
    facts=facts,
    page="docs/benchmarks/stores.md",
    mark="bench-mta",
    plots=plots,
)
