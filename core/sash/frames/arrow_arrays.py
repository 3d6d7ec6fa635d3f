"""Results as Arrow arrays of a given type."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from sash.values.arrays import data_of, mask_of, null_of
from sash.values.columns import StructColumn
from sash.values.timestamps import ticks_of

__all__ = ["array_of"]

_WIDE = Context(prec=77)


def array_of(values: Any, kind: pa.DataType) -> pa.Array:
    """The results of an aggregate, an array or a tuple of one for each part, as Arrow's of type ``kind``. O(n)."""
    if isinstance(values, tuple):
        parts = [array_of(part, field.type) for part, field in zip(values, kind, strict=True)]
        null = StructColumn(values, [field.name for field in kind]).null
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=None if null is None else pa.array(null))
    if values.dtype == object:
        return pa.array([_plain(value, kind) for value in values.tolist()] if _odd(kind) else values.tolist(), kind)
    data = data_of(values)
    if data.dtype.kind in "mM":
        unit = getattr(kind, "unit", "us")
        return pa.array(data.astype(f"{data.dtype.kind}8[{unit}]"), mask=null_of(values)).cast(kind)
    return pa.array(data, mask=mask_of(values)).cast(kind)


def _odd(kind: pa.DataType) -> bool:
    """Whether Arrow does not take Python's values unchanged."""
    types = pa.types
    return bool(types.is_nested(kind) or types.is_decimal(kind) or types.is_binary(kind) or _is_time(kind))


def _is_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_duration(kind))


def _plain(value: Any, kind: pa.DataType) -> Any:
    """A result as Arrow takes it: structures as dicts, decimals with the places that the type has."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        parts = value.values() if isinstance(value, dict) else value
        return {field.name: _plain(part, field.type) for part, field in zip(parts, kind, strict=True)}
    if pa.types.is_list(kind):
        return [_plain(item, kind.value_type) for item in value]
    if _is_time(kind):
        return ticks_of(value, kind.unit)
    if pa.types.is_decimal(kind) and isinstance(value, Decimal | int):
        return Decimal(value).quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP, _WIDE)
    if pa.types.is_boolean(kind):
        return bool(value)
    return value.to_bytes() if hasattr(value, "estimated_count") else value
