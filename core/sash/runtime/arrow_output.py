"""Results as Arrow record batches, for engines: their schema, which is fixed before any row, and the batches.

An engine has its columns in Arrow's types, in which rows travel, and says what it calls a type and which ones it lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from sash.aggregations import Aggregation
from sash.aggregations.result_types import declared_type, never_null
from sash.engine.results import DELETED, EARLY, Outcome
from sash.frames.arrow_frame import ArrowTypes, array_of
from sash.query import Query
from sash.query.lanes import Lane
from sash.runtime.window_bounds import POSITION, bound_fields, bound_kind, check_order, lane_fields
from sash.values.timestamps import STEPS, numbers_of

if TYPE_CHECKING:
    from sash.runtime.operator import Outcomes

__all__ = ["CHANGE", "ArrowOutput", "Column", "EngineTypes", "bound_types", "result_columns"]

Array = np.ndarray[Any, Any]
CHANGE = "sash_change"
"""The column of a changelog that says what a row is: it is written if the schema has it."""
INSERTED, UPDATED, REMOVED = 0, 2, 3
"""What rows of a changelog are, by Flink's numbers."""


class EngineTypes(ArrowTypes):
    """Arrow's types as an engine has them."""

    def name(self, kind: pa.DataType) -> str:
        """What users of the engine call a type."""
        return str(kind)

    def check_key(self, name: str, kind: pa.DataType) -> None:
        """Refuse a type that the engine cannot group rows by."""


class Column(NamedTuple):
    """A column of a table."""

    name: str
    kind: pa.DataType
    nullable: bool = True


def result_columns(
    query: Query,
    find: Callable[[str], Column],
    system: EngineTypes,
    types: Mapping[str, pa.DataType] | None = None,
) -> list[Column]:
    """The columns of a query's results; an error says what does not fit. ``types`` are known types of aggregates.

    Both bounds of windows have the type of the column whose values they are, a whole number for positions. Where
    windows of one query differ in this, they are a structure with a field for each: the others are null. O(windows).

    >>> import sash
    >>> query = sash.Query(windows=sash.sliding(3), aggregates={"n": sash.Count()})
    >>> [f"{name} {kind}" for name, kind, _ in result_columns(query, Column, EngineTypes())]
    ['window_start int64', 'window_end int64', 'n int64']
    """
    if not isinstance(query, Query):
        raise TypeError(f"query must be a sash.Query; got {type(query).__name__}")
    read = {name: find(name) for name in query.columns}
    for lane in query.lanes:
        if lane.order is not None:
            kind = read[lane.order].kind
            zoned = getattr(kind, "tz", None) is not None
            check_order(query, lane, system.order_kind(kind), system.name(kind), system.tick(kind), zoned)
    if unknown := set(types or ()) - set(query.aggregates):
        raise ValueError(f"types= is given for {sorted(unknown)}, which are not aggregates of the query")
    for key in query.keys:
        system.check_key(key, read[key].kind)
    columns = [read[key] for key in query.keys]
    if None not in query.named:
        columns.append(Column("window", pa.string(), False))
    bounds = bound_types(query, {name: column.kind for name, column in read.items()})
    bound = pa.struct(list(bounds.items())) if len(set(bounds.values())) > 1 else next(iter(bounds.values()))
    columns += [Column(name, bound, False) for name in ("window_start", "window_end")]
    if query.revises:
        columns.append(Column("revision", pa.int64(), False))
    if query.early is not None:
        columns.append(Column("final", pa.bool_(), False))
    for name, aggregation in query.aggregates.items():
        inputs = [read[column] for column in aggregation.columns]
        kind = types[name] if types and name in types else _result_type(name, aggregation, inputs, system)
        null = query.computed is not query.aggregates
        null = null or not never_null(aggregation, any(column.nullable for column in inputs))
        columns.append(Column(name, kind, null))
    return columns


def _result_type(name: str, aggregation: Aggregation, inputs: list[Column], system: EngineTypes) -> pa.DataType:
    try:
        return declared_type(aggregation, [column.kind for column in inputs], system)
    except TypeError as error:
        typed = ", ".join(f"{column.name!r} is {system.name(column.kind)}" for column in inputs)
        raise TypeError(f"aggregate {name!r}: {error}" + (f" (column {typed})" if typed else "")) from error


def bound_types(query: Query, kinds: Mapping[str, pa.DataType]) -> dict[str, pa.DataType]:
    """The types of the bounds of a query's windows over columns of these ``kinds``, by column and for positions.

    O(windows).

    >>> import sash
    >>> both = {"counts": sash.sliding(3), "times": sash.sliding("36h", "12h")}
    >>> query = sash.Query(windows=both, aggregates={"n": sash.Count()}, time="day")
    >>> bound_types(query, {"day": pa.date32()})
    {'position': DataType(int64), 'day': TimestampType(timestamp[us])}
    """
    return {
        name: pa.int64() if lane is None else _bound_type(query, lane, kinds[name])
        for name, lane in bound_fields(query).items()
    }


def _bound_type(query: Query, lane: Lane, kind: pa.DataType) -> pa.DataType:
    order = ArrowTypes().order_kind(kind) or "number"
    bound = bound_kind(query, lane, order)
    if bound in ("timestamp", "date"):
        return kind if bound == order else pa.timestamp("us")
    return pa.int64() if bound == "whole" else pa.float64()


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
        if name == CHANGE:
            kinds = np.where(outcome.revision > 0, UPDATED, INSERTED)
            return pa.array(np.where(outcome.revision == DELETED, REMOVED, kinds).astype(np.int8))
        if name == "revision":
            return pa.array(np.maximum(outcome.revision, 0), pa.int64())
        if name == "final":
            return pa.array(outcome.revision != EARLY)
        return self._bounds(outcome, outcome.start if name == "window_start" else outcome.end, field.type)

    def _aggregate(self, name: str, values: Any, kind: pa.DataType) -> pa.Array:
        try:
            return array_of(values, kind)
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
            raise TypeError(
                f"aggregate {name!r} of {self._query.aggregates[name]!r} returned no {kind}: {error}; "
                f"tell the type of its results, as in types={{{name!r}: 'double'}}"
            ) from error

    def _bounds(self, outcome: Outcome, inside: Array, kind: pa.DataType) -> pa.Array:
        """The starts or ends of windows; where a query has bounds of several types, a structure of them."""
        numbers = self._numbers(outcome, inside)
        if not pa.types.is_struct(kind):
            return _bound_array(numbers, kind)
        parts = []
        for field in kind:
            rows = self._rows(outcome, field.name)
            parts.append(_bound_array(np.where(rows, numbers, 0), field.type, ~rows))
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


def _bound_array(inside: Array, kind: pa.DataType, null: Array | None = None) -> pa.Array:
    """Times inside as an array of a type."""
    if pa.types.is_timestamp(kind):
        return pa.array((inside // STEPS[kind.unit]).astype(np.int64, copy=False), mask=null).view(kind)
    if pa.types.is_date(kind):
        return pa.array((inside // STEPS["D"]).astype(np.int32), mask=null).view(kind)
    number = np.int64 if pa.types.is_integer(kind) else np.float64
    return pa.array(inside.astype(number, copy=False), mask=null).cast(kind)
