"""The watch of early results: at each tick, the windows that are still open, if a tuple is new since the last tick."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from sash.engine.rows.watches.base import EARLY, Closing, Watch

__all__ = ["EarlyWatch"]


class EarlyWatch(Watch):
    """Asks the watch of a window. Slices are cut at ticks, so those before one hold no tuple behind it.

    It is due at each tick, O(log slices); early results cost what results do.
    """

    group = "timed"

    def __init__(self, watch: Watch, ticks: Any, after: Any) -> None:
        self._watch, self._ticks = watch, ticks
        super().__init__(watch.window, watch.number, watch.state, watch.slices, after, 0)

    def resume(self, after: Any, settled: int) -> None:
        self._after = after
        if after is not None and after != math.inf:
            self.due = self.next_edge(after)

    def next_edge(self, after: Any) -> Any:
        """The next tick."""
        return self._ticks.next_edge(after)

    def fire(self, upto: Any) -> Iterator[Closing]:
        held = self.slices.all
        while (at := self._first_new()) < len(held):
            tick = self.next_edge(held[at].last)
            if tick > upto:
                break
            high = self.slices.begin(tick)
            for start, end, low in self._watch.open_at(tick, high):
                yield Closing(tick, 0, end, self.number, start, EARLY, low, high)
            self._after = tick
        self._after = upto if self._after is None else max(self._after, upto)
        self.due = math.inf if upto == math.inf else self.next_edge(upto)

    def _first_new(self) -> int:
        """The first slice with a tuple behind the last tick that was passed."""
        if self._after is None:
            return 0
        begun = self._after if self._after == math.inf else self._ticks.start(self._ticks.index(self._after))
        return self._behind(begun)

    def corrections(self, time: Any, position: int, upto: Any) -> Iterator[Closing]:
        return iter(())

    def keep_from(self, horizon: Any) -> int:
        return len(self.slices.all)
