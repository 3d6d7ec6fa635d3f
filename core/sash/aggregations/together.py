"""Several aggregations over one window, as one: their partials travel side by side through one structure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sash.aggregations.base import Aggregation, Kind

__all__ = ["Together"]

_SIZES = [Kind.DISTRIBUTIVE, Kind.ALGEBRAIC, Kind.HOLISTIC]


class Together(Aggregation):
    """Takes a value for each of its parts, gives a result of each. A combine costs one of each part.

    Commutative if all parts are. Never invertible: when one part runs out of values before the others do, nobody counts
    them, and its result would be a zero instead of none.

    >>> import sash
    >>> both = Together([sash.Min(), sash.Max()])
    >>> window = sash.aggregators.DABA(both)
    >>> window.insert_many([(3, 3), (1, 1), (2, None)]); window.query()
    (1, 3)
    """

    def __init__(self, parts: Sequence[Aggregation]) -> None:
        self.parts = tuple(parts)
        super().__init__()
        self.kind = max((part.kind for part in self.parts), key=_SIZES.index)
        self.commutative = all(part.commutative for part in self.parts)
        self.releases_gil = all(part.releases_gil for part in self.parts)
        self.empty = tuple(part.empty for part in self.parts)

    @property
    def name(self) -> str:
        return " and ".join(map(repr, self.parts))

    def __repr__(self) -> str:
        return self.name

    def _key(self) -> tuple[Any, ...]:
        return (Together, self.parts)

    def lift(self, value: Any) -> tuple[Any, ...]:
        return tuple([part.lift(each) for part, each in zip(self.parts, value, strict=True)])

    def _combine(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
        try:
            return tuple([part.combine(x, y) for part, x, y in zip(self.parts, a, b, strict=True)])
        except TypeError as error:
            raise TypeError(self._complaint(a, b, error)) from error

    def _complaint(self, a: tuple[Any, ...], b: tuple[Any, ...], error: TypeError) -> str:
        """Which of the parts it is that cannot be combined."""
        for part, x, y in zip(self.parts, a, b, strict=True):
            try:
                part.combine(x, y)
            except TypeError:
                return f"{part!r} cannot combine {x!r} with {y!r}: {error}"
        return str(error)

    def _lower(self, partial: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple([part.lower(x) for part, x in zip(self.parts, partial, strict=True)])
