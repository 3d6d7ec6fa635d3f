"""The JVM's side of a query: how streams are packed, keyed, handed to Python and unpacked."""

from __future__ import annotations

import atexit
import re
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyflink.common import Configuration, Types
from pyflink.datastream import DataStream, KeyedProcessFunction, OutputTag
from pyflink.fn_execution import flink_fn_execution_pb2
from pyflink.java_gateway import get_gateway
from pyflink.table.types import _from_java_data_type
from pyflink.util.java_utils import add_jars_to_context_class_loader, get_j_env_configuration, to_jarray

from sash_flink.types import arrow_type, sql_row, timestamp

__all__ = ["Source", "bucket_names", "jvm", "keyed", "load_jar", "python", "row_type", "transformed"]

_HELD = ExitStack()


@cache
def _jar() -> Path:
    """The operators' jar; where Sash itself is in an archive, as a file for as long as this process runs."""
    packed = resources.files("sash_flink") / "lib" / "sash-flink.jar"
    if not packed.is_file():
        raise FileNotFoundError(f"{packed} is missing: in a checkout of Sash, scripts/flink-jar builds it")
    atexit.register(_HELD.close)
    return _HELD.enter_context(resources.as_file(packed))


def jvm() -> Any:
    """The package of Sash's operators."""
    return get_gateway().jvm.sash.flink


def load_jar(j_env: Any) -> None:
    """Have Sash's operators in a job."""
    url = _jar().resolve().as_uri()
    add_jars_to_context_class_loader([url])
    j_settings = get_j_env_configuration(j_env)
    jars = Configuration.parse_list_value(j_settings.toMap().get("pipeline.jars"))
    if url not in jars:
        j_settings.setString("pipeline.jars", str([*jars, url]))


class Source:
    """A stream that has named and typed columns."""

    def __init__(self, stream: DataStream, names: Sequence[str] | None = None) -> None:
        self.stream = stream
        self.j_env = stream._j_data_stream.getExecutionEnvironment()
        load_jar(self.j_env)
        j_type = stream._j_data_stream.getType()
        if "PickledByteArray" in j_type.getClass().getName():
            raise TypeError(
                "the stream's records are Python objects of no known type: give its source or the operator before it a "
                "type, as in env.from_collection(rows, Types.ROW_NAMED(['plug', 'load'], [Types.STRING(), …]))"
            )
        self.j_type = jvm().RowTypes.dataType(j_type)
        children = list(self.j_type.getChildren())
        if not children:
            raise TypeError(f"the stream's records are of type {j_type}: they must be rows or tuples")
        if names is None and "Tuple" in j_type.getClass().getSimpleName():
            raise TypeError("the stream's records are tuples: name their fields with names=")
        self.names = list(self.j_type.getLogicalType().getFieldNames()) if names is None else list(names)
        if len(self.names) != len(children):
            raise ValueError(f"names= has {len(self.names)} names, the stream's records have {len(children)} fields")
        self.schema = pa.schema(
            [(name, self._arrow(name, child)) for name, child in zip(self.names, children, strict=True)]
        )

    @staticmethod
    def _arrow(name: str, child: Any) -> pa.DataType:
        told = re.match(r"TIMESTAMP(_LTZ)?\((\d)\)", child.getLogicalType().asSummaryString())
        if told:  # PyFlink's own types forget the digits of some
            return timestamp(int(told[2]), bool(told[1]))
        try:
            return arrow_type(_from_java_data_type(child))
        except TypeError:
            return pa.null()  # unless it is read, it does not matter

    def columns(self, read: Sequence[str]) -> Any:
        """The columns that are read, for operators."""
        gateway = get_gateway()
        for name in read:
            if self.schema.field(name).type == pa.null():
                raise TypeError(f"column {name!r} is {self.j_type.getChildren().get(self.names.index(name))}: cast it")
        places = to_jarray(gateway.jvm.int, [self.names.index(name) for name in read])
        return jvm().Columns(self.j_type, to_jarray(gateway.jvm.String, list(read)), places)


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
