"""The watches of windows on counts: of a fixed length, or as long as a slide policy lets them be."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from sash.aggregators.mta.amta import AMTA
from sash.engine.rows.watches.base import Closing, Watch, knows_begins, watch_of
from sash.windows import AroundWindow, CountWindow, While

__all__ = ["CountWatch", "WhileWatch"]


class CountWatch(Watch):
    """A context free window on counts; ``due`` is a number of settled tuples."""

    group = "counts"
    _plain: CountWindow | None = None
    """Its window if that is one of Sash."""

    def resume(self, after: Any, settled: int) -> None:
        window = self.window
        ours = type(window) in (AroundWindow, CountWindow)  # another subclass may have windows of its own
        self._plain = window if ours else None
        self._next_cut, self._whole = window.next_edge, True
        self._restart(settled - self.state.since_count)

    def cut_at_begins(self) -> None:
        if knows_begins(self.window):
            self._next_cut, self._whole = self.window.next_begin, self.window.range % self.window.slide == 0

    def skip_one(self) -> None:
        super().skip_one()
        self.due += 1

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
        """The next edge at which slices are cut, as a position in the whole stream."""
        base = self.state.since_count
        return base if after < base else int(self._next_cut(after - base)) + base

    def fire(self, upto: Any) -> Iterator[Closing]:
        while self.due <= upto:
            yield self._closing(self.start, self.due - self.state.since_count, 0)
            self.step()

    def fire_last(self, settled: int) -> Iterator[Closing]:
        """The windows that reach behind the last of ``settled`` tuples: they are complete when the input ends."""
        base = self.state.since_count
        if self._plain is None or settled <= base:
            return
        while self.due <= settled + self._plain.ahead:
            yield self._closing(self.start, self.due - base, 0)._replace(completion=math.inf)
            self.step()

    def _closing(self, start: int, end: int, revision: int) -> Closing:
        base = self.state.since_count
        low, high = self.slices.at(start + base), self.slices.at(end + base)
        last = self.slices.all[high - 1].last
        return Closing(last, 1, end, self.number, start, revision, low, high, whole=self._whole)

    def corrections(self, time: Any, position: int, upto: Any) -> Iterator[Closing]:
        base = self.state.since_count
        if position < base:
            return  # it has come before those that are counted
        for start, end in self.window.windows(position - base, self._last_emitted_end()):
            yield self._closing(start, end, self._revise((start, end), True))

    def _last_emitted_end(self) -> Any:
        """Up to which end windows have been emitted."""
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

    def begins(self, low: int, upto: int) -> Iterator[int]:
        """From edge to edge, O(log slices) each: most slices are cut for other windows."""
        at = low
        while (at := self.slices.at(self.next_edge(self.slices.all[at].position))) < upto:
            if self.is_begin(at):
                yield at

    def forget(self, horizon: Any) -> None:
        at = self._behind(horizon)
        first = self.slices.all[at].position - self.state.since_count if at < len(self.slices.all) else self.due
        super().forget(first)


class WhileWatch(CountWatch):
    """A window that a slide policy decides on: each tuple is a slice, and an AMTA over them searches.

    That structure is derived, and filled from the slices when it is first needed. All that is remembered of a window is
    where it begins, as the only one of its edges. ``due`` is one more than the tuples that have been looked at.
    """

    def resume(self, after: Any, settled: int) -> None:
        self.due = max(settled, self.state.since_count) + 1
        self._next_cut = self.window.next_edge
        self._amta: AMTA | None = None

    @property
    def _front(self) -> int:
        """Where the window begins."""
        return int(self.state.edges[0]) if self.state.edges else 0

    def _move(self, front: int) -> None:
        self.slices.journal = (self.slices.journal, setattr, self.state, "edges", self.state.edges)
        self.state.edges = [front]

    def _amta_so_far(self) -> AMTA:
        """The structure, with all tuples from the window's begin up to the next one."""
        if self._amta is None:
            base = self.state.since_count
            low, high = self.slices.at(base + self._front), self.slices.at(self.due - 1)
            self._amta = AMTA(self.slices.bundle.merging)
            self._amta.insert_many(slice_.partial for slice_ in self.slices.all[low:high])
        return self._amta

    def _policy(self, total: Any, oldest: Any) -> Any:
        named = self.slices.bundle.named
        return self.window.policy(named(total), named(oldest))

    def fire(self, upto: Any) -> Iterator[Closing]:
        while self.due <= upto:
            amta, base = self._amta_so_far(), self.state.since_count
            at = self.slices.at(self.due - 1)
            slice_ = self.slices.all[at]
            amta.insert(slice_.partial)
            evicted = amta.evict_while(self._policy)
            front, end = self._front + evicted, self.due - base
            if evicted:
                self._move(front)
            self.due += 1
            if len(amta):
                low = at + 1 - len(amta)
                yield Closing(slice_.last, 1, end, self.number, front, 0, low, at + 1, amta.total())

    def corrections(self, time: Any, position: int, upto: Any) -> Iterator[Closing]:
        raise AssertionError("a window of a slide policy is never corrected")

    def keep_from(self, horizon: Any) -> int:
        return self.slices.at(self._front + self.state.since_count)

    def forget(self, horizon: Any) -> None:
        pass


watch_of.register(While, WhileWatch)
