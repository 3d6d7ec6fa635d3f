"""When the next window of one key may become complete: what an engine sets its timers to."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sash.windows import Session, Window

if TYPE_CHECKING:
    from sash.engine.rows.lane import RowLane

__all__ = ["next_of_rows", "reach"]


def next_of_rows(lane: RowLane) -> Any:
    """No window becomes complete before this time, unless tuples come. None: none does at all.

    Where that is not known at once, it is the watermark: look again soon. O(1) but for sessions.
    """
    newest, watermark = lane.newest, lane.watermark
    if newest is None or watermark == math.inf:
        return None
    if watermark is None:
        return -math.inf
    watches, pending = lane.watches, lane.slicer.pending
    soonest = None
    if newest + lane.reach > watermark:
        soonest = watches.next_time if watches.all_timed else watermark
    if pending and (soonest is None or pending[0][0] < soonest):
        return pending[0][0]
    return soonest


def reach(window: Window) -> Any:
    """How far behind a tuple the end of its last window can lie."""
    if isinstance(window, Session):
        return window.number
    ticks = getattr(window, "ticks", window)
    if hasattr(ticks, "numbers"):
        return ticks.numbers[0]
    return math.inf if getattr(window, "measure", "count") == "time" else 0
