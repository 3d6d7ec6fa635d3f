"""Columns of more than one array: distinct values with codes, results of several parts, and partials."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sash.values.arrays import Array, null_of, number_array, objects, to_list

__all__ = ["Coded", "PartialColumn", "Runs", "StructColumn", "plain_rows", "unpack"]


class Runs:
    """Codes in ascending order, as how often each comes. The array is made where it is needed: O(n).

    >>> np.asarray(Runs(np.array([2, 0, 1])))
    array([0, 0, 2])
    """

    dtype = np.dtype(np.int64)

    def __init__(self, counts: Array) -> None:
        self.counts = counts

    @staticmethod
    def of(codes: Array | Runs, size: int) -> Runs:
        """Codes below ``size`` that ascend, as runs. O(n)."""
        return codes if isinstance(codes, Runs) else Runs(np.bincount(codes, minlength=size))

    @staticmethod
    def concatenate(parts: Sequence[Any]) -> Runs:
        """Runs whose codes go on from part to part. O(codes)."""
        return Runs(np.concatenate([runs.counts for runs in parts]))

    def __len__(self) -> int:
        return int(self.counts.sum())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def tolist(self) -> list[int]:
        """The codes as a list. O(n)."""
        codes: list[int] = np.asarray(self).tolist()
        return codes

    def repeat(self, values: Array) -> Array:
        """The value of each code. O(n)."""
        return np.repeat(values, self.counts)


class Coded(NamedTuple):
    """A column of few distinct values, such as a key's: ``values[codes]``, which each library builds in its own way."""

    values: Array
    codes: Array | Runs


class StructColumn(NamedTuple):
    """A column whose results have several parts: one array a part.

    ``fields`` is the named tuple that a result is in rows, or the names of its parts.

    >>> column = StructColumn((np.array([1, 2]), np.array(["a", "b"], object)), ("count", "plug"))
    >>> column.names, column.rows()
    (['count', 'plug'], [Result(count=1, plug='a'), Result(count=2, plug='b')])
    """

    arrays: tuple[Array, ...]
    fields: Any

    @property
    def names(self) -> list[str]:
        """The names of the parts."""
        return list(getattr(self.fields, "_fields", self.fields))

    @property
    def null(self) -> Array | None:
        """Where all parts are null, so that there is no result; None: nowhere. O(n)."""
        masks = [mask for array in self.arrays if (mask := null_of(array)) is not None]
        return np.asarray(np.logical_and.reduce(masks)) if len(masks) == len(self.arrays) else None

    def in_zone(self, zone: str | None) -> StructColumn:
        """The column with times as datetimes in a zone. O(n)."""
        if zone is None:
            return self
        arrays = (objects(to_list(part, zone)) if part.dtype.kind == "M" else part for part in self.arrays)
        return StructColumn(tuple(arrays), self.fields)

    def rows(self) -> list[Any]:
        """The results as named tuples, None where there is none. O(n)."""
        result: Any = self.fields if isinstance(self.fields, type) else namedtuple("Result", self.fields)
        rows = [result(*values) for values in zip(*map(to_list, self.arrays), strict=True)]
        null = self.null
        return rows if null is None else [None if no else row for row, no in zip(rows, null, strict=True)]


def plain_rows(array: Array) -> list[Any]:
    """A list in which named tuples are dicts: how Arrow and polars take structures. O(n)."""
    values: list[Any] = array.tolist()
    if hasattr(next((value for value in values if value is not None), None), "_asdict"):
        return [value._asdict() if hasattr(value, "_asdict") else value for value in values]
    return values


