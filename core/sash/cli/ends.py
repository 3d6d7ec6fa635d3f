"""Queries whose windows end at times and at positions: in a file, ends are then structures, as on the engines."""

from __future__ import annotations

from typing import Any

from sash.cli.files import arrow, in_micros
from sash.query import Query
from sash.runtime.window_bounds import POSITION, ends_in

__all__ = ["parts", "with_structures"]


def parts(query: Query) -> dict[str, Query]:
    """By what windows end at, a column or :data:`POSITION`, queries of those windows; one, if all are alike."""
    names: dict[str, list[str | None]] = {}
    for lane in query.lanes:
        for name in lane.names:
            names.setdefault(ends_in(query, lane, name) or POSITION, []).append(name)
    if len(names) == 1:
        return {next(iter(names)): query}
    return {kind: query.using(windows={name: query.named[name] for name in each}) for kind, each in names.items()}


def with_structures(table: Any, kind: str, query: Query, schema: Any) -> Any:
    """The results of those windows of a query that end at ``kind``, with ends that have a field for each kind.

    ``schema`` is that of the rows. Where all ends are of one type, they are as they were.
    """
    from sash.runtime.arrow_bounds import end_types

    pa, types = arrow(), end_types(query, in_micros(schema))
    if len(set(types.values())) == 1:
        return table
    table = table.replace_schema_metadata()
    for name in ("window_start", "window_end"):
        place = table.schema.get_field_index(name)
        ends = table.column(place).cast(types[kind]).combine_chunks()
        fields = [ends if each == kind else pa.nulls(len(table), types[each]) for each in types]
        made = pa.StructArray.from_arrays(fields, fields=[pa.field(*each) for each in types.items()])
        table = table.set_column(place, name, made)
    return table
