"""One step of a lane: from the state before a batch to the state after it, and the results that it completes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from sash.engine.coarsening import next_coarsening
from sash.engine.columns.aggregates import Aggregate, LaneTotals, as_output
from sash.engine.columns.corrections import LateRows, Revisions, correct, correcting_rows
from sash.engine.columns.kept_chunks import KeptChunks, SecondThread, Slices
from sash.engine.columns.moment import Array, Keys, Marks, Moment, Pending, Rows, bounds, constant, evolve
from sash.engine.columns.rules.all import Rules
from sash.engine.columns.slicer import merge_slices
from sash.engine.columns.table import Table
from sash.engine.columns.time_order import RowsByTime
from sash.engine.decisions import Decisions
from sash.engine.planner import chunk_of_batches
from sash.engine.results import EARLY, Enough, Outcome
from sash.kernels.partition import count_codes
from sash.kernels.ranges.partials import concatenate
from sash.kernels.ranked_ranges import RankedRanges
from sash.kernels.row_passes import admit_many, admit_one, order_of, watermarks_before
from sash.query import Query
from sash.query.lanes import Lane, WatermarkOf
from sash.state.lane_state import next_block
from sash.values.columns import Runs
from sash.values.shares import Span

__all__ = ["State", "Step", "count_rows", "extend_state", "place_rows"]


@dataclass(frozen=True)
class State:
    """All that a lane remembers. Never changed: a batch makes another one."""

    keys: Keys
    marks: Mapping[str | None, Marks]
    table: Table
    names: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    pending: Pending
    rules: Rules
    revisions: Revisions = field(default_factory=Revisions.none)
    late_corrected: int = 0
    merges: int = 0
    advanced: Any = None
    """The watermark that all keys have reached, those to come too. None: before all times."""
    coarsen_at: int = 0
    """How many slices must be held before old ones are merged again. Not saved."""
    kept: Mapping[str, KeptChunks] = field(default_factory=dict)
    """Derived from the slices, by the names of aggregates. Not saved."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of times."""
        return self.rules.dtype


def extend_state(state: State, size: int) -> State:
    """With keys up to ``size``, and times of the type that the rules have."""
    pending, table, dtype = state.pending, state.table, state.dtype
    if size <= len(state.keys) and state.keys.watermark.dtype == dtype:
        return state
    size = max(size, len(state.keys))
    return evolve(
        state,
        keys=state.keys.extend(size, dtype, state.advanced),
        marks={name: marks.extend(size, dtype) for name, marks in state.marks.items()},
        revisions=state.revisions.cast(dtype),
        table=evolve(table, first=table.first.astype(dtype), last=table.last.astype(dtype)),
        pending=evolve(pending, times=pending.times.astype(dtype)),
    )


