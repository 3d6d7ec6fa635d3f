"""A whole data set through one lane, after which nothing comes: rows in blocks of keys, on all cores.

    rows (all keys mixed) ── partition ──> keys 0–4 │ keys 5–11 │ key 12 │ …      one pass a column
                                              │           │         │
                                          slices, windows, results             small arrays, which caches hold
                                              └───────────┴─────────┘
                                           results, key by key

Keys share nothing, so blocks do not either. One rolling window over numbers needs no slices at all: the kernels of
:func:`sash.rolling` run over the rows of a block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation
from sash.engine.columns.engine import ColumnEngine
from sash.engine.columns.moment import Array, constant
from sash.engine.results import Outcome
from sash.frames import Frame, Renumbered
from sash.kernels import tiers
from sash.kernels.inputs import InputColumns
from sash.kernels.kinds import NotCompilable
from sash.kernels.order_statistics import RankedRolling
from sash.kernels.partition import Partition, ascends_by_group
from sash.kernels.rolling.groups import GroupedWindows, number_windows
from sash.kernels.rolling.windows import CompiledRolling
from sash.query import Query
from sash.query.lanes import Lane
from sash.values.columns import Runs
from sash.values.progress import show_progress
from sash.values.shares import Shares, Span, available_threads, span_of
from sash.windows.base import RollingShape

__all__ = ["run_whole"]

BLOCK = 1 << 18
"""About how many rows a block has; more where a key has more."""
LEAST = 1 << 16
"""Rows below which there is one block."""

Columns = Mapping[str, Array]


def run_whole(
    query: Query, lane: Lane, codes: Array | Renumbered, times: Array | None, frame: Frame, keys: int
) -> Outcome:
    """All results of a lane over rows of the keys ``codes``, all below ``keys``. O(rows)."""
    engine = ColumnEngine(query, lane, None, keys=keys)
    columns = engine.values(frame)
    shape = _rolling_shape(query, lane, columns)
    span = None if times is None or not len(times) else span_of(times)
    if times is not None and span is not None and span.ascends and len(codes) >= LEAST and keys > 1:
        outcome = engine.finish_in_order(codes, times, columns, span)
        if outcome is not None:
            return outcome
    codes = np.asarray(codes)
    if len(codes) >= LEAST and (keys > 1 or shape is not None) and not engine.scatters_well(span, len(codes)):
        order = Partition(codes, keys)
        if shape is not None and (outcome := _run_rolling(engine, shape, order, times, span, columns)) is not None:
            return outcome
        if keys > 1:
            return _run_blocks(engine, order, times, span, columns)
    return engine.finish(None if keys == 1 else codes, times, columns, len(codes), span)


# one rolling window over numbers


def _rolling_shape(query: Query, lane: Lane, columns: Columns) -> RollingShape | None:
    """The shape of the only window, if kernels of rows compute what kernels of slices do."""
    numbers = all(type(array) is np.ndarray and array.dtype in ("f8", "i8") for array in columns.values())
    plain = all(
        aggregate.columns and not aggregate.carried and aggregate.where is None
        for aggregate in query.aggregates.values()
    )
    return query.named[lane.names[0]].rolling_shape if numbers and plain and len(lane.names) == 1 else None


def _run_rolling(
    engine: ColumnEngine,
    shape: RollingShape,
    order: Partition,
    times: Array | None,
    span: Span | None,
    columns: Columns,
) -> Outcome | None:
    """The same by kernels of rows; None if they cannot: a key's rows do not come in order, or are not compiled."""
    if times is not None and not _ascend(span) and not ascends_by_group(order.take(times), order.starts):
        return None
    windows = shape.completed(order.counts)
    before = np.concatenate([[0], np.cumsum(windows)])
    start, end = np.empty(before[-1], np.int64), np.empty(before[-1], np.int64)
    rows = {name: order.take(column) for name, column in columns.items()}
    aggregations = engine.query.aggregates
    by_column: dict[Any, dict[str, Aggregation]] = {}
    for name, aggregation in aggregations.items():
        by_column.setdefault(aggregation.columns if aggregation.by_ranks else name, {})[name] = aggregation
    try:
        runs = [_run_of(group, shape, rows, order.starts, before) for group in by_column.values()]
    except NotCompilable:
        return None

    def number(lo: int, hi: int) -> None:
        number_windows(before[lo : hi + 1], shape.first, shape.slide, shape.range, start, end)

    cores = available_threads()
    cores = cores if before[-1] >= cores * tiers.COMPILE_ROWS else 1  # kernels that run as Python would take turns
    tasks = [(run, lo, hi) for run in (*(run.run for run in runs), number) for lo, hi in _shares(before, cores)]
    _map(lambda task: task[0](*task[1:]), tasks, cores)
    results = {
        name: column
        for run, group in zip(runs, by_column.values(), strict=True)
        for name, column in zip(group, run.columns(), strict=True)
    }
    aggregates = {name: results[name] for name in aggregations}
    zero = constant(0, len(end))
    return Outcome(engine.lane, Runs(windows), zero, start, end, zero, aggregates, engine.query)


