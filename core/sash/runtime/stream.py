"""The base of all operators: the keys of a stream, the driver that runs them, timers, metrics and ``explain``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sash.engine.planner import plan
from sash.engine.results import EARLY, AnyOutcome, Outcome, last_of_each_window
from sash.frames import Frame, columns_of, factorize
from sash.frames.key_table import KeyTable
from sash.kernels import tiers
from sash.query import Query
from sash.query.lanes import OwnWatermark, check_own_watermark
from sash.runtime.driver import Driver, DriverMark
from sash.runtime.output import Output
from sash.values.arrays import Array, in_micros, objects, to_list

__all__ = ["Outcomes", "Stream"]

Converted = TypeVar("Converted")
_HELD = ("slices_held", "tuples_held")
_Mark = tuple[tuple[Any, ...], Any, DriverMark]


class Outcomes(NamedTuple):
    """The results of each lane as columns. Their ``codes`` index the columns of ``keys``."""

    lanes: list[Outcome]
    keys: dict[str, Array]


class Stream:
    """The stream of all keys of a query. A call either happens or does not, even if Ctrl-C interrupts it.

    ``mixed``: rows and batches may both come. ``keys``: the columns that tell keys apart, none for a stream of one key.
    """

    def __init__(
        self, query: Query, own_watermark: OwnWatermark, *, mixed: bool, keys: tuple[str, ...] | None = None
    ) -> None:
        check_own_watermark(own_watermark, query.orders)
        self._own, self._mixed = own_watermark, mixed
        self._key_columns = query.keys if keys is None else keys
        self._closed = False
        self._forgotten: Counter[str] = Counter()  # the counts of keys that were forgotten
        self._deletes = False  # whether outcomes have deletions
        self._serials = np.zeros(0, np.int64)  # of the keys, for the blocks of their slices
        self._blocks: dict[str, Any] = {}  # the blocks that the last save has written, by lane
        self._digests: dict[Any, int] = {}  # of these blocks
        self._keys = KeyTable(self._key_columns)
        self._prepare(query)

    def _prepare(self, query: Query) -> None:
        """Create all that depends on the query, for a stream without rows."""
        self.query = query
        self.plan = plan(query, self._own)
        self._output = Output(query)
        self._driver = Driver(self.plan, self._own, mixed=self._mixed, one_key=not self._key_columns)

    @property
    def dropped(self) -> Collection[int]:
        """The rows of the last call that came too late and were dropped: their places in it."""
        return self._driver.dropped

    @property
    def keys(self) -> int:
        """How many keys there are. O(1)."""
        return len(self._keys)

    # batches and watermarks

    def _process(self, frame: Frame, make: Callable[[Frame, list[AnyOutcome]], Converted]) -> Converted:
        """Take a batch. ``make`` converts the outcomes to what is returned."""
        self._refuse_closed()
        codes, distinct = factorize(frame, self._key_columns)
        if self._mixed:
            distinct = {name: _as_in_rows(column, frame.zone(name)) for name, column in distinct.items()}
        mark = self._mark()
        try:
            codes = self._keys.number_batch(codes, distinct)
            return make(frame, self._driver.process(frame, codes, len(self._keys)))
        except BaseException:
            self._undo(mark)
            raise

    def _update(self, frame: Frame, watermark: Any) -> Outcomes:
        """Move the watermark, unless it is None, and take a batch: the last result of each window, open ones too."""
        self._refuse_closed()
        codes, distinct = factorize(frame, self._key_columns)
        mark = self._mark()
        try:
            outcomes = [] if watermark is None else self._driver.advance(watermark)
            codes = self._keys.number_batch(codes, distinct)
            outcomes += self._driver.process(frame, codes, len(self._keys))
            dropped = self._driver.dropped
            last = last_of_each_window([outcome.columns() for outcome in outcomes])
            results = self._outcomes([*last, *self._open_windows(codes)])
            self._driver.dropped = dropped
            return results
        except BaseException:
            self._undo(mark)
            raise

    def _open_windows(self, codes: Array) -> list[Outcome]:
        """What the windows of some keys would be if no tuple came any more; nothing changes."""
        mark = self._driver.mark()
        try:
            windows = [outcome.columns() for outcome in self._driver.close()]
        finally:
            self._driver.undo(mark)
        asked = np.zeros(len(self._keys), np.bool_)
        asked[codes] = True
        found = [outcome.take(asked[np.asarray(outcome.codes)]) for outcome in windows]
        return [replace(outcome, revision=np.full(len(outcome), EARLY)) for outcome in found]

    def _advance(self, watermark: Any, make: Callable[[list[AnyOutcome]], Converted]) -> Converted:
        """Move the watermark of all keys."""
        self._refuse_closed()
        mark = self._mark()
        try:
            return make(self._driver.advance(watermark))
        except BaseException:
            self._undo(mark)
            raise

    def _close(self, make: Callable[[list[AnyOutcome]], Converted]) -> Converted:
        """End the input."""
        self._refuse_closed()
        mark = self._mark()
        try:
            results = make(self._driver.close())
            self._closed = True
            return results
        except BaseException:
            self._undo(mark)
            raise

    @property
    def closed(self) -> bool:
        """Whether its input has ended."""
        return self._closed

    def _refuse_closed(self) -> None:
        if self._closed:
            raise RuntimeError("the operator is closed: its input has ended")

    def _table(self, frame: Frame, outcomes: list[AnyOutcome]) -> Any:
        """Results as a table of the kind of ``frame``."""
        lanes, keys = self._outcomes(outcomes)
        return self._output.table(frame, lanes, self._driver.times, keys if self._key_columns else None)

    def _outcomes(self, outcomes: list[AnyOutcome]) -> Outcomes:
        """Results as columns, with the columns of those keys only that have some."""
        lanes = [outcome.changes() if self._deletes else outcome.columns() for outcome in outcomes]
        columns, places = self._keys.columns(np.concatenate([outcome.codes for outcome in lanes]))
        end = 0
        for outcome in lanes:
            outcome.codes = places[end : (end := end + len(outcome))]
        return Outcomes(lanes, columns)

    def _empty_frame(self, like: Any) -> Frame:
        return columns_of({name: [] for name in self.query.columns} if like is None else like, self.query.columns)

    # timers, metrics, explanations

    def next_timer(self) -> Any:
        """No window of any key becomes complete before this time, unless tuples come; None: none at all. O(keys).

        In the query's time, or, if it has none, in the first column that orders windows. It may be too early, never too
        late.

        >>> import sash
        >>> query = sash.Query(windows=sash.tumbling(10, on="t"), aggregates={"n": sash.Count()})
        >>> op = sash.Operator(query)
        >>> op.process({"t": 3}), op.next_timer()
        ([], 10)
        """
        return self._driver.next_end()

    @property
    def newest(self) -> Any:
        """The latest time of a tuple in the order of :meth:`next_timer`; None: there is none. O(keys).

        >>> import sash
        >>> op = sash.Operator(sash.Query(windows=sash.tumbling(10, on="t"), aggregates={"n": sash.Count()}))
        >>> op.process({"t": 3}), op.newest
        ([], 3)
        """
        return self._driver.newest()

    def forget_silent(self, before: Any) -> int:
        """Forget the keys without a tuple since ``before``, open windows and all; how many they were. O(state).

        A key that comes again is a new one. Fails if windows are only in the order of arrival.
        """
        which = ~self._driver.silent(before, self.keys)
        if which.all():
            return 0
        metrics, mark = Counter(self.metrics), self._mark()
        try:
            self._driver.keep(which)
            self._keys, self._serials = self._keys.keep(which), self._serials[which[: len(self._serials)]]
            lost = metrics - Counter(self.metrics)
            self._forgotten = self._forgotten + Counter({name: lost[name] for name in lost if name not in _HELD})
            return int((~which).sum())
        except BaseException:
            self._undo(mark)
            raise

    @property
    def metrics(self) -> dict[str, int]:
        """Tuples in, results out, late ones corrected and dropped, slices and tuples held, merges done. O(keys)."""
        return {name: count + self._forgotten[name] for name, count in self._driver.metrics().items()}

    def explain(self) -> str:
        """The plan in words, and how the batches so far have run."""
        lines = [str(self.plan)]
        if self._key_columns:
            reasons = [lane.rows_only for lane in self._driver.lanes if lane.rows_only]
            how = f"row by row, each on its own: {reasons[0]}" if reasons else "all at once, by columns"
            lines.append(f"keys       {how}")
        for name, form in ((name, form) for name, form in self._driver.compiled() if name in self.query.aggregates):
            how = f"yes, in {form.seconds:.2f} s" if form.compiled else f"no: {form.reason}"
            if form.compiled and not form.seconds:
                how = f"yes, once {tiers.COMPILE_ROWS:,} rows have come; kernels run as Python so far"
            lines.append(f"compiled   {name}: {how}")
        for name, words in self._driver.second_threads():
            lines.append(f"batches    {name}: {words}")
        return "\n".join(lines)

    # all or nothing

    def _mark(self) -> _Mark:
        own = self._keys, self._serials, self._forgotten, self._closed
        return own, self._keys.mark(), self._driver.mark()

    def _undo(self, mark: _Mark) -> None:
        """Roll back an interrupted call, in the lanes and here."""
        own, of_keys, of_driver = mark
        self._keys, self._serials, self._forgotten, self._closed = own
        self._driver.undo(of_driver)
        self._keys.undo(of_keys)


def _as_in_rows(keys: Array, zone: str | None) -> Array:
    """Convert keys that are times to the objects that rows hold, so that equal keys are equal."""
    return objects(to_list(in_micros(keys), zone)) if keys.dtype.kind in "mM" else keys
