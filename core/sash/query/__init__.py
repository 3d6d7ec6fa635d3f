"""Queries: what is computed over which windows, by which key. A description only; it runs nothing.

:mod:`sash.query.file` reads and writes queries as files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from functools import cached_property
from typing import Any, get_args

from sash.aggregations.base import Aggregation
from sash.aggregations.custom import Together
from sash.aggregations.sums import Count, counter_of
from sash.aggregators import FIFO
from sash.query.html import query_table
from sash.query.lanes import Lane, TimeUnit, lanes_of
from sash.values.timestamps import as_duration, nanoseconds
from sash.windows import Window

__all__ = ["Query", "arrival_time"]

Duration = str | timedelta | float
arrival_time = "arrival_time()"
"""The ``time`` of queries whose tuples have the time of their arrival, by a clock: processing time."""
RESERVED = ("window", "window_start", "window_end", "revision")
"""Columns of results that no key and no aggregate can be named like, also where a query has no such column."""
_WITH_EARLY = ("final",)
"""Those of queries with early results besides."""
ALGORITHMS = ("auto", "lazy", "eager", "sba", "pba", "fiba", *(algorithm.__name__.lower() for algorithm in FIFO))
"""What ``algorithm`` can name, in lower case and without underscores."""


@dataclass(frozen=True)
class Query:
    """``aggregates`` by name over ``windows``, for every value of ``key`` (a column, several, or None) apart.

    - ``key`` and ``aggregates`` name columns of the results. "window", "window_start", "window_end" and "revision" are
      reserved: rename a key column that is called so.
    - ``windows`` is one window, or several by name: they share slices, and results have the name in ``window``.
    - ``time`` names the column that orders the tuples; without one they are taken in the order of their arrival. With
      ``sash.arrival_time`` their time is that of their arrival, by the clock of the operator or of the engine.
    - ``time_unit`` says what plain numbers in ``time`` are: "s", "ms", "us" or "ns" since 1970. Windows, delays and
      lateness can then be durations; the ends of windows are numbers in that unit. Times that are timestamps have a
      unit of their own and are refused with it.
    - ``watermark_delay`` is how much disorder to wait for: a duration, or a number where ``time`` (or the column that a
      window is ``on``) has plain numbers; with several such columns a mapping from them.
    - ``allowed_lateness`` is for how long a result can still be corrected, in the same units. With it results have a
      ``revision``.
    - ``early`` emits the windows on time and the sessions that are open, at every multiple of this much time that the
      watermark passes. With it results have a ``final``: True for those of complete windows, False for early ones,
      which hold the tuples before that multiple; a window without a new tuple since the multiple before is left out.
      Late tuples do not correct early results, whose ``revision`` is 0: those that follow hold them. A watermark that
      passes several multiples emits each. Where all data is there, as for :func:`sash.run`, and with ``early=0`` all
      results are final.
    - ``algorithm`` is "auto", or the name of one in :mod:`sash.aggregators`, in lower case, or "lazy" or "eager".
    - ``combine_time`` is the duration of one merge, from which the chunks of PBA follow and whether a second thread
      pays. By default it is measured; give it where plans have to be the same on all machines.

    >>> import sash
    >>> sash.Query(key="plug", windows=sash.sliding("1h", "1s"), aggregates={"peak": sash.Max("load")}, time="ts").lanes
    (Lane(order='ts', names=(None,), delay=0, lateness=0, unit='duration', time_unit=None, early=None),)
    """

    windows: Window | Mapping[str, Window]
    aggregates: Mapping[str, Aggregation]
    key: str | Sequence[str] | None = None
    time: str | None = None
    watermark_delay: Duration | Mapping[str, Duration] | None = None
    allowed_lateness: Duration | Mapping[str, Duration] | None = None
    algorithm: str = "auto"
    time_unit: TimeUnit | None = None
    combine_time: str | timedelta | None = None
    early: Duration | Mapping[str, Duration] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.aggregates, Mapping) or not self.aggregates:
            raise TypeError(f"aggregates must map names to aggregations, at least one; got {self.aggregates!r}")
        if self.key is not None and not isinstance(self.key, str | Sequence):
            raise TypeError(f"key must be a column name, several, or None; got {self.key!r}")
        if self.time is not None and not isinstance(self.time, str):
            raise TypeError(f"time must be a column name or None; got {self.time!r}")
        if self.time_unit is not None and self.time_unit not in get_args(TimeUnit):
            raise ValueError(f"time_unit must be 's', 'ms', 'us' or 'ns', or None; got {self.time_unit!r}")
        if self.time_unit is not None and self.time is None:
            raise ValueError(f"time_unit={self.time_unit!r} says what the numbers of a column are: name it with time=")
        if not self.named:
            raise ValueError("windows must hold at least one window")
        if self.algorithm_name not in ALGORITHMS:
            close = get_close_matches(self.algorithm_name, ALGORITHMS, 1)
            raise ValueError(
                f"algorithm must be 'auto' or one of {', '.join(map(repr, ALGORITHMS[1:]))}; got {self.algorithm!r}"
                + (f"; did you mean {close[0]!r}?" if close else "")
            )
        for complaint in self._complaints():
            raise ValueError(complaint)
        self._normalise()
        self.lanes  # noqa: B018  # refuses measures and durations that do not fit together

    def _normalise(self) -> None:
        """Make queries equal that only differ in spelling."""
        if self.key is not None and not isinstance(self.key, str):
            object.__setattr__(self, "key", tuple(self.key))
        for option in ("watermark_delay", "allowed_lateness", "early"):
            amount = getattr(self, option)
            if isinstance(amount, Mapping):
                amount = {column: _normal_duration(value, option) for column, value in amount.items()}
            else:
                amount = _normal_duration(amount, option)
            object.__setattr__(self, option, amount)
        if self.combine_time is not None:
            object.__setattr__(self, "combine_time", as_duration(self.combine_time, "combine_time"))
            if nanoseconds(self.combine_time) == 0:
                raise ValueError("combine_time must be positive, since no merge is free; leave it out to measure it")

    def _complaints(self) -> Iterator[str]:
        if any(not isinstance(column, str) for column in self.keys):
            yield f"key must be a column name, several, or None; got {self.key!r}"
        for number, column in enumerate(self.keys):
            if column in self._reserved:
                yield (
                    f"key column {column!r} has the name of a column that every result may have, as "
                    f"{', '.join(map(repr, self._reserved))} do: rename the column"
                )
            if column in self.keys[:number]:
                yield f"key names column {column!r} twice: name it once"
        taken = {*self.keys, *self._reserved}
        for name, aggregation in self.aggregates.items():
            if not isinstance(aggregation, Aggregation):
                yield f"aggregate {name!r} must be an aggregation such as sash.Max('load'); got {aggregation!r}"
            elif not aggregation.inputs and not isinstance(aggregation, Count):
                yield f"aggregate {name!r}: {aggregation!r} names no column to read"
            if name in taken:
                yield f"aggregate {name!r} has the name of another column of the result: choose another"
        for window_name, window in self.named.items():
            if not isinstance(window, Window):
                named = "" if window_name is None else f"{window_name!r}: "
                yield f"windows: {named}expected a window such as sash.sliding(range=1024); got {window!r}"
            if window_name is not None and not isinstance(window_name, str):
                yield f"windows: a name must be a text; got {window_name!r}"

    @cached_property
    def algorithm_name(self) -> str:
        """The name of the algorithm as :data:`ALGORITHMS` has it."""
        return self.algorithm.lower().replace("_", "") if isinstance(self.algorithm, str) else ""

    @property
    def _reserved(self) -> tuple[str, ...]:
        return RESERVED if self.early is None else RESERVED + _WITH_EARLY

    def _repr_html_(self) -> str:
        return query_table(self)

    @cached_property
    def named(self) -> dict[str | None, Window]:
        """Its windows by name; a single one has the name None."""
        if isinstance(self.windows, Mapping):
            return {name: window for name, window in self.windows.items()}  # noqa: C416  # names may be None here
        return {None: self.windows}

    @cached_property
    def lanes(self) -> tuple[Lane, ...]:
        """Its windows grouped by what orders them."""
        return lanes_of(self.named, self.time, self.watermark_delay, self.allowed_lateness, self.time_unit, self.early)

    @property
    def revises(self) -> bool:
        """Whether results can be corrected, so that they have a revision."""
        return any(lane.lateness for lane in self.lanes)

    @property
    def keys(self) -> tuple[str, ...]:
        """The key's columns, none if there is no key."""
        if self.key is None:
            return ()
        return (self.key,) if isinstance(self.key, str) else tuple(self.key)

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The columns that its aggregates and windows read, each once, in order: what is kept of a tuple."""
        read = [column for aggregation in self.aggregates.values() for column in aggregation.columns]
        read += [column for window in self.named.values() for column in window.columns]
        return tuple(dict.fromkeys(read))

    @cached_property
    def orders(self) -> tuple[str, ...]:
        """The columns that order tuples, each once."""
        return tuple(lane.order for lane in self.lanes if lane.order is not None)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """All columns that it reads, each once: the key's, those of time and measures, and those of values."""
        return tuple(dict.fromkeys((*self.keys, *self.orders, *self.values)))

    @property
    def results(self) -> tuple[str, ...]:
        """The columns of a result, in order."""
        window = ("window",) if isinstance(self.windows, Mapping) else ()
        revision = ("revision",) if self.revises else ()
        final = () if self.early is None else ("final",)
        return (*self.keys, *window, "window_start", "window_end", *revision, *final, *self.aggregates)

    @cached_property
    def computed(self) -> Mapping[str, Aggregation]:
        """Its aggregates, and where windows ask for some values, behind them what counts these. O(aggregates).

        >>> import sash
        >>> window, peak = sash.sliding(3, min_periods=2), {"peak": sash.Max("load")}
        >>> Query(window, peak).computed
        {'peak': Max('load'), "values of Max('load')": Count('load')}
        """
        if not any(window.least_values for window in self.named.values()):
            return self.aggregates
        counters = {counter_of(one): f"values of {one!r}" for one in reversed(list(self.aggregates.values()))}
        return {**self.aggregates, **{name: counter for counter, name in counters.items()}}

    @property
    def together(self) -> Together:
        """Its aggregates as one."""
        return Together(tuple(self.aggregates.values()))

    def using(self, **changes: Any) -> Query:
        """The same query with other values of some fields.

        >>> import sash
        >>> query = sash.Query(windows=sash.sliding(16), aggregates={"peak": sash.Max("load")})
        >>> query.using(algorithm="daba").algorithm
        'daba'
        """
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return Query(**(fields | changes))


def _normal_duration(duration: Any, option: str) -> Any:
    return as_duration(duration, option) if isinstance(duration, str | timedelta) else duration
