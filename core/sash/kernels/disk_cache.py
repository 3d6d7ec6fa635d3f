"""Compiled code on disk, in the user's cache folder: another process loads it in milliseconds.

The name of a file is a digest of everything that the code was made of (:mod:`sash.kernels.fingerprint`), so it is never
out of date. A file holds machine code, so it is loaded only if the user or root owns it, nobody else can write to it,
and its content has the digest that it begins with. One that is damaged, cut short or not ours is replaced.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

__all__ = ["DiskCache", "is_on_disk"]

_MAGIC = b"sash kernel 1\n"
_DIGEST = 32


def _path(digest: str) -> Path:
    return _folder() / f"{digest}.kernel"


def is_on_disk(digest: str) -> bool:
    """Whether there is a file of this name. Whether it can be loaded shows when it is."""
    return _path(digest).exists()


class DiskCache:
    """The part of Numba's cache that a dispatcher calls: for a function and one signature, which the digest names."""

    cache_path = ""

    def __init__(self, digest: str) -> None:
        self._path = _path(digest)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """What was compiled by a process before, or None."""
        content = _read(self._path)
        if content is None:
            return None
        from numba.core.compiler import CompileResult

        target.refresh()
        try:
            processor, known, parts = pickle.loads(content)
            # the folder may be shared with another machine
            same = (processor, known) == (target.codegen().magic_tuple(), signature)
            return CompileResult._rebuild(target, *parts) if same else None
        except Exception:  # such as a module that it refers to and that is gone: it is compiled again
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep what has been compiled; a folder that cannot be written to does not matter."""
        from numba.core.serialize import dumps

        if compiled.lifted or compiled.library.has_dynamic_globals:
            return
        _write(self._path, dumps((compiled.codegen.magic_tuple(), signature, compiled._reduce())))


def _read(path: Path) -> bytes | None:
    """The content of a file that is whole and nobody else's."""
    try:
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
            if not _is_ours(os.fstat(file.fileno())):
                return None
            data = file.read()
    except OSError:
        return None
    content = data[len(_MAGIC) + _DIGEST :]
    head = _MAGIC + hashlib.blake2b(content, digest_size=_DIGEST).digest()
    return content if data.startswith(head) else None


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all, also when two processes write it."""
    try:
        handle, scratch = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            os.chmod(scratch, 0o644)  # what root has compiled for an image, others load
            file.write(_MAGIC + hashlib.blake2b(content, digest_size=_DIGEST).digest() + content)
        os.replace(scratch, path)
    except OSError:
        return


def _is_ours(status: os.stat_result) -> bool:
    if not hasattr(os, "geteuid"):  # Windows keeps users' folders apart itself
        return True
    return status.st_uid in (os.geteuid(), 0) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@lru_cache(maxsize=1)
def _folder() -> Path:
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(base) / "sash"
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        if _is_ours(folder.stat()):
            return folder
    except OSError:  # a read-only home, as workers of a cluster may have
        pass
    return Path(tempfile.mkdtemp(prefix="sash-"))
