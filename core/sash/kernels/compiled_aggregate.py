"""The kernels of one aggregation for columns of given types."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from typing import Any

import numpy as np

from sash.aggregations.base import Full, Functions
from sash.kernels.disk_cache import digest_of
from sash.kernels.kinds import DTypes, Kinds, NotCompilable, builtin_kinds, dtypes_of, is_builtin
from sash.kernels.tiers import MOST_KERNELS, Source, is_disabled, kernels_of

__all__ = ["Array", "CompiledAggregate", "DTypes"]

Array = np.ndarray[Any, Any]

_FLOAT32 = np.dtype(np.float32)


class CompiledAggregate(ABC):
    """The kernels of one aggregation's functions, in two tiers (:mod:`sash.kernels.tiers`). They have no state.

    ``takes_tuples``: ``lift`` takes the values of a row as one tuple. ``name`` is for messages.
    """

    compiled = True
    reason = ""

    def __init__(self, functions: Functions | Full, inputs: DTypes, takes_tuples: bool, name: str) -> None:
        self.functions, self.inputs = functions, inputs
        self.builtin = is_builtin(functions[:3])
        """Whether the functions are Sash's own, which do not fail."""
        self._takes_tuples = takes_tuples
        self._kinds = _kinds_of(functions, inputs, takes_tuples)
        self.partial, self.result = dtypes_of(self._kinds.partial), dtypes_of(self._kinds.result)
        self.kernels = kernels_of(self._source(f"{name} for {', '.join(map(str, inputs))}"))

    def _source(self, what: str) -> Source:
        functions = self.functions
        names = {"lift_given": functions.lift, "combine_given": functions.combine, "lower": functions.lower}
        # Python does not know the first, and NumPy mixes the second with others in its own way
        unknown = {_FLOAT32} if self.builtin else {_FLOAT32, np.dtype(np.uint64)}
        at_once = not unknown.isdisjoint([*self.inputs, *self.partial, *self.result])
        return Source(names, self._text(), f"{self.inputs} {self._kinds}", what, at_once, self._shortcuts())

    @property
    def cached(self) -> bool:
        """Whether what is compiled is kept on disk."""
        return self.kernels.is_kept

    @property
    def seconds(self) -> float:
        """What compiling took so far, or loading what was compiled before."""
        return self.kernels.seconds

    @abstractmethod
    def _text(self) -> str:
        """The kernels, by :class:`sash.kernels.source.Shape`."""

    def _shortcuts(self) -> dict[str, str]:
        return {}

    @property
    def runs_as_python(self) -> bool:
        """Whether nothing is compiled yet."""
        return all(kernel.compiled is None for kernel in self.kernels.kernels.values())

    def _lift_parts(self) -> dict[str, str]:
        """What the text of a `lift` of the values of a row needs."""
        names = ", ".join(f"x{i}" for i in range(len(self.inputs)))
        return {"names": names, "given": f"({names})" if self._takes_tuples else names}


_inferred: OrderedDict[Any, Kinds] = OrderedDict()


def _kinds_of(functions: Functions | Full, inputs: DTypes, takes_tuples: bool) -> Kinds:
    if is_builtin(functions[:3]) and _FLOAT32 not in inputs:
        return builtin_kinds(functions, inputs, takes_tuples)
    if is_disabled():  # Numba cannot even infer types then
        raise NotCompilable("NUMBA_DISABLE_JIT is set")
    key = digest_of(*functions[:3], str(inputs), takes_tuples)
    if key in _inferred:
        return _inferred[key]
    from sash.kernels.compile import infer_kinds

    kinds = infer_kinds(functions, inputs, takes_tuples)
    if key is not None:
        _inferred[key] = kinds
        if len(_inferred) > MOST_KERNELS:
            _inferred.popitem(last=False)
    return kinds
