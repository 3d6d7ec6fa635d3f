"""Arrow's types in Python's terms, results as arrays of a type, and how columns order windows. Needs pyarrow."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from sash.frames.library import LibraryTypes, Shape
from sash.values.arrays import data_of, mask_of, null_of
from sash.values.columns import StructColumn
from sash.values.time_codec import OrderKind
from sash.values.timestamps import STEPS

__all__ = ["ArrowTypes", "array_of", "value_type"]

_CHECKS: dict[type, tuple[str, ...]] = {
    bool: ("is_boolean",),
    int: ("is_integer",),
    float: ("is_floating",),
    str: ("is_string", "is_large_string", "is_string_view"),
    bytes: ("is_binary", "is_large_binary", "is_fixed_size_binary", "is_binary_view"),
    date: ("is_date",),
    datetime: ("is_timestamp",),
    time: ("is_time",),
    timedelta: ("is_duration",),
    Decimal: ("is_decimal",),
    list: ("is_list", "is_large_list", "is_fixed_size_list"),
    dict: ("is_struct",),
}
"""The functions of ``pyarrow.types``, some only of newer versions, that know the types of Python's values."""


def value_type(kind: pa.DataType) -> pa.DataType:
    """The type of a column's values, however they are encoded."""
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return kind.value_type
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


class ArrowTypes(LibraryTypes):
    """The types of Arrow."""

    uint64 = pa.uint64()

    def __init__(self) -> None:
        self.python_types = {
            bool: pa.bool_(),
            int: pa.int64(),
            float: pa.float64(),
            str: pa.string(),
            bytes: pa.binary(),
            date: pa.date32(),
            datetime: pa.timestamp,
            time: pa.time64("us"),
            timedelta: pa.duration,
        }

    def shape(self, kind: pa.DataType) -> Shape | None:
        """A type in Python's terms; None: its values can be anything."""
        python = next((python for python, checks in _CHECKS.items() if any(_is(kind, check) for check in checks)), None)
        if python is None:
            return None
        fields: tuple[tuple[str, Any], ...] = ()
        if python is list:
            fields = (("item", kind.value_type),)
        elif python is dict:
            fields = tuple((field.name, field.type) for field in kind)
        return Shape(
            python,
            unit=getattr(kind, "unit", "us"),
            zone=getattr(kind, "tz", None),
            scale=getattr(kind, "scale", 0),
            unsigned=kind.bit_width if pa.types.is_unsigned_integer(kind) else 0,
            fields=fields,
        )

    def digits(self, kind: pa.DataType) -> tuple[int, int, int] | None:
        """The precision, the scale and the largest possible precision of a decimal type."""
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
        kinds: dict[type, OrderKind] = {datetime: "timestamp", date: "date", int: "whole", float: "number"}
        shape = self.shape(kind)
        return None if shape is None else kinds.get(shape.type)

    def tick(self, kind: pa.DataType) -> int:
        """How many nanoseconds apart the times are that a column of this type can hold."""
        return STEPS[kind.unit] if pa.types.is_timestamp(kind) else 1000


def _is(kind: pa.DataType, check: str) -> bool:
    known = getattr(pa.types, check, None)
    return known is not None and bool(known(kind))


def array_of(values: Any, kind: pa.DataType) -> pa.Array:
    """The results of an aggregate, an array or a tuple of one for each part, as Arrow's of type ``kind``. O(n)."""
    if isinstance(values, tuple):
        parts = [array_of(part, field.type) for part, field in zip(values, kind, strict=True)]
        null = StructColumn(values, [field.name for field in kind]).null
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=None if null is None else pa.array(null))
    if values.dtype == object:
        fitting = map(ArrowTypes().fitter(kind), values.tolist()) if _has_to_fit(kind) else values.tolist()
        return pa.array(list(fitting), kind)
    data = data_of(values)
    if data.dtype.kind in "mM":
        unit = getattr(kind, "unit", "us")
        return pa.array(data.astype(f"{data.dtype.kind}8[{unit}]"), mask=null_of(values)).cast(kind)
    return pa.array(data, mask=mask_of(values)).cast(kind)


def _has_to_fit(kind: pa.DataType) -> bool:
    """Whether Arrow does not take Python's values unchanged."""
    types = pa.types
    odd = types.is_nested(kind) or types.is_decimal(kind) or types.is_binary(kind)
    return bool(odd or types.is_timestamp(kind) or types.is_duration(kind))
