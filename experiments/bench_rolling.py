"""sash.rolling beside what else computes rolling windows over arrays. Run by ``make bench-rolling``.

Every workload has its contenders; each is run once before (to compile, and to check that all find the same) and then
once a round, all in turn, so that a busy moment of the machine hits all alike. A round calls a contender once untimed
and then for a tenth of a second at least; the garbage collector is off meanwhile, and freeing the result is not timed.
The untimed call is for virtual machines whose host takes back memory that is free for a second or two: to get it again
takes 25 times as long as to fill it, and would be paid by whoever needs more than the contender before. The values are
uniform random float64, which suits contenders that keep a queue of candidates: it stays short.

All run on one thread (sash with algorithm="sba", Polars with POLARS_MAX_THREADS=1; the other peers know no more) except
where PBA is named. First calls are measured in processes of their own: the first call minus the second, Numba's import
included, once with an empty cache and once more with what that left there. Memory is measured in processes of their own
too: how far a call of ten times the rows raises the peak of the resident set, less its result.

Raw results, one row a round, go to a CSV file and the machine and versions to a JSON file beside it; the tables are
made from them and can be made again: ``bench_rolling.py --table FILE``. A run that is not the whole one (``--rows``,
``--only``) goes to build/ if not told otherwise.
"""

from __future__ import annotations

import os

os.environ["POLARS_MAX_THREADS"] = "1"  # read when Polars is imported

import argparse
import csv
import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import sash
from rolling_tables import KEY_RANGE, KEY_ROWS, PACKAGES, ROWS, SIZES, WIDE, Results, power, preamble
from sash_experiments.machine import facts
from tables import insert

HERE = Path(__file__).parent
LEAST = 0.1  # seconds that a round calls a contender for, at least
PYTHON_ROWS = 200_000  # a function that pandas calls window by window takes microseconds a value
FIELDS = ["workload", "aggregation", "n", "contender", "round", "values", "ns_per_value", "extra_mb", "first_call_s"]

Array = np.ndarray[Any, Any]
Row = dict[str, Any]


def spread() -> sash.Aggregation:
    """The user's own aggregation of the README."""
    return sash.aggregation(
        "load",
        lift=lambda v: (v, v),
        combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
        lower=lambda p: p[1] - p[0],
        commutative=True,
    )


AGGREGATIONS: dict[str, Callable[[], sash.Aggregation]] = {
    "max": sash.Max,
    "mean": sash.Mean,
    "sample std": sash.SampleStdDev,
    "argmax": sash.ArgMax,
    "M4": sash.M4,
    "spread": spread,
}


