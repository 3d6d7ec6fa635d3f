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

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from sash.engine.columns.lane import ColumnLane, unsupported
from sash.engine.columns.values import value_columns
from sash.engine.planner import LanePlan, plan
from sash.engine.results import Outcome
from sash.engine.rows.lane import RowLane
from sash.frames import Frame, factorize, to_list
from sash.query import Query
from sash.runtime.error_rows import naming_rows
from sash.runtime.output import Output
from sash.values.arrays import objects
from sash.values.time_codec import TimeCodec

__all__ = ["Numbering", "SortedKeys"]

Array = np.ndarray[Any, Any]

MOST = 1 << 20
"""So many results of one call are enough: where a row is in thousands of windows, calls are given fewer rows."""
FIRST = 1 << 14
"""So many rows the first call is given, before anything is known."""


class _Part(NamedTuple):
    """Some rows of a batch."""

    times: Array | None
    columns: dict[str, Array]
    size: int

    def cut(self, start: int, stop: int) -> _Part:
        times = None if self.times is None else self.times[start:stop]
        return _Part(times, {name: each[start:stop] for name, each in self.columns.items()}, stop - start)


class _Engine(Protocol):
    def process(self, codes: Array, part: _Part) -> Outcome: ...
    def close(self) -> Outcome: ...


class SortedKeys:
    """Runs ``query``, whose windows are of one lane, over rows sorted by key and by what orders the lane.

    :class:`Numbering` numbers the keys: those of the group that is open first, then those that begin in a batch. The
    ``codes`` of outcomes are these numbers. Nothing is late, and nothing is corrected.
    """

    def __init__(self, query: Query) -> None:
        self.query = query.using(watermark_delay=None, allowed_lateness=None)
        if len(self.query.lanes) != 1:
            raise ValueError(f"rows can be sorted by one order only; the windows have {len(self.query.lanes)}")
        self.lane = self.query.lanes[0]
        self.codec: TimeCodec | None = None
        """How times are told; None before any came, and in the order of arrival."""
        self._planned = plan(self.query).lanes[0]
        self._open: _Engine | None = None
        self._rows = 0
        self._step = FIRST

    def process(self, frame: Frame, codes: Array, starts: Sequence[int]) -> Iterator[Outcome]:
        """Take a batch. Groups begin at the rows ``starts``; rows before the first are of the group that is open."""
        part = self._part(frame)
        head = starts[0] if len(starts) else part.size
        with naming_rows(self.query, frame, codes, self._rows):
            if self._open is not None and head:
                yield from self._fed(self._open, codes[:head], part.cut(0, head))
            if len(starts):
                yield from self.close()
                yield from self._middle(part, codes, np.asarray(starts))
                self._open = self._engine()
                first = int(codes[starts[-1]])
                for outcome in self._fed(self._open, codes[starts[-1] :] - first, part.cut(starts[-1], part.size)):
                    yield _coded(outcome, first)
        self._rows += part.size

    def close(self) -> Iterator[Outcome]:
        """No row of the open group comes any more."""
        if self._open is not None:
            yield self._open.close()
        self._open = None

    def _middle(self, part: _Part, codes: Array, starts: Array) -> Iterator[Outcome]:
        """The groups that begin and end in the batch: some together, as many as do not give too many results."""
        first, last = 0, len(starts) - 1
        while first < last:
            upto = int(np.searchsorted(starts, starts[first] + self._step, "right")) - 1
            upto = min(last, max(first + 1, upto))
            begin, end = int(starts[first]), int(starts[upto])
            least = int(codes[begin])  # keys are numbered as they appear
            engine = self._engine()
            found = 0
            for outcome in (*self._fed(engine, codes[begin:end] - least, part.cut(begin, end)), engine.close()):
                found += len(outcome)
                yield _coded(outcome, least)
            self._adapt(found, end - begin)  # of short keys, most results come when they are closed
            first = upto

    def _fed(self, engine: _Engine, codes: Array, part: _Part) -> Iterator[Outcome]:
        at = 0
        while at < part.size:
            stop = min(part.size, at + self._step)
            outcome = engine.process(codes[at:stop], part.cut(at, stop))
            self._adapt(len(outcome), stop - at)
            at = stop
            yield outcome

    def _adapt(self, results: int, rows: int) -> None:
        """Have the next call give about as many results as are enough, at most."""
        if results > MOST:
            self._step = max(1, rows // 2)
        elif 4 * results < MOST and rows >= self._step:
            self._step *= 2

    def _engine(self) -> _Engine:
        if unsupported(self.query, self.lane) is None:
            return _Columns(self.query, self._planned)
        return _Rows(self.query, self._planned)

    def _part(self, frame: Frame) -> _Part:
        order, times = self.lane.order, None
        if order is not None:
            if self.codec is None:
                self._adopt(TimeCodec.of_array(frame[order], order, frame.zone(order), self._rows, self.lane.time_unit))
            assert self.codec is not None
            times = self.codec.to_inside_array(frame[order], order, self._rows, frame.zone(order))
        if unsupported(self.query, self.lane) is None:
            columns = value_columns(self.query, frame)
        else:
            columns = {name: objects(frame.listed(name)) for name in self.query.values}
        return _Part(times, columns, len(frame))

    def _adopt(self, codec: TimeCodec | None) -> None:
        if codec is not None:
            self.codec = Output(self.query).codec(self.lane, codec)


class _Columns:
    """The columnar engine."""

    def __init__(self, query: Query, planned: LanePlan) -> None:
        self._lane = planned.lane
        self._engine = ColumnLane(query, planned.lane)

    def process(self, codes: Array, part: _Part) -> Outcome:
        return Outcome.of_columns(self._lane, self._engine.process(codes, part.times, part.columns, part.size))

    def close(self) -> Outcome:
        return Outcome.of_columns(self._lane, self._engine.close())


class _Rows:
    """The engine for rows, one a key, for windows that have to be told of each tuple."""

    def __init__(self, query: Query, planned: LanePlan) -> None:
        self._query, self._planned = query, planned
        self._engines: dict[int, RowLane] = {}

    def process(self, codes: Array, part: _Part) -> Outcome:
        lists = [part.columns[column].tolist() for column in self._query.values]
        values = zip(*lists, strict=True) if lists else iter([()] * part.size)
        times = [None] * part.size if part.times is None else part.times.tolist()
        found = []
        for code, time, value in zip(codes.tolist(), times, values, strict=True):
            engine = self._engines.get(code)
            if engine is None:
                planned = self._planned
                engine = RowLane(self._query, planned.lane, planned.decisions, planned.store)
                self._engines[code] = engine
            found += [(code, result) for result in engine.process(time, value) or ()]
        return self._outcome(found)

    def close(self) -> Outcome:
        end = float("inf")
        return self._outcome([(code, each) for code, engine in self._engines.items() for each in engine.advance(end)])

    def _outcome(self, found: list[tuple[int, Any]]) -> Outcome:
        outcome = Outcome.of_rows(self._planned.lane, [result for _, result in found], self._query)
        outcome.codes = np.array([code for code, _ in found], np.int64)
        return outcome


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


def _coded(outcome: Outcome, first: int) -> Outcome:
    outcome.codes = outcome.codes + first
    return outcome
