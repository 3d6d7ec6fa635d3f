"""What a query costs on this machine: its operator, or a job of an engine, over generated rows in a steady state.

A batch costs a fixed part and one for each key. Two runs, of some keys and of half of them, tell both parts apart.
"""

from __future__ import annotations

import resource
import shutil
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sash.cli.engines import Engine, Job
from sash.cli.files import Source
from sash.cli.processes import cpu_seconds, watching
from sash.cli.sizing.sample import Sample
from sash.kernels.tiers import compiling_at_once
from sash.query import Query
from sash.runtime.operator import KeyedOperator

__all__ = ["Linear", "Measured", "job_seconds", "measure"]

_MOST_ROWS = 2_000_000
"""Rows that fill windows before anything is measured, at most."""
_LEAST_ROWS = 400_000
_JOB_ROWS = 2_000_000
"""Rows of the longest job of an engine, besides those that fill windows: fewer are lost in what its start costs."""
_TRIAL_ROWS = 20_000
_FEWEST_BATCHES, _MOST_BATCHES = 5, 1000
_TURNS = 3
_FEWER = 8
"""So many times fewer keys the other run has."""


@dataclass(frozen=True)
class Linear:
    """A cost that grows with the number of keys: a fixed part, and one for each key."""

    fixed: float
    a_key: float

    @classmethod
    def through(cls, few: int, cost: float, more: int, higher: float) -> Linear:
        """The costs of few and of more keys. Neither part is below zero: then all of it is for the keys."""
        a_key = (higher - cost) / (more - few) if more > few else 0.0
        fixed = cost - a_key * few
        return cls(fixed, a_key) if a_key > 0 and fixed >= 0 else cls(0.0, higher / more)

    def of(self, keys: int) -> float:
        """The cost of so many keys.

        >>> Linear.through(10, 3.0, 20, 5.0).of(100)
        21.0
        """
        return self.fixed + self.a_key * keys


@dataclass(frozen=True)
class Measured:
    """What an operator of some keys costs, by the number of keys."""

    keys: int
    """So many at most were measured."""
    batch_s: Linear
    """CPU seconds of a batch."""
    results: float
    """Result rows of a batch and key."""
    slices: float
    """Of a key."""
    saved: Linear
    """Bytes of a snapshot."""
    memory: float
    """Bytes of a key at the worst moment of a batch."""
    held: float
    """Bytes of a key between batches."""
    row_bytes: float
    result_bytes: float
    process: float
    """Bytes of a Python process that has loaded all, but no state."""
    full: bool
    """Whether the windows were filled."""


