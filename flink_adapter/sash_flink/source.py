"""The stream that a query is asked of: its columns and their types."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyflink.datastream import DataStream
from pyflink.java_gateway import get_gateway
from pyflink.table.types import _from_java_data_type
from pyflink.util.java_utils import to_jarray

from sash_flink.jar import jvm, load_jar
from sash_flink.types import arrow_type, timestamp

__all__ = ["Source"]


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
