"""An aggregation made ready for columns of given types: its kernels, and the arrays that they work on.

The kernels of built-in aggregations are written to a file in the user's cache folder and compiled with Numba's cache
on, so that another process loads them in milliseconds. Its name tells its content, so it is never out of date.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np

from sash.aggregations.base import Aggregation, Full, Functions
from sash.kernels.codegen.compile import NotCompilable, jitted, partial_type, returned
from sash.kernels.codegen.shape import Shape, leaves, real
from sash.kernels.rolling.scratch import room

__all__ = ["Array", "Form", "Forms", "form_of", "full_form"]

types: Any = numba.core.types

_ROLES = ("lift", "combine", "lower")


Array = np.ndarray[Any, Any]


@dataclass(eq=False)
class Form:
    """The kernels of one aggregation for columns of one set of types."""

    functions: Functions | Full
    kernels: Any
    inputs: tuple[np.dtype[Any], ...]
    partial: tuple[np.dtype[Any], ...]
    result: tuple[np.dtype[Any], ...]
    nullable: bool
    """Whether a result may be null."""
    seconds: float
    """What compiling took so far, or loading what was compiled before: each kernel when it is first run."""
    cost: float | None = None
    """Nanoseconds a value, if that was measured."""

    def run(self, kernel: str, *arguments: Any) -> Any:
        """What a kernel returns."""
        function = getattr(self.kernels, kernel)
        if not function.signatures:
            begin = time.perf_counter()
            function.compile(tuple(map(numba.typeof, arguments)))
            self.seconds += time.perf_counter() - begin
        return function(*arguments)

    def cost_by(self, measure: Callable[[], float]) -> float:
        """Nanoseconds a value, measured once."""
        if self.cost is None:
            self.cost = measure()
        return self.cost

    @property
    def guarded(self) -> bool:
        """Whether the last array of a result tells which are out of range."""
        return self.functions.guarded

    @cached_property
    def cached(self) -> bool:
        """Whether what was compiled is kept on disk."""
        return _is_own(self.functions)

    def partials(self, size: int) -> tuple[Array, ...]:
        """Room for ``size`` partials."""
        return tuple(room(dtype, size) for dtype in self.partial)

    def rows(self, size: int) -> tuple[Array, ...]:
        """Room for ``size`` rows of the input."""
        return tuple(room(dtype, size) for dtype in self.inputs)

    @property
    def partial_bytes(self) -> int:
        """The size of a partial."""
        return sum(dtype.itemsize for dtype in self.partial)


class Forms:
    """The form that is run, and the one that takes over where NaN spoils it: compiled only then."""

    def __init__(self, aggregation: Aggregation, dtypes: tuple[np.dtype[Any], ...], masked: bool, full: bool) -> None:
        self._shape = (aggregation, dtypes, masked)
        self.form = (full_form(aggregation, dtypes) if full else None) or form_of(*self._shape, True)

    @cached_property
    def wary(self) -> Form:
        """The form for any value."""
        return form_of(*self._shape, False)

    @property
    def seconds(self) -> float:
        """What compiling took."""
        return self.form.seconds + (self.wary.seconds if "wary" in vars(self) else 0.0)


def form_of(aggregation: Aggregation, dtypes: tuple[np.dtype[Any], ...], masked: bool, clean: bool) -> Form:
    """The form of ``aggregation`` for columns of ``dtypes``; ``masked``: with nulls, ``clean``: without NaN."""
    kind = dtypes[0].kind
    functions = aggregation.columnar(kind, clean)
    watched = clean and kind == "f" and functions != aggregation.columnar(kind, False)
    return _form(functions, dtypes, aggregation.arity > 1 and aggregation._lifts_rows, masked, watched)


def full_form(aggregation: Aggregation, dtypes: tuple[np.dtype[Any], ...]) -> Form | None:
    """The form for windows that are all full and without nulls, if there is one."""
    functions = aggregation.full(dtypes[0].kind)
    return None if functions is None else _form(functions, dtypes, False, False, False)


@lru_cache(maxsize=256)
def _form(
    functions: Functions | Full, dtypes: tuple[np.dtype[Any], ...], paired: bool, masked: bool, watched: bool
) -> Form:
    begin = time.perf_counter()
    full = isinstance(functions, Full)
    inputs = tuple(numba.from_dtype(dtype) for dtype in dtypes)
    arguments = (types.Tuple(inputs),) if paired else inputs + inputs[:full]
    lift, combine, lower = jitted(functions.lift), jitted(functions.combine), jitted(functions.lower)
    partial = partial_type(lift, combine, arguments)
    result = returned(lower, (partial, types.int64) if full else (partial,))
    dtypes_of = [numba.np.numpy_support.as_dtype(kind) for _, kind in _numbers(partial)]
    results = tuple(numba.np.numpy_support.as_dtype(number) for _, number in _numbers(real(result)))
    nested = types.Tuple([types.boolean, partial]) if masked else partial
    shape = Shape(len(inputs) + masked, nested, result, masked, full, watched, _is_own(functions))
    module = _module(functions, shape, paired)
    valid = (np.dtype(np.bool_),) * masked
    nullable = masked or isinstance(result, types.Optional)
    return Form(functions, module, dtypes + valid, (*valid, *dtypes_of), results, nullable, time.perf_counter() - begin)


def _numbers(kind: Any) -> list[tuple[str, Any]]:
    numbers = list(leaves(kind))
    if not all(isinstance(number, types.Number | types.Boolean) for _, number in numbers):
        raise NotCompilable(f"{kind} is not made of numbers only")
    return numbers


def _is_own(functions: Functions | Full) -> bool:
    return all(getattr(function, "__module__", "").startswith("sash.") for function in functions[:3])


def _module(functions: Functions | Full, shape: Shape, paired: bool) -> ModuleType:
    own = shape.cached
    source = _head(functions, shape.columns - shape.masked, paired, shape.masked, own) + shape.source()
    digest = hashlib.blake2b(f"{numba.__version__} {source}".encode(), digest_size=10).hexdigest()
    name = f"sash_kernel_{digest}"
    if own:
        return _from_file(name, source)
    module = ModuleType(name)
    vars(module).update({f"_{role}": getattr(functions, role) for role in _ROLES})
    exec(compile(source, f"<{name}>", "exec"), vars(module))
    return module


def _head(functions: Functions | Full, columns: int, paired: bool, masked: bool, own: bool) -> str:
    real = "_real" if masked else ""
    lines = ["import numpy as np", "from numba import njit", "from sash.kernels.codegen.compile import jitted"]
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
