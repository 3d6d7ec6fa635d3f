"""How many different values there are, exactly, and which is the most frequent one.

A partial holds each value once, sorted, with how often it occurs: that of :mod:`sash.aggregations.quantiles`. Values
are equal as Python has it (1, 1.0 and True are one value), and all NaNs are one value.
"""

from __future__ import annotations

import math
from typing import Any

from sash.aggregations.base import Aggregation, Kind
from sash.aggregations.quantiles import Partial, _combine, _invert, _lift

__all__ = ["ExactDistinctCount", "Mode"]


def _lift_hashable(value: Any) -> Partial:
    hash(value)  # reject an unhashable value before it is part of anything
    return _lift(value)


class _OfValues(Aggregation):
    kind = Kind.HOLISTIC
    commutative = True
    _lift = staticmethod(_lift_hashable)
    _combine = staticmethod(_combine)
    _invert = staticmethod(_invert)

    @property
    def takes_ticks(self) -> bool:
        return False


def _count_distinct(partial: Partial) -> int:
    return len(partial[2]) + (partial[1] > 0)


class ExactDistinctCount(_OfValues):
    """How many different values there are, as SQL's ``COUNT(DISTINCT x)``: exactly, in memory that grows with them.

    0 for a window without values. All NaNs are one value. :class:`sash.DistinctCount` estimates it in a fixed size.

    Holistic, commutative, invertible. With d distinct values a combine costs O(d), a lower O(1).

    >>> import sash
    >>> houses = sash.ExactDistinctCount("house")
    >>> houses.lower(houses.combine(houses.lift("a"), houses.lift("a")))
    1
    """

    empty = 0
    result_kind = int
    _lower = staticmethod(_count_distinct)


def _most_frequent(partial: Partial) -> Any:
    _, nans, values, counts = partial
    most = max(counts, default=0)
    return math.nan if nans > most else values[counts.index(most)]


class Mode(_OfValues):
    """The most frequent value, the smallest of them if several, as the first row of pandas' ``mode``.

    DuckDB's ``mode`` returns the one that comes first instead. All NaNs are one value, larger than all others.

    Holistic, commutative, invertible. With d distinct values a combine and a lower cost O(d).

    >>> import sash
    >>> usual = sash.Mode("load")
    >>> partial = usual.identity
    >>> for load in [7, 3, 3, 7, 1]:
    ...     partial = usual.combine(partial, usual.lift(load))
    >>> usual.lower(partial)
    3
    """

    result_column = 0
    _lower = staticmethod(_most_frequent)
