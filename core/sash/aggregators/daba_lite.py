"""DABA Lite: DABA in one queue of partials, as Two-Stacks Lite is to Two-Stacks.

              F           L           R           A           B           E
    partials: to B  →     to R  →     values      to B  →     values
              `- front -' `--- l_L --' `-- l_R --' `-- l_A --' `-- l_B --'
              agg_ra = the sum of l_R and l_A               agg_b = the sum of l_B

Of DABA's two queues only one is read at any position: sums in the front, l_L and l_A, values in l_R and l_B. The sums
over the whole of l_R ⊕ l_A and of l_B are kept beside the queue. (Tangwongsan, Hirzel and Schneider, "In-order
sliding-window aggregation in worst-case constant time", 2021.)
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from sash.aggregations.base import Aggregation
from sash.aggregations.laws import alike
from sash.aggregators.base import Ring
from sash.aggregators.daba import Deamortized

__all__ = ["DABALite"]


class DABALite(Deamortized):
    """DABA's bounds in little more than half its space.

    Combines: insert ≤ 3, evict ≤ 2, query ≤ 1; on average 2, 1 and 1. Holds n + 2 partials.

    >>> import sash
    >>> window = sash.aggregators.DABALite(sash.Max())
    >>> window.insert_many([2, 6, 3, 5, 3]); window.evict_many(2); window.query()
    5
    """

    _space = (1, 2)

    def __init__(self, aggregation: Aggregation) -> None:
        self._queue = Ring()
        super().__init__(aggregation, self._queue)

    def total(self) -> Any:
        if self._f == self._b:
            return None
        front = self._queue.slots[self._f & self._queue.mask]
        return front if self._b == self._e else self._combine(front, self._agg_b)

    def _push(self, partial: Any) -> None:
        queue, end = self._queue, self._e
        agg_b = partial if self._b == end else self._combine(self._agg_b, partial)
        if end - self._f > queue.mask:
            self._make_room()
        queue.slots[end & queue.mask] = partial
        self._fixup(self._f, end + 1, agg_b)

    def _pop(self) -> None:
        front = self._f
        self._fixup(front + 1, self._e, self._agg_b)
        self._queue.slots[front & self._queue.mask] = None
        if (self._e - front) * 4 < self._queue.mask:
            self._give_back()

    def _fixup(self, front: int, end: int, agg_b: Any) -> None:
        """One step of the reversal over ``front`` … ``end``. Combines before it changes anything."""
        lft, rgt, acc, back, agg_ra = self._l, self._r, self._a, self._b, self._agg_ra
        if front == back:  # the one value there may be is its own sum
            lft = rgt = acc = back = end
            agg_ra = agg_b = None
        else:
            slots, mask = self._queue.slots, self._queue.mask
            if lft == back:  # flip
                lft, acc, back = front, end, end
                agg_ra, agg_b = agg_b, None
            if lft == rgt:  # free ride
                lft, rgt, acc = lft + 1, rgt + 1, acc + 1
                agg_ra = slots[acc & mask] if acc != back else None
            else:  # shrink l_L and l_R
                to_b = self._combine(slots[lft & mask], agg_ra)
                if acc != back:
                    slots[(acc - 1) & mask] = self._combine(slots[(acc - 1) & mask], slots[acc & mask])
                slots[lft & mask] = to_b
                lft, acc = lft + 1, acc - 1
        self._f, self._l, self._r, self._a, self._b, self._e = front, lft, rgt, acc, back, end
        self._agg_ra, self._agg_b = agg_ra, agg_b

    def _check(self) -> None:
        super()._check()
        assert alike(self._agg_b, reduce(self._combine, self._queue.between(self._b, self._e), None))
        ra = self._queue.between(self._r, min(self._a + 1, self._b))
        assert alike(self._agg_ra, reduce(self._combine, ra, None))
