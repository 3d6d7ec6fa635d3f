"""An aggregation made ready for slices of columns: compiled kernels, and partials as flat arrays.

What is compiled are the functions that run row by row, so partials go to and fro between rows and columns to the bit.
Only integer sums are held in another way, in halves that cannot overflow unseen, and converted. Each kernel is compiled
when it is first called; those of built-in aggregations are kept on disk, see :mod:`sash.kernels.rolling.form`.
"""

from __future__ import annotations

import hashlib
import time
from functools import lru_cache
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numba.core.errors import NumbaError

from sash.aggregations.base import Aggregation, Functions
from sash.kernels.codegen.compile import NotCompilable, jitted, partial_type, returned
from sash.kernels.codegen.readable import readable
from sash.kernels.codegen.shape import leaves, real
from sash.kernels.codegen.slicing_source import slicing_source
from sash.kernels.ranges.fallback import (
    InterpretedForm,
    Partials,
    Totals,
    assign,
    concatenate,
    interpreted_form,
    take,
)
from sash.kernels.ranges.levels import SHORT, by_level
from sash.kernels.ranges.partials import as_column, as_dtype, flat
from sash.kernels.rolling.form import _from_file, _import, _is_own
from sash.kernels.rolling.inputs import Array, Columns, as_columns, as_kernel_columns, as_result
from sash.values.arrays import narrowed
from sash.values.partial_column import PartialColumn, _unpack

__all__ = [
    "InterpretedForm",
    "NotCompilable",
    "Partials",
    "SlicingForm",
    "Totals",
    "any_form",
    "assign",
    "concatenate",
    "interpreted_form",
    "slicing_form",
    "take",
]

types: Any = numba.core.types

_ROLES = ("lift", "combine", "lower")


def any_form(aggregation: Aggregation, dtypes: tuple[np.dtype[Any], ...]) -> SlicingForm | InterpretedForm:
    """The compiled form, or, with the reason, the one in Python."""
    try:
        return slicing_form(aggregation, dtypes)
    except NotCompilable as error:
        return interpreted_form(aggregation, dtypes, str(error))


@lru_cache(maxsize=256)
def slicing_form(aggregation: Aggregation, dtypes: tuple[np.dtype[Any], ...], carries: bool = False) -> SlicingForm:
    """The compiled form of ``aggregation`` for columns of the types that the user's have; none for a Count of rows.

    ``carries``: for columns with nulls that are values. Behind all columns come those that tell where these nulls are.
    """
    odd = [str(dtype) for dtype in dtypes if dtype.kind not in "biufmM"]
    odd += [str(dtype) for dtype in dtypes if dtype.kind in "mM" and not aggregation.takes_ticks]
    if odd:
        raise NotCompilable(f"a column is of type {odd[0]}, not of numbers")
    return SlicingForm(aggregation, dtypes, carries)


