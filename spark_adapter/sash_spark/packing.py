"""Many rows in one, as Arrow's own bytes, on their way to stateful functions and back.

    rows ── mapInArrow ── a row for each bucket, with the bytes of its rows ── shuffle ── a stateful function
         ── rows with the bytes of results ── mapInArrow ── results

Spark hands rows to a stateful function, and takes them from it, through pandas, one by one: that costs more than all
else, and pandas takes nulls for NaN and instants for local times. Bytes cost nothing on the way, and are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyspark import TaskContext

from sash.spi import coalesce_batches
from sash_spark.worker import settle

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame
    from pyspark.sql import types as T

__all__ = ["PACKED", "Pack", "is_first_batch", "read_rows", "serialize", "sort_rows", "unpack"]

PACKED = "bucket int, task int, piece int, rows binary"
"""A piece of the rows that a task has for a bucket; pieces are numbered in their order."""
_BATCH = "streaming.sql.batchId"
"""Spark's name for the number of a micro-batch, as its tasks know it."""
_PACKED = ["bucket", "task", "piece", "rows"]
ROWS = 1 << 17
"""The rows that a task takes at a time: with fewer, each piece costs more than its rows."""
MOST = 1 << 20
"""The most results in one row, which Spark holds in memory as a whole."""


def is_first_batch() -> bool:
    """Whether this task is of the first micro-batch of a stream."""
    context = TaskContext.get()
    return context is not None and context.getLocalProperty(_BATCH) == "0"


class Pack:
    """Packs the rows of a task, whose first column is the bucket; the others have the types of ``schema``.

    The buckets ``called`` have a piece in the first micro-batch, if only one without rows.
    """

    def __init__(self, schema: pa.Schema, rows: int = ROWS, called: Sequence[int] = ()) -> None:
        self.schema, self.rows, self.called = schema, rows, called

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle()
        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        if self.called and is_first_batch():
            yield self._call(task)
        for piece, batch in enumerate(coalesce_batches(batches, self.rows)):
            yield self._pack(batch, task, piece)

    def _call(self, task: int) -> pa.RecordBatch:
        """A piece without rows for each bucket that has to be called."""
        blob, size = pa.RecordBatch.from_pylist([], self.schema).serialize().to_pybytes(), len(self.called)
        columns = [pa.array(numbers, pa.int32()) for numbers in (self.called, [task] * size, [-1] * size)]
        return pa.RecordBatch.from_arrays([*columns, pa.array([blob] * size, pa.binary())], _PACKED)

    def _pack(self, batch: pa.RecordBatch, task: int, piece: int) -> pa.RecordBatch:
        buckets, rows = batch.column(0).to_numpy(), _cast(batch, self.schema)
        if (buckets != buckets[0]).any():
            small = buckets.astype(np.int16) if buckets.max() < 2**15 else buckets  # small integers are sorted by radix
            order = np.argsort(small, kind="stable")
            buckets, rows = buckets[order], rows.take(pa.array(order))
        starts = np.flatnonzero(np.diff(buckets, prepend=-1))
        sizes = np.diff(starts, append=len(buckets))
        blobs = serialize([rows.slice(*part) for part in zip(starts.tolist(), sizes.tolist(), strict=True)], len(rows))
        columns = [buckets[starts], np.full(len(starts), task, np.int32), np.full(len(starts), piece, np.int32)]
        arrays = [*map(pa.array, columns), pa.array(blobs, pa.binary())]
        return pa.RecordBatch.from_arrays(arrays, _PACKED)


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns behind the first one, instants in UTC whatever zone the session has."""
    arrays = [
        array if array.type == field.type else array.cast(field.type)
        for array, field in zip(batch.columns[1:], schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def read_rows(frames: Iterable[pd.DataFrame], schema: pa.Schema) -> pa.Table:
    """The rows of all pieces, task by task."""
    columns = ("task", "piece", "rows")
    packed = [row for frame in frames for row in zip(*(frame[name] for name in columns), strict=True)]
    packed.sort(key=lambda row: row[:2])
    batches = [pa.ipc.read_record_batch(pa.py_buffer(blob), schema) for _, _, blob in packed]
    return pa.Table.from_batches(batches, schema)


def sort_rows(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """The rows sorted by columns; equal ones stay as they are. Nulls come last."""
    columns = [table.column(name) for name in names]
    if any(column.null_count or not _numeric(column.type) for column in columns):
        return table.take(pc.sort_indices(table, [(name, "ascending") for name in names]))
    arrays = [column.to_numpy() for column in columns]
    if len(names) == 1 and (arrays[0][:-1] <= arrays[0][1:]).all():
        return table  # as what comes from one file or one partition of Kafka mostly is
    return table.take(pa.array(np.lexsort(arrays[::-1])))


def _numeric(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_timestamp(kind))


def serialize(batches: Iterable[pa.RecordBatch], most: int = MOST) -> list[bytes]:
    """The bytes of batches, at most so many rows each."""
    parts = (batch.slice(at, most) for batch in batches for at in range(0, len(batch), most))
    return [part.serialize().to_pybytes() for part in parts]


def unpack(packed: DataFrame, schema: T.StructType, arrow: pa.Schema) -> DataFrame:
    """The results in the column ``rows``, as rows."""
    return packed.select("rows").where("rows IS NOT NULL").mapInArrow(partial(_unpack_batches, arrow), schema)


def _unpack_batches(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    settle()
    for batch in batches:
        for blob in batch.column(0):
            yield pa.ipc.read_record_batch(blob.as_buffer(), schema)
