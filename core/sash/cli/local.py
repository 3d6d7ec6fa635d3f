"""The local engine: all rows at once by :func:`sash.run`, or file after file by a keyed operator."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from sash.cli.ends import parts, with_structures
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
    for kind, query in parts(job.query).items():
        yield with_structures(run_all(query, table), kind, job.query, table.schema)


def _stream(job: Job) -> Iterator[Any]:
    """Watermarks are each key's own, as in :class:`sash.Operator`."""
    operators = {kind: KeyedOperator(query, own_watermark=True) for kind, query in parts(job.query).items()}
    empty = job.source.schema.empty_table()
    job.tally.doing = "streaming"
    for table in chain([empty], job.source.tables()):
        for kind, operator in operators.items():
            yield with_structures(operator.process_batch(table), kind, job.query, table.schema)
        job.tally.rows_in += len(table)
        job.tally.late = max(operator.metrics["late_dropped"] for operator in operators.values())
    job.tally.state_bytes = sum(len(operator.snapshot(trusted=True)) for operator in operators.values())
    for kind, operator in operators.items():
        yield with_structures(operator.close(like=empty), kind, job.query, empty.schema)
