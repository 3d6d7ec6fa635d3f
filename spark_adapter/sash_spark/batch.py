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

from sash import Query, arrival_time
from sash.spi import SortedBatches, coalesce_batches, reduces_first
from sash_spark.paths import orders_of, read_columns
from sash_spark.schema import arrow_schema, output_schema
from sash_spark.two_phases import aggregate_slices
from sash_spark.worker import check_python, settle

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["Worker", "aggregate_batch", "plan", "rank", "sort_by_key"]

ROWS = 1 << 16
"""The rows taken at a time: enough that a call costs nothing, few enough that they stay in the cache."""


def aggregate_batch(
    df: DataFrame,
    query: Query,
    order: str | Sequence[str] | None = None,
    types: Mapping[str, Any] | None = None,
    partitions: int | None = None,
    salted: bool | int | None = None,
) -> DataFrame:
    """The results of ``query`` over a batch DataFrame (see :func:`sash_spark.aggregate`).

    - ``types``: the types of your own aggregates, for results whose type cannot be inferred.
    - ``partitions``: the number of tasks that share the keys, if not Spark's default.
    - ``salted``: reduce rows to slices where they are, and bring slices together instead of rows, so that a key with
      most of the rows does not take one task most of the time. True: in the partitions that ``df`` has; a number: the
      rows are first dealt to so many tasks. For aggregates that are commutative, over windows on time and sessions;
      else an error. By default so without a key, where it can be.
    """
    if query.time == arrival_time:
        raise ValueError("the rows of a batch DataFrame have no time of arrival: name a column with time=")
    schema = output_schema(query, df.schema, types)
    orders = orders_of(df, order)
    check_python(df.sparkSession)
    in_two_phases = reduces_first(_final(query), salted)
    results = []
    for lane in query.lanes:
        windows: Any = query.windows if None in lane.names else {name: query.named[name] for name in lane.names}
        final = _final(query, windows=windows)
        if in_two_phases:
            results.append(aggregate_slices(df, final, schema, salted, partitions))
        else:
            results.append(sort_by_key(df, final, orders, partitions).mapInArrow(Worker(final, schema), schema))
    return reduce(lambda a, b: a.unionAll(b), results)


def _final(query: Query, **changes: Any) -> Query:
    """The query over rows behind which none come: nothing is late."""
    return query.using(watermark_delay=None, allowed_lateness=None, early=None, **changes)


def plan(query: Query, salted: bool | int | None = None, **_: Any) -> list[str]:
    """How Spark runs the query with these options, in words."""
    if reduces_first(_final(query), salted):
        merged = f"merged by {', '.join(query.keys)}" if query.keys else "merged in one task"
        dealt = "" if salted is None or isinstance(salted, bool) else f", dealt to {salted} tasks,"
        how = f"rows{dealt} are reduced to slices in their tasks; slices are {merged}"
        return [f"spark      a batch in two phases: {how}"]
    by = f"by {', '.join(query.keys)}" if query.keys else "into one task, because the query has no key"
    often = f", {len(query.lanes)} times" if len(query.lanes) > 1 else ""
    return [f"spark      a batch: shuffled {by} and sorted{often}; Arrow batches to Python workers"]


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
