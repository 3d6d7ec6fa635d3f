"""The state of a lane key by key, as the row engine has it, and its conversion to and from columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation
from sash.state.lane_state import (
    KeyColumns,
    LaneState,
    SliceColumns,
    Tuple,
    TupleColumns,
    WindowColumns,
    WindowState,
)
from sash.state.time_columns import convert_units, exact_column, time_column, time_list
from sash.values.arrays import Array, in_micros, to_list
from sash.values.columns import PartialColumn

__all__ = ["KeyState", "SliceState", "gather", "scatter"]

_TIMES = ("watermark", "newest", "direct_until")
_NUMBERS = ("accepted", "numbered", "late_dropped", "results")
"""The fields of both a :class:`KeyState` and :class:`KeyColumns`, by what they hold."""


@dataclass(slots=True)
class SliceState:
    """One slice: a partial for each aggregate; ``tuples`` is None if they are not kept."""

    first: Any
    last: Any
    count: int
    partials: tuple[Any, ...]
    tuples: list[Tuple] | None = None


@dataclass
class KeyState:
    """What a lane knows of one key; the fields are those of :class:`LaneState` and of its columns."""

    watermark: Any
    newest: Any
    accepted: int
    slices: list[SliceState]
    pending: list[Tuple]
    windows: dict[str | None, WindowState]
    direct_until: Any = None
    final: int = 0
    numbered: int = 0
    late_dropped: int = 0
    late_corrected: int = 0
    results: int = 0
    merges: int = 0


def gather(
    states: Sequence[KeyState],
    aggregates: int,
    values: Sequence[str],
    windows: Sequence[str | None],
    advanced: Any = None,
    buffered: bool = False,
) -> LaneState:
    """The state of a lane from those of its keys. O(slices and tuples)."""
    return LaneState(
        KeyColumns(
            **{name: time_column([getattr(state, name) for state in states]) for name in _TIMES},
            **{name: _numbers([getattr(state, name) for state in states]) for name in _NUMBERS},
        ),
        {name: _window_columns([state.windows[name] for state in states]) for name in windows},
        _slice_columns(states, aggregates, values),
        _tuple_columns([state.pending for state in states], values),
        _numbers([state.final for state in states]),
        advanced,
        buffered,
        sum(state.merges for state in states),
        sum(state.late_corrected for state in states),
    )


def scatter(lane: LaneState, aggregates: Sequence[Aggregation], values: Sequence[str]) -> list[KeyState]:
    """The states of a lane's keys. The first gets the counts of all of them together. O(slices and tuples)."""
    keys, size = lane.keys, len(lane.keys)
    fields: dict[str, list[Any]] = {name: time_list(getattr(keys, name)) for name in _TIMES}
    fields |= {name: getattr(keys, name).tolist() for name in _NUMBERS} | {"final": lane.final.tolist()}
    slices = _slice_states(lane.slices, aggregates, values)
    bounds = np.searchsorted(lane.slices.codes, np.arange(size + 1)).tolist()
    fields["slices"] = [slices[begin:end] for begin, end in pairwise(bounds)]
    fields["pending"] = _tuple_lists(lane.pending, values, size)
    windows = {name: _window_states(columns, size) for name, columns in lane.windows.items()}
    fields["windows"] = [{name: of_keys[key] for name, of_keys in windows.items()} for key in range(size)]
    states = [KeyState(**dict(zip(fields, of_key, strict=True))) for of_key in zip(*fields.values(), strict=True)]
    if states:
        states[0].late_corrected, states[0].merges = lane.late_corrected, lane.merges
    return states


def _numbers(values: Sequence[int]) -> Array:
    return np.array(values, np.int64)


