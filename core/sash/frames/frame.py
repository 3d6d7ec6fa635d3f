"""A table of any kind: its columns as arrays, and results as a table of the same kind.

Python's own kinds are here: dicts of arrays or lists, whose columns may be of any library, and rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from sash.aggregations.base import Aggregation
from sash.frames.arrow_frame import ARROW
from sash.frames.library import Library
from sash.frames.pandas_frame import PANDAS
from sash.frames.polars_frame import POLARS
from sash.values.arrays import Array, Nan, array_of, in_micros, mask_of, objects, to_list
from sash.values.columns import Coded, Runs, StructColumn

__all__ = ["Declared", "Frame", "columns_of", "is_reader"]


class Declared(NamedTuple):
    """The type of results, known before any row; unless it is ``certain``, results that do not fit keep their own."""

    kind: Any
    certain: bool


class Frame:
    """The named columns of a table, converted on first use.

    ``len(frame)`` is its number of rows, ``frame[name]`` a column's array, ``frame.zone(name)`` its time zone.
    """

    def __init__(self, library: Library, data: Any, names: Iterable[str], nan: Nan = "null") -> None:
        self._library = library
        self._nan: Nan = nan
        self._data = data
        there = list(library.names(data))
        for name in (names := list(dict.fromkeys(names))):
            if name not in there:
                raise KeyError(f"column {name!r} is not in the data, which has {', '.join(map(repr, there)) or 'none'}")
        self._columns = {name: library.column(data, name) for name in names}
        sized = self._columns or {name: library.column(data, name) for name in there[:1]}
        lengths = {name: len(column) for name, column in sized.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"the columns are of different lengths: {lengths}")
        self._length = next(iter(lengths.values())) if lengths else len(data)
        self._arrays: dict[str, Array] = {}
        self._part_of: tuple[Frame, slice] | None = None

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, name: str) -> Array:
        if name not in self._arrays and self._part_of is not None:
            whole, rows = self._part_of
            self._arrays[name] = whole[name][rows]
        if name not in self._arrays:
            array = self._library.array(self._columns[name], self._nan)
            if array.ndim != 1:
                raise ValueError(f"column {name!r} must have one dimension; it has the shape {array.shape}")
            self._arrays[name] = array
        return self._arrays[name]

    @property
    def columns(self) -> dict[str, Array]:
        """All columns, in the order in which they were named."""
        return {name: self[name] for name in self._columns}

    def zone(self, name: str) -> str | None:
        """The time zone of a column; its array is in UTC then."""
        return self._library.zone(self._columns[name])

    def to_list(self, name: str) -> list[Any]:
        """A column as the Python values that rows hold, None for null, times in their zone. O(rows)."""
        return to_list(in_micros(self[name]), self.zone(name))

    def codes(self, name: str) -> Array | None:
        """Whole numbers that are equal where the column's values are, if its library computes them fast."""
        return self._library.codes(self._columns[name], self._nan)

    def take(self, name: str, rows: Array) -> Array:
        """A column's array at these rows only; costs no more than that many rows."""
        if name in self._arrays:
            return self._arrays[name][rows]
        return self._library.array(self._library.take(self._columns[name], rows), self._nan)

    def part(self, start: int, stop: int) -> Frame:
        """Some rows, as a frame of the same kind: arrays are views. O(columns)."""
        if start == 0 and stop == len(self):
            return self
        part = copy(self)
        part._arrays, part._length, part._part_of = {}, stop - start, (self, slice(start, stop))
        return part

    def objects(self, values: Array, like: str) -> Array:
        """Values as objects of the library, in the zone of the column ``like``: for columns of several types."""
        return self._library.objects_of(values, self._columns[like])

    def make(
        self,
        columns: Mapping[str, Any],
        like: Mapping[str, Any] | None = None,
        fields: Mapping[str, Any] | None = None,
        types: Mapping[str, Any] | None = None,
    ) -> Any:
        """A table of the same kind from arrays: O(rows), without a copy where the kind allows it.

        ``like`` says of which input column a result has the type, as far as its values fit: keys keep being categories
        or texts of a kind, timestamps get their zone back. A :class:`Coded` column is ``values[codes]``. A tuple of
        arrays is a structured column, whose parts ``fields`` names, by a named tuple or by names: a struct in Arrow and
        polars; named tuples in pandas, lists and rows; a structured array in a dict of arrays. Its ``like`` may be a
        tuple, with a column or None for each part. ``types`` are those of :meth:`result_type`: a value that does
        not fit is a TypeError.

        >>> import numpy as np
        >>> frame = columns_of({"plug": ["a", "b"], "load": [1, 2]}, ["plug"])
        >>> frame.make({"plug": np.array(["b"], object), "peak": np.array([2.5])})
        {'plug': ['b'], 'peak': [2.5]}
        """
        like, fields, types = like or {}, fields or {}, types or {}
        table = {}
        for name, values in columns.items():
            source = self._source(like.get(name))
            if isinstance(values, Coded):
                table[name] = self._make_coded(values, source)
            else:
                whole = StructColumn(values, fields[name]) if isinstance(values, tuple) else values
                table[name] = self._make_column(name, whole, source, types.get(name))
        return self._library.make_table(table, self._data, self._columns)

    def _make_coded(self, column: Coded, like: Any) -> Any:
        values, codes = column
        if isinstance(codes, Runs) and type(values) is np.ndarray and values.dtype.kind in "iuf":
            return self._library.make_column(codes.repeat(values), like)
        return self._library.take(self._library.make_column(values, like), np.asarray(codes))

    def _make_column(self, name: str, values: Any, like: Any, declared: Declared | None) -> Any:
        if declared is None:
            return self._make_undeclared(name, values, like)
        try:
            return self._library.make_column(values, like, declared.kind)
        except (TypeError, ValueError, OverflowError, NotImplementedError) as error:
            if not declared.certain:  # two samples did not show all types that results can have
                return self._make_undeclared(name, values, like)
            raise TypeError(
                f"aggregate {name!r} has a result that is not a {declared.kind}, the type of its column: {error}; cast "
                "what it reads to a wider type, such as a decimal or a float"
            ) from error

    def _make_undeclared(self, name: str, values: Any, like: Any) -> Any:
        try:
            return self._library.make_column(values, like)
        except (TypeError, ValueError, OverflowError, NotImplementedError) as error:
            raise TypeError(
                f"column {name!r}: no type was found for its results: {error}; pass rows instead of a table, or "
                "convert the column that the aggregate reads"
            ) from error

    def types(self, names: Iterable[str]) -> tuple[Any, ...]:
        """The kind of table and the types of some columns: what the types of results depend on. O(columns)."""
        columns = [self._columns[name] for name in names]
        types = [getattr(column, "dtype", getattr(column, "type", None)) for column in columns]
        return (_LIBRARIES.index(self._library), *types)

    def result_type(self, aggregation: Aggregation, certain: bool) -> Declared | None:
        """The type of an aggregation's results in the library; None: its columns do not imply one."""
        kind = self._library.result_type(aggregation, [self._columns[name] for name in aggregation.columns])
        return None if kind is None else Declared(kind, certain)

    def _source(self, like: Any) -> Any:
        return tuple(map(self._source, like)) if isinstance(like, tuple) else self._columns.get(like)

    @property
    def one_type(self) -> bool:
        """Whether all values of a column are of one type, so that it cannot hold numbers and times."""
        return self._library in (ARROW, POLARS)


