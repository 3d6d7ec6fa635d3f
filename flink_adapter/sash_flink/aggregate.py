"""A query over a stream or a table of Flink: two ways in, one set of rows out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyflink.common import Types
from pyflink.datastream import DataStream
from pyflink.java_gateway import get_gateway
from pyflink.table import StreamTableEnvironment, Table
from pyflink.util.java_utils import get_j_env_configuration, to_jarray

from sash import PerformanceWarning, Query
from sash.spi import KeyedOperator, nanoseconds, near
from sash_flink import pipeline
from sash_flink.clock import Clock
from sash_flink.packed import PackedFunction
from sash_flink.pipeline import BYTES, jvm
from sash_flink.records import WindowOperatorFunction
from sash_flink.results import Results, side_outputs
from sash_flink.source import Source, column_type, result_schema

__all__ = ["aggregate", "aggregate_table", "with_watermarks"]


def aggregate(stream: DataStream, query: Query, names: Sequence[str] | None = None, **options: Any) -> Results:
    """The results of ``query`` over a stream, as a stream of named rows.

    The stream's records are rows with named types, or tuples, whose fields ``names`` names. Event time follows the
    stream's own watermarks (:func:`with_watermarks` derives some from the query's time). Options:

    - ``packed``: records cross to Python in batches, many at once (True), or one by one (False), which answers sooner
      and costs some fifty times as much; None chooses: packed.
    - ``latency``: how long a record may wait for others, to be packed with them or to be in one bundle of PyFlink's;
      "100ms" by default. ``max_rows``: how many records are in a batch at most.
    - ``buckets``: the number of groups of keys in the packed way, each with one state, a few for each task. It must
      stay the same for a savepoint to be usable.
    - ``cache``: how many operators a task keeps alive, of keys or buckets; others are read from Flink's state.
    - ``ttl``: forget keys without a tuple for so long, in event time, with their open windows.
    - ``threads``: how many threads of a task slot compute ``lcs`` for all its keys where the plan is PBA; 0: none. By
      default one for each core but one.
    - ``types``: the Arrow types of results that cannot be inferred from the aggregate, by name.
    - ``uid``: the name of the operator in savepoints.

    Costs a few microseconds a record packed, some sixty of PyFlink's own one by one, whatever the window's size.
    """
    return _Job(Source(stream, names), query, _Options.of(options), table=False).run()


def aggregate_table(table: Table, query: Query, t_env: StreamTableEnvironment | None = None, **options: Any) -> Table:
    """The results of ``query`` over a table that is only ever appended to; options as of :func:`aggregate`."""
    env = t_env if t_env is not None else StreamTableEnvironment(table._j_table.getTableEnvironment())
    j_types = get_gateway().jvm.org.apache.flink.table.types.utils.DataTypeUtils
    j_inside = j_types.toInternalDataType(table._j_table.getResolvedSchema().toSourceRowDataType())
    rows = DataStream(env._j_tenv.toDataStream(table._j_table, j_inside))  # as they are: nothing is converted
    results = _Job(Source(rows), query, _Options.of(options), table=True).run()
    return env.from_data_stream(results)


def with_watermarks(
    stream: DataStream, query: Query, names: Sequence[str] | None = None, every_record: bool = False
) -> DataStream:
    """The stream with event time by the query's ``time``: watermarks are ``watermark_delay`` behind the newest record.

    Assigned in the JVM: a timestamp assigner in Python costs as much as a Python operator. A watermark comes every
    ``pipeline.auto-watermark-interval``, or with ``every_record`` that moves it, which leaves little to be packed.
    """
    source = Source(stream, names)
    result_schema(query, source.schema)
    clock = Clock.of(query, source.schema)
    if clock.column is None:
        raise ValueError("the query has no time= that orders a window: there is nothing to make watermarks of")
    (lane,) = [lane for lane in query.lanes if lane.order == clock.column]
    plain = clock.kind == "number" and clock.unit is None  # milliseconds, and so is the delay
    delay = -(-lane.delay // (1 if plain else 10**6))
    strategy = jvm().ColumnWatermarks(source.columns([clock.column]), int(delay), every_record, clock.tick)
    return DataStream(stream._j_data_stream.assignTimestampsAndWatermarks(strategy))


class _Job:
    """A query over a source: the columns that it reads and returns, and the two ways to compute it.

    Refuses what cannot run, and warns of what is slow.
    """

    def __init__(self, source: Source, query: Query, options: _Options, table: bool) -> None:
        self.source, self.query, self.options, self.table = source, query, options, table
        self.results = result_schema(query, source.schema, options.types)
        with warnings.catch_warnings():
            if options.packed is False:
                warnings.simplefilter("ignore", PerformanceWarning)
            KeyedOperator(query)
        self.read = pa.schema([(name, column_type(source.schema, name)) for name in query.columns])
        self.clock = Clock.of(query, self.read)
        ttl = None if options.ttl is None else _milliseconds(options.ttl)
        if ttl is not None and self.clock.column is None:
            raise ValueError("ttl is in event time: the query must have a time= that orders its windows")
        # that of the job, or Flink's own default: state goes with it, so it is the same at any parallelism
        most, parallelism = source.j_env.getMaxParallelism(), source.j_env.getParallelism()
        self.most: int = most if most > 0 else max(128, 1 << (parallelism * 3 // 2).bit_length())
        mode = get_j_env_configuration(source.j_env).toMap().get("execution.runtime-mode", "")
        self.bounded = str(mode).upper() == "BATCH"
        self.work = {"cache": options.cache, "ttl": ttl, "threads": options.threads, "bounded": self.bounded}
        self.rejected = self.read.append(pa.field("reason", pa.string()))
        self.tags = side_outputs(self.read, self.rejected)

    def run(self) -> Results:
        """The stream of results, computed in the way that the options choose."""
        return Results(self._by_record() if self.options.packed is False else self._packed(), self.tags)

    def _packed(self) -> Any:
        """Records cross to Python in batches of buckets of keys."""
        query, read, results, options = self.query, self.read, self.results, self.options
        buckets = options.buckets if query.keys else 1
        pack = jvm().PackOperator(
            self.source.columns(read.names),
            len(query.keys),
            to_jarray(get_gateway().jvm.int, pipeline.bucket_names(buckets, self.most)),
            options.max_rows,
            -1 if self.bounded else _milliseconds(options.latency),
            read.get_field_index(self.clock.column or ""),
            self.clock.tick,
        )
        j_int, j_bytes = Types.INT().get_java_type_info(), BYTES.get_java_type_info()
        j_packed, j_stamped = (Types.ROW([kind, BYTES]).get_java_type_info() for kind in (Types.INT(), Types.LONG()))
        batches = pipeline.transform_in_jvm(self.source.stream._j_data_stream, "sash: pack", j_packed, pack)
        keyed = pipeline.key_by(batches, j_int, j_stamped, self.most)
        settings = {"python.fn-execution.bundle.size": "1000", **options.settings()}
        function = PackedFunction(query, read, results, **self.work)
        computed = pipeline.run_python(keyed, function, j_bytes, settings, self.most)
        if options.uid is not None:
            computed.uid(f"{options.uid}-{buckets}-buckets")
        end = results.field("window_end").type
        timed = pa.types.is_timestamp(end) or pa.types.is_date(end)
        place = results.get_field_index("window_end") if timed else -1
        tags = [None, *self.tags.values()]
        return pipeline.unpack(computed, [results, read, self.rejected], tags, place, self.table)

    def _by_record(self) -> Any:
        """Records cross to Python one by one."""
        query, read, options = self.query, self.read, self.options
        j_read = pipeline.stream_row(read)
        j_key = pipeline.stream_row(pa.schema([read.field(key) for key in query.keys] or [("key", pa.int32())]))
        key_rows = jvm().KeyedRows(self.source.columns(read.names), len(query.keys), self.bounded)
        j_pair = pipeline.row_info(j_key, j_read)
        pairs = pipeline.transform_in_jvm(self.source.stream._j_data_stream, "sash: key", j_pair, key_rows)
        j_fields = [Types.LONG().get_java_type_info(), *(j_read.getTypeAt(i) for i in range(len(read.names)))]
        keyed = pipeline.key_by(pairs, j_key, pipeline.row_info(*j_fields), self.most)
        function = WindowOperatorFunction(query, read, self.results, stamped=True, **self.work)
        j_result = pipeline.stream_row(self.results)
        computed = pipeline.run_python(keyed, function, j_result, options.settings(), self.most)
        if options.uid is not None:
            computed.uid(options.uid)
        for tag in self.tags.values():
            side = computed.getSideOutput(tag.get_java_output_tag())
            pipeline.transform_in_jvm(side, "sash: unread", side.getType(), jvm().DropOperator())
        return computed


@dataclass(frozen=True)
class _Options:
    """The options of :func:`aggregate`."""

    packed: bool | None = None
    latency: Any = "100ms"
    max_rows: int = 8192
    buckets: int = 16
    cache: int = 10_000
    ttl: Any = None
    threads: int | None = None
    types: Mapping[str, pa.DataType] | None = None
    uid: str | None = None

    def __post_init__(self) -> None:
        for name in ("max_rows", "buckets", "cache"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1; got {value!r}")
        if self.threads is not None and (not isinstance(self.threads, int) or self.threads < 0):
            raise ValueError(f"threads must be a whole number, 0 for none; got {self.threads!r}")

    @staticmethod
    def of(given: Mapping[str, Any]) -> _Options:
        """The options that a user gave by their names."""
        known = [field.name for field in fields(_Options)]
        for name in given:
            if name not in known:
                there = ", ".join(map(repr, known))
                raise TypeError(f"there is no option {name!r}{near(name, known) or f'; there are {there}'}")
        return _Options(**given)

    def settings(self) -> dict[str, str]:
        """PyFlink's settings: bundles as long as the latency allows, as many cached states as operators are alive."""
        return {
            "python.fn-execution.bundle.time": str(_milliseconds(self.latency)),
            "python.state.cache-size": str(self.cache),
        }


def _milliseconds(duration: Any) -> int:
    """A duration in milliseconds, rounded up, at least one."""
    return int(max(-(-nanoseconds(duration) // 10**6), 1))