def _slice_columns(states: Sequence[KeyState], aggregates: int, values: Sequence[str]) -> SliceColumns:
    rows = [row for state in states for row in state.slices]
    return SliceColumns(
        np.repeat(np.arange(len(states)), [len(state.slices) for state in states]),
        time_column([row.first for row in rows]),
        time_column([row.last for row in rows]),
        _numbers([row.count for row in rows]),
        tuple(PartialColumn.of([row.partials[i] for row in rows]) for i in range(aggregates)),
        (None,) * aggregates,
        _tuple_columns([row.tuples or () for row in rows], values),
    )


def _slice_states(slices: SliceColumns, aggregates: Sequence[Aggregation], values: Sequence[str]) -> list[SliceState]:
    columns = [
        convert_units(aggregation, column, dtypes, dtypes and ["O"] * len(dtypes)).to_list()
        for aggregation, column, dtypes in zip(aggregates, slices.partials, slices.dtypes, strict=True)
    ]
    partials = zip(*columns, strict=True) if columns else [()] * len(slices)
    kept: Any = [None] * len(slices)
    if len(slices.kept):
        kept = [tuples or None for tuples in _tuple_lists(slices.kept, values, len(slices))]
    times = (time_list(slices.first), time_list(slices.last), slices.count.tolist())
    return list(map(SliceState, *times, partials, kept))


def _tuple_columns(lists: Sequence[Sequence[Tuple]], values: Sequence[str]) -> TupleColumns:
    tuples = list(chain.from_iterable(lists))
    if not tuples:
        return TupleColumns.none(values)
    codes = np.repeat(np.arange(len(lists)), list(map(len, lists)))
    columns = {name: exact_column([row[i] for _, row in tuples]) for i, name in enumerate(values)}
    return TupleColumns(codes, time_column([time for time, _ in tuples]), columns)


def _tuple_lists(tuples: TupleColumns, values: Sequence[str], size: int) -> list[list[Tuple]]:
    """The tuples of each of ``size`` keys or slices."""
    tuples = tuples.take(np.argsort(tuples.codes, kind="stable"))
    columns = [to_list(in_micros(tuples.columns[name])) for name in values] if len(tuples) else []
    rows = zip(*columns, strict=True) if columns else [()] * len(tuples)
    in_order = list(zip(time_list(tuples.times), rows, strict=True))
    bounds = np.searchsorted(tuples.codes, np.arange(size + 1)).tolist()
    return [in_order[begin:end] for begin, end in pairwise(bounds)]


def _window_columns(windows: Sequence[WindowState]) -> WindowColumns:
    since = count = edges = revisions = None
    if any(window.since is not None or window.since_count for window in windows):
        since = time_column([window.since for window in windows])
        count = _numbers([window.since_count for window in windows])
    if any(window.edges for window in windows):
        sizes = _numbers([len(window.edges) for window in windows])
        edges = sizes, time_column([edge for window in windows for edge in window.edges])
    if any(window.revisions for window in windows):
        entries = [(*extent, number) for window in windows for extent, number in window.revisions.items()]
        starts, ends, numbers = zip(*entries, strict=True)
        sizes = _numbers([len(window.revisions) for window in windows])
        revisions = sizes, time_column(starts), time_column(ends), _numbers(numbers)
    return WindowColumns(since, count, edges, revisions)


def _window_states(columns: WindowColumns, keys: int) -> list[WindowState]:
    since = [None] * keys if columns.since is None else time_list(columns.since)
    count = [0] * keys if columns.since_count is None else columns.since_count.tolist()
    edges = [[edge for (edge,) in entries] for entries in _entries(columns.edges, keys)]
    revisions = [
        {(start, end): number for start, end, number in entries} for entries in _entries(columns.revisions, keys)
    ]
    return list(map(WindowState, since, count, edges, revisions))


def _entries(flat: Any, keys: int) -> list[list[tuple[Any, ...]]]:
    """The entries of each key, from how many each has and the columns of all of them."""
    if flat is None:
        return [[] for _ in range(keys)]
    sizes, *columns = flat
    entries = list(zip(*map(time_list, columns), strict=True))
    return [entries[begin:end] for begin, end in pairwise([0, *accumulate(sizes.tolist())])]
