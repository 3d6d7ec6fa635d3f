"""Levels of which only the two ends are in memory, and all between is in a store.

    cache, in memory         the store                     buffer, in memory      tail, in memory
    | page 3 | page 4 |  page 5 … page 812  |  page 813, 814 being written  |  the last elements |
      head     read ahead

A level's whole pages are buffered, and written in batches in the background; its first two pages are in a cache: when
the head comes to a page, the next one is read in the background. (MTA paper, sections 4.1.5 and 5.1.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLong
from dataclasses import replace
from typing import Any

from sash.aggregators.mta.levels import Levels
from sash.stores.base import Store, StoreAway, page_key
from sash.stores.records import Header, read_page
from sash.stores.writer import Place, Waiting, Writer

__all__ = ["StoredLevels"]

_BATCHES = 4  # that may wait to be written before an insert waits for them
_SWEPT_AT_ONCE = 256  # pages of leaves that a batch deletes at most
_LOOKED_BELOW = 8  # levels whose pages are read together
_PATIENCE = 30.0  # seconds


class StoredLevels(Levels):
    """Levels in ``store``. ``header`` is the one that it holds, or the first one; ``front`` tells the window's begin.

    In memory are, of each level, its tail and up to two pages, and of all together ``buffer`` elements and four batches
    of as many. A page is half of what a level's cache holds.
    """

    def __init__(self, store: Store, header: Header, known: bytes | None, buffer: int, trusted: bool) -> None:
        super().__init__(header.page)
        self._store, self._trusted = store, trusted
        self.header = header
        self.front: Callable[[], int] = lambda: 0
        self._most = buffer
        self._buffer: dict[Place, list[Any]] = {}
        self._buffered = 0
        self._ahead: dict[Place, Future[dict[Place, list[Any]]]] = {}
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="sash-store-reader")
        self._writer = Writer(store, known, _PATIENCE, trusted)

    # what is written

    def make_room(self) -> None:
        self._writer.wait(_BATCHES)
        self._hand_over()

    def _seal(self, level: int, page: int, elements: list[Any]) -> None:
        self._buffer[level, page] = elements
        self._buffered += len(elements)
        self.is_full = self._buffered >= self._most
        if page <= self._first[level] + 1:
            self._pages[level][page] = elements

    def _hand_over(self) -> None:
        """Have all that is whole written, and the leaves behind it, as the window is now."""
        front, end = self.front(), self.begins[0] + len(self.tails[0])
        before = self.header.swept
        swept = min(front, self.begins[0], before + _SWEPT_AT_ONCE * self.page)
        gone = {
            (level, page)
            for level in range(len(self.tails))
            for page in range(before >> level >> self.bits, swept >> level >> self.bits)
        }
        self.header = replace(self.header, front=front, end=end, swept=swept, number=self.header.number + 1)
        pages = {place: page for place, page in self._buffer.items() if place not in gone}
        pages[0, self.begins[0] >> self.bits] = list(self.tails[0])
        self._writer.put(Waiting(self.header, pages, gone))
        self._buffer, self._buffered, self.is_full = {}, 0, False

    def flush(self) -> None:
        """Have everything in the store, and safe there."""
        end = self.begins[0] + len(self.tails[0]) if self.tails else 0
        if self.tails and (self.header.front, self.header.end) != (self.front(), end):
            self._hand_over()
        self._writer.wait()
        self._store.sync()

    def close(self) -> None:
        """End the threads."""
        self._writer.close()
        self._reader.shutdown(cancel_futures=True)

    # what is read

    def _missing(self, level: int, index: int) -> list[Any]:
        place = level, index >> self.bits
        found = self._buffer.get(place) or self._writer.find(place)
        if found is None and place in self._ahead:
            found = self._read(self._ahead.pop(place), place)
        if found is not None:
            self._pages[level][place[1]] = found
            return found
        pages = self._fetched([place, *self._below(level, index)])
        for (at, page), elements in pages.items():
            self._pages[at][page] = elements
        return pages[place]

    def _below(self, level: int, index: int) -> Iterator[Place]:
        """The pages of the levels below where an element begins: a search that has come here goes on there."""
        for lower in range(level - 1, max(level - _LOOKED_BELOW, 0) - 1, -1):
            place = lower, index << (level - lower) >> self.bits
            is_whole = place[1] < self.begins[lower] >> self.bits
            if is_whole and self._is_away(*place) and self._writer.find(place) is None:
                yield place

    def _read(self, future: Future[dict[Place, list[Any]]], place: Place) -> list[Any] | None:
        """A page that was read ahead; None: the store was away then, and may be back."""
        try:
            return future.result(_PATIENCE)[place]
        except TooLong:
            raise StoreAway(f"{self._store.name} has not answered for {_PATIENCE:g} seconds") from None
        except StoreAway:
            return None

    def _fetched(self, places: Iterable[Place]) -> dict[Place, list[Any]]:
        places = list(places)
        blobs = self._store.get([page_key(*place) for place in places])
        return {
            (level, page): read_page(level, page, blob, self.page, self._store.name, self._trusted)
            for (level, page), blob in zip(places, blobs, strict=True)
        }

    def drop(self, front: int) -> None:
        wanted: list[Place] = []
        for level, first in enumerate(self._first):
            whole = self.begins[level] >> self.bits
            head = front >> level >> self.bits
            if head == first:
                continue
            self._first[level] = head
            self._trim(level)
            wanted += [(level, page) for page in (head, head + 1) if page < whole and self._is_away(level, page)]
        if wanted:
            self._read_ahead(wanted)

    def _trim(self, level: int) -> None:
        """Keep the two pages of the cache."""
        pages, head = self._pages[level], self._first[level]
        for page in [page for page in pages if not head <= page <= head + 1]:
            del pages[page]

    def _give_back(self) -> None:
        pass  # what has been written is not in memory

    def _is_away(self, level: int, page: int) -> bool:
        place = level, page
        return page not in self._pages[level] and place not in self._buffer and place not in self._ahead

    def _read_ahead(self, wanted: list[Place]) -> None:
        """Read pages in the background, those that are not waiting to be written, and forget those that have left."""
        self._ahead = {place: each for place, each in self._ahead.items() if self._first[place[0]] <= place[1]}
        places = [place for place in wanted if self._writer.find(place) is None]
        if places:
            future = self._reader.submit(self._fetched, places)
            self._ahead.update(dict.fromkeys(places, future))

    # opening

    def load(self, level: int, count: int, child: Callable[[int, int], Any]) -> None:
        """Have a level of ``count`` elements: its tail read, if it is of leaves, or else made by ``child``."""
        begin = (count - 1) & ~self.mask
        self._add_level(begin)
        self._first[level] = self.header.front >> level >> self.bits
        if level:
            self.tails[level] = [child(level, index) for index in range(begin, count)]
        else:
            (blob,) = self._store.get([page_key(0, begin >> self.bits)])
            name = self._store.name
            self.tails[0] = read_page(0, begin >> self.bits, blob, count - begin, name, self._trusted)

    def loaded(self) -> None:
        """All levels are there: what was read for them is not needed any more."""
        for level in range(len(self.tails)):
            self._trim(level)

    def verify(self) -> None:
        """Read every page that is whole; a :class:`StoreError` if one is damaged or missing."""
        self._writer.wait()
        for level, first in enumerate(self._first):
            for page in range(first, self.begins[level] >> self.bits):
                if (level, page) not in self._buffer:
                    self._fetched([(level, page)])
