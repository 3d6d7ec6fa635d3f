"""Two-Stacks: a queue made of two stacks, each of which keeps the sum from its bottom up beside every value.

    front  (top = oldest)            back  (top = newest)
    agg: v0⊕v1⊕v2 | v1⊕v2 | v2       agg: v3 | v3⊕v4 | v3⊕v4⊕v5
    val: v0       | v1    | v2       val: v3 | v4    | v5

A pop from the front needs no inverse: the sum below the top is already there. When the front is empty, `_flip` moves
the back onto it in reverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sash.aggregations.base import Aggregation
from sash.aggregations.laws import alike
from sash.aggregators.base import FifoAggregator, prefix_sums, suffix_sums

__all__ = ["TwoStacks"]


class TwoStacks(FifoAggregator):
    """The simplest constant-time algorithm (DABA paper, figure 5), with a spike when it flips.

    Combines: insert ≤ 1, query ≤ 1, evict 0, or n - 1 when it flips: 3 amortised per slide. Holds 2n partials.

    >>> import sash
    >>> window = sash.aggregators.TwoStacks(sash.Max())
    >>> window.insert_many([2, 6, 3, 5, 3]); window.evict_many(2); window.query()
    5
    """

    _space = (2, 0)

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._front: list[Any] = []  # of pairs (val, agg), as the back
        self._back: list[Any] = []

    def __len__(self) -> int:
        return len(self._front) + len(self._back)

    def total(self) -> Any:
        if not self._front:
            return self._back[-1][1] if self._back else None
        front = self._front[-1][1]
        return self._combine(front, self._back[-1][1]) if self._back else front

    def _push(self, partial: Any) -> None:
        agg = self._combine(self._back[-1][1], partial) if self._back else partial
        self._back.append((partial, agg))

    def _pop(self) -> None:
        if not self._front:
            self._flip(self._back)
        self._front.pop()

    def _push_many(self, partials: Sequence[Any]) -> None:
        sums = prefix_sums(self._combine, partials, self._back[-1][1] if self._back else None)
        self._back += zip(partials, sums, strict=True)

    def _pop_many(self, count: int) -> None:
        from_back = count - len(self._front)
        if from_back < 0:
            del self._front[-count:]
        else:  # what leaves from the back is not flipped first
            self._flip(self._back[from_back:])

    def _flip(self, back: list[Any]) -> None:
        """Move ``back``, which is all that is left of the back, onto the empty front in reverse."""
        vals = [val for val, _ in back]
        self._front = list(zip(reversed(vals), suffix_sums(self._combine, vals), strict=True))
        self._back = []

    def _check(self) -> None:
        front = [val for val, _ in reversed(self._front)]
        assert alike([agg for _, agg in self._front], suffix_sums(self._combine, front))
        assert alike([agg for _, agg in self._back], prefix_sums(self._combine, [val for val, _ in self._back]))
