"""SlideSide: one structure for many windows that end together, such as the last 10, the last 100 and the last 1000.

Invertible aggregations keep the sums of all prefixes; any window is the difference of two of them:

    prefixes:  v0 | v0⊕v1 | … | v0⊕…⊕v9        the last 4 = prefix to 9, less prefix to 5

Others keep the sums of suffixes up to the last flip, and one running sum since; a window that starts before the flip is
one of each:

    suffixes:  v0⊕…⊕v6 | v1⊕…⊕v6 | … | v6      since: v7 | v8 | v9    sum of since: v7⊕v8⊕v9

Both are renewed when the window has moved on by its length. (Theodorakis, Pietzuch and Pirk, 2020.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from sash.aggregations.base import Aggregation
from sash.aggregators.base import FifoAggregator, FormAggregator, check_count, suffix_sums
from sash.aggregators.two_stacks_lite import TwoStacksLite

__all__ = ["SlideSide"]


class _Prefixes(FifoAggregator):
    _space = (1, 1)

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._invert = aggregation.invert
        # (sum of the prefix, how many of its partials are not the identity); the base is the prefix that has left
        self._base: tuple[Any, int] = (None, 0)
        self._prefixes: deque[tuple[Any, int]] = deque()
        self._left = 0

    def __len__(self) -> int:
        return len(self._prefixes)

    def total(self) -> Any:
        return self._since(self._base, self._prefixes[-1]) if self._prefixes else None

    def last(self, count: int) -> Any:
        if count == len(self):
            return self.total()
        return self._since(self._prefixes[-1 - count], self._prefixes[-1])

    def _since(self, start: tuple[Any, int], end: tuple[Any, int]) -> Any:
        """What was added between two prefixes."""
        if start[1] == end[1]:
            return None
        return self._invert(end[0], start[0]) if start[1] else end[0]

    def _push_many(self, partials: Sequence[Any]) -> None:
        prefixes = []
        total, real = self._prefixes[-1] if self._prefixes else self._base
        for partial in partials:
            total = self._combine(total, partial) if real else partial
            real += partial is not None
            prefixes.append((total, real))
        self._prefixes.extend(prefixes)

    def _pop_many(self, count: int) -> None:
        base, left = self._prefixes[count - 1], self._left + count
        if left >= len(self) - count:  # as much has left as the window holds: start again, or the sums grow for ever
            rest = list(self._prefixes)[count:]
            prefixes = [(self._since(base, prefix), prefix[1] - base[1]) for prefix in rest]
            self._base, self._prefixes, self._left = (None, 0), deque(prefixes), 0
        else:
            self._base, self._left = base, left
            for _ in range(count):
                self._prefixes.popleft()

    def _check(self) -> None:
        counts = [real for _, real in (self._base, *self._prefixes)]
        assert counts == sorted(counts)
        assert all((total is None) == (real == 0) for total, real in (self._base, *self._prefixes))


class _Suffixes(TwoStacksLite):
    def last(self, count: int) -> Any:
        if count == 0:
            return None
        if count <= len(self._back):  # it starts after the flip: flip again
            self._flip_all()
        front = self._front[count - len(self._back) - 1]
        return self._combine(front, self._back_agg) if self._back else front

    def _flip_all(self) -> None:
        """Move the flip to the end: every suffix absorbs what came since."""
        young = suffix_sums(self._combine, self._back)
        self._front = young + [self._combine(suffix, young[-1]) for suffix in self._front]
        self._back, self._back_agg = [], None


class SlideSide(FormAggregator):
    """Answers the whole window and, by :meth:`query_last`, any shorter one that ends with it.

    Combines and inversions, invertible: insert 1, query 1, evict 0, or n when the prefixes are renewed. Others: insert
    ≤ 1, query ≤ 1, evict 0, or n - 1 when it flips. Either way 3 amortised per slide and n at worst. A shorter window
    costs 1 as well; where the aggregation is not invertible, one that starts after the last flip flips first: n - 1.
    Holds n + 1 partials.

    >>> import sash
    >>> window = sash.aggregators.SlideSide(sash.Max())
    >>> window.insert_many([2, 6, 3, 5, 3]); window.query(), window.query_last(3), window.query_last(1)
    (6, 5, 3)
    """

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._form: _Prefixes | _Suffixes = (_Prefixes if aggregation.invertible else _Suffixes)(aggregation)

    def query_last(self, count: int) -> Any:
        """The result over the ``count`` newest values."""
        check_count(count, len(self))
        return self.aggregation.lower(self._form.last(count))
