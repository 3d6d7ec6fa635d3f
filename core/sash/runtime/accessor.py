"""What ``df.sash`` offers: windows over a frame of pandas or polars, in one line.

frame ── rolling("5min", by="symbol") ── agg(peak=Max("price")) ──> a row for each row
      ── tumbling("1h") ─────────────── agg(…) ──────────────────> a row for each window
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Protocol

import numpy as np

from sash.aggregations.base import Aggregation
from sash.aggregations.sums import Count
from sash.frames import columns_of, factorize
from sash.kernels.row_passes import order_of
from sash.query import Query
from sash.runtime.run import run
from sash.values.arrays import Array
from sash.windows import Window, cumulative, session, sliding, trailing, tumbling
from sash.windows.trailing import Closed

__all__ = ["FrameAccessor", "Library", "RowWindows", "Windows"]

Duration = str | timedelta
By = str | Sequence[str] | None


class Library(Protocol):
    """What the accessor needs of a library of frames."""

    def with_time(self, frame: Any, on: str | None) -> tuple[Any, str]:
        """The frame with a time column, and its name; without ``on`` the one that the frame itself suggests."""

    def beside(self, results: Any, names: Sequence[str], rows: Array | None, frame: Any) -> Any:
        """Columns of results, row ``rows[i]`` of them for row i of the frame (None: as they come)."""

    def where(self, results: Any, name: str, enough: str, least: int) -> Any:
        """The results with a column null where another one is below ``least``."""


class Windows:
    """Windows over a frame, ready to be aggregated."""

    def __init__(self, frame: Any, window: Window, by: By, time: str | None) -> None:
        self._frame, self._window, self._by, self._time = frame, window, by, time

    def agg(self, **aggregates: Aggregation) -> Any:
        """A row for each window, as :func:`sash.run` has them. Costs what that does."""
        return run(self.query(**aggregates), self._frame)

    def query(self, **aggregates: Aggregation) -> Query:
        """The query that is run."""
        return Query(key=self._by, windows=self._window, aggregates=aggregates, time=self._time)


class RowWindows:
    """A window for each row of a frame, ready to be aggregated; ``least``: null where it holds fewer values."""

    def __init__(
        self, library: Library, frame: Any, rows: Any, window: Window, by: By, time: str | None, least: int | None
    ) -> None:
        self._library, self._frame, self._rows = library, frame, rows
        self._window, self._by, self._time, self._least = window, by, time, least

    def agg(self, **aggregates: Aggregation) -> Any:
        """A row for each row of the frame, in their order, with a column for each aggregate.

        Costs what :func:`sash.run` does, and a sort of the rows by key and time if they are in another order.
        """
        query = self.query(**aggregates)
        results = run(query, self._rows)
        if self._least is not None:
            for name, aggregation in aggregates.items():
                enough = _counter(aggregation)
                results = self._library.where(results, name, enough, self._least)
        return self._library.beside(results, list(aggregates), self._place_of_rows(query), self._frame)

    def query(self, **aggregates: Aggregation) -> Query:
        """The query that is run; it counts values where windows may hold too few."""
        computed = dict(aggregates)
        if self._least is not None:
            computed |= {_counter(one): Count(*one.columns[:1]) for one in aggregates.values()}
        return Query(key=self._by, windows=self._window, aggregates=computed, time=self._time)

    def _place_of_rows(self, query: Query) -> Array | None:
        """The place of each row's result: results are key by key, those of a key in the order of time."""
        order = self._window.on or self._time
        names = [*query.keys, *([order] if order else [])]
        data = columns_of(self._rows, names)
        codes = factorize(data, query.keys)[0]
        keys = int(codes.max(initial=-1)) + 1
        rows = order_of(None if keys <= 1 else codes, data[order] if order else None, keys)
        if rows is None:
            return None
        places = np.empty(len(rows), np.int64)
        places[rows] = np.arange(len(rows))
        return places


def _counter(aggregation: Aggregation) -> str:
    """The name of the result that counts an aggregate's values."""
    return f"count of {' '.join(aggregation.columns[:1])}"


class FrameAccessor:
    """Windows over a frame; ``library`` is what it is of.

    ``by`` names the key, ``on`` the column that rows are ordered by: times with durations, numbers with numbers. Left
    out, times are those of the index in pandas, and of the only column of times in polars.
    """

    def __init__(self, library: Library, frame: Any) -> None:
        self._library, self._frame = library, frame

    def rolling(
        self,
        window: int | float | Duration,
        *,
        by: By = None,
        on: str | None = None,
        closed: Closed = "right",
        min_periods: int | None = None,
    ) -> RowWindows:
        """A window for each row: its last ``window``, a duration (:func:`sash.trailing`) or a number along ``on``.

        A whole number without ``on`` is so many rows, in the order in which they are. Rows before the first full window
        are null then, as in pandas, unless ``min_periods`` says how many values are enough; ``closed`` is for
        durations and numbers.
        """
        if isinstance(window, int) and on is None:
            if closed != "right":
                raise ValueError(f"closed={closed!r} is for windows on time; a window of {window} rows has no bounds")
            least = window if min_periods is None else min_periods
            return RowWindows(self._library, self._frame, self._frame, sliding(window, partial=True), by, None, least)
        rows, time = self._ordered(window, on)
        along = None if time is not None else on
        return RowWindows(self._library, self._frame, rows, trailing(window, closed, on=along), by, time, min_periods)

    def tumbling(self, range: Any, *, by: By = None, on: str | None = None, offset: Any = 0) -> Windows:
        """One window after the other (:func:`sash.tumbling`)."""
        rows, time = self._ordered(range, on)
        return Windows(rows, tumbling(range, offset=offset, on=None if time else on), by, time)

    def sliding(self, range: Any, slide: Any = 1, *, by: By = None, on: str | None = None, offset: Any = 0) -> Windows:
        """The last ``range`` every ``slide`` (:func:`sash.sliding`)."""
        rows, time = self._ordered(range, on)
        return Windows(rows, sliding(range, slide, offset=offset, on=None if time else on), by, time)

    def cumulative(self, range: Any, step: Any, *, by: By = None, on: str | None = None, offset: Any = 0) -> Windows:
        """All since the last multiple of ``range``, step by step (:func:`sash.cumulative`)."""
        rows, time = self._ordered(range, on)
        return Windows(rows, cumulative(range, step, offset=offset, on=None if time else on), by, time)

    def session(self, gap: Any, *, by: By = None, on: str | None = None) -> Windows:
        """Runs of rows less than ``gap`` apart (:func:`sash.session`)."""
        rows, time = self._ordered(gap, on)
        return Windows(rows, session(gap, on=None if time else on), by, time)

    def _ordered(self, length: Any, on: str | None) -> tuple[Any, str | None]:
        """The frame with its time column, and the name of that; None for numbers, along a column or of rows."""
        return self._library.with_time(self._frame, on) if isinstance(length, Duration) else (self._frame, None)
