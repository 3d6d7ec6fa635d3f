"""A query over a batch DataFrame: shuffle by key, sort, and Arrow batches into the columnar engine.

    df ── select what the query reads ── repartition by key ── sort by key, time, order ── mapInArrow ── results

After the sort (see :mod:`sash_spark.sorting`) a worker sees key after key, each in order, in batches of bounded size:
:mod:`sash.runtime.sorted_keys` takes them from there. Windows in another order (``on=``) need another sort; a union
puts the results together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import types as T

from sash import Query
from sash.engine.results import Outcome
from sash.frames import columns_of
from sash.runtime.sorted_keys import Numbering, SortedKeys
from sash_spark.columns import Columns
from sash_spark.paths import find
from sash_spark.schema import checked
from sash_spark.sorting import in_order
from sash_spark.worker import check_python, settle

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Running", "Worker", "aggregate_batch", "gathered"]

ROWS = 1 << 16
"""How many rows are taken at a time: enough that a call costs nothing, few enough that they stay in the cache."""


def aggregate_batch(
    df: DataFrame,
    query: Query,
    order: str | Sequence[str] | None = None,
    types: Mapping[str, Any] | None = None,
    partitions: int | None = None,
) -> DataFrame:
    """The results of ``query`` over a batch DataFrame (see :func:`sash_spark.aggregate`).

    ``types`` tells the types of aggregates of your own, where two values of its columns do not; ``partitions`` how many
    tasks share the keys, if not as many as Spark is set to.
    """
    schema = checked(query, df.schema, types)
    orders = [order] if isinstance(order, str) else list(order or ())
    for name in orders:
        find(df.schema, name)
    check_python(df.sparkSession)
    lanes = [query.using(windows=_windows(query, lane.names), **_FINAL) for lane in query.lanes]
    return reduce(
        lambda a, b: a.unionAll(b),
        (in_order(df, lane, orders, partitions).mapInArrow(Worker(lane, schema), schema) for lane in lanes),
    )


_FINAL: dict[str, Any] = {"watermark_delay": None, "allowed_lateness": None}


def _windows(query: Query, names: Sequence[str | None]) -> Any:
    return query.windows if None in names else {name: query.named[name] for name in names}


class Worker:
    """What a task does with its partition. It is pickled: the query, with users' functions, travels in it."""

    def __init__(self, query: Query, schema: T.StructType, rows: int = ROWS) -> None:
        self.query, self.schema, self.rows = query, schema, rows

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle()
        running = Running(self.query, self.schema)
        names = list(self.query.columns or ["c0"])
        for batch in gathered(batches, self.rows):
            groups = batch.column("g").to_numpy() if self.query.keys else None
            yield from running.take(batch.select(range(len(names))).rename_columns(names), groups)
        yield from running.end()


class Running:
    """Batches of sorted rows in, batches of results out."""

    def __init__(self, query: Query, schema: T.StructType) -> None:
        self._query, self._keys = query, list(query.keys)
        self._columns, self._engine = Columns(query, schema), SortedKeys(query)
        self._numbering = Numbering(self._keys)
        self._open: pa.RecordBatch | None = None

    def take(self, batch: pa.RecordBatch, groups: Any = None) -> Iterator[pa.RecordBatch]:
        """The results that more rows bring; they are sorted by key, or by ``groups`` of keys."""
        keys = batch.select(self._keys)
        frame = columns_of(batch, self._query.columns)
        codes, new, starts, left = self._numbering.of(frame, groups)
        begun = keys.take(pa.array(new, pa.int64()))
        known = begun if self._open is None else _joined([self._open, begun])
        yield from self._made(self._engine.process(frame, codes, starts), known)
        self._open = known.slice(left)

    def end(self) -> Iterator[pa.RecordBatch]:
        """The results that are left when no row comes any more."""
        if self._open is not None:
            yield from self._made(self._engine.close(), self._open)

    def _made(self, outcomes: Iterator[Outcome], keys: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        return (self._columns.batch(outcome, keys) for outcome in outcomes if len(outcome))


def gathered(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of at least ``rows``, but for the last: never more than that and one batch are held."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(map(len, held)) >= rows:
            yield _joined(held)
            held = []
    if any(map(len, held)):
        yield _joined(held)


def _joined(held: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(held) == 1 or not held[0].num_columns:
        return held[0]
    (whole,) = pa.Table.from_batches(held).combine_chunks().to_batches()
    return whole
