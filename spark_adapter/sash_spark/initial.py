"""What a stream starts from: a local snapshot, or the rows of a batch DataFrame that came before.

The states of all buckets come to the driver, and travel to the workers with the query. They are looked at in the first
micro-batch of a stream alone, in which every bucket that has one is called, whether it has rows or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sash import Query
from sash.spi import KeyedOperator, coalesce_batches
from sash_spark.packing import ROWS
from sash_spark.paths import find, key_column, read_columns
from sash_spark.schema import arrow_schema
from sash_spark.worker import settle

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["bucket_of", "initial_states"]

_STATES = "bucket int, state binary"


def bucket_of(keys: Sequence[Column], buckets: int) -> Column:
    """The bucket of a key."""
    return F.pmod(F.hash(*keys), F.lit(buckets)) if keys else F.lit(0)


def initial_states(
    df: DataFrame, query: Query, initial: Any, orders: Sequence[str], buckets: int
) -> Mapping[int, bytes]:
    """The snapshot of each bucket that has one, for a stream over ``df``."""
    if isinstance(initial, bytes | bytearray | memoryview):
        return _of_snapshot(df, query, bytes(initial), buckets)
    if not hasattr(initial, "isStreaming") or initial.isStreaming:
        raise TypeError(f"initial= must be a snapshot (bytes) or a batch DataFrame; got {type(initial).__name__}")
    for name in (*query.columns, *orders):
        before, now = (find(frame.schema, name).dataType.simpleString() for frame in (initial, df))
        if before != now:
            raise TypeError(f"column {name!r} is {before} in initial= and {now} in the stream")
    return _of_history(initial, query, orders, buckets)


def _of_snapshot(df: DataFrame, query: Query, snapshot: bytes, buckets: int) -> Mapping[int, bytes]:
    op = KeyedOperator.restore(query, snapshot, own_watermark="key")
    fields = [T.StructField(f"k{i}", find(df.schema, key).dataType) for i, key in enumerate(query.keys)]
    schema = T.StructType([*fields, T.StructField("row", T.LongType())])
    types = arrow_schema(schema)
    if any(pa.types.is_temporal(kind) for kind in types.types):
        raise ValueError("keys that are times are not those of a snapshot: give the rows before, as a DataFrame")

    def buckets_of(columns: Mapping[str, Any]) -> Any:
        if not query.keys:
            return np.zeros(op.keys, np.int64)
        arrays = [pa.array(columns[key].tolist(), kind) for key, kind in zip(query.keys, types.types, strict=False)]
        table = pa.Table.from_arrays([*arrays, pa.array(np.arange(op.keys))], schema=types)
        keys = df.sparkSession.createDataFrame(table, schema)
        rows = keys.select("row", bucket_of([key_column(keys, field.name) for field in fields], buckets)).collect()
        return np.array([bucket for _, bucket in sorted(rows)], np.int64)

    return dict(op.split(buckets_of, trusted=True))


def _of_history(history: DataFrame, query: Query, orders: Sequence[str], buckets: int) -> Mapping[int, bytes]:
    """The states after the rows of a batch DataFrame, whose results nobody gets."""
    if len(query.lanes) > 1:
        raise ValueError("rows cannot be sorted in several orders at once: give initial= as a snapshot")
    bucket = bucket_of([key_column(history, key) for key in query.keys], buckets)
    rows = history.select(bucket.alias("bucket"), *read_columns(history, query, orders))
    sort = [*(f"c{query.columns.index(name)}" for name in query.orders), *(f"o{i}" for i in range(len(orders)))]
    in_order = rows.repartition(buckets, "bucket").sortWithinPartitions("bucket", *sort)
    return {row.bucket: bytes(row.state) for row in in_order.mapInArrow(_History(query), _STATES).collect()}


class _History:
    """Runs the rows of a task, which come bucket by bucket."""

    def __init__(self, query: Query) -> None:
        self.query = query

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle()
        columns, bucket, op = list(self.query.columns or [""]), -1, self._operator()
        for batch in coalesce_batches(batches, ROWS):
            numbers = batch.column(0).to_numpy()
            rows = batch.select(range(1, len(columns) + 1)).rename_columns(columns)
            starts = np.flatnonzero(np.diff(numbers, prepend=-1))
            for begin, end in pairwise([*starts.tolist(), len(batch)]):
                if numbers[begin] != bucket:
                    yield from self._state(bucket, op)
                    bucket, op = int(numbers[begin]), self._operator()
                op.process_outcomes(rows.slice(begin, end - begin))
        yield from self._state(bucket, op)

    def _operator(self) -> KeyedOperator:
        return KeyedOperator(self.query, own_watermark="key")

    def _state(self, bucket: int, op: KeyedOperator) -> Iterator[pa.RecordBatch]:
        if op.keys:
            state = {"bucket": pa.array([bucket], pa.int32()), "state": [op.snapshot(trusted=True)]}
            yield pa.RecordBatch.from_pydict(state)