class SlicingForm:
    """The kernels of one aggregation for columns of one set of types. It has no state, and releases the GIL."""

    compiled = True
    reason = ""

    def __init__(self, aggregation: Aggregation, dtypes: tuple[np.dtype[Any], ...], carries: bool = False) -> None:
        begin = time.perf_counter()
        like = as_columns(aggregation, tuple(np.empty(0, dtype) for dtype in dtypes or ("u1",)), None)
        like = as_kernel_columns(aggregation, like)
        self.aggregation = aggregation
        self._sliced = (aggregation.sliced_with_nulls if carries else aggregation.sliced)(like.dtypes[0].kind)
        functions = self._sliced.functions
        self._inputs = tuple(map(_widest, like.dtypes)) + (np.dtype(np.bool_),) * len(aggregation.carried) * carries
        paired = aggregation.arity > 1 and aggregation._lifts_rows
        self._kind, result = _types(functions, self._inputs, paired)
        self._dtypes = _dtypes(self._kind)
        to_rows = self._sliced.to_rows
        self._skeleton = _skeleton(self._kind) if to_rows is None else ("x",) * len(to_rows(*self.empty(0)[1:]))
        self._outputs = _dtypes(real(result))
        self._result = "x" if functions.guarded or aggregation.fields else _skeleton(real(result))
        self._result_type = like.result_type
        self._narrow = None if aggregation.result_column is None else like.dtypes[aggregation.result_column]
        self._skips = aggregation.arity > 1 or aggregation.lift(None) is None  # else it counts rows, null or not
        self.cached = _is_own(functions)
        self._kernels = _module(functions, slicing_source(len(self._inputs), paired, self._kind, result, self.cached))
        self._compiled: set[str] = set()
        self.seconds = time.perf_counter() - begin

    def reduce(self, columns: Columns, starts: Array) -> Partials:
        """A partial for each segment, rows starts[i] … starts[i + 1] - 1, at least one; starts ends with their number.

        ``columns`` as :func:`sash.kernels.rolling.inputs.as_columns` makes them. Nulls are skipped; a segment of
        nothing else has the identity. One merge a row.
        """
        partials = self.empty(len(starts) - 1)
        self._over_rows("reduce", columns, readable(starts, np.int64), int(starts[-1]), partials)
        return partials

    def scatter(self, columns: Columns, slots: Array, size: int) -> Partials:
        """Row k merged into slot slots[k] of ``size``, in the order of rows. One merge a row."""
        partials = self.empty(size)
        self._over_rows("scatter", columns, readable(slots, np.int64), len(slots), partials)
        return partials

    def merge(self, a: Partials, b: Partials) -> Partials:
        """a ⊕ b, one by one, a the older."""
        partials = self.empty(len(a[0]))
        self._run("merge", _all_readable(a), _all_readable(b), partials)
        return partials

    def totals(self, partials: Partials, lo: Array, hi: Array) -> Totals:
        """The results of partials lo[i] … hi[i] - 1 for each i, at least one each, in any order.

        At most 2 merges a range and 2 a slice on each level, of which log₂ of the longest range can be in use:
        see :mod:`sash.kernels.ranges.levels`.
        """
        partials = _all_readable(partials)
        lo, hi = readable(lo, np.int64), readable(hi, np.int64)
        out = tuple(np.zeros(len(lo), dtype) for dtype in self._outputs)
        nulls = np.zeros(len(lo), np.bool_)
        merges = 0
        only = _only_level(lo, hi)
        for level, which in by_level(lo, hi) if only < 0 else [(only, None)]:
            if which is None:
                merges += self._level(partials, lo, hi, level, out, nulls)
                continue
            part = tuple(np.zeros(len(which), dtype) for dtype in self._outputs)
            null = np.zeros(len(which), np.bool_)
            merges += self._level(partials, lo[which], hi[which], level, part, null)
            assign((*out, nulls), which, (*part, null))
        return Totals(*self._as_results(out, nulls), merges)

    def empty(self, size: int) -> Partials:
        """So many identities."""
        return tuple(np.zeros(size, dtype) for dtype in (np.dtype(np.bool_), *self._dtypes))

    def to_column(self, partials: Partials) -> PartialColumn:
        """As rows have them."""
        valid, *arrays = partials
        to_rows = self._sliced.to_rows
        return as_column(valid, arrays if to_rows is None else list(to_rows(*arrays)), self._skeleton)

    def from_column(self, column: PartialColumn) -> Partials:
        """Of what rows have; :class:`NotCompilable` if the kernels' numbers cannot be just those."""
        partials = self.empty(len(column))
        valid, *arrays = partials
        valid[:] = column.valid
        if not valid.any():
            return partials
        from_rows = self._sliced.from_rows
        try:
            numbers = flat(column, self._skeleton)
            for array, values in zip(arrays, numbers if from_rows is None else from_rows(*numbers), strict=True):
                array[valid] = as_dtype(values, array.dtype)
        except ValueError as error:
            raise NotCompilable(f"{self.aggregation!r}: partials of rows do not fit columns of this type") from error
        return partials

    def _over_rows(self, name: str, columns: Columns, places: Array, size: int, partials: Partials) -> None:
        arrays = columns.arrays or (np.zeros(size, self._inputs[0]),)
        arrays = tuple(map(readable, arrays, self._inputs))
        if columns.nulls is None or not self._skips:
            self._run(name, arrays, places, partials)
        else:
            self._run(f"{name}_nulls", arrays, readable(columns.nulls, np.bool_), places, partials)

    def _level(self, partials: Partials, lo: Array, hi: Array, level: int, out: Partials, nulls: Array) -> int:
        real = "_real" if partials[0].all() else ""  # without identities, kernels need not look for them
        if level == SHORT:
            return int(self._run(f"fold{real}", partials, lo, hi, out, nulls))
        lcs, csa = self.empty(1 << level), self.empty(2 << level)
        return int(self._run(f"totals{real}", partials, lo, hi, level, lcs, csa, out, nulls))

    def _run(self, name: str, *arguments: Any) -> Any:
        kernel = getattr(self._kernels, name)
        if name in self._compiled:  # arguments of one kernel are always of the same types: `readable` sees to it
            return kernel(*arguments)
        signature = tuple(map(numba.typeof, arguments))
        if signature not in kernel.overloads:
            begin = time.perf_counter()
            try:
                kernel.compile(signature)
            except NumbaError as error:
                raise NotCompilable(f"{self.aggregation!r}: {error}") from error
            self.seconds += time.perf_counter() - begin
        self._compiled.add(name)
        return kernel(*arguments)

    def _as_results(self, out: Partials, nulls: Array) -> tuple[Any, Array | None]:
        aggregation = self.aggregation
        masked = nulls if aggregation.empty is None and nulls.any() else None
        if self._result != "x":
            return self._as_tuples(out, nulls), masked
        result = as_result(aggregation, out, nulls, self._result_type, self._sliced.functions.guarded)
        parts = [np.ma.getdata(part) for part in (result if aggregation.fields else [result])]
        if self._narrow is not None and self._result_type is None:
            parts = [narrowed(part, self._narrow) for part in parts]
        return tuple(parts) if aggregation.fields else parts[0], masked

    def _as_tuples(self, out: Partials, nulls: Array) -> Array:
        """Results that are tuples without names for their parts are objects."""
        rows = _unpack(self._result, iter([array.tolist() for array in out]), len(nulls))
        results = np.empty(len(nulls), object)
        for i, (row, null) in enumerate(zip(rows, nulls, strict=True)):
            results[i] = self.aggregation.empty if null else row
        return results


