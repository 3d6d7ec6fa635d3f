"""RocksDB: a store in a folder of this machine, made for writing much."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from os import PathLike, fspath
from typing import Any

from sash.stores.base import HEADER, Batch, StoreError, conflict, library

__all__ = ["RocksDBStore"]


class RocksDBStore:
    """A folder. A commit is in the log before the next begins, and on disk after ``sync``.

    A crash of the process loses nothing that was committed, one of the machine nothing that was synced.

    >>> import tempfile
    >>> store = RocksDBStore(tempfile.mkdtemp())
    >>> store.commit({b"a": b"1"}, b"first", None); store.get([b"a", b"b"])
    [b'1', None]
    >>> store.close()
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._library = library("rocksdict")
        self._path = fspath(path)
        self._closed = self._library.DbClosedError
        options = self._library.Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_write_buffer_size(8 << 20)  # twice of that at most is in memory
        options.set_max_write_buffer_number(2)
        with self._named():
            self._db: Any = self._library.Rdict(self._path, options)

    @property
    def name(self) -> str:
        return f"the RocksDB store in {self._path!r}"

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except StoreError:
            raise
        except self._closed as error:
            raise StoreError(f"{self.name} is closed") from error
        except Exception as error:  # rocksdict has no type for what RocksDB reports
            if type(error) is not Exception and not isinstance(error, OSError):
                raise
            raise StoreError(f"{self.name} cannot be used: {error}") from error

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        with self._named():
            values: list[bytes | None] = self._db.get(list(keys))
        return values

    def commit(self, batch: Batch, header: bytes, before: bytes | None) -> None:
        with self._named():
            current = self._db.get(HEADER)
            if current == header:
                return
            if current != before:
                raise conflict(self.name)
            together = self._library.WriteBatch(raw_mode=True)
            for key, value in batch.items():
                if value is None:
                    together.delete(key)
                else:
                    together.put(key, value)
            together.put(HEADER, header)
            self._db.write(together)

    def keys(self) -> Iterator[bytes]:
        with self._named():
            found = [key for key in self._db.keys() if key != HEADER]  # noqa: SIM118  # it is not a dict
        return iter(found)

    def sync(self) -> None:
        with self._named():
            self._db.flush_wal(True)

    def close(self) -> None:
        with suppress(self._closed):
            self._db.close()