class Step:
    """What batches of one lane go through: :meth:`admit`, then :meth:`run`."""

    def __init__(self, query: Query, lane: Lane, decisions: Decisions, watermark_of: WatermarkOf) -> None:
        self._query, self._lane, self._decisions = query, lane, decisions
        by_arrival = lane.order is None
        self._delay: Any = -1 if by_arrival else lane.delay
        self._moves = by_arrival or watermark_of is not None
        self._streams = watermark_of == "stream" and not by_arrival
        self._enough = Enough.of(query, lane)

    @cached_property
    def second_thread(self) -> SecondThread | None:
        """Chooses whether ``lcs`` is kept between batches; None: it cannot be."""
        chunk = chunk_of_batches(self._query, self._lane, self._decisions)
        return SecondThread(self._query, chunk) if chunk else None

    # which rows are late

    def admit(self, state: State, batch: Pending) -> tuple[State, Keys, Pending, Array | None]:
        """The state, the keys after the batch, the rows that are not too late, and which are; None: none is."""
        delay = state.dtype.type(self._delay)
        if state.rules.ties(state.marks):
            batch = evolve(batch, tied=batch.times == self._watermarks(state, batch, delay)[0])
        if state.rules.lateness:
            batch, late, keys, state = self._admit_late(state, batch, delay)
        elif self._streams:
            late, keys, state = self._admit_by_stream(state, batch, delay)
        else:
            late, keys = self._admit_by_key(state.keys, batch, delay)
        if late is not None:
            batch = batch.take(~late)
        return evolve(state, marks=_count_early_rows(state.marks, batch, len(keys))), keys, batch, late

    def _watermarks(self, state: State, batch: Pending, delay: Any) -> tuple[Array, Array]:
        """The watermark before each row, and those of the keys, or that of the stream, after all of them."""
        codes, watermark = np.ascontiguousarray(batch.codes), state.keys.watermark.copy()
        if self._streams:
            codes, watermark = np.zeros_like(codes), np.array([_stream_watermark(state)])
        return watermarks_before(codes, batch.times, watermark, delay, self._moves), watermark

    def _admit_late(self, state: State, batch: Pending, delay: Any) -> tuple[Pending, Array | None, Keys, State]:
        """Rows that are late can correct results, unless they are later than the allowed lateness."""
        keys, times = state.keys, batch.times
        before, watermark = self._watermarks(state, batch, delay)
        late = times < before
        dropped = late & (times < before - state.rules.lateness)
        newest = keys.newest.copy()
        np.maximum.at(newest, batch.codes[~dropped], times[~dropped])
        late_dropped = dropped if dropped.any() else None
        after = evolve(keys, watermark=np.maximum(keys.watermark, watermark), newest=newest)
        after = _accept(batch, after, late_dropped)
        corrected = state.late_corrected + int(late.sum() - dropped.sum())
        advanced = watermark[0] if self._streams else state.advanced
        batch = evolve(batch, before=before) if late.any() else batch
        return batch, late_dropped, after, evolve(state, late_corrected=corrected, advanced=advanced)

    def _admit_by_key(self, keys: Keys, batch: Pending, delay: Any) -> tuple[Array | None, Keys]:
        """Rows move the watermark of their own key."""
        times, watermark, newest = batch.times, keys.watermark, keys.newest
        if len(keys) == 1 and batch.span.ascends and times[0] >= watermark[0]:
            newest = np.maximum(newest, times[-1])
            watermark = np.maximum(watermark, times[-1] - delay) if self._moves else watermark
            return None, _accept(batch, evolve(keys, watermark=watermark, newest=newest), None)
        if len(keys) == 1:
            late, count, mark, latest = admit_one(times, watermark[0], newest[0], delay, self._moves)
            watermark, newest = np.array([mark]), np.array([latest])
        else:
            watermark, newest = watermark.copy(), newest.copy()
            late, count = admit_many(batch.codes, times, watermark, newest, delay, self._moves)
        late = late if count else None
        return late, _accept(batch, evolve(keys, watermark=watermark, newest=newest), late)

    def _admit_by_stream(self, state: State, batch: Pending, delay: Any) -> tuple[Array | None, Keys, State]:
        """Rows move the watermark of all keys, those to come too."""
        keys, times, low = state.keys, batch.times, bounds(state.dtype)[0]
        late, count, watermark, _ = admit_one(times, _stream_watermark(state), low, delay, True)
        newest = keys.newest.copy()
        np.maximum.at(newest, batch.codes[~late], times[~late])
        after = evolve(keys, watermark=np.maximum(keys.watermark, watermark), newest=newest)
        late = late if count else None
        return late, _accept(batch, after, late), evolve(state, advanced=watermark)

    # slices and results

    def run(self, state: State, keys: Keys, batch: Pending) -> tuple[State, Outcome]:
        """Slice those of the accepted rows that can be sliced, and fire. ``keys`` are those after the batch."""
        direct, batch, pending = self._split(state, keys, batch)
        before, late = state.keys, None
        if len(direct):
            if self._decisions.buffered:
                state = evolve(state, kept={})  # they may lie in slices that it is of
            before = evolve(before, settled=before.settled + count_rows(direct.codes, len(keys)))
            moment = Moment(before, evolve(keys, settled=before.settled), state.marks)
            corrects = correcting_rows(direct, state.rules, moment)
            if corrects is not None:
                state = _fit(state, direct.columns)
                state = place_rows(direct.take(~corrects), state, moment)
                direct = direct.take(corrects)
                late = LateRows.of(direct, state.table)
            state = place_rows(direct, state, moment)
        keys = evolve(keys, settled=before.settled + count_rows(batch.codes, len(keys)))
        state = evolve(state, pending=pending)
        if not len(batch):
            return self._fire(state, Moment(before, keys, state.marks), late)
        return self._slice(state, before, keys, batch)

    def finish(self, state: State, batch: Pending) -> tuple[State, Outcome]:
        """The same for rows behind which none come, where there were none before."""
        before, keys = state.keys, len(state.keys)
        tied = np.zeros(len(batch), np.bool_) if state.rules.ties(state.marks) else None
        counts = count_rows(batch.codes, keys)
        after = evolve(before, watermark=np.full(keys, bounds(state.dtype)[1]), accepted=counts, settled=counts)
        if self.scatters_well(state):
            state = place_rows(batch, state, Moment(before, after, state.marks))
            return self._fire(state, Moment(evolve(before, settled=counts), after, state.marks))
        state = _by_ranks(_fit(state, batch.columns))
        return self._slice(state, before, after, evolve(batch, tied=tied), last=True)

    def finish_in_order(self, state: State, rows: RowsByTime, span: Span) -> tuple[State, Outcome] | None:
        """The same for rows in the order of time, key by key or not. None: they are to be ordered by key first."""
        if self._decisions.keeps:
            return None
        state, keys = _fit(state, rows.columns), len(state.keys)
        sliced = state.rules.slices_in_order(rows, state.aggregates, span)
        if sliced is None:
            return None
        table, merges = sliced
        counts = np.bincount(table.code, table.count, keys).astype(np.int64)
        before = evolve(state.keys, settled=counts)
        after = evolve(before, watermark=np.full(keys, bounds(state.dtype)[1]), accepted=counts)
        merges += state.merges + (len(rows.times) - len(table)) * len(state.aggregates)
        return self._fire(evolve(state, table=table, merges=merges), Moment(before, after, state.marks), last=True)

    def scatters_well(self, state: State) -> bool:
        """Whether :meth:`finish` takes rows in any order."""
        ranked = any(aggregate.aggregation.by_ranks for aggregate in state.aggregates)
        return state.rules.scatters_well and not self._decisions.keeps and not ranked

    def finish_runs(
        self, state: State, starts: Array, times: Array, columns: Mapping[str, Array]
    ) -> tuple[State, Outcome]:
        """:meth:`finish` where the rows, key by key from ``starts`` on, are one window after the other: no slices.

        Or where each row has a window, a range of rows.
        """
        (rule,) = state.rules.rules
        state = _by_ranks(_fit(state, columns))
        if (ranges := rule.ranges(times, starts)) is not None:
            return state, self._of_ranges(state, starts, columns, *ranges)
        begins, start, end = rule.runs(times, starts)
        rows, which = np.append(begins, len(times)), np.arange(len(begins))
        computed, lane_totals = [], LaneTotals(state.aggregates)
        for aggregate in state.aggregates:
            partials = aggregate.form.reduce(aggregate.input(columns), rows)
            computed.append(as_output(lane_totals.of(aggregate, partials, which, which + 1)))
        zero, windows = constant(0, len(begins)), np.diff(np.searchsorted(begins, starts))
        results = self._results(zero, computed)
        return state, Outcome(self._lane, Runs(windows), zero, start, end, zero, results, self._query)

    def _of_ranges(
        self, state: State, starts: Array, columns: Mapping[str, Array], lo: Array, hi: Array, start: Array, end: Array
    ) -> Outcome:
        each, computed, lane_totals = np.arange(len(lo) + 1), [], LaneTotals(state.aggregates)
        for aggregate in state.aggregates:
            rows = aggregate.form.reduce(aggregate.input(columns), each)
            computed.append(as_output(lane_totals.of(aggregate, rows, lo, hi)))
        zero = constant(0, len(lo))
        results = self._results(zero, computed)
        return Outcome(self._lane, Runs(np.diff(starts)), zero, start, end, zero, results, self._query)

    def _slice(
        self, state: State, before: Keys, keys: Keys, batch: Pending, last: bool = False
    ) -> tuple[State, Outcome]:
        """Slice rows in the order of time, and fire. ``last``: no batch follows."""
        state = _fit(state, batch.columns)
        rows, rules = _order_rows(batch, before, self._decisions.in_order), state.rules
        moment = Moment(before, keys, state.marks, rows)
        moment.edges.update(rules.edges(rows, moment))
        fresh = rules.slicer.slice_rows(rows, state.aggregates, moment)
        table, merges = rules.slicer.absorb(state.table, fresh, state.aggregates, moment, False)
        merges += state.merges + (len(rows) - len(fresh)) * len(state.aggregates)
        return self._fire(evolve(state, table=table, merges=merges), moment, last=last)

    def _split(self, state: State, keys: Keys, batch: Pending) -> tuple[Pending, Pending, Pending]:
        """The rows that go straight into their slices, those that are sliced in order, and those that wait."""
        none = batch.take(slice(0, 0))
        if self._decisions.in_order:
            return none, batch, none
        if not self._decisions.buffered:
            return batch, none, none
        direct = none
        if len(batch) and (keys.direct_until != bounds(state.dtype)[0]).any():
            straight = batch.times <= keys.direct_until[batch.codes]
            direct, batch = batch.take(straight), batch.take(~straight)
        waiting = state.pending.append(batch)
        settled = waiting.times <= (keys.watermark if len(keys) == 1 else keys.watermark[waiting.codes])
        if settled.all():
            return direct, waiting, none
        return direct, waiting.take(settled), waiting.take(~settled)

    def _fire(
        self, state: State, moment: Moment, late: LateRows | None = None, last: bool = False
    ) -> tuple[State, Outcome]:
        """The results of the windows that are complete, and the state without the slices that none needs any more.

        ``late`` rows, which are in their slices already, correct results.
        """
        rules, keys, merges = state.rules, moment.after, state.merges
        view = rules.view(state.table, keys)
        windows, columns = rules.complete(view, moment), state.table.partials
        revision = np.zeros(len(windows), np.int64)
        if windows.early is not None:
            revision[windows.early] = EARLY
        if late is not None:
            corrected = correct(late, windows, state.revisions, rules, state.aggregates, moment, len(state.table))
            windows, revision = corrected.windows, corrected.revision
            columns = tuple(map(concatenate, zip(columns, corrected.partials, strict=True)))
            state, merges = evolve(state, revisions=corrected.revisions), merges + corrected.merges
        outputs, kept, lane_totals = [], {}, LaneTotals(state.aggregates)
        for name, aggregate, partials in zip(state.names, state.aggregates, columns, strict=True):
            if not len(windows):
                outputs.append(aggregate.nothing)
                continue
            if not last and self.second_thread is not None and self.second_thread.pays(name, aggregate):
                chunks = state.kept.get(name) or KeptChunks(self.second_thread.chunk)
                slices = Slices(partials, view.begins, keys.evicted)
                totals, kept[name] = chunks.totals(aggregate.form, slices, windows.code, windows.lo, windows.hi)
            else:
                totals = lane_totals.of(aggregate, partials, windows.lo, windows.hi)
            outputs.append(as_output(totals))
            merges += totals.merges
        if len(windows):
            state = evolve(state, kept=kept)
            keys = evolve(keys, results=keys.results + count_rows(windows.code, len(keys)))
        table, lost = rules.evict(view, moment)
        if table is not state.table:
            keys = evolve(keys, evicted=keys.evicted + lost)
        state = evolve(state, keys=keys, table=table, marks=rules.marks(moment), merges=merges)
        if len(rules.names) > 1 and len(table) >= max(state.coarsen_at, 64):
            state = _coarsen(state, moment)
        results = self._results(windows.place, outputs)
        bounds_ = windows.place, windows.start, windows.end
        return state, Outcome(self._lane, windows.code, *bounds_, revision, results, self._query)

    def _results(self, windows: Array, computed: list[Any]) -> dict[str, Any]:
        """The results by name, of windows given by their places."""
        if self._enough is not None:
            computed = self._enough.of_columns(windows, computed)
        return dict(zip(self._query.aggregates, computed, strict=True))


