"""The state of a columnar lane to and from the neutral state of each key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sash.engine.columns.aggregates import Aggregate
from sash.engine.columns.keys import Array, Keys, Marks, bounds
from sash.engine.columns.rules.all import Rules
from sash.engine.columns.state import Pending, State
from sash.engine.columns.table import Table
from sash.query import Query
from sash.query.lanes import Lane
from sash.state.lane_state import LaneState, SliceTable, WindowState
from sash.values.arrays import array_of, in_micros, to_list
from sash.values.partial_column import PartialColumn

__all__ = ["dumped", "empty_state", "loaded"]


def empty_state(query: Query, lane: Lane) -> State:
    """Before the first row, without a key."""
    return loaded((), query, lane)


def _none(time: Any, low: Any) -> Any:
    return None if time == low else time.item()


def dumped(state: State, query: Query, in_order: bool) -> list[LaneState]:
    """The neutral state of each key."""
    table, keys, pending = state.table, state.keys, state.pending
    begins, final = table.begins(len(keys)), state.rules.final(table, keys, in_order)
    low = bounds(state.dtype)[0]
    order = np.argsort(pending.codes, kind="stable")
    waiting = np.searchsorted(pending.codes[order], np.arange(len(keys) + 1))
    values = [to_list(in_micros(pending.columns[name][order])) for name in query.values] if len(pending) else []
    times = pending.times[order].tolist()
    rows = list(zip(times, zip(*values, strict=True) if values else [()] * len(times), strict=True))
    columns = [each.to_rows(part) for each, part in zip(state.aggregates, table.partials, strict=True)]
    return [
        LaneState(
            _watermark(keys.watermark[key], state.dtype),
            _none(keys.newest[key], low),
            int(keys.accepted[key]),
            _slices(table, columns, slice(begins[key], begins[key + 1])),
            rows[waiting[key] : waiting[key + 1]],
            {name: _window(marks, key, low) for name, marks in state.marks.items()},
            _none(keys.direct_until[key], low),
            int(final[key]),
            int(keys.evicted[key]),
            int(keys.dropped[key]),
            0,
            int(keys.results[key]),
            state.merges if key == 0 else 0,
        )
        for key in range(len(keys))
    ]


def _watermark(time: Any, dtype: Any) -> Any:
    low, high = bounds(dtype)
    return None if time == low else float("inf") if time == high else time.item()


def _slices(table: Table, columns: Sequence[PartialColumn], own: slice) -> SliceTable:
    first, last, count = (array[own].tolist() for array in (table.first, table.last, table.count))
    return SliceTable(first, last, count, tuple(column[own] for column in columns))


def _window(marks: Marks, key: int, low: Any) -> WindowState:
    since = None if marks.since is None else _none(marks.since[key], low)
    count = 0 if marks.since_count is None else int(marks.since_count[key])
    edge = None if marks.edge is None else _none(marks.edge[key], low)
    return WindowState(since, count, [] if edge is None else [edge])


def loaded(states: Sequence[LaneState], query: Query, lane: Lane) -> State:
    """The lane's state of its keys' neutral states."""
    times = [time for each in states for time in _times(each)]
    floating = any(isinstance(time, float) and abs(time) != float("inf") for time in times)
    rules = Rules(query, lane, np.dtype(np.float64 if floating else np.int64))
    low, high = bounds(rules.dtype)

    def timely(values: Sequence[Any]) -> Array:
        ends = {float("inf"): high, float("-inf"): low}
        return np.array([low if value is None else ends.get(value, value) for value in values], rules.dtype)

    waiting = [len(each.pending) for each in states]
    keys = Keys(
        timely([each.watermark for each in states]),
        timely([each.newest for each in states]),
        np.array([each.accepted for each in states], np.int64),
        np.array([each.accepted for each in states], np.int64) - np.array(waiting, np.int64),
        np.array([each.late_dropped for each in states], np.int64),
        np.array([each.results for each in states], np.int64),
        np.array([each.numbered for each in states], np.int64),
        timely([each.direct_until for each in states]),
    )
    marks = {name: _marks([each.windows[name] for each in states], timely) for name in lane.names}
    aggregates = tuple(map(Aggregate.unseen, query.aggregates.values()))
    table = _table([_in_tuples(each.slices, query) for each in states], aggregates, timely)
    rows = [row for each in states for row in each.pending]
    pending = Pending(
        np.repeat(np.arange(len(states)), waiting),
        timely([time for time, _ in rows]),
        {name: array_of([values[i] for _, values in rows]) for i, name in enumerate(query.values)},
    )
    return State(
        keys, marks, table, tuple(query.aggregates), aggregates, pending, rules, sum(each.merges for each in states)
    )


def _times(state: LaneState) -> list[Any]:
    times = [state.watermark, state.newest, state.direct_until, *state.slices.first, *state.slices.last]
    return [*times, *(time for time, _ in state.pending)]


def _marks(windows: Sequence[WindowState], timely: Any) -> Marks:
    if all(each.since is None for each in windows):
        since = count = None
    else:
        since = timely([each.since for each in windows])
        count = np.array([each.since_count for each in windows], np.int64)
    edges = [each.edges[-1] if each.edges else None for each in windows]
    return Marks(since, count, None if all(edge is None for edge in edges) else timely(edges))


def _in_tuples(slices: SliceTable, query: Query) -> SliceTable:
    """With a slice for each tuple that is kept: the finest that they can be cut to."""
    if not any(slices.tuples.values()):
        return slices
    lists = [column.to_list() for column in slices.partials]
    made: list[tuple[Any, Any, int, list[Any]]] = []
    for i, (first, last, count) in enumerate(zip(slices.first, slices.last, slices.count, strict=True)):
        if not slices.tuples.get(i):
            made.append((first, last, count, [column[i] for column in lists]))
        for time, values in slices.tuples.get(i, ()):
            made.append((time, time, 1, _lifted(dict(zip(query.values, values, strict=True)), query)))
    partials = tuple(PartialColumn.of([each[3][j] for each in made]) for j in range(len(lists)))
    return SliceTable([each[0] for each in made], [each[1] for each in made], [each[2] for each in made], partials)


def _lifted(row: Mapping[str, Any], query: Query) -> list[Any]:
    partials = []
    for aggregation in query.aggregates.values():
        values = tuple(row[name] for name in aggregation.columns)
        partials.append(aggregation.lift(values if aggregation.arity > 1 else values[0] if values else None))
    return partials


def _table(slices: Sequence[SliceTable], aggregates: Sequence[Aggregate], timely: Any) -> Table:
    partials = []
    for i, each in enumerate(aggregates):
        columns = [own.partials[i] for own in slices if len(own)]
        partials.append(each.form.from_column(PartialColumn.concatenate(columns)) if columns else each.form.empty(0))
    return Table(
        np.repeat(np.arange(len(slices)), [len(own) for own in slices]),
        timely([time for own in slices for time in own.first]),
        timely([time for own in slices for time in own.last]),
        np.array([count for own in slices for count in own.count], np.int64),
        tuple(partials),
    )
