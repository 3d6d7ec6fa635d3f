"""The watch of trailing windows: each time that has tuples is a slice, and ends a window for each of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from sash.engine.rows.watches.base import Closing, Watch, watch_of
from sash.windows import TrailingWindow

__all__ = ["TrailingWatch"]


class TrailingWatch(Watch):
    """A trailing window. Emits when the watermark is behind a slice, as many results as it has tuples."""

    group = "trailing"
    window: TrailingWindow

    def resume(self, after: Any, settled: int) -> None:
        self._upto = after  # the windows that end before it have been emitted
        if after is not None:
            self._wait(after, self.slices.begin(after))

    def _wait(self, upto: Any, at: int) -> None:
        """Be due when the watermark is behind slice ``at``, or behind a tuple to come."""
        held = self.slices.all
        self.due = self.window.behind(held[at].first if at < len(held) else upto)

    def look_again(self, time: Any) -> None:
        """A tuple out of order has come."""
        self.due = min(self.due, self.window.behind(time))

    def next_edge(self, after: Any) -> Any:
        """The next edge behind ``after``: each time is a slice of its own, from when the window was added."""
        since = self.state.since
        return self.window.behind(after if since is None else max(after, since))

    def fire(self, upto: Any) -> Iterator[Closing]:
        held = self.slices.all
        at = 0 if self._upto is None else self.slices.begin(self._upto)
        while at < len(held) and held[at].first < upto:
            after = self._after(at)
            yield from self._closings(at, after, 0)
            at = after
        self._upto = upto
        self._wait(upto, at)

    def _after(self, at: int) -> int:
        """The number after the last slice of the time of slice ``at``: a restored stream begins another one."""
        held, time = self.slices.all, self.slices.all[at].first
        at += 1
        while at < len(held) and held[at].first == time:
            at += 1
        return at

    def _closings(self, at: int, after: int, revision: int) -> Iterator[Closing]:
        """The window that ends with the slices from ``at`` to before ``after``, for each of their tuples."""
        window, slices = self.window, self.slices
        end = slices.all[at].first
        start = end - window.number
        if not self.begun_after(start):
            return
        high = after if window.closed_right else at
        low = slices.begin(start if window.closed_left else window.behind(start))
        closing = Closing(end, window.rank, end, self.number, start, revision, min(low, high), high)
        for _ in range(sum(slice_.count for slice_ in slices.all[at:after])):
            yield closing

    def corrections(self, time: Any, position: int, upto: Any) -> Iterator[Closing]:
        held, window, at = self.slices.all, self.window, self.slices.begin(time)
        self._upto = upto
        while at < len(held):
            end, after = held[at].first, self._after(at)
            start = end - window.number
            if not end < upto or (end > time and not (start < time or (start == time and window.closed_left))):
                return
            if self.begun_after(start):
                emitted = end > time or after - at > 1 or held[at].count > 1
                yield from self._closings(at, after, self._revise((start, end), emitted))
            at = after

    def keep_from(self, horizon: Any) -> int:
        return len(self.slices.all) if horizon == math.inf else self.slices.begin(horizon - self.window.number)

    def forget(self, horizon: Any) -> None:
        super().forget(math.nextafter(horizon, -math.inf) if isinstance(horizon, float) else horizon - 1)


watch_of.register(TrailingWindow, TrailingWatch)