def place_rows(batch: Pending, state: State, moment: Moment) -> State:
    """With rows put straight into their slices, in any order."""
    if not len(batch):
        return state
    state = _fit(state, batch.columns)
    aggregates, keys, rules = state.aggregates, len(moment.after), state.rules
    fresh = None
    if rules.scatters and not (keys == 1 and batch.span.ascends):
        codes = None if keys == 1 else batch.codes
        fresh = rules.direct.scatter_rows(codes, batch.times, batch.columns, aggregates, keys, batch.span)
    if fresh is None:
        fresh = rules.direct.slice_rows(_order_rows(batch, moment.before), aggregates, moment)
    table, merges = rules.direct.absorb(state.table, fresh, aggregates, moment, True)
    merges += (len(batch) - len(fresh)) * len(aggregates)
    return evolve(state, table=table, merges=state.merges + merges)


def count_rows(codes: Array, keys: int) -> Array:
    """How many rows each key has."""
    return np.array([len(codes)]) if keys == 1 else count_codes(codes, keys).sum(axis=0)


def _stream_watermark(state: State) -> Any:
    """The watermark of the whole stream: no key is ahead of it."""
    low, high = bounds(state.dtype)
    return state.keys.watermark.max(initial=low) if state.advanced != math.inf else high


def _accept(batch: Pending, keys: Keys, late: Array | None) -> Keys:
    accepted = keys.accepted + count_rows(batch.codes, len(keys))
    if late is None:
        return evolve(keys, accepted=accepted)
    dropped = count_rows(batch.codes[late], len(keys))
    return evolve(keys, accepted=accepted - dropped, dropped=keys.dropped + dropped)


