"""The columnar engine as a lane: all keys at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from sash.engine.columns.keys import Array, Keys, Marks, bounds
from sash.engine.columns.lane import ColumnLane
from sash.engine.columns.values import as_in_rows, value_columns
from sash.engine.planner import LanePlan
from sash.engine.results import Outcome
from sash.frames import Frame
from sash.query import Query
from sash.query.lanes import WatermarkOf
from sash.state.lane_state import LaneState

__all__ = ["ColumnEngine"]


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

    def save(self) -> LaneState:
        """The state of all keys. O(state)."""
        return self.engine.save()

    def load(self, saved: LaneState) -> None:
        """Go on from a state, of this engine or of the one for rows. O(state)."""
        self.engine.load(saved)

    @property
    def forms(self) -> dict[str, Any]:
        """The form of each aggregate: whether it is compiled, and if not, why."""
        return self.engine.forms

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
