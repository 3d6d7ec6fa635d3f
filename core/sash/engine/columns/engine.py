"""The columnar engine as a lane: all keys at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from sash.engine.columns.blocks import BlockId, Ledger, parted
from sash.engine.columns.keys import Array, Keys, Marks, bounds
from sash.engine.columns.lane import ColumnLane
from sash.engine.columns.lane_states import dumped
from sash.engine.columns.state_bytes import column_parts, read_column_parts, read_row_parts
from sash.engine.columns.values import as_in_rows, value_columns
from sash.engine.planner import LanePlan
from sash.engine.results import Outcome
from sash.frames import Frame
from sash.query import Query
from sash.query.lanes import WatermarkOf
from sash.state.lane_state import LaneState

__all__ = ["ColumnEngine"]

Parted = tuple[tuple[Any, ...], Ledger, dict[BlockId, bytes], list[BlockId]]
"""The parts of a lane that are in no block; the blocks that there are, those that are new, and those to delete."""


class ColumnEngine:
    """A :class:`ColumnLane` of all keys. ``mixed``: values are as rows have them, for rows may come too."""

    def __init__(self, query: Query, planned: LanePlan, watermark_of: WatermarkOf, mixed: bool = False) -> None:
        self._query, self._planned, self._mixed = query, planned, mixed
        self.engine = ColumnLane(query, planned.lane, watermark_of, keys=0)

    @property
    def dropped(self) -> Array:
        """The rows of the last batch that came too late."""
        return self.engine.dropped

    @property
    def advanced(self) -> Any:
        """The watermark that all keys have been told of; None: before all times."""
        return self.engine.advanced

    def process(self, codes: Array, times: Array | None, frame: Frame, keys: int) -> Outcome:
        """Take a batch of all keys."""
        if self._mixed:
            columns = {name: as_in_rows(frame, name) for name in self._query.values}
        else:
            columns = value_columns(self._query, frame)
        self.engine.grow(keys)
        only = None if self.engine.keys == 1 else codes
        return self._outcome(self.engine.process(only, times, columns, len(frame)))

    def advance(self, watermark: Any) -> Outcome:
        """Move the watermark of all keys."""
        return self._outcome(self.engine.close() if watermark == math.inf else self.engine.advance(watermark))

    def _outcome(self, results: Any) -> Outcome:
        return Outcome.of_columns(self._planned.lane, results, self._query)

    def next_end(self) -> Any:
        """No window completes before this time unless rows come. O(keys)."""
        return self.engine.next_end()

    def newest(self) -> list[Any]:
        """The latest time of each key."""
        low = bounds(self.engine._state.dtype)[0]
        return [None if time == low else time for time in self.engine._state.keys.newest.tolist()]

    def keep(self, which: Array) -> None:
        state, which = self.engine._state, which[: self.engine.keys]
        number = np.cumsum(which) - 1
        table, pending = state.table.take(which[state.table.code]), state.pending.take(which[state.pending.codes])
        self.engine._state = replace(
            state,
            keys=Keys(*(getattr(state.keys, each.name)[which] for each in fields(Keys))),
            marks={name: _kept(marks, which) for name, marks in state.marks.items()},
            table=replace(table, code=number[table.code]),
            pending=replace(pending, codes=number[pending.codes]),
        )

    def parts(self) -> tuple[Any, ...]:
        return column_parts(self.engine._state, self.engine.decisions.buffered)

    def dump(self) -> list[LaneState]:
        """The neutral state of each key."""
        return self.engine.dump()

    def load(self, states: Sequence[LaneState], advanced: Any = None) -> None:
        """Go on from the keys' states."""
        self.engine.load(states, advanced)

    @property
    def forms(self) -> dict[str, Any]:
        """The form of each aggregate: whether it is compiled, and if not, why."""
        return self.engine.forms

    def parted(self, serials: Array, known: Ledger, trusted: bool) -> Parted:
        state, decisions = self.engine._state, self.engine.decisions
        in_order, order = decisions.in_order or decisions.buffered, self._planned.lane.order or ""
        return parted(state, serials[: self.engine.keys], in_order, decisions.buffered, order, known, trusted)

    def read(self, written: tuple[Any, ...]) -> None:
        query, lane, buffered = self._query, self._planned.lane, self.engine.decisions.buffered
        if written[0] == "rows":
            states, advanced = read_row_parts(written, query, lane, buffered)
            self.engine.load(states, advanced)
            return
        state = read_column_parts(written, query, lane, buffered)
        if len(state.pending) and not buffered:  # windows that made rows wait are gone
            states = dumped(state, query, True)
            self.engine.load(states, state.advanced)
        else:
            self.engine._state = state

    def mark(self) -> Any:
        return self.engine.mark()

    def undo(self, mark: Any) -> None:
        self.engine.undo(mark)

    def metrics(self) -> Mapping[str, int]:
        engine = self.engine
        return {
            "results_out": engine.results,
            "late_corrected": 0,
            "late_dropped": engine.late_dropped,
            "slices_held": engine.slices_held,
            "tuples_held": engine.tuples_held,
            "merges": engine.merges,
        }


def _kept(marks: Marks, which: Array) -> Marks:
    return Marks(*(None if each is None else each[which] for each in (marks.since, marks.since_count, marks.edge)))
