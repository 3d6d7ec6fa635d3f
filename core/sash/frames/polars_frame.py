"""DataFrames of polars."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation
from sash.aggregations.result_types import declared_type
from sash.values.arrays import Array, Nan, data_of, mask_of, masked, objects, to_list
from sash.values.columns import StructColumn, plain_rows
from sash.values.timestamps import in_unit, ticks_of

_WIDE = Context(prec=77)


def _library() -> Any:
    """polars, if it has been imported."""
    return sys.modules.get("polars")


def is_table(data: Any) -> bool:
    pl = _library()
    if pl is not None and isinstance(data, pl.LazyFrame):
        raise TypeError("data is a LazyFrame, which holds no rows: call collect() on it first")
    return pl is not None and isinstance(data, pl.DataFrame)


def is_column(column: Any) -> bool:
    pl = _library()
    return pl is not None and isinstance(column, pl.Series)


def open_table(data: Any, names: Sequence[str]) -> Any:
    return data


def names(data: Any) -> Iterable[str]:
    return list(data.columns)


def column(data: Any, name: str) -> Any:
    return data.get_column(name)


def array(column: Any, nan: Nan = "value") -> Array:
    pl = _library()
    kind = column.dtype
    if kind == pl.Null:
        return objects([None] * len(column))
    if kind.is_integer() or kind.is_float() or kind == pl.Boolean:
        if not column.null_count():
            return np.asarray(column.to_numpy())
        filler = False if kind == pl.Boolean else 0
        return masked(column.fill_null(filler).to_numpy(), column.is_null().to_numpy())
    if kind in (pl.Date, pl.Datetime, pl.Duration):
        return np.asarray(column.to_numpy())  # null is NaT
    return objects(column.to_list())


def zone(column: Any) -> str | None:
    name: str | None = getattr(column.dtype, "time_zone", None)
    return name


def take(column: Any, rows: Array) -> Any:
    return column.gather(rows)


def codes(column: Any, nan: Nan = "value") -> Array | None:
    """For each row the first one of the same text. Numbers have a faster way."""
    pl = _library()
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return None
    numbered = column.alias("key").to_frame().with_row_index("row")
    first = numbered.select(pl.col("row").first().over("key")).to_series()
    return np.asarray(first.to_numpy()).astype(np.int64)


def objects_of(values: Array, like: Any) -> Array:
    return objects(to_list(values, zone(like)))


def result_type(aggregation: Aggregation, columns: Sequence[Any]) -> Any:
    """The type of an aggregation's results; None if it cannot aggregate such columns: its rows will say why."""
    from sash.frames.polars_types import PolarsTypes  # needs polars, which is imported by now

    try:
        return declared_type(aggregation, [column.dtype for column in columns], PolarsTypes())
    except TypeError:
        return None


def make_column(values: Array | StructColumn, like: Any, kind: Any = None) -> Any:
    pl = _library()
    if kind is not None:
        return _of_type(values, kind)
    if isinstance(values, StructColumn):
        likes = like if isinstance(like, tuple) else [like] * len(values.arrays)
        parts = map(make_column, values.arrays, likes)
        return _with_nulls(pl.DataFrame(dict(zip(values.names, parts, strict=True))).to_struct(""), values.null)
    if values.dtype.kind == "O":
        return _fit_objects(plain_rows(values), like)
    values = in_unit(values, ("D", "ms", "us", "ns") if values.dtype.kind == "M" else ("ms", "us", "ns"))
    column = _with_nulls(pl.Series(data_of(values)), mask_of(values))
    if like is None:
        return column
    if like.dtype == pl.Datetime and values.dtype.kind == "M":
        column = column.cast(pl.Datetime("us")) if column.dtype == pl.Date else column
        name = like.dtype.time_zone
        return column if name is None else column.dt.replace_time_zone("UTC").dt.convert_time_zone(name)
    if like.dtype == pl.Date and isinstance(column.dtype, pl.Datetime):  # windows of parts of days
        return column.cast(pl.Datetime("us"))
    return column if values.dtype.kind == "M" else _cast(column, like.dtype)


def _with_nulls(column: Any, mask: Array | None) -> Any:
    """A column with nulls where ``mask`` is True."""
    pl = _library()
    return column if mask is None else column.to_frame("x").select(pl.when(~pl.Series(mask)).then("x")).to_series()


def _of_type(values: Array | StructColumn, kind: Any) -> Any:
    """Results as a column of this type; a TypeError if one does not fit."""
    pl = _library()
    try:
        if isinstance(values, StructColumn) or values.dtype.kind == "O":
            whole = values.rows() if isinstance(values, StructColumn) else values.tolist()
            return pl.Series(values=[_as_declared(value, kind) for value in whole], dtype=kind, strict=True)
        column = _cast(make_column(values, None), kind)
        if column.dtype != kind:
            raise TypeError(f"values of type {column.dtype} change as {kind}")
        return column
    except pl.exceptions.PolarsError as error:
        raise TypeError(str(error)) from error


def _as_declared(value: Any, kind: Any) -> Any:
    """A result as polars takes it: structures as dicts, decimals with the places that the type has."""
    pl = _library()
    if value is None:
        return None
    if isinstance(kind, pl.Struct):
        parts = value.values() if isinstance(value, dict) else value
        return {field.name: _as_declared(part, field.dtype) for part, field in zip(parts, kind.fields, strict=True)}
    if isinstance(kind, pl.List):
        return [_as_declared(item, kind.inner) for item in value]
    if isinstance(kind, pl.Datetime | pl.Duration):
        return ticks_of(value, kind.time_unit)
    if isinstance(kind, pl.Decimal):
        return Decimal(value).quantize(Decimal(1).scaleb(-(kind.scale or 0)), ROUND_HALF_UP, _WIDE)
    if kind == pl.Boolean:
        return bool(value)
    if kind == pl.Binary and hasattr(value, "estimated_count"):
        return value.to_bytes()
    return float(value) if kind == pl.Float64 and isinstance(value, int) else value


def _fit_objects(values: list[Any], like: Any) -> Any:
    """Objects as a column of the type of the one that they are like, or of their own type."""
    pl = _library()
    if like is not None:
        with suppress(TypeError, ValueError, pl.exceptions.PolarsError):
            fitting = [_as_declared(value, like.dtype) for value in values]
            return pl.Series(values=fitting, dtype=like.dtype, strict=True)
    return pl.Series(values=values, strict=False)


def _cast(column: Any, kind: Any) -> Any:
    """A column as ``kind`` if no value changes."""
    if column.dtype != kind:
        with suppress(_library().exceptions.PolarsError):
            cast = column.cast(kind)
            return cast if cast.cast(column.dtype).eq_missing(column).all() else column
    return column


def make_table(columns: dict[str, Any], data: Any, sources: dict[str, Any]) -> Any:
    return _library().DataFrame(columns)
