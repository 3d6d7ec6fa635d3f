"""Rows that an engine has sorted by key, a batch at a time: what Spark's shuffle and sort leave behind.

    batch:   a a a b b c c c c │ c c d d d d d …
             └───┘ └─┘ └───────┼───┘ └───────…
             head  middle      tail goes on as the head of the next batch

All keys that begin and end within a batch go through one driver together, so that many small keys do not each cost a
call. A key that is longer than a batch goes on from batch to batch, so that no key has to be in memory as a whole.

Instead of by key, rows may be sorted by groups of keys, such as those of one hash: the keys of a group are in memory
together, and each comes in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from sash.engine.planner import plan
from sash.engine.results import AnyOutcome, Outcome
from sash.frames import Frame, columns_of, factorize, to_list
from sash.query import Query
from sash.runtime.arrow_output import ArrowOutput
from sash.runtime.driver import Driver
from sash.runtime.times import Times
from sash.values import Array

__all__ = ["KeyNumbers", "PieceSize", "SortedBatches", "SortedKeys", "coalesce_batches"]

MOST_RESULTS = 1 << 20
"""The results that one call may have: where a row is in thousands of windows, calls take fewer rows."""
FIRST_ROWS = 1 << 14
"""The rows of the first call, before anything is known of their results."""


class PieceSize:
    """How many rows a call takes, so that it has no more results than it may: ``rows`` follows what calls had."""

    def __init__(self) -> None:
        self.rows = FIRST_ROWS

    def adapt(self, results: int, rows: int) -> None:
        """Choose the rows of the next call by what the last one had."""
        if results > MOST_RESULTS:
            self.rows = max(1, rows // 2)
        elif 4 * results < MOST_RESULTS and rows >= self.rows:
            self.rows *= 2


class SortedBatches:
    """Runs a query over record batches of rows that come key after key, each in order; results are of ``schema``."""

    def __init__(self, query: Query, schema: pa.Schema) -> None:
        self._query, self._keys = query, list(query.keys)
        self._output, self._sorted_keys = ArrowOutput(query, schema), SortedKeys(query)
        self._numbers = KeyNumbers(self._keys)
        self._open: pa.RecordBatch | None = None

    def take(self, batch: pa.RecordBatch, groups: Any = None) -> Iterator[pa.RecordBatch]:
        """The results that more rows bring; they are sorted by key, or by ``groups`` of keys. O(rows)."""
        keys = batch.select(self._keys)
        frame = columns_of(batch, self._query.columns)
        codes, new, starts, first_open = self._numbers.number(frame, groups)
        known = keys.take(pa.array(new, pa.int64()))
        if self._open is not None:
            known = _concatenate([self._open, known])
        yield from self._batches(self._sorted_keys.process(frame, codes, starts), known)
        self._open = known.slice(first_open)

    def end(self) -> Iterator[pa.RecordBatch]:
        """The results that are left when no row comes any more."""
        if self._open is not None:
            yield from self._batches(self._sorted_keys.close(), self._open)

    def _batches(self, outcomes: Iterator[Outcome], keys: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        return (self._output.batch(outcome, keys) for outcome in outcomes if len(outcome))


def coalesce_batches(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of at least ``rows``, but for the last: never more than that and one batch are held.

    >>> batch = pa.record_batch({"x": [1, 2]})
    >>> [len(batch) for batch in coalesce_batches([batch] * 3, 3)]
    [4, 2]
    """
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(map(len, held)) >= rows:
            yield _concatenate(held)
            held = []
    if any(map(len, held)):
        yield _concatenate(held)


