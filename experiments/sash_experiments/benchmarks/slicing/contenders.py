"""The operator and the techniques of ``baselines`` as contenders over the same stream: how each is warmed and timed."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any

import sash
from sash.testing import evaluate
from sash_experiments.benchmark import Contender, Row
from sash_experiments.benchmarks.slicing.baselines import Baseline, Buckets, FlatFATs, Trees, TupleBuffer
from sash_experiments.benchmarks.slicing.count_buffer import CountBuffer
from sash_experiments.benchmarks.slicing.cutters import Cutty, Pairs
from sash_experiments.benchmarks.slicing.football import GAP, RATE, Stream, football, lengths
from sash_experiments.timing import collector_off

__all__ = ["LATE", "Windows", "batches", "rates", "stream", "total"]

LATE = 2000
"""Milliseconds that tuples are late at most, unless that is what is varied."""
NAMES: dict[type[Baseline], str] = {
    Buckets: "buckets",
    TupleBuffer: "tuple buffer",
    FlatFATs: "FlatFAT",
    CountBuffer: "tuple buffer, count",
    Trees: "FiBA on tuples",
    Pairs: "Pairs",
    Cutty: "Cutty",
}
CHECKED, CHECKED_RATE = 120, 2
"""Tuples, and tuples a second, of the stream on which contenders are checked, with at most 3 windows."""


def total() -> sash.Aggregation:
    return sash.Sum("ball")


@cache
def stream(tuples: int, share: float = 0.0, delay: int = LATE, slow: int | None = None, rate: int = RATE) -> Stream:
    whole = football(tuples, slow, rate)
    return whole.disordered(share, delay) if share else whole


def few(share: float, delay: int) -> Stream:
    """As long as the longest windows take, with few tuples."""
    dense = football(CHECKED)
    sparse = Stream(dense.ts * (RATE // CHECKED_RATE), dense.ball, dense.state)
    return sparse.disordered(share, delay) if share else sparse


class Windows:
    """A number of windows of 1 to 20 s, on time or on counts, with or without a session: a query.

    They are tumbling, or slide by a ``share`` of their length.
    """

    def __init__(
        self,
        count: int,
        aggregation: Callable[[], sash.Aggregation] = total,
        late: int = 0,
        session: bool = False,
        measure: str = "time",
        share: float = 1,
        **options: Any,
    ) -> None:
        self.share = share
        self.count, self.aggregation, self.late, self.session, self.measure = count, aggregation, late, session, measure
        self.options = options
        self.query = self.query_of(count, RATE)

    def query_of(self, count: int, rate: int) -> sash.Query:
        windows: dict[str, Any] = {
            f"w{i}": sash.sliding(size, slide, on="ts") if self.measure == "time" else sash.sliding(size, slide)
            for i, (size, slide) in enumerate(self.extents(count, rate))
        }
        if self.session:
            windows["session"] = sash.session(GAP, on="ts")
        delay = {"watermark_delay": self.late or None}
        return sash.Query(
            windows=windows, aggregates={"result": self.aggregation()}, time="ts", **{**delay, **self.options}
        )

    def extents(self, count: int, rate: int = RATE) -> list[tuple[int, int]]:
        """(range, slide) of so many windows: in milliseconds, or in the tuples that come meanwhile."""
        spans = [(size, int(size * self.share)) for size in lengths(count)]
        if self.measure == "time":
            return spans
        return [(size * rate // 1000, slide * rate // 1000) for size, slide in spans]

    def technique(self, technique: type[Baseline], count: int, rate: int = RATE) -> Baseline:
        return technique(self.extents(count, rate), self.aggregation(), GAP if self.session else None, self.late)

    def rows(self, given: Stream, warm: int, budget: float, name: str = "sash rows", **options: Any) -> Contender:
        """The operator row by row, once it has been given ``warm`` rows; with other options of the query."""
        measure = partial(self._measure, lambda: Ours(self.query.using(**options)), given, warm, budget)
        return self._checked(name, measure, lambda query, rows: results(Ours(query.using(**options)), rows))

    def baseline(self, technique: type[Baseline], given: Stream, warm: int, budget: float) -> Contender:
        """A technique that gives the same."""
        measure = partial(self._measure, partial(self.technique, technique, self.count), given, warm, budget)
        windows = min(self.count, 3)
        return self._checked(
            NAMES[technique],
            measure,
            lambda query, rows: results(self.technique(technique, windows, CHECKED_RATE), rows),
        )

    def columns(self, given: Stream, batch: int, budget: float, name: str = "sash columns") -> Contender:
        """The operator with columns, which takes more tuples in the same time."""
        compiled: list[bool] = []

        def measure() -> Iterable[Row]:
            if not compiled:
                compiled.append(bool(rates(batches(self.query, given, batch), 0.0)))
            return rates(batches(self.query, given, batch), budget)

        return self._checked(name, measure, in_columns)

    def _measure(self, make: Callable[[], Any], given: Stream, warm: int, budget: float) -> list[Row]:
        contender = make()
        contender.warm(given.rows[:warm])
        return rates(by_rows(contender, given.rows[warm:]), budget)

    def _checked(
        self, name: str, measure: Callable[[], Iterable[Row]], answer: Callable[[sash.Query, list[Row]], list[Row]]
    ) -> Contender:
        """A contender that is compared with the definition, on few tuples and windows."""
        query, rows = self.query_of(min(self.count, 3), CHECKED_RATE), few(0.2 if self.late else 0.0, self.late).rows
        expected = partial(evaluate, query, [("row", row) for row in rows])
        return Contender(name, measure, lambda: ordered(answer(query, rows)), lambda: ordered(expected()))


class Ours:
    """The operator as a contender."""

    def __init__(self, query: sash.Query) -> None:
        self.process = sash.Operator(query).process

    def warm(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self.process(row)


def by_rows(contender: Any, rows: Sequence[Row], step: int = 64) -> Iterator[int]:
    process = contender.process
    for begin in range(0, len(rows), step):
        some = rows[begin : begin + step]
        for row in some:
            process(row)
        yield len(some)


def batches(query: sash.Query, given: Stream, batch: int) -> Iterator[int]:
    operator = sash.Operator(query)
    for begin in range(0, len(given), batch):
        operator.process_batch(given.batch(begin, begin + batch, *query.values))
        yield min(batch, len(given) - begin)


def rates(work: Iterator[int], budget: float) -> list[Row]:
    """Tuples a CPU second of work that says how many tuples each step took, until it ends or the budget is spent."""
    clock, taken = time.process_time, 0
    with collector_off():
        begin = now = clock()
        for tuples in work:
            taken += tuples
            now = clock()
            if now - begin > budget:
                break
    return [{"tuples": taken, "unit": "tuples/s", "value": round(taken / max(now - begin, 1e-9))}]


def results(contender: Any, rows: Iterable[Row]) -> list[Row]:
    return [result for row in rows for result in contender.process(row)]


def in_columns(query: sash.Query, rows: list[Row]) -> list[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sash.PerformanceWarning)  # a median is not compiled
        columns = sash.Operator(query).process_batch({name: [row[name] for row in rows] for name in rows[0]})
    return [dict(zip(columns, values, strict=True)) for values in zip(*map(list, columns.values()), strict=True)]


def ordered(found: list[Row]) -> list[tuple[Any, ...]]:
    """All that results say, by the ends of their windows: which of several comes first is not compared."""
    rows = [(row["window_end"], row.get("window", ""), row["window_start"], row["result"]) for row in found]
    return sorted(rows, key=lambda row: row[:3])
