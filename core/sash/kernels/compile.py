"""Plain Python functions, compiled: the same lift, combine and lower that run row by row.

Numba compiles a function but not the plain functions that it calls, so those are compiled with it. What Numba cannot
compile (text, objects, dictionaries) is :class:`NotCompilable`, with the reason in one line.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import numba
from numba.core.errors import NumbaError, UnsupportedBytecodeError

__all__ = ["NotCompilable", "jitted", "one_line", "partial_type", "returned"]

types: Any = numba.core.types

_compiled: WeakKeyDictionary[Callable[..., Any], Any] = WeakKeyDictionary()


class NotCompilable(Exception):
    """Why a function runs as Python only."""


def jitted(function: Callable[..., Any]) -> Any:
    """``function`` and all plain functions that it calls as Numba's dispatchers, which release the GIL.

    >>> from sash.aggregations import sums
    >>> jitted(sums._add)(1e16, 0.0, 1.0, 0.0)
    (1e+16, 1.0)
    """
    if isinstance(function, numba.core.dispatcher.Dispatcher):
        return function
    if function in (max, min):
        return jitted(_two_of(function))
    if function in (abs, bool, float, int):
        return jitted(_one_of(function))
    if not isinstance(function, FunctionType):
        raise NotCompilable(f"{function!r} is not a plain function")
    known = _compiled.get(function)
    if known is None:
        names = dict(function.__globals__)
        for name in function.__code__.co_names:
            if isinstance(names.get(name), FunctionType):
                names[name] = jitted(names[name])
        linked = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
        # NumPy's rules for a division by zero: a kernel is a loop over values that may be anything
        own = function.__module__.startswith("sash.")  # in a file that stays: what is compiled is kept beside it
        known = _compiled[function] = numba.njit(nogil=True, error_model="numpy", cache=own)(linked)
    return known


@cache
def _one_of(builtin: Any) -> Callable[..., Any]:
    def call(value: Any) -> Any:
        return builtin(value)

    return call


@cache
def _two_of(builtin: Any) -> Callable[..., Any]:
    def call(a: Any, b: Any) -> Any:
        return builtin(a, b)

    return call


def returned(dispatcher: Any, arguments: tuple[Any, ...]) -> Any:
    """The type that a compiled function returns for arguments of the given types."""
    try:
        dispatcher.compile(arguments)
    # besides errors of its own, Numba's inference ends in these on code that it does not know
    except (NumbaError, UnsupportedBytecodeError, NotImplementedError, AssertionError, KeyError) as error:
        raise NotCompilable(one_line(error)) from error
    return types.unliteral(dispatcher.overloads[arguments].signature.return_type)


def one_line(error: Exception) -> str:
    """What Numba's message of many lines is about."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("Failed in", "During", "File", "def ", "^", "<source"))]
    return (telling or lines or [type(error).__name__])[0][:160]


def partial_type(lift: Any, combine: Any, inputs: tuple[Any, ...]) -> Any:
    """The type of a partial: what ``lift`` gives, widened until ``combine`` keeps it."""
    context = numba.core.registry.cpu_target.typing_context
    partial = _plain(returned(lift, inputs))
    for _ in range(3):
        merged = _plain(returned(combine, (partial, partial)))
        if merged == partial:
            return partial
        partial = context.unify_types(partial, merged)
        if partial is None:
            break
    raise NotCompilable("combine does not return a partial of the type that it is given")


def _plain(kind: Any) -> Any:
    """Without literals: a tuple that begins with the number 1 is one that begins with an integer."""
    if isinstance(kind, types.BaseTuple) and not isinstance(kind, types.BaseNamedTuple):
        return types.BaseTuple.from_types([_plain(part) for part in kind.types])
    return types.unliteral(kind)
