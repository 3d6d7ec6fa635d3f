"""The operator of many keys: all of their streams at once, columns in and columns out. For engines and long tables."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from sash.engine.columns.lane import unsupported
from sash.engine.keyed_lanes import ColumnKeys, KeyedLane, RowKeys
from sash.engine.planner import LanePlan, plan
from sash.engine.results import Outcome
from sash.frames import Frame, columns_of, factorize
from sash.frames.key_table import KeyTable
from sash.query import Query
from sash.query.lanes import OwnWatermark, moves_watermark
from sash.runtime.error_rows import naming_rows
from sash.runtime.keyed_state import KeyedState
from sash.runtime.output import Output
from sash.values.arrays import Array, Nan
from sash.values.errors import PerformanceWarning
from sash.values.time_codec import TimeCodec

__all__ = ["KeyedOperator", "Outcomes"]

_HELD = ("slices_held", "tuples_held")
_Mark = tuple[tuple[Any, ...], list[tuple[KeyedLane, Any]]]


class Outcomes(NamedTuple):
    """The results of each lane; their ``codes`` are places in the columns of ``keys``."""

    lanes: list[Outcome]
    keys: dict[str, Array]


class KeyedOperator(KeyedState):
    """Runs ``query`` over the tuples of all keys: what one :class:`sash.Operator` a key would give.

    Tables go in, with the key's columns, and tables of the same kind come out, key by key. Without ``own_watermark``
    tuples do not move the watermark, only :meth:`advance` does, for all keys. A call either happens or does not, even
    if Ctrl-C interrupts it.

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
        super().__init__(query, own_watermark=own_watermark)
        self.plan = plan(query, own_watermark)
        self.dropped: Collection[int] = ()
        """Which rows of the last batch came too late, and were dropped: their places in it."""
        self._output = Output(query)
        self._lanes = [self._lane(planned) for planned in self.plan.lanes]

    def _lane(self, planned: LanePlan) -> KeyedLane:
        reason, own = unsupported(self.query, planned.lane), moves_watermark(self._own, planned.lane)
        if reason is None:
            return ColumnKeys(self.query, planned, own)
        message = f"each key runs row by row in Python, which is slower: {reason}"
        warnings.warn(message, PerformanceWarning, stacklevel=4)
        return RowKeys(self.query, planned, own)

    @property
    def keys(self) -> int:
        """How many keys there are."""
        return len(self._keys)

    # tuples

    def process_batch(self, data: Any, *, nan: Nan = "null") -> Any:
        """Take a batch: a table of any kind that :func:`sash.run` knows; its results are of the same kind.

        ``nan`` as for :func:`sash.run`.
        """
        return self._process(columns_of(data, self.query.columns, nan), self._table)

    def process_outcomes(self, data: Any) -> Outcomes:
        """The same with results as they are inside, for adapters that make tables of their own."""
        outcomes: Outcomes = self._process(columns_of(data, self.query.columns), _inside)
        return outcomes

    def _process(self, frame: Frame, made: Callable[..., Any]) -> Any:
        codes, distinct = factorize(frame, self.query.keys)
        numbers, keys = self._keys.numbered(codes, distinct)
        codecs = dict(self._codecs)
        inside = [self._times(each, frame, codecs) for each in self._lanes]
        mark = self._mark()
        try:
            outcomes = []
            for each, times in zip(self._lanes, inside, strict=True):
                with naming_rows(self.query, frame, numbers, self._rows):
                    outcomes.append(each.process(numbers, times, frame, len(keys)))
            results = made(frame, codecs, _placed(outcomes, keys))
            self.dropped = sorted({place for each in self._lanes for place in each.dropped.tolist()})
            self._keys, self._codecs = keys, codecs
            self._rows += len(frame)
            return results
        except BaseException:
            self._undo(mark)
            raise

    def _times(self, each: KeyedLane, frame: Frame, codecs: dict[str, TimeCodec]) -> Any:
        lane = each.planned.lane
        order = lane.order
        if order is None:
            return None
        if not len(frame):
            return np.zeros(0, np.int64)
        if order not in codecs:
            codec = TimeCodec.of_array(frame[order], order, frame.zone(order), self._rows, lane.time_unit)
            if codec is None:
                return np.zeros(0, np.int64)
            codecs[order] = self._output.codec(lane, codec)
        return codecs[order].to_inside_array(frame[order], order, self._rows, frame.zone(order))

    def _table(self, frame: Frame, codecs: Mapping[str, TimeCodec], outcomes: Outcomes) -> Any:
        return self._output.table(frame, outcomes.lanes, codecs, outcomes.keys)

    # time

    def advance(self, watermark: Any, like: Any = None) -> Any:
        """No tuple of any key before ``watermark`` comes any more: the results of the windows that this completes.

        With windows in several orders, a mapping from the columns that order them to their watermarks. ``like`` is a
        table, perhaps empty, of the kind and types that the results are to have; they are a dict of lists otherwise.
        """
        marks, codecs = self._marks(watermark)
        return self._advance(marks, like, codecs, self._table)

    def advance_outcomes(self, watermark: Any) -> Outcomes:
        """The same with results as they are inside, for adapters that make tables of their own."""
        marks, codecs = self._marks(watermark)
        outcomes: Outcomes = self._advance(marks, None, codecs, _inside)
        return outcomes

    def _marks(self, watermark: Any) -> tuple[list[tuple[KeyedLane, Any]], dict[str, TimeCodec]]:
        marks = []
        codecs = dict(self._codecs)
        for each in self._lanes:
            lane = each.planned.lane
            value = watermark.get(lane.order) if isinstance(watermark, Mapping) else watermark
            if lane.order is not None and value is not None:
                codec, adopted = codecs.get(lane.order), False
                if codec is None:
                    codec, adopted = TimeCodec.of_watermark(value, self._rows, lane.order, lane.time_unit)
                if adopted:
                    codecs[lane.order] = self._output.codec(lane, codec)
                marks.append((each, codec.to_inside(value, self._rows, lane.order)))
        return marks, codecs

    def close(self, like: Any = None) -> Any:
        """The end of the input: the results of all windows that are complete when nothing comes any more."""
        return self._advance([(each, math.inf) for each in self._lanes], like, self._codecs, self._table)

    def close_outcomes(self) -> Outcomes:
        """The same with results as they are inside."""
        outcomes: Outcomes = self._advance([(each, math.inf) for each in self._lanes], None, self._codecs, _inside)
        return outcomes

    def _advance(
        self, marks: list[tuple[KeyedLane, Any]], like: Any, codecs: dict[str, TimeCodec], made: Callable[..., Any]
    ) -> Any:
        frame = columns_of({name: [] for name in self.query.columns} if like is None else like, self.query.columns)
        before = self._mark()
        try:
            outcomes = [each.advance(mark) for each, mark in marks]
            outcomes = outcomes or [self._lanes[0].advance(-math.inf)]  # an empty table
            results = made(frame, codecs, _placed(outcomes, self._keys))
            self.dropped = ()
            self._codecs = codecs
            return results
        except BaseException:
            self._undo(before)
            raise

    def next_timer(self) -> Any:
        """No window of any key becomes complete before this time, unless tuples come; None: none at all.

        In the query's time, or, if it has none, in the first column that orders windows. It may be too early, never too
        late.
        """
        each, order = self._timed()
        time = each.next_time() if each is not None and order in self._codecs else None
        return time if time is None or math.isinf(time) else self._codecs[order].from_inside(time)

    def _timed(self) -> tuple[KeyedLane | None, str]:
        """The lane of the query's time, or, if it has none, the first one that a column orders; and that column."""
        lanes = {each.planned.lane.order: each for each in self._lanes if each.planned.lane.order is not None}
        order = self.query.time if self.query.time in lanes else next(iter(lanes), None)
        return (None, "") if order is None else (lanes[order], order)

    def forget_silent(self, before: Any) -> int:
        """Forget the keys without a tuple since ``before``, open windows and all; how many they were.

        A key that comes again is a new one. Refused without an order other than that of arrival.
        """
        timed, order = self._timed()
        if timed is None:
            raise ValueError("in the order of arrival nothing tells for how long a key has been silent: name time=")
        if order not in self._codecs:
            return 0
        limit = self._codecs[order].to_inside(before, self._rows, order)
        which = np.zeros(self.keys, np.bool_)
        newest = timed.newest()
        which[: len(newest)] = [time is not None and time >= limit for time in newest]
        if which.all():
            return 0
        metrics, mark = Counter(self.metrics), self._mark()
        try:
            for each in self._lanes:
                each.keep(which)
            self._keys, self._serials = self._keys.keep(which), self._serials[which[: len(self._serials)]]
            gone = metrics - Counter(self.metrics)
            self._gone = self._gone + Counter({name: gone[name] for name in gone if name not in _HELD})
            return int((~which).sum())
        except BaseException:
            self._undo(mark)
            raise

    # all or nothing

    def _mark(self) -> _Mark:
        own = (self._keys, self._codecs, self._rows, self.dropped, self._serials, self._gone)
        return own, [(each, each.mark()) for each in self._lanes]

    def _undo(self, mark: _Mark) -> None:
        """Take back a call that was interrupted, in the lanes and here."""
        own, lanes = mark
        self._keys, self._codecs, self._rows, self.dropped, self._serials, self._gone = own
        for each, of_lane in lanes:
            each.undo(of_lane)

    # what it has done and what it holds

    @property
    def metrics(self) -> dict[str, int]:
        """As an operator's, over all keys."""
        each = [Counter(lane.metrics()) for lane in self._lanes]
        names = ("results_out", "late_corrected", "late_dropped", "slices_held", "tuples_held", "merges")
        return {"tuples_in": self._rows, **{name: sum(of[name] for of in each) + self._gone[name] for name in names}}

    def explain(self) -> str:
        """The plan in words."""
        reasons = [unsupported(self.query, each.planned.lane) for each in self._lanes]
        how = [f"row by row, each on its own: {reason}" for reason in reasons if reason] or ["all at once, by columns"]
        return f"{self.plan}\nkeys       {how[0]}"


def _placed(outcomes: list[Outcome], keys: KeyTable) -> Outcomes:
    """With the columns of those keys only that have results."""
    columns, places = keys.columns(np.concatenate([each.codes for each in outcomes]))
    ends = np.cumsum([len(each) for each in outcomes])
    for each, upto in zip(outcomes, ends.tolist(), strict=True):
        each.codes = places[upto - len(each) : upto]
    return Outcomes(outcomes, columns)


def _inside(frame: Frame, codecs: Mapping[str, TimeCodec], outcomes: Outcomes) -> Outcomes:
    return outcomes
