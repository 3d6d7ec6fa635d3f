"""The window manager: for each window of a query, which of its windows are complete, and which a late tuple changes.

A watch knows one window. ``due`` is a watermark below which it has nothing to give. All it gives are closings: windows
as runs of slices.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple

from sash.slicing.slices import Slices
from sash.slicing.state import WindowState
from sash.windows import ContextAware, ContextFree, Edges, Last, Session, Window

__all__ = ["Closing", "CountWatch", "EdgeWatch", "LastWatch", "SessionWatch", "TimeWatch", "Watch", "watch_of"]


class Closing(NamedTuple):
    """A window that is complete: slices ``low`` to before ``high``. In the order in which results come."""

    completion: Any
    on_counts: bool
    end: Any
    window: int
    start: Any
    revision: int
    low: int
    high: int
    total: Any = None
    """What it adds up to, if that is known already."""


class Watch:
    """What the watches share: the window's number in the query, its state, and the lane's slices."""

    due: Any = -math.inf
    revises = False
    """Whether windows can be given again: then it is remembered which have been."""

    def __init__(self, number: int, state: WindowState, slices: Slices) -> None:
        self.number = number
        self.state = state
        self.slices = slices

    def fire(self, upto: Any) -> Iterator[Closing]:
        """The windows that are complete when the watermark goes to ``upto``, and have not been given."""
        raise NotImplementedError

    def touched(self, time: Any, position: int, upto: Any) -> Iterator[Closing]:
        """The windows up to the watermark that a late tuple has changed; it is in its slice already."""
        raise NotImplementedError

    def keep_from(self, horizon: Any) -> int:
        """The number of the first slice that is still needed if nothing before ``horizon`` can change any more."""
        raise NotImplementedError

    def forget(self, horizon: Any) -> None:
        """Drop what is known of windows that can change no more."""
        old = [extent for extent in self.state.revisions if not extent[1] > horizon]
        for extent in old:
            del self.state.revisions[extent]

    def begun_after(self, start: Any) -> bool:
        """Whether a window that begins at ``start`` is one of those it gives."""
        return self.state.since is None or start > self.state.since

    def _again(self, extent: tuple[Any, Any], emitted: bool) -> int:
        """The revision of a window of fixed extent that is given once more, or for the first time."""
        if not emitted:
            return 0
        was = self.state.revisions.get(extent, 0)
        self._revise(extent, was + 1)
        return was + 1

    def _revise(self, extent: tuple[Any, Any], revision: int | None) -> None:
        revisions = self.state.revisions
        before = revisions.get(extent)
        self.slices.undo.append(lambda: _put(revisions, extent, before))
        _put(revisions, extent, revision)

    def _replacing(self, extents: list[tuple[Any, Any]]) -> list[int]:
        """The revisions of windows that take the place of all given ones that they overlap."""
        if not self.revises:
            return [0] * len(extents)
        known = self.state.revisions
        over = [[old for old in known if old[0] < end and start < old[1]] for start, end in extents]
        revisions = [max((known[old] + 1 for old in olds), default=0) for olds in over]
        for old in {old for olds in over for old in olds}:
            self._revise(old, None)
        for extent, revision in zip(extents, revisions, strict=True):
            self._revise(extent, revision)
        return revisions

    def _behind(self, horizon: Any) -> int:
        """The first slice with a tuple at or behind ``horizon``."""
        at = self.slices.begin(horizon)
        return at - 1 if at and not self.slices.all[at - 1].last < horizon else at


def _put(revisions: dict[Any, int], extent: Any, revision: int | None) -> None:
    if revision is None:
        revisions.pop(extent, None)
    else:
        revisions[extent] = revision


class TimeWatch(Watch):
    """A context free window on time."""

    def __init__(self, number: int, state: WindowState, slices: Slices, window: ContextFree, after: Any) -> None:
        super().__init__(number, state, slices)
        self.window = window
        self._extents: Iterator[tuple[Any, Any]] | None = None
        self._start: Any = None
        if after is not None:
            self._restart(after)

    def next_edge(self, after: Any) -> Any:
        """The next edge behind ``after``; none before the window was added."""
        since = self.state.since
        return self.window.next_edge(after if since is None else max(after, since))

    def _restart(self, after: Any) -> None:
        self._extents = iter(()) if after == math.inf else self.window.windows(after, math.inf)
        self._step()

    def _step(self) -> None:
        assert self._extents is not None
        self._start, self.due = next(self._extents, (math.inf, math.inf))

    def fire(self, upto: Any) -> Iterator[Closing]:
        slices = self.slices
        if self._extents is None:
            oldest = slices.all[0].first if slices.all else upto
            self._restart(min(oldest, upto))
        while self.due <= upto and self.due != math.inf:
            start, end = self._start, self.due
            low, high = slices.begin(start), slices.begin(end)
            if low < high:
                if self.begun_after(start):
                    yield from self._closings(start, end, low, high)
                self._step()
            elif high < len(slices.all):
                self._restart(max(end, min(upto, slices.all[high].first)))
            else:
                self._restart(upto)

    def _closings(self, start: Any, end: Any, low: int, high: int) -> Iterator[Closing]:
        yield Closing(end, False, end, self.number, start, 0, low, high)

    def touched(self, time: Any, position: int, upto: Any) -> Iterator[Closing]:
        slices = self.slices
        for start, end in self.window.windows(time, upto):
            if start > time:
                return
            if self.begun_after(start):
                low, high = slices.begin(start), slices.begin(end)
                emitted = high - low > 1 or slices.all[low].count > 1
                yield Closing(end, False, end, self.number, start, self._again((start, end), emitted), low, high)

    def keep_from(self, horizon: Any) -> int:
        if not self.revises and self._extents is not None:
            return self.slices.begin(self._start)  # of the first that is not given: nothing changes behind it
        start, _ = next(self.window.windows(horizon, math.inf), (math.inf, None))
        return self.slices.begin(start)


class CountWatch(Watch):
    """A context free window on counts; ``due`` is a number of settled tuples."""

    def __init__(self, number: int, state: WindowState, slices: Slices, window: ContextFree, settled: int) -> None:
        super().__init__(number, state, slices)
        self.window = window
        self._restart(settled - state.since_count)

    def _restart(self, after: int) -> None:
        self._extents = self.window.windows(after, math.inf)
        self._step()

    def _step(self) -> None:
        extent = next(self._extents, (math.inf, math.inf))
        self._start: Any = extent[0]
        self.due = extent[1] + self.state.since_count

    def next_edge(self, after: int) -> int:
        """The next edge, as a position in the whole stream."""
        base = self.state.since_count
        return base if after < base else int(self.window.next_edge(after - base)) + base

    def fire(self, upto: Any) -> Iterator[Closing]:
        while self.due <= upto:
            yield self._closing(self._start, self.due - self.state.since_count, 0)
            self._step()

    def _closing(self, start: int, end: int, revision: int) -> Closing:
        base = self.state.since_count
        low, high = self.slices.at(start + base), self.slices.at(end + base)
        return Closing(self.slices.all[high - 1].last, True, end, self.number, start, revision, low, high)

    def touched(self, time: Any, position: int, upto: Any) -> Iterator[Closing]:
        base = self.state.since_count
        if position < base:
            return  # it has come before those that are counted
        for start, end in self.window.windows(position - base, self._last_given()):
            yield self._closing(start, end, self._again((start, end), True))

    def _last_given(self) -> Any:
        """Up to which end windows have been given."""
        return self.due - 1 - self.state.since_count

    def keep_from(self, horizon: Any) -> int:
        at = self._behind(horizon)
        base = self.state.since_count
        first = self.slices.all[at].position if at < len(self.slices.all) else math.inf
        start = self._start
        if first != math.inf:
            start = min(start, next(self.window.windows(first - base, math.inf), (start, 0))[0])
        return self.slices.at(start + base)

    def forget(self, horizon: Any) -> None:
        at = self._behind(horizon)
        first = self.slices.all[at].position - self.state.since_count if at < len(self.slices.all) else self.due
        super().forget(first)


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

        def back() -> None:
            self.edges = Edges(before)

        self.slices.undo.append(back)
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
            self.edges.drop_before(edge)
            self._given = {extent: None for extent in self._given if extent[0] >= edge}


class LastWatch(TimeWatch):
    """The last N tuples every T: ticks are edges on time, the begin is a position."""

    def __init__(self, number: int, state: WindowState, slices: Slices, window: Last, after: Any) -> None:
        super().__init__(number, state, slices, window.ticks, after)
        self.last = window

    def _closings(self, start: Any, end: Any, low: int, high: int) -> Iterator[Closing]:
        yield from self._closing(end, high, False)

    def begun_after(self, start: Any) -> bool:
        return True

    def _closing(self, end: Any, high: int, corrects: bool, emitted: bool = False) -> Iterator[Closing]:
        if not Watch.begun_after(self, end):
            return
        pieces = self.slices.all
        newest = pieces[high - 1]
        behind = newest.position + newest.count
        begin = max(behind - self.last.count, self.state.since_count)
        enough = behind - begin == self.last.count or (self.last.partial and behind > begin)
        if not enough:
            return
        before = len(pieces)
        low = self.slices.split_at(begin)
        high += len(pieces) - before
        revision = self._again((end, end), emitted) if corrects else 0
        yield Closing(end, False, end, self.number, pieces[low].first, revision, low, high)

    def touched(self, time: Any, position: int, upto: Any) -> Iterator[Closing]:
        if not Watch.begun_after(self, time):
            return  # it is not one of those that are counted
        for begin, end in self.window.windows(time, upto):
            high = self.slices.begin(end)
            newest = self.slices.all[high - 1]
            behind = newest.position + newest.count
            if behind - self.last.count > position:
                return
            fresh = self.slices.begin(begin)
            inside = sum(piece.count for piece in self.slices.all[fresh:high])
            if not inside:
                continue
            was_inside = inside - (begin <= time < end)
            earlier = behind - 1 - self.state.since_count
            was_enough = earlier >= self.last.count or (self.last.partial and earlier > 0)
            yield from self._closing(end, high, True, was_inside > 0 and was_enough)

    def keep_from(self, horizon: Any) -> int:
        at = self._behind(horizon)
        pieces = self.slices.all
        if at < len(pieces):
            position = pieces[at].position
        else:
            position = pieces[-1].position + pieces[-1].count if pieces else 0
        return max(self.slices.at(position - self.last.count + 1) - 1, 0)


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
