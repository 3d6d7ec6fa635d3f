"""DataFrames and lazy frames of polars, and its types in Python's terms."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from sash.frames.library import Library, LibraryTypes, Shape
from sash.values.arrays import Array, Nan, data_of, in_unit, mask_of, objects, with_nulls
from sash.values.columns import StructColumn, plain_rows

__all__ = ["POLARS"]


class _PolarsTypes(LibraryTypes):
    """The types of polars."""

    def __init__(self) -> None:
        self._pl = pl = sys.modules["polars"]
        self.python_types = {
            bool: pl.Boolean(),
            int: pl.Int64(),
            float: pl.Float64(),
            str: pl.String(),
            bytes: pl.Binary(),
            date: pl.Date(),
            datetime: pl.Datetime,
            time: pl.Time(),
            timedelta: pl.Duration,
        }
        self.uint64 = pl.UInt64()

    def shape(self, kind: Any) -> Shape | None:
        """A type in Python's terms; None: its values can be anything."""
        pl = self._pl
        if kind.is_integer():
            return Shape(int, unsigned=(64 if kind == pl.UInt64 else 8) if kind.is_unsigned_integer() else 0)
        if isinstance(kind, pl.Decimal):
            return Shape(Decimal, scale=kind.scale or 0)
        if isinstance(kind, pl.Datetime):
            return Shape(datetime, kind.time_unit, kind.time_zone)
        if isinstance(kind, pl.Duration):
            return Shape(timedelta, kind.time_unit)
        if isinstance(kind, pl.List | pl.Array):
            return Shape(list, fields=(("item", kind.inner),))
        if isinstance(kind, pl.Struct):
            return Shape(dict, fields=tuple((field.name, field.dtype) for field in kind.fields))
        if kind.is_float():
            return Shape(float)
        if kind in (pl.Categorical, pl.Enum):
            return Shape(str)
        return next((Shape(python) for python, known in self.python_types.items() if kind == known), None)

    def fitter_of(self, shape: Shape) -> Callable[[Any], Any]:
        """As for every library, and whole numbers as floats, which polars does not convert."""
        if shape.type is float:
            return lambda value: float(value) if isinstance(value, int) else value
        return super().fitter_of(shape)

    def digits(self, kind: Any) -> tuple[int, int, int] | None:
        """The precision, the scale and the largest possible precision of a decimal type."""
        return (kind.precision or 38, kind.scale, 38) if isinstance(kind, self._pl.Decimal) else None

    def decimal(self, precision: int, scale: int) -> Any:
        return self._pl.Decimal(precision, scale)

    def list_of(self, item: Any) -> Any:
        return self._pl.List(item)

    def struct(self, fields: list[tuple[str, Any]]) -> Any:
        return self._pl.Struct([self._pl.Field(name, kind) for name, kind in fields])


