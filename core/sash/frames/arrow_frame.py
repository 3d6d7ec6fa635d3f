"""Tables, record batches and streams of batches of Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from sash.frames.library import Library
from sash.values.arrays import Array, Nan, data_of, null_of, objects, with_nulls
from sash.values.columns import StructColumn, plain_rows
from sash.values.timestamps import in_unit

if TYPE_CHECKING:
    from sash.frames.arrow_types import ArrowTypes

__all__ = ["ARROW"]


class _Arrow(Library):
    package = "pyarrow"

    @property
    def types(self) -> ArrowTypes:
        from sash.frames.arrow_types import ArrowTypes  # needs pyarrow, which is imported by now

        return ArrowTypes()

    def is_table(self, data: Any) -> bool:
        pa = self.module
        return pa is not None and isinstance(data, pa.Table | pa.RecordBatch | pa.RecordBatchReader)

    def is_column(self, column: Any) -> bool:
        pa = self.module
        return pa is not None and isinstance(column, pa.Array | pa.ChunkedArray)

    def open_table(self, data: Any, names: Sequence[str]) -> Any:
        """The whole of a stream of batches; any other table unchanged."""
        return data.read_all() if isinstance(data, self.module.RecordBatchReader) else data

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
        from sash.frames.arrow_types import value_type

        return value_type(column.type)

    def take(self, column: Any, rows: Array) -> Any:
        pa = self.module
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
        encoded = column.dictionary_encode(null_encoding="encode")
        encoded = encoded.combine_chunks() if isinstance(encoded, self.module.ChunkedArray) else encoded
        return np.asarray(encoded.indices.to_numpy(zero_copy_only=False)).astype(np.int64)

    def make_column(self, values: Array | StructColumn, like: Any, kind: Any = None) -> Any:
        pa = self.module
        if kind is not None:
            from sash.frames.arrow_types import array_of

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
            from sash.frames.arrow_types import array_of

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


ARROW = _Arrow()
