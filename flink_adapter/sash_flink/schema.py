"""What a query asks of a stream, and what columns its results have: told before any job starts."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

import pyarrow as pa  # type: ignore[import-untyped]

from sash import Query
from sash.aggregations.result_types import declared_type
from sash.query.lanes import Lane
from sash.runtime.arrow_bounds import end_types, kind_of
from sash.runtime.window_bounds import check_order
from sash_flink.resulting import FlinkTypes

__all__ = ["checked", "find"]

_TICKS = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}


def checked(query: Query, schema: pa.Schema, types: Mapping[str, pa.DataType] | None = None) -> pa.Schema:
    """The columns that ``query`` gives on a stream of ``schema``; what does not fit is a clear error."""
    if not isinstance(query, Query):
        raise TypeError(f"query must be a sash.Query; got {type(query).__name__}")
    for column in query.columns:
        find(schema, column)
    for lane in query.lanes:
        _check_order(query, lane, schema)
    given = types or {}
    if unknown := set(given) - set(query.aggregates):
        raise ValueError(f"types= is given for {sorted(unknown)}, which are no aggregates of the query")
    fields = [(key, _key(find(schema, key), key)) for key in query.keys]
    if None not in query.named:
        fields.append(("window", pa.string()))
    kind = _window_type(query, schema)
    fields += [("window_start", kind), ("window_end", kind)]
    if query.revises:
        fields.append(("revision", pa.int64()))
    for name, aggregation in query.aggregates.items():
        columns = [find(schema, column) for column in aggregation.columns]
        try:
            if name in given:
                fields.append((name, given[name]))
            else:
                fields.append((name, declared_type(aggregation, columns, FlinkTypes())))
        except TypeError as error:
            typed = ", ".join(f"{c!r} is {kind}" for c, kind in zip(aggregation.columns, columns, strict=True))
            raise TypeError(f"aggregate {name!r}: {error}" + (f" (column {typed})" if typed else "")) from error
    return pa.schema(fields)


def find(schema: pa.Schema, name: str) -> pa.DataType:
    """The type of the column of this name."""
    if name not in schema.names:
        close = get_close_matches(name, schema.names, 1)
        meant = f"; did you mean {close[0]!r}?" if close else ""
        there = ", ".join(map(repr, schema.names)) or "none"
        raise KeyError(f"column {name!r} is not in the stream, which has {there}{meant}")
    return schema.field(name).type


def _key(kind: pa.DataType, name: str) -> pa.DataType:
    if pa.types.is_nested(kind):
        raise TypeError(f"key column {name!r} is {kind}: a key must be a plain value")
    return kind


def _check_order(query: Query, lane: Lane, schema: pa.Schema) -> None:
    if lane.order is not None:
        kind = find(schema, lane.order)
        tick = _TICKS[kind.unit] if pa.types.is_timestamp(kind) else 1000
        check_order(query, lane, kind_of(kind), str(kind), tick)


def _window_type(query: Query, schema: pa.Schema) -> pa.DataType:
    """The type of both ends of windows: that of the column they are on, a whole number for positions.

    Where windows of one query differ in this, a structure with a field for each: the others are null.
    """
    kinds = end_types(query, schema)
    if len(set(kinds.values())) == 1:
        return next(iter(kinds.values()))
    return pa.struct(list(kinds.items()))
