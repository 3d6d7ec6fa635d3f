"""The store that is a dict: for trying things out, and for tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sash.stores.base import HEADER, Batch, conflict

__all__ = ["MemoryStore"]


class MemoryStore:
    """Pages as bytes in this process's memory. It can be opened again as long as it is there.

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
        current = self._values.get(HEADER)
        if current == header:
            return
        if current != before:
            raise conflict(self.name)
        for key, value in batch.items():
            if value is None:
                self._values.pop(key, None)
            else:
                self._values[key] = value
        self._values[HEADER] = header

    def keys(self) -> Iterator[bytes]:
        return iter(sorted(key for key in self._values if key != HEADER))

    def sync(self) -> None:
        pass

    def close(self) -> None:
        pass
