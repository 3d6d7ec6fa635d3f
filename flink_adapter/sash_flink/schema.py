"""What a query asks of a stream, and what columns its results have: told before any job starts."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

import pyarrow as pa  # type: ignore[import-untyped]

from sash import Query
from sash.lanes import Lane
from sash.output import Output
from sash.resulttypes import ends_in, has_fractions, result_type
from sash_flink.types import resulting, samples

__all__ = ["checked", "find"]

_DAY = 86_400 * 10**9
_STEPS = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}


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
                fields.append((name, resulting(result_type(aggregation, [samples(each) for each in columns]), columns)))
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
    """The column that orders a lane holds times, if it is compared with durations, else numbers."""
    if lane.order is None:
        return
    kind = find(schema, lane.order)
    says = f"column {lane.order!r} is {kind}"
    times = pa.types.is_timestamp(kind) or pa.types.is_date(kind)
    if not times and not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise TypeError(f"{says}, which orders nothing: cast it to a timestamp, a date or a number")
    if lane.unit == "duration" and not times:
        raise TypeError(
            f"{says}, but windows, watermark_delay or allowed_lateness are durations: cast it to a timestamp, or give "
            f"them as numbers, windows with on={lane.order!r}"
        )
    if lane.unit == "number" and times:
        raise TypeError(
            f"{says}, but windows on={lane.order!r} or their delays are plain numbers: give them as durations such as "
            f"'10s', with time={lane.order!r} and without on="
        )
    smallest = _STEPS[kind.unit] if pa.types.is_timestamp(kind) else 1000
    for step in Output(query).steps(lane) if times else []:
        if step % smallest:
            raise ValueError(f"{says}: a window of {step} ns has ends that it cannot tell; use finer timestamps")


def _window_type(query: Query, schema: pa.Schema) -> pa.DataType:
    """The type of both ends of windows: that of the column they are on, a whole number for positions.

    Where windows of one query differ in this, a structure with a field for each: the others are null.
    """
    kinds: dict[str, pa.DataType] = {}
    for lane in query.lanes:
        for name in lane.names:
            column = ends_in(query, lane, name)
            if column is None:
                kinds["position"] = pa.int64()
            else:
                kinds[column] = _end_type(query, lane, find(schema, column))
    if len(set(kinds.values())) == 1:
        return next(iter(kinds.values()))
    return pa.struct(list(kinds.items()))


def _end_type(query: Query, lane: Lane, kind: pa.DataType) -> pa.DataType:
    if pa.types.is_date(kind) and any(step % _DAY for step in Output(query).steps(lane)):
        return pa.timestamp("us")
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return kind
    return pa.int64() if pa.types.is_integer(kind) and not has_fractions(query, lane) else pa.float64()
