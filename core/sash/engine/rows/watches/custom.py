"""The watches of users' windows, and of all others whose edges the tuples bring."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from sash.engine.rows.watches.base import Closing, Watch, watch_of
from sash.engine.rows.watches.count import CountWatch
from sash.engine.rows.watches.time import TimeWatch
from sash.windows import ContextAware, ContextFree, Edges

__all__ = ["EdgeWatch"]


class EdgeWatch(Watch):
    """Windows between edges that the tuples bring."""

    group = "edged"

    def resume(self, after: Any, settled: int) -> None:
        self.edges = Edges(self.state.edges)
        self._emitted = self._extents(-math.inf if after is None else after)
        self._upto = after  # the watermark up to which windows are emitted
        self._fresh = False

    def observe(self, time: Any, row: dict[str, Any]) -> list[Any]:
        """Show a tuple to the window. Returns the new edges."""
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
            yield from self._closings([extent for extent in extents if extent not in self._emitted])
            self._emitted, self._fresh = extents, False
        self._upto = upto if self._upto is None else max(self._upto, upto)

    def _closings(self, extents: list[tuple[Any, Any]]) -> Iterator[Closing]:
        begin = self.slices.begin
        filled = [extent for extent in extents if begin(extent[0]) < begin(extent[1])]
        for (start, end), revision in zip(filled, self._replacements(filled), strict=True):
            yield Closing(end, 0, end, self.number, start, revision, begin(start), begin(end))

    def corrections(self, time: Any, position: int, upto: Any) -> Iterator[Closing]:
        extents = self._extents(upto)
        changed = [extent for extent in extents if extent[0] <= time < extent[1] or extent not in self._emitted]
        yield from self._closings(changed)
        self._emitted, self._fresh = extents, False

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
            self._emitted = {extent: None for extent in self._emitted if extent[0] >= edge}


@watch_of.register
def _(window: ContextFree, *arguments: Any) -> Watch:
    return CountWatch(window, *arguments) if window.measure == "count" else TimeWatch(window, *arguments)


watch_of.register(ContextAware, EdgeWatch)
