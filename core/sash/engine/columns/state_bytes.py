"""The state of many keys' lanes as parts that can be written: columns, whatever the number of keys.

A lane that ran by columns is written as its arrays: ``("columns", …)``. One that ran row by row is written key by key:
``("rows", …)``. Either can be read for either engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from sash.engine.columns.aggregates import Aggregate, _form
from sash.engine.columns.keys import Keys, Marks, bounds
from sash.engine.columns.rules.all import Rules
from sash.engine.columns.state import Pending, State
from sash.engine.columns.table import Table, ones
from sash.query import Query
from sash.query.lanes import Lane
from sash.state.lane_state import LaneState, WindowState
from sash.state.parts import _column, _read_column, read_table, read_tuples, table_parts, tuple_parts
from sash.values.arrays import Array, nullable, objects, read_nullable

__all__ = ["column_parts", "read_column_parts", "read_row_parts", "row_parts"]

_APART = ("slices", "pending", "windows")


# lanes that ran by columns


def column_parts(state: State, buffered: bool) -> tuple[Any, ...]:
    """All of a lane's state. O(slices), without a loop over keys."""
    table, pending = state.table, state.pending
    begins = table.begins(len(state.keys))
    columns = [each.form.to_column(part) for each, part in zip(state.aggregates, table.partials, strict=True)]
    return (
        "columns",
        {each.name: getattr(state.keys, each.name) for each in fields(Keys)},
        {name: (marks.since, marks.since_count, marks.edge) for name, marks in state.marks.items()},
        (
            np.diff(begins),
            _close(table.first, begins),
            None if table.first is table.last or np.array_equal(table.first, table.last) else table.last,
            None if table.single else table.count,
            [_column(column) for column in columns],
        ),
        [None if each.dtypes is None else [dtype.str for dtype in each.dtypes] for each in state.aggregates],
        (pending.codes, pending.times, {name: nullable(column) for name, column in pending.columns.items()}),
        {"merges": state.merges, "advanced": state.advanced, "buffered": buffered},
    )


def _close(times: Array, begins: Array) -> tuple[Any, ...]:
    """Times of keys' slices, which lie close together: where each key begins, and small steps."""
    if times.dtype.kind != "i" or not len(times):
        return (times,)
    filled = begins[:-1][begins[:-1] < begins[1:]]
    steps = np.diff(times, prepend=times[:1])
    steps[filled] = 0
    most = max(-int(steps.min()), int(steps.max()))
    for dtype in (np.int8, np.int16, np.int32):
        if most <= np.iinfo(dtype).max:
            return (times[filled], steps.astype(dtype))
    return (times,)


def _read_close(written: tuple[Any, ...], sizes: Array) -> Array:
    if len(written) == 1:
        return np.asarray(written[0])
    starts, steps = written
    upto = np.cumsum(steps, dtype=np.int64)
    filled = sizes[sizes > 0]
    at = np.cumsum(filled) - filled
    return np.asarray(upto + np.repeat(starts - upto[at], filled))


def read_column_parts(written: tuple[Any, ...], query: Query, lane: Lane, buffered: bool) -> State:
    """The state that :func:`column_parts` was given, fitted to a query that may have other windows."""
    _, keys_of, marks_of, (sizes, close, last, count, columns), dtypes, waiting, rest = written
    keys = Keys(**keys_of)
    rules = Rules(query, lane, keys.watermark.dtype)
    if buffered and not rest["buffered"]:
        keys = replace(keys, direct_until=keys.newest)
    first = _read_close(close, sizes)
    aggregates, partials = [], []
    for aggregation, types, column in zip(query.aggregates.values(), dtypes, columns, strict=True):
        aggregate, part = _aggregate(aggregation, types, _read_column(column))
        aggregates.append(aggregate)
        partials.append(part)
    table = Table(
        np.repeat(np.arange(len(keys)), sizes),
        first,
        first if last is None else last,
        ones(len(first)) if count is None else count,
        tuple(partials),
    )
    return State(
        keys,
        {name: _marks(marks_of.get(name), keys) for name in lane.names},
        table,
        tuple(query.aggregates),
        tuple(aggregates),
        _pending(waiting, query),
        rules,
        rest["merges"],
        rest["advanced"],
    )


def _aggregate(aggregation: Any, types: list[str] | None, column: Any) -> tuple[Aggregate, Any]:
    """An aggregate in the form that it had, and its partials."""
    aggregate = Aggregate.unseen(aggregation)
    if types is not None:
        dtypes = tuple(map(np.dtype, types))
        aggregate = Aggregate(aggregation, _form(aggregation, dtypes), dtypes)
    return aggregate.holding(column)


def _marks(written: tuple[Any, ...] | None, keys: Keys) -> Marks:
    """A window's; one that is new begins behind the newest tuples."""
    if written is not None:
        return Marks(*written)
    none = keys.newest == bounds(keys.newest.dtype)[0]
    return Marks(keys.newest, np.where(none, 0, keys.accepted), None)


def _pending(written: tuple[Any, ...], query: Query) -> Pending:
    codes, times, columns = written
    there = {name: read_nullable(column) for name, column in columns.items()}
    return Pending(codes, times, {name: there.get(name, objects([None] * len(codes))) for name in query.values})


# lanes that ran row by row


def row_parts(states: Sequence[LaneState], values: Sequence[str], advanced: Any, buffered: bool) -> tuple[Any, ...]:
    """The states of the keys, one by one."""
    each = [
        (
            {field.name: getattr(state, field.name) for field in fields(state) if field.name not in _APART},
            {name: {field.name: getattr(of, field.name) for field in fields(of)} for name, of in state.windows.items()},
            table_parts(state.slices, 0, len(state.slices)),
            tuple_parts(state.pending),
        )
        for state in states
    ]
    return ("rows", each, list(values), {"advanced": advanced, "buffered": buffered})


def read_row_parts(written: tuple[Any, ...], query: Query, lane: Lane, buffered: bool) -> tuple[list[LaneState], Any]:
    """The states of the keys, fitted to a query that may have other windows; the watermark that all were told of."""
    _, each, values, rest = written
    places = [values.index(column) if column in values else None for column in query.values]
    states = []
    for known, windows, table, pending in each:
        state = LaneState(**known, slices=read_table(table), pending=read_tuples(pending), windows={})
        state.windows = {name: _window(windows.get(name), state.newest, state.accepted) for name in lane.names}
        state.pending = _refitted(state.pending, places)
        state.slices.tuples = {at: _refitted(kept, places) for at, kept in state.slices.tuples.items()}
        if buffered and not rest["buffered"]:
            state.direct_until = state.newest
        states.append(state)
    return states, rest["advanced"]


def _window(written: Mapping[str, Any] | None, newest: Any, accepted: int) -> WindowState:
    return WindowState(newest, accepted) if written is None else WindowState(**written)


def _refitted(tuples: list[Any], places: Sequence[int | None]) -> list[Any]:
    return [(time, tuple(None if place is None else row[place] for place in places)) for time, row in tuples]
