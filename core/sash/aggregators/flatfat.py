"""FlatFAT, the flat fixed-sized aggregator: a complete binary tree of sums in one array, without pointers.

               [1] = [2]⊕[3]
        [2]                 [3]                    node i has children 2i and 2i + 1
     [4]    [5]          [6]    [7]    = slots     the leaves are a ring buffer: F at [5], B at [4] here

Unfilled slots hold ⊥ (None), which ``combine`` passes over. When the ring has wrapped around, the array's order is not
the window's (the inverted buffer): where order matters, the total is then suffix(F) ⊕ prefix(B) instead of the root. As
in the paper, the tree is updated once for all that has changed since the last firing: values that leave are only noted,
and the next insert or query updates the nodes above them. (Reactive Aggregator paper, sections 4 and 5.)
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import Any

from sash.aggregations.base import Aggregation
from sash.aggregations.laws import alike
from sash.aggregators.base import FifoAggregator

__all__ = ["FlatFAT"]

_SMALLEST = 4


class FlatFAT(FifoAggregator):
    """O(log n) a step, and any value can be evicted, not just the oldest.

    Combines: insert ≤ log2 c for a capacity c < 4n (amortised: plus O(1) for resizing), and as much for each value that
    has left since, which evict leaves to the next insert or query; query else 0, or ≤ 2 log2 c when the buffer is
    inverted and the aggregation not commutative. A bulk of m: ≤ m + m log2(c/m). Holds at most 2c partials.

    >>> import sash
    >>> window = sash.aggregators.FlatFAT(sash.Max())
    >>> window.insert_many([2, 6, 3, 5, 3]); window.query()
    6
    >>> window.evict_at(1); window.query()      # values are numbered from 0 in order of arrival
    5
    """

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._tree: list[Any] = [None] * (2 * _SMALLEST)
        self._stale: dict[int, None] = {}  # leaves of values that have left, above which nodes are not updated yet
        self._capacity = _SMALLEST
        self._front = self._end = 0  # leaves are at positions front … end - 1, position i in slot i % capacity
        self._numbers = [0] * _SMALLEST  # the number of the value in a slot, also of a hole
        self._live = bytearray(_SMALLEST)  # which slots hold a value and not a hole; a null is a value
        self._count = 0
        self._next_number = 0

    def __len__(self) -> int:
        return self._count

    @property
    def partials(self) -> int:
        return sum(node is not None for node in self._tree)

    def evict_at(self, number: int) -> None:
        """Remove the value that was inserted as the ``number``-th of all, counting from 0. Leaves a hole."""
        position = self._find(number)
        if position is None:
            raise IndexError(f"cannot evict value {number!r}: it is not in the window")
        self._evict([position])

    def _find(self, number: int) -> int | None:
        """Numbers ascend along the ring, holes included, so binary search finds them."""
        ring = range(self._front, self._end)
        index = bisect_left(ring, number, key=lambda position: self._numbers[position % self._capacity])
        if index == len(ring) or self._numbers[ring[index] % self._capacity] != number:
            return None
        return ring[index] if self._live[ring[index] % self._capacity] else None

    def total(self) -> Any:
        if self._stale:
            self._apply(self._changes(dict(self._stale)))
        first, last = self._front % self._capacity, (self._end - 1) % self._capacity
        if not self._count or first <= last or self.aggregation.commutative:
            return self._tree[1]
        return self._merge(self._suffix(first), self._prefix(last))

    def _merge(self, a: Any, b: Any) -> Any:
        if a is None:
            return b
        return a if b is None else self._combine(a, b)

    def _prefix(self, slot: int) -> Any:
        """The sum of the slots from the start of the array up to and including ``slot``."""
        node = self._capacity + slot
        agg = self._tree[node]
        while node > 1:
            if node % 2:
                agg = self._merge(self._tree[node - 1], agg)
            node //= 2
        return agg

    def _suffix(self, slot: int) -> Any:
        """The sum of the slots from ``slot`` to the end of the array."""
        node = self._capacity + slot
        agg = self._tree[node]
        while node > 1:
            if not node % 2:
                agg = self._merge(agg, self._tree[node + 1])
            node //= 2
        return agg

    def _changes(self, leaves: dict[int, Any]) -> dict[int, Any]:
        """All nodes that change with these leaves, level by level from the bottom, each computed once.

        They have to be all that are stale, at least.
        """
        changed = dict(leaves)
        level: Iterable[int] = leaves
        while True:
            parents = dict.fromkeys(node // 2 for node in level)
            if 0 in parents or not parents:
                return changed
            for node in parents:
                left, right = 2 * node, 2 * node + 1
                changed[node] = self._merge(
                    changed[left] if left in changed else self._tree[left],
                    changed[right] if right in changed else self._tree[right],
                )
            level = parents

    def _apply(self, changed: dict[int, Any]) -> None:
        tree = self._tree
        for node, partial in changed.items():
            tree[node] = partial
        self._stale = {}

    def _push(self, partial: Any) -> None:
        """One partial, in the slot of the only one that has left since, as in windows of a fixed size: one path."""
        capacity, slot = self._capacity, self._end % self._capacity
        leaf = capacity + slot
        if self._end - self._front == capacity or (self._stale and (len(self._stale) > 1 or leaf not in self._stale)):
            self._push_bulk((partial,))
            return
        tree, combine, node, path = self._tree, self._combine, leaf, [partial]
        while node > 1:
            sibling = tree[node ^ 1]
            if sibling is not None:
                if partial is None:
                    partial = sibling
                else:
                    partial = combine(sibling, partial) if node & 1 else combine(partial, sibling)
            path.append(partial)
            node >>= 1
        for partial in path:
            tree[leaf] = partial
            leaf >>= 1
        if self._stale:
            self._stale = {}
        self._end += 1
        self._numbers[slot], self._live[slot] = self._next_number, True
        self._next_number += 1
        self._count += 1

    def _push_many(self, partials: Sequence[Any]) -> None:
        if len(partials) == 1:
            self._push(partials[0])
        else:
            self._push_bulk(partials)

    def _push_bulk(self, partials: Sequence[Any]) -> None:
        if self._end - self._front + len(partials) > self._capacity:
            self._rebuild_with(partials)
            return
        slots = [(self._end + i) % self._capacity for i in range(len(partials))]
        leaves: dict[int, Any] = {self._capacity + slot: partial for slot, partial in zip(slots, partials, strict=True)}
        self._apply(self._changes({**self._stale, **leaves}))
        self._end += len(partials)
        self._number(slots)

    def _number(self, slots: Iterable[int]) -> None:
        for slot in slots:
            self._numbers[slot] = self._next_number
            self._live[slot] = True
            self._next_number += 1
            self._count += 1

    def _rebuild_with(self, partials: Sequence[Any]) -> None:
        """Make room: close the holes if they are a quarter of the slots (compact), else double (resize)."""
        count = self._count + len(partials)
        capacity = self._capacity
        while count > capacity or (capacity == self._capacity and self._count > 3 * capacity // 4):
            capacity *= 2
        fresh = range(self._next_number, self._next_number + len(partials))
        numbers, held = self._entries()
        self._rebuild(capacity, [*numbers, *fresh], [*held, *partials])
        self._next_number = fresh.stop

    def _entries(self, gone: Collection[int] = ()) -> tuple[list[int], list[Any]]:
        """The numbers of the window's values in order, and their partials; those in the slots ``gone`` left out."""
        if len(gone) == self._count:
            return [], []
        ring = (position % self._capacity for position in range(self._front, self._end))
        slots = [slot for slot in ring if self._live[slot] and slot not in gone]
        return [self._numbers[slot] for slot in slots], [self._tree[self._capacity + slot] for slot in slots]

    def _rebuild(self, capacity: int, numbers: list[int], partials: list[Any]) -> None:
        count, empty = len(numbers), capacity - len(numbers)
        combine = self._merge if any(partial is None for partial in partials) else self._combine
        levels = [partials + [None] * empty]
        while (size := len(levels[-1])) > 1:
            above = list(map(combine, partials[:-1:2], partials[1::2])) + partials[len(partials) & ~1 :]
            levels.append(above + [None] * (size // 2 - len(above)))
            partials = above
        self._tree, self._capacity, self._stale = [None, *chain.from_iterable(reversed(levels))], capacity, {}
        self._front, self._end = 0, count
        self._numbers = numbers + [0] * empty
        self._live = bytearray(b"\1" * count + b"\0" * empty)
        self._count = count

    def _pop(self) -> None:
        slot, capacity = self._front % self._capacity, self._capacity
        if capacity > _SMALLEST and self._count <= capacity // 4:
            self._evict([self._front])
            return
        self._stale[capacity + slot] = self._tree[capacity + slot] = None
        self._live[slot] = False
        self._count -= 1
        self._skip_holes()

    def _skip_holes(self) -> None:
        while self._front < self._end and not self._live[self._front % self._capacity]:
            self._front += 1

    def _pop_many(self, count: int) -> None:
        if count == 1:
            self._pop()
            return
        if count == self._count:
            self._rebuild(_SMALLEST, [], [])
            return
        positions = (p for p in range(self._front, self._end) if self._live[p % self._capacity])
        self._evict([position for position, _ in zip(positions, range(count), strict=False)])

    def _evict(self, positions: Sequence[int]) -> None:
        remaining = self._count - len(positions)
        capacity = self._capacity
        while capacity > _SMALLEST and remaining < capacity // 4:
            capacity //= 2
        slots = {position % self._capacity for position in positions}
        if capacity != self._capacity:
            self._rebuild(capacity, *self._entries(slots))
            return
        for slot in slots:
            self._stale[capacity + slot] = self._tree[capacity + slot] = None
            self._live[slot] = False
        self._count = remaining
        self._skip_holes()

    def _check(self) -> None:
        assert self._end - self._front <= self._capacity
        assert self._count == sum(self._live)
        assert self._capacity == _SMALLEST or self._count >= self._capacity // 4
        tree = list(self._tree)
        for node, partial in self._changes(dict(self._stale)).items() if self._stale else ():
            tree[node] = partial
        for node in range(1, self._capacity):
            assert alike(tree[node], self._merge(tree[2 * node], tree[2 * node + 1]))
        occupied = {position % self._capacity for position in range(self._front, self._end)}
        for slot in range(self._capacity):
            assert self._live[slot] or self._tree[self._capacity + slot] is None
            assert slot in occupied or not self._live[slot]
        assert not self._count or self._live[self._front % self._capacity]
        numbers = [self._numbers[position % self._capacity] for position in range(self._front, self._end)]
        assert numbers == sorted(numbers)
