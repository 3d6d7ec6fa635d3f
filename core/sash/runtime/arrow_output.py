"""Results as Arrow columns of just the types that a schema promises: for engines that were told them before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from sash.engine.results import Outcome
from sash.frames.arrow_arrays import array_of
from sash.query import Query
from sash.runtime.window_bounds import POSITION
from sash.values.epochs import numbers_of

if TYPE_CHECKING:
    from sash.runtime.keyed import Outcomes

__all__ = ["Columns", "array_of"]

Array = np.ndarray[Any, Any]
_STEPS = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}
_DAY = 86_400 * 10**9


class Columns:
    """Makes record batches of a schema from the outcomes of a query, or of some of its windows."""

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
        made = [self._column(field, outcome, keys, codes) for field in self._schema]
        return pa.RecordBatch.from_arrays(made, schema=self._schema)

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
        return self._ends(outcome, outcome.start if name == "window_start" else outcome.end, field.type)

    def _aggregate(self, name: str, values: Any, kind: pa.DataType) -> pa.Array:
        try:
            return array_of(values, kind)
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
            raise TypeError(
                f"aggregate {name!r} of {self._query.aggregates[name]!r} gave a result that is no {kind}: {error}; "
                f"tell the type of its results, as in types={{{name!r}: 'double'}}"
            ) from error

    def _ends(self, outcome: Outcome, times: Array, kind: pa.DataType) -> pa.Array:
        """Where windows begin or end: a time or a position, or, where a query has both, one of several fields."""
        if not pa.types.is_struct(kind):
            return _moments(self._numbers(outcome, times), kind)
        lane = outcome.lane
        counted = self._counted(outcome)
        parts = []
        for field in kind:
            rows = counted if field.name == POSITION else ~counted if field.name == lane.order else counted & ~counted
            there = _moments(self._numbers(outcome, times)[rows], field.type)
            places = np.cumsum(rows) - 1
            parts.append(there.take(pa.array(places, mask=~rows)))
        return pa.StructArray.from_arrays(parts, fields=list(kind))

    def _numbers(self, outcome: Outcome, times: Array) -> Array:
        """Times as they are inside; those of plain numbers in the unit that the query says these have."""
        unit = outcome.lane.time_unit
        if unit is None:
            return times
        counted = self._counted(outcome)
        if not counted.any():
            return numbers_of(times, unit, whole=True)
        return np.where(counted, times, numbers_of(np.where(counted, 0, times), unit, whole=True))

    def _counted(self, outcome: Outcome) -> Array:
        """Which ends are positions."""
        lane = outcome.lane
        named = self._query.named
        positions = [lane.order is None or named[name].bounds_are_positions for name in lane.names]
        return np.array(positions)[outcome.window]


def _moments(times: Array, kind: pa.DataType) -> pa.Array:
    """Times as they are inside, as users have them."""
    if pa.types.is_timestamp(kind):
        return pa.array((times // _STEPS[kind.unit]).astype(np.int64, copy=False)).view(kind)
    if pa.types.is_date(kind):
        return pa.array((times // _DAY).astype(np.int32)).view(kind)
    return pa.array(times.astype(np.int64 if pa.types.is_integer(kind) else np.float64, copy=False)).cast(kind)