class _Polars(Library):
    package = "polars"

    @property
    def types(self) -> _PolarsTypes:
        return _PolarsTypes()

    def is_table(self, data: Any) -> bool:
        pl = self.module
        return pl is not None and isinstance(data, pl.DataFrame | pl.LazyFrame)

    def is_column(self, column: Any) -> bool:
        pl = self.module
        return pl is not None and isinstance(column, pl.Series)

    def open_table(self, data: Any, names: Sequence[str]) -> Any:
        """A lazy frame collected, of which only these columns are read; a frame unchanged."""
        if isinstance(data, self.module.DataFrame):
            return data
        present = data.collect_schema().names()
        return data.select(names).collect() if set(names) <= set(present) else data.collect()

    def column(self, data: Any, name: str) -> Any:
        return data.get_column(name)

    def array(self, column: Any, nan: Nan = "value") -> Array:
        pl = self.module
        kind = column.dtype
        if kind == pl.Null:
            return objects([None] * len(column))
        if kind.is_integer() or kind.is_float() or kind == pl.Boolean:
            if not column.null_count():
                return np.asarray(column.to_numpy())
            filler = False if kind == pl.Boolean else 0
            return with_nulls(column.fill_null(filler).to_numpy(), column.is_null().to_numpy())
        if kind in (pl.Date, pl.Datetime, pl.Duration):
            return np.asarray(column.to_numpy())  # null is NaT
        return objects(column.to_list())

    def zone(self, column: Any) -> str | None:
        name: str | None = getattr(column.dtype, "time_zone", None)
        return name

    def take(self, column: Any, rows: Array) -> Any:
        return column.gather(rows)

    def codes(self, column: Any, nan: Nan = "value") -> Array | None:
        """For each row the first one of the same text. Numbers have a faster way."""
        pl = self.module
        if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
            return None
        numbered = column.alias("key").to_frame().with_row_index("row")
        first = numbered.select(pl.col("row").first().over("key")).to_series()
        return np.asarray(first.to_numpy()).astype(np.int64)

    def make_column(self, values: Array | StructColumn, like: Any, kind: Any = None) -> Any:
        pl = self.module
        if kind is not None:
            return self._of_type(values, kind)
        if isinstance(values, StructColumn):
            likes = like if isinstance(like, tuple) else [like] * len(values.arrays)
            parts = dict(zip(values.names, map(self.make_column, values.arrays, likes), strict=True))
            return self._with_nulls(pl.DataFrame(parts).to_struct(""), values.null)
        if values.dtype.kind == "O":
            return self._fit_objects(plain_rows(values), like)
        values = in_unit(values, ("D", "ms", "us", "ns") if values.dtype.kind == "M" else ("ms", "us", "ns"))
        column = self._with_nulls(pl.Series(data_of(values)), mask_of(values))
        if like is None:
            return column
        if like.dtype == pl.Datetime and values.dtype.kind == "M":
            column = column.cast(pl.Datetime("us")) if column.dtype == pl.Date else column
            name = like.dtype.time_zone
            return column if name is None else column.dt.replace_time_zone("UTC").dt.convert_time_zone(name)
        if like.dtype == pl.Date and isinstance(column.dtype, pl.Datetime):  # windows of parts of days
            return column.cast(pl.Datetime("us"))
        return column if values.dtype.kind == "M" else self._cast(column, like.dtype)

    def _with_nulls(self, column: Any, mask: Array | None) -> Any:
        """A column with nulls where ``mask`` is True."""
        pl = self.module
        return column if mask is None else column.to_frame("x").select(pl.when(~pl.Series(mask)).then("x")).to_series()

    def _of_type(self, values: Array | StructColumn, kind: Any) -> Any:
        """Results as a column of this type; a TypeError if one does not fit."""
        pl = self.module
        try:
            if isinstance(values, StructColumn) or values.dtype.kind == "O":
                whole = values.rows() if isinstance(values, StructColumn) else values.tolist()
                return pl.Series(values=list(map(self.types.fitter(kind), whole)), dtype=kind, strict=True)
            column = self._cast(self.make_column(values, None), kind)
            if column.dtype != kind:
                raise TypeError(f"values of type {column.dtype} change as {kind}")
            return column
        except pl.exceptions.PolarsError as error:
            raise TypeError(str(error)) from error

    def _fit_objects(self, values: list[Any], like: Any) -> Any:
        """Objects as a column of the type of the one that they are like, or of their own type."""
        pl = self.module
        if like is not None:
            with suppress(TypeError, ValueError, pl.exceptions.PolarsError):
                fitting = list(map(self.types.fitter(like.dtype), values))
                return pl.Series(values=fitting, dtype=like.dtype, strict=True)
        return pl.Series(values=values, strict=False)

    def _cast(self, column: Any, kind: Any) -> Any:
        """A column as ``kind`` if no value changes."""
        if column.dtype != kind:
            with suppress(self.module.exceptions.PolarsError):
                cast = column.cast(kind)
                return cast if cast.cast(column.dtype).eq_missing(column).all() else column
        return column


POLARS = _Polars()
