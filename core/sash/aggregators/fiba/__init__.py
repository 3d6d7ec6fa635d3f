"""FiBA: values in any order of time, in a tree that is entered from its two ends.

    evict() <-- [ oldest | … | … | … | … | youngest ]        query() = lower(oldest ⊕ … ⊕ youngest)
                           ↑     ↑     ↑
                      insert_at(time, value)                 the nearer to an end, the cheaper

The window here checks and lifts values; the module `tree` holds them. Changing the tree calls no ``combine``: the
next query computes what has become stale. So a failed insertion or eviction, in ``lift`` or in the comparison of two
times, changes nothing, and a failed query nothing but caches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Any

from sash.aggregations.base import Aggregation
from sash.aggregators.base import check_aggregation
from sash.aggregators.fiba.nodes import count_nodes, entries
from sash.aggregators.fiba.tree import FingerTree

__all__ = ["FiBA"]


class FiBA:
    """The finger B-tree aggregator of Tangwongsan, Hirzel and Schneider (VLDB 2019; for the bulk calls 2023).

    Entries with equal times are in order of arrival. Times are all numbers or all timestamps. Every node of the
    tree but the root has from µ to 2µ items, µ being ``min_arity``.

    Combines of an operation together with the query after it, with n entries, d of them between the change and
    the nearer end:

    - insert_at ≤ 4µ log_µ(d + 1) + 6 amortised, so 6 in order, and evict ≤ 6 amortised;
    - insert_many_at of m values ≤ 4µ(m log_µ(d / m + 1) + m + log_µ(d + 1)) amortised;
    - evict_until, however many entries it removes, and at worst insert_at and evict ≤ 6µ(log_µ n + 2);
    - query alone ≤ 2, range_query alone ≤ 4µ(log_µ n + 1).

    A window of up to 2µ entries is a single leaf, which a query after a change merges again: n - 1. The next
    query does the work that several operations have left to it; together they cost no more. Holds at most
    n(1 + 1/(µ - 1)) + 4µ(log_µ n + 1) partials.

    >>> import sash
    >>> window = sash.aggregators.FiBA(sash.Concat())
    >>> window.insert_at(3, "c"); window.insert_at(1, "a"); window.insert_at(2, "b"); window.query()
    'a,b,c'
    >>> window.evict_until(2), window.query(), window.range_query(2, 3)
    (1, 'b,c', 'b')
    """

    def __init__(self, aggregation: Aggregation, min_arity: int = 4) -> None:
        check_aggregation(aggregation, "FiBA")
        if isinstance(min_arity, bool) or not isinstance(min_arity, int):
            raise TypeError(f"min_arity must be a whole number; got {min_arity!r}")
        if min_arity < 2:
            raise ValueError(f"min_arity must be at least 2; got {min_arity}")
        self.aggregation = aggregation
        self.min_arity = min_arity
        self._lift = aggregation.lift
        self._tree = FingerTree(aggregation.combine, min_arity)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def oldest(self) -> Any:
        """The time of the oldest entry; ``None`` if there is none."""
        return self._tree.left.nodes[0].times[0] if self._length else None

    @property
    def youngest(self) -> Any:
        """The time of the youngest entry; ``None`` if there is none."""
        return self._tree.right.nodes[0].times[-1] if self._length else None

    def items(self) -> Iterator[tuple[Any, Any]]:
        """(time, partial) of every entry, oldest first. The window must not change during the iteration."""
        return entries(self._tree.root, self._tree.top)

    @property
    def partials(self) -> int:
        """How many partials are held, for entries, nodes and sums of the spines. O(n)."""
        tree = self._tree
        sums = sum(map(len, tree.left.sums + tree.right.sums))
        return self._length + count_nodes(tree.root, tree.top) + sums

    def query(self) -> Any:
        """The aggregation's result over the window."""
        return self.aggregation.lower(self._tree.total())

    def total(self) -> Any:
        """The partial of the whole window, before ``lower``."""
        return self._tree.total()

    def range_query(self, start: Any, end: Any) -> Any:
        """The aggregation's result over the entries with ``start <= time < end``."""
        return self.aggregation.lower(self.range_total(start, end))

    def range_total(self, start: Any, end: Any) -> Any:
        """The partial of the entries with ``start <= time < end``, before ``lower``."""
        self._is_late(start)
        self._is_late(end)
        return self._tree.range_total(start, end) if start < end else None

    def insert_at(self, time: Any, value: Any) -> None:
        """Add a value, after those that have the same time."""
        late = self._is_late(time)
        partial = self._lift(value)
        if late:
            self._tree.insert(time, partial)
        else:
            self._tree.append(time, partial)
        self._length += 1

    def replace_at(self, time: Any, value: Any) -> None:
        """Replace the value of the entry with this very time. Costs as insert_at; KeyError if there is none.

        >>> import sash
        >>> window = sash.aggregators.FiBA(sash.Concat())
        >>> window.insert_many_at([(1, "a"), (2, "b"), (3, "c")]); window.replace_at(2, "x"); window.query()
        'a,x,c'
        """
        self._is_late(time)
        partial = self._lift(value)
        if not self._length or not self._tree.replace(time, partial):
            raise KeyError(f"there is no entry at {time!r} to replace")

    def insert_many_at(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Add pairs (time, value), all or none: the same as one by one, with less work."""
        lifted = [self._lift_pair(pair) for pair in pairs]
        if not lifted:
            return
        try:
            lifted.sort(key=itemgetter(0))
        except TypeError as error:
            raise TypeError(f"the times cannot be ordered: {error}") from error
        self._tree.insert_many([time for time, _ in lifted], [partial for _, partial in lifted])
        self._length += len(lifted)

    def _lift_pair(self, pair: Any) -> tuple[Any, Any]:
        try:
            time, value = pair
        except (TypeError, ValueError):
            raise TypeError(f"insert_many_at takes pairs (time, value); got {pair!r}") from None
        self._is_late(time)
        return time, self._lift(value)

    def evict(self) -> None:
        """Remove the oldest entry."""
        if not self._length:
            raise IndexError("cannot evict: the window is empty")
        self._tree.pop()
        self._length -= 1

    def evict_until(self, time: Any) -> int:
        """Remove the entries before ``time``; returns how many they were.

        A window over the event times [start, end) calls ``evict_until(start)``. The entries are cut off along one
        path of the tree; only freeing their memory takes time in proportion to their number.
        """
        late = self._is_late(time)
        if not self._length or not self.oldest < time:
            return 0
        if late or not self.youngest < time:
            removed = self._tree.cut_off(time)
        else:
            removed = self._length
            self._tree.clear()
        self._length -= removed
        return removed

    def _is_late(self, time: Any) -> bool:
        """Whether ``time`` is before the youngest. Raises for a time that cannot be ordered."""
        if time is None:
            raise TypeError("a time is needed; got None")
        if time != time:
            raise ValueError(f"a time must have a place in the order of times; got {time!r}")
        youngest = self._tree.right.nodes[0].times[-1] if self._length else time
        try:
            return bool(time < youngest)
        except TypeError as error:
            raise TypeError(f"the time {time!r} cannot be ordered with {youngest!r}: {error}") from error

    def _check(self) -> None:
        """Assert every invariant. Linear or slower: for tests."""
        self._tree._check()
        assert sum(1 for _ in self.items()) == self._length
