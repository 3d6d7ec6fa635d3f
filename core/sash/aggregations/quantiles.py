"""Exact quantiles from sorted runs.

As in general stream slicing, a partial is sorted and run-length encoded, so that a merge is one linear pass and a
repeated value is kept once:

    (count, nans, values, counts)     e.g.  3, 1, 3, NaN  is  (3, 1, (1, 3), (1, 2))

``values`` are distinct and ascending, ``counts[i]`` says how often ``values[i]`` occurs, and ``count`` is their sum: if
it equals ``len(values)`` nothing repeats, which both merging and lowering use. NaN has no order and is counted apart:
while a window holds one its quantiles are NaN, as in NumPy.

The merge takes the cheapest of three ways. A few values are inserted into many by bisection. Two runs without a common
value are concatenated and sorted: timsort merges them at the speed of C. All others go through a dictionary, so values
must be hashable.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate, islice
from numbers import Real
from operator import eq
from typing import Any, ClassVar

import numpy as np

from sash.aggregations.base import Aggregation, Kind

__all__ = ["Median", "Quantile"]

_NUMBERS = (int, float, Fraction)
_MEASURES = (*_NUMBERS, Decimal, datetime, timedelta, np.datetime64, np.timedelta64)

Run = tuple[tuple[Any, ...], tuple[int, ...]]
Partial = tuple[int, int, tuple[Any, ...], tuple[int, ...]]


def _lift(value: Any) -> Partial:
    value < value  # noqa: B015 - reject a value without an order before it is part of anything
    return (1, 0, (value,), (1,)) if value == value else (0, 1, (), ())


def _few(some: Partial, many: Partial) -> bool:
    """Whether bisection is faster (measured); the limit of 64 keeps insertion into a long list linear."""
    return len(some[2]) <= 64 and 16 * len(some[2]) <= len(many[2])


def _combine(a: Partial, b: Partial) -> Partial:
    if len(a[2]) < len(b[2]):
        a, b = b, a
    count, nans = a[0] + b[0], a[1] + b[1]
    if _few(b, a):
        return (count, nans, *_insert(a[2:], b[2:]))
    if count == len(a[2]) + len(b[2]):
        merged = sorted(a[2] + b[2])
        if not any(map(eq, merged, islice(merged, 1, None))):
            return (count, nans, tuple(merged), a[3] + b[3])
    return (count, nans, *_merge(a[2:], b[2:]))


def _insert(many: Run, few: Run) -> Run:
    if not few[0]:
        return many
    values, counts = list(many[0]), list(many[1])
    for value, count in zip(*few, strict=True):
        place = bisect_left(values, value)
        if place < len(values) and values[place] == value:
            counts[place] += count
        else:
            values.insert(place, value)
            counts.insert(place, count)
    return (tuple(values), tuple(counts))


def _merge(a: Run, b: Run) -> Run:
    merged = dict(zip(*a, strict=True))
    for value, count in zip(*b, strict=True):
        merged[value] = merged.get(value, 0) + count
    if len(merged) == len(a[0]):
        return (a[0], tuple(merged.values()))
    values = tuple(sorted(merged))
    return (values, tuple(map(merged.__getitem__, values)))


def _invert(total: Partial, oldest: Partial) -> Partial:
    take = _take_few if _few(oldest, total) else _take_many
    rest = take(total[2:], oldest[2:])
    return (total[0] - oldest[0], total[1] - oldest[1], *rest)


def _take_few(many: Run, few: Run) -> Run:
    values, counts = list(many[0]), list(many[1])
    for value, count in zip(*few, strict=True):
        place = bisect_left(values, value)
        if counts[place] == count:
            del values[place], counts[place]
        else:
            counts[place] -= count
    return (tuple(values), tuple(counts))


def _take_many(many: Run, some: Run) -> Run:
    left = dict(zip(*many, strict=True))
    for value, count in zip(*some, strict=True):
        if left[value] == count:
            del left[value]
        else:
            left[value] -= count
    return (tuple(left), tuple(left.values()))


def _neighbours(partial: Partial, index: int) -> tuple[Any, Any]:
    """The sorted, unencoded values at ``index`` and ``index + 1``; the last value is its own successor."""
    count, _, values, counts = partial
    if count == len(values):
        return (values[index], values[min(index + 1, count - 1)])
    ends = list(accumulate(counts))
    place = bisect_right(ends, index)
    return (values[place], values[bisect_right(ends, min(index + 1, count - 1), lo=place)])


def between(a: Any, b: Any, fraction: float) -> Any:
    """The point ``fraction`` of the way from ``a`` to ``b``, rounded as NumPy rounds it."""
    if isinstance(a, _NUMBERS) and isinstance(b, _NUMBERS):
        a, b = float(a), float(b)
        if a == b:
            return a
        if math.isinf(b - a):
            return a * (1.0 - fraction) + b * fraction
        return a + (b - a) * fraction if fraction < 0.5 else b - (b - a) * (1.0 - fraction)
    return a + (b - a) * (Decimal(fraction) if isinstance(a, Decimal) else fraction)


def _linear(partial: Partial, position: float) -> Any:
    below = math.floor(position)
    return between(*_neighbours(partial, below), position - below)


_INTERPOLATIONS: dict[str, Callable[[Partial, float], Any]] = {
    "linear": _linear,
    "lower": lambda partial, position: _neighbours(partial, math.floor(position))[0],
    "higher": lambda partial, position: _neighbours(partial, math.ceil(position))[0],
    "nearest": lambda partial, position: _neighbours(partial, round(position))[0],
}


def share_of(q: Any, name: str) -> float:
    """``q`` as a float. Raises unless it is a number from 0 to 1."""
    if q is None:
        raise TypeError(f'{name} needs q, the share of the values below it: {name}("load", q=0.9)')
    if isinstance(q, bool) or not isinstance(q, Real):
        raise TypeError(f"q must be a number between 0 and 1; got {q!r}")
    share = float(q)
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"q must be between 0 and 1; got {q!r}")
    return share


def shares_of(q: Any, name: str) -> float | tuple[float, ...]:
    """As :func:`share_of`, for a ``q`` that may be a sequence of shares."""
    if not isinstance(q, list | tuple | np.ndarray):
        return share_of(q, name)
    if not len(q):
        raise ValueError(f"{name} needs at least one q; got {q!r}")
    return tuple(share_of(share, name) for share in q)


class Quantile(Aggregation):
    """``Quantile("load", 0.9)``: the value below which the share ``q`` of the values lies.

    It is at place ``q·(n-1)`` of the sorted values, as in ``numpy.quantile``, pandas and SQL's ``percentile_cont``.
    Between two values ``interpolation`` decides: ``"linear"`` (numbers, durations, timestamps; integers give a float),
    or ``"lower"``, ``"higher"`` and ``"nearest"`` (half to even), which pick one of the two and work for anything with
    an order, such as text.

    Holistic, commutative, invertible. With d distinct values a combine, an invert and a lower cost O(d), a lower O(1)
    if no value repeats.

    >>> import sash
    >>> high = sash.Quantile("load", 0.9)
    >>> high
    Quantile('load', q=0.9, interpolation='linear')
    >>> high.lower(high.combine(high.lift(10), high.lift(20)))
    19.0
    """

    kind = Kind.HOLISTIC
    commutative = True
    by_ranks = True
    _combine = staticmethod(_combine)
    _invert = staticmethod(_invert)
    _options: ClassVar[tuple[str, ...]] = ("q", "interpolation")

    def __init__(
        self, *columns: str | float, q: float | None = None, interpolation: str = "linear", where: str | None = None
    ) -> None:
        names: tuple[Any, ...] = columns
        if q is None and names and not isinstance(names[-1], str):
            names, q = names[:-1], names[-1]
        super().__init__(*names, where=where)
        self.q = share_of(q, self.name)
        if interpolation not in _INTERPOLATIONS:
            raise ValueError(f"interpolation must be one of {list(_INTERPOLATIONS)}; got {interpolation!r}")
        self.interpolation = interpolation

    def _lift(self, value: Any) -> Partial:
        if self.interpolation == "linear" and not isinstance(value, _MEASURES):
            raise TypeError(
                "linear interpolation needs numbers, durations or timestamps; "
                "interpolation='lower' or 'higher' takes anything that has an order"
            )
        return _lift(value)

    def _lower(self, partial: Partial) -> Any:
        count, nans, _, _ = partial
        return math.nan if nans else _INTERPOLATIONS[self.interpolation](partial, self.q * (count - 1))


class Median(Quantile):
    """The middle value, or the mean of the two in the middle: :class:`Quantile` at 0.5, with its costs.

    >>> import sash
    >>> middle = sash.Median("load")
    >>> middle.lower(middle.combine(middle.lift(1), middle.lift(2)))
    1.5
    """

    _options = ("interpolation",)

    def __init__(self, *columns: str, interpolation: str = "linear", where: str | None = None) -> None:
        super().__init__(*columns, q=0.5, interpolation=interpolation, where=where)