def _ascend(span: Span | None) -> bool:
    return span is not None and span.ascends


def _run_of(
    group: Mapping[str, Aggregation], shape: RollingShape, rows: Columns, starts: Array, before: Array
) -> GroupedWindows | _GroupedRanks:
    """What runs one aggregation, or several quantiles of one column."""
    aggregation, *others = group.values()
    batch = InputColumns(tuple(rows[column] for column in aggregation.columns), None, None)
    if aggregation.by_ranks:
        return _GroupedRanks([aggregation, *others], shape, batch, starts)
    return GroupedWindows(lambda: CompiledRolling(aggregation, *shape, "sba", batch, exact=True), batch, starts, before)


class _GroupedRanks:
    """:class:`GroupedWindows` of medians and quantiles of one column."""

    def __init__(
        self, aggregations: Sequence[Aggregation], shape: RollingShape, batch: InputColumns, starts: Array
    ) -> None:
        self._aggregations, self._batch, self._starts = aggregations, batch, starts
        self._window = RankedRolling(aggregations[0], shape)
        self._parts: dict[int, list[Any]] = {}

    def run(self, first: int, last: int) -> None:
        starts = self._starts[first : last + 1]
        batch = self._batch.part(slice(starts[0], starts[-1]))
        self._parts[first] = self._window.feed_groups_to(self._aggregations, batch, starts - starts[0])[1]

    def columns(self) -> list[Any]:
        """The results of each."""
        parts = [self._parts[first] for first in sorted(self._parts)]
        return [_join(columns) for columns in zip(*parts, strict=True)]


def _shares(before: Array, cores: int) -> Shares:
    """The keys in shares of about as many windows, one a core."""
    keys = len(before) - 1
    cuts = np.searchsorted(before, np.arange(1, cores) * before[-1] // cores).tolist()
    return list(pairwise(sorted({0, *(min(cut, keys) for cut in cuts), keys})))


# all other windows


def _run_blocks(
    whole: ColumnEngine, order: Partition, times: Array | None, span: Span | None, columns: Columns
) -> Outcome:
    """Each block of keys by an engine of its own."""
    before, keys = order.starts, len(order.counts)
    ordered = None if times is None else order.take(times)
    rows = {name: order.take(column) for name, column in columns.items()}
    first_keys = np.flatnonzero(np.diff(before[:-1] // BLOCK, prepend=-1))
    blocks = list(pairwise([*first_keys.tolist(), keys]))

    def in_order(times: Array, starts: Array) -> bool:
        return _ascend(span) or ascends_by_group(times, starts)

    def run_block(block: tuple[int, int]) -> Outcome:
        first, last = block
        part, starts = slice(before[first], before[last]), before[first : last + 1] - before[first]
        engine = ColumnEngine(whole.query, whole.lane, None, keys=last - first) if first else whole.begin_again(last)
        times = None if ordered is None else ordered[part]
        values = {name: column[part] for name, column in rows.items()}
        if times is not None and span is not None and engine.has_runs and in_order(times, starts):
            return engine.finish_runs(starts, times, values, span)
        codes = None if last == first + 1 else np.asarray(Runs(np.diff(starts)))
        outcome = engine.finish(codes, times, values, part.stop - part.start)
        return replace(outcome, codes=Runs.of(outcome.codes, last - first))

    head = run_block(blocks[0])  # which compiles what the others run, and warns
    compiled = all(form.compiled and form.seconds for form in whole.forms.values())
    threads = available_threads() if compiled else 1
    return _concatenate([head, *_map(run_block, blocks[1:], threads)])


def _map(function: Callable[[Any], Any], tasks: Sequence[Any], threads: int) -> list[Any]:
    """The results of all tasks, in order; what takes more than a second is shown."""
    with ThreadPoolExecutor(threads, thread_name_prefix="sash-run") if threads > 1 else nullcontext() as pool:
        results = map(function, tasks) if pool is None else pool.map(function, tasks)
        return list(show_progress(iter(results), "keys", len(tasks)))


def _concatenate(outcomes: Sequence[Outcome]) -> Outcome:
    first = outcomes[0]
    start, end = (np.concatenate([getattr(outcome, name) for outcome in outcomes]) for name in ("start", "end"))
    aggregates = {name: _join([outcome.aggregates[name] for outcome in outcomes]) for name in first.aggregates}
    zero = constant(0, len(end))
    window = zero if len(first.lane.names) == 1 else np.concatenate([outcome.window for outcome in outcomes])
    codes = Runs.concatenate([outcome.codes for outcome in outcomes])
    return Outcome(first.lane, codes, window, start, end, zero, aggregates, first.query)


def _join(columns: Sequence[Any]) -> Any:
    """One column of results, of several parts perhaps, nulls included."""
    if len(columns) == 1:
        return columns[0]
    if isinstance(columns[0], tuple):
        return tuple(_join(parts) for parts in zip(*columns, strict=True))
    masked: Any = np.ma
    if any(isinstance(column, masked.MaskedArray) for column in columns):
        return masked.concatenate(columns)
    return np.concatenate(columns)
