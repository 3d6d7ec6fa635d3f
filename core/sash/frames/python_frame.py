"""Dicts of arrays or lists, and rows. A column of a dict may be one of any library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sash.frames.arrow_frame import ARROW
from sash.frames.library import Library
from sash.frames.pandas_frame import PANDAS
from sash.frames.polars_frame import POLARS
from sash.values.arrays import Array, Nan, array_of, in_micros, mask_of, objects, to_list
from sash.values.columns import StructColumn

__all__ = ["PYTHON"]


class Rows(dict[str, list[Any]]):
    """The columns of rows."""


class _Python(Library):
    def is_table(self, data: Any) -> bool:
        return isinstance(data, Mapping) or (
            isinstance(data, Iterable) and not isinstance(data, str | bytes | np.ndarray)
        )

    def is_column(self, column: Any) -> bool:
        return self._library_of(column) is None

    def open_table(self, data: Any, names: Sequence[str]) -> Any:
        """A mapping unchanged; rows as columns of these names, in one pass."""
        if isinstance(data, Mapping):
            return data
        columns: Rows = Rows({name: [] for name in names})
        size = 0
        for size, row in enumerate(data, 1):
            try:
                for name in names:
                    columns[name].append(row[name])
            except (KeyError, TypeError, IndexError):
                if not isinstance(row, Mapping):
                    raise TypeError(
                        f"row {size - 1} must be a mapping of column names to values; got {row!r}"
                    ) from None
                missing = next(name for name in names if name not in row)
                raise KeyError(
                    f"row {size - 1} has no column {missing!r}; it has {', '.join(map(repr, row))}"
                ) from None
        if not names:
            columns[""] = [None] * size  # holds the number of rows
        return columns

    def names(self, data: Mapping[str, Any]) -> Iterable[str]:
        return data.keys()

    def column(self, data: Any, name: str) -> Any:
        values = data[name]
        if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__"):
            raise TypeError(f"column {name!r} must be an array or a list; got {values!r}")
        return values

    def _library_of(self, column: Any) -> Any:
        """The module of the library that a column is of, if it is of one."""
        if isinstance(column, np.ndarray | list | tuple | range):
            return None
        return next((library for library in (PANDAS, ARROW, POLARS) if library.is_column(column)), None)

    def array(self, column: Any, nan: Nan = "null") -> Array:
        library = self._library_of(column)
        if library is None and isinstance(column, list | tuple | range):
            return array_of(column)
        values: Array = np.asanyarray(column) if library is None else library.array(column, nan)
        return values

    def zone(self, column: Any) -> str | None:
        library = self._library_of(column)
        name: str | None = None if library is None else library.zone(column)
        return name

    def take(self, column: Any, rows: Array) -> Any:
        library = self._library_of(column)
        return self.array(column)[rows] if library is None else library.take(column, rows)

    def codes(self, column: Any, nan: Nan = "null") -> Array | None:
        library = self._library_of(column)
        known: Array | None = None if library is None else library.codes(column, nan)
        return known

    def objects_of(self, values: Array, like: Any) -> Array:
        """Python's own values, or NumPy's where Python has none, in the zone of ``like``."""
        name = self.zone(like)
        return objects(to_list(values if name is None else in_micros(values), name))

    def make_column(self, values: Array | StructColumn, like: Any, kind: Any = None) -> Any:
        """An array, in the zone of the column that it is like; :func:`make_table` turns it into lists and rows."""
        name = None if like is None or isinstance(like, tuple) else self.zone(like)
        if isinstance(values, StructColumn):
            return values.in_zone(name)
        return values if name is None else objects(to_list(values, name))

    def make_table(self, columns: dict[str, Any], data: Any, sources: dict[str, Any]) -> Any:
        if isinstance(data, Rows):
            lists = [_list(values) for values in columns.values()]
            return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]
        if all(isinstance(values, list | tuple | range) for values in (sources or data).values()):
            return {name: _list(values) for name, values in columns.items()}
        return {name: _arrays(values) for name, values in columns.items()}


def _list(values: Array | StructColumn) -> list[Any]:
    return values.rows() if isinstance(values, StructColumn) else to_list(values)


def _arrays(column: Array | StructColumn) -> Array:
    """One array: of several parts, one with a field a part, masked where there is no result."""
    if not isinstance(column, StructColumn):
        return column
    named = list(zip(column.names, column.arrays, strict=True))
    whole: Array = np.empty(len(column.arrays[0]), [(name, part.dtype) for name, part in named])
    null: Array = np.zeros(len(whole), [(name, bool) for name in column.names])
    for name, part in named:
        whole[name], mask = np.asarray(part), mask_of(part)
        null[name] = False if mask is None else mask
    if not any(null[name].any() for name in column.names):
        return whole
    return np.ma.MaskedArray(whole, null)  # type: ignore[no-untyped-call]


PYTHON = _Python()
