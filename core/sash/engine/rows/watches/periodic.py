"""The watches of windows at regular times or counts: sliding, tumbling, users' own, and the last N every T."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from sash.engine.rows.slices import Slices
from sash.engine.rows.watches.base import Closing, Watch
from sash.state.lane_state import WindowState
from sash.windows import ContextFree, CountWindow, Last

__all__ = ["CountWatch", "LastWatch", "TimeWatch"]


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
        if horizon == math.inf:
            return len(self.slices.all)
        if not self.revises and self._extents is not None:
            return self.slices.begin(self._start)  # of the first that is not given: nothing changes behind it
        start, _ = next(self.window.windows(horizon, math.inf), (math.inf, None))
        return self.slices.begin(start)

    def is_begin(self, at: int) -> bool:
        older, younger = self.slices.all[at - 1 : at + 1]
        return bool(self.next_edge(older.last) <= younger.first)


class CountWatch(Watch):
    """A context free window on counts; ``due`` is a number of settled tuples."""

    def __init__(self, number: int, state: WindowState, slices: Slices, window: ContextFree, settled: int) -> None:
        super().__init__(number, state, slices)
        self.window = window
        self._plain = window if type(window) is CountWindow else None  # a subclass may have windows of its own
        self._restart(settled - state.since_count)

    def _restart(self, after: int) -> None:
        self._extents = self.window.windows(after, math.inf)
        self.start: Any
        self.start, end = next(self._extents, (math.inf, math.inf))
        self.due = end + self.state.since_count

    def step(self) -> None:
        """On to the window after the one that was due."""
        plain = self._plain
        if plain is not None:
            self.due += plain.slide
            start = self.due - self.state.since_count - plain.range
            self.start = start if start > 0 else 0
        else:
            self.start, end = next(self._extents, (math.inf, math.inf))
            self.due = end + self.state.since_count

    def next_edge(self, after: int) -> int:
        """The next edge, as a position in the whole stream."""
        base = self.state.since_count
        return base if after < base else int(self.window.next_edge(after - base)) + base

    def fire(self, upto: Any) -> Iterator[Closing]:
        while self.due <= upto:
            yield self._closing(self.start, self.due - self.state.since_count, 0)
            self.step()

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
        start = self.start
        if first != math.inf:
            start = min(start, next(self.window.windows(first - base, math.inf), (start, 0))[0])
        return self.slices.at(start + base)

    def is_begin(self, at: int) -> bool:
        position = self.slices.all[at].position
        return self.next_edge(position - 1) == position

    def forget(self, horizon: Any) -> None:
        at = self._behind(horizon)
        first = self.slices.all[at].position - self.state.since_count if at < len(self.slices.all) else self.due
        super().forget(first)


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

    def is_begin(self, at: int) -> bool:
        return True  # which of the last N slices that will be, no tick has told yet

    def keep_from(self, horizon: Any) -> int:
        at = self._behind(horizon)
        pieces = self.slices.all
        if at < len(pieces):
            position = pieces[at].position
        else:
            position = pieces[-1].position + pieces[-1].count if pieces else 0
        return max(self.slices.at(position - self.last.count + 1) - 1, 0)
