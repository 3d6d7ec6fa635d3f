"""The columnar engine: a batch of rows of all keys through one lane.

    rows --> late? --> in order? else they wait (buffered) or go straight into their slices (direct)
         --> cut at edges, reduced to slices --> joined to the table of slices
         --> windows complete, or corrected? --> ranges of slices --> totals --> results, in order

The results are those of the row engine, however the stream is cut into batches. A failed batch changes nothing: the
state is one immutable object, replaced at the end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from sash.engine.columns import lane_states
from sash.engine.columns.aggregates import refuse_unfit, warn_slow
from sash.engine.columns.kept_chunks import SecondThread
from sash.engine.columns.moment import Array, Keys, Moment, Pending, bounds, constant, evolve
from sash.engine.columns.rules.all import Rules
from sash.engine.columns.step import State, Step, count_rows, extend_state, place_rows
from sash.engine.columns.time_order import RowsByTime
from sash.engine.decisions import decide, unsupported
from sash.engine.results import Outcome
from sash.frames import Frame, Renumbered
from sash.kernels.inputs import readable
from sash.kernels.row_passes import positions_in
from sash.query import Query
from sash.query.lanes import Lane, WatermarkOf
from sash.state.lane_state import LaneState, next_block
from sash.values.arrays import objects
from sash.values.shares import Span

__all__ = ["ColumnEngine"]

NONE = np.zeros(0, np.int64)


class ColumnEngine:
    """One lane of ``keys`` keys, more as they come: a :class:`sash.engine.lane.Lane`.

    ``watermark_of``: rows move the watermark of their "key", of the "stream" (all keys) or, if None, of nothing.
    ``mixed``: rows may come too, so values are held as rows hold them.
    """

    def __init__(
        self, query: Query, lane: Lane, watermark_of: WatermarkOf = "key", mixed: bool = False, keys: int = 0
    ) -> None:
        reason = unsupported(query, lane)
        if reason is not None:
            raise ValueError(f"columns cannot run this lane: {reason}")
        self.query, self.lane = query, lane
        self.decisions = decide(query, lane, watermark_of is not None)
        self.dropped = NONE
        """The rows of the last batch that came too late."""
        self._mixed, self._warned = mixed, False
        self._step = Step(query, lane, self.decisions, watermark_of)
        self._state = extend_state(lane_states.empty_state(query, lane), keys)

    @property
    def keys(self) -> int:
        """How many keys there are."""
        return len(self._state.keys)

    @property
    def advanced(self) -> Any:
        """The watermark that all keys have reached; None: there was none."""
        return self._state.advanced

    def scatters_well(self, span: Span | None, rows: int) -> bool:
        """Whether so many rows need not be ordered by key for :meth:`finish`. O(1)."""
        if span is None or not self._step.scatters_well(self._state):
            return False
        return self.keys == 1 or self._state.rules.are_dense(span, rows, self.keys)

    @property
    def has_runs(self) -> bool:
        """Whether :meth:`finish_runs` can run the lane."""
        return self._state.rules.has_runs and not self.decisions.keeps

    @property
    def second_thread(self) -> SecondThread | None:
        """Chooses whether ``lcs`` is kept between batches; None: it cannot be."""
        return self._step.second_thread

    @property
    def forms(self) -> dict[str, Any]:
        """The form of each aggregate: whether it is ``compiled``, and if not, the ``reason``."""
        names, aggregates = self._state.names, self._state.aggregates
        return {name: aggregate.form for name, aggregate in zip(names, aggregates, strict=True)}

    # rows

    def process(self, codes: Array, times: Array | None, frame: Frame, keys: int) -> Outcome:
        """Take a batch, whose rows belong to the keys ``codes``, all below ``keys``; the results it completes."""
        self._state = extend_state(self._state, keys)
        return self.take(None if self.keys == 1 else codes, times, self.values(frame), len(frame))

    def take(
        self, codes: Array | None, times: Array | None, columns: Mapping[str, Array], size: int | None = None
    ) -> Outcome:
        """The same from arrays. ``size`` is needed only if there is no array at all."""
        state, batch = self._batch(codes, times, columns, size)
        late = None
        keys = state.keys
        if len(batch):
            state, keys, batch, late = self._step.admit(state, batch)
            if self.decisions.buffered:
                refuse_unfit(state.aggregates, batch.columns)
        return self._assign(*self._step.run(state, keys, batch), NONE if late is None else np.flatnonzero(late))

    def finish(
        self,
        codes: Array | None,
        times: Array | None,
        columns: Mapping[str, Array],
        size: int | None = None,
        span: Span | None = None,
    ) -> Outcome:
        """All results of a batch behind which no rows come. ``span`` is that of the times, or of more; None: unknown.

        Where there are keys already, all codes are below their number.
        """
        state, batch = self._batch(codes, times, columns, size, span, self.keys)
        state = evolve(state, advanced=math.inf)
        if not len(batch):
            return self.advance(math.inf)
        return self._assign(*self._step.finish(state, batch), NONE)

    def finish_runs(self, starts: Array, times: Array, columns: Mapping[str, Array], span: Span) -> Outcome:
        """:meth:`finish` for rows that come key by key, key k from starts[k] on, each key's in the order of time."""
        state, times = self._typed(self._state, times, span)
        values = {name: columns[name] for name in self.query.values}
        return self._assign(*self._step.finish_runs(state, starts, times, values), NONE)

    def finish_in_order(
        self, codes: Array | Renumbered, times: Array, columns: Mapping[str, Array], span: Span
    ) -> Outcome | None:
        """:meth:`finish` for rows in the order of time; None: they are to be ordered by key first."""
        state, times = self._typed(self._state, times, span)
        values = {name: columns[name] for name in self.query.values}
        finished = self._step.finish_in_order(state, RowsByTime(codes, times, values, self.keys), span)
        return None if finished is None else self._assign(*finished, NONE)

    def begin_again(self, keys: int) -> ColumnEngine:
        """Itself, without what it holds."""
        self._state = extend_state(lane_states.empty_state(self.query, self.lane), keys)
        return self

    def values(self, frame: Frame) -> dict[str, Array]:
        """The columns that aggregates read: arrays of numbers, of timestamps or of objects. O(rows).

        Kernels know no time zones. So timestamps with a zone become objects if an aggregate computes with them or puts
        them in its results, as Collect does. Those that are only compared, chosen or counted stay numbers.
        """
        query = self.query
        return {
            name: _as_in_rows(frame, name) if self._mixed or _needs_zone(query, frame, name) else frame[name]
            for name in query.values
        }

    def _batch(
        self,
        codes: Array | None,
        times: Array | None,
        columns: Mapping[str, Array],
        size: int | None,
        span: Span | None = None,
        keys: int = 0,
    ) -> tuple[State, Pending]:
        """The rows, and the state with their keys (``keys`` of them, if not 0) and with times of their type."""
        values = {name: columns[name] for name in self.query.values}
        lengths = {len(array) for array in (*values.values(), codes, times) if array is not None}
        lengths |= set() if size is None else {size}
        if len(lengths) != 1:
            raise ValueError(f"codes, times and columns must have the same length; got {sorted(lengths)}")
        if codes is None and self.keys > 1:
            raise ValueError(f"codes must say which of {self.keys} keys a row belongs to")
        size, single = lengths.pop(), codes is None
        codes = constant(0, size) if codes is None else readable(np.asarray(codes), np.int64)
        keys = keys or (self.keys if single else 0) or int(codes.max(initial=0)) + 1
        state = extend_state(self._state, keys)
        if times is None:
            accepted = state.keys.accepted
            times = np.arange(size) + accepted[0] if single else positions_in(codes, accepted.copy())
        batch = Pending(codes, readable(np.asarray(times)), values)
        if span is not None:
            batch = evolve(batch, span=span)
        if not len(batch):
            return state, evolve(batch, times=batch.times.astype(state.dtype, copy=False))
        state, times = self._typed(state, batch.times, batch.span)
        return state, evolve(batch, times=times)

    def _typed(self, state: State, times: Array, span: Span) -> tuple[State, Array]:
        """The state, and the times of some rows, of one type."""
        if times.dtype.kind == "f" and state.dtype.kind != "f":
            state = self._with_floats(state)
        state.rules.check(span)
        return state, times.astype(state.dtype, copy=False)

    # time

    def advance(self, watermark: Any) -> Outcome:
        """No row before ``watermark`` comes any more, of any key; infinity ends the input."""
        state = self._state
        if watermark == math.inf:
            return self._move(evolve(state, advanced=math.inf), np.full(self.keys, bounds(state.dtype)[1]))
        if self.lane.order is None:  # nothing can be late
            return self._move(state, state.keys.watermark)
        limit = state.rules.limit
        if limit is not None and not -limit <= watermark <= limit:
            watermark = math.copysign(math.inf, watermark)
        elif limit is not None and watermark != int(watermark):
            state = self._with_floats(state)
        advanced = watermark if state.advanced is None else max(state.advanced, watermark)
        low, high = bounds(state.dtype)
        watermark = {-math.inf: low, math.inf: high}.get(watermark, watermark)
        return self._move(evolve(state, advanced=advanced), np.maximum(state.keys.watermark, watermark))

    def end_key(self, code: int) -> Outcome:
        """No row of one key comes any more."""
        watermark = self._state.keys.watermark.copy()
        watermark[code : code + 1] = bounds(self._state.dtype)[1]
        return self._move(self._state, watermark)

    def _move(self, state: State, watermark: Array) -> Outcome:
        keys = evolve(state.keys, watermark=watermark.astype(state.dtype))
        return self._assign(*self._step.run(state, keys, state.pending.take(slice(0, 0))), NONE)

    def _assign(self, state: State, outcome: Outcome, dropped: Array) -> Outcome:
        uncompiled = any(one.dtypes is not None and not one.form.compiled for one in state.aggregates)
        if uncompiled and not self._warned:
            # may raise, if warnings are errors: then nothing has changed
            warn_slow(state.aggregates[: len(self.query.aggregates)])
            self._warned = True
        self._state, self.dropped = state, dropped
        return outcome

    def _with_floats(self, state: State) -> State:
        return extend_state(evolve(state, rules=Rules(self.query, self.lane, np.dtype(np.float64))), 0)

    def next_end(self) -> Any:
        """No window of any key is complete before this time, unless rows come; None: none ever is. O(slices)."""
        state = self._state
        return state.rules.next_end(state.table, state.keys, state.pending.times)

    # keys

    @property
    def watermark(self) -> Any:
        """The latest watermark of a key; None: there is none. O(keys)."""
        low = bounds(self._state.dtype)[0]
        watermark = self._state.keys.watermark.max(initial=low)
        return None if watermark == low else watermark.item()

    def newest(self) -> list[Any]:
        """The latest time of each key; None: it has none."""
        low = bounds(self._state.dtype)[0]
        return [None if time == low else time for time in self._state.keys.newest.tolist()]

    def keep(self, which: Array) -> None:
        """Forget the keys where ``which`` is False; the others are renumbered."""
        state, which = self._state, which[: self.keys]
        number = np.cumsum(which) - 1
        table, pending = state.table.take(which[state.table.code]), state.pending.take(which[state.pending.codes])
        self._state = replace(
            state,
            keys=Keys(*(getattr(state.keys, field.name)[which] for field in fields(Keys))),
            marks={name: marks.take(which) for name, marks in state.marks.items()},
            revisions=state.revisions.keep(which, number),
            table=replace(table, code=number[table.code]),
            pending=replace(pending, codes=number[pending.codes]),
            kept={},
        )

    # state

    def mark(self) -> Any:
        """Begin a call. O(1): the state is never changed, only replaced."""
        return self._state, self.dropped

    def undo(self, mark: Any) -> None:
        """Return to ``mark``. O(1)."""
        self._state, self.dropped = mark

    def save(self) -> LaneState:
        """The state of all keys. O(state)."""
        decisions = self.decisions
        return lane_states.save(self._state, decisions.in_order or decisions.buffered, decisions.buffered)

    def load(self, saved: LaneState) -> None:
        """Go on from a state, of this engine or of the row engine. O(state)."""
        saved.let_wait(self.decisions.buffered)
        state = lane_states.load(saved, self.query, self.lane)
        waiting = state.pending
        if len(waiting) and not self.decisions.buffered:  # the windows that made rows wait have been removed
            settled = state.keys.settled + count_rows(waiting.codes, len(state.keys))
            state = evolve(state, keys=evolve(state.keys, settled=settled), pending=waiting.take(slice(0, 0)))
            state = place_rows(waiting, state, Moment(state.keys, state.keys, state.marks))
        self._state = state

    def unite(self, parts: Sequence[LaneState], codes: Sequence[Array], keys: int) -> None:
        """Go on from the states of parts of the rows (:meth:`LaneState.unite`). O(slices log slices)."""
        joint = LaneState.unite(parts, codes, keys, list(self.query.computed.values()))
        self._state = lane_states.unite(joint, self.query, self.lane)

    def absorb(self, parts: Sequence[LaneState], codes: Sequence[Array], keys: int) -> None:
        """Take the slices of parts of the rows, none of which was late. O(slices log slices), those held included."""
        held = self.save()
        own = replace(held, advanced=None)
        joint = LaneState.unite([own, *parts], [np.arange(self.keys), *codes], keys, list(self.query.computed.values()))
        united = lane_states.unite(joint, self.query, self.lane)
        before = extend_state(evolve(self._state, rules=united.rules), keys)
        numbered = next_block(before.keys.evicted, np.bincount(held.slices.codes, minlength=keys))
        kept = {name: getattr(before.keys, name) for name in ("watermark", "dropped", "results")}
        self._state = evolve(
            united,
            keys=evolve(united.keys, evicted=numbered, **kept),
            marks=before.marks,
            advanced=before.advanced,
            late_corrected=before.late_corrected,
        )

    def metrics(self) -> Mapping[str, int]:
        """What it has done and what it holds, over all keys."""
        state = self._state
        return {
            "results_out": int(state.keys.results.sum()),
            "late_corrected": state.late_corrected,
            "late_dropped": int(state.keys.dropped.sum()),
            "slices_held": len(state.table),
            "tuples_held": len(state.pending),
            "merges": state.merges,
        }


def _as_in_rows(frame: Frame, name: str) -> Array:
    """A column with timestamps and durations as the objects that rows hold. O(rows)."""
    return objects(frame.to_list(name)) if frame[name].dtype.kind in "mM" else frame[name]


def _needs_zone(query: Query, frame: Frame, name: str) -> bool:
    if frame.zone(name) is None:
        return False
    return not all(aggregate.takes_ticks for aggregate in query.aggregates.values() if name in aggregate.columns)
