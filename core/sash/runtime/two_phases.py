"""Two phases: rows become slices wherever they are, and slices come together by key.

    rows of any task, in any order            slices of all tasks, by group of keys
    a b a a c a …  ── SliceReducer ── a │ b │ c ──┐
    a a a b a a …  ── SliceReducer ── a │ b    ───┴── SliceMerger ── windows, results

Rows of one key so need not go to one task: a key with most of the rows costs each task its share, and what is brought
together is a slice a task, not a row. It holds where slices do not depend on which rows are reduced together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from sash import state
from sash.aggregations.base import Kind
from sash.engine.decisions import needs_whole_keys
from sash.frames.key_table import KeyTable
from sash.query import Query
from sash.runtime.arrow_output import ArrowOutput
from sash.runtime.operator import KeyedOperator
from sash.runtime.times import Times
from sash.state.lane_state import LaneState
from sash.state.snapshot_format import StateError, state_errors
from sash.values.arrays import Array

__all__ = ["SliceMerger", "SliceReducer", "reduces_first", "why_one_phase"]

GROUP = "sash_group"
"""The column with the group that a row's key is in."""
MOST_SLICES = 1 << 18
"""The slices that a task holds before it hands them on: some 10 to 20 MB."""


def why_one_phase(query: Query) -> str | None:
    """Why rows of a key must come together before they are reduced to slices; None: they need not. O(windows).

    >>> import sash
    >>> windows, peak = sash.sliding("1h", "1m"), {"peak": sash.Max("load")}
    >>> why_one_phase(sash.Query(windows=windows, aggregates=peak, time="ts"))
    >>> why_one_phase(sash.Query(windows=windows, aggregates={"last": sash.Last("load")}, time="ts"))
    "Last('load') is not commutative, and tuples may come out of order"
    """
    return next((reason for lane in query.lanes if (reason := needs_whole_keys(query, lane)) is not None), None)


def reduces_first(query: Query, salted: bool | int | None) -> bool:
    """Whether ``query`` runs in two phases, for the option ``salted`` of an engine. O(windows).

    None: if it has no key, and slices are smaller than their rows. If it is asked for and cannot be, a ValueError says
    why.

    >>> import sash
    >>> windows, total = sash.tumbling("1h"), {"total": sash.Sum("load")}
    >>> query = sash.Query(windows=windows, aggregates=total, time="ts")
    >>> reduces_first(query, None), reduces_first(query.using(key="plug"), None), reduces_first(query, False)
    (True, False, False)
    """
    if salted is not None and (not isinstance(salted, int) or salted < 0):
        raise ValueError(f"salted must be a whole number of tasks, True or False; got {salted!r}")
    reason = why_one_phase(query)
    if salted and reason is not None:
        raise ValueError(f"salted= cannot be used here: {reason}")
    if salted is None:
        return not query.keys and reason is None and query.together.kind is not Kind.HOLISTIC
    return bool(salted)


class SliceReducer(KeyedOperator):
    """The first phase: reduces rows, in any order, to slices. A batch costs what its rows do."""

    def __init__(self, query: Query, most: int = MOST_SLICES) -> None:
        super().__init__(_by_group(query))
        self._most = most

    def take(self, batch: pa.RecordBatch, groups: pa.Array) -> Iterator[tuple[int, bytes]]:
        """Reduce rows, whose keys are in ``groups``; (group, slices as bytes) where more are held than may be."""
        rows = pa.RecordBatch.from_arrays([groups, *batch.columns], [GROUP, *batch.schema.names])
        self.process_outcomes(rows)
        if self.metrics["slices_held"] >= self._most:
            yield from self.flush()

    def flush(self) -> Iterator[tuple[int, bytes]]:
        """The slices of each group that has some, as bytes; none are held any more. O(groups · slices)."""
        yield from self.split(lambda columns: columns[GROUP], trusted=True)
        self._keys = KeyTable(self._key_columns)
        self._prepare(self.query)


class SliceMerger(KeyedOperator):
    """The second phase: merges the slices of a group of keys, and returns the results as batches of ``schema``."""

    def __init__(self, query: Query, schema: pa.Schema) -> None:
        super().__init__(_by_group(query))
        self._batches = ArrowOutput(query, schema)
        self._codecs: dict[str, str] | None = None
        self._lanes: list[LaneState] = []
        self._numbers: list[Array] = []

    def take(self, slices: bytes) -> None:
        """Take what a :class:`SliceReducer` has made of rows of the group."""
        contents = state.read(self.query, slices, trusted=True)
        codecs = contents.extra["codecs"]
        if codecs != (self._codecs or codecs):
            raise StateError(f"times of parts of the rows are of different types: {self._codecs} and {codecs}")
        table = KeyTable.read(self._key_columns, contents.keys)
        every = np.arange(len(table))
        self._numbers.append(self._keys.number_batch(every, table.columns(every)[0]))
        self._lanes += contents.lanes.values()
        self._codecs = codecs

    def snapshot(self, *, trusted: bool = False) -> bytes:
        """What it has taken so far, as slices that another one can take. O(slices log slices)."""
        self._unite()
        return super().snapshot(trusted=trusted)

    def _unite(self) -> None:
        """Merge what it has taken."""
        if not self._lanes:
            return
        (lane,) = self._driver.lanes
        engine: Any = lane.batches()
        self._driver.times = Times.from_texts(self.query, self._codecs or {})
        with state_errors():
            engine.unite(self._lanes, self._numbers, len(self._keys))
        self._lanes, self._numbers = [engine.save()], [np.arange(len(self._keys))]

    def end(self) -> list[pa.RecordBatch]:
        """The results of all rows of the group; another one can follow. O(slices log slices)."""
        if not self._lanes:
            return []
        self._unite()
        results = self._batches.batches(self._outcomes(self._driver.close()))
        self._lanes, self._numbers, self._codecs, self._keys = [], [], None, KeyTable(self._key_columns)
        self._prepare(self.query)
        return results


def _by_group(query: Query) -> Query:
    """The query over the columns of reducers; a ValueError if it cannot run in two phases, or has several lanes."""
    if len(query.lanes) > 1:
        raise ValueError("slices of several orders are reduced apart: give a query of one")
    if (reason := why_one_phase(query)) is not None:
        raise ValueError(f"rows of a key must come together before they are reduced: {reason}")
    return query.using(key=(GROUP, *query.keys))