def _concatenate(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1 or not batches[0].num_columns:
        return batches[0]
    (whole,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return whole


class SortedKeys:
    """Runs ``query``, whose windows are of one lane, over rows sorted by key and by what orders the lane.

    :class:`KeyNumbers` numbers the keys: those of the group that is open first, then those that begin in a batch. The
    ``codes`` of outcomes are these numbers. Nothing is late, and nothing is corrected.
    """

    def __init__(self, query: Query) -> None:
        self.query = query.using(watermark_delay=None, allowed_lateness=None, early=None)
        if len(self.query.lanes) != 1:
            raise ValueError(f"rows can be sorted by one order only; the windows have {len(self.query.lanes)}")
        self._plan = plan(self.query)
        self._times = Times(self.query)
        self._open: Driver | None = None
        self._rows = 0
        self._size = PieceSize()

    def process(self, frame: Frame, codes: Array, starts: Sequence[int]) -> Iterator[Outcome]:
        """Take a batch. Groups begin at the rows ``starts``; rows before the first are of the group that is open."""
        size = len(frame)
        head = starts[0] if len(starts) else size
        if self._open is not None and head:
            yield from self._feed(self._open, frame, codes, 0, head)
        if len(starts):
            yield from self.close()
            yield from self._middle(frame, codes, np.asarray(starts))
            self._open = self._driver()
            yield from self._feed(self._open, frame, codes, starts[-1], size, int(codes[starts[-1]]))
        self._rows += size

    def close(self) -> Iterator[Outcome]:
        """No row of the open group comes any more."""
        if self._open is not None:
            yield from _renumber(self._open.close(), 0)
        self._open = None

    def _middle(self, frame: Frame, codes: Array, starts: Array) -> Iterator[Outcome]:
        """The groups that begin and end in the batch: several a driver, unless they have too many results."""
        first, last = 0, len(starts) - 1
        while first < last:
            upto = int(np.searchsorted(starts, starts[first] + self._size.rows, "right")) - 1
            upto = min(last, max(first + 1, upto))
            begin, end = int(starts[first]), int(starts[upto])
            least = int(codes[begin])  # keys are numbered as they appear
            driver, results = self._driver(), 0
            for outcome in self._feed(driver, frame, codes, begin, end, least):
                results += len(outcome)
                yield outcome
            for outcome in _renumber(driver.close(), least):
                results += len(outcome)
                yield outcome
            self._size.adapt(results, end - begin)  # of short keys, most results come when they are closed
            first = upto

    def _feed(
        self, driver: Driver, frame: Frame, codes: Array, start: int, stop: int, least: int = 0
    ) -> Iterator[Outcome]:
        """Lead rows through a driver, which numbers keys from ``least`` on, a step at a time."""
        at = start
        while at < stop:
            upto = min(stop, at + self._size.rows)
            codes_of_step = codes[at:upto] - least if least else codes[at:upto]
            driver.rows = self._rows + at
            outcomes = driver.process(frame.part(at, upto), codes_of_step, int(codes_of_step.max()) + 1)
            (outcome,) = _renumber(outcomes, least)
            self._times = driver.times
            self._size.adapt(len(outcome), upto - at)
            at = upto
            yield outcome

    def _driver(self) -> Driver:
        driver = Driver(self._plan, "key")
        driver.times = self._times
        return driver


def _renumber(outcomes: Iterable[AnyOutcome], least: int) -> Iterator[Outcome]:
    """Outcomes as columns, with the numbers that keys have outside the driver."""
    for outcome in outcomes:
        columns = outcome.columns()
        columns.codes = np.asarray(columns.codes) + least if least else columns.codes
        yield columns


class KeyNumbers:
    """Numbers the keys of sorted rows, batch by batch: those of the group that is open come first."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = keys
        self._open: list[tuple[Any, ...]] = []
        self._group: Any = None

    def number(self, frame: Frame, groups: Array | None = None) -> tuple[Array, list[int], list[int], int]:
        """The rows' codes; the rows in which new keys appear; those at which groups begin; the first key left open.

        Without ``groups`` each key is one. The keys that have numbers are those that were open, then the new ones.
        """
        codes, _ = factorize(frame, self._keys)
        appear = np.flatnonzero(np.diff(np.maximum.accumulate(codes), prepend=-1))
        keys = list(zip(*(to_list(frame.take(key, appear), frame.zone(key)) for key in self._keys), strict=True))
        keys = keys or [()] * len(appear)
        starts = (np.flatnonzero(np.diff(codes if groups is None else groups)) + 1).tolist()
        goes_on = bool(self._open) and (
            _same_key(keys[0], self._open[-1]) if groups is None else groups[0] == self._group
        )
        if not goes_on:
            starts.insert(0, 0)
        head = int(codes[: starts[0]].max(initial=-1)) + 1 if starts else len(keys)
        numbers, known, new = [], list(self._open), []
        for place, key in enumerate(keys):
            among = enumerate(self._open if place < head else ())
            number = next((number for number, other in among if _same_key(other, key)), None)
            if number is None:
                number = len(known)
                known.append(key)
                new.append(int(appear[place]))
            numbers.append(number)
        codes = np.array(numbers, np.int64)[codes]
        first_open = int(codes[starts[-1]]) if starts else 0
        self._open, self._group = known[first_open:], None if groups is None else groups[-1]
        return codes, new, starts, first_open


def _same_key(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether two keys are one: null equals null, and NaN equals NaN."""
    return all(x == y or (x != x and y != y) for x, y in zip(a, b, strict=True))
