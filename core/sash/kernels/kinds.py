"""The kinds of partials and results: which numbers they are made of. Known before anything is compiled.

A kind is the name of a NumPy type, or a tuple of kinds. The functions of built-in aggregations are tried on sample
values, which shows the kinds that Numba would infer, without importing Numba; the tests compare the two. What users'
functions return depends on their code, so Numba infers it (:mod:`sash.kernels.compile`), still without compiling.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType
from typing import Any, NamedTuple, cast

import numpy as np

from sash.aggregations.base import Full, Functions

__all__ = ["DTypes", "Kind", "Kinds", "NotCompilable", "builtin_kinds", "dtypes_of", "is_builtin", "leaves"]

Kind = str | tuple["Kind", ...]
DTypes = tuple[np.dtype[Any], ...]


class NotCompilable(Exception):
    """Why functions run as Python only."""


class Kinds(NamedTuple):
    """What the functions of an aggregation return."""

    partial: Kind
    result: Kind
    nullable: bool
    """Whether a result may be None."""
    named: bool = False
    """Whether a result is a named tuple."""


def leaves(kind: Kind, path: str = "") -> Iterator[tuple[str, str]]:
    """(how to get it, its type) of each number.

    >>> list(leaves(("int64", ("float64", "bool"))))
    [('[0]', 'int64'), ('[1][0]', 'float64'), ('[1][1]', 'bool')]
    """
    if isinstance(kind, tuple):
        for i, part in enumerate(kind):
            yield from leaves(part, f"{path}[{i}]")
    else:
        yield path, kind


def dtypes_of(kind: Kind) -> DTypes:
    """The types of its numbers, one array each."""
    return tuple(np.dtype(name) for _, name in leaves(kind))


def is_builtin(functions: Iterable[Callable[..., Any]]) -> bool:
    """Whether all of these functions are Sash's own."""
    modules = [getattr(function, "__module__", None) or "" for function in functions]  # None: code run by exec
    return all(module.startswith("sash.") for module in modules)


class _Whole(int):
    """A sample of a column of narrow or unsigned integers. Arithmetic makes it one of 64 bits, signed as in Numba."""

    dtype: np.dtype[Any]

    def __rshift__(self, bits: int) -> int:
        return self._wide(int(self) >> bits, self)

    def __add__(self, other: int) -> int:
        return self._wide(int(self) + int(other), other)

    def _wide(self, value: int, other: int) -> int:
        unsigned = self.dtype.kind == "u" and isinstance(other, _Whole) and other.dtype.kind == "u"
        return _whole(value, np.dtype(np.uint64)) if unsigned else value


_SAMPLES: dict[str, tuple[Any, ...]] = {
    "b": (False, True),
    "i": (0, 1, -3),
    "u": (0, 1, 3),
    "f": (0.0, 1.5, -2.5, math.nan, math.inf, -math.inf),
}


def _samples(dtype: np.dtype[Any]) -> list[Any]:
    values = _SAMPLES[dtype.kind]
    if dtype.kind in "iu" and dtype != np.int64:
        return [_whole(value, dtype) for value in values]
    return list(values)


def _whole(value: int, dtype: np.dtype[Any]) -> _Whole:
    whole = _Whole(value)
    whole.dtype = dtype
    return whole


def builtin_kinds(functions: Functions | Full, inputs: DTypes, takes_tuples: bool) -> Kinds:
    """What functions of Sash return for columns of these types, 64 bits if they are floats, by trying them. O(1)."""
    for function in functions[:3]:
        if not isinstance(function, FunctionType):
            raise NotCompilable(f"{function!r} is not a plain function")
    full = isinstance(functions, Full)
    rows = list(itertools.islice(itertools.product(*map(_samples, inputs)), 64))
    if takes_tuples:
        arguments: list[tuple[Any, ...]] = [(row,) for row in rows]
    else:
        arguments = [row + row[:1] for row in rows] if full else rows
    try:
        with np.errstate(all="ignore"):
            partials = [functions.lift(*row) for row in arguments]
            kind = _kind_of_all(partials)
            partials = [_typed(partial, kind) for partial in partials]
            merged = [functions.combine(a, b) for a in partials for b in partials[:8]]
            if _kind_of_all([*partials, *merged]) != kind:
                raise NotCompilable("combine does not return a partial of the type that it is given")
            count = (2,) if full else ()
            lower = cast(Any, functions.lower)
            results = [lower(partial, *count) for partial in partials + merged]
            while all(result is None for result in results):  # it takes more values than two
                merged = [functions.combine(a, b) for a in merged[:32] for b in merged[:8]]
                results += [lower(partial, *count) for partial in merged]
    except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
        raise NotCompilable(str(error)) from error
    real = [result for result in results if result is not None]
    return Kinds(kind, _kind_of_all(real), len(real) < len(results))


def _kind_of_all(values: Sequence[Any]) -> Kind:
    kind = _kind(values[0])
    for value in values[1:]:
        kind = _wider(kind, _kind(value))
    return kind


def _kind(value: Any) -> Kind:
    if isinstance(value, tuple):
        return tuple(map(_kind, value))
    if isinstance(value, _Whole | np.number | np.bool_):
        return value.dtype.name
    for known, name in ((bool, "bool"), (int, "int64"), (float, "float64")):
        if isinstance(value, known):
            return name
    raise NotCompilable(f"{type(value).__name__} is not made of numbers only")


def _wider(a: Kind, b: Kind) -> Kind:
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return tuple(map(_wider, a, b))
    if isinstance(a, tuple) or isinstance(b, tuple):
        raise NotCompilable("combine does not return a partial of the type that it is given")
    return np.promote_types(a, b).name


def _typed(value: Any, kind: Kind) -> Any:
    """The value with numbers of this kind, as a kernel would load it."""
    if isinstance(kind, tuple):
        return tuple(map(_typed, value, kind))
    dtype = np.dtype(kind)
    narrow = dtype.kind in "iu" and dtype != np.int64
    return _whole(int(value), dtype) if narrow else dtype.type(value)
