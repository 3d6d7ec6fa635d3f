"""DataFrames of polars."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sash.frames.values import Array, Nan, Parts, data_of, in_unit, mask_of, masked, objects, plain_rows, to_list


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


def make_column(values: Array | Parts, like: Any) -> Any:
    pl = _library()
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
    return made if values.dtype.kind == "M" else _as(made, like.dtype)


def _fitting(values: list[Any], like: Any) -> Any:
    """Objects as a column of the type of the one that they are like, or of the type that they are of."""
    pl = _library()
    if like is not None:
        try:
            return pl.Series(values=values, dtype=like.dtype, strict=True)
        except (TypeError, pl.exceptions.PolarsError):
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