class Data:
    """The values as each contender wants them, so that none pays for a conversion."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    @cached_property
    def numpy(self) -> Array:
        return np.random.default_rng(5).random(self.rows)

    @cached_property
    def index(self) -> Array:
        return np.arange(self.rows)

    @cached_property
    def warm(self) -> Array:
        return self.numpy.copy()

    @cached_property
    def pandas(self) -> Any:
        import pandas

        return pandas.Series(self.numpy)

    @cached_property
    def polars(self) -> Any:
        import polars

        return polars.Series(self.numpy)


@dataclass(frozen=True)
class Contender:
    """One way to compute something."""

    name: str
    run: Callable[[], Any]
    values: int
    """How many values one call reads."""
    windows: Callable[[Any], tuple[Array, ...]] | None = None
    """The results of the full windows, from what a call returned: to be compared with those of the others."""


@dataclass(frozen=True)
class Case:
    """What is measured in the same rounds."""

    workload: str
    aggregation: str
    n: int
    contenders: list[Contender]


def columns(label: str, data: Data) -> Any:
    """What sash.rolling reads for an aggregation."""
    return (data.numpy, data.index) if label == "argmax" else data.numpy


def ours(label: str, data: Data, n: int, name: str = "sash", algorithm: str = "sba", slide: int = 1) -> Contender:
    aggregation, values = AGGREGATIONS[label](), columns(label, data)
    return Contender(
        name,
        lambda: sash.rolling(values, aggregation, range=n, slide=slide, algorithm=algorithm),
        data.rows,
        (lambda result: result if isinstance(result, tuple) else (result,)) if slide == 1 else None,
    )


def peers(label: str, data: Data, n: int) -> list[Contender]:
    """All peers that have an aggregation. Each gives a result for every value, meaningless for the first n - 1."""
    calls = peer_calls(data, n)[label]

    def windows(result: Any) -> tuple[Array, ...]:
        parts = result if isinstance(result, tuple) else (result,)
        full = tuple(np.asarray(part[n - 1 :] if len(part) == data.rows else part) for part in parts)
        # Bottleneck tells how many values ago the maximum was
        return (data.index[n - 1 :] - full[0],) if label == "argmax" else full

    return [Contender(name, run, data.rows, windows) for name, run in calls.items()]


def peer_calls(data: Data, n: int) -> dict[str, dict[str, Callable[[], Any]]]:
    import bottleneck as bn
    from scipy import ndimage

    x, series, polar = data.numpy, data.pandas, data.polars
    origin = (n - 1) // 2  # the window ends at the value, as everyone else's, instead of being centred on it

    def m4(least: Any, most: Any) -> tuple[Any, ...]:
        return least, most, x[: data.rows - n + 1], x[n - 1 :]

    return {
        "max": {
            "bottleneck": lambda: bn.move_max(x, n),
            "pandas": lambda: series.rolling(n).max(),
            "polars": lambda: polar.rolling_max(n),
            "scipy": lambda: ndimage.maximum_filter1d(x, n, origin=origin),
        },
        "mean": {
            "bottleneck": lambda: bn.move_mean(x, n),
            "pandas": lambda: series.rolling(n).mean(),
            "polars": lambda: polar.rolling_mean(n),
            "scipy": lambda: ndimage.uniform_filter1d(x, n, origin=origin),
        },
        "sample std": {
            "bottleneck": lambda: bn.move_std(x, n, ddof=1),
            "pandas": lambda: series.rolling(n).std(),
            "polars": lambda: polar.rolling_std(n),
        },
        "argmax": {"bottleneck": lambda: bn.move_argmax(x, n)},
        "M4": {
            "bottleneck": lambda: m4(bn.move_min(x, n), bn.move_max(x, n)),
            "pandas": lambda: m4(series.rolling(n).min(), series.rolling(n).max()),
            "polars": lambda: m4(polar.rolling_min(n), polar.rolling_max(n)),
            "scipy": lambda: m4(
                ndimage.minimum_filter1d(x, n, origin=origin), ndimage.maximum_filter1d(x, n, origin=origin)
            ),
        },
    }


def warm(data: Data, n: int) -> Contender:
    """Ours into an array that is there, as memcpy has it."""
    room, aggregation = np.empty(data.rows - n + 1), sash.Max()
    return Contender(
        "sash, out=",
        lambda: sash.rolling(data.numpy, aggregation, range=n, algorithm="sba", out=room),
        data.rows,
        lambda result: (result,),
    )


def copies(data: Data) -> list[Contender]:
    """What moving the values costs: into an array that is there, and into a new one as every contender needs."""
    return [
        Contender("copyto", lambda: np.copyto(data.warm, data.numpy), data.rows),
        Contender("copy", data.numpy.copy, data.rows),
    ]


def window_spread(window: Any) -> Any:
    """In one pass, which is the fastest of several ways to say it in Numba."""
    least = most = window[0]
    for value in window:
        least = min(least, value)
        most = max(most, value)
    return most - least


def pandas_apply(data: Data, n: int) -> list[Contender]:
    rows = min(data.rows, PYTHON_ROWS)
    few = data.pandas[:rows]

    def windows(result: Any) -> tuple[Array, ...]:
        return (np.asarray(result[n - 1 :]),)

    return [
        Contender(
            "pandas apply, numba",
            lambda: data.pandas.rolling(n).apply(window_spread, raw=True, engine="numba"),
            data.rows,
            windows,
        ),
        Contender(
            "pandas apply, python", lambda: few.rolling(n).apply(lambda w: w.max() - w.min(), raw=True), rows, windows
        ),
    ]


def keyed(data: Data) -> list[Contender]:
    keys = data.rows // KEY_ROWS
    rows = keys * KEY_ROWS
    values = data.numpy[:rows]
    in_order = np.repeat(np.arange(keys), KEY_ROWS)
    shuffled = np.random.default_rng(6).permutation(in_order)
    codes = {"one key": np.zeros(rows, np.int64), "many keys, sorted": in_order, "many keys, shuffled": shuffled}

    def contender(name: str, codes: Array) -> Contender:
        return Contender(name, lambda: sash.rolling_by(codes, values, sash.Max(), range=KEY_RANGE), rows)

    plain = Contender(
        "rolling, no keys", lambda: sash.rolling(values, sash.Max(), range=KEY_RANGE, algorithm="sba"), rows
    )
    return [*(contender(name, column) for name, column in codes.items()), plain]


def cases(workloads: Sequence[str], data: Data) -> Iterator[Case]:
    """All that is measured in rounds. What has no full window in the data is left out."""

    def sizes(workload: str, *others: int) -> list[int]:
        return [n for n in SIZES.get(workload, others) if n < data.rows] if workload in workloads else []

    for n in sizes("max"):
        yield Case("max", "max", n, [ours("max", data, n), warm(data, n), *peers("max", data, n), *copies(data)])
    for n in sizes("pba"):
        one, two = (ours("max", data, n, algorithm, algorithm) for algorithm in ("sba", "pba"))
        yield Case("pba", "max", n, [one, two])
    for label in ("mean", "sample std", "argmax", "M4"):
        for n in sizes("aggregations"):
            yield Case("aggregations", label, n, [ours(label, data, n), *peers(label, data, n)])
    for n in sizes("own"):
        yield Case("own", "spread", n, [ours("spread", data, n), *pandas_apply(data, n)])
    for n in sizes("slides", WIDE):
        slid = [ours("max", data, n, f"slide {slide}", slide=slide) for slide in (1, 10, 100)]
        yield Case("slides", "max", n, slid)
    for n in sizes("keys", KEY_RANGE):
        yield Case("keys", "max", n, keyed(data))


def say(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)


def seconds_per_call(run: Callable[[], Any]) -> float:
    clock, calls, spent = time.perf_counter, 0, 0.0
    gc.collect()
    gc.disable()
    try:
        run()
        while spent < LEAST:
            begin = clock()
            result = run()
            spent += clock() - begin
            calls += 1
            del result
    finally:
        gc.enable()
    return spent / calls


def warm_up(case: Case) -> None:
    """Run every contender once, and make sure that all compute the same."""
    expected: tuple[Array, ...] | None = None
    for contender in case.contenders:
        result = contender.run()
        if contender.windows is None:
            continue
        found = contender.windows(result)
        expected = expected or found
        for ours_, theirs in zip(expected, found, strict=True):
            size = min(len(ours_), len(theirs))
            if not size or not np.allclose(ours_[:size], theirs[:size], rtol=1e-6, atol=1e-9):
                raise SystemExit(
                    f"{contender.name} finds another {case.aggregation} for n = {case.n}: nothing to compare"
                )


def bench(case: Case, rounds: int) -> Iterator[Row]:
    warm_up(case)
    for number in range(rounds):
        for contender in case.contenders:
            nanoseconds = seconds_per_call(contender.run) / contender.values * 1e9
            yield {
                "workload": case.workload,
                "aggregation": case.aggregation,
                "n": case.n,
                "contender": contender.name,
                "round": number,
                "values": contender.values,
                "ns_per_value": round(nanoseconds, 4),
            }
        say(f"{case.workload}: {case.aggregation}, n = {power(case.n)}, round {number + 1} of {rounds}")


def in_child(*arguments: Any, **environment: str) -> float:
    """The number that this script prints as a child."""
    command = [sys.executable, __file__, "--child", *map(str, arguments)]
    done = subprocess.run(command, env=os.environ | environment, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def first_call(label: str) -> float:
    """Seconds of the first call, less those of the second."""
    data, taken = Data(10_000), []
    contender = ours(label, data, 2**10)
    for _ in range(2):
        begin = time.perf_counter()
        contender.run()
        taken.append(time.perf_counter() - begin)
    return taken[0] - taken[1]


def extra_memory(algorithm: str, rows: int) -> float:
    """MB by which a call raises the peak of this process, less its result."""
    ours("max", Data(4096), 2**4, algorithm=algorithm).run()  # compiled, without the buffers of a large range
    contender = ours("max", Data(rows), WIDE, algorithm=algorithm)
    before = peak()
    result = contender.run()
    extra: int = peak() - before - result.nbytes
    return extra / 2**20


def peak() -> int:
    """Bytes of the resident set at its largest."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


