"""Results as Arrow record batches of a schema that was fixed before any row: what engines expect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from sash.engine.results import Outcome
from sash.frames.arrow_arrays import array_of
from sash.query import Query
from sash.runtime.window_bounds import POSITION, lane_fields
from sash.values.epochs import numbers_of
from sash.values.timestamps import STEPS

if TYPE_CHECKING:
    from sash.runtime.keyed import Outcomes

__all__ = ["ArrowOutput"]

Array = np.ndarray[Any, Any]


class ArrowOutput:
    """Builds record batches of ``schema`` from the outcomes of ``query``, or of some of its windows."""

    def __init__(self, query: Query, schema: pa.Schema) -> None:
        self._query = query
        self._schema = schema

    def batches(self, outcomes: Outcomes) -> list[pa.RecordBatch]:
        """A batch for each lane that has results. O(results)."""
        lanes = [outcome for outcome in outcomes.lanes if len(outcome)]
        if not lanes:
            return []
        fields = [self._schema.field(key) for key in self._query.keys]
        arrays = [array_of(outcomes.keys[field.name], field.type) for field in fields]
        keys = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
        return [self.batch(outcome, keys) for outcome in lanes]

    def batch(self, outcome: Outcome, keys: pa.RecordBatch) -> pa.RecordBatch:
        """A batch of results; their ``codes`` are rows of ``keys``. O(results)."""
        codes = pa.array(outcome.codes)
        columns = [self._column(field, outcome, keys, codes) for field in self._schema]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _column(self, field: pa.Field, outcome: Outcome, keys: pa.RecordBatch, codes: pa.Array) -> pa.Array:
        name = field.name
        if name in self._query.keys:
            return keys.column(name).take(codes).cast(field.type)
        if name in self._query.aggregates:
            return self._aggregate(name, outcome.aggregates[name], field.type)
        if name == "window":
            return pa.array(list(outcome.lane.names), pa.string()).take(pa.array(outcome.window))
        if name == "revision":
            return pa.array(outcome.revision, pa.int64())
        return self._bounds(outcome, outcome.start if name == "window_start" else outcome.end, field.type)

    def _aggregate(self, name: str, values: Any, kind: pa.DataType) -> pa.Array:
        try:
            return array_of(values, kind)
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
            raise TypeError(
                f"aggregate {name!r} of {self._query.aggregates[name]!r} gave a result that is no {kind}: {error}; "
                f"tell the type of its results, as in types={{{name!r}: 'double'}}"
            ) from error

    def _bounds(self, outcome: Outcome, inside: Array, kind: pa.DataType) -> pa.Array:
        """The starts or ends of windows; where a query has bounds of several types, a structure of them."""
        numbers = self._numbers(outcome, inside)
        if not pa.types.is_struct(kind):
            return _array(numbers, kind)
        masks = [self._rows(outcome, field.name) for field in kind]
        parts = [_array(np.where(rows, numbers, 0), field.type, ~rows) for field, rows in zip(kind, masks, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=list(kind))

    def _rows(self, outcome: Outcome, field: str) -> Array:
        """Which results have bounds of this field."""
        return np.array([field == other for other in lane_fields(self._query, outcome.lane)])[outcome.window]

    def _numbers(self, outcome: Outcome, inside: Array) -> Array:
        """Positions and times inside; times of a query with a ``time_unit`` in that unit."""
        unit = outcome.lane.time_unit
        if unit is None:
            return inside
        positions = self._rows(outcome, POSITION)
        if not positions.any():
            return numbers_of(inside, unit, whole=True)
        return np.where(positions, inside, numbers_of(np.where(positions, 0, inside), unit, whole=True))


def _array(inside: Array, kind: pa.DataType, null: Array | None = None) -> pa.Array:
    """Times inside as an array of a type."""
    if pa.types.is_timestamp(kind):
        return pa.array((inside // STEPS[kind.unit]).astype(np.int64, copy=False), mask=null).view(kind)
    if pa.types.is_date(kind):
        return pa.array((inside // STEPS["D"]).astype(np.int32), mask=null).view(kind)
    number = np.int64 if pa.types.is_integer(kind) else np.float64
    return pa.array(inside.astype(number, copy=False), mask=null).cast(kind)
