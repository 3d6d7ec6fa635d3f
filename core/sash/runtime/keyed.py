"""The operator of engines: tables or columns of all keys in, tables or columns out."""

from __future__ import annotations

import warnings
from typing import Any

from sash.engine.results import AnyOutcome
from sash.frames import columns_of
from sash.query import Query
from sash.query.lanes import OwnWatermark
from sash.runtime.snapshots import Snapshots
from sash.runtime.stream import Outcomes
from sash.values import PerformanceWarning
from sash.values.arrays import Nan

__all__ = ["KeyedOperator", "Outcomes"]


class KeyedOperator(Snapshots):
    """Runs ``query`` over the tuples of all keys in batches: what :class:`sash.Operator` computes.

    Tables go in, with the key's columns, and tables of the same kind come out, key by key. Without ``own_watermark``
    tuples do not move the watermark, only :meth:`advance` does, for all keys.

    A batch costs what its rows and results do, whatever the number of keys, except where columns cannot run the query
    (``explain`` says why): then each key has an engine of its own, which takes its tuples one by one.

    >>> import sash
    >>> op = KeyedOperator(sash.Query(key="plug", windows=sash.sliding(2), aggregates={"peak": sash.Max("load")}))
    >>> op.process_batch({"plug": ["a", "b", "a"], "load": [3, 9, 5]})
    {'plug': ['a'], 'window_start': [0], 'window_end': [2], 'peak': [5]}
    >>> op.process_batch({"plug": ["b"], "load": [4]})
    {'plug': ['b'], 'window_start': [0], 'window_end': [2], 'peak': [9]}
    """

    def __init__(self, query: Query, *, own_watermark: OwnWatermark = False) -> None:
        super().__init__(query, own_watermark, mixed=False)
        for reason in [lane.rows_only for lane in self._driver.lanes if lane.rows_only][:1]:
            message = f"each key runs row by row in Python, which is slower: {reason}"
            warnings.warn(message, PerformanceWarning, stacklevel=2)

    def process_batch(self, data: Any, *, nan: Nan = "null") -> Any:
        """Take a batch: a table of any kind that :func:`sash.run` knows; its results are of the same kind.

        ``nan`` as for :func:`sash.run`.
        """
        return self._process(columns_of(data, self.query.columns, nan), self._table)

    def process_outcomes(self, data: Any) -> Outcomes:
        """The same with results as they are inside, for adapters that make tables of their own."""
        return self._process(columns_of(data, self.query.columns), lambda _, outcomes: self._outcomes(outcomes))

    def advance(self, watermark: Any, like: Any = None) -> Any:
        """No tuple of any key before ``watermark`` comes any more: the results of the windows that this completes.

        With windows in several orders, a mapping from the columns that order them to their watermarks. ``like`` is a
        table, perhaps empty, of the kind and types that the results are to have; they are a dict of lists otherwise.
        """
        frame = self._empty_frame(like)
        return self._advance(watermark, lambda outcomes: self._table(frame, self._at_least_one(outcomes)))

    def advance_outcomes(self, watermark: Any) -> Outcomes:
        """The same with results as they are inside, for adapters that make tables of their own."""
        return self._advance(watermark, lambda outcomes: self._outcomes(self._at_least_one(outcomes)))

    def close(self, like: Any = None) -> Any:
        """The end of the input: the results of all windows that are complete when nothing comes any more."""
        frame = self._empty_frame(like)
        return self._close(lambda outcomes: self._table(frame, outcomes))

    def close_outcomes(self) -> Outcomes:
        """The same with results as they are inside."""
        return self._close(self._outcomes)

    def _at_least_one(self, outcomes: list[AnyOutcome]) -> list[AnyOutcome]:
        """An outcome of nothing, where a watermark concerns no lane: for an empty table."""
        return outcomes or [self._driver.lanes[0].batches().advance(float("-inf"))]
