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

from sash import Query, arrival_time
from sash.spi import KeyedOperator
from sash_spark.initial import bucket_of, initial_states
from sash_spark.packing import PACKED, Pack, unpack
from sash_spark.paths import key_column, orders_of, read_columns
from sash_spark.schema import arrow_schema, output_schema
from sash_spark.state import check_state, state_schema, warn_wide
from sash_spark.streaming_buckets import COUNTS, OUTPUT, Bucket
from sash_spark.streaming_parts import TIME, TIMED_OUTPUT, Parts, missing
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
    initial: Any = None,
    mode: str = "append",
    salted: bool | int | None = None,
    event_time: bool = False,
) -> DataFrame:
    """The results of ``query`` over a streaming DataFrame (see :func:`sash_spark.aggregate`).

    - ``order``: columns that tell which row of a micro-batch came first. Without it, its rows are taken by time, those
      of equal times as Spark hands them over; without a time it must be given.
    - ``buckets``: how many groups the keys are in, a few for each core; it cannot change while a checkpoint lives.
    - ``ttl``: forget keys without a tuple for so long, in event time, with their open windows.
    - ``checkpoint``: that of the stream, to check here, not when it starts, whether the query fits it.
    - ``state``: "parts", of which only what has changed is written (``transformWithStateInPandas``), or "whole", which
      is written in each micro-batch (``applyInPandasWithState``); by default in parts where Spark can. It cannot change
      while a checkpoint lives.
    - ``initial``: what the stream starts from, as if it had gone on from there: a snapshot of an operator
      (:meth:`sash.Operator.snapshot`), or the rows before it as a batch DataFrame, whose job runs here. It is held by
      the driver, and not looked at again once a checkpoint is there. Windows that were complete are not emitted again.
    - ``mode``: the output mode that the stream is to be written in: "append", or "update" for sinks that replace rows
      by key, window and bounds: then each micro-batch also has the open windows of the keys that had rows, and the last
      result alone of those that were corrected. Not for windows whose bounds depend on tuples, such as sessions.
    - ``salted``: for batches; here it is refused.
    - ``event_time``: have ``window_end`` be a column of event time, with the stream's watermark, so that ``F.window``
      or another stateful operator can follow. Where state is in parts, for windows that end at times; not with
      ``allowed_lateness``, since corrections would be late there, and not in output mode update.
    - ``metrics``: the name under which the progress of the stream has ``observedMetrics``: rows in and dropped, …
    """
    if initial is not None and query.time == arrival_time:
        raise ValueError("initial= cannot be used with the time of arrival: there was none before")
    if query.time == arrival_time:
        df = df.withColumn(arrival_time, F.current_timestamp())
    schema = output_schema(query, df.schema, types)
    orders = orders_of(df, order)
    if any(lane.order is None for lane in query.lanes) and not orders:
        raise ValueError(
            "the rows of a micro-batch have no order of their own: name the column that tells which came first with "
            "order=, such as Kafka's offset, or give the query a time="
        )
    if not isinstance(buckets, int) or buckets < 1:
        raise ValueError(f"buckets must be a whole number of at least 1; got {buckets!r}")
    if salted:
        raise ValueError(
            "salted= is for batches: a stream follows the watermark of each key, so which row is late only the "
            "bucket knows that its key is in; leave salted= out, or run the query on Flink"
        )
    if mode not in ("append", "update"):
        raise ValueError(f"mode must be 'append' or 'update'; got {mode!r}")
    check_python(df.sparkSession)
    query, clock = Clock.of(df, query, ttl)
    op = KeyedOperator(query, own_watermark="key")  # refuses what cannot run, warns of what is slow
    if mode == "update":
        op.check_updates()
    if checkpoint is not None:
        check_state(df.sparkSession, checkpoint, query)
    keys = [key_column(df, key) for key in query.keys]
    rows = clock.with_watermark(df).select(bucket_of(keys, buckets).alias("bucket"), *read_columns(df, query, orders))
    wire = arrow_schema(T.StructType(rows.schema.fields[1:]))
    states = {} if initial is None else initial_states(df, query, initial, orders, buckets)
    pack = Pack(wire, called=sorted(states))
    packed = rows.mapInArrow(pack, PACKED).select("*", *clock.select()).groupBy("bucket")
    bucket_worker = Bucket(query, schema, wire, clock, states, updates=mode == "update")
    state_columns = state_schema(query, buckets)
    reason = _why_whole(df.sparkSession, state, clock.arrival)
    if event_time:
        _check_event_time(query, schema, clock, mode, reason)
    if reason is None:
        times = "None" if clock.time is None else "EventTime"
        processor = Parts(bucket_worker, state_columns, event_time)
        columns, later = (TIMED_OUTPUT, TIME) if event_time else (OUTPUT, "")
        output = packed.transformWithStateInPandas(processor, columns, mode, times, eventTimeColumnName=later)
    else:
        warn_wide(op.plan.slices, reason)
        output = packed.applyInPandasWithState(bucket_worker.function(), OUTPUT, state_columns, mode, clock.timeout)
    observed = output.observe(metrics, *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in COUNTS))
    results = unpack(observed, schema, arrow_schema(schema))
    return clock.mark_ends(results) if event_time else results


def _check_event_time(query: Query, schema: T.StructType, clock: Clock, mode: str, whole: str | None) -> None:
    """Refuse what cannot have the ends of its windows as event time."""
    if whole is not None:
        raise ValueError(f"event_time= needs state in parts: {whole}")
    if clock.time is None or not isinstance(schema["window_end"].dataType, T.TimestampType):
        raise ValueError("event_time= is for windows that end at timestamps of the query's time, with a zone")
    if query.revises or mode == "update":
        raise ValueError("event_time= cannot be used with corrections or updates: they would be late for what follows")


def _why_whole(spark: SparkSession, state: str = "auto", arrival: bool = False) -> str | None:
    """Why state is written whole; None: it is kept in parts."""
    if state not in ("auto", "parts", "whole"):
        raise ValueError(f"state must be 'auto', 'parts' or 'whole'; got {state!r}")
    reason = "time is that of arrival" if arrival else missing(spark)
    if state == "parts" and reason is not None:
        raise ValueError(f"state cannot be kept in parts: {reason}")
    return "state='whole' asks for it" if state == "whole" else reason


def plan(df: DataFrame, query: Query, buckets: int = BUCKETS, state: str = "auto", **_: Any) -> list[str]:
    """How Spark runs the query with these options, in words."""
    keys = f"keys in {buckets} buckets" if query.keys else "one bucket, because there is no key"
    reason = _why_whole(df.sparkSession, state, query.time == arrival_time)
    whole = f"whole: a bucket's state is written in each micro-batch; {reason}"
    store = "in parts: what has changed is written in each micro-batch" if reason is None else whole
    return [f"spark      a stream: {keys}", f"store      {store}"]
