"""Runs one key's tuples through one lane, one at a time: all kinds of windows, disorder and corrections.

tuple --> waits until settled? --> slicer: cuts --> slice manager: update, merge, split, shift
                                                        |
results <-- watches: which windows are complete, or changed <-- store: totals of slices
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from sash.engine.coarsening import coarsen, next_coarsening
from sash.engine.decisions import Decisions
from sash.engine.results import Emitted, Enough
from sash.engine.rows.aggregate_store import Store
from sash.engine.rows.bundle import Bundle, Values
from sash.engine.rows.slicer import Slicer
from sash.engine.rows.slices import Slice, put_back_end
from sash.engine.rows.totals import totals_of
from sash.engine.rows.watches.all import Watches
from sash.engine.rows.watches.base import Closing
from sash.query import Query
from sash.query.lanes import Lane
from sash.state.key_states import KeyState
from sash.state.lane_state import WindowState, next_block

__all__ = ["RowLane"]


class RowLane:
    """One lane of one key. ``store`` makes its aggregate store; ``own_watermark``: tuples move the watermark.

    All or nothing: :meth:`mark` begins a call, :meth:`take` and :meth:`move` are what it does, and :meth:`undo` rolls
    it back, wherever an exception interrupts it. A mark costs O(1), and what a call notes O(what it changes); only an
    undo costs O(state), for it rebuilds all that is derived.
    """

    def __init__(
        self,
        query: Query,
        lane: Lane,
        decisions: Decisions,
        store: Callable[[Bundle], Store],
        own_watermark: bool = True,
    ) -> None:
        self.lane = lane
        self.decisions = decisions
        self._buffered = decisions.buffered
        self.query = query
        self._make_store = store
        self.bundle = Bundle(query)
        self._count, self._lift, self._combine = self.bundle.count, self.bundle.lift, self.bundle.combine
        self._enough = Enough.of(query, lane)
        self._by_arrival = lane.order is None
        self._lag = -1 if self._by_arrival else lane.delay if own_watermark else None
        self.slicer = Slicer(lane, decisions, self.bundle, query.values)
        self.watermark: Any = None
        self.late_dropped = self.late_corrected = self.results = 0
        self._numbered = 0  # of the first slice
        self._evict_at = self._next_eviction(0)
        self._coarsen_at = next_coarsening(0)
        self._states = {name: WindowState() for name in lane.names}
        self._undoing = False
        self.prepare()
        self.mark()

    def prepare(self) -> None:
        """Build all that is derived from state: watches, clocks, the store."""
        slicer, decisions = self.slicer, self.decisions
        state, settled = self._states, slicer.settled
        self.watches = Watches(self.lane, self.query.named, state, slicer.slices, self.watermark, settled, decisions)
        slicer.watch(self.watches)
        self.totals = totals_of(slicer.slices, self._make_store(self.bundle))
        self._begins = not (decisions.slices_keep or (decisions.in_order and self.totals.eager))
        self.open_slice: Slice | None = None
        self.quiet_until: Any = -math.inf

    @property
    def newest(self) -> Any:
        return self.slicer.newest

    def next_end(self) -> Any:
        """No window completes before this time unless tuples come; None: none does. O(1)."""
        newest, pending = self.slicer.newest, self.slicer.pending
        if newest is None or self.watermark == math.inf:
            return None
        if self.watermark is None:
            return -math.inf
        end = self.watches.next_end(newest, self.watermark)
        return min(pending[0][0], math.inf if end is None else end) if pending else end

    @property
    def slices_held(self) -> int:
        return len(self.slicer.slices.all)

    @property
    def tuples_held(self) -> int:
        kept = (slice_.tuples for slice_ in self.slicer.slices.all)
        return len(self.slicer.pending) + sum(len(tuples) for tuples in kept if tuples is not None)

    @property
    def merges(self) -> int:
        return self.bundle.count.merges

    # all or nothing

    def mark(self) -> None:
        """Begin a call, which :meth:`undo` rolls back."""
        slicer = self.slicer
        slicer.slices.journal = None
        if slicer.settling:
            slicer.settling = []
        self.marked = slicer.accepted, slicer.newest, self.watermark, self.results, self._count.merges

    def undo(self) -> None:
        """Roll back all since :meth:`mark`. If this is interrupted itself, call it again before anything else."""
        slicer = self.slicer
        if slicer.slices.journal is not None:
            self._undoing = True
        slicer.accepted, slicer.newest, self.watermark, self.results, self._count.merges = self.marked
        if self._undoing:  # else nothing else has changed
            slicer.slices.roll_back(self)
            slicer.wait_again()
            self._save_edges()
            self.prepare()
            self._undoing = False

    # tuples

    def take(self, code: int, time: Any, values: Values) -> list[Emitted] | None:
        """Take a tuple of the key ``code`` and return its results. None: it is too late, and dropped."""
        if self.open_slice is not None and self._take_quietly(time, values):
            return []
        slicer = self.slicer
        if self._by_arrival:
            time = slicer.accepted
        late = self.watermark is not None and time < self.watermark
        if late and time < self.watermark - self.lane.lateness:
            slicer.slices.journal = (slicer.slices.journal, "late_dropped", self.late_dropped)
            self.late_dropped += 1
            return None
        partial = self.bundle.lift(values)
        slicer.slices.journal = (slicer.slices.journal, "late_corrected", self.late_corrected)
        before = self._completed_before(time) if self.decisions.begins_only else []
        position = slicer.accept(time, values, partial, late)
        corrected = iter(before) if position is None else self.watches.corrections(time, position, self.watermark)
        results = self._advance(code, self._next_watermark(time), corrected)
        self.late_corrected += late
        self._commit()
        return results

    def _completed_before(self, time: Any) -> list[Closing]:
        """The windows that a tuple at ``time`` completes, with totals that it is not in: it may extend their slice."""
        total = self.totals.of
        return [which._replace(total=total(which), high=which.low) for which in self.watches.ending_by(time)]

    # Most tuples are quiet: they complete no window. One goes to the end of the last slice, among the tuples of a slice
    # where order does not matter, or begins a slice behind all others.

    def _arm_quiet_path(self) -> None:
        """Find up to when tuples are quiet. ``open_slice`` is the last slice then, else None."""
        slicer, watches = self.slicer, self.watches
        held = slicer.slices.all
        plain = bool(held) and not (watches.edged or slicer.pending or self._buffered)
        self.open_slice = held[-1] if plain and held[-1].tuples is None and self.watermark is not None else None
        self.quiet_until = -math.inf if self.open_slice is None else watches.next_time
        if self.open_slice is not None:
            self._count_until = watches.next_count(slicer.accepted)

    def _take_quietly(self, time: Any, values: Values) -> bool:
        """Take a tuple if it is quiet, and return whether it is. Only while there is an ``open_slice``."""
        watches, watermark, slice_ = self.watches, self.watermark, self.open_slice
        assert slice_ is not None
        if self._by_arrival:
            time = self.slicer.accepted
        if time < watermark or (watches.since is not None and time <= watches.since):
            return False
        slicer, last = self.slicer, slice_.last
        if time < last:
            inside = None if watches.on_positions else slicer.around(time)
            if inside is None:
                return False
            self._add(inside, values)
            return True
        reached = watermark if self._lag is None else time - self._lag
        if reached >= self.quiet_until or slicer.accepted >= self._count_until:
            return False
        begins = time >= slice_.end or time - last >= watches.gap
        if not begins:  # as _add does, written out for speed
            slices, was, count = slicer.slices, slice_.partial, slice_.count
            merged = self._combine(was, self._lift(values))
            slices.journal = (slices.journal, put_back_end, slice_, was, count, last)
            slices.changed[slice_.key] = slice_
            slice_.partial, slice_.count, slice_.last = merged, count + 1, time
            slicer.accepted += 1
        elif self._begins:
            slices, partial, end = slicer.slices, self._lift(values), watches.time_clock.next(time)
            self.open_slice = slices.insert(len(slices.all), time, slicer.accepted, partial, end, None)
            self.open_slice.edge = True
            slicer.accepted += 1
        else:
            return False
        slicer.newest = time
        if reached > watermark:
            self.watermark = reached
        if begins and len(slicer.slices.all) > self._evict_at:
            self._evict()
        return True

    def _add(self, slice_: Slice, values: Values) -> None:
        slicer, slices, was = self.slicer, self.slicer.slices, slice_.partial
        merged = self._combine(was, self._lift(values))
        slices.journal = (slices.journal, put_back_end, slice_, was, slice_.count, slice_.last)
        slices.changed[slice_.key] = slice_
        slice_.partial = merged
        slice_.count += 1
        slicer.accepted += 1

    def _next_watermark(self, time: Any) -> Any:
        if self._lag is None:
            return self.watermark
        watermark = time - self._lag
        return watermark if self.watermark is None else max(self.watermark, watermark)

    def move(self, code: int, watermark: Any) -> list[Emitted]:
        """Move the watermark: no tuple before it comes any more. Returns the results of complete windows."""
        if self.watermark is not None and watermark <= self.watermark:
            return []
        if self.open_slice is not None and watermark < self.quiet_until:
            self.watermark = watermark
            return []
        self.slicer.slices.touch()
        results = self._advance(code, watermark, iter(()))
        self._commit()
        return results

    def _advance(self, code: int, upto: Any, corrected: Iterator[Closing]) -> list[Emitted]:
        if upto is None:
            return []
        slicer = self.slicer
        if slicer.pending:
            slicer.settle(upto)
        results = self._results(code, chain(corrected, self.watches.complete(self.watermark, upto, slicer.settled)))
        self.watermark = upto
        return results

    def _results(self, code: int, closings: Iterator[Closing]) -> list[Emitted]:
        """Closings as results, in order. Totals are computed at once: a later split would renumber slices."""
        total, lower = self.totals.of, self.bundle.lower
        completed = [(closing, lower(total(closing))) for closing in closings]
        if (enough := self._enough) is not None:
            completed = [(closing, enough.of_row(closing.window, row)) for closing, row in completed]
        if len(completed) > 1:
            completed.sort(key=lambda pair: pair[0][:5])
        self.results += len(completed)
        return [
            Emitted(code, which.window, which.start, which.end, which.revision, row, which.replaced)
            for which, row in completed
        ]

    def _commit(self) -> None:
        slices = self.slicer.slices
        if self.decisions.in_order:
            self.totals.settle()
        if len(slices.all) > self._evict_at and self.watermark is not None:
            self._evict()
        self._arm_quiet_path()

    def _evict(self) -> None:
        """Drop the slices that no window needs any more, and kept tuples that cannot move any more."""
        horizon, slices = self.watermark - self.lane.lateness, self.slicer.slices
        slices.journal = ((slices.journal, "_numbered", self._numbered), "_evict_at", self._evict_at)
        held = slices.all
        at = min((watch.keep_from(horizon) for watch in self.watches.all), default=len(held))
        at = min(at, len(held) - 1)  # the last one is still open
        for watch in self.watches.all:
            watch.forget(horizon)
        if at > 0:
            self.totals.evict(at)
            self._numbered += at
        self.slicer.drop_tuples(horizon)
        if len(held) >= self._coarsen_at and len(self.watches.all) > 1 and horizon != math.inf:
            self._coarsen(horizon)
        self._evict_at = self._next_eviction(self.slices_held)

    def _coarsen(self, horizon: Any) -> None:
        """Merge old slices where no window begins that is still to be emitted or corrected."""
        slices = self.slicer.slices
        merged = coarsen(slices.all, self.watches.all, self.slicer.closed(horizon), horizon, self.bundle)
        if len(merged) < len(slices.all):
            self._numbered = next_block(self._numbered, len(slices.all))
            slices.replace(merged)
            self._save_edges()
            slices.journal = (slices.journal, "watches", self.watches)  # whose edges the journal knows
            self.prepare()
        slices.journal = (slices.journal, "_coarsen_at", self._coarsen_at)
        self._coarsen_at = next_coarsening(len(merged))

    def _next_eviction(self, held: int) -> int:
        """The number of slices at which some are dropped.

        Dropping visits each window, so it is not done slice by slice; nor are so many dropped that a tuple waits.
        """
        return held + max(64, held // 64, len(self.lane.names))

    # state

    def dump(self) -> KeyState:
        """The state, from which all else is derived."""
        self._save_edges()
        slicer = self.slicer
        horizon = None if self.watermark is None else self.watermark - self.lane.lateness
        return KeyState(
            self.watermark,
            slicer.newest,
            slicer.accepted,
            slicer.slices.states(),
            slicer.waiting(),
            {name: self._states[name].copy() for name in self.lane.names},
            slicer.direct_until,
            slicer.final(self.watermark, horizon),
            self._numbered,
            self.late_dropped,
            self.late_corrected,
            self.results,
            self.merges,
        )

    def _save_edges(self) -> None:
        for watch in self.watches.edged:
            watch.state.edges = list(watch.edges)

    def load(self, state: KeyState) -> None:
        """Go on from a state."""
        self.watermark = state.watermark
        self.late_dropped, self.late_corrected = state.late_dropped, state.late_corrected
        self.results, self.bundle.count.merges = state.results, state.merges
        self._numbered = state.numbered
        self._states = {name: state.windows[name].copy() for name in self.lane.names}
        slicer = self.slicer
        slicer.fill(state)
        held = slicer.slices.all
        self._evict_at = self._next_eviction(len(held))
        self._coarsen_at = 0  # reading has cost as much as looking at all slices does
        self.prepare()
        for slice_ in held:
            slice_.end = self.watches.time_clock.next(slice_.first)
            slice_.counted = self.watches.count_clock.next(slice_.position - 1) == slice_.position
        if self.decisions.slices_keep and any(slice_.tuples is None for slice_ in held[-1:]):
            slicer.begin_slice()  # it could not be split
        if slicer.pending and not self._buffered:
            slicer.place_pending()

    def begin_slice(self) -> None:
        """Let the next tuple begin a slice, because a window was added that must not see older tuples."""
        self.slicer.begin_slice()
