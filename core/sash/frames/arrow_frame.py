"""Tables, record batches, streams and data sets of Arrow, and its types in Python's terms.

pyarrow is imported here only to read what another library offers as a stream of Arrow (``__arrow_c_stream__``), such as
a relation of DuckDB: whoever has a column or a type of it has imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from sash.frames.library import Library, LibraryTypes, Shape
from sash.values.arrays import Array, Nan, data_of, in_unit, mask_of, null_of, objects, with_nulls
from sash.values.columns import StructColumn, plain_rows
from sash.values.time_codec import OrderKind
from sash.values.timestamps import STEPS

__all__ = ["ARROW", "ArrowTypes", "array_of"]

_STREAM = "__arrow_c_stream__"
"""The method of what offers its rows as a stream of Arrow."""
_CHECKS: dict[type, tuple[str, ...]] = {
    bool: ("is_boolean",),
    int: ("is_integer",),
    float: ("is_floating",),
    str: ("is_string", "is_large_string", "is_string_view"),
    bytes: ("is_binary", "is_large_binary", "is_fixed_size_binary", "is_binary_view"),
    date: ("is_date",),
    datetime: ("is_timestamp",),
    time: ("is_time",),
    timedelta: ("is_duration",),
    Decimal: ("is_decimal",),
    list: ("is_list", "is_large_list", "is_fixed_size_list"),
    dict: ("is_struct",),
}
"""The functions of ``pyarrow.types``, some only of newer versions, that know the types of Python's values."""

_VIEWS = ("string_view", "binary_view")
"""The types of which Arrow can take no rows."""


