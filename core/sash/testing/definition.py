"""The windows of a list of values and what aggregates to what, as naively as it can be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sash.aggregations.base import Aggregation

__all__ = ["count_windows", "naive"]


def count_windows(values: Sequence[Any], range_: int, slide: int = 1) -> list[list[Any]]:
    """The full windows of W[range, slide]: window i has the values i·slide … i·slide + range - 1.

    >>> count_windows("abcdefg", 4, 2)
    [['a', 'b', 'c', 'd'], ['c', 'd', 'e', 'f']]
    """
    return [list(values[start : start + range_]) for start in range(0, len(values) - range_ + 1, slide)]


def naive(aggregation: Aggregation, values: Sequence[Any]) -> Any:
    """The result over ``values``, merged one after the other.

    >>> import sash
    >>> naive(sash.Concat(), ["a", "b", "c"])
    'a,b,c'
    """
    total = None
    for value in values:
        total = aggregation.combine(total, aggregation.lift(value))
    return aggregation.lower(total)
