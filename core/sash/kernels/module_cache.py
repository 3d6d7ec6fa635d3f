"""Text of kernels to modules, which for built-in aggregations are files that stay.

These are in the user's cache folder and are compiled with Numba's cache on, so that another process loads them in
milliseconds. The name of a file tells its content and the code of all functions that it calls, so it is never out of
date: another version of Sash does not run what an older one compiled.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba

__all__ = ["is_builtin", "module_of"]

_HEAD = """\
import numpy as np
from numba import njit
from sash.kernels.compile import jitted

kernel = njit(nogil=True, error_model="numpy", cache={cache})
ZERO, ONE = np.uint64(0), np.uint64(1)
"""


def is_builtin(functions: Iterable[Callable[..., Any]]) -> bool:
    """Whether functions are in files that stay."""
    return all(getattr(function, "__module__", "").startswith("sash.") for function in functions)


def module_of(functions: Mapping[str, Callable[..., Any]], text: str) -> ModuleType:
    """The module of a text of kernels that call these functions by these names."""
    own = is_builtin(functions.values())
    lines = [_HEAD.format(cache=own)]
    for name, function in functions.items():
        lines += [f"from {function.__module__} import {function.__name__} as _{name}"] if own else []
        lines += [f"{name} = jitted(_{name})"]
    source = "\n".join([*lines, text])
    code = [_code(function.__code__, function.__globals__, set()) for function in functions.values() if own]
    digest = hashlib.blake2b(f"{numba.__version__} {source} {code}".encode(), digest_size=10).hexdigest()
    title = f"sash_kernel_{digest}"
    if own:
        return _from_file(title, source)
    module = ModuleType(title)
    vars(module).update({f"_{name}": function for name, function in functions.items()})
    exec(compile(source, f"<{title}>", "exec"), vars(module))
    return module


def _code(code: CodeType, names: Mapping[str, Any], seen: set[CodeType]) -> list[Any]:
    """What a function does, and the functions of Sash that it calls, wherever they are written."""
    if code in seen:
        return []
    seen.add(code)
    constants = [_code(value, names, seen) if isinstance(value, CodeType) else value for value in code.co_consts[1:]]
    called = [names[name] for name in code.co_names if isinstance(names.get(name), FunctionType)]
    nested = [_code(function.__code__, function.__globals__, seen) for function in called if is_builtin([function])]
    plain = {name: names[name] for name in code.co_names if isinstance(names.get(name), int | float | str | tuple)}
    return [code.co_code.hex(), code.co_names, constants, plain, nested]


@lru_cache(maxsize=256)
def _from_file(name: str, source: str) -> ModuleType:
    """Aggregations that differ in the names of their columns share one."""
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
