"""Flink's types beside Arrow's, by which records travel."""

from __future__ import annotations

from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyflink.table import types as T

__all__ = ["arrow_type", "sql_row", "sql_type", "timestamp", "wire_schema", "wire_type"]

_ATOMS: list[tuple[Any, pa.DataType, str]] = [
    (T.TinyIntType, pa.int8(), "TINYINT"),
    (T.SmallIntType, pa.int16(), "SMALLINT"),
    (T.IntType, pa.int32(), "INT"),
    (T.BigIntType, pa.int64(), "BIGINT"),
    (T.BooleanType, pa.bool_(), "BOOLEAN"),
    (T.FloatType, pa.float32(), "FLOAT"),
    (T.DoubleType, pa.float64(), "DOUBLE"),
    ((T.CharType, T.VarCharType), pa.string(), "STRING"),
    ((T.BinaryType, T.VarBinaryType), pa.binary(), "BYTES"),
    (T.DateType, pa.date32(), "DATE"),
]
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def _unit(precision: int) -> str:
    return next(unit for unit, digits in _DIGITS.items() if precision <= digits)


def timestamp(digits: int, instant: bool) -> pa.DataType:
    """Timestamps of so many digits of seconds: instants are in UTC, others have no zone."""
    return pa.timestamp(_unit(digits), "UTC" if instant else None)


def arrow_type(kind: T.DataType) -> pa.DataType:
    """The type in Arrow: instants are timestamps in UTC, timestamps without a zone have none there either."""
    for flink, arrow, _ in _ATOMS:
        if isinstance(kind, flink):
            return arrow
    if isinstance(kind, T.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, T.LocalZonedTimestampType | T.TimestampType):
        return timestamp(kind.precision, isinstance(kind, T.LocalZonedTimestampType))
    if isinstance(kind, T.TimeType):
        unit = _unit(kind.precision)
        return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
    if isinstance(kind, T.ArrayType):
        return pa.list_(arrow_type(kind.element_type))
    if isinstance(kind, T.RowType):
        return pa.struct([(field.name, arrow_type(field.data_type)) for field in kind.fields])
    raise TypeError(f"columns of type {type(kind).__name__.removesuffix('Type').upper()} cannot be read: cast them")


def sql_type(kind: pa.DataType) -> str:
    """What Flink's SQL calls a type of Arrow.

    >>> sql_type(pa.list_(pa.int64())), sql_type(pa.timestamp("us", "UTC"))
    ('ARRAY<BIGINT>', 'TIMESTAMP_LTZ(6)')
    """
    for _, arrow, name in _ATOMS:
        if kind == arrow:
            return name
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if pa.types.is_timestamp(kind):
        return f"TIMESTAMP{'_LTZ' if kind.tz else ''}({_DIGITS[kind.unit]})"
    if pa.types.is_time(kind):
        return f"TIME({_DIGITS[kind.unit]})"
    if pa.types.is_list(kind):
        return f"ARRAY<{sql_type(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return sql_row(pa.schema(list(kind)))
    raise TypeError(f"Flink has no type for {kind}")


def sql_row(schema: pa.Schema) -> str:
    """The type of a row of these columns."""
    quoted = [
        f"`{field.name.replace('`', '``')}` {sql_type(field.type)}{'' if field.nullable else ' NOT NULL'}"
        for field in schema
    ]
    return f"ROW<{', '.join(quoted)}>"


def wire_type(kind: pa.DataType) -> pa.DataType:
    """The type by which values travel between the JVM and Python: there Flink has no zones."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp(kind.unit)
    if pa.types.is_list(kind):
        return pa.list_(wire_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, wire_type(field.type)) for field in kind])
    return kind


def wire_schema(schema: pa.Schema) -> pa.Schema:
    """The same of all columns."""
    return pa.schema([(field.name, wire_type(field.type)) for field in schema])
