"""Columns as users have them, made ready for the kernels: types, nulls, timestamps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sash.aggregations.base import Aggregation
from sash.values.arrays import in_micros, objects, to_list

__all__ = ["Array", "InputColumns", "as_columns", "as_kernel_columns", "as_result", "output_arrays", "readable"]

Array = np.ndarray[Any, Any]


class InputColumns(NamedTuple):
    """Arrays of one length, which rows are null (None: none is), and the type that results are to have."""

    arrays: tuple[Array, ...]
    nulls: Array | None
    result_type: np.dtype[Any] | None

    @property
    def dtypes(self) -> tuple[np.dtype[Any], ...]:
        return tuple(array.dtype for array in self.arrays)

    def part(self, rows: slice) -> InputColumns:
        """Some of the rows."""
        nulls = None if self.nulls is None else self.nulls[rows]
        return self._replace(arrays=tuple(array[rows] for array in self.arrays), nulls=nulls)


def as_columns(aggregation: Aggregation, values: Sequence[Any], mask: Any) -> InputColumns:
    """Check what the user gave and name what is wrong with it."""
    if len(values) != aggregation.arity:
        many = f"{aggregation.arity} column{'s' * (aggregation.arity != 1)}"
        raise TypeError(f"{aggregation!r} reads {many}, given as a tuple of arrays; got {len(values)}")
    masks = [np.asarray(mask, dtype=bool)] if mask is not None else []
    arrays: list[Array] = []
    for place, column in enumerate(values):
        array = np.asanyarray(column)
        if array.ndim != 1:
            raise ValueError(f"column {place} must have one dimension; it has the shape {array.shape}")
        skips = place not in aggregation.carried
        if skips and isinstance(array, np.ma.MaskedArray) and array.mask is not np.ma.nomask:
            masks.append(np.ma.getmaskarray(array))
        elif isinstance(array, np.ma.MaskedArray) and array.mask.any():  # a null that is carried along is a value
            array = array.filled(np.array("NaT", array.dtype)) if array.dtype.kind in "mM" else objects(array.tolist())
        array = np.asarray(array)
        if skips and array.dtype.kind in "mM" and np.isnat(array).any():
            masks.append(np.isnat(array))
        arrays.append(_values(aggregation, array, place))
    lengths = {len(array) for array in [*arrays, *masks]}
    if len(lengths) > 1:
        raise ValueError(f"columns and mask must be of one length; got {sorted(lengths)}")
    skips = aggregation.arity > 1 or aggregation.lift(None) is None  # else it counts rows, null or not
    null = np.logical_or.reduce(masks) if masks and skips else None
    kept = null if null is not None and null.any() else None
    return InputColumns(tuple(arrays), kept, _result_type(aggregation, values))


def as_kernel_columns(aggregation: Aggregation, columns: InputColumns) -> InputColumns:
    """Columns as compiled functions take them: booleans as numbers, unless the functions tell them apart."""
    if aggregation.lifts_booleans or aggregation.result_column is not None:
        return columns
    arrays = [array.view(np.uint8) if array.dtype == np.bool_ else array for array in columns.arrays]
    return columns._replace(arrays=tuple(arrays))


def _values(aggregation: Aggregation, array: Array, place: int) -> Array:
    """Numbers of a type that kernels know; timestamps as the integers that they are made of, or as rows have them."""
    if array.dtype.kind == "M" and place in aggregation.time_columns:
        return array.astype("datetime64[ns]").view(np.int64)
    if array.dtype.kind in "mM":
        if not aggregation.takes_ticks:
            return objects(to_list(in_micros(array)))
        native = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
        return native.view(np.int64)
    if array.dtype == np.float16:
        return array.astype(np.float32)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _result_type(aggregation: Aggregation, values: Sequence[Any]) -> np.dtype[Any] | None:
    if aggregation.result_column is None:
        kind = np.asanyarray(values[0]).dtype.kind
        # kernels hold the halves of an unsigned sum in signed integers, the bits are the same
        return np.dtype(np.uint64) if kind == "u" and aggregation.columnar(kind, True).guarded else None
    dtype = np.asanyarray(values[aggregation.result_column]).dtype
    return dtype if dtype.kind in "mM" else None


def output_arrays(
    out: Any, dtypes: Sequence[np.dtype[Any]], windows: int, result_type: np.dtype[Any] | None, guarded: bool
) -> tuple[Array, ...]:
    """The arrays for kernels to fill: new ones, or the user's ``out``."""
    if out is None:
        # each a little further on in its page: arrays written in step would drive each other out of the cache
        return tuple(np.empty(windows + place * 152, dtype)[place * 152 :] for place, dtype in enumerate(dtypes))
    arrays = out if isinstance(out, tuple) else (out,)
    wanted = list(dtypes)[:-1] if guarded else list(dtypes)
    if len(arrays) != len(wanted):
        raise TypeError(f"out must have {len(wanted)} arrays, as many as a result has; got {len(arrays)}")
    for array, dtype in zip(arrays, wanted, strict=True):
        right = dtype if result_type is None else result_type
        if not isinstance(array, np.ndarray) or array.dtype != right or array.shape != (windows,):
            raise TypeError(f"out must be of the type {right} and the shape ({windows},), as the result is")
        if not (array.flags.c_contiguous and array.flags.writeable):
            raise ValueError("out must be contiguous and writeable")
    views = tuple(array.view(dtype) for array, dtype in zip(arrays, wanted, strict=True))
    return (*views, np.empty(windows, dtypes[-1])) if guarded else views


def as_result(
    aggregation: Aggregation, out: Sequence[Array], nulls: Array, kind: np.dtype[Any] | None, guarded: bool
) -> Any:
    """The arrays that kernels filled as the user gets them."""
    if guarded:
        *out, beyond = out
        if len(nulls):
            beyond &= ~nulls
        if beyond.any():
            raise OverflowError(
                f"{aggregation!r}: result {int(beyond.argmax())} of this call does not fit {kind or out[0].dtype}; "
                "convert the column to float64"
            )
    parts = [array.view(kind) if kind is not None else array for array in out]
    if nulls.any():
        if aggregation.empty is not None:
            for part in parts:
                part[nulls] = aggregation.empty
        else:
            parts = [np.ma.MaskedArray(part, nulls) for part in parts]
    return tuple(parts) if aggregation.fields or len(parts) > 1 else parts[0]


class _Lent:
    """The memory of an array that is read-only, as if it were not: to kernels that do not write to it."""

    def __init__(self, array: Array) -> None:
        self.array = array
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


def readable(array: Array, dtype: Any = None) -> Array:
    """The array as kernels are compiled for: contiguous, and not marked as read-only, which to Numba is another type.

    It is the array itself if it can be, and no copy if it is just read-only, as Arrow's are.

    >>> frozen = np.arange(3)
    >>> frozen.flags.writeable = False
    >>> readable(frozen).flags.writeable, np.shares_memory(readable(frozen), frozen)
    (True, True)
    """
    array = np.ascontiguousarray(array, dtype)
    return array if array.flags.writeable else np.asarray(_Lent(array))
