"""The watches of windows that depend on the tuples: sessions, and those whose edges a context tells."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from sash.engine.rows.slices import Slices
from sash.engine.rows.watches.base import Closing, Watch
from sash.state.lane_state import WindowState
from sash.windows import ContextAware, Edges, Session

__all__ = ["EdgeWatch", "SessionWatch"]


class SessionWatch(Watch):
    """Sessions: runs of slices less than the gap apart."""

    def __init__(self, number: int, state: WindowState, slices: Slices, window: Session, after: Any) -> None:
        super().__init__(number, state, slices)
        self.gap = window.number
        self._given: Any = None  # the last time in the sessions that have been given
        self._scanned: Any = None  # and in what was found to be in the first that has not
        self._begin: Any = None  # where that begins
        pieces, at = slices.all, 0
        while after is not None and at < len(pieces):
            at = self._run_end(at)
            if pieces[at - 1].last + self.gap > after:
                break
            self._given = pieces[at - 1].last

    def look_again(self, time: Any = -math.inf) -> None:
        """A tuple has come out of order; behind the begin of the first session not given it ends none sooner."""
        if self._scanned is not None and self._begin <= time:
            return
        self.due, self._scanned = -math.inf, None

    def _run_end(self, at: int) -> int:
        """Behind the last slice of the session that slice ``at`` is in."""
        pieces = self.slices.all
        at += 1
        while at < len(pieces) and pieces[at].first - pieces[at - 1].last < self.gap:
            at += 1
        return at

    def _run_begin(self, at: int) -> int:
        pieces = self.slices.all
        while at and pieces[at].first - pieces[at - 1].last < self.gap:
            at -= 1
        return at

    def _given_here(self, start: Any) -> bool:
        since = self.state.since
        return since is None or start - since >= self.gap

    def fire(self, upto: Any) -> Iterator[Closing]:
        pieces = self.slices.all
        at = 0 if self._given is None else self.slices.covering(self._given) + 1
        self.due = -math.inf
        while at < len(pieces):
            high = self._run_end(at if self._scanned is None else max(at, self.slices.covering(self._scanned)))
            start, end = pieces[at].first, pieces[high - 1].last + self.gap
            if end > upto:
                self.due, self._begin, self._scanned = end, start, pieces[high - 1].last
                return
            if self._given_here(start):
                yield Closing(end, False, end, self.number, start, self._replacing([(start, end)])[0], at, high)
            self._given, self._scanned = pieces[high - 1].last, None
            at = high

    def touched(self, time: Any, position: int, upto: Any) -> Iterator[Closing]:
        pieces = self.slices.all
        at = self._run_begin(self.slices.covering(time))
        high = self._run_end(at)
        start, end = pieces[at].first, pieces[high - 1].last + self.gap
        if end > upto:  # joined to one that is still open
            self._join_emitted(start, end)
            self._given, self._scanned = pieces[at - 1].last if at else None, None
            self.due = -math.inf
            return
        last = pieces[high - 1].last
        self._given = last if self._given is None else max(self._given, last)
        if self._given_here(start):
            yield Closing(end, False, end, self.number, start, self._replacing([(start, end)])[0], at, high)

    def keep_from(self, horizon: Any) -> int:
        pieces = self.slices.all
        at = 0
        while at < len(pieces):
            high = self._run_end(at)
            if pieces[high - 1].last + self.gap > horizon:
                return at
            at = high
        return at

    def is_begin(self, at: int) -> bool:
        older, younger = self.slices.all[at - 1 : at + 1]
        return bool(younger.first - older.last >= self.gap)

    def _join_emitted(self, start: Any, end: Any) -> None:
        """Remember emitted sessions that have become part of an open one as one: it will replace them all."""
        known = self.state.revisions
        parts = [extent for extent in known if extent[0] < end and start < extent[1]]
        if len(parts) > 1:
            self._note_revisions()
            revision = max(known[extent] for extent in parts)
            for extent in parts:
                del known[extent]
            known[min(parts)[0], max(extent[1] for extent in parts)] = revision

    def forget(self, horizon: Any) -> None:
        """Drop what is known of sessions that can change no more; those within an open session are yet replaced."""
        at = self.keep_from(horizon)
        pieces = self.slices.all
        super().forget(min(horizon, pieces[at].first) if at < len(pieces) else horizon)


class EdgeWatch(Watch):
    """Windows between edges that the tuples bring."""

    def __init__(self, number: int, state: WindowState, slices: Slices, window: ContextAware, after: Any) -> None:
        super().__init__(number, state, slices)
        self.window = window
        self.edges = Edges(state.edges)
        self._given = self._extents(-math.inf if after is None else after)
        self._upto = after  # the watermark up to which they are given
        self._fresh = False

    def observe(self, time: Any, row: dict[str, Any]) -> list[Any]:
        """Tell the window of a tuple; the edges that are new."""
        if not self.begun_after(time):
            return []
        before = list(self.edges)
        self.slices.journal = (self.slices.journal, Edges.__init__, self.edges, before)
        self.window.observe(time, row, self.edges)
        known = set(before)
        fresh = [edge for edge in self.edges if edge not in known]
        self._fresh = self._fresh or bool(fresh)
        return fresh

    def has_edge(self, before: Any, time: Any) -> bool:
        """Whether an edge is behind a tuple at ``before`` and not behind one at ``time``, or just at ``time``."""
        behind = self.edges.after(before)
        return (behind is not None and behind <= time) or time in self.edges

    def _extents(self, upto: Any) -> dict[tuple[Any, Any], None]:
        """All windows up to ``upto``, in order."""
        extents = self.window.windows(self.edges, -math.inf, upto)
        return {extent: None for extent in extents if self.begun_after(extent[0])}

    def fire(self, upto: Any) -> Iterator[Closing]:
        """A new edge can also end a window at the watermark, or before it if it lies before its tuple."""
        behind = self.edges.after(-math.inf if self._upto is None else self._upto)
        if self._fresh or (behind is not None and behind <= upto):
            extents = self._extents(upto)
            yield from self._closings([extent for extent in extents if extent not in self._given])
            self._given, self._fresh = extents, False
        self._upto = upto if self._upto is None else max(self._upto, upto)

    def _closings(self, extents: list[tuple[Any, Any]]) -> Iterator[Closing]:
        begin = self.slices.begin
        filled = [extent for extent in extents if begin(extent[0]) < begin(extent[1])]
        for (start, end), revision in zip(filled, self._replacing(filled), strict=True):
            yield Closing(end, False, end, self.number, start, revision, begin(start), begin(end))

    def touched(self, time: Any, position: int, upto: Any) -> Iterator[Closing]:
        extents = self._extents(upto)
        changed = [extent for extent in extents if extent[0] <= time < extent[1] or extent not in self._given]
        yield from self._closings(changed)
        self._given, self._fresh = extents, False

    def is_begin(self, at: int) -> bool:
        older, younger = self.slices.all[at - 1 : at + 1]
        return self.window.forward or self.has_edge(older.last, younger.first)

    def keep_from(self, horizon: Any) -> int:
        times = list(self.edges)
        at = bisect_right(times, horizon)
        if at:
            return self.slices.begin(times[at - 1])
        return 0 if self.window.forward else self._behind(horizon)

    def forget(self, horizon: Any) -> None:
        super().forget(horizon)
        edge = self.edges.before(horizon)
        if horizon in self.edges:
            edge = horizon
        if edge is not None:
            self.slices.journal = (self.slices.journal, Edges.__init__, self.edges, list(self.edges))
            self.edges.drop_before(edge)
            self._given = {extent: None for extent in self._given if extent[0] >= edge}
