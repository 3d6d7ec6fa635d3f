"""Whether any or all values of a boolean column are true."""

from __future__ import annotations

from sash.aggregations.base import Aggregation, Functions, Sliced, same

__all__ = ["All", "Any"]


def _either(a: bool, b: bool) -> bool:
    return a | b


def _both(a: bool, b: bool) -> bool:
    return a & b


def _refuse_others(value: bool) -> bool:
    if value is not True and value is not False:
        raise TypeError("it takes booleans")
    return value


def _refuse_numbers(value: bool) -> str:
    """Of a column of numbers: nothing that can be compiled."""
    return str(_refuse_others(value))


class _OfBooleans(Aggregation):
    commutative = True
    lifts_booleans = True
    _lift = staticmethod(_refuse_others)

    def columnar(self, kind: str, clean: bool) -> Functions:
        return Functions(same if kind == "b" else _refuse_numbers, self._combine, same)

    def sliced(self, kind: str) -> Sliced:
        return Sliced(self.columnar(kind, clean=False))


class Any(_OfBooleans):
    """Whether any value is true, as SQL's ``BOOL_OR``. Nulls are skipped: without a value it is ``None``.

    Values of other types than booleans are refused. Distributive, commutative.

    >>> import sash
    >>> alarm = sash.Any("hot")
    >>> alarm.lower(alarm.combine(alarm.lift(False), alarm.lift(True)))
    True
    """

    _combine = staticmethod(_either)


class All(_OfBooleans):
    """Whether all values are true, as SQL's ``BOOL_AND``. Nulls are skipped: without a value it is ``None``.

    Values of other types than booleans are refused. Distributive, commutative.

    >>> import sash
    >>> fine = sash.All("ok")
    >>> fine.lower(fine.combine(fine.lift(False), fine.lift(True)))
    False
    """

    _combine = staticmethod(_both)
