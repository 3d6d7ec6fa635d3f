"""One lane of many keys, which are numbered by codes: by columns all at once, or one row engine a key."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Protocol

import numpy as np

from sash.engine.columns.blocks import BlockId, Ledger, parted
from sash.engine.columns.keys import Array, Keys, Marks, bounds
from sash.engine.columns.lane import NONE, ColumnLane
from sash.engine.columns.lane_states import dumped
from sash.engine.columns.state_bytes import column_parts, read_column_parts, read_row_parts, row_parts
from sash.engine.columns.timers import next_of_columns
from sash.engine.columns.values import value_columns
from sash.engine.lane import Engines, Mark, undo
from sash.engine.planner import LanePlan
from sash.engine.results import Outcome
from sash.engine.rows.lane import Result
from sash.engine.rows.timers import next_of_rows
from sash.frames import Frame
from sash.query import Query

__all__ = ["ColumnKeys", "KeyedLane", "RowKeys"]


Parted = tuple[tuple[Any, ...], Ledger, dict[BlockId, bytes], list[BlockId]]
"""The parts of a lane that are in no block; the blocks that there are, those that are new, and those to delete."""


class KeyedLane(Protocol):
    """What both ways can do. ``dropped`` are the places of the rows of the last call that came too late."""

    planned: LanePlan

    @property
    def dropped(self) -> Array: ...
    def process(self, codes: Array, times: Array | None, frame: Frame, keys: int) -> Outcome: ...
    def advance(self, watermark: Any) -> Outcome: ...
    def next_time(self) -> Any: ...
    def newest(self) -> list[Any]: ...
    def keep(self, which: Array) -> None: ...
    def parts(self) -> tuple[Any, ...]: ...
    def parted(self, serials: Array, known: Ledger, trusted: bool) -> Parted: ...
    def read(self, written: tuple[Any, ...]) -> None: ...
    def mark(self) -> Any: ...
    def undo(self, mark: Any) -> None: ...
    def metrics(self) -> Mapping[str, int]: ...


class ColumnKeys:
    """By columns."""

    def __init__(self, query: Query, planned: LanePlan, own_watermark: bool) -> None:
        self.planned = planned
        self._query = query
        self.engine = ColumnLane(query, planned.lane, own_watermark, keys=0)

    @property
    def dropped(self) -> Array:
        return self.engine.dropped

    def process(self, codes: Array, times: Array | None, frame: Frame, keys: int) -> Outcome:
        return self._outcome(self.engine.process(codes, times, value_columns(self._query, frame), len(frame)))

    def advance(self, watermark: Any) -> Outcome:
        return self._outcome(self.engine.close() if watermark == math.inf else self.engine.advance(watermark))

    def _outcome(self, results: Any) -> Outcome:
        return Outcome.of_columns(self.planned.lane, results)

    def next_time(self) -> Any:
        return next_of_columns(self.engine._state)

    def newest(self) -> list[Any]:
        low = bounds(self.engine._state.dtype)[0]
        return [None if time == low else time for time in self.engine._state.keys.newest.tolist()]

    def keep(self, which: Array) -> None:
        state, which = self.engine._state, which[: self.engine.keys]
        number = np.cumsum(which) - 1
        table, pending = state.table.take(which[state.table.code]), state.pending.take(which[state.pending.codes])
        self.engine._state = replace(
            state,
            keys=Keys(*(getattr(state.keys, each.name)[which] for each in fields(Keys))),
            marks={name: _kept(marks, which) for name, marks in state.marks.items()},
            table=replace(table, code=number[table.code]),
            pending=replace(pending, codes=number[pending.codes]),
        )

    def parts(self) -> tuple[Any, ...]:
        return column_parts(self.engine._state, self.engine.decisions.buffered)

    def parted(self, serials: Array, known: Ledger, trusted: bool) -> Parted:
        state, decisions = self.engine._state, self.engine.decisions
        in_order, order = decisions.in_order or decisions.buffered, self.planned.lane.order or ""
        return parted(state, serials[: self.engine.keys], in_order, decisions.buffered, order, known, trusted)

    def read(self, written: tuple[Any, ...]) -> None:
        query, lane, buffered = self._query, self.planned.lane, self.engine.decisions.buffered
        if written[0] == "rows":
            states, advanced = read_row_parts(written, query, lane, buffered)
            self.engine.load(states, advanced)
            return
        state = read_column_parts(written, query, lane, buffered)
        if len(state.pending) and not buffered:  # windows that made rows wait are gone
            states = dumped(state, query, True)
            self.engine.load(states, state.advanced)
        else:
            self.engine._state = state

    def mark(self) -> Any:
        return self.engine.mark()

    def undo(self, mark: Any) -> None:
        self.engine.undo(mark)

    def metrics(self) -> Mapping[str, int]:
        engine = self.engine
        return {
            "results_out": engine.results,
            "late_corrected": 0,
            "late_dropped": engine.late_dropped,
            "slices_held": engine.slices_held,
            "tuples_held": engine.tuples_held,
            "merges": engine.merges,
        }


def _kept(marks: Marks, which: Array) -> Marks:
    return Marks(*(None if each is None else each[which] for each in (marks.since, marks.since_count, marks.edge)))


class RowKeys:
    """Key by key, tuple by tuple."""

    def __init__(self, query: Query, planned: LanePlan, own_watermark: bool) -> None:
        self.planned = planned
        self.dropped: Array = NONE
        self._query, self._own = query, own_watermark
        self._engines: list[Engines] = []
        self._advanced: Any = None
        self._touched: dict[int, Mark] = {}  # the keys that the current call has changed, and where it began

    def process(self, codes: Array, times: Array | None, frame: Frame, keys: int) -> Outcome:
        while len(self._engines) < keys:
            self._engines.append(self._new())
        whole = [frame.listed(column) for column in self._query.values]
        values = list(zip(*whole, strict=True)) if whole else [()] * len(frame)
        moments = [None] * len(frame) if times is None else times.tolist()
        order = np.argsort(codes, kind="stable")
        parts, late = [], []
        for places in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if len(order) else []:
            code = int(codes[places[0]])
            rows, found = self._touch(code).rows(), []
            for place in places.tolist():
                results = rows.take(moments[place], values[place])
                if results is None:
                    late.append(place)
                else:
                    found += results
            parts.append((code, found))
        self.dropped = np.array(sorted(late), np.int64)
        return self._outcome(parts)

    def _new(self) -> Engines:
        engines = Engines(self._query, self.planned, self._own)
        if self._advanced is not None:
            engines.rows().advance(self._advanced)
        return engines

    def _touch(self, code: int) -> Engines:
        if code not in self._touched:
            self._touched[code] = self._engines[code].mark()
        return self._engines[code]

    def advance(self, watermark: Any) -> Outcome:
        if self.planned.lane.order is not None or watermark == math.inf:
            self._advanced = watermark if self._advanced is None else max(self._advanced, watermark)
            parts = [(code, self._touch(code).rows().move(watermark)) for code in range(len(self._engines))]
        else:
            parts = []
        self.dropped = NONE
        return self._outcome(parts)

    def _outcome(self, parts: list[tuple[int, list[Result]]]) -> Outcome:
        outcome = Outcome.of_rows(self.planned.lane, [each for _, found in parts for each in found], self._query)
        outcome.codes = np.repeat(
            np.array([code for code, _ in parts], np.int64), [len(found) for _, found in parts]
        ).astype(np.int64)
        return outcome

    def next_time(self) -> Any:
        times = [time for each in self._engines if (time := next_of_rows(each.rows())) is not None]
        return min(times, default=None)

    def newest(self) -> list[Any]:
        return [each.rows().newest for each in self._engines]

    def keep(self, which: Array) -> None:
        self._engines = [each for each, kept in zip(self._engines, which.tolist(), strict=False) if kept]

    def parts(self) -> tuple[Any, ...]:
        buffered = self.planned.decisions.buffered
        return row_parts([each.dump() for each in self._engines], self._query.values, self._advanced, buffered)

    def parted(self, serials: Array, known: Ledger, trusted: bool) -> Parted:
        order = self.planned.lane.order or ""
        deleted = [(order, serial, block) for _, serial, block in known.without(Ledger.none())]
        return self.parts(), Ledger.none(), {}, deleted

    def read(self, written: tuple[Any, ...]) -> None:
        lane, buffered = self.planned.lane, self.planned.decisions.buffered
        if written[0] == "rows":
            states, self._advanced = read_row_parts(written, self._query, lane, buffered)
        else:
            state = read_column_parts(written, self._query, lane, buffered)
            states, self._advanced = dumped(state, self._query, False), state.advanced
        self._engines = []
        for each in states:
            engines = Engines(self._query, self.planned, self._own)
            engines.load(each)
            self._engines.append(engines)

    def mark(self) -> Any:
        self._touched = {}
        return self._engines, len(self._engines), self._advanced, self.dropped

    def undo(self, mark: Any) -> None:
        self._engines, keys, self._advanced, self.dropped = mark
        undo((self._engines[code], begin) for code, begin in self._touched.items())
        del self._engines[keys:]

    def metrics(self) -> Mapping[str, int]:
        running = [each.running for each in self._engines]
        names = {"results_out": "results", **{name: name for name in _METRICS}}
        return {name: sum(getattr(lane, of, 0) for lane in running) for name, of in names.items()}


_METRICS = ("late_corrected", "late_dropped", "slices_held", "tuples_held", "merges")
