"""The window manager of windows that a slide policy decides on: each tuple is a slice, and an AMTA over them searches.

That structure is derived: it is filled from the slices when it is first needed. All that is remembered of a window is
where it begins, as the only one of its edges.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sash.aggregators.mta.amta import AMTA
from sash.engine.rows.watches.base import Closing, watch_of
from sash.engine.rows.watches.count import CountWatch
from sash.windows import While

__all__ = ["WhileWatch"]


class WhileWatch(CountWatch):
    """``due`` is one more than the tuples that have been looked at. Positions inside are counted from its begin."""

    def resume(self, after: Any, settled: int) -> None:
        self.due = max(settled, self.state.since_count) + 1
        self._amta: AMTA | None = None

    @property
    def _front(self) -> int:
        """Where the window begins."""
        return int(self.state.edges[0]) if self.state.edges else 0

    def _move(self, front: int) -> None:
        self.slices.journal = (self.slices.journal, setattr, self.state, "edges", self.state.edges)
        self.state.edges = [front]

    def _filled(self) -> AMTA:
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
            amta, base = self._filled(), self.state.since_count
            at = self.slices.at(self.due - 1)
            slice_ = self.slices.all[at]
            amta.insert(slice_.partial)
            gone = amta.evict_while(self._policy)
            front, end = self._front + gone, self.due - base
            if gone:
                self._move(front)
            self.due += 1
            if len(amta):
                low = at + 1 - len(amta)
                yield Closing(slice_.last, True, end, self.number, front, 0, low, at + 1, amta.total())

    def touched(self, time: Any, position: int, upto: Any) -> Iterator[Closing]:
        raise AssertionError("a window of a slide policy is never corrected")

    def keep_from(self, horizon: Any) -> int:
        return self.slices.at(self._front + self.state.since_count)

    def forget(self, horizon: Any) -> None:
        pass


watch_of.register(While, WhileWatch)
