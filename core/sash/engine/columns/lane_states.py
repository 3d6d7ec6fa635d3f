"""The state of a columnar lane as a neutral :class:`LaneState`, and back, without a loop over keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sash.engine.columns.aggregates import Aggregate, form_for
from sash.engine.columns.corrections import Revisions
from sash.engine.columns.moment import Keys, Marks, Moment, Pending, evolve
from sash.engine.columns.rules.all import Rules
from sash.engine.columns.step import State
from sash.engine.columns.table import Table, ones
from sash.kernels.ranges.partials import Partials
from sash.query import Query
from sash.query.lanes import Lane
from sash.state.lane_state import (
    KeyColumns,
    LaneState,
    SliceColumns,
    TupleColumns,
    WindowColumns,
    next_block,
)
from sash.state.time_columns import TIME_BOUNDS, cast_times
from sash.values.arrays import Array, array_of, in_micros, to_list
from sash.values.columns import PartialColumn

__all__ = ["empty_state", "load", "save", "unite"]


def empty_state(query: Query, lane: Lane) -> State:
    """The state before the first row, without a key."""
    rules = Rules(query, lane, np.dtype(np.int64))
    aggregates = tuple(map(Aggregate.unseen, query.computed.values()))
    none = np.zeros(0, np.int64)
    table = Table(none, none, none, none, tuple(aggregate.form.empty(0) for aggregate in aggregates))
    pending = Pending(none, none, {name: array_of([]) for name in query.values})
    marks = {name: Marks() for name in lane.names}
    return State(Keys.none(rules.dtype), marks, table, tuple(query.computed), aggregates, pending, rules)


# saving


def save(state: State, in_order: bool, buffered: bool) -> LaneState:
    """The state that either engine can load. O(slices)."""
    table, keys, pending = state.table, state.keys, state.pending
    counters = (keys.accepted, keys.evicted, keys.dropped, keys.results)
    columns = [aggregate.form.to_column(part) for aggregate, part in zip(state.aggregates, table.partials, strict=True)]
    types = tuple(_type_names(aggregate) for aggregate in state.aggregates)
    revisions = state.revisions.by_window(len(state.marks), len(keys))
    windows = {
        name: replace(WindowColumns.of_edge(marks.since, marks.since_count, marks.edge), revisions=of_window)
        for (name, marks), of_window in zip(state.marks.items(), revisions, strict=True)
    }
    return LaneState(
        KeyColumns(keys.watermark, keys.newest, keys.direct_until, *counters),
        windows,
        SliceColumns(table.code, table.first, table.last, table.count, tuple(columns), types),
        TupleColumns(pending.codes, pending.times, pending.columns),
        state.rules.final(table, keys, in_order),
        state.advanced,
        buffered,
        state.merges,
        state.late_corrected,
    )


def _type_names(aggregate: Aggregate) -> tuple[str, ...] | None:
    return None if aggregate.dtypes is None else tuple(dtype.str for dtype in aggregate.dtypes)


# loading


def load(saved: LaneState, query: Query, lane: Lane) -> State:
    """The state of a lane that either engine saved. O(slices)."""
    slices, waiting = _split_kept(saved.slices, query), saved.pending
    rules = Rules(query, lane, np.dtype(np.float64 if _has_fractions(saved) else np.int64))
    keys = _keys(saved, rules.dtype)
    if slices is not saved.slices:
        keys = replace(keys, evicted=_new_numbers(saved))
    aggregates, partials = _aggregates(query, slices)
    first = cast_times(slices.first, rules.dtype)
    last = first if slices.last is slices.first else cast_times(slices.last, rules.dtype)
    count = ones(len(slices)) if (slices.count == 1).all() else slices.count
    columns = {name: _values(waiting.columns[name]) for name in query.values}
    return State(
        keys,
        {name: _marks(saved.windows[name], len(keys), rules.dtype) for name in lane.names},
        Table(slices.codes, first, last, count, partials),
        tuple(query.computed),
        aggregates,
        Pending(waiting.codes, cast_times(waiting.times, rules.dtype), columns),
        rules,
        Revisions.of_windows([saved.windows[name].revisions for name in lane.names], rules.dtype),
        saved.late_corrected,
        saved.merges,
        saved.advanced,
    )


def unite(saved: LaneState, query: Query, lane: Lane) -> State:
    """The same, of slices of parts of the rows (:meth:`LaneState.unite`), merged. O(slices log slices)."""
    state = load(saved, query, lane)
    moment = Moment(state.keys, state.keys, state.marks)
    table, merges = state.rules.direct.unite(state.table, state.aggregates, moment)
    return evolve(state, table=table, merges=state.merges + merges)


def _has_fractions(saved: LaneState) -> bool:
    """Whether some time is no whole number."""
    keys, slices = saved.keys, saved.slices
    columns = [keys.watermark, keys.newest, keys.direct_until, slices.first, slices.last, saved.pending.times]
    return any(column.dtype == object or (column.dtype.kind == "f" and np.isfinite(column).any()) for column in columns)


def _keys(saved: LaneState, dtype: np.dtype[Any]) -> Keys:
    keys = saved.keys
    watermark, newest, direct = (
        cast_times(column, dtype) for column in (keys.watermark, keys.newest, keys.direct_until)
    )
    settled = keys.accepted - np.bincount(saved.pending.codes, minlength=len(keys))
    return Keys(watermark, newest, keys.accepted, settled, keys.late_dropped, keys.results, keys.numbered, direct)


def _marks(window: WindowColumns, keys: int, dtype: np.dtype[Any]) -> Marks:
    since = None if window.since is None else cast_times(window.since, dtype)
    if window.edges is None:
        return Marks(since, window.since_count)
    sizes, times = window.edges
    edge = np.full(keys, TIME_BOUNDS[dtype][0])
    edge[sizes > 0] = cast_times(times, dtype)[np.cumsum(sizes)[sizes > 0] - 1]
    return Marks(since, window.since_count, edge)


def _values(column: Array) -> Array:
    """Values in a type of columns: rows may bring numbers of different types."""
    return array_of(to_list(in_micros(column))) if column.dtype == object else column


def _aggregates(query: Query, slices: SliceColumns) -> tuple[tuple[Aggregate, ...], tuple[Partials, ...]]:
    """The aggregates, in the forms that they had when they were saved, and their partials."""
    pairs = []
    for aggregation, types, column in zip(query.computed.values(), slices.dtypes, slices.partials, strict=True):
        aggregate = Aggregate.unseen(aggregation)
        if types is not None:
            dtypes = tuple(map(np.dtype, types))
            aggregate = replace(aggregate, form=form_for(aggregate.aggregation, dtypes), dtypes=dtypes)
        pairs.append(aggregate.holding(column))
    aggregates, partials = zip(*pairs, strict=True)
    return aggregates, partials


def _split_kept(slices: SliceColumns, query: Query) -> SliceColumns:
    """The slices, those that keep their tuples split into one for each: the finest that they can be cut to."""
    kept = slices.kept
    if not len(kept):
        return slices
    whole = np.ones(len(slices), np.bool_)
    whole[kept.codes] = False
    rows = [dict(zip(kept.columns, row, strict=True)) for row in zip(*map(to_list, kept.columns.values()), strict=True)]
    lifted = [_lift(row, query) for row in rows or [{}] * len(kept)]
    partials = tuple(PartialColumn.of([row[i] for row in lifted]) for i in range(len(query.computed)))
    single = np.ones(len(kept), np.int64)
    fine = SliceColumns(kept.codes, kept.times, kept.times, single, partials, slices.dtypes)
    rest = replace(slices.take(whole), codes=np.flatnonzero(whole), kept=fine.kept)
    joint = SliceColumns.concatenate([rest, fine])  # by the place that they had
    return replace(joint, codes=slices.codes[joint.codes])


def _new_numbers(saved: LaneState) -> Array:
    """The numbers of keys' first slices, new ones where slices were split: no block that was written holds these."""
    slices, numbered = saved.slices, saved.keys.numbered.copy()
    split, held = np.unique(slices.codes[slices.kept.codes]), np.bincount(slices.codes, minlength=len(numbered))
    numbered[split] = next_block(numbered[split], held[split])
    return numbered


def _lift(row: Mapping[str, Any], query: Query) -> Sequence[Any]:
    partials = []
    for aggregation in query.computed.values():
        values = tuple(row[name] for name in aggregation.columns)
        partials.append(aggregation.lift(values if len(values) > 1 else values[0] if values else None))
    return partials
