"""Arrow's types: sample values of a column, the types of results, and how columns order windows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from sash.values.time_codec import OrderKind
from sash.values.timestamps import STEPS

__all__ = ["ArrowTypes", "value_type"]

_PLAIN: dict[type, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
    date: pa.date32(),
    time: pa.time64("us"),
}
_FINER = {"s": "us", "ms": "us", "us": "us", "ns": "ns"}


def value_type(kind: pa.DataType) -> pa.DataType:
    """The type of a column's values, however they are encoded."""
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return kind.value_type
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


class ArrowTypes:
    """The :class:`~sash.aggregations.result_types.TypeSystem` of Arrow."""

    def samples(self, kind: pa.DataType) -> tuple[Any, Any]:
        """Two values that a column of this type can have, the smaller first."""
        types = pa.types
        if types.is_decimal(kind):
            return (Decimal(1).scaleb(-kind.scale), Decimal(2).scaleb(-kind.scale))
        if types.is_timestamp(kind):
            zone = UTC if kind.tz else None
            return (datetime(2024, 3, 1, tzinfo=zone), datetime(2024, 3, 2, tzinfo=zone))
        if _is_list(kind):
            first, second = self.samples(kind.value_type)
            return ([first], [second])
        if types.is_struct(kind):
            parts = [self.samples(field.type) for field in kind]
            low, high = ({field.name: part[i] for field, part in zip(kind, parts, strict=True)} for i in (0, 1))
            return (low, high)
        for is_such, values in (
            (types.is_boolean, (False, True)),
            (types.is_uint64, (2**63, 2**63 + 1)),
            (types.is_integer, (1, 2)),
            (types.is_floating, (1.5, 2.5)),
            (_is_text, ("a", "b")),
            (_is_binary, (b"a", b"b")),
            (types.is_date, (date(2024, 3, 1), date(2024, 3, 2))),
            (types.is_time, (time(1), time(2))),
            (types.is_duration, (timedelta(seconds=1), timedelta(seconds=2))),
        ):
            if is_such(kind):
                return values
        raise TypeError(f"values of type {kind} cannot be aggregated")

    def plain(self, kind: type, exact: bool, columns: Sequence[pa.DataType]) -> pa.DataType:
        """The type of values of one of Python's types. What is between two times may need a finer unit than they."""
        if kind is datetime:
            stamp = next((column for column in columns if pa.types.is_timestamp(column)), pa.timestamp("us", "UTC"))
            return pa.timestamp(_FINER[stamp.unit], stamp.tz)
        if kind is timedelta:
            unit = next((column.unit for column in columns if pa.types.is_duration(column)), "us")
            return pa.duration(unit if exact else _FINER[unit])
        if kind is int and exact and columns and all(map(pa.types.is_unsigned_integer, columns)):
            return pa.uint64()
        return _PLAIN[kind]

    def digits(self, kind: pa.DataType) -> tuple[int, int, int] | None:
        """Of a decimal type the precision, the scale and the largest precision that there is."""
        if not pa.types.is_decimal(kind):
            return None
        return kind.precision, kind.scale, 76 if pa.types.is_decimal256(kind) else 38

    def decimal(self, precision: int, scale: int) -> pa.DataType:
        return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)

    def list_of(self, item: pa.DataType) -> pa.DataType:
        return pa.list_(item)

    def struct(self, fields: list[tuple[str, pa.DataType]]) -> pa.DataType:
        return pa.struct(fields)

    def order_kind(self, kind: pa.DataType) -> OrderKind | None:
        """What a column of this type is to windows; None: it orders nothing. O(1).

        >>> ArrowTypes().order_kind(pa.int32()), ArrowTypes().order_kind(pa.string())
        ('whole', None)
        """
        if pa.types.is_timestamp(kind):
            return "timestamp"
        if pa.types.is_date(kind):
            return "date"
        if pa.types.is_integer(kind):
            return "whole"
        return "number" if pa.types.is_floating(kind) else None

    def tick(self, kind: pa.DataType) -> int:
        """How many nanoseconds apart the times are that a column of this type can hold."""
        return STEPS[kind.unit] if pa.types.is_timestamp(kind) else 1000


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _is_text(kind: pa.DataType) -> bool:
    view = getattr(pa.types, "is_string_view", lambda kind: False)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or view(kind))


def _is_binary(kind: pa.DataType) -> bool:
    view = getattr(pa.types, "is_binary_view", lambda kind: False)
    plain = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    return bool(plain or view(kind))
