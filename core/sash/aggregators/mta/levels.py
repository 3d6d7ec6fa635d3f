"""The levels of a Monoid Tree Aggregator: a queue of elements each, in pages, from the leaves up.

    level 2   |        a ⊕ b ⊕ c ⊕ d        |                          element j of level l covers the
    level 1   |    a ⊕ b     |    c ⊕ d     |    e ⊕ f     |          positions j·2^l … (j+1)·2^l - 1
    level 0   |   a   |  b   |   c   |  d   |   e   |  f   |   g      of the stream

Elements are appended at the young end of a level, never changed, and released at the old end, a page at a time. (MTA
paper, sections 4.1.1 and 4.1.5: the last page is the level's tail.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["Levels"]

_MOST_RELEASED = 8  # pages at a time: what a bulk eviction leaves behind is released little by little


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
        self.begins: list[int] = []
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
        at = index - self.begins[level]
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
        """Make sure that the next append does not fail."""

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

    def _add_level(self, begin: int) -> None:
        self.tails.append([])
        self.begins.append(begin)
        self._pages.append({})
        self._first.append(begin >> self.bits)

    def _seal_all(self, level: int) -> None:
        """Move a tail's elements into pages, all but the last, from which the next level is computed."""
        tail, page = self.tails[level], self.page
        begin = self.begins[level]
        sealed = (len(tail) - 1) // page * page
        for at in range(0, sealed, page):
            self._seal(level, (begin + at) >> self.bits, tail[at : at + page])
        self.tails[level] = tail[sealed:]
        self.begins[level] = begin + sealed
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
            last = min(self._dropped >> level >> self.bits, self.begins[level] >> self.bits)
            upto = min(last, first + budget)
            for page in range(first, upto):
                self._pages[level].pop(page, None)
            self._first[level] = upto
            budget -= upto - first
