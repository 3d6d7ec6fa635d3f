"""ABA, the amortized banker's aggregator: Two-Stacks in place, as two stretches of one queue.

             F                 B                 E
    vals:    v0     v1     v2  v3     v4     v5
    aggs:    v0…v2  v1…v2  v2  v3     v3…v4  v3…v5
             `---- l_F ----'   `---- l_B ----'

The bottoms of the two stacks touch at B. `_flip` rewrites the sums of l_B from right to left and moves B to the end; no
value moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sash.aggregations.base import Aggregation
from sash.aggregations.laws import alike
from sash.aggregators.base import Ring, RingAggregator, prefix_sums, suffix_sums

__all__ = ["ABA"]


class ABA(RingAggregator):
    """The in-place form of Two-Stacks (DABA paper, figure 7), and the step towards DABA.

    Combines: insert ≤ 1, query ≤ 1, evict 0, or n - 1 when it flips: 3 amortised per slide. Holds 2n partials.

    >>> import sash
    >>> window = sash.aggregators.ABA(sash.Max())
    >>> window.insert_many([2, 6, 3, 5, 3]); window.evict_many(2); window.query()
    5
    """

    _space = (2, 0)

    def __init__(self, aggregation: Aggregation) -> None:
        self._vals, self._aggs = Ring(), Ring()
        super().__init__(aggregation, self._vals, self._aggs)
        self._b = 0

    def total(self) -> Any:
        aggs = self._aggs
        if self._f == self._b:
            return aggs.slots[(self._e - 1) & aggs.mask] if self._b < self._e else None
        front = aggs.slots[self._f & aggs.mask]
        return self._combine(front, aggs.slots[(self._e - 1) & aggs.mask]) if self._b < self._e else front

    def _push(self, partial: Any) -> None:
        vals, aggs, end = self._vals, self._aggs, self._e
        agg = self._combine(aggs.slots[(end - 1) & aggs.mask], partial) if self._b < end else partial
        if end - self._f > vals.mask:
            self._make_room()
        vals.slots[end & vals.mask] = partial
        aggs.slots[end & aggs.mask] = agg
        self._e = end + 1

    def _pop(self) -> None:
        front = self._f
        if front == self._b:
            self._flip(front)
        mask = self._vals.mask
        self._vals.slots[front & mask] = self._aggs.slots[front & mask] = None
        self._f = front + 1
        if (self._e - front) * 4 < mask:
            self._give_back()

    def _push_many(self, partials: Sequence[Any]) -> None:
        agg = self._aggs.slots[(self._e - 1) & self._aggs.mask] if self._b < self._e else None
        sums = prefix_sums(self._combine, partials, agg)
        self._make_room(len(sums))
        for ring, entries in zip(self._rings, (partials, sums), strict=True):
            for position, entry in enumerate(entries, self._e):
                ring.slots[position & ring.mask] = entry
        self._e += len(sums)

    def _pop_many(self, count: int) -> None:
        front = self._f + count
        if front >= self._b:
            self._flip(front)
        for ring in self._rings:
            ring.clear(self._f, front)
        self._f = front
        self._give_back()

    def _flip(self, front: int) -> None:
        """Reverse l_B, from its new front on."""
        aggs = self._aggs
        sums = suffix_sums(self._combine, self._vals.between(front, self._e))
        for position, agg in enumerate(reversed(sums), front):
            aggs.slots[position & aggs.mask] = agg
        self._b = self._e

    def _check(self) -> None:
        assert self._f <= self._b <= self._e
        vals, aggs = self._vals.between(self._f, self._e), self._aggs.between(self._f, self._e)
        middle = self._b - self._f
        assert alike(aggs[:middle], suffix_sums(self._combine, vals[:middle])[::-1])
        assert alike(aggs[middle:], prefix_sums(self._combine, vals[middle:]))
