"""The rows of a batch in the order in which a query takes them: key after key, each by time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as T

from sash import Query
from sash_spark.paths import column, key_column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["in_order", "rank"]


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
    read = [(key_column if name in query.keys else column)(df, name).alias(short) for name, short in named.items()]
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
