"""A batch job in two phases: rows become slices where they were packed, and slices are exchanged instead of rows.

    stream ── pack ── Python: rows become slices ══ exchange by bucket ══ stamp ── Python: slices are merged ── unpack

So a key with most of the rows does not keep one task busy while the others wait. Only in the batch runtime mode: in a
stream a row may be late, which only the task knows that its key goes to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyflink.common import Row
from pyflink.datastream import FlatMapFunction, RuntimeContext

from sash import Query
from sash.spi import SliceMerger, SliceReducer
from sash_flink.clock import END
from sash_flink.function import Live
from sash_flink.packed import REJECTED, RESULTS, ROW_ERRORS, PackedFunction, encode, read_table, rejected
from sash_flink.worker import freeze_loaded_objects, settle

__all__ = ["ReduceFunction", "SlicesFunction"]

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
        reducer = SliceReducer(self.query)
        for part in self._take(reducer, bucket, read_table(records, self.schema)):
            yield Row(bucket, part)
        for _, slices in reducer.flush():
            yield Row(bucket, bytes([SLICES]) + slices)

    def _take(self, reducer: SliceReducer, bucket: int, table: pa.Table) -> Iterator[bytes]:
        try:
            for batch in table.combine_chunks().to_batches():
                groups = pa.array([bucket] * len(batch), pa.int32())
                yield from (bytes([SLICES]) + slices for _, slices in reducer.take(batch, groups))
        except ROW_ERRORS as error:
            if len(table) == 1:
                yield rejected(table, error)
                return
            half = len(table) // 2  # nothing of it was taken: find the row
            yield from self._take(reducer, bucket, table[:half])
            yield from self._take(reducer, bucket, table[half:])


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
