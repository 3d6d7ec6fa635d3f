"""One lane with both engines: rows and columns take over from each other through the neutral state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sash.plan import LanePlan
from sash.query import Query
from sash.slicing.decisions import unsupported
from sash.slicing.rows import RowLane
from sash.slicing.state import LaneState

if TYPE_CHECKING:
    from sash.slicing.columns import ColumnLane

__all__ = ["Engines"]


class Engines:
    """A lane of one key. Asking for the engine that is not running hands over its state: O(slices)."""

    def __init__(self, query: Query, planned: LanePlan, own_watermark: bool) -> None:
        self.query = query
        self.planned = planned
        self.lane = planned.lane
        self.rows_only = unsupported(query, planned.lane)
        """Why columns cannot run it; None: they can."""
        self._own = own_watermark
        self._running: RowLane | ColumnLane | None = None

    def rows(self) -> RowLane:
        """The row engine."""
        if not isinstance(self._running, RowLane):
            engine = RowLane(self.query, self.lane, self.planned.decisions, self.planned.store, self._own)
            if self._running is not None:
                engine.load(self._running.dump()[0])
            self._running = engine
        return self._running

    def columns(self) -> ColumnLane:
        """The columnar engine."""
        if self._running is None or isinstance(self._running, RowLane):
            from sash.slicing.columns import ColumnLane  # brings Numba, which takes a while: only when it is needed

            engine = ColumnLane(self.query, self.lane, self._own)
            if self._running is not None:
                engine.load([self._running.dump()])
            self._running = engine
        return self._running

    @property
    def running(self) -> RowLane | ColumnLane:
        """The one that runs now."""
        return self.rows() if self._running is None else self._running

    def dump(self) -> LaneState:
        """The state."""
        running = self.running
        return running.dump() if isinstance(running, RowLane) else running.dump()[0]

    def load(self, state: LaneState, newly_buffered: bool = False) -> None:
        """Go on from a state. ``newly_buffered``: when it was saved, tuples did not have to wait."""
        if newly_buffered and self.planned.decisions.buffered:
            state.direct_until = state.newest
        self._running = None
        rows = self.rows()
        rows.load(state)
        rows.begin_slice()

    def memo(self) -> Any:
        """What :meth:`restore` needs to take back what comes now. O(1) for columns, whose state is never changed."""
        running = self.running
        return running, running.dump() if isinstance(running, RowLane) else running._state

    def restore(self, memo: Any) -> None:
        """Be as when ``memo`` was made."""
        self._running, state = memo
        if isinstance(self._running, RowLane):
            self._running = None
            self.rows().load(state)
        else:
            self._running._state = state
