"""A query over a batch DataFrame: shuffle by key, sort, and Arrow batches into the columnar engine.

    df ── select what the query reads ── repartition by key ── sort by key, time, order ── mapInArrow ── results

After the sort a worker sees key after key, each in order, in batches of bounded size:
:class:`sash.spi.SortedBatches` takes them from there. Windows in another order (``on=``) need another sort; a union
puts the results together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sash import Query
from sash.spi import SortedBatches, coalesce_batches
from sash_spark.paths import orders_of, read_columns
from sash_spark.schema import arrow_schema, output_schema
from sash_spark.worker import check_python, settle

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["Worker", "aggregate_batch", "rank", "sort_by_key"]

ROWS = 1 << 16
"""The rows taken at a time: enough that a call costs nothing, few enough that they stay in the cache."""


def aggregate_batch(
    df: DataFrame,
    query: Query,
    order: str | Sequence[str] | None = None,
    types: Mapping[str, Any] | None = None,
    partitions: int | None = None,
) -> DataFrame:
    """The results of ``query`` over a batch DataFrame (see :func:`sash_spark.aggregate`).

    ``types`` are the types of your own aggregates, for results whose type cannot be inferred; ``partitions`` is the
    number of tasks that share the keys, if not Spark's default.
    """
    schema = output_schema(query, df.schema, types)
    orders = orders_of(df, order)
    check_python(df.sparkSession)
    results = []
    for lane in query.lanes:
        windows: Any = query.windows if None in lane.names else {name: query.named[name] for name in lane.names}
        final = query.using(windows=windows, watermark_delay=None, allowed_lateness=None)
        results.append(sort_by_key(df, final, orders, partitions).mapInArrow(Worker(final, schema), schema))
    return reduce(lambda a, b: a.unionAll(b), results)


def sort_by_key(df: DataFrame, query: Query, orders: Sequence[str] = (), partitions: int | None = None) -> DataFrame:
    """The columns that a query of one lane reads, as c0, c1, …, with the rows of a key together and in order."""
    lane = query.lanes[0]
    if lane.order is None and not orders:
        raise ValueError(
            "a batch DataFrame has no order of its own: name the column that tells which row came first with order=, "
            "or give the query a time="
        )
    wanted = df.select(*read_columns(df, query, orders))
    ties = wanted.columns[-len(orders) :] if orders else []
    sort = [*(f"c{query.columns.index(name)}" for name in (*query.keys, *query.orders)), *ties]
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


class Worker:
    """Runs a task over its partition. It is pickled, with the query and users' functions."""

    def __init__(self, query: Query, schema: T.StructType, rows: int = ROWS) -> None:
        self.query, self.schema, self.rows = query, schema, rows

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle()
        running = SortedBatches(self.query, arrow_schema(self.schema))
        names = list(self.query.columns or ["c0"])
        for batch in coalesce_batches(batches, self.rows):
            groups = batch.column("g").to_numpy() if self.query.keys else None
            yield from running.take(batch.select(range(len(names))).rename_columns(names), groups)
        yield from running.end()
