"""The results of a lane as columns, whichever engine computed them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sash.engine.rows.watches.base import Result
from sash.query import Query
from sash.query.lanes import Lane
from sash.values.arrays import results_of

if TYPE_CHECKING:
    from sash.engine.columns.batch import Results

__all__ = ["Outcome"]

Array = np.ndarray[Any, Any]


@dataclass
class Outcome:
    """The results of one lane as columns; ``codes`` tells their key."""

    lane: Lane
    codes: Array
    window: Array
    start: Array
    end: Array
    revision: Array
    aggregates: dict[str, Any]

    def __len__(self) -> int:
        return len(self.window)

    @staticmethod
    def of_columns(lane: Lane, results: Results) -> Outcome:
        """Those of the columnar engine, none of which is ever corrected."""
        revision = np.zeros(len(results), np.int64)
        return Outcome(lane, results.codes, results.window, results.start, results.end, revision, results.aggregates)

    @staticmethod
    def of_rows(lane: Lane, results: Sequence[Result], query: Query) -> Outcome:
        """Those of the row engine."""
        columns = list(zip(*(result.aggregates for result in results), strict=True)) or [()] * len(query.aggregates)
        aggregates = {
            name: results_of(column, aggregation.fields)
            for (name, aggregation), column in zip(query.aggregates.items(), columns, strict=True)
        }
        whole = [
            np.array([getattr(result, name) for result in results]) for name in ("window", "start", "end", "revision")
        ]
        window, start, end, revision = (array if len(results) else array.astype(np.int64) for array in whole)
        return Outcome(lane, np.zeros(len(results), np.int64), window, start, end, revision, aggregates)
