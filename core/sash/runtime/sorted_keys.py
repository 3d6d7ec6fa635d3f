"""One lane of a query over rows that come key by key, in order, a batch at a time: what a sort leaves behind.

    batch:   a a a b b c c c c │ c c d d d d d …
             └───┘ └─┘ └───────┼───┘ └───────…
             head  middle      tail goes on as the head of the next batch

All keys that begin and end within a batch go through one engine together, so that many small keys do not each cost a
call; a key that is longer than a batch goes on from batch to batch, so that no key has to be in memory as a whole.

Instead of by key, rows may be sorted by groups of keys, such as those of one hash: the keys of a group are in memory
together, and each comes in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from sash.engine.planner import plan
from sash.engine.results import AnyOutcome, Outcome
from sash.frames import Frame, factorize, to_list
from sash.query import Query
from sash.runtime.driver import Driver
from sash.runtime.times import Times

__all__ = ["Numbering", "SortedKeys"]

Array = np.ndarray[Any, Any]

MOST = 1 << 20
"""So many results of one call are enough: where a row is in thousands of windows, calls are given fewer rows."""
FIRST = 1 << 14
"""So many rows the first call is given, before anything is known."""


class SortedKeys:
    """Runs ``query``, whose windows are of one lane, over rows sorted by key and by what orders the lane.

    :class:`Numbering` numbers the keys: those of the group that is open first, then those that begin in a batch. The
    ``codes`` of outcomes are these numbers. Nothing is late, and nothing is corrected.
    """

    def __init__(self, query: Query) -> None:
        self.query = query.using(watermark_delay=None, allowed_lateness=None)
        if len(self.query.lanes) != 1:
            raise ValueError(f"rows can be sorted by one order only; the windows have {len(self.query.lanes)}")
        self._plan = plan(self.query)
        self._times = Times(self.query)
        self._open: Driver | None = None
        self._rows = 0
        self._step = FIRST

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
            yield from _columns(self._open.close(), 0)
        self._open = None

    def _middle(self, frame: Frame, codes: Array, starts: Array) -> Iterator[Outcome]:
        """The groups that begin and end in the batch: some together, as many as do not give too many results."""
        first, last = 0, len(starts) - 1
        while first < last:
            upto = int(np.searchsorted(starts, starts[first] + self._step, "right")) - 1
            upto = min(last, max(first + 1, upto))
            begin, end = int(starts[first]), int(starts[upto])
            least = int(codes[begin])  # keys are numbered as they appear
            driver, results = self._driver(), 0
            for outcome in self._feed(driver, frame, codes, begin, end, least):
                results += len(outcome)
                yield outcome
            for outcome in _columns(driver.close(), least):
                results += len(outcome)
                yield outcome
            self._adapt(results, end - begin)  # of short keys, most results come when they are closed
            first = upto

    def _feed(
        self, driver: Driver, frame: Frame, codes: Array, start: int, stop: int, least: int = 0
    ) -> Iterator[Outcome]:
        """Lead rows through a driver, which numbers keys from ``least`` on, a step at a time."""
        at = start
        while at < stop:
            upto = min(stop, at + self._step)
            own = codes[at:upto] - least if least else codes[at:upto]
            driver.rows = self._rows + at
            (outcome,) = _columns(driver.process(frame.part(at, upto), own, int(own.max()) + 1), least)
            self._times = driver.times
            self._adapt(len(outcome), upto - at)
            at = upto
            yield outcome

    def _adapt(self, results: int, rows: int) -> None:
        """Have the next call give about as many results as are enough, at most."""
        if results > MOST:
            self._step = max(1, rows // 2)
        elif 4 * results < MOST and rows >= self._step:
            self._step *= 2

    def _driver(self) -> Driver:
        driver = Driver(self._plan, "key")
        driver.times = self._times
        return driver


def _columns(outcomes: Iterable[AnyOutcome], least: int) -> Iterator[Outcome]:
    """Outcomes as columns, with the numbers that keys have outside."""
    for outcome in outcomes:
        columns = outcome.columns()
        columns.codes = columns.codes + least if least else columns.codes
        yield columns


class Numbering:
    """Numbers the keys of sorted rows, batch by batch: those of the group that is open come first."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = keys
        self._open: list[tuple[Any, ...]] = []
        self._group: Any = None

    def of(self, frame: Frame, groups: Array | None = None) -> tuple[Array, list[int], list[int], int]:
        """The rows' codes; the rows in which new keys appear; those at which groups begin; the first key left open.

        Without ``groups`` each key is one. The keys that have numbers are those that were open, then the new ones.
        """
        codes, _ = factorize(frame, self._keys)
        appear = np.flatnonzero(np.diff(np.maximum.accumulate(codes), prepend=-1))
        firsts = list(zip(*(to_list(frame.take(key, appear), frame.zone(key)) for key in self._keys), strict=True))
        firsts = firsts or [()] * len(appear)
        group = codes if groups is None else groups
        starts = (np.flatnonzero(np.diff(group)) + 1).tolist()
        goes_on = bool(self._open) and (
            same_key(firsts[0], self._open[-1]) if groups is None else groups[0] == self._group
        )
        if not goes_on:
            starts.insert(0, 0)
        head = int(codes[: starts[0]].max(initial=-1)) + 1 if starts else len(firsts)
        numbers, known, new = [], list(self._open), []
        for place, key in enumerate(firsts):
            number = next((n for n, old in enumerate(self._open) if same_key(old, key)), None) if place < head else None
            if number is None:
                number = len(known)
                known.append(key)
                new.append(int(appear[place]))
            numbers.append(number)
        codes = np.array(numbers, np.int64)[codes]
        left = int(codes[starts[-1]]) if starts else 0
        self._open, self._group = known[left:], None if groups is None else groups[-1]
        return codes, new, starts, left


def same_key(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether two keys are one: null is like null, and NaN like NaN."""
    return all(x == y or (x != x and y != y) for x, y in zip(a, b, strict=True))
