"""Lanes: windows that share an order, run for any number of keys by one of two engines.

    rows      one tuple at a time, one small engine a key: every kind of window, corrections
    columns   a batch of all keys at once, in compiled code

:class:`Lane` is what both engines offer. :class:`Switch` holds the one that runs, and hands its state to the other when
a stream of rows turns into one of batches, or the other way round.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from sash.engine.decisions import unsupported
from sash.engine.planner import LanePlan
from sash.engine.results import AnyOutcome
from sash.engine.rows.engine import RowEngine
from sash.frames import Frame, Renumbered
from sash.query import Query
from sash.query.lanes import WatermarkOf
from sash.state.lane_state import LaneState

if TYPE_CHECKING:
    from sash.engine.columns.engine import ColumnEngine

__all__ = ["Lane", "Mark", "Switch"]

_logger = logging.getLogger("sash")

Array = np.ndarray[Any, Any]


class Lane(Protocol):
    """Windows that share an order, for any number of keys, which have numbers from 0."""

    def process(self, codes: Array, times: Array | None, frame: Frame, keys: int) -> AnyOutcome:
        """Take a batch, whose rows belong to the keys ``codes``, all below ``keys``; the results it completes."""

    def advance(self, watermark: Any) -> AnyOutcome:
        """No row before ``watermark`` comes any more, of any key; infinity ends the input."""

    def end_key(self, code: int) -> AnyOutcome:
        """No row of one key comes any more."""

    @property
    def dropped(self) -> Array:
        """The rows of the last batch that came too late."""

    def next_end(self) -> Any:
        """No window completes before this time unless rows come; None: none does. It may be too early."""

    @property
    def watermark(self) -> Any:
        """The latest watermark of a key; None: there is none."""

    def newest(self) -> list[Any]:
        """The latest time of each key; None: it has none."""

    def keep(self, which: Array) -> None:
        """Forget the keys where ``which`` is False; the others are renumbered."""

    def mark(self) -> Any:
        """Begin a call. O(1)."""

    def undo(self, mark: Any) -> None:
        """Take back all since ``mark``: O(what changed) by rows, O(1) by columns. Can be called again."""

    def save(self) -> LaneState:
        """The state of all keys. O(state)."""

    def load(self, saved: LaneState) -> None:
        """Go on from a state, of this engine or of the other one. O(state)."""

    def metrics(self) -> Mapping[str, int]:
        """What it has done and what it holds, over all keys."""


class Mark(NamedTuple):
    """Where a call began: the engine that ran then, and what it needs to come back."""

    engine: Any
    of_engine: Any


class Switch:
    """One lane of a query and the engine that runs it. Asking for the other engine hands over the state: O(state).

    ``mixed``: rows and batches may both come, so batches bring values as rows have them.
    """

    def __init__(self, query: Query, planned: LanePlan, watermark_of: WatermarkOf, mixed: bool) -> None:
        self.query, self.planned, self.lane = query, planned, planned.lane
        self.rows_only = unsupported(query, planned.lane)
        """Why columns cannot run it; None: they can."""
        self._watermark_of, self._mixed = watermark_of, mixed
        self.engine: RowEngine | ColumnEngine | Mark | None = None
        """What runs now. A mark means that an undo was interrupted: :attr:`running` finishes it first."""

    @property
    def running(self) -> RowEngine | ColumnEngine:
        """The engine that runs now."""
        engine = self._finish_undo()
        return self.rows() if engine is None else engine

    def rows(self) -> RowEngine:
        """The row engine."""
        if isinstance(self.engine, RowEngine):
            return self.engine
        engine = self._finish_undo()
        if not isinstance(engine, RowEngine):
            rows = RowEngine(self.query, self.planned, self._watermark_of)
            if engine is not None:
                _logger.debug("windows in the order of %s change from columns to rows", self.lane.order or "arrival")
                rows.load(engine.save())
            self.engine = engine = rows
        return engine

    def batches(self) -> RowEngine | ColumnEngine:
        """The engine for batches: the columnar one, if it can run the lane."""
        if self.rows_only is not None:
            return self.rows()
        engine = self._finish_undo()
        if engine is None or isinstance(engine, RowEngine):
            from sash.engine.columns.engine import ColumnEngine  # brings Numba, which takes a while to import

            columns = ColumnEngine(self.query, self.lane, self._watermark_of, self._mixed)
            if engine is not None:
                _logger.debug("windows in the order of %s change from rows to columns", self.lane.order or "arrival")
                columns.load(engine.save())
            self.engine = engine = columns
        return engine

    def run(self, codes: Array | Renumbered, times: Array | None, frame: Frame, keys: int) -> list[AnyOutcome]:
        """All results of a batch after which nothing comes, of a lane that holds nothing yet."""
        if self.rows_only is None:
            from sash.engine.columns.whole import run_whole

            return [run_whole(self.query, self.lane, codes, times, frame, keys)]
        rows = self.rows()
        return [rows.process(np.asarray(codes), times, frame, keys), rows.advance(math.inf)]

    def restore(self, saved: LaneState) -> None:
        """Go on from a saved state, by the engine that it is of. O(state)."""
        if self._mixed and not saved.by_columns:
            self.rows().load(saved)
            self.rows().begin_slices()
        else:
            engine = self.batches()
            engine.load(saved)
            if isinstance(engine, RowEngine):
                engine.begin_slices()

    def mark(self) -> Mark:
        """Begin a call. O(1)."""
        running = self.running
        return Mark(running, running.mark())

    def undo(self, mark: Mark) -> None:
        """Take back all since ``mark``, whichever engine ran. If it is interrupted, the next use finishes it."""
        self.engine = mark
        self._finish_undo()

    def _finish_undo(self) -> RowEngine | ColumnEngine | None:
        engine = self.engine
        if isinstance(engine, Mark):
            engine.engine.undo(engine.of_engine)
            self.engine = engine = engine.engine
        return engine
