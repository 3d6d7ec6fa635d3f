"""DataFrames of polars."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation
from sash.aggregations.result_types import declared_type
from sash.values.arrays import (
    Array,
    Nan,
    Parts,
    data_of,
    in_unit,
    mask_of,
    masked,
    objects,
    plain_rows,
    ticks_of,
    to_list,
)

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


def opened(data: Any, names: Sequence[str]) -> Any:
    return data


def names(data: Any) -> Iterable[str]:
    found: list[str] = data.columns
    return found


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
    found: str | None = getattr(column.dtype, "time_zone", None)
    return found


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


def declared(aggregation: Aggregation, columns: Sequence[Any]) -> Any:
    """The type of an aggregation's results; None if it cannot aggregate such columns, which rows will tell."""
    from sash.frames.polars_types import PolarsTypes  # needs polars, which is imported by now

    try:
        return declared_type(aggregation, [column.dtype for column in columns], PolarsTypes())
    except TypeError:
        return None


def make_column(values: Array | Parts, like: Any, kind: Any = None) -> Any:
    pl = _library()
    if kind is not None:
        return _of_type(values, kind)
    if isinstance(values, Parts):
        likes = like if isinstance(like, tuple) else [like] * len(values.arrays)
        named = zip(values.names, values.arrays, likes, strict=True)
        parts = {name: make_column(part, each) for name, part, each in named}
        whole = pl.DataFrame(parts).to_struct("")
        null = values.null
        return whole if null is None else whole.to_frame("x").select(pl.when(~pl.Series(null)).then("x")).to_series()
    if values.dtype.kind == "O":
        return _fitting(plain_rows(values), like)
    values = in_unit(values, ("D", "ms", "us", "ns") if values.dtype.kind == "M" else ("ms", "us", "ns"))
    made = pl.Series(data_of(values))
    mask = mask_of(values)
    if mask is not None:
        made = made.to_frame("x").select(pl.when(~pl.Series(mask)).then("x")).to_series()
    if like is None:
        return made
    if like.dtype == pl.Datetime and values.dtype.kind == "M":
        made = made.cast(pl.Datetime("us")) if made.dtype == pl.Date else made
        name = like.dtype.time_zone
        return made if name is None else made.dt.replace_time_zone("UTC").dt.convert_time_zone(name)
    if like.dtype == pl.Date and isinstance(made.dtype, pl.Datetime):  # windows of parts of days
        return made.cast(pl.Datetime("us"))
    return made if values.dtype.kind == "M" else _as(made, like.dtype)


def _of_type(values: Array | Parts, kind: Any) -> Any:
    """Results as a column of just this type; a TypeError if one does not fit."""
    pl = _library()
    try:
        if isinstance(values, Parts) or values.dtype.kind == "O":
            whole = values.rows() if isinstance(values, Parts) else values.tolist()
            return pl.Series(values=[as_declared(value, kind) for value in whole], dtype=kind, strict=True)
        made = make_column(values, None)
        if made.dtype == kind:
            return made
        if not (cast := made.cast(kind)).cast(made.dtype).eq_missing(made).all():
            raise TypeError(f"values of type {made.dtype} change as {kind}")
        return cast
    except pl.exceptions.PolarsError as error:
        raise TypeError(str(error)) from error


def as_declared(value: Any, kind: Any) -> Any:
    """A result as polars takes it: structures as dicts, decimals with the places that the type has."""
    pl = _library()
    if value is None:
        return None
    if isinstance(kind, pl.Struct):
        parts = value.values() if isinstance(value, dict) else value
        return {field.name: as_declared(part, field.dtype) for part, field in zip(parts, kind.fields, strict=True)}
    if isinstance(kind, pl.List):
        return [as_declared(item, kind.inner) for item in value]
    if isinstance(kind, pl.Datetime | pl.Duration):
        return ticks_of(value, kind.time_unit)
    if isinstance(kind, pl.Decimal):
        return Decimal(value).quantize(Decimal(1).scaleb(-(kind.scale or 0)), ROUND_HALF_UP, _WIDE)
    if kind == pl.Boolean:
        return bool(value)
    if kind == pl.Binary and hasattr(value, "estimated_count"):
        return value.to_bytes()
    return float(value) if kind == pl.Float64 and isinstance(value, int) else value


def _fitting(values: list[Any], like: Any) -> Any:
    """Objects as a column of the type of the one that they are like, or of the type that they are of."""
    pl = _library()
    if like is not None:
        try:
            fitting = [as_declared(value, like.dtype) for value in values]
            return pl.Series(values=fitting, dtype=like.dtype, strict=True)
        except (TypeError, ValueError, pl.exceptions.PolarsError):
            pass
    return pl.Series(values=values, strict=False)


def _as(made: Any, kind: Any) -> Any:
    """Cast to ``kind`` if no value changes."""
    if made.dtype == kind:
        return made
    try:
        cast = made.cast(kind)
        return cast if cast.cast(made.dtype).eq_missing(made).all() else made
    except _library().exceptions.PolarsError:
        return made


def make_table(columns: dict[str, Any], data: Any, sources: dict[str, Any]) -> Any:
    return _library().DataFrame(columns)
