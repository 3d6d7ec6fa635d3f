"""A query over a batch DataFrame in two phases, so that the rows of one key need not go to one task.

    df ── mapInArrow: rows become slices, in any order ── shuffle of slices by a hash of the key
       ── mapInArrow: slices are merged ── results

A row is read where it is: neither shuffled nor sorted. What travels is a slice a key and task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import functions as F

from sash import Query
from sash.spi import SliceMerger, SliceReducer, coalesce_batches
from sash_spark.packing import ROWS
from sash_spark.paths import key_column, read_columns
from sash_spark.schema import arrow_schema
from sash_spark.worker import settle

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql import types as T

__all__ = ["aggregate_slices"]

MOST_PARTS = 64
"""The most parts of the keys, unless more are asked for: each has a row for each task that rows are reduced in."""
SLICES = "part int, slices binary"
_SLICES = pa.schema([("part", pa.int32()), ("slices", pa.binary())])


def aggregate_slices(
    df: DataFrame, query: Query, schema: T.StructType, salted: bool | int | None, partitions: int | None
) -> DataFrame:
    """The results of a query of one lane. ``salted``, if it is a number, is how many tasks the rows are dealt to."""
    spread = df if salted is None or isinstance(salted, bool) else df.repartition(salted)
    keys = [key_column(df, key) for key in query.keys]
    parts = partitions or min(int(str(df.sparkSession.conf.get("spark.sql.shuffle.partitions"))), MOST_PARTS)
    part = F.pmod(F.hash(*keys), F.lit(parts)) if keys else F.lit(0)
    rows = spread.select(part.alias("part"), *read_columns(df, query, ()))
    slices = rows.mapInArrow(_Reduce(query), SLICES)
    if not keys:
        together = slices.repartition(1)
    else:
        together = slices.repartition("part") if partitions is None else slices.repartition(partitions, "part")
    return together.sortWithinPartitions("part").mapInArrow(_Merge(query, schema), schema)


class _Reduce:
    """Reduces the rows of a task, whose first column is the part that their key belongs to."""

    def __init__(self, query: Query) -> None:
        self.query = query

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle()
        reducer, names = SliceReducer(self.query), list(self.query.columns)
        for batch in coalesce_batches(batches, ROWS):
            rows = batch.select(range(1, len(names) + 1)).rename_columns(names)
            yield from map(_packed, reducer.take(rows, batch.column(0)))
        yield from map(_packed, reducer.flush())


def _packed(slices: tuple[int, bytes]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"part": [slices[0]], "slices": [slices[1]]}, _SLICES)


class _Merge:
    """Merges the slices of a task, which come part by part."""

    def __init__(self, query: Query, schema: T.StructType) -> None:
        self.query, self.schema = query, schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle()
        merger, open_part = SliceMerger(self.query, arrow_schema(self.schema)), None
        for batch in batches:
            for part, slices in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if part != open_part:
                    yield from merger.end()
                    open_part = part
                merger.take(slices)
        yield from merger.end()
