"""What a store has to do: keep pages by key, and change many of them together with a header, or none."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

__all__ = ["HEADER", "Batch", "Store", "StoreAway", "StoreError", "conflict", "library", "page_key"]

Batch = Mapping[bytes, bytes | None]
"""What is put, and, where it is None, deleted."""
HEADER = b"header"
_PAGE = struct.Struct(">cBQ")


class StoreError(Exception):
    """A store that cannot be used: damaged, of something else, written to by another process, or out of reach."""


class StoreAway(StoreError, ConnectionError):
    """A store that does not answer. What was flushed is safe; calls go on when it is back."""


class Store(Protocol):
    """A key-value store. It is used by two threads: one commits, one or two get."""

    @property
    def name(self) -> str:
        """What and where it is, for messages."""

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values of keys, None where there is none."""

    def commit(self, batch: Batch, header: bytes, before: bytes | None) -> None:
        """Do all of a batch and put the header, or do nothing.

        ``before`` is the header that is there, None if there is none; if it is another one, someone else has written: a
        :class:`StoreError`. If ``header`` itself is there it has been done before, and only the answer was lost.
        """

    def keys(self) -> Iterator[bytes]:
        """All keys but the header's: of pages in the order of level and position."""

    def sync(self) -> None:
        """Have all that was committed survive a loss of power too."""

    def close(self) -> None:
        """Let go of it. What was committed stays."""


def page_key(level: int, page: int) -> bytes:
    """The key of a page: sorted as bytes, keys are in the order of level and position.

    >>> page_key(0, 300) < page_key(0, 301) < page_key(1, 0)
    True
    """
    return _PAGE.pack(b"p", level, page)


def library(name: str) -> Any:
    """The package that a store is reached by."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f'this store needs {name}: pip install "sash[stores]"') from error


def conflict(name: str) -> StoreError:
    """The error of a commit that finds another header than it knows."""
    return StoreError(
        f"{name} is not as this window left it: another process has written to it, or it has lost what was written. "
        "A store holds one window, of one process at a time; open it again to go on from what it holds"
    )
