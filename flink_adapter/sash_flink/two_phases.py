"""A job in two phases: rows become slices where they were packed, and slices are exchanged instead of rows.

    stream ── pack ── Python: rows become slices ══ exchange by bucket ══ stamp ── Python: slices are merged ── unpack

So a key with most of the rows does not keep one task busy while the others wait. The first phase has no state: what it
makes of a batch goes on at once. In a stream its rows are late by the watermark of its own task, which those of the
second phase never pass: so no slice is late there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyflink.common import Row
from pyflink.datastream import FlatMapFunction, RuntimeContext

from sash import Query
from sash.spi import SliceMerger, SliceReducer, SliceStream
from sash_flink.clock import END, Clock
from sash_flink.function import Live
from sash_flink.packed import LATE, REJECTED, RESULTS, ROW_ERRORS, PackedFunction, encode, read_table, rejected
from sash_flink.worker import freeze_loaded_objects, settle

__all__ = ["ReduceFunction", "ReduceStreamFunction", "SliceStreamFunction", "SlicesFunction"]

SLICES = 3
"""The first byte of slices that go from one phase to the other; rejected rows have theirs already."""


class ReduceFunction(FlatMapFunction):  # type: ignore[misc]  # PyFlink has no types
    """The first phase: makes slices of a bucket's record batch. It has no state."""

    def __init__(self, query: Query, schema: pa.Schema) -> None:
        self.query, self.schema = query, schema

    def open(self, runtime_context: RuntimeContext) -> None:
        """Flink starts the task."""
        settle()
        freeze_loaded_objects()

    def flat_map(self, value: Any) -> Iterator[Row]:
        """Take a bucket and its batch."""
        bucket, records = value
        return self._reduce(bucket, read_table(records, self.schema), None)

    def _reduce(self, bucket: int, table: pa.Table, watermark: Any) -> Iterator[Row]:
        reducer = SliceReducer(self.query)
        for part in self._take(reducer, bucket, table, watermark):
            yield Row(bucket, part)
        for _, slices in reducer.flush():
            yield Row(bucket, bytes([SLICES]) + slices)

    def _take(self, reducer: SliceReducer, bucket: int, table: pa.Table, watermark: Any) -> Iterator[bytes]:
        try:
            for batch in table.combine_chunks().to_batches():
                if watermark is not None:
                    late = pa.array(reducer.late(batch, watermark))
                    if (dropped := batch.filter(late)).num_rows:
                        yield encode(LATE, [dropped])
                        batch = batch.filter(pc.invert(late))
                groups = pa.array([bucket] * len(batch), pa.int32())
                yield from (bytes([SLICES]) + slices for _, slices in reducer.take(batch, groups))
        except ROW_ERRORS as error:
            if len(table) == 1:
                yield rejected(table, error)
                return
            half = len(table) // 2  # nothing of it was taken: find the row
            yield from self._take(reducer, bucket, table[:half], watermark)
            yield from self._take(reducer, bucket, table[half:], watermark)


class ReduceStreamFunction(ReduceFunction):
    """The same in a stream, whose batches are stamped with the watermark that they came behind."""

    def __init__(self, query: Query, schema: pa.Schema, clock: Clock) -> None:
        super().__init__(query, schema)
        self.clock = clock

    def flat_map(self, value: Any) -> Iterator[Row]:
        bucket, (watermark, records) = value
        mark = self.clock.mark(watermark)
        return self._reduce(bucket, read_table(records, self.schema), mark and mark[self.clock.column or ""])


class SlicesFunction(PackedFunction):
    """The second phase: merges the slices of a bucket; at the end of the input it has all of them."""

    def create(self, snapshot: bytes | None) -> SliceMerger:
        merger = SliceMerger(self.query, self.results)
        if snapshot is not None:
            merger.take(snapshot)
        return merger

    def take(self, live: Live, records: bytes) -> list[bytes]:
        if records[0] == REJECTED:
            self.metrics.counts["rejected"] += 1
            return [records]
        live.op.take(records[1:])
        return []

    def advance(self, live: Live, watermark: int) -> list[bytes]:
        if watermark != END:
            return []
        batches = live.op.end()
        self.metrics.counts["results"] += sum(map(len, batches))
        return [encode(RESULTS, batches)] if batches else []

    def due(self, live: Live) -> int | None:
        """Only at the end."""
        return None


class SliceStreamFunction(PackedFunction):
    """The second phase of a stream: merges the slices of a bucket, and fires its windows as the watermark moves."""

    def create(self, snapshot: bytes | None) -> SliceStream:
        stream = SliceStream(self.query, self.results)
        if snapshot is not None:
            stream.load(snapshot)
        return stream

    def take(self, live: Live, records: bytes) -> list[bytes]:
        if records[0] == SLICES:
            live.op.take(records[1:])
            return []
        if records[0] == REJECTED:
            self.metrics.counts["rejected"] += 1
        else:
            self.metrics.counts["late"] += pa.ipc.open_stream(records[1:]).read_all().num_rows
        return [records]

    def advance(self, live: Live, watermark: int) -> list[bytes]:
        mark = self.clock.mark(watermark)
        if mark is None and watermark != END:
            return []
        batches = live.op.end() if watermark == END or mark is None else live.op.move(mark[self.clock.column or ""])
        self.metrics.counts["results"] += sum(map(len, batches))
        return [encode(RESULTS, batches)] if batches else []