def measure(sample: Sample, interval: float, seconds: float) -> Measured:
    """Run the operator over batches of ``interval`` seconds for some ``seconds``, in turns of many keys and of few."""
    with compiling_at_once():
        a_row = _trial(sample, interval)
        process = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # of kB, on Linux
        rows = min(_MOST_ROWS, max(_LEAST_ROWS, seconds / a_row))
        a_key = sample.of_keys(1).rows_to_fill() + _TURNS * _FEWEST_BATCHES * sample.rate * interval
        more = max(1, min(sample.keys, int(rows / a_key)))
        few = max(1, more // _FEWER)
        many, cheap = (_Run(sample.of_keys(keys), interval) for keys in (more, few))
        for turn in range(_TURNS):
            for run in (many, cheap):
                run.take_turn(turn, seconds / _TURNS / 2)
        traced = max(1, more // 4)
        held, peak = _memory(sample.of_keys(traced), interval)
    return Measured(
        keys=more,
        batch_s=Linear.through(few, cheap.batch_s, more, many.batch_s),
        results=many.results / more,
        slices=many.slices / more,
        saved=Linear.through(few, cheap.saved, more, many.saved),
        memory=peak / traced,
        held=held / traced,
        row_bytes=many.row_bytes,
        result_bytes=many.result_bytes,
        process=process,
        full=a_key <= _MOST_ROWS,
    )


class _Run:
    """An operator of some keys whose windows are full. A batch costs what it does in the best of some turns."""

    def __init__(self, sample: Sample, interval: float) -> None:
        self._sample, self._interval = sample, interval
        self._operator = _operator(sample.query)
        for table in sample.filling():
            self._operator.process_batch(table)
        self._batches = 0
        self._rows = self._results = self._bytes_in = self._bytes_out = 0
        self.batch_s = float("inf")

    def take_turn(self, turn: int, seconds: float) -> None:
        """Take batches for some CPU seconds."""
        spent = list[float]()
        begin = self._batches * self._interval
        for table in self._sample.batches(begin, self._interval, _MOST_BATCHES, seed=turn):
            before = time.process_time()
            out = self._operator.process_batch(table)
            spent.append(time.process_time() - before)
            self._rows += len(table)
            self._bytes_in += table.nbytes
            self._results += len(out)
            self._bytes_out += out.nbytes if len(out) else 0
            if len(spent) >= _FEWEST_BATCHES and sum(spent) >= seconds:
                break
        self._batches += len(spent)
        self.batch_s = min(self.batch_s, sum(spent) / len(spent))

    @property
    def results(self) -> float:
        """Result rows of a batch."""
        return self._results / self._batches

    @property
    def slices(self) -> int:
        """Slices of all keys."""
        return self._operator.metrics["slices_held"]

    @property
    def saved(self) -> int:
        """Bytes of a snapshot."""
        return len(self._operator.snapshot(trusted=True))

    @property
    def row_bytes(self) -> float:
        """Bytes of a row that comes in."""
        return self._bytes_in / max(1, self._rows)

    @property
    def result_bytes(self) -> float:
        """Bytes of a result row."""
        return self._bytes_out / max(1, self._results)


def job_seconds(engine: Engine, sample: Sample, interval: float, parallelism: int, scratch: Path) -> float:
    """CPU seconds of a batch of an engine's job, its JVM and workers: by what a longer job takes more than a short one.

    Jobs are compiled while they run, so a long one comes first, and of two of each length the cheaper counts.
    """
    many = round(min(100, max(20, _JOB_ROWS / (sample.rate * sample.keys * interval))))
    few = many // 10
    spent = {few: float("inf"), many: float("inf")}
    for job, number in enumerate((many, few, many, few, many)):
        folder = scratch / str(job)
        source = _files(sample, interval, number, folder / "rows")
        begin = cpu_seconds()
        with watching():
            for _ in engine(Job(sample.query, source, True, parallelism, folder)):
                pass
        spent[number] = min(spent[number], cpu_seconds() - begin)
        shutil.rmtree(folder)
    return max(0.0, spent[many] - spent[few]) / (many - few)


def _files(sample: Sample, interval: float, number: int, folder: Path) -> Source:
    """The tuples that fill windows, and then a file a batch."""
    from pyarrow import parquet  # type: ignore[import-untyped]

    folder.mkdir(parents=True)
    tables = [*sample.filling(), *sample.batches(0, interval, number)]
    for place, table in enumerate(tables):
        parquet.write_table(table, folder / f"{place:06}.parquet")
    return Source.of(folder, None, streaming=True)


def _operator(query: Query) -> KeyedOperator:
    return KeyedOperator(query, own_watermark=bool([lane for lane in query.lanes if lane.order is not None]))


def _trial(sample: Sample, interval: float) -> float:
    """CPU seconds a row, roughly, with all kernels compiled."""
    keys = max(1, min(sample.keys, 100))
    operator = _operator(sample.query)
    spent = 0.0
    rows = 0
    for table in sample.of_keys(keys).batches(0, min(interval, _TRIAL_ROWS / sample.rate / keys), 4):
        begin = time.process_time()
        operator.process_batch(table)
        spent, rows = time.process_time() - begin, len(table)  # that of the last
    return max(spent / rows, 1e-9)


def _memory(sample: Sample, interval: float) -> tuple[float, float]:
    """Bytes held between two batches, and at the worst moment."""
    tables: Iterator[Any] = sample.filling()
    tracemalloc.start()
    try:
        operator = _operator(sample.query)
        for table in tables:
            operator.process_batch(table)
        del table
        for table in list(sample.batches(0, interval, 2)):
            tracemalloc.reset_peak()
            operator.process_batch(table)
        held, peak = tracemalloc.get_traced_memory()
        return held, peak
    finally:
        tracemalloc.stop()
