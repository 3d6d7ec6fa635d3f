"""The packed way: buckets of keys, record batches in and record batches out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from pyflink.datastream import RuntimeContext

from sash import Query, arrival_time
from sash.spi import ArrowOutput, KeyedOperator, Outcomes
from sash_flink.clock import END, NEVER
from sash_flink.function import Live, StatefulFunction
from sash_flink.types import wire_schema
from sash_flink.worker import freeze_loaded_objects

__all__ = ["LATE", "REJECTED", "RESULTS", "ROW_ERRORS", "PackedFunction", "encode", "read_table", "rejected"]

RESULTS, LATE, REJECTED = 0, 1, 2
"""The first byte of a batch that goes to the JVM."""
ROW_ERRORS = (TypeError, ValueError, ArithmeticError)
"""The errors that operators raise for rows that they cannot take."""


class PackedFunction(StatefulFunction):
    """Takes record batches of a bucket's rows, from ``sash.flink.PackOperator``, and returns those to unpack."""

    least = 1 << 18

    def __init__(
        self, query: Query, schema: pa.Schema, results: pa.Schema, *, changelog: bool = False, **options: Any
    ) -> None:
        super().__init__(query, schema, **options)
        self.results, self.changelog = results, changelog

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        freeze_loaded_objects()

    def create(self, snapshot: bytes | None) -> KeyedOperator:
        options: Any = {"own_watermark": self.own, "deletes": self.changelog}
        if snapshot is None:
            return KeyedOperator(self.query, **options)
        return KeyedOperator.restore(self.query, snapshot, trusted=True, **options)

    def size(self, records: bytes | None) -> int:
        return 64 + len(records or b"")

    def advance(self, live: Live, watermark: int) -> list[bytes]:
        if watermark == END:
            return self._results(live.op.close_outcomes())
        mark = self.clock.mark(watermark)
        if mark is None:
            return []
        results = self._results(live.op.advance_outcomes(mark))
        if self.ttl is not None:
            live.op.forget_silent(self.clock.moment(max(watermark - self.ttl, NEVER)))
        return results

    def take(self, live: Live, records: bytes) -> list[bytes]:
        table = read_table(records, self.schema)
        if self.clock.arrival:
            times = pa.array([self.arrival(live)] * len(table), pa.timestamp("ms", "UTC"))
            table = table.append_column(arrival_time, times)
        self.metrics.counts["rows"] += len(table)
        return list(self._take(live, table))

    def _take(self, live: Live, table: pa.Table) -> Iterator[bytes]:
        try:
            outcomes = live.op.process_outcomes(table)
        except ROW_ERRORS as error:
            if len(table) == 1:
                self.metrics.counts["rejected"] += 1
                yield rejected(table.select(self.schema.names), error)
                return
            half = len(table) // 2  # the operator is as it was: find the row
            yield from self._take(live, table[:half])
            yield from self._take(live, table[half:])
            return
        yield from self._results(outcomes)
        if len(live.op.dropped):
            self.metrics.counts["late"] += len(live.op.dropped)
            rows = table.take(pa.array(np.asarray(live.op.dropped)))
            yield encode(LATE, rows.select(self.schema.names).to_batches())

    def _results(self, outcomes: Outcomes) -> list[bytes]:
        batches = ArrowOutput(self.query, self.results).batches(outcomes)
        self.metrics.counts["results"] += sum(map(len, batches))
        return [encode(RESULTS, batches)] if batches else []


def read_table(records: bytes, schema: pa.Schema) -> pa.Table:
    """The rows of a batch from ``sash.flink.PackOperator``."""
    reader = pa.ipc.open_stream(records)
    batches = list(reader)
    if schema.names:
        return pa.Table.from_batches(batches, reader.schema).cast(schema)
    return pa.table({"": pa.nulls(sum(batch.num_rows for batch in batches))})  # only the number of rows counts


def rejected(row: pa.Table, error: Exception) -> bytes:
    """A row that could not be taken, with the reason."""
    reason = pa.array([str(error)], pa.string())
    return encode(REJECTED, row.append_column("reason", reason).to_batches())


def encode(kind: int, batches: list[pa.RecordBatch]) -> bytes:
    """Record batches as ``sash.flink.UnpackOperator`` takes them."""
    schema = wire_schema(batches[0].schema)
    sink = pa.BufferOutputStream()
    sink.write(bytes([kind]))
    with pa.ipc.new_stream(sink, schema) as stream:
        for batch in batches:
            stream.write_batch(batch.cast(schema) if batch.schema != schema else batch)
    encoded: bytes = sink.getvalue().to_pybytes()
    return encoded
