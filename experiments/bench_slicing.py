"""The operator beside what else computes windows over streams: figures 8 to 16. Run by ``make bench-slicing``.

Streams are those of football.py, the techniques compared those of baselines.py; all are given the same rows one by one
and give the same results, which is made sure of on a small stream before anything is measured. "sash rows" is
``Operator.process``, "sash columns" is ``Operator.process_batch`` in batches of 100,000, "lazy" and "eager" are rows
with those stores instead of what the planner chooses.

Throughput is measured in a state that the stream has been in for 20 s: each contender is warmed up with so much of it,
then given tuples until 20 s more have passed in the stream or its budget of time is spent. Times are the process's
seconds on its core, so that others on the same machine count less; latencies of single calls are medians. The garbage
collector is off meanwhile. Contenders take turns, round by round.

Raw results, one row a measurement, go to a CSV file and the machine and versions to a JSON file beside it; the tables
are made from them and can be made again: ``bench_slicing.py --table FILE``. A run that is not the whole one
(``--only``, ``--tiny``) goes to build/ if not told otherwise.
"""

from __future__ import annotations

import argparse
import csv
import gc
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import sash
from baselines import Baseline, Buckets, FlatFATs, Trees, TupleBuffer
from football import GAP, RATE, Stream, football, lengths
from sash_experiments.machine import facts
from slicing_probes import firings, holdings, split_seconds, stores
from slicing_tables import PACKAGES, Results, preamble
from tables import insert

HERE = Path(__file__).parent
FIELDS = ["figure", "setting", "x", "contender", "round", "tuples", "unit", "value"]
LATE = 2000  # milliseconds that tuples are late at most, unless that is what is varied
SHARE = 0.2  # of tuples that are late, likewise

Row = dict[str, Any]
Runs = dict[str, Callable[[], tuple[int, float]]]
"""By name, what measures a contender: how many tuples it took, and in how many seconds."""


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


class Contender(Protocol):
    """What is measured row by row."""

    def process(self, row: Row) -> list[Row]:
        """Take a tuple."""


