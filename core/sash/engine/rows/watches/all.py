"""The watches of all windows of a lane, by the clock that they follow: where the next edge is, and who is due next."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heapify, heapreplace
from typing import Any

from sash.engine.decisions import Decisions
from sash.engine.rows.slices import Slices
from sash.engine.rows.watches.base import Closing, Watch, watch_of
from sash.engine.rows.watches.count import CountWatch
from sash.engine.rows.watches.custom import EdgeWatch
from sash.engine.rows.watches.early import EarlyWatch
from sash.engine.rows.watches.session import SessionWatch
from sash.engine.rows.watches.time import TimeWatch
from sash.engine.rows.watches.trailing import TrailingWatch
from sash.query.lanes import Lane
from sash.state.lane_state import WindowState
from sash.windows import Window

__all__ = ["EdgeClock", "Watches"]


class Watches:
    """Created again from the slices and the windows' states whenever more than a tuple has changed them.

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
        decisions: Decisions,
    ) -> None:
        self.counts: list[CountWatch] = []
        self.edged: list[EdgeWatch] = []
        self.timed: list[TimeWatch | EarlyWatch] = []
        self.sessions: list[SessionWatch] = []
        self.trailing: list[TrailingWatch] = []
        windows = [named[name] for name in lane.names]
        self.all = [
            watch_of(window, number, states[name], slices, watermark, settled)
            for number, (name, window) in enumerate(zip(lane.names, windows, strict=True))
        ]
        for watch in self.all:
            watch.revises = decisions.revises
            if decisions.begins_only:
                watch.cut_at_begins()
            getattr(self, watch.group).append(watch)
        if lane.early is not None:
            emitting = (watch for watch, window in zip(self.all, windows, strict=True) if window.emits_early)
            self.timed += [EarlyWatch(watch, lane.early, watermark) for watch in emitting]
        self.on_positions = any(window.edges_are_positions for window in windows)
        self.gap: Any = min((session.gap for session in self.sessions), default=math.inf)
        self.added = [watch for watch in self.all if watch.state.since is not None]
        self.since: Any = max((watch.state.since for watch in self.added), default=None)
        self._reach = max(window.time_reach for window in windows)
        self.time_clock = EdgeClock(
            [watch.next_edge for watch in self.timed] + [watch.next_edge for watch in self.trailing]
        )
        self._timed_due = sorted((watch.due, i) for i, watch in enumerate(self.timed))
        self.look_at_counts()

    def look_at_counts(self) -> None:
        """Find the edges of windows on counts again, and when they are due: positions have shifted."""
        self.count_clock = EdgeClock([watch.next_edge for watch in self.counts])
        self._counts_due = sorted((watch.due, i) for i, watch in enumerate(self.counts))

    def skip_one(self, time: Any) -> None:
        """A tuple has come that added windows may know nothing of."""
        behind = [watch for watch in self.added if time <= watch.state.since]
        for watch in behind:
            watch.skip_one()
        if behind and self.counts:
            self.look_at_counts()

    def next_end(self, newest: Any, watermark: Any) -> Any:
        """No window on time is complete before this, unless tuples come; None: none ever is. O(1).

        Where that is not known at once, it is the watermark: look again soon. Windows on counts end with a tuple.
        """
        if newest + self._reach < watermark:  # at it, trailing windows are still to be emitted
            return None
        return watermark if self.edged else None if self.next_time == math.inf else self.next_time

    @property
    def next_time(self) -> Any:
        """The first watermark at which a window on time may be complete."""
        if not self.sessions and not self.trailing:
            return self._timed_due[0][0] if self._timed_due else math.inf
        dues = [watch.due for watch in (*self.sessions, *self.trailing)]
        return min([*dues, self._timed_due[0][0]] if self._timed_due else dues, default=math.inf)

    def next_count(self, settled: int) -> Any:
        """The first number of tuples that cuts a slice, or completes a window, when one more comes."""
        if not self.counts:
            return math.inf
        return min(self.count_clock.next(settled - 1), self._counts_due[0][0] - 1)

    def ending_by(self, time: Any) -> Iterator[Closing]:
        """The windows on time that a tuple at ``time`` completes, before it is in a slice."""
        return _fire(self.timed, self._timed_due, time)

    def complete(self, watermark: Any, upto: Any, settled: int) -> Iterator[Closing]:
        """The windows that are complete with so many ``settled`` tuples, and when the watermark goes to ``upto``."""
        yield from _fire(self.counts, self._counts_due, settled)
        if upto == math.inf:
            for counting in self.counts:
                yield from counting.fire_last(settled)
        for watch in self.edged:
            yield from watch.fire(upto)
        if watermark is not None and upto <= watermark:
            return
        for following in (*self.sessions, *self.trailing):
            if following.due <= upto:
                yield from following.fire(upto)
        yield from _fire(self.timed, self._timed_due, upto)

    def corrections(self, time: Any, position: int, watermark: Any) -> Iterator[Closing]:
        """The windows that a late tuple has changed."""
        for watch in self.all:
            yield from watch.corrections(time, position, watermark)


def _fire(watches: Sequence[Watch], dues: list[tuple[Any, int]], upto: Any) -> Iterator[Closing]:
    """The complete windows of the watches that are due; ``dues`` is a heap of when, and which. O(log watches) each."""
    while dues and dues[0][0] <= upto and dues[0][0] != math.inf:
        number = dues[0][1]
        yield from watches[number].fire(upto)
        heapreplace(dues, (watches[number].due, number))


class EdgeClock:
    """The next edge behind a time, over many windows. The one found last is remembered: most tuples lie before it.

    O(log windows) for each edge passed, as long as times advance; a time before the last one asks every window.

    >>> clock = EdgeClock([lambda t: t - t % 10 + 10, lambda t: t - t % 15 + 15])
    >>> [clock.next(time) for time in [1, 9, 10, 14, 16, 3, math.inf]]
    [10, 10, 15, 15, 20, 10, inf]
    """

    def __init__(self, next_edges: Sequence[Callable[[Any], Any]]) -> None:
        self._next_edges = next_edges
        self._heap: list[tuple[Any, int]] = []
        self._from: Any = math.inf  # behind it, up to the edge, that is the next
        self._edge: Any = -math.inf

    def next(self, after: Any) -> Any:
        """The first edge behind ``after``; infinity if there is none."""
        if self._from <= after < self._edge:
            return self._edge
        if not self._next_edges or after == math.inf:
            return math.inf
        if after < self._from and self._heap:
            return min(next_edge(after) for next_edge in self._next_edges)
        if not self._heap:
            self._heap = [(next_edge(after), i) for i, next_edge in enumerate(self._next_edges)]
            heapify(self._heap)
        while (first := self._heap[0])[0] <= after:
            heapreplace(self._heap, (self._next_edges[first[1]](after), first[1]))
        self._from, self._edge = after, self._heap[0][0]
        return self._edge
