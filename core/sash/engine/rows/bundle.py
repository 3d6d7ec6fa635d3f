"""A query's aggregates as one, for slices: a row's values are lifted together, and every merge is counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import itemgetter
from typing import Any

from sash.aggregations.base import Aggregation, Flat
from sash.aggregations.custom import Together
from sash.query import Query

__all__ = ["Bundle", "Merging", "Values"]

Values = tuple[Any, ...]


class Merging(Aggregation):
    """An aggregation whose values are another one's partials: what merging algorithms are given to merge slices."""

    def __init__(self, inner: Aggregation) -> None:
        super().__init__()
        self.inner = inner
        self.kind = inner.kind
        self.commutative = inner.commutative
        self.selective = inner.selective
        self.releases_gil = inner.releases_gil or inner.flat() is not None
        self._combine = inner._combine
        self._invert = inner._invert
        self.merges = 0

    @property
    def name(self) -> str:
        return self.inner.name

    def __repr__(self) -> str:
        return repr(self.inner)

    def flat(self) -> Flat | None:
        return self.inner.flat()

    def lift(self, value: Any) -> Any:
        return value

    def combine(self, a: Any, b: Any) -> Any:
        if a is None:
            return b
        if b is None:
            return a
        self.merges += 1
        return self._combine(a, b)

    def lower(self, partial: Any) -> Any:
        return partial


class Bundle:
    """Lifts rows, merges and lowers partials of all aggregates of a query at once.

    With a single aggregate its partials are used as they are, so that it can offer all that it has; with several they
    travel side by side.
    """

    def __init__(self, query: Query) -> None:
        place = {column: i for i, column in enumerate(query.values)}
        self.parts = tuple(query.aggregates.values())
        self._names = tuple(query.aggregates)
        self._readers = [_reader([place[column] for column in part.columns]) for part in self.parts]
        self._single = len(self.parts) == 1
        self._whole: Aggregation = self.parts[0] if self._single else Together(self.parts)
        self.merging = Merging(self._whole)
        self.combine = self.merging.combine
        self.lift = _lifter(self._whole.lift, self._readers)
        """The partial of a row."""
        self.lower = _lowerer(self._whole.lower, self._single)
        """The results of all aggregates."""

    def fold(self, rows: Sequence[Values]) -> Any:
        """The partial of rows, in order."""
        return reduce(self.combine, map(self.lift, rows), None)

    def named(self, partial: Any) -> dict[str, Any]:
        """The results of all aggregates, by name."""
        return dict(zip(self._names, self.lower(partial), strict=True))

    def without_last(self, partial: Any, rows: Sequence[Values]) -> Any:
        """What is left of the partial of ``rows`` without the last of them (figure 6)."""
        if self._single:
            return self._part_without_last(0, partial, rows)
        return tuple(self._part_without_last(i, part, rows) for i, part in enumerate(partial))

    def _part_without_last(self, i: int, partial: Any, rows: Sequence[Values]) -> Any:
        part, read = self.parts[i], self._readers[i]
        gone = part.lift(read(rows[-1]))
        if gone is None:
            return partial
        if part.selective and part.commutative and gone == gone and partial != gone:
            return partial  # the value that was selected is still there
        others = any(part.lift(read(row)) is not None for row in rows[:-1])
        if not others:
            return None
        if part.commutative and part.invertible:
            self.merging.merges += 1
            return part.invert(partial, gone)
        self.merging.merges += len(rows) - 2
        return reduce(part.combine, (part.lift(read(row)) for row in rows[:-1]), None)

    def separate(self, partial: Any) -> tuple[Any, ...]:
        """A partial of each aggregate."""
        if self._single:
            return (partial,)
        return (None,) * len(self.parts) if partial is None else partial

    def join(self, partials: tuple[Any, ...]) -> Any:
        """The partial whose parts are these."""
        return partials[0] if self._single else partials


def _lifter(lift: Callable[[Any], Any], readers: list[Callable[[Values], Any]]) -> Callable[[Values], Any]:
    if len(readers) == 1:
        (read,) = readers
        return lambda values: lift(read(values))
    return lambda values: lift([read(values) for read in readers])


def _lowerer(lower: Callable[[Any], Any], single: bool) -> Callable[[Any], tuple[Any, ...]]:
    return (lambda partial: (lower(partial),)) if single else lower


def _reader(places: list[int]) -> Callable[[Values], Any]:
    return itemgetter(*places) if places else lambda values: None
