"""Two phases: rows become slices wherever they are, and slices come together by key.

    rows of any task, in any order            slices of all tasks, by group of keys
    a b a a c a …  ── SliceReducer ── a │ b │ c ──┐
    a a a b a a …  ── SliceReducer ── a │ b    ───┴── SliceMerger ── windows, results

Rows of one key so need not go to one task: a key with most of the rows costs each task its share, and what is brought
together is a slice a task, not a row. It holds where slices do not depend on which rows are reduced together.

In a stream each task drops what is late by its own watermark, and hands on the slices of each batch before that
watermark. The watermark of the second phase is the least of all tasks', so no slice that comes there is late.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from sash import state
from sash.aggregations.base import Kind
from sash.engine.decisions import needs_whole_keys
from sash.frames import columns_of
from sash.frames.key_table import KeyTable
from sash.query import Query, arrival_time
from sash.runtime.arrow_output import ArrowOutput
from sash.runtime.operator import KeyedOperator
from sash.runtime.times import Times
from sash.state.lane_state import LaneState
from sash.state.snapshot_format import StateError, state_errors
from sash.values.arrays import Array
from sash.windows import ContextClass

__all__ = ["SliceMerger", "SliceReducer", "SliceStream", "reduces_first", "why_one_phase", "why_one_phase_streams"]

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


def why_one_phase_streams(query: Query) -> str | None:
    """The same of a stream, whose rows come in any order behind a watermark. O(windows).

    >>> import sash
    >>> query = sash.Query(windows=sash.session("5m"), aggregates={"peak": sash.Max("load")}, time="ts")
    >>> why_one_phase_streams(query.using(windows=sash.sliding("1h", "1m")))
    >>> why_one_phase_streams(query)
    'the bounds of session of gap 5m depend on tuples of all tasks'
    """
    if (reason := why_one_phase(query)) is not None:
        return reason
    if len(query.lanes) > 1:
        return "windows are in several orders"
    (lane,) = query.lanes
    if lane.order == arrival_time or lane.order != query.time:
        return f"windows follow {lane.order!r}, which has no watermark of the stream: name the column with time="
    if lane.lateness:
        return "allowed_lateness: which results a late row corrects only the task knows that its key goes to"
    windows = (query.named[name] for name in lane.names)
    moving = next((window for window in windows if window.context_class(False) is not ContextClass.CF), None)
    return None if moving is None else f"the bounds of {moving} depend on tuples of all tasks"


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

    def late(self, batch: pa.RecordBatch, watermark: Any) -> Array:
        """Which rows of a stream are late. ``watermark`` is a time as the rows have it. O(rows)."""
        (lane,) = self.query.lanes
        inside, times = Times(self.query).of_array(lane, columns_of(batch, [lane.order or ""]))
        late: Array = np.asarray(inside) < times.of_watermark(lane, watermark, 0)[0]
        return late

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


class SliceStream(SliceMerger):
    """The second phase of a stream: merges the slices of a group of keys, and moves the watermark over them.

    Slices are held as they come until a window may be complete that they are in, so most calls cost O(new slices).
    """

    _most = 256
    """The parts that are held before they are merged."""

    def __init__(self, query: Query, schema: pa.Schema) -> None:
        if (reason := why_one_phase_streams(query)) is not None:
            raise ValueError(f"rows of a key must come together before they are reduced: {reason}")
        super().__init__(query, schema)
        (self._lane,) = self.query.lanes
        self._due: Any = math.inf  # no window of what is held is complete before

    def load(self, snapshot: bytes) -> None:
        """Go on from a snapshot."""
        with state_errors():
            self._load(state.read(self.query, snapshot, trusted=True))

    def take(self, slices: bytes) -> None:
        super().take(slices)
        firsts = self._lanes[-1].slices.first
        if len(firsts):
            windows: list[Any] = list(self.query.named.values())
            ticks = windows if self._lane.early is None else [*windows, self._lane.early]
            self._due = min(self._due, *(window.next_edge(firsts.min().item()) for window in ticks))
        if len(self._lanes) >= self._most:
            self._unite()

    def _unite(self) -> None:
        if self._lanes:
            engine: Any = self._driver.lanes[0].batches()
            self._driver.times = self._held_times
            with state_errors():
                engine.absorb(self._lanes, self._numbers, len(self._keys))
        self._lanes, self._numbers, self._due = [], [], math.inf

    def move(self, watermark: Any) -> list[pa.RecordBatch]:
        """No row before ``watermark`` comes any more: the results of the windows that this completes."""
        if self._lanes and self._due <= self._held_times.of_watermark(self._lane, watermark, 0)[0]:
            self._unite()
        return self._batches.batches(self.advance_outcomes(watermark))

    def end(self) -> list[pa.RecordBatch]:
        """The end of the input: the results of all windows that are left."""
        self._unite()
        return self._batches.batches(self.close_outcomes())

    def next_timer(self) -> Any:
        known = super().next_timer()
        if self._due == math.inf or (isinstance(known, float) and math.isinf(known)):
            return known
        due = self._held_times.outside_timer(self._lane, self._due)
        return due if known is None else min(due, known)

    @property
    def _held_times(self) -> Times:
        return Times.from_texts(self.query, self._codecs or {})


def _by_group(query: Query) -> Query:
    """The query over the columns of reducers; a ValueError if it cannot run in two phases, or has several lanes."""
    if len(query.lanes) > 1:
        raise ValueError("slices of several orders are reduced apart: give a query of one")
    if (reason := why_one_phase(query)) is not None:
        raise ValueError(f"rows of a key must come together before they are reduced: {reason}")
    return query.using(key=(GROUP, *query.keys))
