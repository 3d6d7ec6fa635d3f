"""Tables, record batches and streams of batches of Arrow."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
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
    masked,
    null_of,
    objects,
    plain_rows,
    to_list,
)


def _library() -> Any:
    """pyarrow, if it has been imported."""
    return sys.modules.get("pyarrow")


def is_table(data: Any) -> bool:
    pa = _library()
    return pa is not None and isinstance(data, pa.Table | pa.RecordBatch | pa.RecordBatchReader)


def is_column(column: Any) -> bool:
    pa = _library()
    return pa is not None and isinstance(column, pa.Array | pa.ChunkedArray)


def opened(data: Any, names: Sequence[str]) -> Any:
    """The whole of a stream of batches; else the data as it is."""
    return data.read_all() if isinstance(data, _library().RecordBatchReader) else data


def names(data: Any) -> Iterable[str]:
    found: list[str] = data.schema.names
    return found


def column(data: Any, name: str) -> Any:
    if len(data.schema.get_all_field_indices(name)) > 1:
        raise ValueError(f"column {name!r} is in the data more than once")
    return data.column(name)


def array(column: Any, nan: Nan = "value") -> Array:
    values = _flat(column)
    kind, types = values.type, _library().types
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        if not values.null_count:
            return np.asarray(values.to_numpy(zero_copy_only=False))
        nulls = values.is_null().to_numpy(zero_copy_only=False)
        zero = _library().scalar(0).cast(kind)
        return masked(values.fill_null(zero).to_numpy(zero_copy_only=False), nulls)
    if types.is_nested(kind) or types.is_time(kind):
        return objects(values.to_pylist())
    return np.asarray(values.to_numpy(zero_copy_only=False))  # null is None in objects, NaT in timestamps


def _flat(column: Any) -> Any:
    """A column as one array, of its values themselves where they are encoded."""
    pa = _library()
    if isinstance(column, pa.ChunkedArray):
        column = (
            column.chunk(0)
            if column.num_chunks == 1
            else pa.concat_arrays(column.unify_dictionaries().chunks or [pa.array([], column.type)])
        )
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_run_end_encoded(column.type):
        import pyarrow.compute as pc  # type: ignore[import-untyped]

        column = pc.run_end_decode(column)
    return column


def zone(column: Any) -> str | None:
    found: str | None = getattr(column.type, "tz", None)
    return found


def take(column: Any, rows: Array) -> Any:
    pa = _library()
    try:
        return column.take(pa.array(rows))
    except pa.ArrowInvalid:  # more text than one array can hold
        pieces = [column.take(pa.array(rows[at : at + 2**20])) for at in range(0, len(rows), 2**20)]
        return pa.chunked_array(pieces)


def codes(column: Any, nan: Nan = "value") -> Array | None:
    """Those of its dictionary, which is hashed in C. Numbers have a faster way."""
    types = _library().types
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)  # a dictionary may have a value twice
    if not (types.is_string(column.type) or types.is_large_string(column.type) or types.is_binary(column.type)):
        return None
    encoded = _one(column.dictionary_encode(null_encoding="encode"))
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False)).astype(np.int64)


def _one(encoded: Any) -> Any:
    return encoded.combine_chunks() if isinstance(encoded, _library().ChunkedArray) else encoded


def objects_of(values: Array, like: Any) -> Array:
    return objects(to_list(values, zone(like)))


def declared(aggregation: Aggregation, columns: Sequence[Any]) -> Any:
    """The type of an aggregation's results; None if it cannot aggregate such columns, which rows will tell."""
    from sash.values.arrow_types import ArrowTypes, value_type  # which bring pyarrow: it is there

    try:
        return declared_type(aggregation, [value_type(column.type) for column in columns], ArrowTypes())
    except TypeError:
        return None


def make_column(values: Array | Parts, like: Any, kind: Any = None) -> Any:
    pa = _library()
    if kind is not None:
        from sash.frames.arrow_arrays import array_of

        return array_of(values.arrays if isinstance(values, Parts) else values, kind)
    if isinstance(values, Parts):
        likes = like if isinstance(like, tuple) else [like] * len(values.arrays)
        parts = [make_column(part, each) for part, each in zip(values.arrays, likes, strict=True)]
        null = values.null
        mask = None if null is None else pa.array(null)
        return pa.StructArray.from_arrays(parts, names=values.names, mask=mask)
    if values.dtype.kind == "O":
        return _fitting(plain_rows(values), like)
    values = in_unit(values, ("D", "s", "ms", "us", "ns") if values.dtype.kind == "M" else ("s", "ms", "us", "ns"))
    made = pa.array(data_of(values), mask=null_of(values))
    if values.dtype.kind != "M" or like is None:
        return made if like is None else _as(made, like.type)
    if pa.types.is_timestamp(like.type):  # its unit may have to be finer
        unit = made.type.unit if pa.types.is_timestamp(made.type) else "s"
        return made.cast(pa.timestamp(unit)).cast(pa.timestamp(unit, like.type.tz))
    if pa.types.is_date(like.type) and pa.types.is_timestamp(made.type):  # windows of parts of days
        return made.cast(pa.timestamp("us"))
    return made


def _fitting(values: list[Any], like: Any) -> Any:
    """Objects as an array of the type of the column that they are like, or of the type that they are of."""
    pa = _library()
    if like is not None:
        from sash.frames.arrow_arrays import array_of

        try:
            return array_of(objects(values), like.type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, ValueError, TypeError):
            return pa.array(values)
    return pa.array(values)


def _as(made: Any, kind: Any) -> Any:
    """Cast to ``kind`` if no value changes."""
    pa = _library()
    try:
        return made.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return made


def make_table(columns: dict[str, Any], data: Any, sources: dict[str, Any]) -> Any:
    pa = _library()
    return (pa.record_batch if isinstance(data, pa.RecordBatch) else pa.table)(columns)
