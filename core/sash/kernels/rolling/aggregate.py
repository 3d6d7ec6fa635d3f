"""An aggregation compiled for windows over rows, and the arrays that its kernels work on.

The system gives out memory in pages full of zeros, made when they are first touched. For windows of a million values
that takes longer than to compute them, and two threads take even longer, in turns. So the scratch arrays that were used
last are used again.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation, Full, Functions
from sash.kernels.compiled_aggregate import Array, CompiledAggregate, DTypes
from sash.kernels.rolling.kernels import BY_VALUE, FULL_WALK, LIFT, LIFT_FLAGGED, PAIRED, PAIRS, PAIRS_FIRST, WALK
from sash.kernels.rolling.slices_and_groups import AS_ONE, BY_SLICE, GROUPS
from sash.kernels.source import COMBINE_FLAGGED, Shape, with_flag

__all__ = ["RollingAggregate", "exact_rolling_aggregate", "rolling_aggregate", "scratch"]


SMALLEST = 1 << 16
"""Bytes from which on a room is kept: smaller ones the allocator keeps itself."""
MOST = 1 << 26
"""Bytes that are kept at most."""

_free: dict[
    int, list[Array]
] = {}  # by size; changed by single operations only, which no other thread can see half done
_stagger = itertools.count()


def scratch(dtype: np.dtype[Any], size: int) -> Array:
    """An array of any content.

    It begins at another place in a page than the last one: arrays of a power of two of bytes, all read and written at
    one position, would else share a few lines of the cache and drive each other out.
    """
    begin = (next(_stagger) * 5 % 56 + 1) * 64
    bytes_ = size * dtype.itemsize
    block = _block(4096 + bytes_) if bytes_ >= SMALLEST else np.empty(4096 + bytes_, np.uint8)
    return block[begin : begin + bytes_].view(dtype)


def _block(bytes_: int) -> Array:
    try:
        memory = _free[bytes_].pop()
    except (KeyError, IndexError):
        memory = np.empty(bytes_, np.uint8)
    block = np.frombuffer(memory.data, np.uint8)  # alive as long as any view of it
    weakref.finalize(block, _keep, memory).atexit = False
    return block


def _keep(memory: Array) -> None:
    if sum(size * len(blocks) for size, blocks in list(_free.items())) + len(memory) > MOST:
        _free.clear()
    if len(memory) <= MOST:
        _free.setdefault(len(memory), []).append(memory)


_CALLS = {
    "by_value": "by_value({inputs xs[begin:end]}, n, early, state, A, B, C, R, out, null, o)",
    "by_slice": "by_slice({inputs xs[begin:end]}, n, s, m, early, state, A, B, C, out, null, o)",
}


def rolling_aggregate(aggregation: Aggregation, dtypes: DTypes, masked: bool, full: bool) -> RollingAggregate:
    """The fastest kernels for columns of ``dtypes``; ``masked``: with nulls, ``full``: every window has all its values.

    ``full`` is for columns without nulls.
    """
    kind = dtypes[0].kind
    functions = (aggregation.full(kind) if full else None) or aggregation.columnar(kind, True)
    takes_tuples = aggregation.arity > 1 and aggregation._lifts_rows
    return _aggregate(functions, aggregation.columnar(kind, False), dtypes, takes_tuples, masked, aggregation.name)


def exact_rolling_aggregate(
    aggregation: Aggregation, dtypes: DTypes, masked: bool, full: bool, pairs: bool
) -> RollingAggregate:
    """The kernels of the functions that slices are merged with, or of faster ones that lose no more digits."""
    kind = dtypes[0].kind
    sliced, clean = aggregation.sliced(kind).functions, aggregation.columnar(kind, True)
    chooses = sliced == clean._replace(combine=sliced.combine)
    functions = (aggregation.full_as_sliced(kind) if full else None) or (clean if chooses else sliced)
    takes_tuples = aggregation.arity > 1 and aggregation._lifts_rows
    return _aggregate(functions, sliced, dtypes, takes_tuples, masked, aggregation.name, pairs)


class RollingAggregate(CompiledAggregate):
    """Kernels of windows over rows, for columns of one set of types. ``pairs``: two chunks may run side by side, which
    is faster and takes longer to compile.

    Functions for clean values stop at NaN, which spoils them; those of ``nan_safe`` take any value.
    """

    def __init__(
        self,
        functions: Functions | Full,
        nan_safe: Functions,
        inputs: DTypes,
        takes_tuples: bool,
        masked: bool,
        name: str,
        pairs: bool = True,
    ) -> None:
        self._nan_safe = (nan_safe, nan_safe, inputs, takes_tuples, masked, name, pairs)
        self._full, self._masked = isinstance(functions, Full), masked
        self._watched = functions != nan_safe and inputs[0].kind == "f" and not self._full
        self._pairs = pairs
        self._cost: float | None = None
        super().__init__(functions, inputs, takes_tuples and not self._full, name)
        self.nullable = masked or self._kinds.nullable
        """Whether a result may be null."""
        flags = (np.dtype(np.bool_),) * masked
        self.inputs, self.partial = self.inputs + flags, flags + self.partial

    @cached_property
    def nan_safe(self) -> RollingAggregate:
        """The kernels for any value: compiled only when NaN turns up."""
        return _aggregate(*self._nan_safe)

    @property
    def all_seconds(self) -> float:
        """What compiling took, that of ``nan_safe`` included."""
        safe = vars(self).get("nan_safe", self)
        return self.seconds + (0.0 if safe is self else safe.seconds)

    def cost(self, measure: Callable[[], float]) -> float:
        """Nanoseconds a value, measured once."""
        if self._cost is None:
            self._cost = measure()
        return self._cost

    def partials(self, size: int) -> tuple[Array, ...]:
        """Scratch arrays for ``size`` partials."""
        return tuple(scratch(dtype, size) for dtype in self.partial)

    def rows(self, size: int) -> tuple[Array, ...]:
        """Scratch arrays for ``size`` rows of the input."""
        return tuple(scratch(dtype, size) for dtype in self.inputs)

    @property
    def _paired(self) -> bool:
        """Whether kernels run two chunks side by side."""
        return (
            self._pairs and self.builtin and not self._masked and self._kinds.partial == self._kinds.result == "float64"
        )

    def suffixes(self, n: int) -> tuple[Array, ...]:
        """Scratch arrays for the ``lcs`` of a chunk, or of two side by side."""
        return self.partials(2 * n if self._paired and PAIRED[0] <= n <= PAIRED[1] else n)

    @property
    def partial_bytes(self) -> int:
        """The size of a partial."""
        return sum(dtype.itemsize for dtype in self.partial)

    def _text(self) -> str:
        masked, full = self._masked, self._full
        partial, result, nullable, _ = self._kinds
        columns = len(self.inputs) + masked
        kind = with_flag(partial) if masked else partial
        shape = Shape(columns, kind, result, masked, nullable, full=full, watched=self._watched)
        parts = {
            "emit": shape.emit(),
            "walk": (FULL_WALK if full else WALK).strip(),
            "block": "T = {empty B[BLOCK]}" if full else "",
            "watched": "X[0].shape[0]" if self._watched else "0",
        }
        parts["pairs"] = f"FEWEST, MOST = {PAIRED}\n{PAIRS}" if self._paired else ""
        parts["pairs_first"] = PAIRS_FIRST.strip() if self._paired else ""
        text = self._lift_and_combine(shape) + shape.fill(BY_VALUE + AS_ONE + ("" if full else BY_SLICE), **parts)
        return text + "".join(shape.fill(GROUPS, by=by, call=_CALLS[by]) for by in list(_CALLS)[: 1 if full else 2])

    def _lift_and_combine(self, shape: Shape) -> str:
        if self._masked:
            flagged = COMBINE_FLAGGED.format(flagged="combine", bare="combine_given")
            return shape.fill(LIFT_FLAGGED, **self._lift_parts()) + flagged
        lift = shape.fill(LIFT, **self._lift_parts()) if self._takes_tuples else "lift = lift_given\n"
        return f"combine = combine_given\n{lift}"


# Shared by aggregations that differ in the names of their columns only.
_aggregate = lru_cache(maxsize=256)(RollingAggregate)
