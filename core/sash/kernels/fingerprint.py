"""What a function does, as a digest: functions of one digest share their compiled code, in memory and on disk.

It covers the code, constants, defaults and closure of a function, the global names that it reads, and the functions
that it calls. A function that depends on anything else, such as a mutable object, has no digest and shares nothing.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.metadata import version
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

__all__ = ["digest_of"]

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
