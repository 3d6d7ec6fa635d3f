"""A query's aggregates as one, for slices: a row's values are lifted together, and every merge is counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import itemgetter
from typing import Any

from sash.aggregations.base import Aggregation, Flat
from sash.aggregations.custom import Together
from sash.engine.rows.bundle_functions import functions_of
from sash.query import Query

__all__ = ["Bundle", "Merging", "Values"]

Values = tuple[Any, ...]


class _Count:
    """Counts merges."""

    __slots__ = ("merges",)

    def __init__(self) -> None:
        self.merges = 0


class Merging(Aggregation):
    """An aggregation whose values are partials of another one. Merging algorithms use it to merge slices."""

    combine: Callable[[Any, Any], Any]  # type: ignore[assignment]  # generated, so not a method

    def __init__(self, inner: Aggregation, count: _Count | None = None, combine: Any = None) -> None:
        super().__init__()
        self.inner = inner
        self.kind = inner.kind
        self.commutative = inner.commutative
        self.selective = inner.selective
        self.releases_gil = inner.releases_gil or inner.flat() is not None
        self._combine = inner._combine
        self._invert = inner._invert
        self.count = _Count() if count is None else count
        self.combine = combine or functions_of([inner], [()], self.count).combine

    @property
    def merges(self) -> int:
        """How many merges were done."""
        return self.count.merges

    @property
    def name(self) -> str:
        return self.inner.name

    def __repr__(self) -> str:
        return repr(self.inner)

    def flat(self) -> Flat | None:
        return self.inner.flat()

    def lift(self, value: Any) -> Any:
        return value

    def lower(self, partial: Any) -> Any:
        return partial


class Bundle:
    """Lifts rows, and merges and lowers partials, for all aggregates of a query at once.

    A single aggregate keeps its partials as they are, and so all that algorithms can use of it. Those of several are
    one tuple of all their numbers.
    """

    def __init__(self, query: Query) -> None:
        place = {column: i for i, column in enumerate(query.values)}
        self.parts = tuple(query.computed.values())
        self._names = tuple(query.computed)
        places = [tuple(place[column] for column in part.columns) for part in self.parts]
        self._readers = [_reader(of_part) for of_part in places]
        self._single = len(self.parts) == 1
        self.count = _Count()
        functions = functions_of(self.parts, places, self.count)
        self.lift = functions.lift
        """The partial of a row."""
        self.combine = functions.combine
        self.lower = functions.lower
        """The results of all aggregates."""
        self.conclude = functions.conclude
        """The results of two partials that are merged."""
        self.separate = functions.separate
        """A partial of each aggregate."""
        self.join = functions.join
        """The partial whose parts are these."""
        whole = self.parts[0] if self._single else Together(self.parts)
        self.merging = Merging(whole, self.count, self.combine)

    def fold(self, rows: Sequence[Values]) -> Any:
        """The partial of rows, in order."""
        return reduce(self.combine, map(self.lift, rows), None)

    def named(self, partial: Any) -> dict[str, Any]:
        """The results of all aggregates by name."""
        return dict(zip(self._names, self.lower(partial), strict=True))

    def without_last(self, partial: Any, rows: Sequence[Values]) -> Any:
        """The partial of ``rows`` without the last of them (figure 6)."""
        return self.join([self._part_without_last(i, part, rows) for i, part in enumerate(self.separate(partial))])

    def _part_without_last(self, i: int, partial: Any, rows: Sequence[Values]) -> Any:
        part, read = self.parts[i], self._readers[i]
        last = part.lift(read(rows[-1]))
        if last is None:
            return partial
        if part.selective and part.commutative and last == last and partial != last:
            return partial  # the value that was selected is still there
        if all(part.lift(read(row)) is None for row in rows[:-1]):
            return None
        if part.commutative and part.invertible:
            self.count.merges += 1
            return part.invert(partial, last)
        self.count.merges += len(rows) - 2
        return reduce(part.combine, (part.lift(read(row)) for row in rows[:-1]), None)


def _reader(places: tuple[int, ...]) -> Callable[[Values], Any]:
    return itemgetter(*places) if places else lambda values: None
