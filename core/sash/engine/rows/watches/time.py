"""The watches of windows on time whose edges do not depend on tuples, and of the last N tuples every T."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from sash.engine.rows.watches.base import Closing, Watch, knows_begins, watch_of
from sash.windows import Last

__all__ = ["LastWatch", "TimeWatch"]


class TimeWatch(Watch):
    """A context free window on time."""

    group = "timed"

    def resume(self, after: Any, settled: int) -> None:
        self._extents: Iterator[tuple[Any, Any]] | None = None
        self._start: Any = None
        self._next_cut = self.window.next_edge
        if after is not None:
            self._restart(after)

    def cut_at_begins(self) -> None:
        if knows_begins(self.window):
            self._next_cut = self.window.next_begin

    def next_edge(self, after: Any) -> Any:
        """The next edge behind ``after`` at which slices are cut; none before the window was added."""
        since = self.state.since
        return self._next_cut(after if since is None else max(after, since))

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
        whole = high < len(self.slices.all) or self.slices.all[-1].end <= end
        yield Closing(end, 0, end, self.number, start, 0, low, high, whole=bool(whole))

    def open_at(self, time: Any, high: int) -> Iterator[tuple[Any, Any, int]]:
        for start, end in self.window.windows(time, math.inf):
            if not start < time:
                return
            low = self.slices.begin(start)
            if low < high and self.begun_after(start):
                yield start, end, low

    def corrections(self, time: Any, position: int, upto: Any) -> Iterator[Closing]:
        slices = self.slices
        for start, end in self.window.windows(time, upto):
            if start > time:
                return
            if self.begun_after(start):
                low, high = slices.begin(start), slices.begin(end)
                emitted = high - low > 1 or slices.all[low].count > 1
                yield Closing(end, 0, end, self.number, start, self._revise((start, end), emitted), low, high)

    def keep_from(self, horizon: Any) -> int:
        if horizon == math.inf:
            return len(self.slices.all)
        if not self.revises and self._extents is not None:
            return self.slices.begin(self._start)  # of the first that is not emitted: nothing before it changes
        start, _ = next(self.window.windows(horizon, math.inf), (math.inf, None))
        return self.slices.begin(start)

    def is_begin(self, at: int) -> bool:
        older, younger = self.slices.all[at - 1 : at + 1]
        return bool(self.next_edge(older.last) <= younger.first)

    def begins(self, low: int, upto: int) -> Iterator[int]:
        """From edge to edge, O(log slices) each: most slices are cut for other windows."""
        at = low
        while (at := self.slices.begin(self.next_edge(self.slices.all[at].last))) < upto:
            if self.is_begin(at):
                yield at


class LastWatch(TimeWatch):
    """The last N tuples every T: ticks are edges on time, the start is a position."""

    def resume(self, after: Any, settled: int) -> None:
        self.last: Last = self.window
        self.window = self.last.ticks
        super().resume(after, settled)

    def _closings(self, start: Any, end: Any, low: int, high: int) -> Iterator[Closing]:
        yield from self._closing(end, high, False)

    def begun_after(self, start: Any) -> bool:
        return True

    def _closing(self, end: Any, high: int, corrects: bool, emitted: bool = False) -> Iterator[Closing]:
        if not Watch.begun_after(self, end):
            return
        held = self.slices.all
        newest = held[high - 1]
        behind = newest.position + newest.count
        begin = max(behind - self.last.count, self.state.since_count)
        enough = behind - begin == self.last.count or (self.last.partial and behind > begin)
        if not enough:
            return
        before = len(held)
        low = self.slices.split_at(begin)
        high += len(held) - before
        revision = self._revise((end, end), emitted) if corrects else 0
        yield Closing(end, 0, end, self.number, held[low].first, revision, low, high)

    def corrections(self, time: Any, position: int, upto: Any) -> Iterator[Closing]:
        if not Watch.begun_after(self, time):
            return  # it is not one of those that are counted
        for begin, end in self.window.windows(time, upto):
            high = self.slices.begin(end)
            newest = self.slices.all[high - 1]
            behind = newest.position + newest.count
            if behind - self.last.count > position:
                return
            fresh = self.slices.begin(begin)
            inside = sum(slice_.count for slice_ in self.slices.all[fresh:high])
            if not inside:
                continue
            was_inside = inside - (begin <= time < end)
            earlier = behind - 1 - self.state.since_count
            was_enough = earlier >= self.last.count or (self.last.partial and earlier > 0)
            yield from self._closing(end, high, True, was_inside > 0 and was_enough)

    def is_begin(self, at: int) -> bool:
        return True  # the ticks to come decide which slices are the last N

    def begins(self, low: int, upto: int) -> Iterator[int]:
        return iter(range(low + 1, upto))

    def keep_from(self, horizon: Any) -> int:
        at = self._behind(horizon)
        held = self.slices.all
        if at < len(held):
            position = held[at].position
        else:
            position = held[-1].position + held[-1].count if held else 0
        return max(self.slices.at(position - self.last.count + 1) - 1, 0)


watch_of.register(Last, LastWatch)
