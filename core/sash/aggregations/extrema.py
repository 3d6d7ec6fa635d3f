"""Smallest and largest: the value, how often it occurs, and where.

NaN wins over every number, in both directions, as in NumPy; among equals the first wins. Values only need an order
(``<``), so text and timestamps work too. Columns without NaN have functions that compile to one instruction.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation, Functions, Kind, Sliced

__all__ = ["ArgMax", "ArgMin", "Max", "MaxCount", "Min", "MinCount"]


def _larger(a: Any, b: Any) -> Any:
    return a if a >= b or a != a else b


def _smaller(a: Any, b: Any) -> Any:
    return a if a <= b or a != a else b


def _larger_clean(a: Any, b: Any) -> Any:
    return b if b > a else a


def _smaller_clean(a: Any, b: Any) -> Any:
    return b if b < a else a


class _Extremum(Aggregation):
    result_column = 0
    commutative = True
    selective = True


class Max(_Extremum):
    """The largest value. Distributive, commutative, selective.

    >>> import sash
    >>> sash.Max("load")
    Max('load')
    """

    _combine = staticmethod(_larger)
    _combine_clean = staticmethod(_larger_clean)


class Min(_Extremum):
    """The smallest value. Distributive, commutative, selective.

    >>> import sash
    >>> low = sash.Min()
    >>> low.combine(low.lift(2.0), low.lift(float("nan")))
    nan
    """

    _combine = staticmethod(_smaller)
    _combine_clean = staticmethod(_smaller_clean)


def _larger_first(a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
    return a if a[0] >= b[0] or a[0] != a[0] else b


def _smaller_first(a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
    return a if a[0] <= b[0] or a[0] != a[0] else b


def _value_once(value: Any) -> tuple[Any, int]:
    return (value, 1)


def _larger_or_add(a: tuple[Any, int], b: tuple[Any, int]) -> tuple[Any, int]:
    if a[0] == b[0] or (a[0] != a[0] and b[0] != b[0]):
        return (a[0], a[1] + b[1])
    return a if a[0] > b[0] or a[0] != a[0] else b


def _smaller_or_add(a: tuple[Any, int], b: tuple[Any, int]) -> tuple[Any, int]:
    if a[0] == b[0] or (a[0] != a[0] and b[0] != b[0]):
        return (a[0], a[1] + b[1])
    return a if a[0] < b[0] or a[0] != a[0] else b


def _second(partial: tuple[Any, Any]) -> Any:
    return partial[1]


class _ExtremumCount(Aggregation):
    kind = Kind.ALGEBRAIC
    commutative = True
    _lift = staticmethod(_value_once)
    _lower = staticmethod(_second)


class MaxCount(_ExtremumCount):
    """How often the largest value occurs. Algebraic, commutative, neither invertible nor selective.

    >>> import sash
    >>> often = sash.MaxCount()
    >>> often.lower(often.combine(often.lift(7), often.lift(7)))
    2
    """

    _combine = staticmethod(_larger_or_add)


class MinCount(_ExtremumCount):
    """How often the smallest value occurs. Algebraic, commutative, neither invertible nor selective.

    >>> import sash
    >>> often = sash.MinCount()
    >>> often.lower(often.combine(often.lift(7), often.lift(3)))
    1
    """

    _combine = staticmethod(_smaller_or_add)


def _pair(value: Any) -> tuple[Any, Any]:
    measure, argument = value
    return (measure, argument)


def _larger_first_clean(a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
    return b if b[0] > a[0] else a


def _smaller_first_clean(a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
    return b if b[0] < a[0] else a


def _pair_with_null(value: Any) -> tuple[Any, Any, Any]:
    measure, argument, null = value
    return (measure, argument, null)


def _argument(partial: tuple[Any, Any, Any]) -> Any:
    return None if partial[2] else partial[1]


def _pairs_to_rows(measure: Any, argument: Any, null: Any) -> tuple[Any, Any]:
    if not null.any():
        return (measure, argument)
    argument = argument.astype(object)
    argument[null] = None
    return (measure, argument)


def _pairs_from_rows(measure: Any, argument: Any) -> tuple[Any, Any, Any]:
    if argument.dtype != object:
        return (measure, argument, np.zeros(len(argument), np.bool_))
    null = np.array([value is None for value in argument], np.bool_)
    filled = argument.copy()
    filled[null] = False
    return (measure, filled, null)


class _Arg(Aggregation):
    arity = 2
    result_column = 1
    carried = (1,)
    kind = Kind.ALGEBRAIC
    selective = True
    _lift = staticmethod(_pair)
    _lower = staticmethod(_second)

    def lift(self, value: Any) -> Any:
        try:
            measure, _ = value
        except (TypeError, ValueError):
            raise TypeError(f"{self!r} takes pairs (measure, argument); got {value!r}") from None
        return None if measure is None else super().lift(value)

    def sliced_with_nulls(self, kind: str) -> Sliced:
        return Sliced(Functions(_pair_with_null, self._combine, _argument), _pairs_to_rows, _pairs_from_rows)


class ArgMax(_Arg):
    """``ArgMax(measure, argument)``: the argument of the row with the largest measure, the first of them if several.

    Rows without a measure are skipped; the argument may be null. Algebraic, selective, not commutative (ties).

    >>> import sash
    >>> who = sash.ArgMax("load", "house")
    >>> who.lower(who.combine(who.lift((5, "a")), who.lift((5, "b"))))
    'a'
    """

    _combine = staticmethod(_larger_first)
    _combine_clean = staticmethod(_larger_first_clean)


class ArgMin(_Arg):
    """``ArgMin(measure, argument)``: the argument of the row with the smallest measure, the first of them if several.

    Rows without a measure are skipped; the argument may be null. Algebraic, selective, not commutative (ties).

    >>> import sash
    >>> who = sash.ArgMin("load", "house")
    >>> who.lower(who.combine(who.lift((5, "a")), who.lift((4, "b"))))
    'b'
    """

    _combine = staticmethod(_smaller_first)
    _combine_clean = staticmethod(_smaller_first_clean)