CHILDREN: dict[str, Callable[..., float]] = {
    "first-call": first_call,
    "memory": lambda algorithm, rows: extra_memory(algorithm, int(rows)),
}


def bench_memory(rows: int, rounds: int) -> Iterator[Row]:
    for number in range(rounds):
        for algorithm in ("sba", "pba"):
            megabytes = round(in_child("memory", algorithm, rows), 2)
            yield {
                "workload": "memory",
                "aggregation": "max",
                "n": WIDE,
                "contender": algorithm,
                "round": number,
                "values": rows,
                "extra_mb": megabytes,
            }
        say(f"memory: {rows:,} values, round {number + 1} of {rounds}")


def bench_first_calls() -> Iterator[Row]:
    for label in AGGREGATIONS:
        with tempfile.TemporaryDirectory() as folder:
            for name in ("nothing cached", "cached"):
                seconds = round(in_child("first-call", label, NUMBA_CACHE_DIR=folder), 4)
                yield {
                    "workload": "first-call",
                    "aggregation": label,
                    "contender": name,
                    "round": 0,
                    "first_call_s": seconds,
                }
        say(f"first call: {label}")


def everything(workloads: Sequence[str], rows: int, rounds: int) -> Iterator[Row]:
    # A child's peak begins at its parent's (Linux keeps it over exec): memory comes before this process grows.
    if "memory" in workloads:
        yield from bench_memory(10 * rows, rounds)
    if "first-call" in workloads:
        yield from bench_first_calls()
    for case in cases(workloads, Data(rows)):
        yield from bench(case, rounds)


