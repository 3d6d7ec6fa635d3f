"""The types of polars: sample values of a column, and the types of results."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import polars as pl

__all__ = ["PolarsTypes"]

_SAMPLES: list[tuple[Any, tuple[Any, Any]]] = [
    (pl.Boolean, (False, True)),
    (pl.String, ("a", "b")),
    (pl.Categorical, ("a", "b")),
    (pl.Enum, ("a", "b")),
    (pl.Binary, (b"a", b"b")),
    (pl.Date, (date(2024, 3, 1), date(2024, 3, 2))),
    (pl.Time, (time(1), time(2))),
    (pl.Duration, (timedelta(seconds=1), timedelta(seconds=2))),
]
_PLAIN: dict[type, Any] = {
    bool: pl.Boolean(),
    int: pl.Int64(),
    float: pl.Float64(),
    str: pl.String(),
    bytes: pl.Binary(),
    date: pl.Date(),
    time: pl.Time(),
}


class PolarsTypes:
    """The :class:`~sash.aggregations.result_types.TypeSystem` of polars."""

    def samples(self, kind: Any) -> tuple[Any, Any]:
        """Two values that a column of this type can have, the smaller first."""
        if kind.is_integer():
            return (2**63, 2**63 + 1) if kind == pl.UInt64 else (1, 2)
        if kind.is_float():
            return (1.5, 2.5)
        if isinstance(kind, pl.Decimal):
            return (Decimal(1).scaleb(-kind.scale), Decimal(2).scaleb(-kind.scale))
        if isinstance(kind, pl.Datetime):
            zone = UTC if kind.time_zone else None
            return (datetime(2024, 3, 1, tzinfo=zone), datetime(2024, 3, 2, tzinfo=zone))
        if isinstance(kind, pl.List | pl.Array):
            first, second = self.samples(kind.inner)
            return ([first], [second])
        if isinstance(kind, pl.Struct):
            parts = [self.samples(field.dtype) for field in kind.fields]
            low, high = ({f.name: part[i] for f, part in zip(kind.fields, parts, strict=True)} for i in (0, 1))
            return (low, high)
        for known, values in _SAMPLES:
            if kind == known:
                return values
        raise TypeError(f"values of type {kind} cannot be aggregated")

    def plain(self, kind: type, exact: bool, columns: Sequence[Any]) -> Any:
        """The type of values of one of Python's types. What is between two times may need a finer unit than they."""
        if kind is datetime:
            stamp = next((column for column in columns if isinstance(column, pl.Datetime)), pl.Datetime("us", "UTC"))
            return pl.Datetime(_finer(stamp.time_unit), stamp.time_zone)
        if kind is timedelta:
            unit: Any = next((column.time_unit for column in columns if isinstance(column, pl.Duration)), "us")
            return pl.Duration(unit if exact else _finer(unit))
        if kind is int and exact and columns and all(column.is_unsigned_integer() for column in columns):
            return pl.UInt64()
        return _PLAIN[kind]

    def digits(self, kind: Any) -> tuple[int, int, int] | None:
        """Of a decimal type the precision, the scale and the largest precision that there is."""
        return (kind.precision or 38, kind.scale, 38) if isinstance(kind, pl.Decimal) else None

    def decimal(self, precision: int, scale: int) -> Any:
        return pl.Decimal(precision, scale)

    def list_of(self, item: Any) -> Any:
        return pl.List(item)

    def struct(self, fields: list[tuple[str, Any]]) -> Any:
        return pl.Struct([pl.Field(name, kind) for name, kind in fields])


def _finer(unit: Any) -> Any:
    return "ns" if unit == "ns" else "us"