def _count_early_rows(marks: Mapping[str | None, Marks], batch: Pending, keys: int) -> Mapping[str | None, Marks]:
    """With the rows counted that lie before a window was added."""
    changed = dict(marks)
    for name, mark in marks.items():
        if mark.since is not None and mark.since_count is not None:
            early = batch.codes[batch.times <= mark.since[batch.codes]]
            changed[name] = evolve(mark, since_count=mark.since_count + count_rows(early, keys))
    return changed


def _fit(state: State, columns: Mapping[str, Array]) -> State:
    """With aggregates, and their partials, that take columns of these types too."""
    aggregates = tuple(aggregate.fitting(columns) for aggregate in state.aggregates)
    if all(new is old for new, old in zip(aggregates, state.aggregates, strict=True)):
        return state
    pairs = [
        new.taking_over(old, partials)
        for new, old, partials in zip(aggregates, state.aggregates, state.table.partials, strict=True)
    ]
    table = evolve(state.table, partials=tuple(partials for _, partials in pairs))
    return evolve(state, table=table, aggregates=tuple(aggregate for aggregate, _ in pairs), kept={})


def _by_ranks(state: State) -> State:
    """Without slices so far, and with aggregates that keep the rows of slices where their results come from ranks."""
    aggregates = tuple(
        replace(aggregate, form=RankedRanges(aggregate.aggregation, aggregate.dtypes or ()))
        if aggregate.aggregation.by_ranks
        else aggregate
        for aggregate in state.aggregates
    )
    partials = tuple(aggregate.form.empty(0) for aggregate in aggregates)
    return evolve(state, aggregates=aggregates, table=evolve(state.table, partials=partials))


def _order_rows(batch: Pending, keys: Keys, in_order: bool = False) -> Rows:
    """Rows in the order of keys and time; ``in_order``: those of a key have it already."""
    single = len(keys) == 1
    order = order_of(None if single else batch.codes, None if in_order else batch.times, len(keys))
    if order is not None:
        batch = batch.take(order)
    return Rows(None if single else batch.codes, batch.times, batch.columns, keys.settled, batch.tied)


def _coarsen(state: State, moment: Moment) -> State:
    """With old slices merged as far as all windows allow (:mod:`sash.engine.coarsening`)."""
    view = state.rules.view(state.table, moment.after)
    starts = np.flatnonzero(~state.rules.mergeable(view, moment))
    table, keys, merges = state.table, state.keys, state.merges
    if len(starts) < len(table):
        before = np.diff(view.begins)
        table, more = merge_slices(table, starts, state.aggregates)
        merges += more
        fewer = np.diff(table.begins(len(keys))) < before
        keys = evolve(keys, evicted=np.where(fewer, next_block(keys.evicted, before), keys.evicted))
    return evolve(state, table=table, keys=keys, merges=merges, coarsen_at=next_coarsening(len(table)))
