"""sash.rolling beside what else computes rolling windows over arrays. Run by ``make bench-rolling``.

A round calls a contender once untimed and then for a tenth of a second at least; the garbage collector is off
meanwhile. The untimed call is for virtual machines whose host takes back memory that is free for a second or two: to
get it again takes 25 times as long as to fill it, and would be paid by whoever needs more than the contender before.
The values are uniform random float64, which suits contenders that keep a queue of candidates: it stays short.

All run on one thread (sash with algorithm="sba", Polars with POLARS_MAX_THREADS=1; the other peers know no more) except
where PBA is named. First calls are measured in processes of their own: the first call minus the second, Numba's import
included, once with an empty cache and once more with what that left there. Memory is measured in processes of their own
too: how far a call of ten times the rows raises the peak of the resident set, less its result.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial

from sash_experiments.benchmark import Benchmark, Case, Contender, Row, in_turn
from sash_experiments.benchmarks.rolling import contenders as who
from sash_experiments.benchmarks.rolling.tables import PACKAGES, ROWS, SIZES, WIDE, tables
from sash_experiments.children import in_child

__all__ = ["BENCHMARK"]

THREADS = {"POLARS_MAX_THREADS": "1"}
"""Read when Polars is imported."""


def first_call(label: str) -> Iterator[float]:
    """Seconds of the first call, less those of the second; in a process of its own."""
    data, taken = who.Data(10_000), []
    contender = who.ours(label, data, 2**10)
    assert contender.answer is not None
    for _ in range(2):
        begin = time.perf_counter()
        contender.answer()
        taken.append(time.perf_counter() - begin)
    yield taken[0] - taken[1]


def extra_memory(algorithm: str, rows: int) -> Iterator[float]:
    """MB by which a call raises the peak of this process, less its result."""
    small = who.ours("max", who.Data(4096), 2**4, algorithm=algorithm).answer
    large = who.ours("max", who.Data(rows), WIDE, algorithm=algorithm).answer
    assert small is not None and large is not None
    small()  # compiled, without the buffers of a large range
    before = peak()
    (result,) = large()
    yield (peak() - before - result.nbytes) / 2**20


def peak() -> int:
    """Bytes of the resident set at its largest."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def memory_case(rows: int) -> Case:
    def measure(algorithm: str) -> Iterator[Row]:
        for megabytes in in_child(extra_memory, algorithm, rows):
            yield {"values": rows, "extra_mb": round(megabytes, 2)}

    return Case(
        {"workload": "memory", "aggregation": "max", "n": WIDE},
        [Contender(algorithm, partial(measure, algorithm)) for algorithm in ("sba", "pba")],
    )


def first_call_cases() -> Iterator[Case]:
    for label in who.AGGREGATIONS:
        with tempfile.TemporaryDirectory() as folder:

            def measure(label: str = label, folder: str = folder) -> Iterator[Row]:
                for seconds in in_child(first_call, label, NUMBA_CACHE_DIR=folder):
                    yield {"first_call_s": round(seconds, 4)}

            states = [Contender(name, measure) for name in ("nothing cached", "cached")]
            yield Case({"workload": "first-call", "aggregation": label}, states)


def cases(workload: str, data: who.Data) -> Iterator[Case]:
    """What has no full window in the data is left out."""
    for n in SIZES[workload]:
        if n < data.rows:
            for label in ("mean", "sample std", "argmax", "M4") if workload == "aggregations" else ("max",):
                label = "spread" if workload == "own" else label
                yield Case({"workload": workload, "aggregation": label, "n": n}, CONTENDERS[workload](data, n, label))


CONTENDERS: dict[str, Callable[[who.Data, int, str], list[Contender]]] = {
    "max": lambda data, n, label: [
        who.ours(label, data, n),
        who.warm(data, n),
        *who.peers(label, data, n),
        *who.copies(data),
    ],
    "pba": lambda data, n, label: [who.ours(label, data, n, algorithm, algorithm) for algorithm in ("sba", "pba")],
    "aggregations": lambda data, n, label: [who.ours(label, data, n), *who.peers(label, data, n)],
    "own": lambda data, n, label: [who.ours(label, data, n), *who.pandas_apply(data, n)],
    "slides": lambda data, n, label: [
        who.ours(label, data, n, f"slide {slide}", slide=slide) for slide in (1, 10, 100)
    ],
    "keys": lambda data, n, label: who.keyed(data),
}
WORKLOADS = [*CONTENDERS, "memory", "first-call"]


def rows(options: argparse.Namespace) -> Iterator[Row]:
    os.environ |= THREADS
    chosen, data = options.only or WORKLOADS, who.Data(options.rows)
    # A child's peak begins at its parent's (Linux keeps it over exec): memory comes before this process grows.
    memory = "memory" in options.only if options.only else options.rows == ROWS
    if memory if options.memory is None else options.memory:
        yield from in_turn([memory_case(10 * options.rows)], options.rounds)
    if "first-call" in chosen:
        yield from in_turn(first_call_cases())
    for workload in CONTENDERS:
        if workload in chosen:
            yield from in_turn(cases(workload, data), options.rounds)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=ROWS, help="values (default %(default)s)")
    parser.add_argument("--only", nargs="+", choices=WORKLOADS, metavar="WORKLOAD", help=", ".join(WORKLOADS))
    parser.add_argument(
        "--memory",
        action=argparse.BooleanOptionalAction,
        help="also measure memory, with ten times the rows (default: with the default of --rows, or if in --only)",
    )


KEY = ("workload", "aggregation", "n", "contender")
BENCHMARK = Benchmark(
    "rolling",
    __doc__,
    (*KEY, "round", "values", "ns_per_value", "extra_mb", "first_call_s", "cpu_ns_per_value"),
    KEY,
    rows,
    tables,
    PACKAGES,
    rounds=5,
    arguments=arguments,
    facts=lambda: {"polars_max_threads": 1},
    page="docs/benchmarks/arrays.md",
)
