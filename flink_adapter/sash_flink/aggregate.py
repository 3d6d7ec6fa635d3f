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
from pyflink.table import ChangelogMode, Schema, StreamTableEnvironment, Table
from pyflink.util.java_utils import get_j_env_configuration, to_jarray

from sash import PerformanceWarning, Query, arrival_time
from sash.spi import CHANGE, KeyedOperator, nanoseconds, near, reduces_first, why_one_phase_streams
from sash_flink import pipeline
from sash_flink.clock import Clock
from sash_flink.packed import PackedFunction
from sash_flink.pipeline import BYTES, jvm
from sash_flink.records import WindowOperatorFunction
from sash_flink.results import Results, side_outputs
from sash_flink.source import Source, column_type, result_schema
from sash_flink.two_phases import ReduceFunction, ReduceStreamFunction, SlicesFunction, SliceStreamFunction
from sash_flink.types import timestamp

__all__ = ["aggregate", "aggregate_table", "with_watermarks"]

_REDUCED = 1 << 16
"""The least number of records that are reduced to slices at a time."""


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
    - ``salted``: reduce records to slices before they are exchanged by key, so that a key with most of the records
      does not keep one task busy. True: in the tasks that the stream has; a number: records are first dealt to so many.
      For commutative aggregates over windows on time, in the batch runtime mode over sessions too; else an error. By
      default so in that mode without a key, where it can be.
    - ``types``: the Arrow types of results that cannot be inferred from the aggregate, by name.
    - ``uid``: the name of the operator in savepoints.

    Costs a few microseconds a record packed, some sixty of PyFlink's own one by one, whatever the window's size.
    """
    return _Job(Source(stream, names), query, _Options.of(options), table=False).run()


def aggregate_table(
    table: Table, query: Query, t_env: StreamTableEnvironment | None = None, *, changelog: bool = False, **options: Any
) -> Table:
    """The results of ``query`` over a table that is only ever appended to; options as of :func:`aggregate`.

    With ``changelog`` corrections are changes of the table that is returned, whose primary key is the query's key, the
    window and its bounds: a row is updated by its later revisions, and sessions that became one are deleted. Columns
    of the key must be NOT NULL then. Not for windows of which a correction may have other bounds, sessions aside.
    """
    env = t_env if t_env is not None else StreamTableEnvironment(table._j_table.getTableEnvironment())
    j_types = get_gateway().jvm.org.apache.flink.table.types.utils.DataTypeUtils
    j_inside = j_types.toInternalDataType(table._j_table.getResolvedSchema().toSourceRowDataType())
    rows = DataStream(env._j_tenv.toDataStream(table._j_table, j_inside))  # as they are: nothing is converted
    job = _Job(Source(rows), query, _Options.of(options), table=True, changelog=changelog)
    if not changelog:
        return env.from_data_stream(job.run())
    columns = table.get_schema()
    nullable = [key for key in query.keys if columns.get_field_data_type(key)._nullable]
    if nullable:
        names = ", ".join(map(repr, nullable))
        raise ValueError(f"the key is the primary key of a changelog: declare {names} NOT NULL, or COALESCE nulls")
    return env.from_changelog_stream(job.run(), job.primary_key(), ChangelogMode.upsert())


def with_watermarks(
    stream: DataStream, query: Query, names: Sequence[str] | None = None, every_record: bool = False
) -> DataStream:
    """The stream with event time by the query's ``time``: watermarks are ``watermark_delay`` behind the newest record.

    Assigned in the JVM: a timestamp assigner in Python costs as much as a Python operator. A watermark comes every
    ``pipeline.auto-watermark-interval``, or with ``every_record`` that moves it, which leaves little to be packed.
    """
    source = Source(stream, names)
    if query.time == arrival_time:
        raise ValueError("time is that of arrival: there is nothing to make watermarks of")
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

    def __init__(self, source: Source, query: Query, options: _Options, table: bool, changelog: bool = False) -> None:
        self.source, self.query, self.options, self.table, self.changelog = source, query, options, table, changelog
        if changelog and options.packed is False:
            raise ValueError("a changelog is made of packed records: leave packed= out")
        arrival = [pa.field(arrival_time, timestamp(3, True))] if query.time == arrival_time else []
        self.results = result_schema(query, pa.schema([*source.schema, *arrival]), options.types)
        with warnings.catch_warnings():
            if options.packed is False:
                warnings.simplefilter("ignore", PerformanceWarning)
            KeyedOperator(query, deletes=changelog)
        if changelog:
            named = {*query.keys, "window", "window_start", "window_end"}
            self.results = pa.schema([field.with_nullable(field.name not in named) for field in self.results])
        columns = [name for name in query.columns if name != arrival_time or not arrival]
        self.read = pa.schema([(name, column_type(source.schema, name)) for name in columns])
        self.clock = Clock.of(query, self.read)
        ttl = None if options.ttl is None else _milliseconds(options.ttl)
        if ttl is not None and self.clock.column is None:
            raise ValueError("ttl is in event time: the query must have a time= that orders its windows")
        # that of the job, or Flink's own default: state goes with it, so it is the same at any parallelism
        most, parallelism = source.j_env.getMaxParallelism(), source.j_env.getParallelism()
        self.most: int = most if most > 0 else max(128, 1 << (parallelism * 3 // 2).bit_length())
        mode = get_j_env_configuration(source.j_env).toMap().get("execution.runtime-mode", "")
        self.bounded = str(mode).upper() == "BATCH"
        if self.bounded and arrival:
            raise ValueError("the records of a job in batch mode have no time of arrival: name a column with time=")
        if self.bounded and query.early is not None:
            self.query = query.using(early=0)
        self.reduces = self._reduces_first()
        self.work = {"cache": options.cache, "ttl": ttl, "threads": options.threads, "bounded": self.bounded}
        self.rejected = self.read.append(pa.field("reason", pa.string()))
        self.tags = side_outputs(self.read, self.rejected)

    def _reduces_first(self) -> bool:
        """Whether records become slices before they are exchanged; refuses what is asked for and cannot be."""
        salted = self.options.salted
        if self.bounded and self.options.packed is not False and len(self.query.lanes) == 1:
            final = self.query.using(watermark_delay=None, allowed_lateness=None, early=None)
            if reduces_first(final, salted):
                self.query = final
                return True
            return False
        if not salted:
            return False
        reduces_first(self.query.using(allowed_lateness=None), salted)  # refuses what is no number of tasks
        if self.options.packed is False or self.bounded:
            raise ValueError("salted= is for packed records, with windows in one order")
        if self.options.ttl is not None or self.changelog:
            raise ValueError("salted= in a stream goes with neither ttl= nor changelog=")
        if (reason := why_one_phase_streams(self.query)) is not None:
            raise ValueError(f"salted= cannot be used in a stream here: {reason}")
        return True

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
            max(options.max_rows, _REDUCED) if self.reduces else options.max_rows,
            -1 if self.bounded else _milliseconds(options.latency),
            read.get_field_index(self.clock.column or ""),
            self.clock.tick,
        )
        j_int, j_bytes = Types.INT().get_java_type_info(), BYTES.get_java_type_info()
        j_packed, j_stamped = (Types.ROW([kind, BYTES]).get_java_type_info() for kind in (Types.INT(), Types.LONG()))
        batches = pipeline.transform_in_jvm(self._dealt(), "sash: pack", j_packed, pack)
        uid = None if options.uid is None else f"{options.uid}-{buckets}-buckets"
        if self.reduces:
            batches = self._reduced(batches, pipeline.row_info(j_int, j_stamped), uid)
        keyed = pipeline.key_by(batches, j_int, j_stamped, self.most, uid)
        settings = {"python.fn-execution.bundle.size": "1000", **options.settings()}
        if self.changelog:
            results = results.append(pa.field(CHANGE, pa.int8()))
        merging = SlicesFunction if self.bounded else SliceStreamFunction
        kind = merging if self.reduces else PackedFunction
        function = kind(query, read, results, changelog=self.changelog, **self.work)
        computed = pipeline.run_python(keyed, function, j_bytes, settings, self.most)
        if uid is not None:
            computed.uid(uid)
        end = results.field("window_end").type
        timed = pa.types.is_timestamp(end) or pa.types.is_date(end)
        place = results.get_field_index("window_end") if timed else -1
        tags = [None, *self.tags.values()]
        return pipeline.unpack(computed, [results, read, self.rejected], tags, place, self.table, self.changelog)

    def _reduced(self, batches: Any, j_stamped: Any, uid: str | None) -> Any:
        """The slices of batches; those of a stream are first stamped with the watermark of their task."""
        function: ReduceFunction = ReduceFunction(self.query, self.read)
        if not self.bounded:
            batches = pipeline.transform_in_jvm(batches, "sash: watermark", j_stamped, jvm().StampOperator())
            if uid is not None:
                batches.uid(f"{uid}-slices-watermark")
            function = ReduceStreamFunction(self.query, self.read, self.clock)
        reduced = DataStream(batches).flat_map(function, Types.ROW([Types.INT(), BYTES]))
        return reduced.name("sash: slices")._j_data_stream

    def _dealt(self) -> Any:
        """The stream, dealt to as many tasks as ``salted`` says."""
        j_stream, salted = self.source.stream._j_data_stream, self.options.salted
        if not self.reduces or salted is None or isinstance(salted, bool):
            return j_stream
        return pipeline.deal(j_stream, salted)

    def primary_key(self) -> Schema:
        """The columns that name a window of a key: what a row of a changelog replaces a row by."""
        names = [field.name for field in self.results if not field.nullable]
        return Schema.new_builder().primary_key(*names).build()

    def _by_record(self) -> Any:
        """Records cross to Python one by one."""
        query, read, options = self.query, self.read, self.options
        j_read = pipeline.stream_row(read)
        j_key = pipeline.stream_row(pa.schema([read.field(key) for key in query.keys] or [("key", pa.int32())]))
        key_rows = jvm().KeyedRows(self.source.columns(read.names), len(query.keys), self.bounded)
        j_pair = pipeline.row_info(j_key, j_read)
        pairs = pipeline.transform_in_jvm(self.source.stream._j_data_stream, "sash: key", j_pair, key_rows)
        j_fields = [Types.LONG().get_java_type_info(), *(j_read.getTypeAt(i) for i in range(len(read.names)))]
        keyed = pipeline.key_by(pairs, j_key, pipeline.row_info(*j_fields), self.most, options.uid)
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
    salted: bool | int | None = None

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
