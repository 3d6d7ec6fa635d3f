"""What a store does: keep pages by key, and change many of them and a header atomically. And the simplest store."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

__all__ = [
    "HEADER",
    "Batch",
    "MemoryStore",
    "Store",
    "StoreAway",
    "StoreDenied",
    "StoreError",
    "apply",
    "import_library",
    "is_committed",
    "page_key",
]

Batch = Mapping[bytes, bytes | None]
"""The values to put by key; None deletes the key."""
HEADER = b"header"
_PAGE = struct.Struct(">cBQ")


class StoreError(Exception):
    """A store is damaged, out of reach, written to by another process, or holds something else."""


class StoreAway(StoreError, ConnectionError):
    """A store does not answer. Flushed data is safe, and calls work again when the store is back."""


class StoreDenied(StoreError):
    """A store does not let us in: a wrong password, or a certificate that cannot be trusted."""


class Store(Protocol):
    """A key-value store. One thread commits while one or two others read."""

    @property
    def name(self) -> str:
        """What and where it is, for error messages."""

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values of the keys, None for a missing one."""

    def commit(self, batch: Batch, header: bytes, before: bytes | None) -> None:
        """Apply the whole batch and put the header, or do nothing.

        Raises :class:`StoreError` unless the store's header is ``before`` (None if it has none): another process has
        written to it. If its header is ``header`` already, an earlier attempt succeeded and only its answer was lost.
        """

    def keys(self) -> Iterator[bytes]:
        """All keys but the header's, pages in the order of level and position."""

    def sync(self) -> None:
        """Make all commits survive a loss of power."""

    def close(self) -> None:
        """Release the store, which keeps all commits."""


def page_key(level: int, page: int) -> bytes:
    """The key of a page. As bytes, keys sort by level and position.

    >>> page_key(0, 300) < page_key(0, 301) < page_key(1, 0)
    True
    """
    return _PAGE.pack(b"p", level, page)


def import_library(name: str) -> Any:
    """Import the client library of a store."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f'this store needs {name}: pip install "sash[stores]"') from error


def is_committed(current: bytes | None, header: bytes, before: bytes | None, name: str) -> bool:
    """Whether ``header`` is committed. Raises :class:`StoreError` if ``current`` is neither it nor ``before``."""
    if current not in (header, before):
        raise StoreError(
            f"{name} is not as this window left it: another process has written to it, or it has lost what was "
            "written. A store holds one window, of one process at a time; open it again to go on from what it holds"
        )
    return current == header


def apply(batch: Batch, header: bytes, put: Callable[[bytes, bytes], Any], delete: Callable[[bytes], Any]) -> None:
    """Put and delete the keys of a batch, and put the header last."""
    for key, value in {**batch, HEADER: header}.items():
        if value is None:
            delete(key)
        else:
            put(key, value)


class MemoryStore:
    """Pages in a dict, for tests and experiments. A window can be opened again while the object exists.

    >>> store = MemoryStore()
    >>> store.commit({b"a": b"1", b"b": b"2"}, b"first", None)
    >>> store.commit({b"a": None}, b"second", b"first"); store.get([b"a", b"b"])
    [None, b'2']
    """

    name = "the store in memory"

    def __init__(self) -> None:
        self._values: dict[bytes, bytes] = {}

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self._values.get(key) for key in keys]

    def commit(self, batch: Batch, header: bytes, before: bytes | None) -> None:
        if is_committed(self._values.get(HEADER), header, before, self.name):
            return
        apply(batch, header, self._values.__setitem__, lambda key: self._values.pop(key, None))

    def keys(self) -> Iterator[bytes]:
        return iter(sorted(key for key in self._values if key != HEADER))

    def sync(self) -> None:
        pass

    def close(self) -> None:
        pass
