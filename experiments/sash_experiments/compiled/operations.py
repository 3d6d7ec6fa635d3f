"""An aggregation as operations on rows of an array, made of its own lift, combine and lower.

A row is a partial: a number, some numbers, or the words of a large partial (:meth:`sash.Aggregation.flat`). Operations
are compiled, and inlined into the algorithms that use them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import sash
from sash import Aggregation
from sash.aggregations.base import Flat, Functions, Kind
from sash.kernels.compile import jitted
from sash_experiments.compiled.jit import step

__all__ = ["Array", "Operations", "has_operations", "operations"]

Array = np.ndarray[Any, Any]


class Operations(NamedTuple):
    """What algorithms are made of. ``a`` … ``c`` are arrays of rows, ``i`` … ``k`` places in them."""

    rows: Callable[[int], Array]
    """An array for so many partials."""
    source: Callable[[Sequence[Any]], Array]
    """Values as ``lift`` takes them."""
    result: Callable[[Any], Any]
    """The result that a lowered row stands for."""
    lift: Any
    """``lift(a, i, source, k)``: a[i] is the partial of the k-th value."""
    copy: Any
    """``copy(a, i, b, j)``: a[i] = b[j]."""
    absorb: Any
    """``absorb(a, i, b, j)``: a[i] = a[i] ⊕ b[j], in place."""
    merge: Any
    """``merge(a, i, b, j, c, k)``: a[i] = b[j] ⊕ c[k]."""
    suffixes: Any
    """``suffixes(a, first, last, mask)``: in a ring, right to left, each a[i] becomes a[i] ⊕ … ⊕ a[last]."""
    lower: Any
    """``lower(a, i)``: a[i] is the result of the partial that it was; NaN if it has none."""
    remove: Any = None
    """``remove(a, i, b, j)``: a[i] without its oldest part b[j]; None if the aggregation is not invertible."""
    wins: Any = None
    """``wins(a, i, b, j)``: whether a[i] ⊕ b[j] is b[j]; None if the aggregation is not selective."""
    commutative: bool = False
    """Whether partials may be merged in any order."""


def operations(aggregation: Aggregation, *, invertible: bool = False) -> Operations:
    """The operations of an aggregation of floats.

    Sums of some aggregations that merge in plain floats take two each where parts have to be removed again: that is
    what ``invertible`` asks for.
    """
    flat = aggregation.flat()
    if flat is not None:
        found = _of_rows(aggregation, flat)
    else:
        functions = aggregation.sliced("f").functions if invertible else aggregation.columnar("f", clean=False)
        found = _of_numbers(aggregation, functions)
    return found._replace(commutative=aggregation.commutative)


def has_operations(aggregation: Aggregation) -> bool:
    """Whether the aggregation's partials can be rows: numbers, or large ones that there is a compiled lift for."""
    if aggregation.flat() is not None:
        return type(aggregation) in _LIFTS
    if aggregation.kind is Kind.HOLISTIC:
        return False
    partial = aggregation.lift((1.0, 1.0) if aggregation.arity == 2 else 1.0)
    parts = partial if isinstance(partial, tuple) else (partial,)
    return all(isinstance(part, int | float) for part in parts)


def _access(width: int) -> tuple[Any, Any, Any]:
    """``read``, ``write`` and ``answer`` of rows: Numba needs each place in a tuple spelled out.

    Places are unsigned: a negative one would count from the end, and to ask each time costs as much as a merge.
    """
    parts = ", ".join(f"rows[at(i), {part}]" for part in range(width)) if width > 1 else "rows[at(i)]"
    text = f"""
def read(rows, i):
    return ({parts})
def write(rows, i, partial):
    {parts} = partial
def answer(rows, i, result):
    {parts.partition("],")[0].rstrip("]")}] = result
"""
    found: dict[str, Any] = {"at": np.uintp}
    exec(text, found)
    return step(found["read"]), step(found["write"]), step(found["answer"])


