"""AMTA, the amortised Monoid Tree Aggregator: a forest of trees of sums, and only two totals that are kept up to date.

    level 2      1 ⊕ 2 ⊕ 3 ⊕ 4                                       the last pair of each level has no parent: it is
    level 1     (1⊕2)    (3⊕4)  |  (5⊕6)   (7⊕8)                    the root of a tree of its own, so the forest is
    level 0     1   2    3   4  |  5   6   7   8  |  9   10          1…4 | 5…8 | 9,10 here, the oldest tree being left

    result pair    left = 1 ⊕ 2 ⊕ 3 ⊕ 4, right = all the rest: an insert is one combine with right
    stack          left without its first element of each level: 3 ⊕ 4 below, 2 ⊕ 3 ⊕ 4 on top, which is the next left

An eviction pops the stack, and pushes the elements of the head pairs that it uncovers. When the leftmost tree grows or
is used up, the result pair and the stack are recomputed, O(log n), once they are needed. (MTA paper, section 4.2,
algorithms 3 to 7, and section 5.2.)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from sash.aggregations.base import Aggregation
from sash.aggregations.laws import alike
from sash.aggregators.mta import MTA, Levels

__all__ = ["AMTA"]


class AMTA(MTA):
    """O(1) a step amortised and O(log n) at worst; evicting any number of values at once is O(log n).

    Combines: insert, evict and query together ≤ 6 amortised; at worst insert log2(n) + 1, evict log2(n), query
    3 log2(n) + 2, else 1; evict_many none, or those of single evictions if they are fewer than log2(n); insert_many of
    m values ≤ m + min(m, 3 log2(n)). Holds at most 2n partials and 130 on each of log2(all values so far) levels.

    >>> import sash
    >>> window = sash.aggregators.AMTA(sash.Concat())
    >>> window.insert_many("abcdefgh"); window.evict_many(5); window.query()
    'f,g,h'
    """

    def __init__(self, aggregation: Aggregation, levels: Levels | None = None) -> None:
        super().__init__(aggregation, levels)
        self._left: Any = None
        self._right: Any = None
        self._stack: list[Any] = []
        self._top = 0  # the level of the leftmost tree's root
        self._known = True  # whether these four are up to date

    @staticmethod
    def _count(level: int, end: int) -> int:
        return max(((end + 1) >> level) - 1, 0)  # all but the last pair of the level below have a parent

    @property
    def partials(self) -> int:
        return self._levels.held + len(self._stack) + 2

    def total(self) -> Any:
        if not self._known:
            self._renew()
        return self._combine(self._left, self._right)

    def _push(self, partial: Any) -> None:
        levels, position = self._levels, self._end
        if levels.is_full:
            levels.make_room()
        right = self._combine(self._right, partial) if self._known else None
        last = 0
        if position & 1:
            levels.tails[0].append(partial)  # there is room: a page has an even number
        else:
            elements = self._parents(position)
            levels.append(0, partial)
            for last, element in enumerate(elements, 1):
                levels.append(last, element)
        self._end = position + 1
        if not self._known:
            return
        if position == self._front:
            self._left, self._top = partial, 0
            return
        self._right = right
        if last == self._top:
            self._known = False  # the second element of the leftmost pair: its tree has grown
        elif last > self._top:
            self._top += 1  # the leftmost pair has a parent now, and another pair is leftmost; the sums stay

    def _parents(self, position: int) -> list[Any]:
        """The elements that a new leaf adds to the levels above: a pair gets its parent when the next one starts."""
        tails, combine, front = self._levels.tails, self._combine, self._front
        elements: list[Any] = []
        index, level = position, 0
        while not index & 1 and index > 1:
            tail = tails[level]  # the pair is in it, since a page has an even number
            elements.append(combine(tail[-2], tail[-1]) if (index - 2) << level >= front else None)
            index, level = index // 2 - 1, level + 1
        return elements

    def _extend(self, partials: Sequence[Any], added: list[list[Any]]) -> None:
        top, end = self._top, self._end + len(partials)
        known = self._known and len(self) > 0 and len(partials) <= 3 * top
        known = known and self._count(top, end) == self._count(top, self._end)
        right = reduce(self._combine, partials, self._right) if known else None
        self._append_all(added)
        self._right, self._known = right, known

    def _pop(self) -> None:
        front, stack = self._front + 1, self._stack
        if not self._known or not stack:
            self._known = False
        elif front & 1:
            self._left = stack.pop()
        else:
            heads = self._new_heads(front, stack[-2] if len(stack) > 1 else None)
            self._left = stack.pop()
            stack += heads
        self._front = front
        if not front & self._levels.mask:
            self._levels.drop(front)
        if front == self._end:
            self._empty()

    def _new_heads(self, front: int, suffix: Any) -> list[Any]:
        """What is pushed when pairs have left: for each level, the new head pair's second element and all after it."""
        get, combine = self._levels.get, self._combine
        heads = []
        for level in range((front & -front).bit_length() - 2, -1, -1):
            suffix = combine(get(level, (front >> level) + 1), suffix)
            heads.append(suffix)
        return heads

    def _pop_many(self, count: int) -> None:
        if self._known and count <= self._top and count < len(self):
            self._pop_few(count)
            return
        self._known = False
        self._move_front(self._front + count)
        if self._front == self._end:
            self._empty()

    def _pop_few(self, count: int) -> None:
        """Evict up to log2(n) values one by one: cheaper on average than to recompute the stack."""
        memo = self._front, self._left, list(self._stack)
        try:
            for _ in range(count):
                self._pop()
        except BaseException:
            self._front, self._left, self._stack = memo
            self._known = True
            raise

    def _empty(self) -> None:
        self._left = self._right = None
        self._stack, self._top, self._known = [], 0, True

    def _renew(self) -> None:
        if not len(self):
            self._empty()
            return
        top = self._leftmost()
        left, stack = self._left_result(top)
        self._right = self._right_result(top)
        self._left, self._stack, self._top, self._known = left, stack, top, True

    def _leftmost(self) -> int:
        """The highest level that has an element of the window."""
        front, end = self._front, self._end
        top = (end - front).bit_length() - 1
        while top and front >> top >= self._count(top, end):
            top -= 1
        return top

    def _left_result(self, top: int) -> tuple[Any, list[Any]]:
        """The sum of the leftmost tree, and the stack (algorithm 4)."""
        front, get, combine = self._front, self._levels.get, self._combine
        stack: list[Any] = []
        suffix = None
        for level in range(top, -1, -1):
            index = front >> level
            if not index & 1 and index + 1 < self._count(level, self._end):
                suffix = combine(get(level, index + 1), suffix)
                stack.append(suffix)
        return combine(get(0, front), suffix), stack

    def _right_result(self, top: int) -> Any:
        """The sum of all other trees, whose roots are the last pairs of the levels below (algorithm 5)."""
        get, combine = self._levels.get, self._combine
        right = None
        for level in range(top):
            count = self._count(level, self._end)
            last = get(level, count - 1)
            right = combine(last if count & 1 else combine(get(level, count - 2), last), right)
        return right

    def _check(self) -> None:
        self._check_levels()
        if not len(self):
            assert self._known and self._left is self._right is None and not self._stack
        elif self._known:
            assert self._top == self._leftmost()
            left, stack = self._left_result(self._top)
            assert alike((self._left, self._stack, self._right), (left, stack, self._right_result(self._top)))