class _Arrow(Library):
    package = "pyarrow"

    @property
    def types(self) -> ArrowTypes:
        return ArrowTypes()

    def is_table(self, data: Any) -> bool:
        pa = self.module
        known = pa is not None and isinstance(data, pa.Table | pa.RecordBatch)
        return known or hasattr(data, _STREAM) or self._is_data_set(data)

    def is_reader(self, data: Any) -> bool:
        """Whether data is a stream of record batches, whose results are to be one too."""
        pa = self.module
        return pa is not None and isinstance(data, pa.RecordBatchReader)

    def _is_data_set(self, data: Any) -> bool:
        dataset = sys.modules.get("pyarrow.dataset")
        return dataset is not None and isinstance(data, dataset.Dataset)

    def is_column(self, column: Any) -> bool:
        pa = self.module
        return pa is not None and isinstance(column, pa.Array | pa.ChunkedArray)

    def open_table(self, data: Any, names: Sequence[str]) -> Any:
        """The whole of a stream or of a data set, of which only these columns are read; any other table unchanged."""
        if self._is_data_set(data):
            present = [name for name in names if name in data.schema.names]
            return data.to_table(columns=present if len(present) == len(names) else None)
        if self.module is not None and isinstance(data, self.module.Table | self.module.RecordBatch):
            return data
        try:
            import pyarrow as pa  # type: ignore[import-untyped]
        except ImportError as error:
            raise TypeError(f"{type(data).__name__} is read as a stream of Arrow, which needs pyarrow") from error
        try:
            return pa.RecordBatchReader.from_stream(data).read_all()
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise TypeError(f"{type(data).__name__} is not a table: {error}") from error

    def names(self, data: Any) -> Iterable[str]:
        return list(data.schema.names)

    def column(self, data: Any, name: str) -> Any:
        if len(data.schema.get_all_field_indices(name)) > 1:
            raise ValueError(f"column {name!r} is in the data more than once")
        return data.column(name)

    def array(self, column: Any, nan: Nan = "value") -> Array:
        values = self._flat(column)
        kind, types = values.type, self.module.types
        if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
            if not values.null_count:
                return np.asarray(values.to_numpy(zero_copy_only=False))
            nulls = values.is_null().to_numpy(zero_copy_only=False)
            if types.is_float16(kind):  # Arrow fills the others
                return with_nulls(values.cast("float32").fill_null(0).to_numpy().astype(np.float16), nulls)
            zero = self.module.scalar(0).cast(kind)
            return with_nulls(values.fill_null(zero).to_numpy(zero_copy_only=False), nulls)
        if types.is_nested(kind) or types.is_time(kind):
            return objects(values.to_pylist())
        return np.asarray(values.to_numpy(zero_copy_only=False))  # null is None in objects, NaT in timestamps

    def _flat(self, column: Any) -> Any:
        """A column as one array of its values, decoded."""
        pa = self.module
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

    def zone(self, column: Any) -> str | None:
        name: str | None = getattr(column.type, "tz", None)
        return name

    def type_of(self, column: Any) -> Any:
        return _value_type(column.type)

    def take(self, column: Any, rows: Array) -> Any:
        pa = self.module
        if str(column.type) in _VIEWS:
            values = column.to_pylist()
            return pa.array([values[row] for row in rows.tolist()], column.type)
        try:
            return column.take(pa.array(rows))
        except pa.ArrowInvalid:  # more text than one array can hold
            return pa.chunked_array([column.take(pa.array(rows[at : at + 2**20])) for at in range(0, len(rows), 2**20)])

    def codes(self, column: Any, nan: Nan = "value") -> Array | None:
        """The codes of its dictionary, which Arrow hashes in C. Numbers have a faster way."""
        types = self.module.types
        if types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)  # a dictionary may have a value twice
        if not (types.is_string(column.type) or types.is_large_string(column.type) or types.is_binary(column.type)):
            return None
        if not len(column):  # Arrow cannot join no chunks of every type
            return np.zeros(0, np.int64)
        encoded = column.dictionary_encode(null_encoding="encode")
        encoded = encoded.combine_chunks() if isinstance(encoded, self.module.ChunkedArray) else encoded
        return np.asarray(encoded.indices.to_numpy(zero_copy_only=False)).astype(np.int64)

    def make_column(self, values: Array | StructColumn, like: Any, kind: Any = None) -> Any:
        pa = self.module
        if kind is not None:
            return array_of(values.arrays if isinstance(values, StructColumn) else values, kind)
        if isinstance(values, StructColumn):
            likes = like if isinstance(like, tuple) else [like] * len(values.arrays)
            parts = [self.make_column(*pair) for pair in zip(values.arrays, likes, strict=True)]
            mask = None if (null := values.null) is None else pa.array(null)
            return pa.StructArray.from_arrays(parts, names=values.names, mask=mask)
        if values.dtype.kind == "O":
            return self._fit_objects(plain_rows(values), like)
        values = in_unit(values, ("D", "s", "ms", "us", "ns") if values.dtype.kind == "M" else ("s", "ms", "us", "ns"))
        column = pa.array(data_of(values), mask=null_of(values))
        if values.dtype.kind != "M" or like is None:
            return column if like is None else self._cast(column, like.type)
        if pa.types.is_timestamp(like.type):  # its unit may have to be finer
            unit = column.type.unit if pa.types.is_timestamp(column.type) else "s"
            return column.cast(pa.timestamp(unit)).cast(pa.timestamp(unit, like.type.tz))
        if pa.types.is_date(like.type) and pa.types.is_timestamp(column.type):  # windows of parts of days
            return column.cast(pa.timestamp("us"))
        return column

    def _fit_objects(self, values: list[Any], like: Any) -> Any:
        """Objects as an array of the type of the column that they are like, or of their own type."""
        pa = self.module
        if like is not None:
            with suppress(pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, ValueError, TypeError):
                return array_of(objects(values), like.type)
        return pa.array(values)

    def _cast(self, column: Any, kind: Any) -> Any:
        """A column as ``kind`` if no value changes."""
        pa = self.module
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return column.cast(kind)
        return column

    def make_table(self, columns: dict[str, Any], data: Any, sources: dict[str, Any]) -> Any:
        pa = self.module
        return (pa.record_batch if isinstance(data, pa.RecordBatch) else pa.table)(columns)


def _value_type(kind: Any) -> Any:
    """The type of a column's values, however they are encoded."""
    pa = ARROW.module
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return kind.value_type
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


