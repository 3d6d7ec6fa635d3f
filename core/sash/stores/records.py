"""The records of a stored window, pages of elements and a header that lists them, and the thread that writes them.

    header        algorithm, aggregation, page size, front, end, swept: the window is the positions front … end - 1;
                  pages before swept are deleted
    page          level, number, and the elements as columns: the elements number·size … of that level

Both are envelopes as in saved states (docs/state.md), with a checksum. A commit writes whole pages, a header, and the
leaves after the last whole page. Elements of higher levels that are in no whole page are recomputed from the level
below when a window is opened.

A thread commits in the background, in order. Batches that arrive while a commit runs go into the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from threading import Condition, Thread
from time import monotonic
from typing import Any

from sash.state.snapshot_format import StateError, column_parts, open_sections, read_column, seal
from sash.state.values import dumps, loads
from sash.stores.base import Store, StoreAway, StoreError, page_key
from sash.values.columns import PartialColumn

__all__ = ["BackgroundWriter", "Header", "PendingBatch", "Place", "read_page"]

Place = tuple[int, int]
"""A page's level and number."""

_PAGE, _HEADER = 16, 17
"""Kinds of envelopes; saved states have the numbers below."""


@dataclass(frozen=True)
class Header:
    """Which pages make up the window. ``owner`` and ``number`` make every header unique."""

    algorithm: str
    aggregation: str
    page: int
    front: int = 0
    end: int = 0
    swept: int = 0
    number: int = 0
    owner: bytes = b""
    """Random, drawn when the store is opened."""

    def to_bytes(self) -> bytes:
        """The bytes of the header. O(1)."""
        return seal(_HEADER, [dumps(asdict(self))])

    @staticmethod
    def from_bytes(data: bytes, name: str) -> Header:
        """The inverse of :meth:`to_bytes`. Raises :class:`StoreError` for other or damaged bytes."""
        try:
            header = Header(**loads(open_sections(data, _HEADER, 1)[0]))
        except (StateError, TypeError, ValueError) as error:
            raise StoreError(f"{name} does not hold a window, or is damaged: {error}") from error
        if not 0 <= header.swept <= header.front <= header.end:
            raise StoreError(f"{name} is damaged: its header says that the window ends before it begins")
        return header

    def check(self, wanted: Header, name: str) -> None:
        """Raise :class:`StoreError` if the header belongs to another kind of window."""
        for option in ("algorithm", "aggregation", "page"):
            stored, expected = getattr(self, option), getattr(wanted, option)
            if stored != expected:
                what = "cache, which must be twice" if option == "page" else option
                raise StoreError(f"{name} holds a window with another {what}: {stored}, not {expected}")


def write_page(level: int, page: int, elements: list[Any], trusted: bool) -> bytes:
    """The bytes of a page. O(elements)."""
    return seal(_PAGE, [dumps((level, page, column_parts(PartialColumn.of(elements))), trusted)])


def read_page(level: int, page: int, data: bytes | None, size: int, name: str, trusted: bool) -> list[Any]:
    """The ``size`` elements of a page. Raises :class:`StoreError` if it is missing, damaged or another page."""
    where = f"page {page} of level {level}"
    if data is None:
        raise StoreError(f"{name} is damaged: {where} is missing")
    try:
        *place, column = loads(open_sections(data, _PAGE, 1)[0], trusted)
        elements = read_column(column).to_list()
    except (StateError, TypeError, ValueError) as error:
        raise StoreError(f"{name} is damaged: {where} cannot be read: {error}") from error
    if (*place, len(elements)) != (level, page, size):
        raise StoreError(f"{name} is damaged: {where} does not match, or is incomplete")
    return elements


@dataclass
class PendingBatch:
    """A batch to write: pages of elements, pages to delete, and the header that follows them."""

    header: Header
    pages: dict[Place, list[Any]] = field(default_factory=dict)
    deleted: set[Place] = field(default_factory=set)


class BackgroundWriter:
    """A thread that commits to ``store``, whose header is ``known``.

    A failed commit is retried when someone waits for it, not before. Nothing is lost meanwhile.
    """

    def __init__(self, store: Store, known: bytes | None, patience: float, trusted: bool) -> None:
        self._store, self._known, self._patience, self._trusted = store, known, patience, trusted
        self._waiting: list[PendingBatch] = []
        self._tried = 0  # how many of them a failed commit had: it may have succeeded, so exactly those are repeated
        self._error: Exception | None = None
        self._closed = False
        self._changed = Condition()
        self._thread = Thread(target=self._run, name="sash-store-writer", daemon=True)
        self._thread.start()

    def put(self, batch: PendingBatch) -> None:
        """Queue a batch. Neither waits nor fails."""
        with self._changed:
            self._waiting.append(batch)
            self._changed.notify_all()

    def find(self, place: Place) -> list[Any] | None:
        """A page that may not be in the store yet; None if it is not queued."""
        with self._changed:
            return next((batch.pages[place] for batch in reversed(self._waiting) if place in batch.pages), None)

    def wait(self, most: int = 0) -> None:
        """Wait until at most ``most`` batches are queued. Raises the store's error if a commit fails again."""
        with self._changed:
            if len(self._waiting) <= most:
                return
            self._error = None
            self._changed.notify_all()
            self._wait_until(lambda: len(self._waiting) <= most or self._error is not None)
            if self._error is not None:
                raise self._error

    def _wait_until(self, done: Callable[[], bool]) -> None:
        deadline = monotonic() + self._patience
        while not done():
            left = deadline - monotonic()
            if left <= 0:
                raise StoreAway(f"{self._store.name} has not answered for {self._patience:g} seconds")
            self._changed.wait(left)

    def close(self) -> None:
        """Stop the thread; what is still queued is not written."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(self._patience)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or (self._waiting and self._error is None))
                if self._closed:
                    return
                batches = self._waiting[: self._tried or len(self._waiting)]
            try:
                self._commit(batches)
            except Exception as error:  # raised by `wait`
                with self._changed:
                    self._error, self._tried = error, len(batches)
                    self._changed.notify_all()
            else:
                with self._changed:
                    self._tried = 0
                    del self._waiting[: len(batches)]
                    self._changed.notify_all()

    def _commit(self, batches: list[PendingBatch]) -> None:
        changes: dict[bytes, bytes | None] = {}
        for batch in batches:
            for place, elements in batch.pages.items():
                changes[page_key(*place)] = write_page(*place, elements, self._trusted)
            changes |= {page_key(*place): None for place in batch.deleted}
        header = batches[-1].header.to_bytes()
        self._store.commit(changes, header, self._known)
        self._known = header
