"""Operators: rows or tables of a stream in, and results out; that of users, and those of engines."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeVar

from sash.engine.lane import Mark
from sash.engine.results import AnyOutcome, Emitted
from sash.engine.rows.engine import RowEngine
from sash.frames import columns_of
from sash.query import Query
from sash.query.lanes import Lane, OwnWatermark
from sash.runtime.driver import DriverMark
from sash.runtime.snapshots import Snapshots
from sash.runtime.stream import Outcomes
from sash.values import PerformanceWarning
from sash.values.arrays import Nan

__all__ = ["KeyOperator", "KeyedOperator", "Operator", "Outcomes"]

Row = dict[str, Any]
Values = tuple[Any, ...]
Made = TypeVar("Made")
_NO_TIMES = (None,)
"""Of a row that only has a lane in the order of arrival."""


class Operator(Snapshots):
    """Runs ``query`` over the stream of all keys.

    By its own watermark, the operator waits for ``watermark_delay`` behind the newest time of any key, as Flink, Spark
    and Kafka Streams do: so silent keys are answered too. ``own_watermark="key"`` keeps a watermark a key; with
    ``own_watermark=False`` only :meth:`advance` moves it, for engines that have their own. A call either happens or
    does not: after an error, or Ctrl-C at any moment, the operator is as it was, and the call can be made again.

    Costs: a tuple a lift and a merge, and O(log keys) for the timers of other keys; a window at most 3 merges if
    nothing can be corrected, else O(log slices); a late tuple O(log slices), and the windows that it corrects. Batches
    cost the same merges, in compiled code. Going over from rows to batches, or back, costs O(state).

    >>> import sash
    >>> op = sash.Operator(sash.Query(key="plug", windows=sash.sliding(2), aggregates={"peak": sash.Max("load")}))
    >>> op.process({"plug": "a", "load": 3}), op.process({"plug": "b", "load": 7})
    ([], [])
    >>> op.process({"plug": "a", "load": 9})
    [{'plug': 'a', 'window_start': 0, 'window_end': 2, 'peak': 9}]
    >>> op.process_batch({"plug": ["b", "a"], "load": [4, 5]})
    {'plug': ['a', 'b'], 'window_start': [1, 0], 'window_end': [3, 2], 'peak': [9, 7]}
    """

    def __init__(self, query: Query, *, own_watermark: OwnWatermark = True) -> None:
        super().__init__(query, own_watermark, mixed=True)

    def _prepare(self, query: Query) -> None:
        super()._prepare(query)
        self._value_columns, orders = query.values, [lane.order for lane in query.lanes]
        self._results = query.results[len(query.keys) - len(self._key_columns) :]
        self._read_values, self._pick_values = _readers(query, query.values)
        self._read_times, self._pick_times = _readers(query, orders)
        self._read_key, self._pick_key = _readers(query, self._key_columns)
        self._timed = any(order is not None for order in orders)

    def warm_up(self) -> None:
        """Prepare for rows, so that the first does not wait."""
        for lane in self._driver.lanes:
            lane.rows().grow(0 if self._key_columns else 1)

    # tuples

    def process(self, row: Mapping[str, Any]) -> list[Row]:
        """Take a tuple and return the results that it completes, with their key."""
        if self._closed:
            self._refuse_closed()
        try:
            values = self._read_values(row)
            times = self._read_times(row) if self._timed else _NO_TIMES
            key = self._read_key(row) if self._key_columns else ()
        except KeyError as error:
            there = ", ".join(map(repr, row))
            raise KeyError(f"row {self._driver.rows} has no column {error.args[0]!r}; it has {there}") from None
        return self._take(key, times, values, self._row)

    def take(self, row: Values) -> list[Values]:
        """As :meth:`process`, for engines whose rows have no names: a row's values in the order of ``query.columns``.

        Results are the values of rows, in the order of ``query.results``. Costs what :meth:`process` does but for the
        dictionaries.

        >>> import sash
        >>> op = sash.Operator(sash.Query(key="plug", windows=sash.sliding(2), aggregates={"peak": sash.Max("load")}))
        >>> op.take(("a", 3)), op.take(("a", 9))
        ([], [('a', 0, 2, 9)])
        """
        if self._closed:
            self._refuse_closed()
        try:
            values = self._pick_values(row)
            times = self._pick_times(row) if self._timed else _NO_TIMES
            key = self._pick_key(row) if self._key_columns else ()
        except IndexError:
            needed, count = ", ".join(map(repr, self.query.columns)), self._driver.rows
            raise ValueError(f"row {count} has {len(row)} values; it needs one for each of {needed}") from None
        return self._take(key, times, values, self._values)

    def _take(self, key: Values, times: Values, values: Values, make: Callable[[Lane, Emitted], Made]) -> list[Made]:
        """Take a tuple, all or nothing. ``make`` converts a result to what is returned.

        Most rows have a known key and a single lane that runs by rows. They end here; the driver takes the others.
        """
        driver, numbers = self._driver, self._keys.numbers
        switch = driver.lanes[0]
        engine, lane = switch.engine, switch.lane
        try:
            code = None if numbers is None else numbers.get(key[0] if len(key) == 1 else key)
        except TypeError:  # it cannot be a key, which number() says
            code = None
        if code is None:
            return self._take_of_new_key(key, times, values, make)
        if len(driver.lanes) > 1 or type(engine) is not RowEngine:
            return driver.process_row(code, times, values, make)
        rows, time, known, order = driver.rows, None, driver.times, lane.order
        adopted = known
        if order is not None:
            codec = known.codecs.get(order)
            if codec is None:
                time, adopted = known.of_row(lane, times[0], rows)
            else:
                time = codec.to_inside(times[0], rows, order)
        own, mark = (known, rows, driver.dropped), engine.mark()
        try:
            emitted = engine.take(code, time, values)
            driver.times, driver.dropped = adopted, (0,) if emitted is None else ()
            driver.rows = rows + 1
            results = []
            for result in emitted or ():  # mostly none or one: a loop is faster than a comprehension
                results.append(make(lane, result))  # noqa: PERF401
            return results
        except BaseException as error:
            driver.take_back_row(DriverMark(own, [(switch, Mark(engine, mark))]), error)
            raise

    def _take_of_new_key(
        self, key: Values, times: Values, values: Values, make: Callable[[Lane, Emitted], Made]
    ) -> list[Made]:
        mark = self._mark()
        try:
            return self._driver.process_row(self._keys.number(key, self._driver.rows), times, values, make)
        except BaseException:
            self._undo(mark)
            raise

    def process_batch(self, data: Any, *, nan: Nan = "null") -> Any:
        """Take a batch: a table of any kind that :func:`sash.run` knows; its results are of the same kind.

        The results are the same as row by row, however the stream is cut into batches, key by key. Runs on compiled
        kernels, except where :meth:`explain` says why not. ``nan`` as for :func:`sash.run`.
        """
        self._refuse_closed()
        columns = [*self._key_columns, *self.query.orders, *self._value_columns]
        return self._process(columns_of(data, columns, nan), self._table)

    # time

    def advance(self, watermark: Any) -> list[Row]:
        """No tuple before ``watermark`` comes any more: the results of the windows that this completes, of every key.

        With windows in several orders, a mapping from the columns that order them to their watermarks.
        """
        return self._advance(watermark, self._rows_of)

    def advance_values(self, watermark: Any) -> list[Values]:
        """As :meth:`advance`, with results as :meth:`take` gives them.

        >>> import sash
        >>> op = sash.Operator(sash.Query(windows=sash.tumbling(10, on="t"), aggregates={"n": sash.Count()}))
        >>> op.take((3,)), op.advance_values(10)
        ([], [(0, 10, 1)])
        """
        return self._advance(watermark, self._values_of)

    def close(self) -> list[Row]:
        """The end of the input: the results of all windows that are complete when nothing comes any more."""
        return self._close(self._rows_of)

    def close_values(self) -> list[Values]:
        """As :meth:`close`, with results as :meth:`take` gives them.

        >>> import sash
        >>> op = sash.Operator(sash.Query(windows=sash.tumbling(10, on="t"), aggregates={"n": sash.Count()}))
        >>> op.take((3,)), op.close_values()
        ([], [(0, 10, 1)])
        """
        return self._close(self._values_of)

    def _rows_of(self, outcomes: list[AnyOutcome]) -> list[Row]:
        return [self._row(outcome.lane, emitted) for outcome in outcomes for emitted in outcome.rows()]

    def _values_of(self, outcomes: list[AnyOutcome]) -> list[Values]:
        return [self._values(outcome.lane, emitted) for outcome in outcomes for emitted in outcome.rows()]

    def _values(self, lane: Lane, emitted: Emitted) -> Values:
        """The values of a result, those of its key first."""
        values = self._output.values(lane, emitted.result, self._driver.times.codecs)
        return (*self._keys.key(emitted.code), *values) if self._key_columns else values

    def _row(self, lane: Lane, emitted: Emitted) -> Row:
        return dict(zip(self._results, self._values(lane, emitted), strict=True))


class KeyOperator(Operator):
    """Runs ``query`` over the tuples of one key: for engines that keep the keys apart. Results have no key.

    >>> import sash
    >>> op = KeyOperator(sash.Query(key="plug", windows=sash.sliding(2), aggregates={"peak": sash.Max("load")}))
    >>> op.take(("a", 3)), op.take(("a", 9))
    ([], [(0, 2, 9)])
    """

    def __init__(self, query: Query, *, own_watermark: OwnWatermark = True) -> None:
        Snapshots.__init__(self, query, own_watermark, mixed=True, keys=())


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


def _readers(query: Query, columns: Sequence[str | None]) -> tuple[Callable[[Any], Values], Callable[[Any], Values]]:
    """What takes the values of columns, None for none, out of rows with names, and out of rows without."""
    places = [None if column is None else query.columns.index(column) for column in columns]
    return _reader(columns), _reader(places)


def _reader(places: Sequence[Any]) -> Callable[[Any], Values]:
    """What takes the values at some places of a row as a tuple; None is the place of None."""
    if len(places) == 1 and places[0] is not None:
        (place,) = places
        return lambda row: (row[place],)
    if not places or None in places:
        return lambda row: tuple([None if place is None else row[place] for place in places])
    return itemgetter(*places)
