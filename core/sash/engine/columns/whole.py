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

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sash.aggregators.pba import available_cores
from sash.engine.columns.engine import ColumnEngine
from sash.engine.columns.moment import Array, constant
from sash.engine.results import Outcome
from sash.frames import Frame
from sash.kernels import tiers
from sash.kernels.inputs import InputColumns
from sash.kernels.kinds import NotCompilable
from sash.kernels.order_statistics import RankedRolling
from sash.kernels.partition import ascends_by_group, partition
from sash.kernels.rolling.groups import by_group
from sash.kernels.rolling.windows import CompiledRolling
from sash.query import Query
from sash.query.lanes import Lane
from sash.windows.base import RollingShape

__all__ = ["run_whole"]

BLOCK = 1 << 18
"""About how many rows a block has; more where a key has more."""
LEAST = 1 << 16
"""Rows below which there is one block."""

Columns = Mapping[str, Array]


def run_whole(query: Query, lane: Lane, codes: Array, times: Array | None, frame: Frame, keys: int) -> Outcome:
    """All results of a lane over rows of the keys ``codes``, all below ``keys``. O(rows)."""
    engine = ColumnEngine(query, lane, None, keys=keys)
    columns = engine.values(frame)
    if len(codes) >= LEAST and not engine.scatters_well:
        shape = _rolling_shape(query, lane, columns)
        if shape is not None and (outcome := _run_rolling(engine, shape, codes, times, columns, keys)) is not None:
            return outcome
        if keys > 1:
            return _run_blocks(engine, codes, times, columns, keys)
    return engine.finish(None if keys == 1 else codes, times, columns, len(codes))


# one rolling window over numbers


def _rolling_shape(query: Query, lane: Lane, columns: Columns) -> RollingShape | None:
    """The shape of the only window, if kernels of rows compute what kernels of slices do."""
    numbers = all(type(array) is np.ndarray and array.dtype in ("f8", "i8") for array in columns.values())
    plain = all(aggregate.columns and not aggregate.carried for aggregate in query.aggregates.values())
    return query.named[lane.names[0]].rolling_shape if numbers and plain and len(lane.names) == 1 else None


def _run_rolling(
    engine: ColumnEngine, shape: RollingShape, codes: Array, times: Array | None, columns: Columns, keys: int
) -> Outcome | None:
    """The same by kernels of rows; None if they cannot: a key's rows do not come in order, or are not compiled."""
    counts, rows = _by_key(codes, times, columns, keys)
    starts = np.concatenate([[0], np.cumsum(counts)])
    if rows.times is not None and not ascends_by_group(rows.times, starts):
        return None
    windows_by_key = shape.completed(counts)
    cores = available_cores()
    cores = cores if len(codes) >= cores * tiers.COMPILE_ROWS else 1  # kernels that run as Python would take turns
    tasks = [(name, lo, hi) for lo, hi in _shares(starts, cores) for name in engine.query.aggregates]

    def compute(task: tuple[str, int, int]) -> Any:
        name, lo, hi = task
        aggregation = engine.query.aggregates[name]
        part = slice(starts[lo], starts[hi])
        batch = InputColumns(tuple(rows.columns[column][part] for column in aggregation.columns), None, None)
        if aggregation.by_ranks:
            ranked = RankedRolling(aggregation, shape)
            return ranked.feed_groups(batch, starts[lo : hi + 1] - starts[lo])[1]
        window = CompiledRolling(aggregation, *shape, "sba", batch, exact=True)
        return by_group(window, batch, starts[lo : hi + 1] - starts[lo], int(windows_by_key[lo:hi].sum()))[1]

    try:
        results = _map(compute, tasks, cores)
    except NotCompilable:
        return None
    parts: dict[str, list[Any]] = {name: [] for name in engine.query.aggregates}
    for (name, _, _), result in zip(tasks, results, strict=True):
        parts[name].append(result)
    code = np.repeat(np.arange(keys), windows_by_key)
    before = np.cumsum(windows_by_key) - windows_by_key
    end = np.arange(len(code))
    end -= np.repeat(before, windows_by_key)
    if shape.slide > 1:
        end *= shape.slide
    end += shape.first
    start = end - shape.range
    if shape.partial:
        np.maximum(start, 0, out=start)
    aggregates = {name: _join(columns) for name, columns in parts.items()}
    zero = constant(0, len(code))
    return Outcome(engine.lane, code, zero, start, end, zero, aggregates, engine.query)