def _of_numbers(aggregation: Aggregation, functions: Functions) -> Operations:
    lift_value, combine, lower_partial = (jitted(function) for function in functions[:3])
    pairs = aggregation.arity == 2
    sample = functions.lift((1.0, 1.0) if pairs else 1.0)
    width = len(sample) if isinstance(sample, tuple) else 1
    read, write, answer = _access(width)
    value_of = step(_pair if pairs else _value)

    @step
    def lift(a: Any, i: int, source: Any, k: int) -> None:
        write(a, i, lift_value(value_of(source, k)))

    @step
    def copy(a: Any, i: int, b: Any, j: int) -> None:
        write(a, i, read(b, j))

    @step
    def absorb(a: Any, i: int, b: Any, j: int) -> None:
        write(a, i, combine(read(a, i), read(b, j)))

    @step
    def merge(a: Any, i: int, b: Any, j: int, c: Any, k: int) -> None:
        write(a, i, combine(read(b, j), read(c, k)))

    @step
    def suffixes(a: Any, first: int, last: int, mask: int) -> None:
        total = read(a, last & mask)  # stays in registers
        for i in range(last - 1, first - 1, -1):
            total = combine(read(a, i & mask), total)
            write(a, i & mask, total)

    @step
    def lower(a: Any, i: int) -> None:
        result = lower_partial(read(a, i))
        if result is None:
            answer(a, i, math.nan)
        else:
            answer(a, i, result)

    return Operations(
        lambda count: np.zeros((count, width) if width > 1 else count),
        lambda values: np.array(values, "f8"),
        lambda row: float(row[0] if width > 1 else row),
        lift,
        copy,
        absorb,
        merge,
        suffixes,
        lower,
        _remove(aggregation, read, write) if aggregation.invertible else None,
        _wins(combine) if aggregation.selective and width == 1 else None,
    )


def _value(source: Any, k: int) -> Any:
    return source[np.uintp(k)]


def _pair(source: Any, k: int) -> Any:
    return source[np.uintp(k), 0], source[np.uintp(k), 1]


def _remove(aggregation: Aggregation, read: Any, write: Any) -> Any:
    invert = jitted(aggregation._invert)  # type: ignore[arg-type]

    @step
    def remove(a: Any, i: int, b: Any, j: int) -> None:
        write(a, i, invert(read(a, i), read(b, j)))

    return remove


def _wins(combine: Any) -> Any:
    @step
    def wins(a: Any, i: int, b: Any, j: int) -> bool:
        older = a[i]
        chosen = combine(older, b[j])
        return not (chosen == older or (chosen != chosen and older != older))

    return wins


def _of_rows(aggregation: Aggregation, flat: Flat) -> Operations:
    width, absorb_row = flat.width, jitted(flat.merge)
    prepare, lift = _LIFTS[type(aggregation)](aggregation, flat)

    @step
    def copy(a: Any, i: int, b: Any, j: int) -> None:
        for part in range(width):
            a[np.uintp(i), part] = b[np.uintp(j), part]

    @step
    def absorb(a: Any, i: int, b: Any, j: int) -> None:
        absorb_row(a[np.uintp(i)], b[np.uintp(j)])

    @step
    def merge(a: Any, i: int, b: Any, j: int, c: Any, k: int) -> None:
        copy(a, i, b, j)
        absorb_row(a[np.uintp(i)], c[np.uintp(k)])

    @step
    def suffixes(a: Any, first: int, last: int, mask: int) -> None:
        for i in range(last - 1, first - 1, -1):
            absorb(a, i & mask, a, (i + 1) & mask)

    @step
    def lower(a: Any, i: int) -> None:
        pass

    return Operations(lambda count: np.zeros((count, width), flat.dtype), prepare, flat.from_row, lift, copy, absorb,
                      merge, suffixes, lower)  # fmt: skip


def _lift_of_bloom(aggregation: Aggregation, flat: Flat) -> tuple[Any, Any]:
    """The bits of a value are looked up, since its hash is not a matter of merging; setting them is compiled."""
    width = flat.width

    def bits(values: Sequence[Any]) -> Array:
        places = [np.flatnonzero(np.unpackbits(_bytes(flat, aggregation.lift(each)), bitorder="little")).tolist()
                  for each in values]  # fmt: skip
        most = max(map(len, places))
        return np.array([each + each[:1] * (most - len(each)) for each in places])

    @step
    def lift(a: Any, i: int, source: Any, k: int) -> None:
        for word in range(width):
            a[i, word] = 0
        for hashed in range(source.shape[1]):
            bit = source[k, hashed]
            a[i, bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)

    return bits, lift


def _bytes(flat: Flat, partial: Any) -> Array:
    words: Array = flat.to_row(partial)
    return words.view(np.uint8)


def _lift_of_moments(aggregation: Aggregation, flat: Flat) -> tuple[Any, Any]:
    width, k_moments = flat.width, (flat.width - 3) // 2

    @step
    def lift(a: Any, i: int, source: Any, k: int) -> None:
        x = source[k]
        if x - x != 0.0:
            for part in range(width):
                a[i, part] = math.nan
            return
        a[i, 0], a[i, 1], a[i, 2] = 1.0, x, x
        log = math.log(x) if x > 0.0 else 0.0
        power = log_power = 1.0
        for moment in range(k_moments):
            power *= x
            log_power *= log
            a[i, 3 + moment] = power
            a[i, 3 + k_moments + moment] = log_power

    return lambda values: np.array(values, "f8"), lift


_LIFTS: dict[type[Aggregation], Callable[[Aggregation, Flat], tuple[Any, Any]]] = {
    sash.Bloom: _lift_of_bloom,
    sash.MomentSketch: _lift_of_moments,
}
