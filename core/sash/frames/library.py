"""What Sash needs of every library of tables (pandas, polars, Arrow, Python itself), and types in Python's terms.

No library is imported: whoever has data of its kind has imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, NamedTuple, Protocol

from sash.aggregations.base import Aggregation
from sash.aggregations.result_types import TypeSystem, declared_type
from sash.values.arrays import Array, Nan, objects, ticks_of, to_list
from sash.values.columns import StructColumn

__all__ = ["Library", "LibraryTypes", "Shape"]

_SAMPLES: dict[type, tuple[Any, Any]] = {
    bool: (False, True),
    int: (1, 2),
    float: (1.5, 2.5),
    str: ("a", "b"),
    bytes: (b"a", b"b"),
    date: (date(2024, 3, 1), date(2024, 3, 2)),
    datetime: (datetime(2024, 3, 1), datetime(2024, 3, 2)),
    time: (time(1), time(2)),
    timedelta: (timedelta(seconds=1), timedelta(seconds=2)),
}
_WIDE = Context(prec=77)


class Library(Protocol):
    """How to read and create one library's tables. A ``column`` is one of the library's."""

    package: str = ""

    @property
    def module(self) -> Any:
        """The library, if it has been imported."""
        return sys.modules.get(self.package)

    @property
    def types(self) -> LibraryTypes | None:
        """Its types; None: columns do not imply those of results."""
        return None

    def is_table(self, data: Any) -> bool: ...
    def is_column(self, column: Any) -> bool: ...
    def column(self, data: Any, name: str) -> Any: ...
    def array(self, column: Any, nan: Nan = "null") -> Array: ...
    def zone(self, column: Any) -> str | None: ...
    def take(self, column: Any, rows: Array) -> Any: ...
    def codes(self, column: Any, nan: Nan = "null") -> Array | None: ...
    def make_column(self, values: Array | StructColumn, like: Any, kind: Any = None) -> Any: ...

    def open_table(self, data: Any, names: Sequence[str]) -> Any:
        """The table with at least the columns of these names, all rows read."""
        return data

    def names(self, data: Any) -> Iterable[str]:
        return list(data.columns)

    def type_of(self, column: Any) -> Any:
        return column.dtype

    def same_rows(self, column: Any, other: Any) -> bool:
        """Whether the values of two columns belong to the same rows."""
        return len(column) == len(other)

    def beside(self, column: Any, like: Any) -> Any:
        """A new column with the name of ``like``, of whose rows its values are."""
        return column.alias(like.name)

    def objects_of(self, values: Array, like: Any) -> Array:
        """Values as the library's objects, in the zone of ``like``."""
        return objects(to_list(values, self.zone(like)))

    def result_type(self, aggregation: Aggregation, columns: Sequence[Any]) -> Any:
        """The type of an aggregation's results; None if it cannot aggregate such columns: its rows will say why."""
        if (types := self.types) is None:
            return None
        try:
            return declared_type(aggregation, [self.type_of(column) for column in columns], types)
        except TypeError:
            return None

    def make_table(self, columns: dict[str, Any], data: Any, sources: dict[str, Any]) -> Any:
        """A table of the kind of ``data``, whose columns that were read are ``sources``."""
        return self.module.DataFrame(columns)


class Shape(NamedTuple):
    """A column's type in Python's terms: lists have one of ``fields``, structures (dicts) several, by name."""

    type: type
    unit: str = "us"
    zone: Any = None
    scale: int = 0
    unsigned: int = 0
    """Bits of an integer without a sign."""
    fields: tuple[tuple[str, Any], ...] = ()


class LibraryTypes(TypeSystem[Any]):
    """The :class:`~sash.aggregations.result_types.TypeSystem` of a library, by the shapes of its types."""

    python_types: dict[type, Any]
    """The library's types for Python's own; for datetimes a function of unit and zone, for timedeltas of the unit."""
    uint64: Any

    def shape(self, kind: Any) -> Shape | None:
        """A type in Python's terms; None: its values can be anything."""
        raise NotImplementedError

    def samples(self, kind: Any) -> tuple[Any, Any]:
        """Two values that a column of this type can have, the smaller first."""
        shape = self.shape(kind)
        if shape is None:
            raise TypeError(f"values of type {kind} cannot be aggregated")
        if shape.type is Decimal:
            return Decimal(1).scaleb(-shape.scale), Decimal(2).scaleb(-shape.scale)
        if shape.type is list:
            low, high = self.samples(shape.fields[0][1])
            return [low], [high]
        if shape.type is dict:
            parts = {name: self.samples(part) for name, part in shape.fields}
            return {name: low for name, (low, _) in parts.items()}, {name: high for name, (_, high) in parts.items()}
        low, high = _SAMPLES[shape.type]
        if shape.type is datetime and shape.zone:
            return low.replace(tzinfo=UTC), high.replace(tzinfo=UTC)
        return (2**63, 2**63 + 1) if shape.unsigned == 64 else (low, high)

    def plain(self, kind: type, exact: bool, columns: Sequence[Any]) -> Any:
        """The type of values of one of Python's types. What is between two times may need a finer unit than they."""
        shapes = [self.shape(column) for column in columns]
        alike = next((shape for shape in shapes if shape is not None and shape.type is kind), None)
        if kind is datetime:
            unit, zone = ("us", "UTC") if alike is None else (_finer(alike.unit), alike.zone)
            return self.python_types[kind](unit, zone)
        if kind is timedelta:
            unit = "us" if alike is None else alike.unit
            return self.python_types[kind](unit if exact else _finer(unit))
        if kind is int and exact and columns and all(shape is not None and shape.unsigned for shape in shapes):
            return self.uint64
        return self.python_types[kind]

    def fitter(self, kind: Any) -> Callable[[Any], Any]:
        """Turns results into what the library takes: dicts for structures, the type's places for decimals."""
        shape = self.shape(kind)
        fit = _to_bytes if shape is None else self.fitter_of(shape)
        return lambda value: None if value is None else fit(value)

    def fitter_of(self, shape: Shape) -> Callable[[Any], Any]:
        """:meth:`fitter` by the shape of the type, for results that are not null."""
        if shape.type is dict:
            fitters = {name: self.fitter(part) for name, part in shape.fields}

            def fit_parts(value: Any) -> dict[str, Any]:
                parts = value.values() if isinstance(value, dict) else value
                return {name: fit(part) for (name, fit), part in zip(fitters.items(), parts, strict=True)}

            return fit_parts
        if shape.type is list:
            fit = self.fitter(shape.fields[0][1])
            return lambda value: [fit(item) for item in value]
        if shape.type in (datetime, timedelta):
            return lambda value: ticks_of(value, shape.unit)
        if shape.type is Decimal:
            step = Decimal(1).scaleb(-shape.scale)
            return lambda value: (
                Decimal(value).quantize(step, ROUND_HALF_UP, _WIDE) if isinstance(value, Decimal | int) else value
            )
        return bool if shape.type is bool else _to_bytes


def _to_bytes(value: Any) -> Any:
    """A sketch as its bytes; any other value unchanged."""
    return value.to_bytes() if hasattr(value, "estimated_count") else value


def _finer(unit: str) -> str:
    return "ns" if unit == "ns" else "us"
