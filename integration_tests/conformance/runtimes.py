"""The runtimes. Those in this process are here; each engine has a module of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

import sash
from sash.runtime.operator import KeyedOperator

from . import flink, spark
from .cases import Case

Rows = list[Mapping[str, Any]]


@dataclass(frozen=True)
class Runtime:
    """How a case is run. ``streams``: rows come one after the other; else all are there, and nothing is late."""

    rows: Callable[[Case, pytest.FixtureRequest], Rows]
    streams: bool = True
    closes: bool = False
    """When a stream ends, so do its windows."""
    engine: str | None = None
    gaps: Mapping[str, str] = field(default_factory=dict)
    """What it cannot do, and why, by the name of the case."""


def by_rows(case: Case, request: pytest.FixtureRequest) -> Rows:
    return list(_each_key(case, lambda op, rows: [result for row in rows for result in op.process(row)]))


def by_columns(case: Case, request: pytest.FixtureRequest) -> Rows:
    def batches(op: sash.Operator, rows: Rows) -> Rows:
        half = len(rows) // 2
        return [result for part in (rows[:half], rows[half:]) if part for result in op.process_batch(part)]

    return list(_each_key(case, batches))


def _each_key(case: Case, run: Callable[[sash.Operator, Rows], Rows]) -> Iterator[Mapping[str, Any]]:
    for key, rows in case.by_key().items():
        op = sash.Operator(case.query)
        results = run(op, rows)
        if case.watermark is not None:
            results += op.advance(case.watermark)
        yield from (dict(zip(case.query.keys, key, strict=True)) | dict(result) for result in results)


def keyed(case: Case, request: pytest.FixtureRequest) -> Rows:
    op = KeyedOperator(case.query, own_watermark="key")
    found: Rows = []
    for part in case.batches():
        found += op.process_batch(part)
        op = KeyedOperator.restore(case.query, op.snapshot(trusted=True), own_watermark="key", trusted=True)
    if case.watermark is not None:
        like = [dict.fromkeys(case.schema)][:0]
        found += op.advance(case.watermark, like=like)
    return found


def run(case: Case, request: pytest.FixtureRequest) -> Rows:
    if case.mixed:  # a column of times and numbers Arrow does not have
        return list(sash.run(case.query, case.rows))
    found: Rows = sash.run(case.query, pa.Table.from_pylist(case.rows, case.arrow)).to_pylist()
    return found


RUNTIMES = {
    "local-rows": Runtime(by_rows),
    "local-columns": Runtime(by_columns),
    "local-keyed": Runtime(keyed),
    "local-run": Runtime(run, streams=False),
    "spark-batch": Runtime(spark.batch, streams=False, engine="spark", gaps=spark.BATCH_GAPS),
    "spark-two-phases": Runtime(spark.in_two_phases, streams=False, engine="spark", gaps=spark.ONE_PHASE_ONLY),
    "spark-streaming": Runtime(spark.streaming, engine="spark", gaps=spark.STREAMING_GAPS),
    "flink-packed": Runtime(flink.packed, closes=True, engine="flink", gaps=flink.GAPS),
    "flink-record": Runtime(flink.by_record, closes=True, engine="flink", gaps=flink.GAPS),
    "flink-batch": Runtime(flink.batch, streams=False, engine="flink", gaps=flink.GAPS),
    "flink-two-phases": Runtime(flink.batch_in_two_phases, streams=False, engine="flink", gaps=flink.ONE_PHASE_ONLY),
    "flink-batch-record": Runtime(flink.batch_by_record, streams=False, engine="flink", gaps=flink.GAPS),
}
if spark.parts_missing() is None:  # in an environment without PyFlink: make test-spark-latest
    RUNTIMES["spark-parts"] = Runtime(spark.in_parts, engine="spark", gaps=spark.STREAMING_GAPS)
