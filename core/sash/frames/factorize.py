"""Which rows have the same key: codes in the order of first appearance."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from sash.frames.frame import Frame
from sash.values.arrays import Array, data_of, mask_of

__all__ = ["factorize"]


def factorize(frame: Frame, keys: Sequence[str]) -> tuple[Array, dict[str, Array]]:
    """The number of each row's key, from 0 in the order of first appearance, and the distinct keys' columns.

    Null is a key like any other, and so is NaN. Costs a pass or two over each column where numbers lie close together
    or the library that it is from hashes it, a hash of every value otherwise.

    >>> from sash.frames import columns_of
    >>> codes, distinct = factorize(columns_of({"plug": ["b", "a", None, "b"]}, ["plug"]), ["plug"])
    >>> codes, distinct
    (array([0, 1, 2, 0]), {'plug': array(['b', 'a', None], dtype=object)})
    """
    if not keys:
        return np.zeros(len(frame), np.int64), {}
    codes, size = _column(frame, keys[0])
    for key in keys[1:]:
        more, of = _column(frame, key)
        if size * of >= 2**62:
            codes, size = _dense(codes)
        codes, size = codes * of + more, size * of
    codes, first = _by_appearance(*(_dense(codes) if size > 4 * len(codes) + 1024 else (codes, size)))
    return codes, {key: frame.take(key, first) for key in keys}


def _by_appearance(codes: Array, size: int) -> tuple[Array, Array]:
    """Codes below ``size`` numbered anew in the order of appearance, and the row in which each appears first."""
    distinct = np.count_nonzero(np.bincount(codes, minlength=size))
    first = np.full(size, -1, np.int64)
    upto = 16 * distinct + 1024  # keys mostly appear early
    while True:
        head = codes[:upto]
        first[head[::-1]] = np.arange(len(head) - 1, -1, -1)  # the last to be written is the first row
        order = first[first >= 0]
        if len(order) == distinct:
            break
        upto *= 4
    order.sort()
    number = np.empty(size, np.int64)
    number[codes[order]] = np.arange(len(order))
    return number[codes], order


def _column(frame: Frame, key: str) -> tuple[Array, int]:
    """Codes of one column, from 0, and a number above them all."""
    codes = frame.codes(key)
    if codes is not None:
        codes = codes + 1 if len(codes) and codes.min() < 0 else codes
        return codes, int(codes.max(initial=-1)) + 1
    array = frame[key]
    nulls = mask_of(array)
    if nulls is None:
        return _dense(_bits(array, key))
    codes, size = _dense(_bits(data_of(array), key))
    return np.where(nulls, size, codes), size + 1


def _bits(array: Array, key: str) -> Array:
    """Whole numbers that are equal where the values are."""
    kind = array.dtype.kind
    if kind in "OUSV" or array.dtype.itemsize > 8:
        return _hashed(array.tolist(), key)
    if kind == "f":
        array = array.astype(np.float64) + 0.0  # of the two zeros the positive one
        array[np.isnan(array)] = np.nan
    if kind in "fmMc":
        return array.view(np.int64)
    return array.astype(np.int64, copy=False)


def _hashed(values: list[Any], key: str) -> Array:
    """The numbers that a dict gives to the values, as it does to keys of rows."""
    try:
        table: dict[Any, int] = dict(zip(dict.fromkeys(values), count()))
    except TypeError as error:
        row = next(row for row, value in enumerate(values) if not _hashable(value))
        raise TypeError(f"column {key!r}, row {row}: {values[row]!r} cannot be a key: {error}") from error
    nans = [value for value in table if value != value]
    for value in nans:
        table[value] = table[nans[0]]
    return np.fromiter(map(table.__getitem__, values), np.int64, len(values))


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _dense(numbers: Array) -> tuple[Array, int]:
    """Codes of whole numbers: their distances to the least, unless these far exceed the number of rows."""
    if not len(numbers):
        return numbers, 0
    least, most = int(numbers.min()), int(numbers.max())
    if most - least <= 2 * len(numbers) + 1024:
        return numbers - least if least else numbers, most - least + 1
    if (pandas := sys.modules.get("pandas")) is not None:
        codes, distinct = pandas.factorize(numbers)
        return codes.astype(np.int64, copy=False), len(distinct)
    distinct, codes = np.unique(numbers, return_inverse=True)
    return codes.astype(np.int64, copy=False), len(distinct)
