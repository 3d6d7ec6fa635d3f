"""Log MTA and AMTA over a store: windows larger than memory that survive their process.

The two ends of each level are in memory and the rest in the store:

    cache, in memory         the store                     buffer, in memory      tail, in memory
    | page 3 | page 4 |  page 5 … page 812  |  page 813, 814 being written  |  the last elements |
      head     read ahead

Whole pages of a level are buffered, and written in batches in the background. The first two pages are cached: when the
head reaches a page, the next one is read in the background. (MTA paper, sections 4.1.5 and 5.1.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLong
from dataclasses import replace
from secrets import token_bytes
from typing import Any, Self

from sash.aggregations.base import Aggregation
from sash.aggregators.mta import MTA, Levels
from sash.aggregators.mta.amta import AMTA
from sash.aggregators.mta.log_mta import LogMTA
from sash.stores.base import HEADER, Store, StoreAway, StoreError, page_key
from sash.stores.records import BackgroundWriter, Header, PendingBatch, Place, read_page

__all__ = [
    "StoredAMTA",
    "StoredLevels",
    "StoredLogMTA",
]

_MOST_BATCHES = 4  # queued before an insert waits for them to be written
_MOST_DELETED = 256  # pages of leaves a batch
_READ_TOGETHER = 8  # levels whose pages are read together
_PATIENCE_S = 30.0


class StoredLevels(Levels):
    """Levels in ``store``. ``header`` is the one it holds, or the first one; ``front`` returns the start of the window.

    Memory holds the tail and up to two pages of each level; for all levels together, ``buffer`` elements and four
    batches of as many. A page is half of a level's cache.
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
        self._writer = BackgroundWriter(store, known, _PATIENCE_S, trusted)

    def make_room(self) -> None:
        self._writer.wait(_MOST_BATCHES)
        self._hand_over()

    def _seal(self, level: int, page: int, elements: list[Any]) -> None:
        self._buffer[level, page] = elements
        self._buffered += len(elements)
        self.is_full = self._buffered >= self._most
        if page <= self._first[level] + 1:
            self._pages[level][page] = elements

    def _hand_over(self) -> None:
        """Queue the whole pages and the leaves after them, as the window is now."""
        front, end = self.front(), self.starts[0] + len(self.tails[0])
        before = self.header.swept
        swept = min(front, self.starts[0], before + _MOST_DELETED * self.page)
        deleted = {
            (level, page)
            for level in range(len(self.tails))
            for page in range(before >> level >> self.bits, swept >> level >> self.bits)
        }
        self.header = replace(self.header, front=front, end=end, swept=swept, number=self.header.number + 1)
        pages = {place: page for place, page in self._buffer.items() if place not in deleted}
        pages[0, self.starts[0] >> self.bits] = list(self.tails[0])
        self._writer.put(PendingBatch(self.header, pages, deleted))
        self._buffer, self._buffered, self.is_full = {}, 0, False

    def flush(self) -> None:
        """Write everything to the store and wait until it is safe there."""
        end = self.starts[0] + len(self.tails[0]) if self.tails else 0
        if self.tails and (self.header.front, self.header.end) != (self.front(), end):
            self._hand_over()
        self._writer.wait()
        self._store.sync()

    def close(self) -> None:
        """Stop the threads."""
        self._writer.close()
        self._reader.shutdown(cancel_futures=True)

    def _missing(self, level: int, index: int) -> list[Any]:
        place = level, index >> self.bits
        elements = self._buffer.get(place) or self._writer.find(place)
        if elements is None and place in self._ahead:
            elements = self._read(self._ahead.pop(place), place)
        pages = self._fetch([place, *self._below(level, index)]) if elements is None else {place: elements}
        for (at, page), elements in pages.items():
            self._pages[at][page] = elements
        return pages[place]

    def _below(self, level: int, index: int) -> Iterator[Place]:
        """The pages of lower levels where an element starts: a search that reads it continues there."""
        for lower in range(level - 1, max(level - _READ_TOGETHER, 0) - 1, -1):
            place = lower, index << (level - lower) >> self.bits
            is_whole = place[1] < self.starts[lower] >> self.bits
            if is_whole and self._is_away(*place) and self._writer.find(place) is None:
                yield place

    def _read(self, future: Future[dict[Place, list[Any]]], place: Place) -> list[Any] | None:
        """A page that was read ahead; None if the store did not answer."""
        try:
            return future.result(_PATIENCE_S)[place]
        except TooLong:
            raise StoreAway(f"{self._store.name} has not answered for {_PATIENCE_S:g} seconds") from None
        except StoreAway:
            return None

    def _fetch(self, places: list[Place]) -> dict[Place, list[Any]]:
        """Whole pages from the store."""
        blobs = self._store.get([page_key(*place) for place in places])
        return {place: self._decode(place, blob, self.page) for place, blob in zip(places, blobs, strict=True)}

    def _decode(self, place: Place, blob: bytes | None, size: int) -> list[Any]:
        return read_page(*place, blob, size, self._store.name, self._trusted)

    def drop(self, front: int) -> None:
        wanted: list[Place] = []
        for level, first in enumerate(self._first):
            whole = self.starts[level] >> self.bits
            head = front >> level >> self.bits
            if head == first:
                continue
            self._first[level] = head
            self._trim(level)
            wanted += [(level, page) for page in (head, head + 1) if page < whole and self._is_away(level, page)]
        if wanted:
            self._read_ahead(wanted)

    def _trim(self, level: int) -> None:
        """Drop all pages but the two of the cache."""
        pages, head = self._pages[level], self._first[level]
        for page in [page for page in pages if not head <= page <= head + 1]:
            del pages[page]

    def _release(self) -> None:
        pass  # written pages are not in memory

    def _is_away(self, level: int, page: int) -> bool:
        place = level, page
        return page not in self._pages[level] and place not in self._buffer and place not in self._ahead

    def _read_ahead(self, wanted: list[Place]) -> None:
        """Read pages in the background unless they are queued to be written. Forget pages before the head."""
        self._ahead = {place: future for place, future in self._ahead.items() if self._first[place[0]] <= place[1]}
        places = [place for place in wanted if self._writer.find(place) is None]
        if places:
            future = self._reader.submit(self._fetch, places)
            self._ahead.update(dict.fromkeys(places, future))

    def load(self, level: int, count: int, child: Callable[[int, int], Any]) -> None:
        """Load a level of ``count`` elements: read the tail of the leaves, or compute a higher one by ``child``."""
        start = (count - 1) & ~self.mask
        self._add_level(start)
        self._first[level] = self.header.front >> level >> self.bits
        if level:
            self.tails[level] = [child(level, index) for index in range(start, count)]
        else:
            place = 0, start >> self.bits
            (blob,) = self._store.get([page_key(*place)])
            self.tails[0] = self._decode(place, blob, count - start)

    def trim(self) -> None:
        """Drop the pages that were read only to load the levels."""
        for level in range(len(self.tails)):
            self._trim(level)

    def verify(self) -> None:
        """Read every whole page. Raises :class:`StoreError` if one is damaged or missing."""
        self._writer.wait()
        for level, first in enumerate(self._first):
            for page in range(first, self.starts[level] >> self.bits):
                if (level, page) not in self._buffer:
                    self._fetch([(level, page)])


