"""One lane with both engines: rows and columns take over from each other through the neutral state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from sash.engine.decisions import unsupported
from sash.engine.planner import LanePlan
from sash.engine.rows.lane import RowLane
from sash.query import Query
from sash.state.lane_state import LaneState

if TYPE_CHECKING:
    from sash.engine.columns.lane import ColumnLane

__all__ = ["Engines", "Mark", "undo"]


class Mark(NamedTuple):
    """Where a call began: the engine that ran then, and what that needs to come back."""

    engine: RowLane | ColumnLane
    of_columns: Any = None

    def undo(self) -> RowLane | ColumnLane:
        """The engine as it was."""
        if isinstance(self.engine, RowLane):
            self.engine.undo()
        else:
            self.engine.undo(self.of_columns)
        return self.engine


class Engines:
    """A lane of one key. Asking for the engine that is not running hands over its state: O(slices)."""

    def __init__(self, query: Query, planned: LanePlan, own_watermark: bool) -> None:
        self.query = query
        self.planned = planned
        self.lane = planned.lane
        self.rows_only = unsupported(query, planned.lane)
        """Why columns cannot run it; None: they can."""
        self._own = own_watermark
        self.engine: RowLane | ColumnLane | Mark | None = None
        """What runs now; a mark has to be undone before anything else, as the methods do."""

    def rows(self) -> RowLane:
        """The row engine."""
        if isinstance(self.engine, RowLane):
            return self.engine
        running = self._undone()
        if not isinstance(running, RowLane):
            engine = RowLane(self.query, self.lane, self.planned.decisions, self.planned.store, self._own)
            if running is not None:
                engine.load(running.dump()[0])
            self.engine = running = engine
        return running

    def columns(self) -> ColumnLane:
        """The columnar engine."""
        running = self._undone()
        if running is None or isinstance(running, RowLane):
            from sash.engine.columns.lane import ColumnLane  # brings Numba, which takes a while: only when it is needed

            engine = ColumnLane(self.query, self.lane, self._own)
            if running is not None:
                engine.load([running.dump()])
            self.engine = running = engine
        return running

    @property
    def running(self) -> RowLane | ColumnLane:
        """The one that runs now."""
        running = self._undone()
        return self.rows() if running is None else running

    def _undone(self) -> RowLane | ColumnLane | None:
        """The one that runs now, if any; an undo that was interrupted is finished first."""
        if isinstance(self.engine, Mark):
            self.engine = self.engine.undo()
        return self.engine

    def dump(self) -> LaneState:
        """The state."""
        running = self.running
        return running.dump() if isinstance(running, RowLane) else running.dump()[0]

    def load(self, state: LaneState, newly_buffered: bool = False) -> None:
        """Go on from a state. ``newly_buffered``: when it was saved, tuples did not have to wait."""
        if newly_buffered and self.planned.decisions.buffered:
            state.direct_until = state.newest
        self.engine = None
        rows = self.rows()
        rows.load(state)
        rows.begin_slice()

    def mark(self) -> Mark:
        """Begin a call, which :func:`undo` takes back, whichever engine it is run by. O(1)."""
        running = self.running
        if isinstance(running, RowLane):
            running.mark()
            return Mark(running)
        return Mark(running, running.mark())


def undo(marks: Iterable[tuple[Engines, Mark]]) -> None:
    """Be as when the marks were made. What an interruption leaves undone, each does before anything else."""
    marks = list(marks)
    for engines, mark in marks:
        engines.engine = mark
    for engines, _ in marks:
        engines._undone()
