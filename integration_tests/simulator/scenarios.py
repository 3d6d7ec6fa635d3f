"""A case in three parts with two changes between them: start, change, change, verify.

rows  ────────────┊────────────┊────────────
          start   │   go on    │   go on, and compare all rows with the definition
                change       change
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from integration_tests.conformance.cases import Case
from sash.spi import KeyedOperator

from .flink_job import FlinkJob
from .spark_stream import SparkStream
from .world import World

__all__ = ["MOVES", "SCENARIOS", "flink", "local_and_spark", "spark"]

SCENARIOS = {"no-op": (2,), "restart": (2, 2, 2), "rescale up": (1, 2, 3), "rescale down": (3, 2, 1)}
"""The parallelism of each part."""
MOVES = ["lsl", "sls", "lls", "ssl"]
"""Where each part runs: locally or in a bucket of Spark's."""
Rows = list[dict[str, Any]]


def _ends(case: Case, parts: int) -> list[int | None]:
    return [len(case.rows) * part // parts for part in range(1, parts)] + [None]


def flink(case: Case, packed: bool, parallelisms: tuple[int, ...]) -> Rows:
    """Stop with a savepoint, and start from it at another parallelism."""
    savepoint, rows = None, []
    for number, (upto, parallelism) in enumerate(zip(_ends(case, len(parallelisms)), parallelisms, strict=True)):
        job = FlinkJob(case, World(number, frozenset(), steady=True), packed)
        job.parallelism = parallelism
        if savepoint is not None:
            job.restore(savepoint)
        if upto is None:
            job.run()
        else:
            savepoint = job.run_to(upto)
        rows += job.rows()
    return rows


def spark(case: Case, parts: bool, workers: tuple[int, ...]) -> Rows:
    """Stop the query, and start it again from its checkpoint with other workers."""
    rows, last = [], None
    for number, (upto, count) in enumerate(zip(_ends(case, len(workers)), workers, strict=True)):
        query = SparkStream(case, World(number, frozenset(), steady=True), parts, buckets=3 if case.query.keys else 1)
        query.start_workers(count)
        if last is not None:
            query.go_on_from(last)
        rows += query.run(upto)
        last = query
    return rows


def local_and_spark(case: Case, places: str, snapshot: bytes | None = None, position: int = 0) -> Rows:
    """Move the snapshot of all keys, which has taken rows up to ``position``, between here and a bucket of Spark's."""
    rows: Rows = []
    query = SparkStream(case, World(1, frozenset(), steady=True), False, buckets=1)
    for place, upto in zip(places, _ends(case, len(places)), strict=True):
        end = len(case.rows) if upto is None else max(upto, position)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if place == "l":
                op = _operator(case, snapshot)
                rows += _rows(op.process_batch(_table(case, position, end)))
                if upto is None and case.watermark is not None:
                    rows += _rows(op.advance(case.watermark, like=_table(case, 0, 0)))
                snapshot = op.snapshot(trusted=True)
            else:
                query.take_over(snapshot, position, case.rows[:position])
                before = len(query.committed)
                rows += query.run(end)[before:]
                snapshot = query.snapshot_of(0)
        position = end
    return rows


def _table(case: Case, begin: int, end: int) -> Any:
    """Rows as columns of known types; without, where results have a column of times and numbers."""
    rows = case.rows[begin:end]
    return rows if case.mixed else pa.Table.from_pylist(rows, case.arrow)


def _rows(results: Any) -> Rows:
    return list(results) if isinstance(results, list) else results.to_pylist()


def _operator(case: Case, snapshot: bytes | None) -> KeyedOperator:
    if snapshot is None:
        return KeyedOperator(case.query, own_watermark="key")
    return KeyedOperator.restore(case.query, snapshot, own_watermark="key", trusted=True)


RUNS: dict[str, Callable[[Case, tuple[int, ...]], Rows]] = {
    "flink-record": lambda case, scenario: flink(case, False, scenario),
    "flink-packed": lambda case, scenario: flink(case, True, scenario),
    "spark-whole": lambda case, scenario: spark(case, False, scenario),
    "spark-parts": lambda case, scenario: spark(case, True, scenario),
}
