"""One batch through a lane: from the state before it to the state after it and the results that it brings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sash.engine.coarsening import next_coarsening
from sash.engine.columns.aggregates import as_output
from sash.engine.columns.keys import Array, Keys, Marks, altered, bounds
from sash.engine.columns.moment import Moment, Rows
from sash.engine.columns.slicer import merged
from sash.engine.columns.state import Pending, State
from sash.engine.decisions import Decisions
from sash.kernels.row_passes import admit_many, admit_one, order_of
from sash.kernels.time_passes import is_sorted
from sash.state.lane_state import next_block

__all__ = [
    "Results",
    "admitted",
    "admitted_by_stream",
    "counted",
    "counting_marks",
    "grown",
    "placed",
    "run",
    "stream_watermark",
]

NONE = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Results:
    """Results as columns, key by key, in the order in which they became complete.

    ``window`` are places in the lane's names. ``start`` and ``end`` are times as they are inside, positions for windows
    on counts; floats, if times are. An aggregate is an array, masked where results are null, or a tuple of arrays for a
    result of several parts.
    """

    codes: Array
    window: Array
    start: Array
    end: Array
    aggregates: dict[str, Any]

    def __len__(self) -> int:
        return len(self.codes)


def grown(state: State, size: int) -> State:
    """With keys up to ``size``, and times of the type that the rules have."""
    pending, table, dtype = state.pending, state.table, state.dtype
    if size <= len(state.keys) and state.keys.watermark.dtype == dtype:
        return state
    size = max(size, len(state.keys))
    return altered(
        state,
        keys=state.keys.grown(size, dtype, state.advanced),
        marks={name: marks.grown(size, dtype) for name, marks in state.marks.items()},
        table=altered(table, first=table.first.astype(dtype), last=table.last.astype(dtype)),
        pending=altered(pending, times=pending.times.astype(dtype)),
    )


def admitted(batch: Pending, keys: Keys, delay: Any, own: bool) -> tuple[Array | None, Keys]:
    """Which rows are too late, None if none is; and what is known of the keys after them."""
    times, watermark, newest = batch.times, keys.watermark, keys.newest
    delay = times.dtype.type(delay)
    if len(keys) == 1 and is_sorted(times) and times[0] >= watermark[0]:
        newest = np.maximum(newest, times[-1])
        watermark = np.maximum(watermark, times[-1] - delay) if own else watermark
        return None, _accepting(batch, altered(keys, watermark=watermark, newest=newest), None)
    if len(keys) == 1:
        late, count, mark, latest = admit_one(times, watermark[0], newest[0], delay, own)
        watermark, newest = np.array([mark]), np.array([latest])
    else:
        watermark, newest = watermark.copy(), newest.copy()
        late, count = admit_many(batch.codes, times, watermark, newest, delay, own)
    late = late if count else None
    return late, _accepting(batch, altered(keys, watermark=watermark, newest=newest), late)


def admitted_by_stream(batch: Pending, keys: Keys, delay: Any, state: State) -> tuple[Array | None, Keys, State]:
    """The same where rows move the watermark of all keys, those to come too."""
    times, low = batch.times, bounds(state.dtype)[0]
    late, count, watermark, _ = admit_one(times, stream_watermark(state), low, times.dtype.type(delay), True)
    newest = keys.newest.copy()
    np.maximum.at(newest, batch.codes[~late], times[~late])
    after = altered(keys, watermark=np.maximum(keys.watermark, watermark), newest=newest)
    late = late if count else None
    return late, _accepting(batch, after, late), altered(state, advanced=watermark)


def stream_watermark(state: State) -> Any:
    """The watermark of the whole stream: no key is ahead of it."""
    low, high = bounds(state.dtype)
    return state.keys.watermark.max(initial=low) if state.advanced != math.inf else high


def _accepting(batch: Pending, keys: Keys, late: Array | None) -> Keys:
    accepted = keys.accepted + counted(batch.codes, len(keys))
    if late is None:
        return altered(keys, accepted=accepted)
    dropped = counted(batch.codes[late], len(keys))
    return altered(keys, accepted=accepted - dropped, dropped=keys.dropped + dropped)


def counted(codes: Array, keys: int) -> Array:
    """How many rows each key has."""
    return np.array([len(codes)]) if keys == 1 else np.bincount(codes, minlength=keys)


def counting_marks(marks: Mapping[str | None, Marks], batch: Pending, keys: int) -> Mapping[str | None, Marks]:
    """With the rows counted that came before a window was there, as far as time goes."""
    changed = dict(marks)
    for name, each in marks.items():
        if each.since is not None and each.since_count is not None:
            before = batch.codes[batch.times <= each.since[batch.codes]]
            changed[name] = altered(each, since_count=each.since_count + counted(before, keys))
    return changed


def _fitted(state: State, columns: Mapping[str, Array]) -> State:
    """With aggregates, and their partials, that take columns of these types too."""
    aggregates = tuple(each.fitting(columns) for each in state.aggregates)
    if all(new is old for new, old in zip(aggregates, state.aggregates, strict=True)):
        return state
    pairs = [
        new.taking_over(old, partials)
        for new, old, partials in zip(aggregates, state.aggregates, state.table.partials, strict=True)
    ]
    table = altered(state.table, partials=tuple(partials for _, partials in pairs))
    return altered(state, table=table, aggregates=tuple(each for each, _ in pairs))


def run(state: State, keys: Keys, batch: Pending, decisions: Decisions) -> tuple[State, Results]:
    """Slice what can be sliced of the accepted rows, and fire. ``keys`` are those after the batch."""
    direct, batch, pending = _sorted_out(state, keys, batch, decisions)
    before = state.keys
    if len(direct):
        before = altered(before, settled=before.settled + counted(direct.codes, len(keys)))
        state = placed(direct, state, Moment(before, altered(keys, settled=before.settled), state.marks))
    keys = altered(keys, settled=before.settled + counted(batch.codes, len(keys)))
    if not len(batch):
        return _fired(altered(state, pending=pending), Moment(before, keys, state.marks))
    state = _fitted(state, batch.columns)
    rows, rules = _rows(batch, before, decisions.in_order), state.rules
    moment = Moment(before, keys, state.marks, rows)
    moment.edges.update(rules.edges(rows, moment))
    fresh = rules.slicer.sliced(rows, state.aggregates, moment)
    table, merges = rules.slicer.absorbed(state.table, fresh, state.aggregates, moment, False)
    merges += state.merges + (len(rows) - len(fresh)) * len(state.aggregates)
    return _fired(altered(state, table=table, pending=pending, merges=merges), moment)


def _sorted_out(state: State, keys: Keys, batch: Pending, decisions: Decisions) -> tuple[Pending, Pending, Pending]:
    """The rows that go straight into their slices, those that are sliced in order, and those that wait."""
    none = batch.take(slice(0, 0))
    if decisions.in_order:
        return none, batch, none
    if not decisions.buffered:
        return batch, none, none
    direct = none
    if len(batch) and (keys.direct_until != bounds(state.dtype)[0]).any():
        straight = batch.times <= keys.direct_until[batch.codes]
        direct, batch = batch.take(straight), batch.take(~straight)
    waiting = state.pending.followed_by(batch)
    settled = waiting.times <= (keys.watermark if len(keys) == 1 else keys.watermark[waiting.codes])
    return direct, waiting.take(settled), waiting.take(~settled)


def _rows(batch: Pending, keys: Keys, in_order: bool = False) -> Rows:
    """Rows in the order of keys and time; ``in_order``: those of a key have it already."""
    single = len(keys) == 1
    order = None if single and in_order else order_of(None if single else batch.codes, batch.times, len(keys))
    if order is not None:
        batch = batch.take(order)
    return Rows(None if single else batch.codes, batch.times, batch.columns, keys.settled, batch.tied)


def placed(batch: Pending, state: State, moment: Moment) -> State:
    """With rows put straight into their slices."""
    state = _fitted(state, batch.columns)
    aggregates, keys, rules = state.aggregates, len(moment.after), state.rules
    fresh = None
    if rules.scatters and not (keys == 1 and is_sorted(batch.times)):
        fresh = rules.direct.scattered(None if keys == 1 else batch.codes, batch.times, batch.columns, aggregates, keys)
    if fresh is None:
        fresh = rules.direct.sliced(_rows(batch, moment.before), aggregates, moment)
    table, merges = rules.direct.absorbed(state.table, fresh, aggregates, moment, True)
    merges += (len(batch) - len(fresh)) * len(aggregates)
    return altered(state, table=table, merges=state.merges + merges)


def _fired(state: State, moment: Moment) -> tuple[State, Results]:
    """The results of the windows that are complete, and the state without the slices that none needs any more."""
    rules, keys, merges = state.rules, moment.after, state.merges
    view = rules.view(state.table, keys)
    found = rules.complete(view, moment)
    outputs = []
    for each, partials in zip(state.aggregates, state.table.partials, strict=True):
        if not len(found):
            outputs.append(each.nothing)
            continue
        totals = each.form.totals(partials, found.lo, found.hi)
        outputs.append(as_output(totals))
        merges += totals.merges
    if len(found):
        keys = altered(keys, results=keys.results + counted(found.code, len(keys)))
    table, lost = rules.evicted(view, moment)
    if table is not state.table:
        keys = altered(keys, evicted=keys.evicted + lost)
    state = altered(state, keys=keys, table=table, marks=rules.marks(moment), merges=merges)
    if len(rules.names) > 1 and len(table) >= max(state.coarsen_at, 64):
        state = _coarsened(state, moment)
    return state, Results(found.code, found.place, found.start, found.end, dict(zip(state.names, outputs, strict=True)))


def _coarsened(state: State, moment: Moment) -> State:
    """With old slices merged as far as all windows allow (:mod:`sash.engine.coarsening`)."""
    view = state.rules.view(state.table, moment.after)
    starts = np.flatnonzero(~state.rules.mergeable(view, moment))
    table, keys, merges = state.table, state.keys, state.merges
    if len(starts) < len(table):
        before = np.diff(view.begins)
        table, more = merged(table, starts, state.aggregates)
        merges += more
        fewer = np.diff(table.begins(len(keys))) < before
        keys = altered(keys, evicted=np.where(fewer, next_block(keys.evicted, before), keys.evicted))
    return altered(state, table=table, keys=keys, merges=merges, coarsen_at=next_coarsening(len(table)))
