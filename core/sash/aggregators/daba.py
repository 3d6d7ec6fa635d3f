"""DABA, the de-amortized banker's aggregator: ABA whose flip is spread over the operations before it is needed.

             F           L           R           A           B           E
    vals:    v  …        v  …        v  …        v  …        v  …
    aggs:    to B  →     to R  →     ←  from R   to B  →     ←  from B
             `- front -' `--- l_L --' `-- l_R --' `-- l_A --' `-- l_B --'
             `---------------------- l_F ------------------'

An arrow points to where the sum beside a value ends or starts. When l_F has shrunk to the length of l_B, the two become
l_L and l_R of a new l_F (`_flip`, no work). From then on every insert and every evict does one step: it turns one entry
at the left of l_L into a front entry and one at the right of l_R into an l_A entry, two combines, until both are empty;
then A, R and L move along for free. The invariants |l_L| = |l_R| and |l_L| + |l_R| + |l_A| + 1 = |l_F| - |l_B| ensure
that the reversal ends exactly in time.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from sash.aggregations.base import Aggregation
from sash.aggregations.laws import alike
from sash.aggregators.base import Ring, RingAggregator, StepwiseAggregator

__all__ = ["DABA", "Deamortized"]

Memo = tuple[Any, ...]


class Deamortized(StepwiseAggregator, RingAggregator):
    """What DABA and DABA Lite share: six pointers into the rings, of which the last holds sums, and undoing a step."""

    def __init__(self, aggregation: Aggregation, *rings: Ring) -> None:
        super().__init__(aggregation, *rings)
        self._l = self._r = self._a = self._b = 0
        self._agg_ra: Any = None  # the sum of l_R and l_A; in the paper cached_r_plus_a
        self._agg_b: Any = None  # the sum of l_B, unless a ring has it

    def _memo(self) -> Memo:
        pointers = (self._f, self._l, self._r, self._a, self._b, self._e)
        touched = {self._f, self._f + 1, self._l, self._a - 1, self._e - 1}
        slots, mask = self._rings[-1].slots, self._rings[-1].mask
        entries = [(position, slots[position & mask]) for position in touched]
        return (pointers, entries, self._rings[0].slots[self._f & mask], self._agg_ra, self._agg_b)

    def _restore(self, memo: Memo) -> None:
        pointers, entries, oldest, self._agg_ra, self._agg_b = memo
        self._make_room(self._f - pointers[0])
        self._f, self._l, self._r, self._a, self._b, self._e = pointers
        first, last = self._rings[0], self._rings[-1]
        if self._f != self._e:
            first.slots[self._f & first.mask] = oldest
        for position, entry in entries:
            if self._f <= position < self._e:
                last.slots[position & last.mask] = entry

    def _check(self) -> None:
        f, lft, rgt, acc, b, e = self._f, self._l, self._r, self._a, self._b, self._e
        assert f <= lft <= rgt <= acc <= b <= e
        assert f == e or (rgt - lft == acc - rgt and (b - lft) + 1 == (b - f) - (e - b))


class DABA(Deamortized):
    """Constant time in the worst case, for any associative combine (DABA paper, figure 17: with caching).

    Combines: insert ≤ 3, evict ≤ 2, query ≤ 1; on average 2, 1 and 1. Holds 2n + 2 partials.

    ``cached=False`` is the paper's figure 14, which keeps neither the sum of l_R ⊕ l_A nor the last answer: insert ≤ 4,
    evict ≤ 3, query ≤ 1; on average 2.5, 1.5 and 1. Holds 2n partials. It shows what the cache saves.

    >>> import sash
    >>> window = sash.aggregators.DABA(sash.Max())
    >>> window.insert_many([2, 6, 3, 5, 3]); window.evict_many(2); window.query()
    5
    """

    def __init__(self, aggregation: Aggregation, cached: bool = True) -> None:
        self._vals, self._aggs = Ring(), Ring()
        super().__init__(aggregation, self._vals, self._aggs)
        self._cached = cached
        self._cached_f_plus_b: Any = None
        self._valid_cached_f_plus_b = cached

    @property
    def partials(self) -> int:
        return 2 * len(self) + 2 * self._cached

    def total(self) -> Any:
        if self._valid_cached_f_plus_b:
            return self._cached_f_plus_b
        aggs = self._aggs
        total = aggs.slots[self._f & aggs.mask] if self._f != self._b else None
        if self._b != self._e:
            total = self._combine(total, aggs.slots[(self._e - 1) & aggs.mask])
        if self._cached:
            self._cached_f_plus_b = total
            self._valid_cached_f_plus_b = True
        return total

    def _push(self, partial: Any) -> None:
        vals, aggs, end = self._vals, self._aggs, self._e
        sum_b = self._combine(aggs.slots[(end - 1) & aggs.mask], partial) if self._b != end else partial
        if end - self._f > vals.mask:
            self._make_room()
        vals.slots[end & vals.mask] = partial
        aggs.slots[end & aggs.mask] = sum_b
        self._e = end + 1
        try:
            self._fixup(self._f)
        except BaseException:
            self._e = end
            raise

    def _pop(self) -> None:
        front = self._f
        self._fixup(front + 1)
        mask = self._vals.mask
        self._vals.slots[front & mask] = self._aggs.slots[front & mask] = None
        if (self._e - front) * 4 < mask:
            self._give_back()

    def _fixup(self, front: int) -> None:
        """One step of the reversal, with the window's front at ``front``. Combines before it changes anything."""
        lft, rgt, acc, back, end = self._l, self._r, self._a, self._b, self._e
        if front == back:  # the one value there may be is its own sum
            lft = rgt = acc = back = end
        else:
            r_plus_a = self._agg_ra
            slots, mask = self._aggs.slots, self._aggs.mask
            if lft == back:  # flip
                lft, acc, back = front, end, end
                r_plus_a = slots[(end - 1) & mask]
            if lft == rgt:  # free ride
                lft, rgt, acc = lft + 1, rgt + 1, acc + 1
            else:  # shrink l_L and l_R
                val = self._vals.slots[(acc - 1) & self._vals.mask]
                if not self._cached:
                    sum_r = slots[(acc - 1) & mask]
                    r_plus_a = self._combine(sum_r, slots[acc & mask]) if acc != back else sum_r
                to_b = self._combine(slots[lft & mask], r_plus_a)
                from_a = self._combine(val, slots[acc & mask]) if acc != back else val
                slots[lft & mask] = to_b
                slots[(acc - 1) & mask] = from_a
                lft, acc = lft + 1, acc - 1
            self._agg_ra = r_plus_a if self._cached else None
        self._f, self._l, self._r, self._a, self._b = front, lft, rgt, acc, back
        self._valid_cached_f_plus_b = False

    def _restore(self, memo: Memo) -> None:
        super()._restore(memo)
        self._valid_cached_f_plus_b = False

    def _check(self) -> None:
        super()._check()
        for position in range(self._f, self._e):
            begin, end = position, position + 1
            if position < self._l or self._a <= position < self._b:
                end = self._b
            elif position < self._r:
                end = self._r
            else:
                begin = self._r if position < self._a else self._b
            agg = reduce(self._combine, self._vals.between(begin, end))
            assert alike(self._aggs.slots[position & self._aggs.mask], agg)
