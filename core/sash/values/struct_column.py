"""Columns that are more than one array: of distinct values and codes, and of several parts."""

from __future__ import annotations

from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np

from sash.values.arrays import Array, null_of, objects, to_list

__all__ = ["Coded", "StructColumn", "plain_rows"]


class Coded(NamedTuple):
    """A column of few distinct values, such as a key's: ``values[codes]``, which each library builds in its own way."""

    values: Array
    codes: Array


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
