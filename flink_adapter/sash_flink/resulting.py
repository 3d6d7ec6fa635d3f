"""What values a column of a type has, and of what types results over such columns are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from sash.resulttypes import Like, ListOf, Plain, ResultType, Struct

__all__ = ["resulting", "samples"]

_PLAIN: dict[type, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
    date: pa.date32(),
}


def samples(kind: pa.DataType) -> tuple[Any, Any]:
    """Two values that a column of this type can have, the smaller first."""
    if pa.types.is_decimal(kind):
        return (Decimal(1).scaleb(-kind.scale), Decimal(2).scaleb(-kind.scale))
    if pa.types.is_boolean(kind):
        return (False, True)
    if pa.types.is_integer(kind):
        return (1, 2)
    if pa.types.is_floating(kind):
        return (1.5, 2.5)
    if pa.types.is_string(kind):
        return ("a", "b")
    if pa.types.is_binary(kind):
        return (b"a", b"b")
    if pa.types.is_date(kind):
        return (date(2024, 3, 1), date(2024, 3, 2))
    if pa.types.is_time(kind):
        return (time(1), time(2))
    if pa.types.is_timestamp(kind):
        zone = UTC if kind.tz else None
        return (datetime(2024, 3, 1, tzinfo=zone), datetime(2024, 3, 2, tzinfo=zone))
    if pa.types.is_list(kind):
        first, second = samples(kind.value_type)
        return ([first], [second])
    parts = [samples(field.type) for field in kind]
    low, high = ({field.name: part[i] for field, part in zip(kind, parts, strict=True)} for i in (0, 1))
    return (low, high)


def resulting(result: ResultType, columns: Sequence[pa.DataType]) -> pa.DataType:
    """The type of results over columns of these types."""
    match result:
        case Like(column):
            return columns[column]
        case ListOf(item):
            return pa.list_(resulting(item, columns))
        case Struct(fields):
            return pa.struct([(name, resulting(part, columns)) for name, part in fields])
        case Plain(type=kind, exact=exact):
            if kind is Decimal:
                return _decimal(columns, exact)
            if kind is datetime:
                found = [each for each in columns if pa.types.is_timestamp(each)]
                return found[0] if found else pa.timestamp("us", "UTC")
            if kind is timedelta:
                raise TypeError("its results are lengths of time, for which Flink has no column: aggregate numbers")
            return _PLAIN[kind]


def _decimal(columns: Sequence[pa.DataType], exact: bool) -> pa.DataType:
    """Ten digits more for a sum, as in SQL; four more before and behind the point for what is divided."""
    of = max((each for each in columns if pa.types.is_decimal(each)), key=lambda each: each.scale, default=None)
    if of is None:
        return pa.decimal128(38, 18)
    if exact:
        return pa.decimal128(min(38, of.precision + 10), of.scale)
    return pa.decimal128(min(38, of.precision + 4), min(38, of.scale + 4))
