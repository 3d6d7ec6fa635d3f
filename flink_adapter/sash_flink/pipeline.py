"""The JVM's side of a query: how streams are packed, keyed, handed to Python and unpacked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, OutputTag
from pyflink.fn_execution import flink_fn_execution_pb2
from pyflink.java_gateway import get_gateway
from pyflink.util.java_utils import get_j_env_configuration, to_jarray

from sash_flink.jar import jvm
from sash_flink.types import sql_row

__all__ = ["BYTES", "bucket_names", "keyed", "python", "row_type", "transformed", "unpacked"]


def row_type(schema: pa.Schema) -> Any:
    """A row type of Flink's SQL."""
    return jvm().RowTypes.parsed(sql_row(schema))


def bucket_names(count: int, max_parallelism: int) -> list[int]:
    """What Flink calls so many buckets."""
    return list(jvm().Buckets.named(count, max_parallelism))


def transformed(j_stream: Any, name: str, j_type: Any, j_operator: Any) -> Any:
    """A stream behind an operator of the JVM, which has as many tasks as are before it: rows stay in their order."""
    made = j_stream.transform(name, j_type, j_operator)
    made.setParallelism(j_stream.getParallelism())
    return made


def keyed(j_stream: Any, j_key: Any, j_value: Any, max_parallelism: int) -> Any:
    """The stream of keys and stamped values, keyed where it is: records are exchanged once only."""
    gateway = get_gateway()
    selector = gateway.jvm.KeyByKeySelector()
    j_row = gateway.jvm.org.apache.flink.api.java.typeutils.RowTypeInfo
    j_types = gateway.jvm.org.apache.flink.api.common.typeinfo.TypeInformation
    j_key_row = j_row(to_jarray(j_types, [j_key]))
    exchanged = j_stream.keyBy(selector, j_key_row)
    j_type = j_row(to_jarray(j_types, [j_key, j_value]))
    stamped = exchanged.transform("sash: watermark", j_type, jvm().StampOperator())
    stamped.setMaxParallelism(max_parallelism)
    utils = gateway.jvm.org.apache.flink.streaming.api.datastream.DataStreamUtils
    return utils.reinterpretAsKeyedStream(stamped, selector, j_key_row)


def python(
    j_keyed: Any, function: KeyedProcessFunction, j_result: Any, settings: dict[str, str], max_parallelism: int
) -> Any:
    """The stream behind a Python function, whose bundles are as ``settings`` say unless the job's own do."""
    from pyflink.datastream.data_stream import _create_j_data_stream_python_function_info

    gateway = get_gateway()
    j_job = get_j_env_configuration(j_keyed.getExecutionEnvironment())
    given = j_job.toMap()
    j_settings = gateway.jvm.org.apache.flink.configuration.Configuration(j_job)
    for name, value in settings.items():
        if name not in given:
            j_settings.setString(name, value)
    threads = given.get("python.execution-mode") == "thread"
    operator = (
        gateway.jvm.EmbeddedPythonKeyedProcessOperator if threads else gateway.jvm.ExternalPythonKeyedProcessOperator
    )
    info = _create_j_data_stream_python_function_info(
        function, flink_fn_execution_pb2.UserDefinedDataStreamFunction.KEYED_PROCESS
    )
    made = j_keyed.transform("sash: windows", j_result, operator(j_settings, info, j_keyed.getType(), j_result))
    made.setMaxParallelism(max_parallelism)
    return made


def unpacked(
    j_stream: Any, schemas: Sequence[pa.Schema], tags: Sequence[OutputTag | None], end: int, table: bool
) -> Any:
    """The stream of rows of the batches that Python gives, with its side outputs."""
    gateway = get_gateway()
    j_types = [row_type(schema) for schema in schemas]
    rows = jvm().RowTypes
    j_main = rows.ofTables(j_types[0]) if table else rows.ofStreams(j_types[0])
    j_tags = [None if tag is None else tag.get_java_output_tag() for tag in tags]
    operator = jvm().UnpackOperator(
        to_jarray(gateway.jvm.org.apache.flink.table.types.logical.RowType, j_types),
        to_jarray(gateway.jvm.org.apache.flink.util.OutputTag, j_tags),
        end,
        table,
    )
    return transformed(j_stream, "sash: results", j_main, operator)


BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())
