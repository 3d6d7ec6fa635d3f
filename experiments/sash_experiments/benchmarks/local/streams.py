"""``sash.Operator`` over the streams of many keys, in batches and row by row, as ``bench local`` measures it: late rows
that correct results, keys that are silent when the watermark moves, and a query of many windows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

import sash
from sash.testing import evaluate
from sash_experiments.benchmark import Case, Contender, Row
from sash_experiments.benchmarks.local.contenders import measure_call

__all__ = ["CORRECTED", "ROW_BY_ROW", "stream_cases"]

Array = np.ndarray[Any, Any]
Columns = dict[str, Array]
Results = list[tuple[Any, ...]]

BATCH = 20_000
CHECKED = 60
"""Rows of one key whose results are compared with the definition."""
ROW_BY_ROW = "row by row"
CORRECTED = "10 s and 60 s by 10 s, 10 % late"
AGGREGATES = {"max": sash.Max("load"), "mean": sash.Mean("load")}


@dataclass(frozen=True)
class KeyedStream:
    """A query and the rows that it gets; ``watermark``: what is advanced to behind them, and all that is timed."""

    window: str
    query: sash.Query
    columns: Columns
    watermark: int | None = None

    def case(self) -> Case:
        keys = len(np.unique(self.columns["key"]))
        labels = {"workload": "streams", "window": self.window, "aggregates": " + ".join(AGGREGATES), "keys": keys}
        return Case(labels, list(self._contenders()))

    def _contenders(self) -> Iterator[Contender]:
        ways: dict[str, Callable[[sash.Query, Columns], Iterator[Any]]] = {"sash": batches, ROW_BY_ROW: single_rows}
        for name, feed in ways.items():
            yield Contender(name, partial(self._measure, feed), partial(self._answer, feed), self._definition)

    def _measure(self, feed: Any) -> Iterator[Row]:
        if self.watermark is None:
            yield from measure_call(lambda: list(feed(self.query, self.columns)), len(self.columns["key"]))
            return
        feeding = feed(self.query, self.columns)
        op = [op for op, _ in feeding][-1]
        wall, cpu = time.perf_counter(), time.process_time()
        op.advance(self.watermark)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        size = len(self.columns["key"])
        yield {"rows": size, "ns_per_row": round(wall / size * 1e9, 3), "cpu_ns_per_row": round(cpu / size * 1e9, 3)}

    @cached_property
    def _checked(self) -> Columns:
        """The first rows of the first key."""
        mine = np.flatnonzero(self.columns["key"] == 0)[:CHECKED]
        return {name: column[mine] for name, column in self.columns.items()}

    def _answer(self, feed: Any) -> Results:
        found: list[dict[str, Any]] = []
        for last, results in feed(self.query, self._checked):
            op = last
            found += results
        return _plain([*found, *op.close()])

    def _definition(self) -> Results:
        names = list(self._checked)
        rows = [dict(zip(names, row, strict=True)) for row in _lists(self._checked)]
        return _plain(evaluate(self.query.using(key=None), [*(("row", row) for row in rows), ("close",)]))


def batches(query: sash.Query, columns: Columns) -> Iterator[Any]:
    """The operator, and the results of each batch."""
    op = sash.Operator(query)
    for begin in range(0, len(columns["key"]), BATCH):
        table = op.process_batch({name: column[begin : begin + BATCH] for name, column in columns.items()})
        yield op, _Rows(table)


def single_rows(query: sash.Query, columns: Columns) -> Iterator[Any]:
    """The operator, and the results of each row."""
    op, names = sash.Operator(query), list(columns)
    for row in _lists(columns):
        yield op, op.process(dict(zip(names, row, strict=True)))


class _Rows:
    """The results of a batch as rows, made when they are read, so that this is not timed."""

    def __init__(self, table: Columns) -> None:
        self._table = table

    def __iter__(self) -> Iterator[dict[str, Any]]:
        names = list(self._table)
        return (dict(zip(names, row, strict=True)) for row in _lists(self._table))


def _lists(columns: Columns) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.tolist() for column in columns.values()), strict=True)


def _plain(results: list[dict[str, Any]]) -> Results:
    return [tuple(value for name, value in result.items() if name not in ("key", "window")) for result in results]


def stream_cases(rows: int, many: int) -> Iterator[Case]:
    """``many``: how many windows, and tenfold how many silent keys, there are."""
    yield late_rows(rows // 10, min(100, rows // 100)).case()
    yield from silent_keys(min(10 * many, rows // 10))
    yield many_windows(rows // 100, many).case()


def late_rows(size: int, keys: int) -> KeyedStream:
    """Every tenth row or so is up to 15 s late; rows are 10 ms apart, and the watermark is 2 s behind."""
    random = np.random.default_rng(5)
    ts = np.arange(size) * 10
    ts = np.where(random.random(size) < 0.1, ts - random.integers(1, 15_000, size), ts)
    windows = {"short": sash.tumbling(10_000, on="ts"), "long": sash.sliding(60_000, 10_000, on="ts")}
    query = sash.Query(
        key="key", windows=windows, aggregates=AGGREGATES, time="ts", watermark_delay=2_000, allowed_lateness=20_000
    )
    return KeyedStream(CORRECTED, query, _columns(random.integers(0, keys, size), ts))


def silent_keys(keys: int) -> Iterator[Case]:
    """A row a key, and the first watermark behind all of them."""
    ts = np.full(keys, 500)
    for window, length in (("advance, none ends", 400), ("advance, each ends", 2_000)):
        query = sash.Query(key="key", windows=sash.tumbling(1_000, on="ts"), aggregates=AGGREGATES, time="ts")
        yield KeyedStream(window, query, _columns(np.arange(keys), ts), 500 + length).case()


def many_windows(size: int, windows: int) -> KeyedStream:
    """Windows of as many ranges over the same rows, which are 10 ms apart."""
    ranges = {f"w{i}": sash.sliding(10_000 + 100 * i, 1_000, on="ts") for i in range(windows)}
    query = sash.Query(key="key", windows=ranges, aggregates=AGGREGATES, time="ts")
    return KeyedStream(f"{windows:,} windows", query, _columns(np.zeros(size, int), np.arange(size) * 10))


def _columns(key: Array, ts: Array) -> Columns:
    return {"key": key, "ts": ts, "load": np.random.default_rng(6).random(len(key))}
