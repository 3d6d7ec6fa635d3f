"""What Log MTA and AMTA of the MTA paper share: the levels, bulk eviction and the search by a slide policy.

    level 2   |        a ⊕ b ⊕ c ⊕ d        |                          element j of level l covers the
    level 1   |    a ⊕ b     |    c ⊕ d     |    e ⊕ f     |          positions j·2^l … (j+1)·2^l - 1
    level 0   |   a   |  b   |   c   |  d   |   e   |  f   |   g      of the stream

The window is the positions ``front`` … ``end - 1`` of the stream. An element is appended when all of its positions are
there, so elements never change. The leftmost of a level may cover positions that have left, and is then never read.
That takes the place of the paper's neutral elements: ``front`` and ``end`` determine which elements are live, and
evicting any number of values moves a number. Each level is a queue in pages: elements enter at its young end and are
released at the old one, a page at a time (sections 4.1.1 and 4.1.5: the last page is the level's tail).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from sash.aggregations.base import Aggregation
from sash.aggregations.laws import alike
from sash.aggregators.base import FifoAggregator

__all__ = ["MTA", "Levels", "Policy", "PolicyError"]

Policy = Callable[[Any, Any], Any]
"""``policy(total, oldest)``: whether the oldest values leave, by their result and that of the whole window."""


_MOST_RELEASED = 8  # pages at a time: what a bulk eviction leaves behind is released little by little


class PolicyError(ValueError):
    """A slide policy is not monotone: it evicts some of the oldest values but not fewer of them."""


class Levels:
    """Elements in memory, by level and index. All methods are O(1) except ``extend``, O(elements).

    >>> levels = Levels(page=2)
    >>> for letter in "abcde": levels.append(0, letter)
    >>> levels.get(0, 1), levels.get(0, 4), levels.held
    ('b', 'e', 5)
    >>> levels.drop(3); levels.held     # b is in no page that has left
    3
    """

    def __init__(self, page: int = 64) -> None:
        self.page = page
        self.bits = page.bit_length() - 1
        self.mask = page - 1
        self.tails: list[list[Any]] = []
        """The youngest elements of each level, from one to a page of them."""
        self.starts: list[int] = []
        """The index of the first in each tail."""
        self.is_full = False
        """Whether :meth:`make_room` must come before the next append."""
        self._pages: list[dict[int, list[Any]]] = []
        self._first: list[int] = []  # the first page of each level that is not released
        self._dropped = 0  # the positions before it are not needed

    @property
    def held(self) -> int:
        """How many elements are in memory."""
        return sum(map(len, self.tails)) + sum(len(page) for pages in self._pages for page in pages.values())

    def get(self, level: int, index: int) -> Any:
        """An element that has not been dropped."""
        at = index - self.starts[level]
        if at >= 0:
            return self.tails[level][at]
        page = self._pages[level].get(index >> self.bits)
        if page is None:
            page = self._missing(level, index)
        return page[index & self.mask]

    def _missing(self, level: int, index: int) -> list[Any]:
        """The page of an element that is not in memory."""
        raise LookupError(f"page {index >> self.bits} of level {level} has been released")

    def make_room(self) -> None:
        """Ensure that the next append does not fail."""

    def append(self, level: int, element: Any) -> None:
        """Add an element at the young end of a level, or of the next one."""
        if level == len(self.tails):
            self._add_level(0)
        tail = self.tails[level]
        tail.append(element)
        if len(tail) > self.page:
            self._seal_all(level)

    def extend(self, level: int, elements: Sequence[Any]) -> None:
        """Add elements at the young end of a level, or of the next one."""
        if level == len(self.tails):
            self._add_level(0)
        self.tails[level].extend(elements)
        if len(self.tails[level]) > self.page:
            self._seal_all(level)

    def _add_level(self, start: int) -> None:
        self.tails.append([])
        self.starts.append(start)
        self._pages.append({})
        self._first.append(start >> self.bits)

    def _seal_all(self, level: int) -> None:
        """Move a tail's elements into pages, all but the last, from which the next level is computed."""
        tail, page = self.tails[level], self.page
        start = self.starts[level]
        sealed = (len(tail) - 1) // page * page
        for at in range(0, sealed, page):
            self._seal(level, (start + at) >> self.bits, tail[at : at + page])
        self.tails[level] = tail[sealed:]
        self.starts[level] = start + sealed
        if not level:
            self._release()

    def _seal(self, level: int, page: int, elements: list[Any]) -> None:
        self._pages[level][page] = elements

    def drop(self, front: int) -> None:
        """Release positions before ``front``. Called when the front enters another page."""
        self._dropped = front
        self._release()

    def _release(self) -> None:
        """Release some of the pages that are not needed."""
        budget = _MOST_RELEASED
        for level, first in enumerate(self._first):
            last = min(self._dropped >> level >> self.bits, self.starts[level] >> self.bits)
            upto = min(last, first + budget)
            for page in range(first, upto):
                self._pages[level].pop(page, None)
            self._first[level] = upto
            budget -= upto - first


