"""The two ways in, one set of rows out: how a query becomes operators of Flink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyflink.common import Types
from pyflink.java_gateway import get_gateway
from pyflink.util.java_utils import to_jarray

from sash import Query
from sash_flink import pipeline
from sash_flink.clock import Clock
from sash_flink.jar import jvm
from sash_flink.options import Options, milliseconds
from sash_flink.packed import PackedFunction
from sash_flink.pipeline import BYTES
from sash_flink.records import WindowOperatorFunction
from sash_flink.results import Results, side_outputs
from sash_flink.source import Source

__all__ = ["Job", "by_record", "packed"]


@dataclass(frozen=True)
class Job:
    """What either way is given: a query over a source, the columns that it reads and gives, and how it is to run.

    ``work`` are the options of functions, ``most`` is the largest parallelism; ``table``: results become a table.
    """

    source: Source
    query: Query
    read: pa.Schema
    results: pa.Schema
    options: Options
    work: dict[str, Any]
    most: int
    table: bool


def packed(job: Job) -> Results:
    """Records cross to Python in batches of buckets of keys."""
    source, query, read, results = job.source, job.query, job.read, job.results
    options, work, most = job.options, job.work, job.most
    latency = milliseconds(options.latency)
    buckets = options.buckets if query.keys else 1
    gateway = get_gateway()
    names = to_jarray(gateway.jvm.int, pipeline.bucket_names(buckets, most))
    clock = Clock.of(query, read)
    pack = jvm().PackOperator(
        source.columns(read.names),
        len(query.keys),
        names,
        options.max_rows,
        -1 if work["bounded"] else latency,
        read.get_field_index(clock.column or ""),
        clock.tick,
    )
    j_int, j_bytes = Types.INT().get_java_type_info(), BYTES.get_java_type_info()
    j_packed = Types.ROW([Types.INT(), BYTES]).get_java_type_info()
    batches = pipeline.transformed(source.stream._j_data_stream, "sash: pack", j_packed, pack)
    stamped = Types.ROW([Types.LONG(), BYTES]).get_java_type_info()
    keyed = pipeline.keyed(batches, j_int, stamped, most)
    settings = {"python.fn-execution.bundle.size": "1000", **options.settings()}
    function = PackedFunction(query, read, results, **work)
    computed = pipeline.python(keyed, function, j_bytes, settings, most)
    if options.uid is not None:
        computed.uid(f"{options.uid}-{buckets}-buckets")
    rejected = read.append(pa.field("reason", pa.string()))
    tags = side_outputs(read, rejected)
    end = results.get_field_index("window_end") if _is_time(results) else -1
    rows = pipeline.unpacked(computed, [results, read, rejected], [None, *tags.values()], end, job.table)
    return Results(rows, tags)


def by_record(job: Job) -> Results:
    """Records cross to Python one by one."""
    source, query, read, results, options = job.source, job.query, job.read, job.results, job.options
    columns = source.columns(read.names)
    rows = jvm().RowTypes
    j_read = rows.ofStreams(pipeline.row_type(read))
    j_key = rows.ofStreams(
        pipeline.row_type(pa.schema([read.field(key) for key in query.keys] or [("key", pa.int32())]))
    )
    gateway = get_gateway()
    j_row = gateway.jvm.org.apache.flink.api.java.typeutils.RowTypeInfo
    j_types = gateway.jvm.org.apache.flink.api.common.typeinfo.TypeInformation
    pairs = pipeline.transformed(
        source.stream._j_data_stream,
        "sash: key",
        j_row(to_jarray(j_types, [j_key, j_read])),
        jvm().KeyedRows(columns, len(query.keys), job.work["bounded"]),
    )
    fields = [Types.LONG().get_java_type_info(), *(j_read.getTypeAt(i) for i in range(len(read.names)))]
    keyed = pipeline.keyed(pairs, j_key, j_row(to_jarray(j_types, fields)), job.most)
    j_result = rows.ofStreams(pipeline.row_type(results))
    rejected = read.append(pa.field("reason", pa.string()))
    tags = side_outputs(read, rejected)
    function = WindowOperatorFunction(query, read, results, stamped=True, **job.work)
    computed = pipeline.python(keyed, function, j_result, options.settings(), job.most)
    if options.uid is not None:
        computed.uid(options.uid)
    for tag in tags.values():
        side = computed.getSideOutput(tag.get_java_output_tag())
        pipeline.transformed(side, "sash: unread", side.getType(), jvm().DropOperator())
    return Results(computed, tags)


def _is_time(results: pa.Schema) -> bool:
    kind = results.field("window_end").type
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))
