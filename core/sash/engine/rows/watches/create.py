"""The window manager: a watch for each window of a query tells what is complete, and what a late tuple changes."""

from __future__ import annotations

from typing import Any

from sash.engine.rows.slices import Slices
from sash.engine.rows.watches.base import Watch
from sash.engine.rows.watches.context import EdgeWatch, SessionWatch
from sash.engine.rows.watches.periodic import CountWatch, LastWatch, TimeWatch
from sash.state.lane_state import WindowState
from sash.windows import ContextAware, Last, Session, Window

__all__ = ["watch_of"]


def watch_of(number: int, window: Window, state: WindowState, slices: Slices, after: Any, settled: int) -> Watch:
    """The watch of a window, which has given all windows up to the watermark ``after``."""
    if isinstance(window, Session):
        return SessionWatch(number, state, slices, window, after)
    if isinstance(window, Last):
        return LastWatch(number, state, slices, window, after)
    if isinstance(window, ContextAware):
        return EdgeWatch(number, state, slices, window, after)
    if window.measure == "count":
        return CountWatch(number, state, slices, window, settled)
    return TimeWatch(number, state, slices, window, after)