def columns_of(data: Any, names: Iterable[str], nan: Nan = "null") -> Frame:
    """The named columns of a table of any kind (see :mod:`sash.frames`).

    ``nan`` says what NaN is in a pandas column of NumPy floats or of objects, which has no null of its own.

    >>> frame = columns_of([{"x": 1, "y": "a"}, {"x": None, "y": "b"}], ["x"])
    >>> len(frame), frame["x"]
    (2, masked_array(data=[1, --],
                 mask=[False,  True],
           fill_value=999999))
    """
    if nan not in ("null", "value"):
        raise ValueError(f"nan must be 'null' or 'value'; got {nan!r}")
    libraries = (PYTHON,) if type(data) is dict else _LIBRARIES
    library = next((library for library in libraries if library.is_table(data)), None)
    if library is None:
        raise TypeError(
            "data must be a DataFrame of pandas or polars, an Arrow table or what Arrow reads as one, a dict of "
            f"arrays, or rows, which are mappings; got {type(data).__name__}"
        )
    names = list(dict.fromkeys(names))  # the column of time may be aggregated, too
    return Frame(library, library.open_table(data, names), names, nan)


def is_reader(data: Any) -> bool:
    """Whether data is a stream of record batches, such as a ``pyarrow.RecordBatchReader``. O(1)."""
    return ARROW.is_reader(data)


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
_LIBRARIES: tuple[Library, ...] = (PANDAS, POLARS, ARROW, PYTHON)  # Arrow reads the frames of others too
