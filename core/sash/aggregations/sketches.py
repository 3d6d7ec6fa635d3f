"""Mergeable sketches of Apache DataSketches: an answer within a known error from a partial of fixed size.

They need the extra ``sash[sketches]``, which is imported when the first sketch is created. A partial is the serialised
sketch, which other DataSketches libraries can read: the package's objects are mutable, and can be neither compared nor
pickled. A combine reads two sketches and writes one, in 1 to 30 µs (heavy hitters: up to 250).
"""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

from sash.aggregations.base import Aggregation, Kind
from sash.aggregations.bloom import encode
from sash.aggregations.quantiles import shares_of

__all__ = ["DistinctCount", "HeavyHitters", "QuantileSketch"]


@cache
def _library() -> Any:
    try:
        return importlib.import_module("datasketches")
    except ImportError as error:
        raise ImportError('sketches need Apache DataSketches: pip install "sash[sketches]"') from error


class _Sketch(Aggregation):
    kind = Kind.ALGEBRAIC
    commutative = True
    _type: ClassVar[str]
    """The class of the library that a partial is a serialised object of."""

    def __init__(self, *columns: str, where: str | None = None) -> None:
        super().__init__(*columns, where=where)
        _library()  # fail here rather than on the first value

    def _read(self, partial: bytes) -> Any:
        return getattr(_library(), self._type).deserialize(partial)

    def _combine(self, a: bytes, b: bytes) -> bytes:
        sketch = self._read(a)
        sketch.merge(self._read(b))
        return bytes(sketch.serialize())