@dataclass(eq=False)
class PartialColumn:
    """The partials of one aggregate, as its ``combine`` takes them, one a slice.

    Partials that are numbers, or perhaps nested tuples of numbers, all of one shape, are held as one array a number:
    ``shape`` is nested likewise, with "q" (whole), "d" (float) or "?" (bool) for each number, and ``valid`` is False
    where the partial is None. Otherwise ``shape`` is None and ``objects`` holds the partials unchanged.

    >>> column = PartialColumn.of([(1, 2.5), None, (3, 0.0)])
    >>> column.shape, column.arrays[0].tolist()
    (('q', 'd'), [1, 0, 3])
    >>> column[1:].to_list()
    [None, (3, 0.0)]
    """

    valid: Array
    shape: Any = None
    arrays: tuple[Array, ...] = ()
    objects: list[Any] | None = None

    @staticmethod
    def of(partials: Sequence[Any]) -> PartialColumn:
        """The column of partials, whatever they are. O(n), as all methods but ``len``."""
        valid = np.array([partial is not None for partial in partials], np.bool_)
        real = [partial for partial in partials if partial is not None]
        try:
            shape, packed = _pack(real)
        except _Shapeless:
            return PartialColumn(valid, objects=list(partials))
        return PartialColumn(valid, shape, tuple(_spread(array, valid) for array in packed))

    def to_list(self) -> list[Any]:
        """The partials that it holds, with their types."""
        if self.objects is not None:
            return list(self.objects)
        rows = unpack(self.shape, iter([array[self.valid].tolist() for array in self.arrays]), int(self.valid.sum()))
        if self.valid.all():
            return rows
        real = iter(rows)
        return [next(real) if valid else None for valid in self.valid.tolist()]

    @staticmethod
    def concatenate(columns: Sequence[PartialColumn]) -> PartialColumn:
        """Several columns as one, in their order; of objects if their shapes differ."""
        shapes = {column.shape for column in columns if column.valid.any()}
        if len(shapes) != 1 or None in shapes:
            return PartialColumn.of([partial for column in columns for partial in column.to_list()])
        like = next(column for column in columns if column.valid.any())
        filled = [column if column.shape == like.shape else _empty_like(like, len(column)) for column in columns]
        arrays = (np.concatenate(parts) for parts in zip(*(column.arrays for column in filled), strict=True))
        return PartialColumn(np.concatenate([column.valid for column in columns]), like.shape, tuple(arrays))

    def __len__(self) -> int:
        return len(self.valid)

    def __getitem__(self, which: slice | Array) -> PartialColumn:
        """The partials of a slice, or those at the positions in an array, or where it is True."""
        valid, arrays = self.valid[which], tuple(array[which] for array in self.arrays)
        if self.objects is None:
            return PartialColumn(valid, self.shape, arrays)
        if isinstance(which, slice):
            return PartialColumn(valid, objects=self.objects[which])
        return PartialColumn(valid, objects=[self.objects[i] for i in np.arange(len(self))[which]])

    def __eq__(self, other: object) -> bool:
        """Whether it holds the same partials, to the bit, in the same way."""
        if not isinstance(other, PartialColumn):
            return NotImplemented
        if self.shape != other.shape or self.objects != other.objects or not np.array_equal(self.valid, other.valid):
            return False
        pairs = zip(self.arrays, other.arrays, strict=True)
        return all(a[self.valid].tobytes() == b[self.valid].tobytes() for a, b in pairs)

    __hash__ = None  # type: ignore[assignment]  # it can change, as arrays can


class _Shapeless(Exception):
    """Partials that are not numbers of one shape."""


def _pack(values: list[Any]) -> tuple[Any, list[Array]]:
    """The shape that all values have, and an array for each number in it."""
    if set(map(type, values)) == {tuple} and len(set(map(len, values))) == 1:
        parts = [_pack(list(part)) for part in zip(*values, strict=True)]
        return tuple(shape for shape, _ in parts), [array for _, arrays in parts for array in arrays]
    array = number_array(values)
    if array is None:
        raise _Shapeless
    return array.dtype.char.replace("l", "q"), [array]


def _spread(packed: Array, valid: Array) -> Array:
    """The array with zeros where there is no partial."""
    if len(packed) == len(valid):
        return packed
    array = np.zeros(len(valid), packed.dtype)
    array[valid] = packed
    return array


def unpack(shape: Any, lists: Iterator[list[Any]], size: int) -> list[Any]:
    """The ``size`` partials of a shape whose numbers are in ``lists``, one a number. O(n)."""
    if isinstance(shape, str):
        return next(lists)
    parts = [unpack(part, lists, size) for part in shape]
    return list(zip(*parts, strict=True)) if parts else [()] * size


def _empty_like(column: PartialColumn, size: int) -> PartialColumn:
    arrays = tuple(np.zeros(size, array.dtype) for array in column.arrays)
    return PartialColumn(np.zeros(size, np.bool_), column.shape, arrays)
