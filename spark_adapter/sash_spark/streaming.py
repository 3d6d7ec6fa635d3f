"""A query over a streaming DataFrame: keyed state in Spark's state store, micro-batches into the columnar engine.

    df ── what the query reads, and a hash bucket of the key ── packed ── group by bucket
       ── applyInPandasWithState or transformWithStateInPandas ── results, packed ── unpacked

A bucket holds many keys, whose streams run together in one :class:`sash.spi.KeyedOperator`; its snapshot is
the bucket's state. A stateful function costs by the call and by the row that it takes or returns, so there are few
calls, and rows go in and out many at a time (see :mod:`sash_spark.packing`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.sql import types as T

from sash import Query
from sash.spi import KeyedOperator
from sash_spark.packing import PACKED, Pack, unpack
from sash_spark.paths import key_column, orders_of, read_columns
from sash_spark.schema import arrow_schema, output_schema
from sash_spark.state import check_state, state_schema, warn_wide
from sash_spark.streaming_buckets import COUNTS, OUTPUT, Bucket
from sash_spark.streaming_parts import Parts, missing
from sash_spark.timers import Clock
from sash_spark.worker import check_python

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["BUCKETS", "aggregate_stream", "plan"]

BUCKETS = 16
"""The number of buckets of keys. Part of the checkpoint: a resumed stream must have as many as when it began."""


def aggregate_stream(
    df: DataFrame,
    query: Query,
    order: str | Sequence[str] | None = None,
    types: Mapping[str, Any] | None = None,
    buckets: int = BUCKETS,
    ttl: Any = None,
    metrics: str = "sash",
    checkpoint: str | None = None,
    state: str = "auto",
) -> DataFrame:
    """The results of ``query`` over a streaming DataFrame, for output mode append (see :func:`sash_spark.aggregate`).

    - ``order``: columns that tell which row of a micro-batch came first. Without it, its rows are taken by time, those
      of equal times as Spark hands them over; without a time it must be given.
    - ``buckets``: how many groups the keys are in, a few for each core; it cannot change while a checkpoint lives.
    - ``ttl``: forget keys without a tuple for so long, in event time, with their open windows.
    - ``checkpoint``: that of the stream, to check here, not when it starts, whether the query fits it.
    - ``state``: "parts", of which only what has changed is written (``transformWithStateInPandas``), or "whole", which
      is written in each micro-batch (``applyInPandasWithState``); by default in parts where Spark can. It cannot change
      while a checkpoint lives.
    - ``metrics``: the name under which the progress of the stream has ``observedMetrics``: rows in and dropped, …
    """
    schema = output_schema(query, df.schema, types)
    orders = orders_of(df, order)
    if any(lane.order is None for lane in query.lanes) and not orders:
        raise ValueError(
            "the rows of a micro-batch have no order of their own: name the column that tells which came first with "
            "order=, such as Kafka's offset, or give the query a time="
        )
    if not isinstance(buckets, int) or buckets < 1:
        raise ValueError(f"buckets must be a whole number of at least 1; got {buckets!r}")
    check_python(df.sparkSession)
    query, clock = Clock.of(df, query, ttl)
    plan = KeyedOperator(query, own_watermark="key").plan  # refuses what cannot run, warns of what is slow
    if checkpoint is not None:
        check_state(df.sparkSession, checkpoint, query)
    keys = [key_column(df, key) for key in query.keys]
    bucket = F.pmod(F.hash(*keys), F.lit(buckets)) if keys else F.lit(0)
    rows = clock.with_watermark(df).select(bucket.alias("bucket"), *read_columns(df, query, orders))
    wire = arrow_schema(T.StructType(rows.schema.fields[1:]))
    packed = rows.mapInArrow(Pack(wire), PACKED).select("*", *clock.select()).groupBy("bucket")
    bucket_worker = Bucket(query, schema, wire, clock)
    state_columns = state_schema(query, buckets)
    reason = _why_whole(df.sparkSession, state)
    if reason is None:
        mode = "None" if clock.time is None else "EventTime"
        output = packed.transformWithStateInPandas(Parts(bucket_worker, state_columns), OUTPUT, "append", mode)
    else:
        warn_wide(plan.slices, reason)
        output = packed.applyInPandasWithState(bucket_worker.function(), OUTPUT, state_columns, "append", clock.timeout)
    observed = output.observe(metrics, *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in COUNTS))
    return unpack(observed, schema, arrow_schema(schema))


def _why_whole(spark: SparkSession, state: str = "auto") -> str | None:
    """Why state is written whole; None: it is kept in parts."""
    if state not in ("auto", "parts", "whole"):
        raise ValueError(f"state must be 'auto', 'parts' or 'whole'; got {state!r}")
    reason = missing(spark)
    if state == "parts" and reason is not None:
        raise ValueError(f"state cannot be kept in parts: {reason}")
    return "state='whole' asks for it" if state == "whole" else reason


def plan(df: DataFrame, query: Query, buckets: int = BUCKETS, state: str = "auto", **_: Any) -> list[str]:
    """How Spark runs the query with these options, in words."""
    keys = f"keys in {buckets} buckets" if query.keys else "one bucket, because there is no key"
    reason = _why_whole(df.sparkSession, state)
    whole = f"whole: a bucket's state is written in each micro-batch; {reason}"
    store = "in parts: what has changed is written in each micro-batch" if reason is None else whole
    return [f"spark      a stream: {keys}", f"store      {store}"]