class Ours:
    """The operator as a contender."""

    def __init__(self, query: sash.Query) -> None:
        self.process = sash.Operator(query).process

    def warm(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self.process(row)


def query_of(
    count: int,
    aggregation: sash.Aggregation,
    late: int = 0,
    session: bool = False,
    measure: str = "time",
) -> sash.Query:
    sizes = lengths(count)
    windows = {
        f"w{i}": sash.tumbling(size, on="ts") if measure == "time" else sash.tumbling(size * RATE // 1000)
        for i, size in enumerate(sizes)
    }
    if session:
        windows["session"] = sash.session(GAP, on="ts")  # type: ignore[assignment]
    return sash.Query(
        windows=windows,
        aggregates={"result": aggregation},
        time="ts",
        watermark_delay=late or None,
    )


def total() -> sash.Aggregation:
    return sash.Sum("ball")


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
    "median": lambda: sash.Median("state"),
    "90-percentile": lambda: sash.Quantile("state", 0.9),
}


@cache
def stream(tuples: int, share: float = 0.0, delay: int = LATE, slow: int | None = None, rate: int = RATE) -> Stream:
    whole = football(tuples, slow, rate)
    return whole.disordered(share, delay) if share else whole


def say(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)


def timed(work: Iterator[int], budget: float) -> tuple[int, float]:
    """(tuples, seconds) of work that tells how many tuples each step took, until it ends or the budget is spent."""
    clock, taken = time.process_time, 0
    gc.collect()
    gc.disable()
    try:
        begin = now = clock()
        for tuples in work:
            taken += tuples
            now = clock()
            if now - begin > budget:
                break
    finally:
        gc.enable()
    return taken, now - begin


def by_rows(contender: Contender, rows: Sequence[Row], step: int = 64) -> Iterator[int]:
    process = contender.process
    for begin in range(0, len(rows), step):
        some = rows[begin : begin + step]
        for row in some:
            process(row)
        yield len(some)


def by_columns(query: sash.Query, given: Stream, batch: int) -> Iterator[int]:
    operator = sash.Operator(query)
    names = query.values
    for begin in range(0, len(given), batch):
        operator.process_batch(given.batch(begin, begin + batch, *names))
        yield min(batch, len(given) - begin)


class Bench:
    """All that is measured."""

    def __init__(self, sizes: Sizes, rounds: int) -> None:
        self.sizes = sizes
        self.rounds = rounds

    def measured(self, figure: str, cases: Iterable[tuple[str, Any, Runs]]) -> Iterator[Row]:
        """Throughputs of (setting, x, contenders), round by round."""
        cases = list(cases)
        for number in range(self.rounds):
            for setting, x, contenders in cases:
                for name, run in contenders.items():
                    tuples, seconds = run()
                    rate = round(tuples / max(seconds, 1e-9))
                    yield row_of(figure, setting, x, name, number, tuples, "tuples/s", rate)
            say(f"figure {figure}: round {number + 1} of {self.rounds}")

    def rows(self, make: Callable[[], Any], given: Stream, warm: int | None = None) -> Callable[[], tuple[int, float]]:
        """Measure what takes rows, once it has been given ``warm`` of them."""
        begin = self.sizes.warm if warm is None else warm

        def run() -> tuple[int, float]:
            contender = make()
            contender.warm(given.rows[:begin])
            return timed(by_rows(contender, given.rows[begin:]), self.sizes.budget)

        return run

    def columns(self, query: sash.Query, share: float = 0.0, delay: int = LATE) -> Callable[[], tuple[int, float]]:
        """Measure our operator with columns, which takes more tuples in the same time."""
        given = stream(self.sizes.columns, share, delay)
        warmed: list[bool] = []

        def run() -> tuple[int, float]:
            if not warmed:  # compiled
                warmed.append(bool(timed(by_columns(query, given, self.sizes.batch), 0.0)))
            return timed(by_columns(query, given, self.sizes.batch), 4 * self.sizes.budget)

        return run

    # throughput

    def figure_8(self) -> Iterator[tuple[str, Any, Runs]]:
        """In order, for the number of concurrent windows."""
        given = stream(self.sizes.warm + self.sizes.tuples)
        for count in self.sizes.concurrent:
            query = query_of(count, total())
            runs = self.contenders(query, given, count, Buckets, TupleBuffer, FlatFATs)
            yield "in order", count, {**runs, "sash columns": self.columns(query)}
        dense = stream(self.sizes.warm + 2 * self.sizes.tuples, 0.0, LATE, self.sizes.warm, 10 * RATE)
        for count in self.sizes.concurrent:
            runs = self.contenders(query_of(count, total()), dense, count, Buckets)
            yield "in order, 20,000 tuples a second", count, runs

    def figure_9(self) -> Iterator[tuple[str, Any, Runs]]:
        """With disorder and a session."""
        given = stream(self.sizes.warm + self.sizes.tuples, SHARE)
        for count in self.sizes.concurrent:
            query = query_of(count, total(), LATE, True)
            runs = self.contenders(query, given, count, Buckets, TupleBuffer, Trees)
            for algorithm in ("lazy", "eager"):
                runs[f"sash {algorithm}"] = self.rows(partial(Ours, query.using(algorithm=algorithm)), given)
            yield "20 % late, a session", count, {**runs, "sash columns": self.columns(query, SHARE)}

    def contenders(self, query: sash.Query, given: Stream, count: int, *techniques: type[Baseline]) -> Runs:
        """Our operator, row by row, and others that do the same."""
        aggregation = query.aggregates["result"]
        gap = GAP if "session" in query.named else None
        delay = query.lanes[0].delay
        extents = [(size, size) for size in lengths(count)]
        others = {
            name_of(technique): self.rows(partial(technique, extents, aggregation, gap, delay), given)
            for technique in techniques
        }
        return {"sash rows": self.rows(partial(Ours, query), given), **others}

    def figure_12(self) -> Iterator[tuple[str, Any, Runs]]:
        """Disorder: how many tuples are late, and how late they are; 20 windows and a session."""
        count = min(20, self.sizes.concurrent[-1])
        shares = [(share, LATE, f"{share:.0%} late", "share") for share in (0.0, 0.2, 0.5, 1.0)]
        delays = [(SHARE, delay, f"up to {delay / 1000:g} s", "delay") for delay in (500, 2000, 8000)]
        for share, delay, x, setting in shares + delays:
            given = stream(self.sizes.warm + self.sizes.tuples, share, delay)
            query = query_of(count, total(), delay, True)
            runs = self.contenders(query, given, count, Buckets, TupleBuffer, Trees)
            yield setting, x, {**runs, "sash columns": self.columns(query, share, delay)}

    def figure_13(self) -> Iterator[tuple[str, Any, Runs]]:
        """Aggregations, on time and on counts, and on counts where results are corrected at once instead of waiting."""
        count = min(20, self.sizes.concurrent[-1])
        given = stream(self.sizes.warm + self.sizes.tuples, SHARE)
        for name, make in AGGREGATIONS.items():
            on_time, on_counts = query_of(count, make(), LATE), query_of(count, make(), LATE, measure="count")
            corrected = on_counts.using(watermark_delay=None, allowed_lateness=LATE)
            runs = {
                "time": self.rows(partial(Ours, on_time), given),
                "count": self.rows(partial(Ours, on_counts), given),
                "count, corrected": self.rows(partial(Ours, corrected), given, self.sizes.warm // 20),
            }
            yield "20 windows, 20 % late, rows", name, runs

    def figure_14(self) -> Iterator[tuple[str, Any, Runs]]:
        """The median beside the baselines: nearly all values distinct, or 37 of them."""
        given = stream(self.sizes.warm + self.sizes.tuples, SHARE)
        for column, setting in (("ball", "football"), ("state", "machine, 37 values")):
            for count in self.sizes.concurrent[:3]:
                query = query_of(count, sash.Median(column), LATE)
                yield setting, count, self.contenders(query, given, count, Buckets, TupleBuffer)

    def figure_16(self) -> Iterator[tuple[str, Any, Runs]]:
        """Measures: windows on time and on counts."""
        given = stream(self.sizes.warm + self.sizes.tuples, SHARE)
        for count in (1, 20, 80):
            queries = {measure: query_of(count, total(), LATE, measure=measure) for measure in ("time", "count")}
            rows = {f"rows, {name}": self.rows(partial(Ours, query), given) for name, query in queries.items()}
            columns = {f"columns, {name}": self.columns(query, SHARE) for name, query in queries.items()}
            yield "20 % late", count, rows | columns

    def column_goals(self) -> Iterator[tuple[str, Any, Runs]]:
        """Max over 3600 slices of 1000 tuples: in order, with disorder, and of 84 keys."""
        tuples = self.sizes.long
        rng = np.random.default_rng(3)
        ts, load = np.arange(tuples), rng.random(tuples)
        arrival = ts + np.where(rng.random(tuples) < SHARE, rng.random(tuples) * LATE, 0)
        order = np.argsort(arrival, kind="stable")
        streams = {"in order": (ts, load, None), "20 % late": (ts[order], load[order], LATE)}
        window = sash.sliding(self.sizes.slices * 1000, 1000, on="ts")
        for setting, (times, values, late) in streams.items():
            query = sash.Query(windows=window, aggregates={"peak": sash.Max("load")}, watermark_delay=late)
            for batch in self.sizes.long_batches:
                yield setting, f"batches of {batch:,}", {"sash columns": long_run(query, times, values, batch)}
        keyed = sash.Query(key="plug", windows=window, aggregates={"peak": sash.Max("load")})
        data = {"plug": rng.integers(0, 84, tuples), "ts": ts, "load": load}
        yield "84 keys", "all at once", {"sash.run": lambda: timed(whole_run(keyed, data, tuples), 1e9)}

    # memory

    def figure_10(self) -> Iterator[Row]:
        """Bytes held for an allowed lateness: slices vary, or tuples do."""
        held = self.sizes.held
        by_slices = [(slices, held) for slices in (10, 100, 500, 1000, 10_000) if slices <= held]
        by_tuples = [(min(500, tuples), tuples) for tuples in (held // 50, held // 10, held, 2 * held)]
        for measure, figures in (("time", "ab"), ("count", "cd")):
            for figure, sizes in zip(figures, (by_slices, by_tuples), strict=True):
                for slices, tuples in sizes:
                    x = slices if figure in "ac" else tuples
                    for name, number in holdings(measure, slices, tuples).items():
                        yield row_of(f"10{figure}", f"windows on {measure}", x, name, 0, tuples, "bytes", number)
                    say(f"figure 10{figure}: {slices} slices, {tuples} tuples")

    # latency

    def figure_11(self) -> Iterator[Row]:
        """One firing of a window of so many slices, the next slice having come."""
        for label, aggregation, column in (("sum", sash.Sum(), "ball"), ("median", sash.Median(), "state")):
            values = getattr(football(2 * max(self.sizes.entries) + 10), column).tolist()
            partials = [aggregation.lift(value) for value in values]
            for number in range(self.rounds):
                for slices in self.sizes.entries:
                    for name, store in stores().items():
                        taken = firings(store, aggregation, partials, slices, self.sizes.budget)
                        parts = {"p50": statistics.median(taken), "mean": statistics.fmean(taken), "worst": max(taken)}
                        for part, seconds in parts.items():
                            micro = round(seconds * 1e6, 3)
                            yield row_of("11", f"{label}, {part}", slices, name, number, len(taken), "us", micro)
                say(f"figure 11: {label}, round {number + 1} of {self.rounds}")

    def figure_15(self) -> Iterator[Row]:
        """A split of a slice of so many tuples: both halves are recomputed."""
        for label, aggregation, most in (
            ("sum", total(), max(self.sizes.entries)),
            ("median", sash.Median("ball"), self.sizes.median_split),
            ("median of 37 values", sash.Median("state"), self.sizes.median_split),
        ):
            for size in self.sizes.entries:
                for number in range(self.rounds if size <= most else 0):
                    micro = round(split_seconds(aggregation, size) * 1e6, 3)
                    yield row_of("15", label, size, "split", number, size, "us", micro)
            say(f"figure 15: {label}")


def name_of(technique: type[Baseline]) -> str:
    names: dict[type[Baseline], str] = {Buckets: "buckets", TupleBuffer: "tuple buffer", FlatFATs: "FlatFAT"}
    return names.get(technique, "FiBA on tuples")


def row_of(figure: str, setting: str, x: Any, contender: str, number: int, tuples: int, unit: str, value: float) -> Row:
    values = (figure, setting, x, contender, number, tuples, unit, value)
    return dict(zip(FIELDS, values, strict=True))


def long_run(query: sash.Query, ts: Any, load: Any, batch: int) -> Callable[[], tuple[int, float]]:
    def batches() -> Iterator[int]:
        operator = sash.Operator(query)
        for begin in range(0, len(ts), batch):
            piece = slice(begin, begin + batch)
            operator.process_batch({"ts": ts[piece], "load": load[piece]})
            yield min(batch, len(ts) - begin)

    def run() -> tuple[int, float]:
        timed(batches(), 0.0)  # compiled
        return timed(batches(), 1e9)

    return run


def whole_run(query: sash.Query, data: Row, tuples: int) -> Iterator[int]:
    sash.run(query, data)
    yield tuples


def check() -> None:
    """Make sure that all give the same, in order and with disorder and a session."""
    few = football(1000)
    sparse = Stream(few.ts * 120, few.ball, few.state)
    for given, late, gap in ((sparse, 0, None), (sparse.disordered(SHARE, LATE), LATE, GAP)):
        for aggregation in (total(), sash.Median("state")):
            query = query_of(7, aggregation, late, gap is not None)
            extents = [(size, size) for size in lengths(7)]
            expected = ordered(_results(sash.Operator(query), given.rows))
            tree = FlatFATs if not late else Trees
            others = {name_of(each): each(extents, aggregation, gap, late) for each in (Buckets, TupleBuffer, tree)}
            found = {name: ordered(_results(each, given.rows)) for name, each in others.items()}
            for algorithm in ("lazy", "eager"):
                forced = sash.Operator(query.using(algorithm=algorithm))
                found[f"sash {algorithm}"] = ordered(_results(forced, given.rows))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", sash.PerformanceWarning)  # a median is not compiled
                found["sash columns"] = ordered(_rows_of(sash.Operator(query), given))
            for name, results in found.items():
                if not expected or results != expected:
                    raise SystemExit(f"{name} gives other results of {aggregation!r}: nothing to compare")


def _results(contender: Contender, rows: Iterable[Row]) -> list[Row]:
    return [result for row in rows for result in contender.process(row)]


def _rows_of(operator: sash.Operator, given: Stream) -> list[Row]:
    table = operator.process_batch(given.batch(0, len(given), *operator.query.values))
    names = list(table)
    return [dict(zip(names, values, strict=True)) for values in zip(*map(list, table.values()), strict=True)]


def ordered(results: list[Row]) -> list[tuple[Any, ...]]:
    rows = [(row["window_end"], row["window"], row["window_start"], row["result"]) for row in results]
    return sorted(rows, key=lambda row: row[:3])


THROUGHPUTS: dict[str, Callable[[Bench], Iterator[tuple[str, Any, Runs]]]] = {
    "columns": Bench.column_goals,
    "8": Bench.figure_8,
    "9": Bench.figure_9,
    "12": Bench.figure_12,
    "13": Bench.figure_13,
    "14": Bench.figure_14,
    "16": Bench.figure_16,
}
PROBES: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "10": Bench.figure_10,
    "11": Bench.figure_11,
    "15": Bench.figure_15,
}
PARTS = [*THROUGHPUTS, *PROBES]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="FIGURE", help=", ".join(PARTS))
    parser.add_argument("--tiny", action="store_true", help="as little as shows that everything runs")
    parser.add_argument(
        "--output", type=Path, help="default: results/slicing.csv, or build/slicing.csv if not all is run"
    )
    parser.add_argument("--readme", type=Path, help="also put the tables into this file, between its marks")
    parser.add_argument("--table", type=Path, help="print the tables of this CSV file and measure nothing")
    return parser.parse_args()


def run(options: argparse.Namespace) -> Path:
    """Measure; the path of the raw results."""
    whole = not options.only and not options.tiny
    path: Path = options.output or (HERE / "results" if whole else HERE.parent / "build") / "slicing.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    known = json.dumps(facts(PACKAGES, rounds=options.rounds, tiny=options.tiny), indent=2)
    path.with_suffix(".json").write_text(known + "\n", encoding="utf-8")
    check()
    gc.freeze()  # what is imported need not be looked through again and again
    bench = Bench(TINY if options.tiny else Sizes(), options.rounds)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for name in options.only or PARTS:
            measured = PROBES[name](bench) if name in PROBES else bench.measured(name, THROUGHPUTS[name](bench))
            for row in measured:
                writer.writerow(row)
                file.flush()
    return path


def main() -> None:
    options = arguments()
    path = options.table or run(options)
    with path.open(newline="") as file:
        results = Results(csv.DictReader(file))
    lines = [preamble(path), *results.tables()]
    print("\n".join(lines))
    if options.readme:
        insert("\n".join(lines), options.readme, "slicing")


if __name__ == "__main__":
    main()
