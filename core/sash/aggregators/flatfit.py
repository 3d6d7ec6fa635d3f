"""FlatFIT, the flat and fast index traverser: partials that remember how far they reach.

    position:   0      1      2      3      4
    partials:   v0     v1…v3  v2…v3  v3     v4        `reach` of 1, 2 and 3 is 4, of 4 it is 5
                       `-----------------> 4 --> 5

A query hops from the front to the end along `reach`, then walks its path back, letting every entry on it absorb all
that follows (path compression). The next queries skip what this one added up. (Shein, Chrysanthis and Labrinidis,
2017.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sash.aggregations.base import Aggregation
from sash.aggregators.base import Ring, RingAggregator

__all__ = ["FlatFIT"]


class FlatFIT(RingAggregator):
    """The query does all the work.

    Combines: insert 0, evict 0, query 3 amortised over a slide, n - 1 at worst. Holds n partials (and n indices).

    >>> import sash
    >>> window = sash.aggregators.FlatFIT(sash.Max())
    >>> window.insert_many([2, 6, 3, 5, 3]); window.evict_many(2); window.query()
    5
    """

    def __init__(self, aggregation: Aggregation) -> None:
        self._partials, self._reach = Ring(), Ring()
        super().__init__(aggregation, self._partials, self._reach)

    def total(self) -> Any:
        if self._f == self._e:
            return None
        path = self._path()
        slots, reach, mask, end = self._partials.slots, self._reach.slots, self._partials.mask, self._e
        total = slots[path.pop() & mask]
        for position in reversed(path):  # an entry is whole after every step, so that a combine may raise at any
            total = self._combine(slots[position & mask], total)
            slots[position & mask] = total
            reach[position & mask] = end
        return total

    def _path(self) -> list[int]:
        """The positions that together cover the window, oldest first."""
        reach, mask = self._reach.slots, self._reach.mask
        path = []
        position = self._f
        while position != self._e:
            path.append(position)
            position = reach[position & mask]
        return path

    def _push(self, partial: Any) -> None:
        end = self._e
        if end - self._f > self._partials.mask:
            self._make_room()
        mask = self._partials.mask
        self._partials.slots[end & mask] = partial
        self._reach.slots[end & mask] = self._e = end + 1

    def _pop(self) -> None:
        front, mask = self._f, self._partials.mask
        self._partials.slots[front & mask] = None
        self._f = front + 1
        if (self._e - front) * 4 < mask:
            self._give_back()

    def _push_many(self, partials: Sequence[Any]) -> None:
        self._make_room(len(partials))
        mask = self._partials.mask
        for position, partial in enumerate(partials, self._e):
            self._partials.slots[position & mask] = partial
            self._reach.slots[position & mask] = position + 1
        self._e += len(partials)

    def _pop_many(self, count: int) -> None:
        self._partials.clear(self._f, self._f + count)
        self._f += count
        self._give_back()

    def _check(self) -> None:
        assert len(self._partials.slots) == len(self._reach.slots)
        reach = self._reach.between(self._f, self._e)
        assert all(position < end <= self._e for position, end in enumerate(reach, self._f))
