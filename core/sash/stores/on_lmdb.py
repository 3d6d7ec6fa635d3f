"""LMDB: a store in a folder of this machine, read through a memory map. The default for windows larger than memory.

LMDB trusts the meta pages of its file. If they count a page that the file lacks, LMDB raises no error: touching the
page kills the process with SIGBUS. So Sash measures the file before LMDB maps it. The file starts with two meta pages;
the one with the greater transaction number is valid:

    | meta 0 | meta 1 | page 2 | page 3 | … | last page |

A whole file may end before its last page: LMDB does not write pages that a transaction takes and frees again. LMDB's
list of free pages, a B+ tree of its own, names them. It is read only if the file looks too short.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from os.path import join
from threading import RLock
from typing import Any, BinaryIO, NamedTuple

from sash.stores.base import HEADER, Batch, StoreError, apply, import_library, is_committed

__all__ = ["LMDBStore"]

_REMAP_AFTER = 1 << 25
"""Bytes read or written."""
_MAGIC = 0xBEEFC0DE
_HEAD = struct.Struct("@NHHHH")
"""A page: its number, padding, flags, and the ends of its free space; the last two are a count in overflow pages."""
_TREE = "IHHNNNNN"
_META = struct.Struct(f"@IIPN{_TREE}{_TREE}NN")
_MAGIC_AT, _PAGE_SIZE_AT, _FREE_ROOT_AT, _LAST_PAGE_AT, _TRANSACTION_AT = 0, 4, 11, 20, 21
_NODE = struct.Struct("@IHH")
_WORD = struct.Struct("@N")
_BRANCH, _LEAF, _BIG = 0x01, 0x02, 0x01
_NO_PAGE = (1 << 8 * _WORD.size) - 1
_PAGE_SIZES = [1 << power for power in range(8, 17)]


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
            if (wrong := _damage(join(self._path, "data.mdb"))) is not None:
                raise StoreError(
                    f"{self.name} cannot be used: data.mdb {wrong}; restore it from a copy, or delete the folder "
                    "to start with an empty store"
                )
            self._env: Any = lmdb.open(self._path, map_size=size, sync=sync, metasync=False, readahead=False)
            self._env.reader_check()  # a killed reader would keep its version of all pages for ever

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
        """Map the file again from time to time, so that pages once read do not count as memory of this process."""
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


class _Meta(NamedTuple):
    transaction: int
    page_size: int
    last_page: int
    free_root: int


class _Damaged(Exception):
    """What is wrong, as the end of a sentence about the file."""


def _damage(path: str) -> str | None:
    """What is wrong with an LMDB file, as the end of a sentence about it; None if mapping it is safe.

    A missing file is not damaged. A file of another kind is left to LMDB, which refuses it.
    """
    try:
        with open(path, "rb") as file:
            _check_file(file)
    except _Damaged as error:
        return str(error)
    except FileNotFoundError:
        pass
    return None


def _check_file(file: BinaryIO) -> None:
    meta = _newest_meta(file)
    if meta is None:
        return
    size = os.fstat(file.fileno()).st_size  # after the meta pages: another process may write
    first_missing, end = size // meta.page_size, meta.last_page + 1
    if first_missing >= end:
        return
    try:
        free = set(_free_pages(file, meta))
    except (_Damaged, struct.error):
        free = set()
    if end - first_missing > len(free) or any(page not in free for page in range(first_missing, end)):
        raise _Damaged(f"was cut short: it has {size} bytes of {end * meta.page_size}")


def _newest_meta(file: BinaryIO) -> _Meta | None:
    """The valid meta page; None if this is not an LMDB file."""
    first = _meta(file, 0)
    if first is None:
        return None
    second = _meta(file, first.page_size)
    return None if second is None else max(first, second)


def _meta(file: BinaryIO, at: int) -> _Meta | None:
    file.seek(at)
    content = file.read(_HEAD.size + _META.size)
    magic = content[_HEAD.size :][:4]
    if len(magic) == 4 and magic != struct.pack("@I", _MAGIC):
        return None
    if len(content) < _HEAD.size + _META.size:
        raise _Damaged(f"was cut short: it has only {at + len(content)} bytes")
    fields = _META.unpack_from(content, _HEAD.size)
    if fields[_PAGE_SIZE_AT] not in _PAGE_SIZES:
        raise _Damaged(f"is damaged: its pages cannot have {fields[_PAGE_SIZE_AT]} bytes")
    return _Meta(fields[_TRANSACTION_AT], fields[_PAGE_SIZE_AT], fields[_LAST_PAGE_AT], fields[_FREE_ROOT_AT])


def _free_pages(file: BinaryIO, meta: _Meta) -> Iterator[int]:
    """The numbers of the free pages. Raises :class:`_Damaged` or ``struct.error`` if their list is not whole."""
    unread = [] if meta.free_root == _NO_PAGE else [meta.free_root]
    read = set[int]()
    while unread:
        number = unread.pop()
        if number in read:
            raise _Damaged("has a list of free pages that goes round in circles")
        read.add(number)
        page = _read(file, number * meta.page_size, meta.page_size)
        _, _, flags, lower, _ = _HEAD.unpack_from(page)
        for place in range(_HEAD.size, lower, 2):
            (at,) = struct.unpack_from("@H", page, place)
            size, node_flags, key_size = _NODE.unpack_from(page, at)
            if flags & _BRANCH:
                unread.append(size | node_flags << 32 if _WORD.size == 8 else size)
            elif flags & _LEAF:
                start = at + _NODE.size + key_size
                data = page[start : start + size]
                if node_flags & _BIG:
                    (overflow,) = _WORD.unpack_from(page, start)
                    data = _read(file, overflow * meta.page_size + _HEAD.size, size)
                yield from struct.unpack_from(f"@{_WORD.unpack_from(data)[0]}N", data, _WORD.size)
            else:
                raise _Damaged("has a list of free pages with a page of another kind")


def _read(file: BinaryIO, at: int, length: int) -> bytes:
    if at >= os.fstat(file.fileno()).st_size:
        raise _Damaged("has a list of free pages that leads out of it")
    file.seek(at)
    return file.read(length)
