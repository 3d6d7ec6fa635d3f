"""The watch of sessions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from sash.engine.rows.watches.base import Closing, Watch, watch_of
from sash.windows import Session

__all__ = ["SessionWatch"]


class SessionWatch(Watch):
    """Sessions: runs of slices less than the gap apart."""

    group = "sessions"

    def resume(self, after: Any, settled: int) -> None:
        self.gap = self.window.number
        self._emitted: Any = None  # the last time in the sessions that have been emitted
        self._scanned: Any = None  # and in what is known of the first that has not
        self._begin: Any = None  # where that begins
        held, at = self.slices.all, 0
        while after is not None and at < len(held):
            at = self._run_end(at)
            if held[at - 1].last + self.gap > after:
                break
            self._emitted = held[at - 1].last

    def look_again(self, time: Any = -math.inf) -> None:
        """Search for sessions again after a tuple out of order, unless it lies in the first open session."""
        if self._scanned is not None and self._begin <= time:
            return
        self.due, self._scanned = -math.inf, None

    def _run_end(self, at: int) -> int:
        """The number after the last slice of the session that slice ``at`` is in."""
        held = self.slices.all
        at += 1
        while at < len(held) and held[at].first - held[at - 1].last < self.gap:
            at += 1
        return at

    def _run_begin(self, at: int) -> int:
        held = self.slices.all
        while at and held[at].first - held[at - 1].last < self.gap:
            at -= 1
        return at

    def begun_after(self, start: Any) -> bool:
        since = self.state.since
        return since is None or start - since >= self.gap

    def fire(self, upto: Any) -> Iterator[Closing]:
        held = self.slices.all
        at = 0 if self._emitted is None else self.slices.covering(self._emitted) + 1
        self.due = -math.inf
        while at < len(held):
            high = self._run_end(at if self._scanned is None else max(at, self.slices.covering(self._scanned)))
            start, end = held[at].first, held[high - 1].last + self.gap
            if end > upto:
                self.due, self._begin, self._scanned = end, start, held[high - 1].last
                return
            if self.begun_after(start):
                yield self._closing(start, end, at, high)
            self._emitted, self._scanned = held[high - 1].last, None
            at = high

    def corrections(self, time: Any, position: int, upto: Any) -> Iterator[Closing]:
        held = self.slices.all
        at = self._run_begin(self.slices.covering(time))
        high = self._run_end(at)
        start, end = held[at].first, held[high - 1].last + self.gap
        if end > upto:  # joined to one that is still open
            self._join_emitted(start, end)
            self._emitted, self._scanned = held[at - 1].last if at else None, None
            self.due = -math.inf
            return
        last = held[high - 1].last
        self._emitted = last if self._emitted is None else max(self._emitted, last)
        if self.begun_after(start):
            yield self._closing(start, end, at, high)

    def _closing(self, start: Any, end: Any, at: int, high: int) -> Closing:
        revision, replaced = self._replace((start, end))
        return Closing(end, 0, end, self.number, start, revision, at, high, replaced=replaced)

    def open_at(self, time: Any, high: int) -> Iterator[tuple[Any, Any, int]]:
        held = self.slices.all
        low = self._run_begin(high - 1)
        start, end = held[low].first, held[high - 1].last + self.gap
        if end > time and self.begun_after(start):
            yield start, end, low

    def keep_from(self, horizon: Any) -> int:
        held = self.slices.all
        at = 0
        while at < len(held):
            high = self._run_end(at)
            if held[high - 1].last + self.gap > horizon:
                return at
            at = high
        return at

    def is_begin(self, at: int) -> bool:
        older, younger = self.slices.all[at - 1 : at + 1]
        return bool(younger.first - older.last >= self.gap)

    def _join_emitted(self, start: Any, end: Any) -> None:
        """Give emitted sessions that have become part of an open one the same revision: it will replace them all."""
        known = self.state.revisions
        parts = [extent for extent in known if extent[0] < end and start < extent[1]]
        if len(parts) > 1:
            self._note_revisions()
            known.update(dict.fromkeys(parts, max(known[extent] for extent in parts)))

    def forget(self, horizon: Any) -> None:
        """Drop what is known of sessions that can change no more; those within an open session are yet replaced."""
        at = self.keep_from(horizon)
        held = self.slices.all
        super().forget(min(horizon, held[at].first) if at < len(held) else horizon)


watch_of.register(Session, SessionWatch)
