"""A query over a stream or a table of Flink."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyflink.datastream import DataStream
from pyflink.java_gateway import get_gateway
from pyflink.table import StreamTableEnvironment, Table
from pyflink.util.java_utils import get_j_env_configuration

from sash import PerformanceWarning, Query
from sash.runtime.keyed import KeyedOperator
from sash_flink.clock import Clock
from sash_flink.jar import jvm
from sash_flink.options import Options, milliseconds
from sash_flink.results import Results
from sash_flink.schema import checked, find
from sash_flink.source import Source
from sash_flink.ways import Job, by_record, packed

__all__ = ["aggregate", "aggregate_table", "with_watermarks"]

_MAX_PARALLELISM = 128


def aggregate(stream: DataStream, query: Query, names: Sequence[str] | None = None, **options: Any) -> Results:
    """The results of ``query`` over a stream, a stream of named rows.

    The stream's records are rows with named types, or tuples, whose fields ``names`` names. Event time is that of the
    stream's own watermarks (:func:`with_watermarks` makes some of the query's time). Options:

    - ``packed``: records cross to Python in batches, many at once (True), or one by one (False), which answers sooner
      and costs some fifty times as much; None chooses: packed.
    - ``latency``: how long a record may wait for others, to be packed with them or to be in one bundle of PyFlink's;
      "100ms" by default. ``max_rows``: how many records are in a batch at most.
    - ``buckets``: the packed way has keys in so many groups, each with one state, a few for each task. It cannot change
      while a savepoint is to be used.
    - ``cache``: how many operators a task keeps alive, of keys or buckets; others are read from Flink's state.
    - ``ttl``: forget keys without a tuple for so long, in event time; open windows and all.
    - ``threads``: how many threads of a task slot compute ``lcs`` for all its keys where the plan is PBA; 0: none. By
      default one for each core but one.
    - ``types``: the Arrow types of results that cannot be told from the aggregate, by name.
    - ``uid``: what the operator is called in savepoints.

    Costs a few microseconds a record packed, some sixty of PyFlink's own one by one, whatever the window's size.
    """
    return _aggregated(Source(stream, names), query, Options.of(options), table=False)


def aggregate_table(table: Table, query: Query, t_env: StreamTableEnvironment | None = None, **options: Any) -> Table:
    """The results of ``query`` over a table that is only ever appended to; options as of :func:`aggregate`."""
    env = t_env if t_env is not None else StreamTableEnvironment(table._j_table.getTableEnvironment())
    j_types = get_gateway().jvm.org.apache.flink.table.types.utils.DataTypeUtils
    j_inside = j_types.toInternalDataType(table._j_table.getResolvedSchema().toSourceRowDataType())
    rows = DataStream(env._j_tenv.toDataStream(table._j_table, j_inside))  # as they are: nothing is converted
    results = _aggregated(Source(rows), query, Options.of(options), table=True)
    return env.from_data_stream(results)


def with_watermarks(
    stream: DataStream, query: Query, names: Sequence[str] | None = None, every_record: bool = False
) -> DataStream:
    """The stream with event time by the query's ``time``: watermarks are ``watermark_delay`` behind the newest record.

    Made in the JVM: a timestamp assigner in Python costs as much as a Python operator. A watermark comes every
    ``pipeline.auto-watermark-interval``, or with ``every_record`` that moves it, which leaves little to be packed.
    """
    source = Source(stream, names)
    checked(query, source.schema)
    clock = Clock.of(query, source.schema)
    if clock.column is None:
        raise ValueError("the query has no time= that orders a window: there is nothing to make watermarks of")
    (lane,) = [lane for lane in query.lanes if lane.order == clock.column]
    plain = clock.kind == "number" and clock.unit is None  # milliseconds, and so is the delay
    delay = -(-lane.delay // (1 if plain else 10**6))
    strategy = jvm().ColumnWatermarks(source.columns([clock.column]), int(delay), every_record, clock.tick)
    return DataStream(stream._j_data_stream.assignTimestampsAndWatermarks(strategy))


def _aggregated(source: Source, query: Query, options: Options, table: bool) -> Results:
    results = checked(query, source.schema, options.types)
    bounded = _is_batch(source.j_env)
    with warnings.catch_warnings():
        if options.packed is False:
            warnings.simplefilter("ignore", PerformanceWarning)
        KeyedOperator(query)  # what cannot be run is refused here, what is slow is said
    read = pa.schema([(name, find(source.schema, name)) for name in query.columns])
    ttl = None if options.ttl is None else milliseconds(options.ttl)
    if ttl is not None and Clock.of(query, read).column is None:
        raise ValueError("ttl is in event time: the query must have a time= that orders its windows")
    most = _max_parallelism(source.j_env)
    work = {"cache": options.cache, "ttl": ttl, "threads": options.threads, "bounded": bounded}
    job = Job(source, query, read, results, options, work, most, table)
    return by_record(job) if options.packed is False else packed(job)


def _is_batch(j_env: Any) -> bool:
    return str(get_j_env_configuration(j_env).toMap().get("execution.runtime-mode", "")).upper() == "BATCH"


def _max_parallelism(j_env: Any) -> int:
    """That of the job, or Flink's own default: state goes with it, so it is the same at any parallelism."""
    given: int = j_env.getMaxParallelism()
    parallelism: int = j_env.getParallelism()
    return given if given > 0 else max(_MAX_PARALLELISM, 1 << (parallelism * 3 // 2).bit_length())
