"""The types of results, known from the types of the input before any row.

An aggregation is tried on two sample values of each of its columns. This shows the type of its results, and whether it
can aggregate such columns at all. What a trial cannot show, for example that the items of a list are values of a
column, is declared here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Protocol, TypeVar

from sash.aggregations import (
    M4,
    Aggregation,
    All,
    ArgMax,
    ArgMin,
    Bloom,
    Collect,
    CollectDistinct,
    Count,
    ExactDistinctCount,
    ExponentialMean,
    First,
    GeometricMean,
    HeavyHitters,
    Last,
    Max,
    MaxCount,
    Mean,
    Min,
    MinCount,
    Mode,
    PopulationStdDev,
    PopulationVariance,
    Product,
    Sum,
)
from sash.aggregations.truth import Any as AnyTrue

__all__ = [
    "Like",
    "ListOf",
    "Plain",
    "ResultType",
    "Struct",
    "TypeSystem",
    "declared_type",
    "never_null",
    "resolve",
    "result_type",
]


Kind = TypeVar("Kind")
"""A type of a library or an engine."""


@dataclass(frozen=True)
class Like:
    """A value of an input column, counted from 0."""

    column: int


@dataclass(frozen=True)
class Plain:
    """A value of a Python type. ``exact`` marks a sum, with the decimal places of the input, or an unsigned integer."""

    type: type
    exact: bool = False


@dataclass(frozen=True)
class ListOf:
    """A list with items of one type."""

    item: ResultType


@dataclass(frozen=True)
class Struct:
    """A result of several named parts."""

    fields: tuple[tuple[str, ResultType], ...]


ResultType = Like | Plain | ListOf | Struct

# the first that matches counts: True is an int, too
_PLAIN = (bool, int, float, str, bytes, Decimal, datetime, date, time, timedelta)
_TOTAL: set[type[Aggregation]] = {Sum, Mean, GeometricMean, PopulationStdDev, Min, Max, First, Last, M4, ArgMin, ArgMax}
_TOTAL |= {Collect, CollectDistinct, MinCount, MaxCount, Mode, All, AnyTrue}
_TOTAL |= {PopulationVariance, Product, ExponentialMean}


def never_null(aggregation: Aggregation, columns_have_nulls: bool) -> bool:
    """Whether every window that holds a tuple has a result. O(1).

    >>> import sash
    >>> never_null(sash.Max("load"), columns_have_nulls=False), never_null(sash.Max("load"), columns_have_nulls=True)
    (True, False)
    """
    if isinstance(aggregation, Count | ExactDistinctCount):
        return True
    return type(aggregation) in _TOTAL and not columns_have_nulls and aggregation.where is None


def result_type(aggregation: Aggregation, samples: Sequence[Sequence[Any]]) -> ResultType:
    """The type of an aggregation's results over columns with these two sample values each, the smaller first.

    ``TypeError`` if it cannot aggregate them, or if two values do not show what the results are. O(columns).

    >>> import sash
    >>> result_type(sash.Mean("load"), [(1, 2)]), result_type(sash.ArgMax("load", "plug"), [(1, 2), ("a", "b")])
    (Plain(type=<class 'float'>, exact=False), Like(column=1))
    """
    if aggregation.where is not None:
        *samples, flags = samples
        if not isinstance(flags[0], bool):
            raise TypeError(
                f"{aggregation!r} cannot filter by column {aggregation.where!r}: where= takes booleans, not values of "
                f"type {type(flags[0]).__name__}"
            )
    result = _sample_result(aggregation.unfiltered, samples)
    if isinstance(aggregation, Count):
        return Plain(int)
    if aggregation.result_kind is not None:
        return Plain(aggregation.result_kind)
    if aggregation.fields:
        like = Like(aggregation.result_column or 0)
        return Struct(tuple((name, like) for name in aggregation.fields))
    if aggregation.result_column is not None:
        return Like(aggregation.result_column)
    if isinstance(aggregation, Collect | CollectDistinct):
        return ListOf(Like(0))
    if isinstance(aggregation, Bloom):
        return Plain(bytes)
    if isinstance(aggregation, HeavyHitters):
        value = Plain(int) if isinstance(samples[0][0], bool) else Like(0)
        return ListOf(Struct((("value", value), ("count", Plain(int)))))
    return _type_of(result, aggregation, exact=isinstance(aggregation, Sum))


def _sample_result(aggregation: Aggregation, samples: Sequence[Sequence[Any]]) -> Any:
    rows = list(zip(*samples, strict=True)) if samples else [(), ()]
    values = [row[0] if len(row) == 1 else row or None for row in rows]
    try:
        older, newer = map(aggregation.lift, values)
        return aggregation.lower(aggregation.combine(older, newer))
    except Exception as error:  # a user's functions may raise anything
        types = ", ".join(type(value).__name__ for value in rows[0])
        if str(error).startswith(f"{aggregation!r} cannot"):
            raise TypeError(str(error)) from error
        raise TypeError(f"{aggregation!r} cannot aggregate values of type {types}: {error}") from error


def _type_of(result: Any, aggregation: Aggregation, exact: bool = False) -> ResultType:
    for known in _PLAIN:
        if isinstance(result, known):
            unsigned = isinstance(result, int) and result >= 2**63  # a value of an unsigned column
            return Plain(known, (exact and known in (Decimal, int, timedelta)) or unsigned)
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return Struct(
            tuple((name, _type_of(part, aggregation)) for name, part in zip(result._fields, result, strict=True))
        )
    if isinstance(result, dict) and result and all(isinstance(name, str) for name in result):
        return Struct(tuple((name, _type_of(part, aggregation)) for name, part in result.items()))
    if isinstance(result, list | tuple) and result:
        items = {_type_of(item, aggregation) for item in result}
        if len(items) == 1:
            return ListOf(items.pop())
        if isinstance(result, tuple):
            return Struct(tuple((f"_{i}", _type_of(part, aggregation)) for i, part in enumerate(result, 1)))
    raise TypeError(f"the type of the results of {aggregation!r} cannot be inferred from {result!r}")


class TypeSystem(Protocol[Kind]):
    """The types of a library or an engine: sample values of a column, and the types of results."""

    def samples(self, kind: Kind) -> tuple[Any, Any]:
        """Two values that a column of this type can hold, the smaller first; TypeError if there are none."""

    def plain(self, kind: type, exact: bool, columns: Sequence[Kind]) -> Kind:
        """The type for a Python type other than decimals, over columns of these types."""

    def digits(self, kind: Kind) -> tuple[int, int, int] | None:
        """The precision, the scale and the largest possible precision of a decimal type; None for other types."""

    def decimal(self, precision: int, scale: int) -> Kind: ...
    def list_of(self, item: Kind) -> Kind: ...
    def struct(self, fields: list[tuple[str, Kind]]) -> Kind: ...


def resolve(result: ResultType, columns: Sequence[Kind], system: TypeSystem[Kind]) -> Kind:
    """The type of results in a system, over columns of these types. O(fields)."""
    match result:
        case Like(column):
            return columns[column]
        case ListOf(item):
            return system.list_of(resolve(item, columns, system))
        case Struct(fields):
            return system.struct([(name, resolve(part, columns, system)) for name, part in fields])
        case Plain(type=kind, exact=exact):
            if kind is Decimal:
                return system.decimal(*_digits(columns, exact, system))
            return system.plain(kind, exact, columns)


def _digits(columns: Sequence[Kind], exact: bool, system: TypeSystem[Kind]) -> tuple[int, int]:
    """As in SQL: a sum has ten more digits; a quotient has four more, after the point."""
    known = [digits for column in columns if (digits := system.digits(column)) is not None]
    if not known:
        return 38, 18
    precision, scale, most = max(known, key=lambda digits: digits[1])
    return (min(most, precision + 10), scale) if exact else (min(most, precision + 4), min(most, scale + 4))


def declared_type(aggregation: Aggregation, columns: Sequence[Kind], system: TypeSystem[Kind]) -> Kind:
    """The type of an aggregation's results over columns of these types, in a system. O(columns).

    ``TypeError`` if it cannot aggregate such columns, or if two values do not show what the results are.
    """
    result = result_type(aggregation, [system.samples(column) for column in columns])
    return resolve(result, columns[: len(aggregation.inputs)], system)
