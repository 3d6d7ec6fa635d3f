"""The columnar engine: a batch of rows, of one key or many, through one lane. Final results only, no corrections.

rows --> late? --> in order? else they wait (buffered) or go straight into their slices (direct)
     --> cut at edges, reduced to slices --> joined to the table of slices
     --> windows complete? --> ranges of slices --> totals --> results, in order

What it computes is what row by row would have come out, however the stream is cut into batches. A batch that fails has
not been: the state is one object, replaced at the end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from sash.engine.columns import lane_states
from sash.engine.columns.aggregates import refuse_unfit, warn_slow
from sash.engine.columns.batch import (
    Results,
    admitted,
    admitted_by_stream,
    counted,
    counting_marks,
    grown,
    placed,
    run,
    stream_watermark,
)
from sash.engine.columns.keys import Array, altered, bounds, constant
from sash.engine.columns.moment import Moment
from sash.engine.columns.rules.all import Rules
from sash.engine.columns.state import Pending, State
from sash.engine.decisions import decide, unsupported
from sash.kernels.inputs import readable
from sash.kernels.row_passes import positions_in, tied_rows
from sash.query import Query
from sash.query.lanes import Lane, WatermarkOf
from sash.state.lane_state import LaneState

__all__ = ["ColumnLane", "Results", "unsupported"]

NONE = np.zeros(0, np.int64)


class ColumnLane:
    """One lane of ``keys`` keys, more as they come.

    ``watermark_of``: rows move the watermark of their "key", of the "stream", which is all keys', or of None.
    """

    def __init__(self, query: Query, lane: Lane, watermark_of: WatermarkOf = "key", keys: int = 1) -> None:
        reason = unsupported(query, lane)
        if reason is not None:
            raise ValueError(f"columns cannot run this lane: {reason}")
        self.query, self.lane = query, lane
        self.decisions = decide(query, lane, watermark_of is not None)
        self.dropped = NONE
        self._own = watermark_of is not None
        self._streams = watermark_of == "stream" and lane.order is not None
        self._columns = query.values
        self._warned = False
        self._state = grown(lane_states.empty_state(query, lane), keys)

    @property
    def keys(self) -> int:
        """How many keys there are."""
        return len(self._state.keys)

    def grow(self, keys: int) -> None:
        """Have at least so many keys."""
        self._state = grown(self._state, keys)

    @property
    def advanced(self) -> Any:
        """The last watermark that all keys were told of; None: there was none."""
        return self._state.advanced

    @property
    def late_dropped(self) -> int:
        """How many rows came too late; ``dropped`` are their places in the last batch."""
        return int(self._state.keys.dropped.sum())

    @property
    def results(self) -> int:
        """How many results there were."""
        return int(self._state.keys.results.sum())

    @property
    def merges(self) -> int:
        """How many merges were done, of rows into slices and of slices into results."""
        return self._state.merges

    @property
    def slices_held(self) -> int:
        return len(self._state.table)

    @property
    def tuples_held(self) -> int:
        """How many rows wait."""
        return len(self._state.pending)

    @property
    def forms(self) -> dict[str, Any]:
        """The form of each aggregate: whether it is ``compiled``, and if not, the ``reason``."""
        return {name: each.form for name, each in zip(self._state.names, self._state.aggregates, strict=True)}

    def process(
        self, codes: Array | None, times: Array | None, columns: Mapping[str, Array], size: int | None = None
    ) -> Results:
        """Take a batch of rows; the results that they bring. ``size`` is needed only if there is no array at all."""
        state, batch = self._batch(codes, times, columns, size)
        late = None
        keys = state.keys
        if len(batch):
            delay, own = (-1, True) if self.lane.order is None else (self.lane.delay, self._own)
            if state.rules.ties(state.marks):
                delay = state.dtype.type(delay)
                codes, watermark = np.ascontiguousarray(batch.codes), keys.watermark.copy()
                if self._streams:
                    codes, watermark = np.zeros_like(codes), np.array([stream_watermark(state)])
                tied = tied_rows(codes, batch.times, watermark, delay, own)
                batch = altered(batch, tied=tied)
            if self._streams:
                late, keys, state = admitted_by_stream(batch, keys, delay, state)
            else:
                late, keys = admitted(batch, keys, delay, own)
            if late is not None:
                batch = batch.take(~late)
            if self.decisions.buffered:
                refuse_unfit(state.aggregates, batch.columns)
            state = altered(state, marks=counting_marks(state.marks, batch, len(keys)))
        state, results = run(state, keys, batch, self.decisions)
        self.dropped = NONE if late is None else np.flatnonzero(late)
        self._assign(state)
        return results

    def advance(self, watermark: Any) -> Results:
        """No row before ``watermark`` comes any more, of any key: the results of the windows that this completes."""
        if self.lane.order is None:  # nothing can be late
            return self._move(self._state, self._state.keys.watermark)
        state, limit = self._state, self._state.rules.limit
        if limit is not None and not -limit <= watermark <= limit:
            watermark = math.copysign(math.inf, watermark)
        elif limit is not None and watermark != int(watermark):
            state = self._with_floats(state)
        advanced = watermark if state.advanced is None else max(state.advanced, watermark)
        low, high = bounds(state.dtype)
        watermark = {-math.inf: low, math.inf: high}.get(watermark, watermark)
        return self._move(altered(state, advanced=advanced), np.maximum(state.keys.watermark, watermark))

    def close(self) -> Results:
        """Nothing comes any more."""
        return self._move(altered(self._state, advanced=math.inf), np.full(self.keys, bounds(self._state.dtype)[1]))

    def _move(self, state: State, watermark: Array) -> Results:
        keys = altered(state.keys, watermark=watermark.astype(state.dtype))
        state, results = run(state, keys, state.pending.take(slice(0, 0)), self.decisions)
        self.dropped = NONE
        self._assign(state)
        return results

    def _with_floats(self, state: State) -> State:
        return grown(altered(state, rules=Rules(self.query, self.lane, np.dtype(np.float64))), 0)

    def next_end(self) -> Any:
        """No window of any key is complete before this time, unless rows come; None: none ever is. O(slices)."""
        state = self._state
        return state.rules.next_end(state.table, state.keys, state.pending.times)

    def save(self) -> LaneState:
        """The neutral state. O(slices)."""
        decisions = self.decisions
        return lane_states.save(self._state, decisions.in_order or decisions.buffered, decisions.buffered)

    def mark(self) -> Any:
        """What :meth:`undo` needs to take back the call that begins now. O(1): the state is never changed."""
        return self._state, self.dropped

    def undo(self, mark: Any) -> None:
        """Be as when ``mark`` was made."""
        self._state, self.dropped = mark

    def load(self, saved: LaneState) -> None:
        """Go on from a state, of this engine or of the one for rows."""
        saved.let_wait(self.decisions.buffered)
        state = lane_states.load(saved, self.query, self.lane)
        waiting = state.pending
        if len(waiting) and not self.decisions.buffered:  # windows that made rows wait are gone
            settled = state.keys.settled + counted(waiting.codes, len(state.keys))
            state = altered(state, keys=altered(state.keys, settled=settled), pending=waiting.take(slice(0, 0)))
            state = placed(waiting, state, Moment(state.keys, state.keys, state.marks))
        self._state = state

    def _assign(self, state: State) -> None:
        if not self._warned and any(each.dtypes is not None and not each.form.compiled for each in state.aggregates):
            warn_slow(state.aggregates)  # which may be made an error: then the batch has not been
            self._warned = True
        self._state = state

    def _batch(
        self, codes: Array | None, times: Array | None, columns: Mapping[str, Array], size: int | None
    ) -> tuple[State, Pending]:
        """The state with the keys and the type of times that rows bring, and the rows."""
        given = {name: columns[name] for name in self._columns}
        lengths = {len(array) for array in (*given.values(), codes, times) if array is not None}
        lengths |= set() if size is None else {size}
        if len(lengths) != 1:
            raise ValueError(f"codes, times and columns must be of one length; got {sorted(lengths)}")
        if codes is None and self.keys > 1:
            raise ValueError(f"codes must tell which of {self.keys} keys a row is of")
        size, single = lengths.pop(), codes is None
        if codes is None:
            codes = constant(0, size)
        codes = codes if single else readable(np.asarray(codes), np.int64)
        state = self._state if single else grown(self._state, int(codes.max(initial=-1)) + 1)
        if times is None:
            accepted = state.keys.accepted
            times = np.arange(size) + accepted[0] if single else positions_in(codes, accepted.copy())
        times = readable(np.asarray(times))
        if times.dtype.kind == "f" and state.dtype.kind != "f" and len(times):
            state = self._with_floats(state)
        if len(times):
            state.rules.check(times)
        return state, Pending(codes, times.astype(state.dtype, copy=False), given)
