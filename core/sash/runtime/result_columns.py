"""The columns that a query's results have on an engine, decided before any row is there.

An engine has its columns in Arrow's types, in which rows travel, and says what it calls a type and which ones it lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]

from sash.aggregations import Aggregation
from sash.aggregations.result_types import declared_type, never_null
from sash.query import Query
from sash.query.lanes import Lane
from sash.runtime.window_bounds import bound_fields, bound_kind, check_order
from sash.values.arrow_types import ArrowTypes

__all__ = ["Column", "EngineTypes", "bound_types", "result_columns"]


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
            check_order(query, lane, system.order_kind(kind), system.name(kind), system.tick(kind))
    if unknown := set(types or ()) - set(query.aggregates):
        raise ValueError(f"types= is given for {sorted(unknown)}, which are no aggregates of the query")
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
    for name, aggregation in query.aggregates.items():
        of = [read[column] for column in aggregation.columns]
        kind = types[name] if types and name in types else _result_type(name, aggregation, of, system)
        columns.append(Column(name, kind, not never_null(aggregation, any(column.nullable for column in of))))
    return columns


def _result_type(name: str, aggregation: Aggregation, of: list[Column], system: EngineTypes) -> pa.DataType:
    try:
        return declared_type(aggregation, [column.kind for column in of], system)
    except TypeError as error:
        typed = ", ".join(f"{column.name!r} is {system.name(column.kind)}" for column in of)
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
