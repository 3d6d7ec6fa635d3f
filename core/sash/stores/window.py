"""Log MTA and AMTA over a store: windows larger than memory that survive their process."""

from __future__ import annotations

from dataclasses import replace
from secrets import token_bytes
from typing import Any, Self

from sash.aggregations.base import Aggregation
from sash.aggregators.mta import MTA
from sash.aggregators.mta.amta import AMTA
from sash.aggregators.mta.log_mta import LogMTA
from sash.stores.base import HEADER, Store, StoreError
from sash.stores.levels import StoredLevels
from sash.stores.records import Header

__all__ = ["StoredAMTA", "StoredLogMTA"]


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
            raise StoreError(f"{store.name} holds something else than a window; give it an empty one")
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
