"""Aggregations that depend on order: first, last, all values in order, and M4. None of them is commutative."""

from __future__ import annotations

from operator import ne
from typing import Any, NamedTuple

from sash.aggregations.base import Aggregation, Functions, Kind, same
from sash.aggregations.extrema import _larger, _larger_clean, _smaller, _smaller_clean

__all__ = ["M4", "Collect", "CollectDistinct", "Concat", "First", "Last", "M4Result"]


def _older(a: Any, b: Any) -> Any:
    return a


def _younger(a: Any, b: Any) -> Any:
    return b


def _keep(total: Any, oldest: Any) -> Any:
    return total


class First(Aggregation):
    """The oldest value that is not null. Distributive, selective.

    >>> import sash
    >>> first = sash.First()
    >>> first.combine(first.lift("a"), first.lift("b"))
    'a'
    """

    result_column = 0
    selective = True
    _combine = staticmethod(_older)


class Last(Aggregation):
    """The newest value that is not null. Distributive, selective, and invertible: older values never show in it.

    >>> import sash
    >>> last = sash.Last()
    >>> last.combine(last.lift("a"), last.lift("b"))
    'b'
    """

    result_column = 0
    selective = True
    _combine = staticmethod(_younger)
    _invert = staticmethod(_keep)


def _single(value: Any) -> tuple[Any, ...]:
    return (value,)


def _append(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    return a + b


def _drop_prefix(total: tuple[Any, ...], oldest: tuple[Any, ...]) -> tuple[Any, ...]:
    return total[len(oldest) :]


def _to_list(partial: tuple[Any, ...]) -> list[Any]:
    return list(partial)


class Collect(Aggregation):
    """All values in order, as a list. Holistic, invertible; a combine costs the length of its result.

    >>> import sash
    >>> everything = sash.Collect()
    >>> everything.lower(everything.combine(everything.lift(1), everything.lift(2)))
    [1, 2]
    """

    kind = Kind.HOLISTIC
    _lift = staticmethod(_single)
    _combine = staticmethod(_append)
    _lower = staticmethod(_to_list)
    _invert = staticmethod(_drop_prefix)


def _single_hashable(value: Any) -> tuple[Any, ...]:
    hash(value)  # reject an unhashable value before it is part of anything
    return (value,)


def _append_new(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    if any(map(ne, b, b)) and any(map(ne, a, a)):  # NaN, which a dictionary knows by its identity only
        b = tuple([value for value in b if value == value])
    return tuple(dict.fromkeys(a + b))


class CollectDistinct(Aggregation):
    """The distinct values in the order of their first occurrence, as a list. Holistic; values must be hashable.

    Values are distinct if they are not equal, so 1, 1.0 and True are one value, and so are 0.0 and -0.0. All NaNs are
    one value, as in SQL's ``DISTINCT`` and pandas' ``unique``.

    >>> import sash
    >>> kinds = sash.CollectDistinct()
    >>> kinds.lower(kinds.combine(kinds.lift("a"), kinds.lift("a")))
    ['a']
    """

    kind = Kind.HOLISTIC
    _lift = staticmethod(_single_hashable)
    _combine = staticmethod(_append_new)
    _lower = staticmethod(_to_list)


class Concat(Aggregation):
    """The texts in order, joined by ``separator``. Holistic, invertible; a combine costs the length of its result.

    >>> import sash
    >>> path = sash.Concat("step", separator=">")
    >>> path.lower(path.combine(path.lift("home"), path.lift("cart")))
    'home>cart'
    """

    kind = Kind.HOLISTIC
    _options = ("separator",)

    def __init__(self, *columns: str, separator: str = ",", where: str | None = None) -> None:
        super().__init__(*columns, where=where)
        if not isinstance(separator, str):
            raise TypeError(f"separator must be a string; got {separator!r}")
        self.separator = separator

    @staticmethod
    def _lift(value: Any) -> str:
        if not isinstance(value, str):
            raise TypeError("only text can be joined")
        return value

    def _combine(self, a: str, b: str) -> str:
        return a + self.separator + b

    def _invert(self, total: str, oldest: str) -> str:
        return total[len(oldest) + len(self.separator) :]


class M4Result(NamedTuple):
    """What a line chart needs of a stretch of values to be drawn without error (Jugel et al.)."""

    min: Any
    max: Any
    first: Any
    last: Any


def _four(value: Any) -> tuple[Any, ...]:
    return (value, value, value, value)


def _merge_four(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    return (_smaller(a[0], b[0]), _larger(a[1], b[1]), a[2], b[3])


def _merge_four_clean(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    return (_smaller_clean(a[0], b[0]), _larger_clean(a[1], b[1]), a[2], b[3])


def _to_m4(partial: tuple[Any, ...]) -> M4Result:
    return M4Result(*partial)


class M4(Aggregation):
    """Smallest, largest, first and last value together. Algebraic.

    >>> import sash
    >>> chart = sash.M4("load")
    >>> chart.lower(chart.combine(chart.lift(5), chart.lift(2)))
    M4Result(min=2, max=5, first=5, last=2)
    """

    kind = Kind.ALGEBRAIC
    fields = M4Result._fields
    result_tuple = M4Result
    result_column = 0
    _lift = staticmethod(_four)
    _combine = staticmethod(_merge_four)
    _lower = staticmethod(_to_m4)

    def columnar(self, kind: str, clean: bool) -> Functions:
        return Functions(_four, _merge_four_clean if clean else _merge_four, same)
