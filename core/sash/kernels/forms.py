"""An aggregation made ready for columns of given types: its kernels, and the arrays that they work on.

The kernels of built-in aggregations are written to a file in the user's cache folder and compiled with Numba's cache
on, so that another process loads them in milliseconds. Its name tells its content, so it is never out of date.
"""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np

from sash.aggregations.base import Aggregation, Functions
from sash.kernels.compiling import NotCompilable, jitted, partial_type, returned
from sash.kernels.source import leaves, real, rolling_source

__all__ = ["Form", "form_of"]

types: Any = numba.core.types

_ROLES = ("lift", "combine", "lower")
_stagger = itertools.count()


@dataclass(frozen=True)
class Form:
    """The kernels of one aggregation for columns of one set of types."""

    kernels: Any
    partial: tuple[np.dtype[Any], ...]
    result: tuple[np.dtype[Any], ...]
    guarded: bool
    """Whether the last array of a result tells which are out of range."""
    nullable: bool
    """Whether a result may be null."""
    cached: bool
    """Whether what was compiled is kept on disk."""
    seconds: float
    """What making it took."""

    def arrays(self, size: int) -> tuple[np.ndarray[Any, Any], ...]:
        """Room for ``size`` partials.

        Each array begins at another place in a page: arrays of a power of two of bytes, all read and written at one
        position, would else share a few lines of the cache and drive each other out.
        """
        begins = [(next(_stagger) * 5 % 56 + 1) * 64 // dtype.itemsize for dtype in self.partial]
        return tuple(np.zeros(begin + size, dtype)[begin:] for begin, dtype in zip(begins, self.partial, strict=True))

    @property
    def partial_bytes(self) -> int:
        """The size of a partial."""
        return sum(dtype.itemsize for dtype in self.partial)


@lru_cache(maxsize=256)
def form_of(aggregation: Aggregation, dtypes: tuple[np.dtype[Any], ...], masked: bool, clean: bool) -> Form:
    """The form of ``aggregation`` for columns of ``dtypes``; ``masked``: with nulls, ``clean``: without NaN."""
    begin = time.perf_counter()
    functions = aggregation.columnar(dtypes[0].kind, clean)
    inputs = tuple(numba.from_dtype(dtype) for dtype in dtypes)
    paired = aggregation.arity > 1 and aggregation._lifts_rows
    arguments = (types.Tuple(inputs),) if paired else inputs
    lift, combine, lower = jitted(functions.lift), jitted(functions.combine), jitted(functions.lower)
    partial = partial_type(lift, combine, arguments)
    result = returned(lower, (partial,))
    module = _module(functions, len(inputs), paired, partial, result, masked)
    dtypes_of = [numba.np.numpy_support.as_dtype(kind) for _, kind in _numbers(partial)]
    valid = [np.dtype(np.bool_)] if masked else []
    results = tuple(numba.np.numpy_support.as_dtype(number) for _, number in _numbers(real(result)))
    cached = _is_own(functions)
    return Form(
        module,
        tuple(valid + dtypes_of),
        results,
        functions.guarded,
        _nullable(result, masked),
        cached,
        time.perf_counter() - begin,
    )


def _numbers(kind: Any) -> list[tuple[str, Any]]:
    numbers = list(leaves(kind))
    if not all(isinstance(number, types.Number | types.Boolean) for _, number in numbers):
        raise NotCompilable(f"{kind} is not made of numbers only")
    return numbers


def _nullable(result: Any, masked: bool) -> bool:
    return masked or isinstance(result, types.Optional)


def _is_own(functions: Functions) -> bool:
    return all(getattr(function, "__module__", "").startswith("sash.") for function in functions[:3])


def _module(functions: Functions, columns: int, paired: bool, partial: Any, result: Any, masked: bool) -> ModuleType:
    own = _is_own(functions)
    nested = types.Tuple([types.boolean, partial]) if masked else partial
    source = _head(functions, columns, paired, masked, own) + rolling_source(
        columns + masked, nested, result, masked, own
    )
    digest = hashlib.blake2b(f"{numba.__version__} {source}".encode(), digest_size=10).hexdigest()
    name = f"sash_kernel_{digest}"
    if own:
        return _from_file(name, source)
    module = ModuleType(name)
    vars(module).update({f"_{role}": getattr(functions, role) for role in _ROLES})
    exec(compile(source, f"<{name}>", "exec"), vars(module))
    return module


def _head(functions: Functions, columns: int, paired: bool, masked: bool, own: bool) -> str:
    real = "_real" if masked else ""
    lines = ["import numpy as np", "from numba import njit", "from sash.kernels.compiling import jitted"]
    lines += ["ZERO, ONE = np.uint64(0), np.uint64(1)"]
    if own:
        lines += [_import(role, getattr(functions, role)) for role in _ROLES]
    lines += [f"combine{real} = jitted(_combine)", "lower = jitted(_lower)"]
    if paired:
        names = ", ".join(f"x{i}" for i in range(columns))
        lines += [
            "lift_row = jitted(_lift)",
            "@njit(nogil=True)",
            f"def lift{real}({names}):",
            f"    return lift_row(({names}))",
        ]
    else:
        lines += [f"lift{real} = jitted(_lift)"]
    return "\n".join([*lines, ""])


def _import(role: str, function: Any) -> str:
    return f"from {function.__module__} import {function.__name__} as _{role}"


def _from_file(name: str, source: str) -> ModuleType:
    path = _folder() / f"{name}.py"
    if not path.exists():
        handle, scratch = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(source)
        os.replace(scratch, path)  # whole or not at all, also when two processes write it
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where Numba looks for it when it loads what was compiled
    spec.loader.exec_module(module)
    return module


@lru_cache(maxsize=1)
def _folder() -> Path:
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(base) / "sash"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:  # a read-only home, as workers of a cluster may have
        return Path(tempfile.mkdtemp(prefix="sash-"))
