"""Lanes of one window whose slices have consecutive numbers, as plain lists of partials: csa and lcs of chunks.

    chunk 0      │ chunk 1      │ chunk 2 (open)         windows of 8 slices, in chunks of 4
    p p p p      │ p p p p      │ saa  p  p              the slices, as a snapshot has them; None: without a tuple
    · lcs lcs lcs│ whole        │ csa                    the total of the open chunk
          `------------- window -------'                 = lcs ⊕ whole chunks ⊕ csa

There are no objects for slices and nothing to search, because a slice's number says where it is. What RowLane computes,
this computes with the same merges. Chunks keep their slices beside ``lcs``, because snapshots consist of slices.

A call appends to the lists of the open chunk, or closes it and opens another. So the old lists and their lengths are
all that an undo needs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import reduce
from typing import Any

from sash.aggregators.sba import Chunk
from sash.engine.planner import LanePlan
from sash.engine.rows.bundle import Bundle
from sash.query import Query

__all__ = ["FlatLane"]


class FlatLane(ABC):
    """The chunks of one key's slices, for windows of ``slices`` slices each.

    A slice costs 1 merge for ``csa`` and 1 for ``lcs``; a window at most 2, and 2 more once a chunk. Holds at most
    twice the slices of a window.
    """

    tuples_held = 0
    """None is kept once it is in its slice."""

    def __init__(self, query: Query, planned: LanePlan, slices: int) -> None:
        (self._name,) = planned.lane.names
        self.bundle = Bundle(query)
        self._lift, self._combine, self._conclude = self.bundle.lift, self.bundle.combine, self.bundle.conclude
        self._slices = slices
        self._chunk = planned.chunks.get(self._name, 1)
        self.accepted = self.late_dropped = self.late_corrected = 0
        self._open: Any = None  # the partial of the slice that takes tuples
        self._leaving: list[Any] = []  # emptied bit by bit: to free a long list at once takes milliseconds
        self._begin_at(0)

    def begin_slice(self) -> None:  # noqa: B027  # nothing to do is what this lane does
        """Windows may have come: not to this lane, whose slices are those of its only window."""

    @property
    def merges(self) -> int:
        return self.bundle.count.merges

    @abstractmethod
    def _first_kept(self) -> int:
        """The number of the first slice that the state of the last mark has, and that windows since then need."""

    # chunks

    def _begin_at(self, slice_: int) -> None:
        """Let a slice be the first. Those of its chunk before it are empty."""
        number, padding = divmod(slice_, self._chunk)
        self._origin = number * self._chunk
        self._saa: list[Any] = [None] * padding
        self._csa: Any = None
        self._last_closed = number - 1
        self._closed: dict[int, tuple[list[Any], Chunk]] = {}  # slices and lcs of chunks, by their number
        self._unready: Chunk | None = None  # the closed chunk whose lcs is not complete
        self._whole: tuple[int, int] | None = None  # the chunks that _middle is the total of
        self._middle: Any = None
        self._oldest: Any = None  # the chunk before them

    def _push(self, partial: Any) -> None:
        """Close the open slice, whose partial this is."""
        self._csa = self._combine(self._csa, partial)
        saa = self._saa
        saa.append(partial)
        if self._unready is not None and not self._unready.step():
            self._unready = None
        if self._leaving:
            del self._leaving[-2:]
        if len(saa) == self._chunk:
            self._close()

    def _close(self) -> None:
        """Close the open chunk. A merge with each slice to come completes its ``lcs`` before a window needs it."""
        saa, number = self._saa, self._last_closed + 1
        self._unready = chunk = Chunk(self._combine, list(saa), self._csa)
        self._closed[number] = saa, chunk
        self._last_closed, self._saa, self._csa = number, [], None
        needed = self._first_kept() // self._chunk
        for old in [other for other in self._closed if other < needed]:
            self._leaving = self._closed.pop(old)[1].lcs

    def _aggregates(self, high: int) -> tuple[Any, ...]:
        """The results of the window that ends with slice ``high - 1``, the last that is closed."""
        low = high - self._slices
        place = low % self._chunk if low > self._origin else 0
        if place == 1 or not self._saa or self._whole is None:
            self._choose_chunks(max(low, self._origin), high)
        total = self._middle
        if place:
            oldest = self._oldest
            if place < oldest.done:
                oldest.finish()
            total = self._combine(oldest.lcs[place], total)
        return self._conclude(total, self._csa)

    def _choose_chunks(self, low: int, high: int) -> None:
        """Merge the chunks that are whole in a window, if they are others than those of the last window."""
        whole = -(-low // self._chunk), high // self._chunk
        if whole != self._whole:
            chunks = [self._closed[number][1] for number in range(*whole)]
            self._middle = reduce(self._combine, [chunk.lcs[0] for chunk in chunks], None)
            self._oldest = self._closed.get(whole[0] - 1, (None, None))[1]
            self._whole = whole

    def _cut_chunks(self, high: int) -> None:
        """Remove the slices from number ``high`` on, as part of an undo."""
        self._whole = self._unready = None
        chunks, slices = divmod(high, self._chunk)
        del self._saa[slices:]
        for number in [number for number in self._closed if number >= chunks]:
            del self._closed[number]
        self._last_closed = chunks - 1
        for number, (saa, chunk) in self._closed.items():
            if chunk.done > 1:  # a merge may be there that it does not know of
                self._unready = Chunk(self._combine, list(saa), chunk.lcs[0])
                self._closed[number] = saa, self._unready

    def _held(self) -> list[Any]:
        """The partials of all slices that chunks hold, to the newest that is closed."""
        return [partial for saa, _ in self._closed.values() for partial in saa] + self._saa
