"""The stream that a query runs over, what the query asks of its columns, and the columns of the results."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyflink.datastream import DataStream
from pyflink.java_gateway import get_gateway
from pyflink.table.types import _from_java_data_type
from pyflink.util.java_utils import to_jarray

from sash import Query
from sash.spi import Column, EngineTypes, near, result_columns
from sash_flink.pipeline import jvm, load_jar
from sash_flink.types import arrow_type, timestamp

__all__ = ["Source", "column_type", "result_schema"]


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
        timestamp_type = re.match(r"TIMESTAMP(_LTZ)?\((\d)\)", child.getLogicalType().asSummaryString())
        if timestamp_type:  # PyFlink's own types forget the digits of some
            return timestamp(int(timestamp_type[2]), bool(timestamp_type[1]))
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


def result_schema(query: Query, schema: pa.Schema, types: Mapping[str, pa.DataType] | None = None) -> pa.Schema:
    """The columns of the results of ``query`` on a stream of ``schema``. Raises a clear error for what does not fit."""
    columns = result_columns(query, lambda name: Column(name, column_type(schema, name)), _FlinkTypes(), types)
    return pa.schema([(column.name, column.kind) for column in columns])


def column_type(schema: pa.Schema, name: str) -> pa.DataType:
    """The type of the column of this name."""
    if name not in schema.names:
        there = ", ".join(map(repr, schema.names)) or "none"
        raise KeyError(f"column {name!r} is not in the stream, which has {there}{near(name, schema.names)}")
    return schema.field(name).type


class _FlinkTypes(EngineTypes):
    def plain(self, kind: type, exact: bool, columns: Sequence[pa.DataType]) -> pa.DataType:
        if kind is timedelta:
            raise TypeError("its results are lengths of time, for which Flink has no column: aggregate numbers")
        return super().plain(kind, exact, columns)

    def check_key(self, name: str, kind: pa.DataType) -> None:
        if pa.types.is_nested(kind):
            raise TypeError(f"key column {name!r} is {kind}: a key must be a plain value")
