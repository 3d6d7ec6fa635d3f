"""The watches of all windows of a lane, by kind, and which of them is due next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from heapq import heapreplace
from typing import Any

from sash.engine.rows.edge_clock import EdgeClock
from sash.engine.rows.slices import Slices
from sash.engine.rows.watches.base import Closing
from sash.engine.rows.watches.context import EdgeWatch, SessionWatch
from sash.engine.rows.watches.create import watch_of
from sash.engine.rows.watches.periodic import CountWatch, LastWatch, TimeWatch
from sash.engine.rows.watches.policy import WhileWatch
from sash.query.lanes import Lane
from sash.state.lane_state import WindowState
from sash.windows import Session, While, Window

__all__ = ["Watches"]


class Watches:
    """Made anew from the slices and the windows' states whenever those have changed other than by a tuple.

    ``gap`` is the smallest of the sessions'; ``on_positions``: some window's edges are positions; ``added`` are the
    windows that came while the stream ran, ``since`` the newest time that one of them knows nothing of.
    """

    def __init__(
        self,
        lane: Lane,
        named: Mapping[str | None, Window],
        states: Mapping[str | None, WindowState],
        slices: Slices,
        watermark: Any,
        settled: int,
        revises: bool,
    ) -> None:
        windows = [named[name] for name in lane.names]
        self.all = [
            WhileWatch(number, states[name], slices, window, settled)
            if isinstance(window, While)
            else watch_of(number, window, states[name], slices, watermark, settled)
            for number, (name, window) in enumerate(zip(lane.names, windows, strict=True))
        ]
        for watch in self.all:
            watch.revises = revises
        self.counts = [watch for watch in self.all if isinstance(watch, CountWatch)]
        self.edged = [watch for watch in self.all if isinstance(watch, EdgeWatch)]
        self.timed = [watch for watch in self.all if isinstance(watch, TimeWatch)]
        self.sessions = [watch for watch in self.all if isinstance(watch, SessionWatch)]
        self.all_timed = len(self.timed) == len(self.all)
        self.on_positions = any(isinstance(watch, CountWatch | LastWatch) for watch in self.all)
        self.gap: Any = min((window.number for window in windows if isinstance(window, Session)), default=math.inf)
        self.added = [watch for watch in self.all if watch.state.since is not None]
        self.since: Any = max((watch.state.since for watch in self.added), default=None)
        self.time_clock = EdgeClock([watch.next_edge for watch in self.timed])
        self._timed_due = sorted((watch.due, i) for i, watch in enumerate(self.timed))
        self.look_at_counts()

    def look_at_counts(self) -> None:
        """Positions have shifted: see anew where the edges of windows on counts are, and when they are due."""
        self.count_clock = EdgeClock([watch.next_edge for watch in self.counts])
        self._counts_due = sorted((watch.due, i) for i, watch in enumerate(self.counts))

    def count_one_before(self, time: Any) -> None:
        """A tuple has come that an added window knows nothing of: it counts on from one further."""
        for watch in self.added:
            if time <= watch.state.since:
                state, slices = watch.state, watch.slices
                slices.journal = (slices.journal, setattr, state, "since_count", state.since_count)
                state.since_count += 1
                if isinstance(watch, CountWatch):
                    watch.due += 1
                    self.look_at_counts()

    @property
    def next_time(self) -> Any:
        """The first watermark at which a window on time may be complete."""
        if not self.sessions:
            return self._timed_due[0][0] if self._timed_due else math.inf
        dues = [session.due for session in self.sessions]
        return min([*dues, self._timed_due[0][0]] if self._timed_due else dues, default=math.inf)

    def next_count(self, settled: int) -> Any:
        """The first number of tuples that cuts a slice, or completes a window, when one more comes."""
        if not self.counts:
            return math.inf
        return min(self.count_clock.next(settled - 1), self._counts_due[0][0] - 1)

    def slid(self) -> None:
        """The only window, one on counts, has been given."""
        watch = self.counts[0]
        watch.step()
        self._counts_due[0] = (watch.due, 0)

    def complete(self, watermark: Any, upto: Any, settled: int) -> Iterator[Closing]:
        """The windows that are complete with so many ``settled`` tuples, and when the watermark goes to ``upto``."""
        counts, dues = self.counts, self._counts_due
        while dues and dues[0][0] <= settled:
            number = dues[0][1]
            yield from counts[number].fire(settled)
            heapreplace(dues, (counts[number].due, number))
        for watch in self.edged:
            yield from watch.fire(upto)
        if watermark is not None and upto <= watermark:
            return
        for session in self.sessions:
            if session.due <= upto:
                yield from session.fire(upto)
        timed, dues = self.timed, self._timed_due
        while dues and dues[0][0] <= upto and dues[0][0] != math.inf:
            number = dues[0][1]
            yield from timed[number].fire(upto)
            heapreplace(dues, (timed[number].due, number))

    def touched(self, time: Any, position: int, watermark: Any) -> Iterator[Closing]:
        """The windows that a late tuple has changed."""
        for watch in self.all:
            yield from watch.touched(time, position, watermark)
