"""A query over a batch DataFrame: shuffle by key, sort, and Arrow batches into the columnar engine.

    df ── select what the query reads ── repartition by key ── sort by key, time, order ── mapInArrow ── results

After the sort (see :func:`rank`) a worker sees key after key, each in order, in batches of bounded size:
:mod:`sash.sortedkeys` takes them from there. Windows in another order (``on=``) need another sort; a union puts the
results together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sash import Query
from sash.frames import columns_of
from sash.output import Outcome
from sash.sortedkeys import Numbering, SortedKeys
from sash_spark.columns import Columns
from sash_spark.schema import checked, find, path_of
from sash_spark.worker import check_python, keep_import_caches

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["Running", "Worker", "aggregate_batch", "column", "in_order", "quoted"]

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


def in_order(df: DataFrame, query: Query, orders: Sequence[str] = (), partitions: int | None = None) -> DataFrame:
    """The columns that a query of one lane reads, the rows of a key together and in order.

    They are named c0, c1, …: mapInArrow takes dots and quotes in names for paths. :class:`Worker` names them again.
    """
    lane = query.lanes[0]
    if lane.order is None and not orders:
        raise ValueError(
            "a batch DataFrame has no order of its own: name the column that tells which row came first with order=, "
            "or give the query a time="
        )
    named = {name: f"c{i}" for i, name in enumerate(query.columns)}
    read = [(_key if name in query.keys else column)(df, name).alias(short) for name, short in named.items()]
    read = read or [F.lit(True).alias("c0")]  # a row without columns is none
    ties = [f"o{i}" for i in range(len(orders))]
    wanted = df.select(*read, *(column(df, name).alias(short) for name, short in zip(orders, ties, strict=True)))
    sort = [*(named[name] for name in (*query.keys, *query.orders)), *ties]
    keys = sort[: len(query.keys)]
    if not keys:
        return wanted.repartition(1).sortWithinPartitions(*sort).drop(*ties)
    spread = wanted.repartition(*keys) if partitions is None else wanted.repartition(partitions, *keys)
    ranked = spread.withColumn("rank", rank(wanted, keys, sort[len(keys)]))
    in_groups = ranked.withColumn("g", F.shiftrightunsigned("rank", _BITS).cast("int"))
    return in_groups.sortWithinPartitions("rank", *sort).drop(*ties, "rank")


_BITS = 44


def rank(df: DataFrame, keys: Sequence[str], order: str) -> Column:
    """A number that sorts rows by a hash of their key and, as far as its bits go, by ``order``.

    A sort compares the first 64 bits of its first column in place, and all else by looking rows up, which is slow. With
    the key first it would do so at nearly every step. Keys of one hash are a group: they come mixed, each in order.
    """
    group = F.shiftleft(F.xxhash64(*keys), _BITS)
    least, most = F.lit(-(2 ** (_BITS - 1))), F.lit(2 ** (_BITS - 1) - 1)  # beyond, rows are compared by the column
    match df.schema[order].dataType:
        case T.TimestampType():
            number = F.unix_millis(order)
        case T.TimestampNTZType():
            clock = F.hour(order) * 3600 + F.minute(order) * 60 + F.second(order)
            number = F.unix_date(F.to_date(order)).cast("bigint") * 86400 + clock
        case T.DateType():
            number = F.unix_date(order).cast("bigint")
        case T.FloatType() | T.DoubleType():
            floats = F.col(order).cast("double") * 1024
            number = F.greatest(F.least(floats, most.cast("double")), least.cast("double")).cast("bigint")
        case T.ByteType() | T.ShortType() | T.IntegerType() | T.LongType():
            number = F.col(order).cast("bigint")
        case _:
            return group
    inside = F.greatest(F.least(F.coalesce(number, least), most), least) - least
    return group.bitwiseOR(inside)


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def column(df: DataFrame, name: str) -> Column:
    """A column, or a field within structures."""
    return F.col(".".join(map(quoted, path_of(df.schema, name))))


def _key(df: DataFrame, name: str) -> Column:
    """A key's column, in which the two zeros of floats are one: a sort would mix them, a shuffle might part them."""
    found, kind = column(df, name), find(df.schema, name).dataType
    return found + F.lit(0.0).cast(kind) if isinstance(kind, T.FloatType | T.DoubleType) else found


class Worker:
    """What a task does with its partition. It is pickled: the query, with users' functions, travels in it."""

    def __init__(self, query: Query, schema: T.StructType, rows: int = ROWS) -> None:
        self.query, self.schema, self.rows = query, schema, rows

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        keep_import_caches()
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
