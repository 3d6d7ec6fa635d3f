"""The JVM's side of a query: Sash's operators, and how streams are packed, keyed, handed to Python and unpacked."""

from __future__ import annotations

import atexit
import logging
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyflink.common import Configuration, Types
from pyflink.datastream import KeyedProcessFunction, OutputTag
from pyflink.fn_execution import flink_fn_execution_pb2
from pyflink.java_gateway import get_gateway
from pyflink.util.java_utils import add_jars_to_context_class_loader, get_j_env_configuration, to_jarray

from sash_flink.jar import CannotBuild, ensure
from sash_flink.types import sql_row

__all__ = [
    "BYTES",
    "bucket_names",
    "deal",
    "jvm",
    "key_by",
    "load_jar",
    "row_info",
    "row_type",
    "run_python",
    "stream_row",
    "transform_in_jvm",
    "unpack",
]  # fmt: skip

BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())
_HELD = ExitStack()
_logger = logging.getLogger("sash_flink")


@cache
def _jar() -> Path:
    """The operators' jar. If Sash itself is in an archive, it is unpacked to a file while this process runs.

    Where Sash was installed without it, it is compiled, which takes some seconds a process.
    """
    packed = resources.files("sash_flink") / "lib" / "sash-flink.jar"
    atexit.register(_HELD.close)
    if packed.is_file():
        return _HELD.enter_context(resources.as_file(packed))
    built = Path(_HELD.enter_context(TemporaryDirectory(prefix="sash-flink-"))) / "sash-flink.jar"
    try:
        ensure(built)
    except CannotBuild as error:
        raise FileNotFoundError(f"this installation of Sash was built without {packed.name}, and: {error}") from error
    return built


def load_jar(j_env: Any) -> None:
    """Add the jar of Sash's operators to a job."""
    url = _jar().resolve().as_uri()
    add_jars_to_context_class_loader([url])
    j_settings = get_j_env_configuration(j_env)
    jars = Configuration.parse_list_value(j_settings.toMap().get("pipeline.jars"))
    if url not in jars:
        _logger.debug("adding %s to the job", url)
        j_settings.setString("pipeline.jars", str([*jars, url]))


def jvm() -> Any:
    """The package of Sash's operators."""
    return get_gateway().jvm.sash.flink


def row_type(schema: pa.Schema) -> Any:
    """A row type of Flink's SQL."""
    return jvm().RowTypes.parsed(sql_row(schema))


def stream_row(schema: pa.Schema) -> Any:
    """The type of rows of a DataStream."""
    return jvm().RowTypes.ofStreams(row_type(schema))


def row_info(*j_types: Any) -> Any:
    """The type of rows of these fields without names."""
    flink = get_gateway().jvm.org.apache.flink.api
    return flink.java.typeutils.RowTypeInfo(to_jarray(flink.common.typeinfo.TypeInformation, list(j_types)))


def bucket_names(count: int, max_parallelism: int) -> list[int]:
    """The names by which Flink spreads so many buckets over tasks."""
    return list(jvm().Buckets.named(count, max_parallelism))


def transform_in_jvm(j_stream: Any, name: str, j_type: Any, j_operator: Any) -> Any:
    """A stream behind an operator of the JVM, which has as many tasks as the stream: rows keep their order."""
    j_result = j_stream.transform(name, j_type, j_operator)
    j_result.setParallelism(j_stream.getParallelism())
    return j_result


def deal(j_stream: Any, tasks: int) -> Any:
    """The stream, its records dealt to so many tasks in turn."""
    rows = jvm().PassOperator()
    return j_stream.rebalance().transform("sash: deal", j_stream.getType(), rows).setParallelism(tasks)


def key_by(j_stream: Any, j_key: Any, j_value: Any, max_parallelism: int, uid: str | None = None) -> Any:
    """The stream of keys and stamped values, keyed in place: records are exchanged only once.

    ``uid`` is what the watermark in checkpoints belongs to, with that of the windows.
    """
    gateway = get_gateway()
    selector, j_key_row = gateway.jvm.KeyByKeySelector(), row_info(j_key)
    exchanged = j_stream.keyBy(selector, j_key_row)
    stamped = exchanged.transform("sash: watermark", row_info(j_key, j_value), jvm().StampOperator())
    stamped.setMaxParallelism(max_parallelism)
    if uid is not None:
        stamped.uid(f"{uid}-watermark")
    utils = gateway.jvm.org.apache.flink.streaming.api.datastream.DataStreamUtils
    return utils.reinterpretAsKeyedStream(stamped, selector, j_key_row)


def run_python(
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
    mode = "Embedded" if given.get("python.execution-mode") == "thread" else "External"
    operator = getattr(gateway.jvm, f"{mode}PythonKeyedProcessOperator")
    info = _create_j_data_stream_python_function_info(
        function, flink_fn_execution_pb2.UserDefinedDataStreamFunction.KEYED_PROCESS
    )
    computed = j_keyed.transform("sash: windows", j_result, operator(j_settings, info, j_keyed.getType(), j_result))
    computed.setMaxParallelism(max_parallelism)
    return computed


def unpack(
    j_stream: Any,
    schemas: Sequence[pa.Schema],
    tags: Sequence[OutputTag | None],
    end: int,
    table: bool,
    changelog: bool = False,
) -> Any:
    """The stream of rows in the batches that Python returns, with its side outputs.

    The last column of a ``changelog`` is the kind of a row, which its rows do not have.
    """
    gateway = get_gateway()
    j_types = [row_type(schema) for schema in schemas]
    j_rows = jvm().RowTypes.withoutLast(j_types[0]) if changelog else j_types[0]
    j_main = jvm().RowTypes.ofTables(j_rows) if table else jvm().RowTypes.ofStreams(j_rows)
    j_tags = [None if tag is None else tag.get_java_output_tag() for tag in tags]
    operator = jvm().UnpackOperator(
        to_jarray(gateway.jvm.org.apache.flink.table.types.logical.RowType, j_types),
        to_jarray(gateway.jvm.org.apache.flink.util.OutputTag, j_tags),
        end,
        table,
        changelog,
    )
    return transform_in_jvm(j_stream, "sash: results", j_main, operator)
