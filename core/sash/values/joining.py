"""Columns of different types, joined without a change of any value."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.values.arrays import data_of, in_micros, objects, to_list

__all__ = ["OBJECT", "as_objects", "both", "joined"]

Array = np.ndarray[Any, Any]
OBJECT = np.dtype(object)


def both(dtype: np.dtype[Any], column: Array) -> np.dtype[Any]:
    """The type that holds values of a type and those of a further column; objects if a value would change in it."""
    if dtype == column.dtype:
        return dtype
    kinds = {dtype.kind, column.dtype.kind}
    if len(kinds) > 1 and kinds & set("bmM"):  # NumPy would take True for 1, and 1 for a duration
        return OBJECT
    try:
        joint = np.promote_types(dtype, column.dtype)
    except TypeError:
        return OBJECT
    if joint.kind == "f" and "f" not in kinds:
        return OBJECT
    return OBJECT if joint.kind == "f" and not _exact(column, joint) else joint


def _exact(column: Array, dtype: np.dtype[Any]) -> bool:
    """Whether floats hold all values of a column."""
    data = data_of(column)
    if data.dtype.kind == "f" or not len(data):
        return True
    most = 2 ** (np.finfo(dtype).nmant + 1)
    return bool(-most <= int(data.min()) and int(data.max()) <= most)


def joined(a: Array, b: Array) -> Array:
    """Two columns, one after the other, without a change of any value."""
    if OBJECT in (both(a.dtype, b), both(b.dtype, a)):
        return np.concatenate([as_objects(a), as_objects(b)])
    masked: Any = np.ma
    whole: Array = masked.concatenate([a, b])
    return whole if isinstance(a, masked.MaskedArray) or isinstance(b, masked.MaskedArray) else np.asarray(whole)


def as_objects(column: Array) -> Array:
    """A column's values as Python objects."""
    return objects(to_list(in_micros(column)))
