"""Partials as flat arrays, to and from the shape that they have in rows, and which chunks answer ranges of them.

A skeleton is that shape without types: "x" for a number, a tuple of skeletons for a tuple.

Ranges of them are answered as by SBA. A range of n slices is answered on the level whose chunks have b slices, b the
largest power of two up to n. So it covers the end of the chunk that it begins in, and goes on over at most one whole
chunk into another:

    chunks of b = 4   | . . . . | . . . . | . . . . | . . . .
    a range of 7            [lcs]  whole    csa]

``lcs`` is merged right to left within a chunk, ``csa`` left to right: a range is lcs ⊕ whole ⊕ csa, 2 merges at most,
and a slice takes part in at most 2 more on each level that is in use. Only what a range needs is computed, so a range
that is alone costs the n - 1 merges of its slices. Up to 3 slices take just as few without a chunk.

Ranges are taken in the order of their first chunks, so three chunks are held at a time, whatever the number of slices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sash.values.columns import PartialColumn, unpack

__all__ = [
    "SHORT",
    "Partials",
    "RangeTotals",
    "Unfit",
    "as_column",
    "as_dtype",
    "assign",
    "by_level",
    "concatenate",
    "flat",
    "one_level",
    "slides",
    "take",
]

Array = np.ndarray[Any, Any]

Partials = tuple[Array, ...]
"""Partials of one aggregate, one array a number. The first tells which are real: False is the identity, None."""


class RangeTotals(NamedTuple):
    """Results of ranges: an array, or a tuple of arrays for a result of several parts; which are null (None: none is);
    and how many merges they took."""

    results: Any
    nulls: Array | None
    merges: int


def concatenate(parts: Sequence[Partials]) -> Partials:
    """All partials in one, in order; at least one part."""
    return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


def take(partials: Partials, which: Any) -> Partials:
    """Those of a slice, an array of positions, or a mask. Of a slice it is a view."""
    return tuple(array[which] for array in partials)


def assign(partials: Partials, which: Any, values: Partials) -> None:
    """Put ``values`` in the place of those that ``take`` gives."""
    for array, value in zip(partials, values, strict=True):
        array[which] = value


class Unfit(ValueError):
    """Partials that are not of the wanted shape or types."""


def as_column(valid: Array, arrays: list[Array], skeleton: Any) -> PartialColumn:
    """One array a number to a column; of objects where a number is not one that columns hold."""
    letters = [_letter(array) for array in arrays]
    if all(letters):
        typed = tuple(array.astype(letter) for array, letter in zip(arrays, letters, strict=True))
        return PartialColumn(valid.copy(), _filled(skeleton, iter(letters)), typed)
    rows = unpack(skeleton, iter([array.tolist() for array in arrays]), len(valid))
    return PartialColumn.of([row if real else None for row, real in zip(rows, valid.tolist(), strict=True)])


def _letter(array: Array) -> str:
    if array.dtype.kind == "u" and len(array) and array.max() > np.iinfo(np.int64).max:
        return ""
    return {"b": "?", "i": "q", "u": "q", "f": "d"}.get(array.dtype.kind, "")


def _filled(skeleton: Any, letters: Iterator[str]) -> Any:
    return next(letters) if skeleton == "x" else tuple([_filled(part, letters) for part in skeleton])


def flat(column: PartialColumn, skeleton: Any) -> list[Array]:
    """The numbers of the real partials, an array for each in a partial; Python's own if they were objects."""
    if column.objects is not None:
        return list(_split([partial for partial in column.objects if partial is not None], skeleton))
    if _skeleton(column.shape) != skeleton:
        raise Unfit
    return [array[column.valid] for array in column.arrays]


def _skeleton(shape: Any) -> Any:
    return "x" if isinstance(shape, str) else tuple(map(_skeleton, shape))


def _split(values: list[Any], skeleton: Any) -> Iterator[Array]:
    if skeleton == "x":
        numbers = np.empty(len(values), object)
        numbers[:] = values
        yield numbers
        return
    if any(not isinstance(value, tuple) or len(value) != len(skeleton) for value in values):
        raise Unfit
    for part, each in zip(skeleton, zip(*values, strict=True), strict=True):
        yield from _split(list(each), part)


def as_dtype(values: Array, dtype: np.dtype[Any]) -> Array:
    """The same numbers in another type, or :class:`Unfit`."""
    if values.dtype == object and not all(isinstance(value, int | float) for value in values):
        raise Unfit
    try:
        with np.errstate(all="ignore"):
            converted = values.astype(dtype)
            back = converted.astype(values.dtype)
    except (TypeError, ValueError, OverflowError):
        raise Unfit from None
    same = (back == values) & (converted == values)  # -1 wraps around to an unsigned integer, and back
    if not (same | ((back != back) & (values != values))).all():
        raise Unfit
    return converted


SHORT = 1
"""The level of ranges of up to 3 slices, which are merged one by one, in any order."""


def by_level(lo: Array, hi: Array) -> Iterator[tuple[int, Array | None]]:
    """For each level in use, log₂ b: which ranges are on it, in the order of their first chunks. None: all as they are.

    >>> lo, hi = np.array([5, 7, 1, 1, 0]), np.array([9, 8, 8, 4, 5])
    >>> [(level, which.tolist()) for level, which in by_level(lo, hi)]
    [(1, [1, 3]), (2, [2, 4, 0])]
    """
    if not len(lo):
        return
    if (only := one_level(lo, hi)) is not None:  # the usual case, and fast
        yield only, _by_chunk(lo, only)
        return
    sizes = hi - lo
    levels = np.maximum(np.frexp(sizes)[1] - 1, SHORT)
    order = np.argsort(levels.astype(np.uint8), kind="stable")
    ends = np.cumsum(np.bincount(levels)).tolist()
    for level, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)):
        if begin < end:
            which = order[begin:end]
            by_chunk = _by_chunk(lo[which], level)
            yield level, which if by_chunk is None else which[by_chunk]


def one_level(lo: Array, hi: Array) -> int | None:
    """The level that all ranges are on; None: there are several, or empty ranges."""
    sizes = hi - lo
    if not len(sizes):
        return SHORT
    level = max(SHORT, int(sizes[0]).bit_length() - 1)
    same = ((sizes <= 3) & (sizes > 0)) if level == SHORT else (sizes >> level == 1)
    return level if same.all() else None


def slides(lo: Array, hi: Array) -> bool:
    """Whether neither bound of some ranges ever goes back.

    >>> slides(np.array([0, 0, 3]), np.array([1, 5, 9])), slides(np.array([0, 2, 1]), np.array([4, 5, 6]))
    (True, False)
    """
    return bool((lo[1:] >= lo[:-1]).all() and (hi[1:] >= hi[:-1]).all())


def _by_chunk(lo: Array, level: int) -> Array | None:
    """The order of ranges by their first chunks; None: as they are."""
    chunks = lo >> level
    if level == SHORT or (chunks[1:] >= chunks[:-1]).all():
        return None
    return np.argsort(chunks, kind="stable")
