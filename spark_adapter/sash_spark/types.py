"""Spark's types beside Python's: what values a column has, and what type results have."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from pyspark.sql import types as T

__all__ = ["NUMBERS", "WHOLE", "SparkTypes"]

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


class SparkTypes:
    """The :class:`~sash.aggregations.result_types.TypeSystem` of Spark."""

    def samples(self, kind: T.DataType) -> tuple[Any, Any]:
        """Two values that a column of this type can have, the smaller first."""
        if isinstance(kind, WHOLE):
            return (1, 2)
        if isinstance(kind, T.DecimalType):
            return (Decimal(1).scaleb(-kind.scale), Decimal(2).scaleb(-kind.scale))
        if isinstance(kind, T.ArrayType):
            first, second = self.samples(kind.elementType)
            return ([first], [second])
        if isinstance(kind, T.StructType):
            parts = [self.samples(field.dataType) for field in kind]
            low, high = ({field.name: part[i] for field, part in zip(kind, parts, strict=True)} for i in (0, 1))
            return (low, high)
        if isinstance(kind, T.MapType):
            ((key, _), (value, other)) = self.samples(kind.keyType), self.samples(kind.valueType)
            return ([(key, value)], [(key, other)])
        try:
            return _SAMPLES[type(kind)]
        except KeyError:
            raise TypeError(f"values of type {kind.simpleString()} cannot be aggregated") from None

    def plain(self, kind: type, exact: bool, columns: Sequence[T.DataType]) -> T.DataType:
        """The type of values of one of Python's types."""
        if kind is datetime:
            found = [each for each in columns if isinstance(each, T.TimestampType | T.TimestampNTZType)]
            return found[0] if found else T.TimestampType()
        if kind not in _PLAIN:
            raise TypeError(f"its results are of type {kind.__name__}, for which Spark has no column here")
        return _PLAIN[kind]

    def digits(self, kind: T.DataType) -> tuple[int, int, int] | None:
        """Of a decimal type the precision, the scale and the largest precision that there is."""
        return (kind.precision, kind.scale, 38) if isinstance(kind, T.DecimalType) else None

    def decimal(self, precision: int, scale: int) -> T.DataType:
        return T.DecimalType(precision, scale)

    def list_of(self, item: T.DataType) -> T.DataType:
        return T.ArrayType(item)

    def struct(self, fields: list[tuple[str, T.DataType]]) -> T.DataType:
        return T.StructType([T.StructField(name, kind) for name, kind in fields])
