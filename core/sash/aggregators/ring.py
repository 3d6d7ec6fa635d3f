"""A queue with random access at positions that only ever grow: what ABA, DABA and FlatFIT keep their partials in."""

from __future__ import annotations

from typing import Any

from sash.aggregations.base import Aggregation
from sash.aggregators.base import FifoAggregator

__all__ = ["Ring", "RingAggregator"]

_SMALLEST = 8


class Ring:
    """Slots for positions ``front`` … ``end - 1``, position ``i`` in ``slots[i & mask]``.

    The algorithms index ``slots`` themselves: a method call costs more than what they do there. Growing and shrinking
    moves references and combines nothing; it costs O(1) amortised a call and happens only while the window's size
    changes by a factor.
    """

    __slots__ = ("mask", "slots")

    def __init__(self) -> None:
        self.slots: list[Any] = [None] * _SMALLEST
        self.mask = _SMALLEST - 1

    def make_room(self, front: int, end: int, more: int = 1) -> None:
        """Grow the ring to hold ``more`` positions from ``end`` on. Needed if ``end - front > mask`` for one."""
        size = len(self.slots)
        while end - front + more > size:
            size *= 2
        if size != len(self.slots):
            self._resize(front, end, size)

    def give_back(self, front: int, end: int) -> None:
        """Halve the ring while less than a quarter of it is in use. Needed if ``(end - front) * 4 < mask``."""
        size = len(self.slots)
        while size > _SMALLEST and end - front < size // 4:
            size //= 2
        if size != len(self.slots):
            self._resize(front, end, size)

    def _resize(self, front: int, end: int, size: int) -> None:
        slots: list[Any] = [None] * size
        for position in range(front, end):
            slots[position & (size - 1)] = self.slots[position & self.mask]
        self.slots, self.mask = slots, size - 1

    def between(self, start: int, end: int) -> list[Any]:
        """The contents of positions ``start`` … ``end - 1``."""
        return [self.slots[position & self.mask] for position in range(start, end)]

    def clear(self, start: int, end: int) -> None:
        """Release what positions ``start`` … ``end - 1`` hold."""
        for position in range(start, end):
            self.slots[position & self.mask] = None


class RingAggregator(FifoAggregator):
    """An algorithm whose entries are at the positions ``_f`` … ``_e - 1`` of one or two rings."""

    def __init__(self, aggregation: Aggregation, *rings: Ring) -> None:
        super().__init__(aggregation)
        self._rings = rings
        self._f = self._e = 0

    def __len__(self) -> int:
        return self._e - self._f

    def _make_room(self, more: int = 1) -> None:
        for ring in self._rings:
            ring.make_room(self._f, self._e, more)

    def _give_back(self) -> None:
        for ring in self._rings:
            ring.give_back(self._f, self._e)