@numba.njit(nogil=True, cache=True)
def _only_level(lo: Array, hi: Array) -> int:
    """The level of all ranges, if they come in the order of their first chunks; else -1. The usual case, and fast."""
    if lo.shape[0] == 0:
        return -1
    level = SHORT
    while hi[0] - lo[0] >= 2 << level:
        level += 1
    before = lo[0] >> level
    for k in range(lo.shape[0]):
        size = hi[k] - lo[k]
        if level == SHORT:
            if size > 3:
                return -1
            continue
        chunk = lo[k] >> level
        if chunk < before or size >> level != 1:
            return -1
        before = chunk
    return level


def _widest(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that rows are lifted as, of 64 bits as a Python number's: so there are few kernels to compile."""
    if dtype.kind in "iu" and dtype != np.uint64:
        return np.dtype(np.int64)
    return np.dtype(np.float64) if dtype.kind == "f" else dtype


def _types(functions: Functions, columns: tuple[np.dtype[Any], ...], paired: bool) -> tuple[Any, Any]:
    """(the type of a partial, that of a result)."""
    inputs = tuple(map(numba.from_dtype, columns))
    lift, combine, lower = jitted(functions.lift), jitted(functions.combine), jitted(functions.lower)
    partial = partial_type(lift, combine, (types.Tuple(inputs),) if paired else inputs)
    return partial, returned(lower, (partial,))


def _dtypes(kind: Any) -> tuple[np.dtype[Any], ...]:
    numbers = [number for _, number in leaves(kind)]
    if not all(isinstance(number, types.Number | types.Boolean) for number in numbers):
        raise NotCompilable(f"{kind} is not made of numbers only")
    return tuple(numba.np.numpy_support.as_dtype(number) for number in numbers)


def _skeleton(kind: Any) -> Any:
    if isinstance(kind, types.BaseNamedTuple):
        raise NotCompilable(f"{kind} is a named tuple, which columns do not hold")
    return tuple(map(_skeleton, kind)) if isinstance(kind, types.BaseTuple) else "x"


def _module(functions: Functions, kernels: str) -> ModuleType:
    own = _is_own(functions)
    lines = ["import numpy as np", "from numba import njit", "from sash.kernels.codegen.compile import jitted"]
    lines += ["ZERO, ONE = np.uint64(0), np.uint64(1)"]
    if own:
        lines += [_import(role, getattr(functions, role)) for role in _ROLES]
    lines += [f"{role}_given = jitted(_{role})" for role in _ROLES]
    source = "\n".join([*lines, kernels])
    digest = hashlib.blake2b(f"{numba.__version__} {source}".encode(), digest_size=10).hexdigest()
    name = f"sash_slicing_{digest}"
    if own:
        return _own_module(name, source)
    module = ModuleType(name)
    vars(module).update({f"_{role}": getattr(functions, role) for role in _ROLES})
    exec(compile(source, f"<{name}>", "exec"), vars(module))
    return module


_own_module = lru_cache(maxsize=256)(_from_file)  # aggregations that differ in their columns' names share one


def _all_readable(arrays: Partials) -> Partials:
    return tuple(map(readable, arrays))
