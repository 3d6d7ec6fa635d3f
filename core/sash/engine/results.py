"""The results of a lane, whichever engine computed them: as columns, or one by one.

Results come in one order, from both engines: as the rows or the watermark complete their windows, and what one row or
watermark completes at once by the event time of completion; at one time windows on time before windows on counts; then
by end, by the window's place in the query, and by start. That is the order of the first fields of
:class:`~sash.engine.rows.watches.base.Closing`. Columns are sorted by key first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from sash.engine.rows.watches.base import Result
from sash.query import Query
from sash.query.lanes import Lane
from sash.values.arrays import results_of, to_list
from sash.values.columns import Runs, StructColumn

__all__ = ["AnyOutcome", "Emitted", "Outcome", "Result", "RowOutcome"]

Array = np.ndarray[Any, Any]


class Emitted(NamedTuple):
    """One result: the number of its key, and what the lane emits."""

    code: int
    result: Result


class AnyOutcome(Protocol):
    """What a call of a lane emits. Each engine holds it in its own way."""

    lane: Lane

    def columns(self) -> Outcome: ...
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

    def rows(self) -> Iterator[Emitted]:
        """The results one by one."""
        if not len(self):
            return
        columns = [_listed(column, self.query.aggregates[name]) for name, column in self.aggregates.items()]
        bounds = (array.tolist() for array in (self.codes, self.window, self.start, self.end, self.revision))
        for code, window, start, end, revision, *aggregates in zip(*bounds, *columns, strict=True):
            yield Emitted(code, Result(window, start, end, revision, tuple(aggregates)))


@dataclass
class RowOutcome:
    """The results of the row engine, in order."""

    lane: Lane
    results: Sequence[Emitted]
    query: Query

    def rows(self) -> Sequence[Emitted]:
        """The results as they are."""
        return self.results

    def columns(self) -> Outcome:
        """The results as columns, key by key. O(results)."""
        emitted = sorted(self.results, key=lambda result: result.code)
        results = [result for _, result in emitted]
        columns = list(zip(*(result.aggregates for result in results), strict=True)) or [()] * len(
            self.query.aggregates
        )
        aggregates = {
            name: results_of(column, aggregation.fields)
            for (name, aggregation), column in zip(self.query.aggregates.items(), columns, strict=True)
        }
        codes = np.array([code for code, _ in emitted], np.int64)
        whole = [
            np.array([getattr(result, name) for result in results]) for name in ("window", "start", "end", "revision")
        ]
        window, start, end, revision = (array if len(results) else array.astype(np.int64) for array in whole)
        return Outcome(self.lane, codes, window, start, end, revision, aggregates, self.query)


def _listed(column: Any, aggregation: Any) -> list[Any]:
    """A column of results as Python values."""
    if isinstance(column, tuple):
        return StructColumn(column, aggregation.result_tuple or aggregation.fields).rows()
    return to_list(column)
