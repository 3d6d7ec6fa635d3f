"""What a query asks of a DataFrame, and the columns of its results, known before any job starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import time
from inspect import signature
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema

from sash import Query
from sash.spi import Column, EngineTypes, result_columns
from sash_spark.paths import find

__all__ = ["arrow_schema", "checked", "output_schema"]


def output_schema(query: Query, input_schema: T.StructType, types: Mapping[str, Any] | None = None) -> T.StructType:
    """The columns of the results of ``query`` on a DataFrame of ``input_schema``; an error says what does not fit.

    ``types`` are the types of your own aggregates, for results whose type cannot be inferred: ``{"spread": "double"}``.
    """
    known: dict[pa.DataType, T.DataType] = {}  # Arrow has fewer types: those of the DataFrame's own columns stay

    def arrow(kind: T.DataType) -> pa.DataType:
        arrow_type = arrow_schema(T.StructType([T.StructField("", kind)])).field(0).type
        known.setdefault(arrow_type, kind)
        return arrow_type

    def column(name: str) -> Column:
        field = find(input_schema, name)
        return Column(name, arrow(field.dataType), field.nullable)

    given = {name: arrow(_parse_type(kind)) for name, kind in (types or {}).items()}
    columns = result_columns(query, column, _SparkTypes(), given)
    return T.StructType(
        [T.StructField(name, known.get(kind) or _spark_type(kind), null) for name, kind, null in columns]
    )


checked = output_schema
"""The same: all that can be wrong with a query on a DataFrame is an error of :func:`output_schema`."""


def arrow_schema(schema: T.StructType) -> pa.Schema:
    """The same columns in Arrow, with instants in UTC, which Spark 4.2 and newer have to be told."""
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(schema, **zone)


def _parse_type(kind: Any) -> T.DataType:
    """A type, from a type or its name."""
    if isinstance(kind, T.DataType):
        return kind
    if not isinstance(kind, str):
        raise TypeError(f"expected a type such as 'double'; got {kind!r}")
    return T.DataType.fromDDL(kind)


def _spark_type(kind: pa.DataType) -> T.DataType:
    return from_arrow_type(kind, prefer_timestamp_ntz=True)


class _SparkTypes(EngineTypes):
    def name(self, kind: pa.DataType) -> str:
        return _spark_type(kind).simpleString()

    def samples(self, kind: pa.DataType) -> tuple[Any, Any]:
        if pa.types.is_map(kind):  # a list of pairs
            ((key, _), (value, other)) = self.samples(kind.key_type), self.samples(kind.item_type)
            return ([(key, value)], [(key, other)])
        if pa.types.is_time(kind):
            raise TypeError(f"values of type {self.name(kind)} cannot be aggregated")
        return super().samples(kind)

    def plain(self, kind: type, exact: bool, columns: Sequence[pa.DataType]) -> pa.DataType:
        if kind is time:
            raise TypeError("its results are of type time, for which Spark has no column here")
        return super().plain(kind, exact, columns)

    def check_key(self, name: str, kind: pa.DataType) -> None:
        if "map<" in self.name(kind):
            raise TypeError(f"key column {name!r} is {self.name(kind)}: Spark cannot group by maps")
