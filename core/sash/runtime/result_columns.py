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
from sash.runtime.arrow_bounds import end_types, kind_of
from sash.runtime.window_bounds import check_order
from sash.values.arrow_types import ArrowTypes

__all__ = ["Column", "EngineTypes", "result_columns"]

_TICKS = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}


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

    Both bounds of windows have the type of the column that they are told in, a whole number for positions. Where
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
            tick = _TICKS[kind.unit] if pa.types.is_timestamp(kind) else 1000
            check_order(query, lane, kind_of(kind), system.name(kind), tick)
    if unknown := set(types or ()) - set(query.aggregates):
        raise ValueError(f"types= is given for {sorted(unknown)}, which are no aggregates of the query")
    for key in query.keys:
        system.check_key(key, read[key].kind)
    columns = [read[key] for key in query.keys]
    if None not in query.named:
        columns.append(Column("window", pa.string(), False))
    bounds = end_types(query, pa.schema([(name, column.kind) for name, column in read.items()]))
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
