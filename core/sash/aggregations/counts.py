"""Counting: rows, or the values of a column that are not null."""

from __future__ import annotations

from typing import Any

from sash.aggregations.base import Aggregation

__all__ = ["Count"]


def _one(value: Any) -> int:
    return 1


def _add(a: int, b: int) -> int:
    return a + b


def _subtract(total: int, oldest: int) -> int:
    return total - oldest


class Count(Aggregation):
    """``Count()`` counts rows, nulls included; ``Count("x")`` the values of ``x`` that are not null, as SQL does.

    An empty window's count is 0. Distributive, commutative, invertible.

    >>> import sash
    >>> rows, values = sash.Count(), sash.Count("x")
    >>> rows.lower(rows.lift(None)), values.lower(values.lift(None))
    (1, 0)
    """

    empty = 0
    commutative = True
    _lift = staticmethod(_one)
    _combine = staticmethod(_add)
    _invert = staticmethod(_subtract)

    @property
    def takes_ticks(self) -> bool:
        return True

    def lift(self, value: Any) -> int | None:
        return None if value is None and self.columns else 1
