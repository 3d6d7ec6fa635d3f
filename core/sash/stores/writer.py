"""Writes batches in the background, in order; what has come while one was written goes together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Condition, Thread
from time import monotonic
from typing import Any

from sash.stores.base import Batch, Store, StoreAway, page_key
from sash.stores.records import Header, written_page

__all__ = ["Waiting", "Writer"]

Place = tuple[int, int]
"""A page's level and number."""


@dataclass
class Waiting:
    """A batch that has not been written: pages of elements, places of pages to delete, the header behind them."""

    header: Header
    pages: dict[Place, list[Any]] = field(default_factory=dict)
    gone: set[Place] = field(default_factory=set)


class Writer:
    """A thread that commits to ``store``. ``known`` is the header that is there now.

    A commit that fails is tried again when someone waits for it, not before; nothing is lost in between.
    """

    def __init__(self, store: Store, known: bytes | None, patience: float, trusted: bool) -> None:
        self._store, self._known, self._patience, self._trusted = store, known, patience, trusted
        self._waiting: list[Waiting] = []
        self._tried = 0  # how many of them the commit was of that failed: it may have been done, so it is repeated
        self._error: Exception | None = None
        self._closed = False
        self._changed = Condition()
        self._thread = Thread(target=self._run, name="sash-store-writer", daemon=True)
        self._thread.start()

    def put(self, batch: Waiting) -> None:
        """Have a batch written. Does not wait, and does not fail."""
        with self._changed:
            self._waiting.append(batch)
            self._changed.notify_all()

    def find(self, place: Place) -> list[Any] | None:
        """A page that may not be in the store yet."""
        with self._changed:
            return next((each.pages[place] for each in reversed(self._waiting) if place in each.pages), None)

    def wait(self, most: int = 0) -> None:
        """Until at most ``most`` batches wait; an error of the store is raised if it is one once more."""
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
        """End the thread; what still waits is not written."""
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
            except Exception as error:  # whatever it is, it is told to who waits
                with self._changed:
                    self._error, self._tried = error, len(batches)
                    self._changed.notify_all()
            else:
                with self._changed:
                    self._tried = 0
                    del self._waiting[: len(batches)]
                    self._changed.notify_all()

    def _commit(self, batches: list[Waiting]) -> None:
        together: dict[bytes, bytes | None] = {}
        for batch in batches:
            for (level, page), elements in batch.pages.items():
                together[page_key(level, page)] = written_page(level, page, elements, self._trusted)
            together.update(dict.fromkeys((page_key(level, page) for level, page in batch.gone), None))
        header = batches[-1].header.to_bytes()
        whole: Batch = together
        self._store.commit(whole, header, self._known)
        self._known = header