def _within(name: str, value: Any, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{name} must be a whole number from {low} to {high}; got {value!r}")
    return value


class DistinctCount(_Sketch):
    """About how many different values there are: HyperLogLog with 2**lg_k registers of a byte.

    The standard error is 1.04 / √2**lg_k, 1.6 % at the default; up to about 2**lg_k / 10 values it is nearly exact.
    Values and their equality are as in :class:`Bloom`.

    Algebraic, commutative, not invertible; deterministic. A combine costs O(2**lg_k).

    >>> import sash
    >>> houses = sash.DistinctCount("house")
    >>> round(houses.lower(houses.combine(houses.lift("a"), houses.lift("b"))))
    2
    """

    _type = "hll_sketch"
    _options = ("lg_k",)

    def __init__(self, *columns: str, lg_k: int = 12, where: str | None = None) -> None:
        super().__init__(*columns, where=where)
        self.lg_k = _within("lg_k", lg_k, 4, 21)

    def _lift(self, value: Any) -> bytes:
        sketch = _library().hll_sketch(self.lg_k)
        sketch.update(encode(value).decode("latin-1"))
        return bytes(sketch.serialize_compact())

    def _combine(self, a: bytes, b: bytes) -> bytes:
        library = _library()
        union = library.hll_union(self.lg_k)
        union.update(self._read(a))
        union.update(self._read(b))
        return bytes(union.get_result(library.tgt_hll_type.HLL_8).serialize_compact())

    def _lower(self, partial: bytes) -> float:
        return float(self._read(partial).get_estimate())


_HAS_NAN = b""
"""The partial of values with a NaN among them."""


class QuantileSketch(_Sketch):
    """About the value below which the share ``q`` of the values lies: a KLL sketch of numbers.

    ``q`` may be a sequence; the result is then a tuple. In 99 of 100 cases the rank of a result is off by less than
    1.33 % of the values at k=200; the error falls with 1/k, and below k values there is none. NaN among the values
    makes the result NaN.

    Algebraic, commutative within that error, not invertible. A combine costs O(k) or less. KLL tosses coins, and the
    package offers no seed: above k values, two runs may return different results, each within the error.

    >>> import sash
    >>> load = sash.QuantileSketch("load", q=(0.5, 1.0))
    >>> load.lower(load.combine(load.lift(1), load.lift(2)))
    (1.0, 2.0)
    """

    _type = "kll_doubles_sketch"
    _options = ("q", "k")

    def __init__(self, *columns: str, q: float | Sequence[float] = 0.5, k: int = 200, where: str | None = None) -> None:
        super().__init__(*columns, where=where)
        self.q = shares_of(q, self.name)
        self.k = _within("k", k, 8, 65535)

    def _lift(self, value: Any) -> bytes:
        if not isinstance(value, int | float):
            raise TypeError("it takes numbers")
        if value != value:
            return _HAS_NAN
        sketch = _library().kll_doubles_sketch(self.k)
        sketch.update(float(value))
        return bytes(sketch.serialize())

    def _combine(self, a: bytes, b: bytes) -> bytes:
        return _HAS_NAN if _HAS_NAN in (a, b) else super()._combine(a, b)

    def _lower(self, partial: bytes) -> float | tuple[float, ...]:
        shares = self.q if isinstance(self.q, tuple) else (self.q,)
        if partial == _HAS_NAN:
            values = (math.nan,) * len(shares)
        else:
            values = tuple(self._read(partial).get_quantiles(shares, True))
        return values if isinstance(self.q, tuple) else values[0]


def _canonical(value: Any) -> Any:
    """One form for all equal values: whole numbers become integers."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return tuple(map(_canonical, value))
    if isinstance(value, int | float):
        return int(value) if math.isfinite(value) and value == int(value) else value
    raise TypeError("it takes numbers, text and tuples of them")


def _with_tuples(value: Any) -> Any:
    """The value with the tuples that JSON has turned into lists."""
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value


def _rank(item: Any) -> tuple[int, Any]:
    """A sort key for any mix of items: numbers, NaN the last of them, then text, then tuples."""
    if isinstance(item, tuple):
        return (3, tuple(map(_rank, item)))
    if isinstance(item, str):
        return (2, item)
    return (0, item) if item == item else (1, 0)


class HeavyHitters(_Sketch):
    """The values that make up more than ``share`` of all: a list of (value, about how often), by frequency.

    Misra-Gries counters (DataSketches' frequent items) count at most 0.75 · 2**lg_max_k different values at a time. Up
    to that the counts are exact; beyond it they are off by at most 3.5 / 2**lg_max_k of all values (0.34 % at the
    default). A value above both ``share`` and that error is never missing; one below ``share`` by less than the error
    may be listed. Equal counts are sorted by value. Values are numbers, text and tuples of them; equal numbers are one.

    Algebraic, commutative within the error, not invertible; deterministic. A combine costs O(2**lg_max_k).

    >>> import sash
    >>> houses = sash.HeavyHitters("house", share=0.4)
    >>> partial = houses.lift("a")
    >>> for house in ["b", "a", "c", "a"]:
    ...     partial = houses.combine(partial, houses.lift(house))
    >>> houses.lower(partial)
    [('a', 3)]
    """

    _type = "frequent_strings_sketch"
    _options = ("lg_max_k", "share")

    def __init__(self, *columns: str, lg_max_k: int = 10, share: float = 0.01, where: str | None = None) -> None:
        super().__init__(*columns, where=where)
        self.lg_max_k = _within("lg_max_k", lg_max_k, 3, 26)
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < 1:
            raise ValueError(f"share must be a number from 0 to below 1; got {share!r}")
        self.share = float(share)

    def _lift(self, value: Any) -> bytes:
        sketch = _library().frequent_strings_sketch(self.lg_max_k)
        sketch.update(json.dumps(_canonical(value)))  # text, because the package hashes objects by hash()
        return bytes(sketch.serialize())

    def _lower(self, partial: bytes) -> list[tuple[Any, int]]:
        sketch = self._read(partial)
        frequent = sketch.get_frequent_items(_library().NO_FALSE_NEGATIVES, int(self.share * sketch.total_weight))
        items = [(_with_tuples(json.loads(text)), int(estimate)) for text, estimate, _, _ in frequent]
        return sorted(items, key=lambda item: (-item[1], _rank(item[0])))
