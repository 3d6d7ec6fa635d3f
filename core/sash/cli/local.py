"""The local engine: all rows at once by :func:`sash.run`, or file after file by a keyed operator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sash.cli.engines import Job
from sash.runtime.keyed import KeyedOperator
from sash.runtime.run import run as run_all

__all__ = ["run"]


def run(job: Job) -> Iterator[Any]:
    """The results of a job."""
    return _stream(job) if job.streaming else _batch(job)


def _batch(job: Job) -> Iterator[Any]:
    job.tally.doing = "reading"
    table = job.source.table()
    job.tally.rows_in, job.tally.doing = len(table), "computing"
    job.tally.late = 0  # all rows are there: nothing is late
    yield run_all(job.query, table)


def _stream(job: Job) -> Iterator[Any]:
    """Each key has its own watermark: a file may hold one key after the other."""
    operator, empty = KeyedOperator(job.query, own_watermark="key"), job.source.schema.empty_table()
    job.tally.doing, job.tally.late = "streaming", 0
    yield operator.process_batch(empty)
    for table in job.source.tables():
        yield operator.process_batch(table)
        job.tally.rows_in += len(table)
        job.tally.late += len(operator.dropped)
    job.tally.state_bytes = len(operator.snapshot(trusted=True))
    yield operator.close(like=empty)
