"""Columns as plain parts in few bytes: numbers in a narrow type, times as small steps.

Reading never makes an array that is much longer than what is written: a column that is one number for all rows says so
by that number alone, so its length has to come from a column that is written in full.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.state.envelope import StateError
from sash.state.lane_state import SliceColumns, TupleColumns
from sash.values.arrays import Array, data_of, mask_of, with_nulls
from sash.values.columns import PartialColumn

__all__ = [
    "column_parts",
    "constant_or_packed",
    "pack",
    "read_column",
    "read_constant",
    "read_slices",
    "read_tuples",
    "slice_parts",
    "tuple_parts",
    "unpack",
]

_FEW = 4
"""So many numbers take fewer bytes as they are."""
_NARROW = [(np.uint8, 2**8), (np.uint16, 2**16), (np.uint32, 2**32)]


# arrays of numbers


def pack(array: Array) -> Any:
    """An array as it is, or, of whole numbers close to each other, their least and what they are above it. O(n)."""
    if array.dtype != np.int64 or len(array) < _FEW:
        return array
    least, most = int(array.min()), int(array.max())
    for dtype, size in _NARROW:
        if most - least < size:
            return least, (array - least).astype(dtype)
    return array


def unpack(written: Any) -> Array:
    """The array that :func:`pack` was given."""
    if isinstance(written, tuple):
        least, above = written
        return np.asarray(above.astype(np.int64) + least)
    if not isinstance(written, np.ndarray):
        raise StateError("the saved state is damaged: a column is of another kind")
    return written


def constant_or_packed(array: Array) -> Any:
    """As :func:`pack`; if all are the same number, that number."""
    if len(array) and array.dtype in (np.int64, np.float64):
        bits = array.view(np.int64)
        if len(array) == 1 or (bits == bits[0]).all():
            return array[0].item()
    return pack(array)


def read_constant(written: Any, size: int) -> Array:
    """The array that :func:`constant_or_packed` was given."""
    array = np.full(size, written) if isinstance(written, int | float) else unpack(written)
    if len(array) != size:
        raise StateError("the saved state is damaged: a column is not as long as it says")
    return array


def _steps(times: Array, begins: Array) -> tuple[Any, ...]:
    """Times of keys' slices, which lie close together: where each key begins, and small steps."""
    if times.dtype != np.int64 or len(times) < _FEW:
        return (times,)
    filled = begins[:-1][begins[:-1] < begins[1:]]
    steps = np.diff(times, prepend=times[:1])
    steps[filled] = 0
    most = max(-int(steps.min()), int(steps.max()))
    for dtype in (np.int8, np.int16, np.int32):
        if most <= np.iinfo(dtype).max:
            return pack(times[filled]), steps.astype(dtype)
    return (times,)


def _read_steps(written: tuple[Any, ...], sizes: Array) -> Array:
    steps = written[-1]
    if (len(sizes) and not 0 <= sizes.min() <= sizes.max() <= len(steps)) or int(sizes.sum()) != len(steps):
        raise StateError("the saved state is damaged: columns of its slices are of different lengths")
    if len(written) == 1:
        return unpack(steps)
    upto, filled = np.cumsum(steps, dtype=np.int64), sizes[sizes > 0]
    return np.asarray(upto + np.repeat(unpack(written[0]) - upto[np.cumsum(filled) - filled], filled))


# partials


def column_parts(column: PartialColumn) -> tuple[Any, ...]:
    """A column of partials."""
    every = bool(column.arrays) and bool(column.valid.all())
    bits = None if every else np.packbits(column.valid).tobytes()
    return len(column), bits, column.shape, [pack(array) for array in column.arrays], column.objects


def read_column(written: tuple[Any, ...]) -> PartialColumn:
    """The column that :func:`column_parts` was given."""
    size, bits, shape, arrays, held = written
    arrays = tuple(map(unpack, arrays))
    full = [*map(len, arrays), *([] if held is None else [len(held)])]
    if any(length != size for length in full) or (bits is None and not full):
        raise StateError("the saved state is damaged: a column is not as long as it says")
    if bits is not None and len(bits) != (size + 7) // 8:
        raise StateError("the saved state is damaged: a column is not as long as it says")
    there = np.ones(size, np.bool_)
    if bits is not None:
        there = np.unpackbits(np.frombuffer(bits, np.uint8), count=size).astype(np.bool_)
    return PartialColumn(there, shape, arrays, held)


# tuples and slices


def tuple_parts(tuples: TupleColumns) -> Any:
    """Tuples that wait or are kept; None if there are none."""
    if not len(tuples):
        return None
    columns = {name: (pack(data_of(column)), mask_of(column)) for name, column in tuples.columns.items()}
    return pack(tuples.codes), pack(tuples.times), columns


def read_tuples(written: Any) -> TupleColumns:
    """The tuples that :func:`tuple_parts` was given."""
    if written is None:
        return TupleColumns.none()
    codes, times = unpack(written[0]), unpack(written[1])
    columns = {name: with_nulls(unpack(data), mask) for name, (data, mask) in written[2].items()}
    if {len(codes)} != {len(times), *map(len, columns.values()), len(codes)}:
        raise StateError("the saved state is damaged: columns of tuples are of different lengths")
    return TupleColumns(codes, times, columns)


def slice_parts(slices: SliceColumns, sizes: Array) -> tuple[Any, ...]:
    """Slices; ``sizes`` is how many each key has."""
    first, last = slices.first, slices.last
    whole = first.dtype == last.dtype == np.int64
    return (
        constant_or_packed(sizes),
        _steps(first, np.concatenate([[0], np.cumsum(sizes)])),
        constant_or_packed(last - first) if whole else None if np.array_equal(first, last) else (last,),
        constant_or_packed(slices.count),
        [column_parts(column) for column in slices.partials],
        slices.dtypes,
        tuple_parts(slices.kept),
    )


def read_slices(written: tuple[Any, ...], keys: int) -> SliceColumns:
    """The slices that :func:`slice_parts` was given, of so many keys."""
    sizes, steps, last, count, partials, dtypes, kept = written
    sizes = read_constant(sizes, keys)
    first = _read_steps(steps, sizes)
    size = len(first)
    if last is None:
        last = first
    elif isinstance(last, tuple) and len(last) == 1:
        last = unpack(last[0])
    else:
        last = first + read_constant(last, size)
    codes = np.repeat(np.arange(keys), sizes)
    columns = tuple(map(read_column, partials))
    return SliceColumns(codes, first, last, read_constant(count, size), columns, dtypes, read_tuples(kept))