WORKLOADS = ["max", "pba", "aggregations", "own", "slides", "memory", "keys", "first-call"]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS, help="values (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=WORKLOADS, metavar="WORKLOAD", help=", ".join(WORKLOADS))
    parser.add_argument(
        "--memory",
        action=argparse.BooleanOptionalAction,
        help="also measure memory, with ten times the rows (default: with the default of --rows, or if in --only)",
    )
    parser.add_argument(
        "--output", type=Path, help="default: results/rolling.csv, or build/rolling.csv if not all is run"
    )
    parser.add_argument("--readme", type=Path, help="also put the first table into this file")
    parser.add_argument("--table", type=Path, help="print the tables of this CSV file and measure nothing")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    return parser.parse_args()


def wanted(options: argparse.Namespace) -> list[str]:
    chosen = list(options.only or WORKLOADS)
    memory = options.memory
    if memory is None:
        memory = options.rows == ROWS if not options.only else "memory" in chosen
    return [name for name in chosen if name != "memory"] + ["memory"] * memory


def run(options: argparse.Namespace) -> Path:
    """Measure; the path of the raw results."""
    workloads = wanted(options)
    whole = options.rows == ROWS and set(workloads) == set(WORKLOADS)
    folder = HERE / "results" if whole else HERE.parent / "build"
    path: Path = options.output or folder / "rolling.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    threads = int(os.environ["POLARS_MAX_THREADS"])
    about = facts(PACKAGES, polars_max_threads=threads, rows=options.rows, rounds=options.rounds)
    known = json.dumps(about, indent=2)
    path.with_suffix(".json").write_text(known + "\n", encoding="utf-8")
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for row in everything(workloads, options.rows, options.rounds):
            writer.writerow(row)
            file.flush()
    return path


def main() -> None:
    options = arguments()
    if options.child:
        kind, *rest = options.child
        print(CHILDREN[kind](*rest))
        return
    path = options.table or run(options)
    print(preamble(path))
    with path.open(newline="") as file:
        lines = list(Results(csv.DictReader(file)).tables())
    print("\n".join(lines))
    if options.readme:
        first = "\n".join(lines[1:]).split("\n\n")[0]
        insert(first, options.readme, "rolling")


if __name__ == "__main__":
    main()
