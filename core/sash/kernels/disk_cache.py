"""Compiled code on disk, in the user's cache folder: another process loads it in milliseconds.

The name of a file is a digest of everything that the code was made of (:func:`digest_of`), so it is never out of date.
Functions of one digest share their compiled code, in memory too. It covers the code, constants, defaults and closure of
a function, the global names that it reads, and the functions that it calls. A function that depends on anything else,
such as a mutable object, has no digest and shares nothing.

A file holds machine code, so it is loaded only if the user or root owns it, nobody else can write to it, and its
content has the digest that it begins with. One that is damaged, cut short or not ours is replaced.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

__all__ = ["DiskCache", "digest_of", "is_on_disk"]

_MAGIC = b"sash kernel 2\n"
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
            processor, known, parts = pickle.loads(content)  # nosec B301  # _read refuses files of other users
            # the folder may be shared with another machine
            same = (processor, known) == (target.codegen().magic_tuple(), signature)
            return CompileResult._rebuild(target, *parts) if same else None
        except Exception:
            # Unpickling runs what the file refers to, such as a module that is gone or has changed, so it may raise
            # anything. A file that cannot be loaded is compiled again.
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


_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
_STABLE = ("math", "cmath", "operator", "numpy", "builtins")  # modules whose content does not change


class _Opaque(Exception):
    """Something of which two with one name may differ."""


def digest_of(*parts: Any) -> str | None:
    """The digest of values and functions; None if one of them has none. O(the code that they reach).

    >>> digest_of(lambda a, b: a + b) == digest_of(lambda a, b: a + b) != digest_of(lambda a, b: a - b)
    True
    >>> digest_of(lambda a, settings=[]: settings) is None
    True
    """
    try:
        content = repr([_versions(), *(_content(part, set()) for part in parts)])
    except _Opaque:
        return None
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


@cache
def _versions() -> tuple[str, ...]:
    return (sys.version, np.__version__, version("numba"), version("llvmlite"))


def _content(value: Any, seen: set[int]) -> Any:
    if isinstance(value, _PLAIN):
        return (type(value).__name__, repr(value))
    if isinstance(value, np.generic):
        return (value.dtype.str, value.tobytes())
    if isinstance(value, tuple | frozenset):
        parts = [_content(part, seen) for part in value]
        return (type(value).__name__, parts if isinstance(value, tuple) else sorted(map(repr, parts)))
    if isinstance(value, type | BuiltinFunctionType | np.ufunc):
        return ("name", getattr(value, "__module__", ""), getattr(value, "__qualname__", value.__name__))
    function = getattr(value, "py_func", value)  # of one that Numba has compiled
    if isinstance(function, FunctionType):
        return _function(function, seen)
    raise _Opaque


def _function(function: Callable[..., Any], seen: set[int]) -> Any:
    assert isinstance(function, FunctionType)
    if id(function) in seen:
        return "again"
    seen.add(id(function))
    closure = [_content(cell.cell_contents, seen) for cell in function.__closure__ or ()]
    defaults = [_content(value, seen) for value in function.__defaults__ or ()]
    if function.__kwdefaults__:
        raise _Opaque
    # compiled code refers to its module by name
    return [function.__module__, _code(function.__code__, function.__globals__, seen), closure, defaults]


def _code(code: CodeType, names: Mapping[str, Any], seen: set[int]) -> list[Any]:
    constants = [
        _code(value, names, seen) if isinstance(value, CodeType) else _content(value, seen) for value in code.co_consts
    ]
    read = [(name, *_named(names[name], code, seen)) for name in code.co_names if name in names]
    shape = (code.co_argcount, code.co_flags, code.co_names, code.co_nlocals, code.co_freevars, code.co_cellvars)
    return [code.co_code.hex(), code.co_exceptiontable.hex(), shape, constants, read]


def _named(value: Any, code: CodeType, seen: set[int]) -> Iterator[Any]:
    """What a global name stands for; of a module, those of its names that the code may read."""
    if not isinstance(value, ModuleType):
        yield _content(value, seen)
        return
    yield value.__name__
    if value.__name__.partition(".")[0] not in _STABLE:
        for name in code.co_names:
            if hasattr(value, name):
                yield from _named(getattr(value, name), code, seen)
