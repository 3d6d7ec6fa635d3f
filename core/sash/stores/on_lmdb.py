"""LMDB: a store in a folder of this machine, read through a memory map. The default for windows larger than memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from os.path import join
from threading import RLock
from typing import Any

from sash.stores.base import HEADER, Batch, StoreError, apply, import_library, is_committed
from sash.stores.lmdb_file import damage

__all__ = ["LMDBStore"]

_REMAP_AFTER = 1 << 25
"""Bytes read or written. The parts of the map that were touched count as memory of this process."""


class LMDBStore:
    """A folder. ``size`` is the most it may grow to: address space only, the file is as large as its content.

    Each commit is on disk before the next begins. With ``sync=False`` a crash of the machine, not one of the process,
    may damage what was not flushed.

    >>> import tempfile
    >>> store = LMDBStore(tempfile.mkdtemp())
    >>> store.commit({b"a": b"1"}, b"first", None); store.get([b"a", b"b"])
    [b'1', None]
    >>> store.close()
    """

    def __init__(self, path: str | PathLike[str], *, size: int = 1 << 40, sync: bool = True) -> None:
        lmdb = import_library("lmdb")
        self._path = fspath(path)
        self.name = f"the LMDB store in {self._path!r}"
        self._size = size
        self._errors = lmdb.Error
        self._lock = RLock()
        self._moved = 0
        with self._naming():
            if (wrong := damage(join(self._path, "data.mdb"))) is not None:
                raise StoreError(
                    f"{self.name} cannot be used: data.mdb {wrong}; restore it from a copy, or delete the folder "
                    "to start with an empty store"
                )
            self._env: Any = lmdb.open(self._path, map_size=size, sync=sync, metasync=False, readahead=False)
            self._env.reader_check()  # a reader that was killed would keep its version of all pages for ever

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Raise the library's errors as a :class:`StoreError` that names the store."""
        try:
            yield
        except self._errors as error:
            raise StoreError(f"{self.name} cannot be used: {error}") from error
        except OSError as error:
            raise StoreError(f"{self.name} cannot be opened: {error}") from error

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        with self._lock, self._naming():
            with self._env.begin() as txn:
                values: list[bytes | None] = [txn.get(key) for key in keys]
            self._remap(values)
        return values

    def _remap(self, values: Iterable[bytes | None]) -> None:
        """Map the file again now and then, so that pages that were read do not stay in this process's memory."""
        self._moved += sum(len(value) for value in values if value is not None)
        if self._moved > _REMAP_AFTER:
            self._moved = 0
            self._env.set_mapsize(self._size)

    def commit(self, batch: Batch, header: bytes, before: bytes | None) -> None:
        with self._lock, self._naming():
            with self._env.begin(write=True) as txn:
                if is_committed(txn.get(HEADER), header, before, self.name):
                    return
                apply(batch, header, txn.put, txn.delete)
            self._remap(batch.values())

    def keys(self) -> Iterator[bytes]:
        with self._lock, self._naming(), self._env.begin() as txn:
            return iter([bytes(key) for key in txn.cursor().iternext(values=False) if key != HEADER])

    def sync(self) -> None:
        with self._naming():
            self._env.sync(True)

    def close(self) -> None:
        with self._lock:
            self._env.close()