def _shares(starts: Array, cores: int) -> list[tuple[int, int]]:
    """The keys in shares of about as many rows, one a core."""
    keys = len(starts) - 1
    cuts = np.searchsorted(starts, np.arange(1, cores) * starts[-1] // cores).tolist()
    bounds = sorted({0, *(min(cut, keys) for cut in cuts), keys})
    return list(pairwise(bounds))


# all other windows


def _run_blocks(whole: ColumnEngine, codes: Array, times: Array | None, columns: Columns, keys: int) -> Outcome:
    """Each block of keys by an engine of its own."""
    counts, rows = _by_key(codes, times, columns, keys)
    before = np.cumsum(counts) - counts
    first_keys = np.flatnonzero(np.diff(before // BLOCK, prepend=-1))
    blocks = list(pairwise([*first_keys.tolist(), keys]))

    def run_block(block: tuple[int, int]) -> Outcome:
        first, last = block
        part = slice(before[first], before[last - 1] + counts[last - 1])
        engine = ColumnEngine(whole.query, whole.lane, None, keys=last - first) if first else whole.begin_again(last)
        block_codes = None if last == first + 1 else np.repeat(np.arange(last - first), counts[first:last])
        block_times = None if rows.times is None else rows.times[part]
        block_columns = {name: column[part] for name, column in rows.columns.items()}
        outcome = engine.finish(block_codes, block_times, block_columns, part.stop - part.start)
        outcome.codes = outcome.codes + first
        return outcome

    head = run_block(blocks[0])  # which compiles what the others run, and warns
    compiled = all(form.compiled and form.seconds for form in whole.forms.values())
    threads = available_cores() if compiled else 1
    return _concatenate([head, *_map(run_block, blocks[1:], threads)])


class Rows(NamedTuple):
    """Rows key by key, each key's as they came."""

    times: Array | None
    columns: Columns


def _by_key(codes: Array, times: Array | None, columns: Columns, keys: int) -> tuple[Array, Rows]:
    """How many rows each key has, and the rows key by key. A pass or two a column."""
    counts = np.bincount(codes, minlength=keys)
    starts = np.cumsum(counts) - counts
    ordered = None if times is None else partition(times, codes, starts)
    return counts, Rows(ordered, {name: partition(column, codes, starts) for name, column in columns.items()})


def _map(function: Callable[[Any], Any], tasks: Sequence[Any], threads: int) -> list[Any]:
    """The results of all tasks, in order; what takes more than a second is shown on a terminal."""
    with ThreadPoolExecutor(threads, thread_name_prefix="sash-run") if threads > 1 else nullcontext() as pool:
        results = map(function, tasks) if pool is None else pool.map(function, tasks)
        return list(_show_progress(results, len(tasks)))


def _show_progress(results: Iterator[Any], size: int) -> Iterator[Any]:
    begin, shown = time.monotonic(), False
    for done, result in enumerate(results, 1):
        if sys.stderr.isatty() and time.monotonic() - begin > 1:
            print(f"\rsash: {100 * done // size:3d} % of the keys", end="", file=sys.stderr, flush=True)
            shown = True
        yield result
    if shown:
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr, flush=True)


def _concatenate(outcomes: Sequence[Outcome]) -> Outcome:
    first = outcomes[0]
    names = ("codes", "window", "start", "end", "revision")
    arrays = {name: np.concatenate([getattr(outcome, name) for outcome in outcomes]) for name in names}
    aggregates = {name: _join([outcome.aggregates[name] for outcome in outcomes]) for name in first.aggregates}
    return replace(first, **arrays, aggregates=aggregates)


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
