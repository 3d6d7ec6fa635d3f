"""What the ends of windows are in Arrow's types: before any row is there."""

from __future__ import annotations

import pyarrow as pa  # type: ignore[import-untyped]

from sash.query import Query
from sash.query.lanes import Lane
from sash.runtime.window_bounds import Kind, end_columns, end_kind

__all__ = ["end_types", "kind_of"]


def kind_of(given: pa.DataType) -> Kind | None:
    """What a column of a type is to windows; None: it orders nothing. O(1).

    >>> kind_of(pa.int32()), kind_of(pa.string())
    ('whole', None)
    """
    if pa.types.is_timestamp(given):
        return "timestamp"
    if pa.types.is_date(given):
        return "date"
    if pa.types.is_integer(given):
        return "whole"
    return "number" if pa.types.is_floating(given) else None


def end_types(query: Query, schema: pa.Schema) -> dict[str, pa.DataType]:
    """The types of the ends of a query's windows, by what they are told in: columns, and positions. O(windows).

    >>> import sash
    >>> both = {"counts": sash.sliding(3), "times": sash.sliding("36h", "12h")}
    >>> query = sash.Query(windows=both, aggregates={"n": sash.Count()}, time="day")
    >>> end_types(query, pa.schema([("day", pa.date32())]))
    {'position': DataType(int64), 'day': TimestampType(timestamp[us])}
    """
    return {
        name: pa.int64() if lane is None else _end_type(query, lane, schema.field(name).type)
        for name, lane in end_columns(query).items()
    }


def _end_type(query: Query, lane: Lane, given: pa.DataType) -> pa.DataType:
    kind = kind_of(given) or "number"
    found = end_kind(query, lane, kind)
    if found in ("timestamp", "date"):
        return given if found == kind else pa.timestamp("us")
    return pa.int64() if found == "whole" else pa.float64()
