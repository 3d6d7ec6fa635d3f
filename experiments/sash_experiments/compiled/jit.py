"""How the rung is compiled: as the core's kernels are, without the GIL and with NumPy's rules of division."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

import numba.extending

from sash.kernels.compile import dispatcher, inner

__all__ = ["instruction", "loop", "step"]


def step(function: Callable[..., Any]) -> Any:
    """A function that compiled functions call: it is inlined into them."""
    return inner(cast(FunctionType, function))


def instruction(function: Callable[..., Any]) -> Any:
    """What the compiler has no words for, written for it in LLVM's."""
    return numba.extending.intrinsic(function)


def loop(function: Callable[..., Any]) -> Any:
    """A function that Python calls, and that runs without the GIL."""
    return dispatcher(cast(FunctionType, function), None)
