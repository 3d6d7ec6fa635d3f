"""The results of a lane, whichever engine computed them: as columns, or one by one.

Results come in one order, from both engines: as the rows or the watermark complete their windows, and what one row or
watermark completes at once by the event time of completion; at one time windows on time, then those on counts, then
trailing ones, which include that time; then by end, by the window's place in the query, and by start. That is the order
of the first fields of :class:`~sash.engine.rows.watches.base.Closing`. Columns are sorted by key first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from sash.aggregations.sums import counter_of
from sash.engine.rows.watches.base import EARLY
from sash.query import Query
from sash.query.lanes import Lane
from sash.values.arrays import results_of, to_list, without
from sash.values.columns import Runs, StructColumn

__all__ = ["DELETED", "EARLY", "AnyOutcome", "Emitted", "Enough", "Outcome", "RowOutcome", "last_of_each_window"]

Array = np.ndarray[Any, Any]
DELETED = -2
"""The revision of a result that is no more: a window that has become part of another one."""


class Emitted(NamedTuple):
    """One result of a lane, with times as they are inside."""

    code: int
    """The number of its key."""
    window: int
    """Its place among the lane's windows."""
    start: Any
    end: Any
    revision: int
    aggregates: tuple[Any, ...]
    replaced: tuple[tuple[Any, Any], ...] = ()
    """The bounds of earlier results that it replaces, if they were others: of sessions that are one now."""


class Enough:
    """Makes results null whose windows have too few values, and leaves out the counts of these."""

    def __init__(self, query: Query, lane: Lane) -> None:
        self._least = [query.named[name].least_values for name in lane.names]
        self._names = tuple(query.aggregates)
        places = {counter: place for place, counter in enumerate(query.computed.values()) if place >= len(self._names)}
        self._counters = [places[counter_of(aggregation)] for aggregation in query.aggregates.values()]

    @staticmethod
    def of(query: Query, lane: Lane) -> Enough | None:
        """That of a lane; None: no window of the query asks for some values."""
        return None if query.computed is query.aggregates else Enough(query, lane)

    def of_row(self, window: int, computed: tuple[Any, ...]) -> tuple[Any, ...]:
        """The results of a window, given by its place in the lane. O(aggregates)."""
        least = self._least[window]
        counts = [computed[place] for place in self._counters]
        return tuple([None if count < least else result for result, count in zip(computed, counts, strict=False)])

    def of_columns(self, windows: Array, computed: Sequence[Any]) -> list[Any]:
        """Columns of results, of windows given by their places. O(results)."""
        least = np.array(self._least)[windows]
        return [
            without(column, np.asarray(computed[place]) < least)
            for column, place in zip(computed, self._counters, strict=False)
        ]


class AnyOutcome(Protocol):
    """What a call of a lane emits. Each engine holds it in its own way."""

    lane: Lane

    def columns(self) -> Outcome: ...
    def changes(self) -> Outcome: ...
    def rows(self) -> Iterable[Emitted]: ...


@dataclass
class Outcome:
    """The results of one lane as columns; ``codes`` are the numbers of their keys. O(results) to convert."""

    lane: Lane
    codes: Array | Runs
    window: Array
    start: Array
    end: Array
    revision: Array
    aggregates: dict[str, Any]
    query: Query

    def __len__(self) -> int:
        return len(self.window)

    def columns(self) -> Outcome:
        """Itself."""
        return self

    def changes(self) -> Outcome:
        """Itself: windows that columns correct keep their bounds."""
        return self

    def take(self, which: Array) -> Outcome:
        """The results where a mask is True."""
        arrays = (self.codes, self.window, self.start, self.end, self.revision)
        codes, window, start, end, revision = (np.asarray(array)[which] for array in arrays)
        aggregates = {name: _taken(column, which) for name, column in self.aggregates.items()}
        return Outcome(self.lane, codes, window, start, end, revision, aggregates, self.query)

    def rows(self) -> Iterator[Emitted]:
        """The results one by one."""
        if not len(self):
            return
        columns = [_listed(column, self.query.aggregates[name]) for name, column in self.aggregates.items()]
        bounds = (array.tolist() for array in (self.codes, self.window, self.start, self.end, self.revision))
        for code, window, start, end, revision, *aggregates in zip(*bounds, *columns, strict=True):
            yield Emitted(code, window, start, end, revision, tuple(aggregates))


@dataclass
class RowOutcome:
    """The results of the row engine, in order."""

    lane: Lane
    results: Sequence[Emitted]
    query: Query

    def rows(self) -> Sequence[Emitted]:
        """The results as they are."""
        return self.results

    def changes(self) -> Outcome:
        """The results as columns, each behind the deletions of those that it replaces, whose bounds were others."""
        nothing = (None,) * len(self.query.aggregates)
        changes = []
        for result in self.results:
            changes += [Emitted(result.code, result.window, *extent, DELETED, nothing) for extent in result.replaced]
            changes.append(result)
        return RowOutcome(self.lane, changes, self.query).columns()

    def columns(self) -> Outcome:
        """The results as columns, key by key. O(results)."""
        results = sorted(self.results, key=lambda result: result.code)
        columns = list(zip(*(result.aggregates for result in results), strict=True)) or [()] * len(
            self.query.aggregates
        )
        aggregates = {
            name: results_of(column, aggregation.fields)
            for (name, aggregation), column in zip(self.query.aggregates.items(), columns, strict=True)
        }
        codes = np.array([result.code for result in results], np.int64)
        whole = [
            np.array([getattr(result, name) for result in results]) for name in ("window", "start", "end", "revision")
        ]
        window, start, end, revision = (array if len(results) else array.astype(np.int64) for array in whole)
        return Outcome(self.lane, codes, window, start, end, revision, aggregates, self.query)


def last_of_each_window(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Of the results of a window in several outcomes, or several times in one, the last one. O(n log n)."""
    kept = []
    for lane in dict.fromkeys(outcome.lane for outcome in outcomes):
        parts = [outcome for outcome in outcomes if outcome.lane == lane]
        names = ("codes", "window", "start", "end")
        columns = [np.concatenate([np.asarray(getattr(part, name)) for part in parts]) for name in names]
        order = np.lexsort(columns[::-1])  # which leaves equal ones as they are
        last = np.ones(len(order), np.bool_)
        last[:-1] = np.logical_or.reduce([column[order[1:]] != column[order[:-1]] for column in columns])
        which = np.zeros(len(order), np.bool_)
        which[order[last]] = True
        begin = 0
        for part in parts:
            kept.append(part.take(which[begin : begin + len(part)]))
            begin += len(part)
    return kept


def _taken(column: Any, which: Array) -> Any:
    return tuple(_taken(part, which) for part in column) if isinstance(column, tuple) else column[which]


def _listed(column: Any, aggregation: Any) -> list[Any]:
    """A column of results as Python values."""
    if isinstance(column, tuple):
        return StructColumn(column, aggregation.result_tuple or aggregation.fields).rows()
    return to_list(column)
