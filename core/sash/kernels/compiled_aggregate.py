"""An aggregation compiled for columns of given types: what windows over rows and totals of slices have in common."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Any

import numba
import numpy as np
from numba.core.errors import NumbaError

from sash.aggregations.base import Full, Functions
from sash.kernels.compile import NotCompilable, jitted, one_line, partial_type, returned
from sash.kernels.module_cache import is_builtin, module_of
from sash.kernels.source import leaves, real

__all__ = ["Array", "CompiledAggregate", "DTypes"]

types: Any = numba.core.types

Array = np.ndarray[Any, Any]
DTypes = tuple[np.dtype[Any], ...]


class CompiledAggregate(ABC):
    """The kernels of one aggregation's functions, each compiled when it is first run. They release the GIL.

    ``takes_tuples``: ``lift`` takes the values of a row as one tuple.
    """

    compiled = True
    reason = ""

    def __init__(self, functions: Functions | Full, inputs: DTypes, takes_tuples: bool) -> None:
        begin = time.perf_counter()
        self.functions, self.inputs = functions, inputs
        self.cached = is_builtin(functions[:3])
        """Whether what is compiled is kept on disk."""
        self._takes_tuples = takes_tuples
        self._partial, self._result = self._types()
        self.partial, self.result = _dtypes(self._partial), _dtypes(real(self._result))
        names = {"lift_given": functions.lift, "combine_given": functions.combine, "lower": functions.lower}
        self.kernels = module_of(names, self._text())
        self._ready: set[str] = set()
        self.seconds = time.perf_counter() - begin
        """What compiling took so far, or loading what was compiled before."""

    @abstractmethod
    def _text(self) -> str:
        """The kernels, by :class:`sash.kernels.source.Shape`."""

    def run(self, name: str, *arguments: Any) -> Any:
        """What a kernel returns; :class:`NotCompilable` if it cannot be compiled."""
        kernel = getattr(self.kernels, name)
        if name not in self._ready:
            begin = time.perf_counter()
            try:
                kernel.compile(tuple(map(numba.typeof, arguments)))
            except NumbaError as error:
                raise NotCompilable(one_line(error)) from error
            self.seconds += time.perf_counter() - begin
            self._ready.add(name)
        return kernel(*arguments)

    def _types(self) -> tuple[Any, Any]:
        """(the type of a partial, that of a result)."""
        functions, full = self.functions, isinstance(self.functions, Full)
        lift, combine, lower = jitted(functions.lift), jitted(functions.combine), jitted(functions.lower)
        inputs = tuple(map(numba.from_dtype, self.inputs))
        arguments = (types.Tuple(inputs),) if self._takes_tuples else inputs + inputs[:full]
        partial = partial_type(lift, combine, arguments)
        return partial, returned(lower, (partial, types.int64) if full else (partial,))

    def _lift_parts(self) -> dict[str, str]:
        """What the text of a `lift` of the values of a row needs."""
        names = ", ".join(f"x{i}" for i in range(len(self.inputs)))
        return {"names": names, "given": f"({names})" if self._takes_tuples else names}


def _dtypes(kind: Any) -> DTypes:
    numbers = [number for _, number in leaves(kind)]
    if not all(isinstance(number, types.Number | types.Boolean) for number in numbers):
        raise NotCompilable(f"{kind} is not made of numbers only")
    return tuple(numba.np.numpy_support.as_dtype(number) for number in numbers)
