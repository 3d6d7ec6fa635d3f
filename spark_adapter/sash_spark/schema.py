"""What a query asks of a DataFrame, and what columns its results have: told before any job starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import types as T

from sash import Query
from sash.aggregations.result_types import declared_type, never_null
from sash.query.lanes import Lane
from sash.runtime.window_bounds import Kind, check_order, end_columns, end_kind
from sash_spark.paths import find
from sash_spark.types import NUMBERS, WHOLE, SparkTypes

__all__ = ["checked", "output_schema"]


def output_schema(query: Query, input_schema: T.StructType, types: Mapping[str, Any] | None = None) -> T.StructType:
    """The columns that ``query`` gives on a DataFrame of ``input_schema``; what does not fit is a clear error.

    ``types`` tells the types of aggregates of your own whose results do not tell them: as ``{"spread": "double"}``.
    """
    given = types or {}
    if unknown := set(given) - set(query.aggregates):
        raise ValueError(f"types= is given for {sorted(unknown)}, which are no aggregates of the query")
    fields = [T.StructField(name, field.dataType, field.nullable) for name, field in _keys(query, input_schema)]
    if None not in query.named:
        fields.append(T.StructField("window", T.StringType(), False))
    kind = _window_type(query, input_schema)
    fields += [T.StructField(name, kind, False) for name in ("window_start", "window_end")]
    if query.revises:
        fields.append(T.StructField("revision", T.LongType(), False))
    for name, aggregation in query.aggregates.items():
        columns = [find(input_schema, column) for column in aggregation.columns]
        try:
            told = [each.dataType for each in columns]
            kind = parsed(given[name]) if name in given else declared_type(aggregation, told, SparkTypes())
        except TypeError as error:
            raise TypeError(_about(name, aggregation.columns, columns, error)) from error
        nulls = any(field.nullable for field in columns)
        fields.append(T.StructField(name, kind, not never_null(aggregation, nulls)))
    return T.StructType(fields)


def checked(query: Query, schema: T.StructType, types: Mapping[str, Any] | None = None) -> T.StructType:
    """:func:`output_schema`, after all that can be wrong with a query on this DataFrame has been looked for."""
    if not isinstance(query, Query):
        raise TypeError(f"query must be a sash.Query; got {type(query).__name__}")
    for column in query.columns:
        find(schema, column)
    for lane in query.lanes:
        _check_order(query, lane, schema)
    return output_schema(query, schema, types)


def parsed(kind: Any) -> T.DataType:
    """A type, given as such or in words."""
    if isinstance(kind, T.DataType):
        return kind
    if not isinstance(kind, str):
        raise TypeError(f"expected a type such as 'double'; got {kind!r}")
    return T.DataType.fromDDL(kind)


def _keys(query: Query, schema: T.StructType) -> Iterator[tuple[str, T.StructField]]:
    for key in query.keys:
        field = find(schema, key)
        if _holds_map(field.dataType):
            raise TypeError(f"key column {key!r} is {field.dataType.simpleString()}: Spark cannot group by maps")
        yield key, field


def _holds_map(kind: T.DataType) -> bool:
    if isinstance(kind, T.StructType):
        return any(_holds_map(field.dataType) for field in kind)
    return isinstance(kind, T.MapType) or (isinstance(kind, T.ArrayType) and _holds_map(kind.elementType))


def _about(name: str, columns: Sequence[str], fields: Sequence[T.StructField], error: TypeError) -> str:
    typed = ", ".join(
        f"{column!r} is {field.dataType.simpleString()}" for column, field in zip(columns, fields, strict=True)
    )
    return f"aggregate {name!r}: {error}" + (f" (column {typed})" if typed else "")


def _check_order(query: Query, lane: Lane, schema: T.StructType) -> None:
    if lane.order is not None:
        kind = find(schema, lane.order).dataType
        check_order(query, lane, _kind(kind), kind.simpleString(), tick=1000)


def _kind(kind: T.DataType) -> Kind | None:
    if isinstance(kind, T.TimestampType | T.TimestampNTZType):
        return "timestamp"
    if isinstance(kind, T.DateType):
        return "date"
    if isinstance(kind, WHOLE):
        return "whole"
    return "number" if isinstance(kind, NUMBERS) else None


def _window_type(query: Query, schema: T.StructType) -> T.DataType:
    """The type of both ends of windows: that of the column they are on, a whole number for positions.

    Where windows of one query differ in this, a structure with a field for each: the others are null.
    """
    kinds = {
        name: T.LongType() if lane is None else _end_type(query, lane, find(schema, name).dataType)
        for name, lane in end_columns(query).items()
    }
    if len({kind.simpleString() for kind in kinds.values()}) == 1:
        return next(iter(kinds.values()))
    return T.StructType([T.StructField(name, kind) for name, kind in kinds.items()])


def _end_type(query: Query, lane: Lane, kind: T.DataType) -> T.DataType:
    given = _kind(kind)
    assert given is not None  # by _check_order
    found = end_kind(query, lane, given)
    if found in ("timestamp", "date"):
        return kind if found == given else T.TimestampNTZType()
    return T.LongType() if found == "whole" else T.DoubleType()
