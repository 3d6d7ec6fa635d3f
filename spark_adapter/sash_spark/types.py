"""Spark's types beside Python's: what values a column has, and what type results have."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from pyspark.sql import types as T

from sash.resulttypes import Like, ListOf, Plain, ResultType, Struct

__all__ = ["NUMBERS", "WHOLE", "resulting", "samples"]

WHOLE = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
NUMBERS = (*WHOLE, T.FloatType, T.DoubleType)

_SAMPLES: dict[type[T.DataType], tuple[Any, Any]] = {
    T.BooleanType: (False, True),
    T.FloatType: (1.5, 2.5),
    T.DoubleType: (1.5, 2.5),
    T.StringType: ("a", "b"),
    T.CharType: ("a", "b"),
    T.VarcharType: ("a", "b"),
    T.BinaryType: (b"a", b"b"),
    T.DateType: (date(2024, 3, 1), date(2024, 3, 2)),
    T.TimestampType: (datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 3, 2, tzinfo=UTC)),
    T.TimestampNTZType: (datetime(2024, 3, 1), datetime(2024, 3, 2)),
    T.DayTimeIntervalType: (timedelta(seconds=1), timedelta(seconds=2)),
}

_PLAIN: dict[type, T.DataType] = {
    bool: T.BooleanType(),
    int: T.LongType(),
    float: T.DoubleType(),
    str: T.StringType(),
    bytes: T.BinaryType(),
    date: T.DateType(),
    timedelta: T.DayTimeIntervalType(),
}


def samples(kind: T.DataType) -> tuple[Any, Any]:
    """Two values that a column of this type can have, the smaller first."""
    if isinstance(kind, WHOLE):
        return (1, 2)
    if isinstance(kind, T.DecimalType):
        return (Decimal(1).scaleb(-kind.scale), Decimal(2).scaleb(-kind.scale))
    if isinstance(kind, T.ArrayType):
        first, second = samples(kind.elementType)
        return ([first], [second])
    if isinstance(kind, T.StructType):
        parts = [samples(field.dataType) for field in kind]
        low, high = ({field.name: part[i] for field, part in zip(kind, parts, strict=True)} for i in (0, 1))
        return (low, high)
    if isinstance(kind, T.MapType):
        ((key, _), (value, other)) = samples(kind.keyType), samples(kind.valueType)
        return ([(key, value)], [(key, other)])
    try:
        return _SAMPLES[type(kind)]
    except KeyError:
        raise TypeError(f"values of type {kind.simpleString()} cannot be aggregated") from None


def resulting(result: ResultType, columns: Sequence[T.DataType]) -> T.DataType:
    """The type of results over columns of these types."""
    match result:
        case Like(column):
            return columns[column]
        case ListOf(item):
            return T.ArrayType(resulting(item, columns))
        case Struct(fields):
            return T.StructType([T.StructField(name, resulting(part, columns)) for name, part in fields])
        case Plain(type=kind, exact=exact):
            if kind is Decimal:
                return _decimal(columns, exact)
            if kind is datetime:
                return _timestamp(columns)
            return _PLAIN[kind]


def _decimal(columns: Sequence[T.DataType], exact: bool) -> T.DecimalType:
    """As Spark's own ``sum`` and ``avg`` have it: ten digits more, or four more before and behind the point."""
    of = max((each for each in columns if isinstance(each, T.DecimalType)), key=lambda each: each.scale, default=None)
    if of is None:
        return T.DecimalType(38, 18)
    if exact:
        return T.DecimalType(min(38, of.precision + 10), of.scale)
    return T.DecimalType(min(38, of.precision + 4), min(38, of.scale + 4))


def _timestamp(columns: Sequence[T.DataType]) -> T.DataType:
    found = [each for each in columns if isinstance(each, T.TimestampType | T.TimestampNTZType)]
    return found[0] if found else T.TimestampType()
