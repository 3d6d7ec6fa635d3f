"""The operator beside what else computes windows over streams: figures 8 to 16. Run by ``make bench-slicing``.

Streams are those of football.py, the techniques compared those of baselines.py; all are given the same rows one by one.
On a small stream, each has to give what the definition of its windows says. "sash rows" is ``Operator.process``, "sash
columns" is ``Operator.process_batch`` in batches of 100,000, "lazy" and "eager" are rows with those stores instead of
what the planner chooses.

Throughput is measured in a state that the stream has been in for 20 s: each contender is warmed up with so much of it,
then given tuples until 20 s more have passed in the stream or its budget of time is spent. Times are the process's
seconds on its core, so that others on the same machine count less; latencies of single calls are medians. The garbage
collector is off meanwhile.
"""

from __future__ import annotations

import argparse
import gc
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import sash
from sash_experiments.benchmark import Benchmark, Case, Contender, Row, in_turn
from sash_experiments.benchmarks.slicing.baselines import Baseline, Buckets, FlatFATs, Trees, TupleBuffer
from sash_experiments.benchmarks.slicing.contenders import LATE, Windows, batches, rates, stream, total
from sash_experiments.benchmarks.slicing.count_buffer import CountBuffer
from sash_experiments.benchmarks.slicing.cutters import Cutter, Cutty, Pairs
from sash_experiments.benchmarks.slicing.football import RATE, Stream, football
from sash_experiments.benchmarks.slicing.probes import firings, holdings, split_seconds, stores
from sash_experiments.benchmarks.slicing.tables import SLIDING, tables

__all__ = ["BENCHMARK"]