class _Stored(MTA):
    """Opening, flushing and closing, which both share."""

    _levels: StoredLevels

    def __init__(
        self, aggregation: Aggregation, store: Store, *, buffer: int = 512, cache: int = 512, trusted: bool = False
    ) -> None:
        if cache < 4 or cache & (cache - 1):
            raise ValueError(f"cache must be a power of 2, at least 4 elements; got {cache!r}")
        if buffer < 1:
            raise ValueError(f"buffer must be at least 1 element; got {buffer!r}")
        header = Header(type(self).__name__.removeprefix("Stored"), repr(aggregation), cache // 2)
        known = _read_header(store, header)
        if known is not None:
            header = Header.from_bytes(known, store.name)
        header = replace(header, owner=token_bytes(8))
        self.store = store
        super().__init__(aggregation, StoredLevels(store, header, known, buffer, trusted))
        self._levels.front = lambda: self._front
        self._front, self._end = header.front, header.end
        if header.end:
            self._open()

    def _open(self) -> None:
        level = 0
        try:
            while (count := self._count(level, self._end)) > 0:
                self._levels.load(level, count, self._element)
                level += 1
            self._renew()
            self._levels.trim()
        except BaseException:
            self._levels.close()
            raise

    def _element(self, level: int, index: int) -> Any:
        """An element that is in no whole page, computed from the level below."""
        if index << level < self._front:
            return None  # it covers evicted values and is never read
        get = self._levels.get
        return self._combine(get(level - 1, 2 * index), get(level - 1, 2 * index + 1))

    def flush(self) -> None:
        """Write everything to the store, safe from a crash of this process and of the store's machine.

        Without it, a crash leaves the window as of some earlier moment. Costs O(buffer) and a write to the store's
        disk.
        """
        self._levels.flush()

    def verify(self) -> None:
        """Read the whole store. Raises :class:`~sash.stores.StoreError` if a page is damaged. O(n)."""
        self._levels.verify()

    @property
    def local(self) -> int:
        """How many partials are in memory, without those being written."""
        return self.partials

    def close(self) -> None:
        """Flush, and close the store."""
        try:
            self.flush()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the store without a flush, as if the process had died."""
        self._levels.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if exception[0] is None:
            self.close()
        else:  # the store may have failed
            self.abandon()


def _read_header(store: Store, wanted: Header) -> bytes | None:
    """The header in a store, None if the store is empty. Raises :class:`StoreError` for another kind of window."""
    (known,) = store.get([HEADER])
    if known is None:
        if next(store.keys(), None) is not None:
            raise StoreError(f"{store.name} does not hold a window; use an empty one")
        return None
    Header.from_bytes(known, store.name).check(wanted, store.name)
    return known


class StoredAMTA(_Stored, AMTA):
    """AMTA whose window is in ``store``: O(log n) partials in memory, the costs in combines are those of AMTA.

    Opens the window that the store holds, if any. A background thread writes after every ``buffer`` elements; each
    level caches its ``cache`` oldest elements, half of them read ahead. ``trusted`` allows partials of users' own
    types, which are pickled: only for stores that nobody else can write to.

    >>> import sash, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with sash.stores.StoredAMTA(sash.Max(), sash.stores.LMDBStore(folder)) as window:
    ...     window.insert_many(range(100_000))
    ...     window.evict_many(60_000)
    >>> window = sash.stores.StoredAMTA(sash.Max(), sash.stores.LMDBStore(folder))
    >>> len(window), window.query(), window.local < 5_000
    (40000, 99999, True)
    >>> window.close()
    """


class StoredLogMTA(_Stored, LogMTA):
    """LogMTA whose window is in ``store``, as :class:`StoredAMTA` is AMTA.

    >>> import sash
    >>> window = StoredLogMTA(sash.Concat(), sash.stores.MemoryStore())
    >>> window.insert_many("abcd"); window.evict(); window.query()
    'b,c,d'
    >>> window.close()
    """