class ArrowTypes(LibraryTypes):
    """The types of Arrow. It needs pyarrow."""

    def __init__(self) -> None:
        pa = ARROW.module
        self.uint64 = pa.uint64()
        self.python_types = {
            bool: pa.bool_(),
            int: pa.int64(),
            float: pa.float64(),
            str: pa.string(),
            bytes: pa.binary(),
            date: pa.date32(),
            datetime: pa.timestamp,
            time: pa.time64("us"),
            timedelta: pa.duration,
        }

    def shape(self, kind: Any) -> Shape | None:
        """A type in Python's terms; None: its values can be anything."""
        python = next((python for python, checks in _CHECKS.items() if any(_is(kind, check) for check in checks)), None)
        if python is None:
            return None
        fields: tuple[tuple[str, Any], ...] = ()
        if python is list:
            fields = (("item", kind.value_type),)
        elif python is dict:
            fields = tuple((field.name, field.type) for field in kind)
        return Shape(
            python,
            unit=getattr(kind, "unit", "us"),
            zone=getattr(kind, "tz", None),
            scale=getattr(kind, "scale", 0),
            unsigned=kind.bit_width if ARROW.module.types.is_unsigned_integer(kind) else 0,
            fields=fields,
        )

    def digits(self, kind: Any) -> tuple[int, int, int] | None:
        """The precision, the scale and the largest possible precision of a decimal type."""
        pa = ARROW.module
        if not pa.types.is_decimal(kind):
            return None
        return kind.precision, kind.scale, 76 if pa.types.is_decimal256(kind) else 38

    def decimal(self, precision: int, scale: int) -> Any:
        pa = ARROW.module
        return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)

    def list_of(self, item: Any) -> Any:
        return ARROW.module.list_(item)

    def struct(self, fields: list[tuple[str, Any]]) -> Any:
        return ARROW.module.struct(fields)

    def order_kind(self, kind: Any) -> OrderKind | None:
        """What a column of this type is to windows; None: it orders nothing. O(1).

        >>> import pyarrow as pa
        >>> ArrowTypes().order_kind(pa.int32()), ArrowTypes().order_kind(pa.string())
        ('whole', None)
        """
        kinds: dict[type, OrderKind] = {datetime: "timestamp", date: "date", int: "whole", float: "number"}
        shape = self.shape(kind)
        return None if shape is None else kinds.get(shape.type)

    def tick(self, kind: Any) -> int:
        """How many nanoseconds apart the times are that a column of this type can hold."""
        return STEPS[kind.unit] if ARROW.module.types.is_timestamp(kind) else 1000


def _is(kind: Any, check: str) -> bool:
    known = getattr(ARROW.module.types, check, None)
    return known is not None and bool(known(kind))


def array_of(values: Any, kind: Any) -> Any:
    """The results of an aggregate, an array or a tuple of one for each part, as Arrow's of type ``kind``. O(n)."""
    pa = ARROW.module
    if isinstance(values, tuple):
        parts = [array_of(part, field.type) for part, field in zip(values, kind, strict=True)]
        null = StructColumn(values, [field.name for field in kind]).null
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=None if null is None else pa.array(null))
    if values.dtype == object:
        fitting = map(ArrowTypes().fitter(kind), values.tolist()) if _has_to_fit(kind) else values.tolist()
        return pa.array(list(fitting), kind)
    data = data_of(values)
    if data.dtype.kind in "mM":
        unit = getattr(kind, "unit", "us")
        return pa.array(data.astype(f"{data.dtype.kind}8[{unit}]"), mask=null_of(values)).cast(kind)
    return pa.array(data, mask=mask_of(values)).cast(kind)


def _has_to_fit(kind: Any) -> bool:
    """Whether Arrow does not take Python's values unchanged."""
    types = ARROW.module.types
    odd = types.is_nested(kind) or types.is_decimal(kind) or types.is_binary(kind)
    return bool(odd or types.is_timestamp(kind) or types.is_duration(kind))


ARROW = _Arrow()
