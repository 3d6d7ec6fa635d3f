"""Two-Stacks Lite: Two-Stacks without what is never read again.

    front (top = oldest)             back            back_agg
    v0⊕v1⊕v2 | v1⊕v2 | v2            v3 | v4 | v5    v3⊕v4⊕v5

The front needs no values (they are only ever popped) and the back no sums but the newest, so one partial a value is
enough, and one more.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from sash.aggregations.base import Aggregation
from sash.aggregations.laws import alike
from sash.aggregators.base import suffix_sums
from sash.aggregators.two_stacks import TwoStacks

__all__ = ["TwoStacksLite"]


class TwoStacksLite(TwoStacks):
    """Two-Stacks in half the space.

    Combines: insert ≤ 1, query ≤ 1, evict 0, or n - 1 when it flips: 3 amortised per slide. Holds n + 1 partials.

    >>> import sash
    >>> window = sash.aggregators.TwoStacksLite(sash.Max())
    >>> window.insert_many([2, 6, 3, 5, 3]); window.evict_many(2); window.query()
    5
    """

    _space = (1, 1)

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._back_agg: Any = None

    def total(self) -> Any:
        if not self._front:
            return self._back_agg
        return self._combine(self._front[-1], self._back_agg) if self._back else self._front[-1]

    def _push(self, partial: Any) -> None:
        self._back_agg = self._combine(self._back_agg, partial) if self._back else partial
        self._back.append(partial)

    def _push_many(self, partials: Sequence[Any]) -> None:
        before = () if self._back_agg is None else (self._back_agg,)
        if before or partials:
            self._back_agg = reduce(self._combine, (*before, *partials))
        self._back += partials

    def _flip(self, back: list[Any]) -> None:
        self._front = suffix_sums(self._combine, back)
        self._back = []
        self._back_agg = None

    def _check(self) -> None:
        assert alike(self._back_agg, reduce(self._combine, self._back, None))