class MTA(FifoAggregator):
    """A window of levels, by default in memory."""

    def __init__(self, aggregation: Aggregation, levels: Levels | None = None) -> None:
        super().__init__(aggregation)
        self._levels = Levels() if levels is None else levels
        self._front = self._end = 0

    def __len__(self) -> int:
        return self._end - self._front

    @staticmethod
    @abstractmethod
    def _count(level: int, end: int) -> int:
        """How many elements a level has got in all after ``end`` values."""

    @abstractmethod
    def _renew(self) -> None:
        """Recompute what is kept besides the levels."""

    @abstractmethod
    def _extend(self, partials: Sequence[Any], added: list[list[Any]]) -> None:
        """Add new leaves, and ``added``, the new elements of each level."""

    def _push_many(self, partials: Sequence[Any]) -> None:
        if partials:
            if self._levels.is_full:
                self._levels.make_room()
            self._extend(partials, self._new_elements(partials))

    def evict_while(self, policy: Policy) -> int:
        """Evict the longest run of oldest values that ``policy`` evicts; returns how many they were.

        ``policy(total, oldest)`` gets the results of the whole window and of some of its oldest values, and returns
        whether those leave. It must be monotone: if it evicts some of the oldest, it evicts fewer of them too. The
        search goes up the tree from the oldest value while whole subtrees leave, and down to a leaf in the first that
        does not: at most 4 log2(m) + 3 calls of the policy to evict m values, and as many combines. Raises
        :class:`PolicyError` if a subtree leaves and half of it would not; other violations go unnoticed.

        >>> import sash
        >>> window = sash.aggregators.AMTA(sash.Sum())
        >>> window.insert_many([2, 2, 3, 3, 4])
        >>> window.evict_while(lambda total, oldest: total - oldest >= 10)     # what stays is still at least 10
        2
        >>> window.query()
        10
        """
        count = self._leaving(policy)
        if count:
            self._pop_many(count)
        return count

    def _leaving(self, policy: Policy) -> int:
        combine, lower, get, end = self._combine, self.aggregation.lower, self._levels.get, self._end
        total = self.query()
        leaving, at, level, rejected = None, self._front, 0, False
        while level >= 0 and at < end:
            if at >> level >= self._count(level, end):
                level -= 1  # no tree that far right is as high
                continue
            longer = combine(leaving, get(level, at >> level))
            if policy(total, lower(longer)):
                if level:
                    self._check_monotone(policy, total, leaving, level, at)
                leaving, at = longer, at + (1 << level)
                if not rejected and not at >> level & 1:
                    level += 1
                    continue
            else:
                rejected = True
            if rejected:
                level -= 1
        return at - self._front

    def _check_monotone(self, policy: Policy, total: Any, leaving: Any, level: int, at: int) -> None:
        """Raise :class:`PolicyError` if a subtree leaves and half of it would not."""
        half = self._combine(leaving, self._levels.get(level - 1, at >> (level - 1)))
        if not policy(total, self.aggregation.lower(half)):
            before, size = at - self._front, 1 << level
            raise PolicyError(
                f"the slide policy is not monotone: of {len(self)} values it lets the oldest {before + size} go, but "
                f"not the oldest {before + size // 2}; nothing was evicted"
            )

    def _new_elements(self, partials: Sequence[Any]) -> list[list[Any]]:
        """The new elements of each level, leaves first: at most one combine a leaf in all."""
        added, end = [list(partials)], self._end + len(partials)
        while (last := self._count(len(added), end)) > (first := self._count(len(added), self._end)):
            level, shift = len(added) - 1, len(added)
            live = min(max(first, -(-self._front >> shift)), last)  # those before cover what has left: never read
            young, known = added[level], self._count(level, self._end)
            children = [self._levels.get(level, i) for i in range(2 * live, known)]
            children += young[max(2 * live - known, 0) : max(2 * last - known, 0)]
            parents = map(self._combine, children[::2], children[1::2])
            added.append([None] * (live - first) + list(parents))
        return added

    def _append_all(self, added: list[list[Any]]) -> None:
        """Append new elements of each level. Cannot fail once there is room."""
        for level, elements in enumerate(added):
            self._levels.extend(level, elements)
        self._end += len(added[0])

    def _move_front(self, front: int) -> None:
        before, self._front = self._front, front
        if before ^ front > self._levels.mask:
            self._levels.drop(front)

    def _check_levels(self) -> None:
        levels, front, end = self._levels, self._front, self._end
        for level in range(len(levels.tails)):
            assert levels.starts[level] + len(levels.tails[level]) == self._count(level, end)
            for index in range(-(-front >> level), self._count(level, end)):
                if level:
                    pair = levels.get(level - 1, 2 * index), levels.get(level - 1, 2 * index + 1)
                    assert alike(levels.get(level, index), self._combine(*pair))
        assert self._count(len(levels.tails), end) <= 0
