"""DataFrames of pandas, and its types in Python's terms.

Results have types of the same family as their columns: NumPy's, or the nullable ones.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from sash.aggregations import Count, MaxCount, MinCount
from sash.aggregations.base import Aggregation
from sash.frames.arrow_frame import ARROW
from sash.frames.library import Library, LibraryTypes, Shape
from sash.values.arrays import (
    OBJECT,
    Array,
    Nan,
    array_of,
    data_of,
    in_unit,
    mask_of,
    narrow,
    objects,
    to_list,
    with_nulls,
)
from sash.values.columns import StructColumn
from sash.values.timestamps import zone_name, zone_of

__all__ = ["PANDAS"]

_PYTHON_TYPES = {"b": bool, "i": int, "u": int, "f": float, "M": datetime, "m": timedelta}


class _Pandas(Library):
    package = "pandas"

    @property
    def types(self) -> _PandasTypes:
        return _PandasTypes()

    def is_table(self, data: Any) -> bool:
        pd = self.module
        return pd is not None and isinstance(data, pd.DataFrame)

    def is_column(self, column: Any) -> bool:
        pd = self.module
        return pd is not None and isinstance(column, pd.Series | pd.Index | pd.api.extensions.ExtensionArray)

    def names(self, data: Any) -> Iterable[str]:
        return [*data.columns, *(name for name in data.index.names if name is not None)]

    def column(self, data: Any, name: str) -> Any:
        if name not in data.columns:
            return data.index.get_level_values(name).to_series()
        if data[name].ndim > 1:
            raise ValueError(f"column {name!r} is in the data more than once")
        return data[name]

    def array(self, column: Any, nan: Nan = "null") -> Array:
        """NaN is null where a column has no other null (NumPy's floats and objects), unless ``nan`` is "value"."""
        pd = self.module
        column = column if isinstance(column, pd.Series) else pd.Series(column)
        kind = column.dtype
        if isinstance(kind, np.dtype) and kind.kind != "O":
            values = np.asarray(column)
            return with_nulls(values, np.isnan(values)) if kind.kind == "f" and nan == "null" else values
        if isinstance(kind, pd.CategoricalDtype):
            return self._of_categories(column)
        if isinstance(kind, pd.DatetimeTZDtype):
            return np.asarray(column.dt.tz_convert("UTC").dt.tz_localize(None))
        if isinstance(kind, pd.ArrowDtype):
            return ARROW.array(_arrow(column.array))
        nulls = np.asarray(column.isna())
        number = getattr(kind, "numpy_dtype", None)
        if number is not None and number.kind in "biuf":
            return with_nulls(column.to_numpy(number, na_value=number.type(0)), nulls)
        values = np.asarray(column, object).copy()  # pandas may hand out its own array, even to np.array
        if nan == "value" and kind == np.dtype(object):
            nulls &= ~np.fromiter(map(_is_nan, values), np.bool_, len(values))
        values[nulls] = None
        return values

    def _of_categories(self, column: Any) -> Array:
        codes = np.asarray(column.cat.codes)
        values = self.array(column.cat.categories)
        if not len(values):
            return objects([None] * len(codes))
        column_values: Array = values[codes]
        nulls = codes < 0
        if values.dtype.kind not in "OmM":
            return with_nulls(column_values, nulls)
        column_values[nulls] = None
        return column_values

    def zone(self, column: Any) -> str | None:
        pd = self.module
        kind = column.dtype
        if isinstance(kind, pd.DatetimeTZDtype):
            return zone_name(pd.Timestamp(0, tz="UTC").tz_convert(kind.tz))
        return getattr(kind.pyarrow_dtype, "tz", None) if isinstance(kind, pd.ArrowDtype) else None

    def take(self, column: Any, rows: Array) -> Any:
        pd = self.module
        return pd.Series(pd.Series(column).array.take(rows))

    def codes(self, column: Any, nan: Nan = "null") -> Array | None:
        """The codes of categories, or of the hash table of objects, in C; -1 for null. Numbers have a faster way."""
        pd = self.module
        if isinstance(column.dtype, pd.ArrowDtype):
            return ARROW.codes(_arrow(column.array))
        if isinstance(column.dtype, pd.CategoricalDtype):
            return np.asarray(pd.Series(column).cat.codes).astype(np.int64)
        if (column.dtype == object and nan == "null") or isinstance(column.dtype, pd.StringDtype):
            with suppress(TypeError):  # factorize names the value that cannot be hashed
                return np.asarray(pd.factorize(column)[0]).astype(np.int64)
        return None

    def objects_of(self, values: Array, like: Any) -> Array:
        """Timestamps in the zone of ``like``; other values as NumPy's objects."""
        if values.dtype.kind != "M" or values.dtype == np.dtype("M8[D]"):
            return values.astype(object)
        moments, name = self.module.Series(in_unit(values, ("s", "ms", "us", "ns"))), self.zone(like)
        if name is not None:
            moments = moments.dt.tz_localize("UTC").dt.tz_convert(zone_of(name))
        return np.asarray(moments.astype(object))

    def result_type(self, aggregation: Aggregation, columns: Sequence[Any]) -> Any:
        """As for every library; None also if the columns do not imply the type."""
        pd = self.module
        kinds = [column.dtype for column in columns]
        if kinds and all(isinstance(kind, pd.ArrowDtype) for kind in kinds):
            arrow = ARROW.result_type(aggregation, [_arrow([], kind) for kind in kinds])
            return None if arrow is None else pd.ArrowDtype(arrow)
        known = super().result_type(aggregation, columns)
        if known is None and isinstance(aggregation, Count | MinCount | MaxCount):
            return np.dtype(np.int64)  # objects can be counted, whatever they are
        return known

    def same_rows(self, column: Any, other: Any) -> bool:
        return bool(column.index.equals(other.index))

    def beside(self, column: Any, like: Any) -> Any:
        return column.set_axis(like.index).rename(like.name)

    def make_column(self, values: Array | StructColumn, like: Any, kind: Any = None) -> Any:
        pd = self.module
        if isinstance(kind, pd.ArrowDtype):
            return pd.Series(pd.arrays.ArrowExtensionArray(ARROW.make_column(values, None, kind.pyarrow_dtype)))
        if isinstance(values, StructColumn):
            inside = None if like is None or isinstance(like, tuple) else self.zone(like)
            return pd.Series(objects(values.in_zone(inside).rows()))
        if kind is not None:
            return self._of_type(values, kind)
        if like is not None and isinstance(like.dtype, pd.ArrowDtype):
            return pd.Series(pd.arrays.ArrowExtensionArray(ARROW.make_column(values, _arrow([], like.dtype))))
        kind = None if like is None else like.dtype
        if kind == np.dtype(object) and values.dtype == np.dtype("M8[D]"):
            return pd.Series(objects(to_list(values)))  # dates, for which pandas has no type of its own
        values = in_unit(values, ("s", "ms", "us", "ns"))
        mask = mask_of(values)
        data: Any = data_of(values)
        if mask is not None:
            data = _with_nan(data, mask) if _without_null(data, kind) else self._nullable(data, mask)
        elif isinstance(kind, pd.Float32Dtype | pd.Float64Dtype) and values.dtype.kind == "f":
            data = self._nullable(data.astype(kind.numpy_dtype, copy=False), np.zeros(len(data), np.bool_))
        column = pd.Series(data)
        if isinstance(kind, pd.DatetimeTZDtype) and values.dtype.kind == "M":
            return column.dt.tz_localize("UTC").dt.tz_convert(kind.tz)
        if isinstance(kind, np.dtype):
            return column.astype(kind) if not len(column) else column
        return column if kind is None else self._cast(column, kind)

    def _of_type(self, values: Array, kind: Any) -> Any:
        """Results of a declared type; NumPy's whole numbers and booleans become nullable ones where some are null."""
        pd = self.module
        if kind == np.dtype(object) or getattr(kind, "kind", "") in "mM":
            return pd.Series(objects(to_list(values)), dtype=kind)
        if values.dtype.kind == "O":
            values = array_of(values.tolist())
            if values.dtype.kind == "O" and any(value is not None for value in values):
                return pd.Series(values)  # whole numbers beyond 64 bits
        if values.dtype.kind == "O":
            values = with_nulls(
                np.zeros(len(values), getattr(kind, "numpy_dtype", kind)), np.ones(len(values), np.bool_)
            )
        mask, data = mask_of(values), data_of(values)
        number = getattr(kind, "numpy_dtype", kind)
        known = data if mask is None else data[~mask]
        if narrow(known, number).dtype != number:
            raise TypeError(f"values of type {data.dtype} change as {kind}")
        if not isinstance(kind, np.dtype):
            return pd.Series(
                self._nullable(data.astype(number), np.zeros(len(data), np.bool_) if mask is None else mask)
            )
        data = data.astype(kind, copy=False)
        if mask is None:
            return pd.Series(data)
        return pd.Series(_with_nan(data, mask) if kind.kind == "f" else self._nullable(data, mask))

    def _nullable(self, data: Array, mask: Array) -> Any:
        """Numbers with nulls as one of the nullable types; other values with None or NaT."""
        arrays = self.module.arrays
        if data.dtype.kind == "b":
            return arrays.BooleanArray(data, mask)
        if data.dtype.kind == "f":  # NaN is a value
            wide = data.astype(np.float32) if data.dtype.itemsize < 4 else data
            return arrays.FloatingArray(wide, mask)
        if data.dtype.kind in "iu":
            return arrays.IntegerArray(data, mask)
        values = data.copy()
        values[mask] = None
        return values

    def _cast(self, column: Any, kind: Any) -> Any:
        """A column as an extension type, such as categories or Arrow's, if its values fit it."""
        try:
            cast = column.astype(kind)
        except (TypeError, ValueError, NotImplementedError, self.module.errors.OutOfBoundsDatetime):
            return column
        return column if cast.isna().sum() > column.isna().sum() else cast


def _arrow(values: Any, kind: Any = None) -> Any:
    """Values of one of pandas' types of Arrow as Arrow's own."""
    return sys.modules["pyarrow"].array(values, None if kind is None else kind.pyarrow_dtype)


def _is_nan(value: Any) -> bool:
    """Whether a value is NaN; NA and NaT are nulls instead."""
    return isinstance(value, float | np.floating | Decimal) and value != value


def _without_null(data: Array, kind: Any) -> bool:
    """Whether these are floats like those of a column in which NaN is the null."""
    return data.dtype.kind == "f" and isinstance(kind, np.dtype) and kind.kind == "f"


def _with_nan(data: Array, mask: Array) -> Array:
    return np.where(mask, data.dtype.type(np.nan), data)


class _PandasTypes(LibraryTypes):
    """The :class:`~sash.aggregations.result_types.TypeSystem` of pandas; the type of objects says nothing of them."""

    def shape(self, kind: Any) -> Shape | None:
        """A type in Python's terms; None: its values can be anything."""
        pd = PANDAS.module
        if isinstance(kind, pd.CategoricalDtype):
            return self.shape(kind.categories.dtype)
        if isinstance(kind, pd.StringDtype):
            return Shape(str)
        python = _PYTHON_TYPES.get(_kind(kind))
        bits = 8 * kind.itemsize if _kind(kind) == "u" else 0
        return None if python is None else Shape(python, zone=getattr(kind, "tz", None), unsigned=bits)

    def plain(self, kind: type, exact: bool, columns: Sequence[Any]) -> Any:
        """The type of values of one of Python's types."""
        pd = PANDAS.module
        if kind in (bool, int, float):
            nullable = any(not isinstance(_values(column), np.dtype) for column in columns)
            unsigned = kind is int and exact and columns and all(_kind(column) == "u" for column in columns)
            names = {bool: ("bool", "boolean"), int: ("int64", "Int64"), float: ("float64", "Float64")}[kind]
            name = names[nullable]
            return pd.api.types.pandas_dtype(name.replace("I", "UI").replace("int", "uint") if unsigned else name)
        if kind is datetime:
            zoned = next((column for column in columns if isinstance(column, pd.DatetimeTZDtype)), None)
            unit: Any = _finest([column for column in columns if _kind(column) == "M"])
            return np.dtype(f"M8[{unit}]") if zoned is None else pd.DatetimeTZDtype(unit, zoned.tz)
        if kind is timedelta:
            return np.dtype(f"m8[{_finest([column for column in columns if _kind(column) == 'm'])}]")
        return OBJECT

    def digits(self, kind: Any) -> tuple[int, int, int] | None:
        """No type of pandas is one of decimals."""
        return None

    def decimal(self, precision: int, scale: int) -> Any:
        return OBJECT

    def list_of(self, item: Any) -> Any:
        return OBJECT

    def struct(self, fields: list[tuple[str, Any]]) -> Any:
        return OBJECT


def _values(column: Any) -> Any:
    return column.categories.dtype if isinstance(column, PANDAS.module.CategoricalDtype) else column


def _kind(column: Any) -> str:
    return str(getattr(column, "numpy_dtype", column).kind)


def _finest(columns: Sequence[Any]) -> str:
    """A unit fine enough for the midpoint of two values: Python's types have microseconds."""
    units = {getattr(column, "unit", None) or np.datetime_data(column)[0] for column in columns}
    return "ns" if "ns" in units else "us"


PANDAS = _Pandas()
