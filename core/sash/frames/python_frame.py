"""Dicts of arrays or lists, and rows. A column of a dict may be one of any library's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation
from sash.frames import arrow_frame, pandas_frame, polars_frame
from sash.values.arrays import Array, Nan, Parts, array_of, in_micros, mask_of, objects, to_list

_LIBRARIES: tuple[Any, ...] = (pandas_frame, arrow_frame, polars_frame)


class Rows(dict[str, list[Any]]):
    """The columns of rows."""


def is_table(data: Any) -> bool:
    return isinstance(data, Mapping) or (isinstance(data, Iterable) and not isinstance(data, str | bytes | np.ndarray))


def opened(data: Any, names: Sequence[str]) -> Any:
    """A mapping as it is; rows as columns of those names, in one pass over them."""
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
                raise TypeError(f"row {size - 1} must be a mapping of column names to values; got {row!r}") from None
            missing = next(name for name in names if name not in row)
            raise KeyError(f"row {size - 1} has no column {missing!r}; it has {', '.join(map(repr, row))}") from None
    if not names:
        columns[""] = [None] * size  # which is how many there are
    return columns


def names(data: Mapping[str, Any]) -> Iterable[str]:
    return data.keys()


def column(data: Any, name: str) -> Any:
    values = data[name]
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__"):
        raise TypeError(f"column {name!r} must be an array or a list; got {values!r}")
    return values


def _library_of(column: Any) -> Any:
    """The module that knows this column of a dict, if it is of a library."""
    return next((library for library in _LIBRARIES if library.is_column(column)), None)


def array(column: Any, nan: Nan = "null") -> Array:
    library = _library_of(column)
    if library is None and isinstance(column, list | tuple | range):
        return array_of(column)
    found: Array = np.asanyarray(column) if library is None else library.array(column, nan)
    return found


def zone(column: Any) -> str | None:
    library = _library_of(column)
    found: str | None = None if library is None else library.zone(column)
    return found


def take(column: Any, rows: Array) -> Any:
    library = _library_of(column)
    return array(column)[rows] if library is None else library.take(column, rows)


def codes(column: Any, nan: Nan = "null") -> Array | None:
    library = _library_of(column)
    found: Array | None = None if library is None else library.codes(column, nan)
    return found


def objects_of(values: Array, like: Any) -> Array:
    """Python's own values, or NumPy's where Python has none, in the zone of ``like``."""
    name = zone(like)
    return objects(to_list(values if name is None else in_micros(values), name))


def declared(aggregation: Aggregation, columns: Sequence[Any]) -> Any:
    """Nothing: lists have no types, and arrays take those of the results."""
    return None


def make_column(values: Array | Parts, like: Any, kind: Any = None) -> Any:
    """An array, in the zone of the column that it is like: lists and rows are made of it by :func:`make_table`."""
    name = None if like is None or isinstance(like, tuple) else zone(like)
    if isinstance(values, Parts):
        return values.in_zone(name)
    return values if name is None else objects(to_list(values, name))


def make_table(columns: dict[str, Any], data: Any, sources: dict[str, Any]) -> Any:
    if isinstance(data, Rows):
        lists = [_list(values) for values in columns.values()]
        return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]
    if all(isinstance(values, list | tuple | range) for values in (sources or data).values()):
        return {name: _list(values) for name, values in columns.items()}
    return {name: _structured(values) if isinstance(values, Parts) else values for name, values in columns.items()}


def _list(values: Array | Parts) -> list[Any]:
    return values.rows() if isinstance(values, Parts) else to_list(values)


def _structured(parts: Parts) -> Array:
    """One array with a field a part, masked where there is no result."""
    kinds = [(name, part.dtype) for name, part in zip(parts.type._fields, parts.arrays, strict=True)]
    masks = [mask_of(part) for part in parts.arrays]
    whole: Array = np.empty(len(parts.arrays[0]), kinds)
    null: Any = np.zeros(len(whole), [(name, bool) for name in parts.type._fields])
    for name, part, mask in zip(parts.type._fields, parts.arrays, masks, strict=True):
        whole[name] = np.asarray(part)
        if mask is not None:
            null[name] = mask
    if all(mask is None for mask in masks):
        return whole
    return np.ma.MaskedArray(whole, null)  # type: ignore[no-untyped-call]
