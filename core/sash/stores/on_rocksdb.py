"""RocksDB: a store in a folder of this machine, made for heavy writing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from os import PathLike, fspath
from typing import Any

from sash.stores.base import HEADER, Batch, StoreError, apply, import_library, is_committed

__all__ = ["RocksDBStore"]


class RocksDBStore:
    """A folder. A commit is in the log before the next begins, and on disk after ``sync``.

    A crash of the process loses no commits, a crash of the machine none that were synced.

    >>> import tempfile
    >>> store = RocksDBStore(tempfile.mkdtemp())
    >>> store.commit({b"a": b"1"}, b"first", None); store.get([b"a", b"b"])
    [b'1', None]
    >>> store.close()
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._library = import_library("rocksdict")
        self._path = fspath(path)
        self.name = f"the RocksDB store in {self._path!r}"
        self._closed = self._library.DbClosedError
        options = self._library.Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_write_buffer_size(8 << 20)  # at most twice that is in memory
        options.set_max_write_buffer_number(2)
        with self._naming():
            self._db: Any = self._library.Rdict(self._path, options)

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Raise the library's errors as a :class:`StoreError` that names the store."""
        try:
            yield
        except StoreError:
            raise
        except self._closed as error:
            raise StoreError(f"{self.name} is closed") from error
        except Exception as error:  # rocksdict has no type for errors of RocksDB
            if type(error) is not Exception and not isinstance(error, OSError):
                raise
            raise StoreError(f"{self.name} cannot be used: {error}") from error

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        with self._naming():
            values: list[bytes | None] = self._db.get(list(keys))
        return values

    def commit(self, batch: Batch, header: bytes, before: bytes | None) -> None:
        with self._naming():
            if is_committed(self._db.get(HEADER), header, before, self.name):
                return
            writes = self._library.WriteBatch(raw_mode=True)
            apply(batch, header, writes.put, writes.delete)
            self._db.write(writes)

    def keys(self) -> Iterator[bytes]:
        with self._naming():
            return iter([key for key in self._db.keys() if key != HEADER])  # noqa: SIM118  # it is not a dict

    def sync(self) -> None:
        with self._naming():
            self._db.flush_wal(True)

    def close(self) -> None:
        with self._naming(), suppress(self._closed):
            self._db.close()
