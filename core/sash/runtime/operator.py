"""The operator: one key's stream in, results out. All that an adapter ever calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np

from sash.engine.columns.values import as_in_rows
from sash.engine.lane import Engines, Mark, undo
from sash.engine.results import Outcome
from sash.engine.rows.lane import Result, RowLane
from sash.engine.rows.timers import next_of_rows
from sash.frames import Frame, columns_of
from sash.query import Query
from sash.query.lanes import OwnWatermark
from sash.runtime.error_rows import naming_rows
from sash.runtime.operator_state import OperatorState
from sash.runtime.output import Output
from sash.values.arrays import Nan
from sash.values.time_codec import TimeCodec

__all__ = ["Operator"]

Row = dict[str, Any]
Values = tuple[Any, ...]
Made = TypeVar("Made")
Marks = list[tuple[Engines, Mark]]


class Operator(OperatorState):
    """Runs ``query`` over the tuples of one key.

    Without ``own_watermark`` tuples do not move the watermark, only :meth:`advance` does: for engines that have their
    own; or only those in the lanes of some columns. A call either happens or does not: after an error, or Ctrl-C at any
    moment, the operator is as it was, and the call can be made again. Results do not tell the key.

    Costs: a tuple a lift and a merge; a window at most 3 merges if nothing can be corrected, else O(log slices); a late
    tuple O(log slices), and the windows that it corrects. Batches cost the same merges, in compiled code.

    >>> import sash
    >>> op = sash.Operator(sash.Query(windows=sash.sliding(2), aggregates={"peak": sash.Max("load")}))
    >>> op.process({"load": 3}), op.process({"load": 9})
    ([], [{'window_start': 0, 'window_end': 2, 'peak': 9}])
    >>> op.process_batch({"load": [4, 5, 6]})
    {'window_start': [1, 2, 3], 'window_end': [3, 4, 5], 'peak': [9, 5, 6]}
    """

    def __init__(self, query: Query, *, own_watermark: OwnWatermark = True) -> None:
        self.dropped: Collection[int] = ()
        """Which rows of the last call came too late, and were dropped: their places in it."""
        super().__init__(query, own_watermark=own_watermark)

    def _prepare(self, query: Query) -> None:
        super()._prepare(query)
        self._values = query.values
        self._orders = [each.lane.order for each in self._lanes]
        self._in_arrival = self._orders == [None]
        self._order_places = [None if order is None else query.columns.index(order) for order in self._orders]
        self._values_in = _chosen([query.columns.index(column) for column in self._values])
        self._output = Output(query)
        timed = [each for each in self._lanes if each.lane.order is not None]
        self._timely = next((each for each in timed if each.lane.order == query.time), timed[0] if timed else None)

    def warm_up(self) -> None:
        """Have ready what tuples will be taken by, row by row, so that the first does not wait for it."""
        for each in self._lanes:
            each.rows()

    # tuples

    def process(self, row: Mapping[str, Any]) -> list[Row]:
        """Take a tuple; the results that it brings."""
        if self._closed:
            self._refuse_closed()
        try:
            values = tuple([row[column] for column in self._values])
            times = [None if order is None else row[order] for order in self._orders]
        except KeyError as error:
            there = ", ".join(map(repr, row))
            raise KeyError(f"row {self._rows} has no column {error.args[0]!r}; it has {there}") from None
        return self._process(times, values, self._output.row)

    def take(self, row: Values) -> list[Values]:
        """As :meth:`process`, for engines whose rows have no names: a row's values in the order of ``query.columns``.

        Results are the values of rows, in the order of ``query.results`` without the key's columns. Costs what
        :meth:`process` does but for the dictionaries.

        >>> import sash
        >>> op = sash.Operator(sash.Query(key="plug", windows=sash.sliding(2), aggregates={"peak": sash.Max("load")}))
        >>> op.take(("a", 3)), op.take(("a", 9))
        ([], [(0, 2, 9)])
        """
        if self._closed:
            self._refuse_closed()
        try:
            values = self._values_in(row)
            times = None if self._in_arrival else [None if at is None else row[at] for at in self._order_places]
        except IndexError:
            needed = ", ".join(map(repr, self.query.columns))
            raise ValueError(f"row {self._rows} has {len(row)} values; it needs one for each of {needed}") from None
        if times is not None:
            return self._process(times, values, self._output.values)
        each = self._lanes[0]
        lane, codecs, count, dropped = each.engine, self._codecs, self._rows, self.dropped
        if type(lane) is not RowLane:
            return self._in_lanes([None], values, self._output.values)
        marked = lane.marked
        try:
            try:
                found = lane.process(None, values) or ()  # nothing is ever late
            except (TypeError, ValueError) as error:
                raise self._naming_row(error) from error
            self.dropped = ()
            self._rows = count + 1
            return [self._output.values(each.lane, result, codecs) for result in found] if found else []
        except BaseException:
            self._undo((codecs, count, dropped), [(each, Mark(lane))] if lane.marked is not marked else [])
            raise

    def _process(self, times: list[Any], values: Values, made: Callable[..., Made]) -> list[Made]:
        """Take a tuple; ``made`` is what results are made by."""
        each, codecs, count, dropped = self._lanes[0], self._codecs, self._rows, self.dropped
        lane = each.engine
        if len(times) > 1 or type(lane) is not RowLane:
            return self._in_lanes(times, values, made)
        marked = lane.marked
        try:
            try:
                time = None if self._orders[0] is None else self._inside(each, times[0])
                found = lane.process(time, values)
            except (TypeError, ValueError) as error:
                if lane.marked is marked:  # it is the time that is refused, which names the row already
                    raise
                raise self._naming_row(error) from error
            self.dropped = (0,) if found is None else ()
            self._rows = count + 1
            return [made(each.lane, result, self._codecs) for result in found] if found else []
        except BaseException:
            self._undo((codecs, count, dropped), [(each, Mark(lane))] if lane.marked is not marked else [])
            raise

    def _in_lanes(self, times: list[Any], values: Values, made: Callable[..., Made]) -> list[Made]:
        """The same for several lanes, or one that goes over from columns to rows."""
        before, marks = (self._codecs, self._rows, self.dropped), self._mark(self._lanes)
        try:
            inside = [self._inside(each, time) for each, time in zip(self._lanes, times, strict=True)]
            results: list[Made] = []
            late = False
            for each, time in zip(self._lanes, inside, strict=True):
                found, dropped = self._in_lane(each, time, values, made)
                results += found
                late = late or dropped
            self.dropped = (0,) if late else ()
            self._rows += 1
            return results
        except BaseException:
            self._undo(before, marks)
            raise

    def _in_lane(self, each: Engines, time: Any, values: Values, made: Callable[..., Made]) -> tuple[list[Made], bool]:
        """The results of a tuple in one lane, and whether it came too late for it."""
        try:
            found = each.rows().take(time, values)
        except (TypeError, ValueError) as error:
            raise self._naming_row(error) from error
        return [made(each.lane, result, self._codecs) for result in found or ()], found is None

    def _naming_row(self, error: Exception) -> Exception:
        return type(error)(f"row {self._rows}: {error}")

    def _inside(self, each: Engines, time: Any) -> Any:
        order = each.lane.order
        if order is None:
            return None
        codec = self._codecs.get(order)
        if codec is None:
            codec = TimeCodec.of(time, self._rows, order, each.lane.time_unit)
            self._adopt(each, codec)
        return codec.to_inside(time, self._rows, order)

    def _adopt(self, each: Engines, codec: TimeCodec) -> None:
        order = each.lane.order
        assert order is not None
        self._codecs = {**self._codecs, order: self._output.codec(each.lane, codec)}

    def process_batch(self, data: Any, *, nan: Nan = "null") -> Any:
        """Take a batch: a table of any kind that :func:`sash.run` knows; its results are of the same kind.

        The same results as row by row, however the stream is cut into batches. Runs on compiled kernels, except where
        results can be corrected or a window has to be told of each tuple. ``nan`` as for :func:`sash.run`.
        """
        self._refuse_closed()
        frame = columns_of(data, [*self.query.orders, *self._values], nan)
        before, marks = (self._codecs, self._rows, self.dropped), self._mark(self._lanes)
        try:
            outcomes = []
            dropped: set[int] = set()
            inside = [self._inside_array(each, frame) for each in self._lanes]
            for each, times in zip(self._lanes, inside, strict=True):
                with naming_rows(self.query, frame, first=self._rows):
                    late, outcome = self._batch(each, frame, times)
                dropped.update(late)
                outcomes.append(outcome)
            table = self._output.table(frame, outcomes, self._codecs)
            self.dropped = sorted(dropped)
            self._rows += len(frame)
            return table
        except BaseException:
            self._undo(before, marks)
            raise

    def _inside_array(self, each: Engines, frame: Frame) -> Any:
        order = each.lane.order
        if order is None:
            return None
        if not len(frame):
            return np.zeros(0, np.int64)
        codec = self._codecs.get(order)
        if codec is None:
            codec = TimeCodec.of_array(frame[order], order, frame.zone(order), self._rows, each.lane.time_unit)
            if codec is None:
                return np.zeros(0, np.int64)
            self._adopt(each, codec)
        return codec.to_inside_array(frame[order], order, self._rows, frame.zone(order))

    def _batch(self, each: Engines, frame: Frame, times: Any) -> tuple[Collection[int], Outcome]:
        if each.rows_only is None:
            engine = each.columns()
            columns = {column: as_in_rows(frame, column) for column in self._values}
            results = engine.process(None, times, columns, len(frame))
            return engine.dropped.tolist(), Outcome.of_columns(each.lane, results)
        rows = each.rows()
        found: list[Result] = []
        late: list[int] = []
        whole = [frame.listed(column) for column in self._values]
        values = zip(*whole, strict=True) if whole else iter([()] * len(frame))
        moments = [None] * len(frame) if times is None else times.tolist()
        for place, (time, value) in enumerate(zip(moments, values, strict=True)):
            brought = rows.take(time, value)
            if brought is None:
                late.append(place)
            else:
                found += brought
        return late, Outcome.of_rows(each.lane, found, self.query)

    # all or nothing

    def _mark(self, lanes: list[Engines]) -> Marks:
        return [(each, each.mark()) for each in lanes]

    def _undo(self, before: tuple[Any, int, Collection[int]], marks: Marks) -> None:
        """Take back a call that was interrupted, in the lanes and here."""
        self._codecs, self._rows, self.dropped = before
        undo(marks)

    # time

    def advance(self, watermark: Any) -> list[Row]:
        """No tuple before ``watermark`` comes any more: the results of the windows that this completes.

        With windows in several orders, a mapping from the columns that order them to their watermarks.
        """
        return self._passed(watermark, self._output.row)

    def advance_values(self, watermark: Any) -> list[Values]:
        """As :meth:`advance`, with results as :meth:`take` gives them.

        >>> import sash
        >>> op = sash.Operator(sash.Query(windows=sash.tumbling(10, on="t"), aggregates={"n": sash.Count()}))
        >>> op.take((3,)), op.advance_values(10)
        ([], [(0, 10, 1)])
        """
        return self._passed(watermark, self._output.values)

    def _passed(self, watermark: Any, made: Callable[..., Made]) -> list[Made]:
        if self._closed:
            self._refuse_closed()
        before, moved = (self._codecs, self._rows, self.dropped), []
        for each in self._lanes:
            order = each.lane.order
            value = watermark.get(order) if isinstance(watermark, Mapping) else watermark
            if order is not None and value is not None:
                moved.append((each, value))
        marks = self._mark([each for each, _ in moved])
        try:
            results = self._move([(each, self._watermark_inside(each, value)) for each, value in moved], made)
            self.dropped = ()
            return results
        except BaseException:
            self._undo(before, marks)
            raise

    def _watermark_inside(self, each: Engines, watermark: Any) -> Any:
        """A watermark as it is inside."""
        order = each.lane.order
        assert order is not None
        codec = self._codecs.get(order)
        if codec is None:
            codec, adopted = TimeCodec.of_watermark(watermark, self._rows, order, each.lane.time_unit)
            if adopted:
                self._adopt(each, codec)
        return codec.to_inside(watermark, self._rows, order)

    def close(self) -> list[Row]:
        """The end of the input: the results of all windows that are complete when nothing comes any more."""
        return self._ended(self._output.row)

    def close_values(self) -> list[Values]:
        """As :meth:`close`, with results as :meth:`take` gives them.

        >>> import sash
        >>> op = sash.Operator(sash.Query(windows=sash.tumbling(10, on="t"), aggregates={"n": sash.Count()}))
        >>> op.take((3,)), op.close_values()
        ([], [(0, 10, 1)])
        """
        return self._ended(self._output.values)

    def _ended(self, made: Callable[..., Made]) -> list[Made]:
        self._refuse_closed()
        before, marks = (self._codecs, self._rows, self.dropped), self._mark(self._lanes)
        try:
            results = self._move([(each, math.inf) for each in self._lanes], made)
            self.dropped = ()
            self._closed = True
            return results
        except BaseException:
            self._closed = False
            self._undo(before, marks)
            raise

    def _move(self, lanes: list[tuple[Engines, Any]], made: Callable[..., Made]) -> list[Made]:
        """The results of watermarks that move, as they are inside."""
        codecs = self._codecs
        return [made(each.lane, result, codecs) for each, upto in lanes for result in each.rows().move(upto)]

    def next_timer(self) -> Any:
        """No window becomes complete before this time, unless tuples come; None: none at all.

        As :meth:`sash.runtime.keyed.KeyedOperator.next_timer`, for a stream that is taken row by row.

        >>> import sash
        >>> query = sash.Query(windows=sash.tumbling(10, on="t"), aggregates={"n": sash.Count()})
        >>> op = sash.Operator(query)
        >>> op.process({"t": 3}), op.next_timer()
        ([], 10)
        """
        timed = self._timed()
        if timed is None:
            return None
        lane, codec = timed
        time = next_of_rows(lane)
        return time if time is None or math.isinf(time) else codec.from_inside(time)

    @property
    def newest(self) -> Any:
        """The latest time of a tuple in the order of :meth:`next_timer`; None: there is none. O(1).

        >>> import sash
        >>> op = sash.Operator(sash.Query(windows=sash.tumbling(10, on="t"), aggregates={"n": sash.Count()}))
        >>> op.process({"t": 3}), op.newest
        ([], 3)
        """
        timed = self._timed()
        if timed is None:
            return None
        lane, codec = timed
        return None if lane.newest is None else codec.from_inside(lane.newest)

    def _timed(self) -> tuple[RowLane, TimeCodec] | None:
        """The lane by which time passes, of the query's time or the first that a column orders, and how times are told.

        None: there is no such lane, or nothing has told yet what its times are like.
        """
        each = self._timely
        codec = None if each is None else self._codecs.get(each.lane.order or "")
        return None if each is None or codec is None else (each.rows(), codec)

    # what it has done and what it holds

    @property
    def metrics(self) -> dict[str, int]:
        """Tuples in, results out, late ones corrected and dropped, slices and tuples held, merges done."""
        running = [each.running for each in self._lanes]
        corrected = sum(getattr(lane, "late_corrected", 0) for lane in running)
        held = {name: sum(getattr(lane, name) for lane in running) for name in ("slices_held", "tuples_held", "merges")}
        return {
            "tuples_in": self._rows,
            "results_out": sum(lane.results for lane in running),
            "late_corrected": corrected,
            "late_dropped": sum(lane.late_dropped for lane in running),
            **held,
        }

    def explain(self) -> str:
        """The plan in words, and how the batches so far have been run."""
        lines = [str(self.plan)]
        for each in self._lanes:
            for name, form in getattr(each.running, "forms", {}).items():
                how = f"yes, in {form.seconds:.2f} s" if form.compiled else f"no: {form.reason}"
                lines.append(f"compiled   {name}: {how}")
        return "\n".join(lines)


def _chosen(places: list[int]) -> Callable[[Values], Values]:
    """The values at some places of a row, as a tuple."""
    if len(places) > 1:
        return itemgetter(*places)
    if places:
        place = places[0]
        return lambda row: (row[place],)
    return lambda row: ()