SHARE = 0.2
"""Of tuples that are late, unless that is what is varied."""
SLIDE = 0.3
"""Of a window: its slides do not divide it, so that its ends fall between the starts of others."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    warm: int = 20 * RATE
    tuples: int = 20 * RATE
    columns: int = 1_000_000
    batch: int = 100_000
    long: int = 10_000_000
    """Tuples of the columnar goals."""
    long_batches: tuple[int, ...] = (100_000, 1_000_000)
    slices: int = 3600
    concurrent: tuple[int, ...] = (1, 10, 100, 1000)
    held: int = 50_000
    """Tuples in the allowed lateness."""
    entries: tuple[int, ...] = (10, 100, 1000, 10_000, 100_000)
    median_split: int = 10_000
    budget: float = 0.4


TINY = Sizes(200, 300, 400, 150, 3000, (1000,), 3, (1, 10), 300, (10, 100), 100, 0.05)


def plain_sum() -> sash.Aggregation:
    """A sum that cannot be inverted: what is recomputed when a tuple leaves a slice."""
    return sash.aggregation("ball", lift=_same, combine=_plus, lower=_same, commutative=True)


def _same(value: Any) -> Any:
    return value


def _plus(a: Any, b: Any) -> Any:
    return a + b


AGGREGATIONS: dict[str, Callable[[], sash.Aggregation]] = {
    "count": sash.Count,
    "sum": total,
    "sum without invert": plain_sum,
    "mean": lambda: sash.Mean("ball"),
    "sample std": lambda: sash.SampleStdDev("ball"),
    "min": lambda: sash.Min("ball"),
    "max": lambda: sash.Max("ball"),
    "min count": lambda: sash.MinCount("ball"),
    "max count": lambda: sash.MaxCount("ball"),
    "argmin": lambda: sash.ArgMin("ball", "state"),
    "argmax": lambda: sash.ArgMax("ball", "state"),
    "M4": lambda: sash.M4("ball"),
    "median": lambda: sash.Median("ball"),
    "90-percentile": lambda: sash.Quantile("ball", 0.9),
}


def case(figure: str, setting: str, x: Any, contenders: list[Contender]) -> Case:
    return Case({"figure": figure, "setting": setting, "x": x}, contenders)


class Throughput:
    """The figures of tuples a second."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.twenty = min(20, sizes.concurrent[-1])
        self.late = partial(stream, sizes.warm + sizes.tuples)

    def techniques(self, windows: Windows, given: Stream, *others: type[Baseline]) -> list[Contender]:
        """The operator, row by row, and others that do the same."""
        sizes = self.sizes
        ours = windows.rows(given, sizes.warm, sizes.budget)
        return [ours, *(windows.baseline(technique, given, sizes.warm, sizes.budget) for technique in others)]

    def columns(self, windows: Windows, share: float = 0.0, delay: int = LATE, name: str = "sash columns") -> Contender:
        given = stream(self.sizes.columns, share, delay)
        return windows.columns(given, self.sizes.batch, 4 * self.sizes.budget, name)

    def figure_8(self) -> Iterator[Case]:
        """In order, for the number of concurrent windows."""
        given = self.late(0.0)
        for count in self.sizes.concurrent:
            windows = Windows(count)
            runs = self.techniques(windows, given, Pairs, Cutty, Buckets, TupleBuffer, FlatFATs)
            yield case("8", "in order", count, [*runs, self.columns(windows)])
        dense = stream(self.sizes.warm + 2 * self.sizes.tuples, 0.0, LATE, self.sizes.warm, 10 * RATE)
        for count in self.sizes.concurrent:
            runs = self.techniques(Windows(count), dense, Pairs, Cutty, Buckets)
            yield case("8", "in order, 20,000 tuples a second", count, runs)
        for count in self.sizes.concurrent[:3]:
            windows = Windows(count, share=SLIDE)
            yield case("8", SLIDING, count, self.techniques(windows, given, Pairs, Cutty, Buckets))
            held = [Contender(kind.__name__, partial(_slices, windows, kind, given)) for kind in (Pairs, Cutty)]
            yield case("8b", "slices held at most", count, held)

    def figure_9(self) -> Iterator[Case]:
        """With disorder and a session."""
        given, sizes = self.late(SHARE), self.sizes
        for count in sizes.concurrent:
            windows = Windows(count, total, LATE, True)
            runs = self.techniques(windows, given, Buckets, TupleBuffer, Trees)
            for algorithm in ("lazy", "eager"):
                runs.append(windows.rows(given, sizes.warm, sizes.budget, f"sash {algorithm}", algorithm=algorithm))
            yield case("9", "20 % late, a session", count, [*runs, self.columns(windows, SHARE)])

    def figure_12(self) -> Iterator[Case]:
        """Disorder: how many tuples are late, and how late they are; 20 windows and a session."""
        shares = [(share, LATE, f"{share:.0%} late", "share") for share in (0.0, 0.2, 0.5, 1.0)]
        delays = [(SHARE, delay, f"up to {delay / 1000:g} s", "delay") for delay in (500, 2000, 8000)]
        for share, delay, x, setting in shares + delays:
            windows = Windows(self.twenty, total, delay, True)
            runs = self.techniques(windows, self.late(share, delay), Buckets, TupleBuffer, Trees)
            yield case("12", setting, x, [*runs, self.columns(windows, share, delay)])

    def figure_13(self) -> Iterator[Case]:
        """Aggregations, on time and on counts, and on counts where results are corrected at once instead of waiting."""
        given, sizes = self.late(SHARE), self.sizes
        corrected: dict[str, Any] = {"watermark_delay": None, "allowed_lateness": LATE}
        for name, create in AGGREGATIONS.items():
            on_time, on_counts = (Windows(self.twenty, create, LATE, measure=measure) for measure in ("time", "count"))
            at_once = Windows(self.twenty, create, LATE, measure="count", **corrected)
            runs = [
                on_time.rows(given, sizes.warm, sizes.budget, "time"),
                on_counts.rows(given, sizes.warm, sizes.budget, "count"),
                at_once.rows(given, sizes.warm // 20, sizes.budget, "count, corrected"),
            ]
            yield case("13", "20 windows, 20 % late, rows", name, runs)

    def figure_14(self) -> Iterator[Case]:
        """The median beside the baselines: nearly all values distinct, or 37 of them."""
        for column, setting in (("ball", "football"), ("state", "machine, 37 values")):
            for count in self.sizes.concurrent:
                windows = Windows(count, partial(sash.Median, column), LATE)
                yield case("14", setting, count, self.techniques(windows, self.late(SHARE), Buckets, TupleBuffer))

    def figure_16(self) -> Iterator[Case]:
        """Measures: windows on time and on counts; a buffer of tuples on counts, too."""
        given, sizes, most = self.late(SHARE), self.sizes, max(80, self.sizes.concurrent[-1])
        for count in (each for each in (1, 20, 40, 80, 1000) if each <= most):
            both = {measure: Windows(count, total, LATE, measure=measure) for measure in ("time", "count")}
            runs = [windows.rows(given, sizes.warm, sizes.budget, f"rows, {name}") for name, windows in both.items()]
            runs += [self.columns(windows, SHARE, name=f"columns, {name}") for name, windows in both.items()]
            runs.append(both["count"].baseline(CountBuffer, given, sizes.warm, sizes.budget))
            yield case("16", "20 % late", count, runs)

    def column_goals(self) -> Iterator[Case]:
        """Max over 3600 slices of 1000 tuples: in order, with disorder, and of 84 keys."""
        tuples = self.sizes.long
        rng = np.random.default_rng(3)
        in_order = Stream(np.arange(tuples), rng.random(tuples), np.zeros(tuples))
        window = sash.sliding(self.sizes.slices * 1000, 1000, on="ts")
        for setting, given, late in (
            ("in order", in_order, None),
            ("20 % late", in_order.disordered(SHARE, LATE), LATE),
        ):
            query = sash.Query(windows=window, aggregates={"peak": sash.Max("ball")}, watermark_delay=late)
            for batch in self.sizes.long_batches:
                yield case("columns", setting, f"batches of {batch:,}", [_long_run(query, given, batch)])
        keyed = sash.Query(key="plug", windows=window, aggregates={"peak": sash.Max("load")})
        data = {"plug": rng.integers(0, 84, tuples), "ts": in_order.ts, "load": in_order.ball}
        run = Contender("sash.run", lambda: rates(_whole_run(keyed, data, tuples), 1e9))
        yield case("columns", "84 keys", "all at once", [run])


def _slices(windows: Windows, kind: type[Cutter], given: Stream) -> Iterator[Row]:
    """The most slices that a technique holds, beside those that wait to be dropped."""
    cutter = kind(windows.extents(windows.count), total())
    longest, most = max(size for size, _ in cutter.extents), 0
    for row in given.rows:
        cutter.process(row)
        if row["ts"] % 64 == 0:
            cutter.drop(row["ts"] - longest)
            most = max(most, cutter.slices)
    yield {"tuples": len(given), "unit": "slices", "value": most}


def _long_run(query: sash.Query, given: Stream, batch: int) -> Contender:
    def measure() -> list[Row]:
        rates(batches(query, given, batch), 0.0)  # compiled
        return rates(batches(query, given, batch), 1e9)

    return Contender("sash columns", measure)


def _whole_run(query: sash.Query, data: Row, tuples: int) -> Iterator[int]:
    sash.run(query, data)
    yield tuples


def figure_10(sizes: Sizes) -> Iterator[Case]:
    """Bytes held for an allowed lateness: slices vary, or tuples do."""
    held = sizes.held
    by_slices = [(slices, held) for slices in (10, 100, 500, 1000, 10_000) if slices <= held]
    by_tuples = [(min(500, tuples), tuples) for tuples in (held // 50, held // 10, held, 2 * held)]
    for measure, figures in (("time", "ab"), ("count", "cd")):
        for figure, cases in zip(figures, (by_slices, by_tuples), strict=True):
            for slices, tuples in cases:
                x = slices if figure in "ac" else tuples
                bytes_by = partial(_holdings, measure, slices, tuples)
                yield case(f"10{figure}", f"windows on {measure}", x, [Contender("", bytes_by)])


def _holdings(measure: str, slices: int, tuples: int) -> Iterator[Row]:
    for name, size in holdings(measure, slices, tuples).items():
        yield {"contender": name, "tuples": tuples, "unit": "bytes", "value": size}


def figure_11(sizes: Sizes) -> Iterator[Case]:
    """One firing of a window of so many slices, the next slice having come."""
    for label, aggregation, column in (("sum", sash.Sum(), "ball"), ("median", sash.Median(), "state")):
        values = getattr(football(2 * max(sizes.entries) + 10), column).tolist()
        partials = [aggregation.lift(value) for value in values]
        for slices in sizes.entries:

            def measure(store: Any, fire: Any, label: str = label) -> Iterator[Row]:
                taken = fire(store)
                parts = {"p50": statistics.median(taken), "mean": statistics.fmean(taken), "worst": max(taken)}
                for part, seconds in parts.items():
                    micro = round(seconds * 1e6, 3)
                    yield {"setting": f"{label}, {part}", "tuples": len(taken), "unit": "us", "value": micro}

            fire = partial(firings, aggregation=aggregation, partials=partials, slices=slices, budget=sizes.budget)
            contenders = [Contender(name, partial(measure, store, fire)) for name, store in stores().items()]
            yield case("11", label, slices, contenders)


def figure_15(sizes: Sizes) -> Iterator[Case]:
    """A split of a slice of so many tuples: both halves are recomputed."""
    for label, aggregation, most in (
        ("sum", total(), max(sizes.entries)),
        ("median", sash.Median("ball"), sizes.median_split),
        ("median of 37 values", sash.Median("state"), sizes.median_split),
    ):
        for size in (entries for entries in sizes.entries if entries <= most):

            def measure(aggregation: sash.Aggregation = aggregation, size: int = size) -> Iterator[Row]:
                micro = round(split_seconds(aggregation, size) * 1e6, 3)
                yield {"tuples": size, "unit": "us", "value": micro}

            yield case("15", label, size, [Contender("split", measure)])


FIGURES: dict[str, Callable[[Sizes], Iterator[Case]]] = {
    "columns": lambda sizes: Throughput(sizes).column_goals(),
    "8": lambda sizes: Throughput(sizes).figure_8(),
    "9": lambda sizes: Throughput(sizes).figure_9(),
    "12": lambda sizes: Throughput(sizes).figure_12(),
    "13": lambda sizes: Throughput(sizes).figure_13(),
    "14": lambda sizes: Throughput(sizes).figure_14(),
    "16": lambda sizes: Throughput(sizes).figure_16(),
    "10": figure_10,
    "11": figure_11,
    "15": figure_15,
}


def rows(options: argparse.Namespace) -> Iterator[Row]:
    gc.freeze()  # what is imported need not be looked through again and again
    for figure in options.only or FIGURES:
        rounds = 1 if figure == "10" else options.rounds
        yield from in_turn(FIGURES[figure](TINY if options.tiny else Sizes()), rounds)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", nargs="+", choices=list(FIGURES), metavar="FIGURE", help=", ".join(FIGURES))
    parser.add_argument("--tiny", action="store_true", help="as little as shows that everything runs")


KEY = ("figure", "setting", "x", "contender")
BENCHMARK = Benchmark(
    "slicing",
    __doc__,
    (*KEY, "round", "tuples", "unit", "value"),
    KEY,
    rows,
    tables,
    rounds=3,
    arguments=arguments,
    page="docs/benchmarks/streams.md",
)
