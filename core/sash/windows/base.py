"""What every window answers, so that no caller has to ask for its type; and the bases of users' own windows.

Their edges are known in advance (:class:`ContextFree`), or tuples bring them (:class:`ContextAware`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple

from sash.aggregators.chunk_size import BestChunk

__all__ = ["ContextAware", "ContextClass", "ContextFree", "Edges", "Extent", "RollingShape", "Window"]

Extent = tuple[Any, Any]
"""A window's start and end: it covers ``start <= time < end``, or positions likewise if it is on counts."""


class ContextClass(Enum):
    """How much of the stream a window's edges depend on (general stream slicing, section 4.4)."""

    CF = "context free"
    FCF = "forward context free"
    FCA = "forward context aware"


class RollingShape(NamedTuple):
    """Which rows of a group the windows of :class:`~sash.windows.count.CountWindow` cover. All answers cost O(1)."""

    range: int
    slide: int
    partial: bool

    @property
    def first(self) -> int:
        """How many rows complete the first window."""
        return (self.range % self.slide or self.slide) if self.partial else self.range

    def completed(self, rows: Any) -> Any:
        """How many windows so many rows complete, a number or an array.

        >>> RollingShape(5, 2, partial=True).completed(6), RollingShape(5, 2, partial=False).completed(6)
        (3, 1)
        """
        windows = (rows - self.first) // self.slide + 1
        return windows * (windows > 0)

    def ends(self, numbers: Any) -> Any:
        """How many rows complete the windows of these numbers, the first of which is 0. They start ``range`` before."""
        return numbers * self.slide + self.first


class Window:
    """A description of a window: immutable and picklable. All questions cost O(1).

    Own types subclass :class:`~sash.windows.ContextFree` or :class:`~sash.windows.ContextAware` and need none of what
    is here: the defaults are right for them.

    >>> import sash
    >>> window = sash.sliding("1h", "10s")
    >>> window.needs_time, window.edges_are_positions, window.time_reach == 3600 * 10**9
    (True, False, True)
    """

    on: str | None = None
    """The column that it is measured along; None: the query's time, or arrival."""
    columns: tuple[str, ...] = ()
    """The columns that it reads besides."""

    can_be_corrected: ClassVar[bool] = True
    """Whether a late tuple can correct its results."""
    corrected_by_columns: ClassVar[bool] = False
    """Whether batches correct them by columns, where the order of tuples does not matter to the aggregates."""
    tells_replaced: ClassVar[bool] = False
    """Whether corrections, which may have other bounds, tell which emitted windows they replace."""
    follows_tuples: ClassVar[bool] = False
    """Whether tuples decide where its edges are, so that a late one may move them (figure 4). Sessions only merge."""
    emits_early: ClassVar[bool] = False
    """Whether it can have early results: its windows are open for some time, and known from the tuples so far."""
    required_algorithm: ClassVar[str | None] = None
    """The merging algorithm that alone can find its windows."""
    includes_end: ClassVar[bool] = False
    """Whether tuples at its end belong to it: it is complete when the watermark is behind its end, not at it."""
    closed_left: bool = True
    """Whether a tuple at the start of a window belongs to it."""
    closed_right: bool = False
    """Whether a tuple at its end does."""
    slices_vary: ClassVar[bool] = False
    """Whether each of its windows covers another number of slices."""
    least_values: int = 0
    """With fewer values than this an aggregate has no result."""

    @property
    def bounds_are_positions(self) -> bool:
        """Whether ``window_start`` and ``window_end`` are positions."""
        return False

    @property
    def edges_are_positions(self) -> bool:
        """Whether some of its edges are positions: then a late tuple shifts all that follow it."""
        return self.bounds_are_positions

    @property
    def rank(self) -> int:
        """Its turn among windows complete at one time: those that end there, those on counts, those that include it."""
        return 2 if self.includes_end else int(self.bounds_are_positions)

    @property
    def bound_steps(self) -> tuple[Any, ...]:
        """The amounts by which its bounds differ from each other and from tuples, in the unit that times have inside.

        The first is how far a window reaches after a tuple at most. None if the type does not know them.
        """
        return ()

    @property
    def needs_time(self) -> bool:
        """Whether it is measured in durations, or, with ``on``, in numbers: then arrival cannot order it."""
        return bool(self.bound_steps)

    @property
    def time_reach(self) -> Any:
        """How long after a tuple its last window can end, unless more tuples come."""
        return self.bound_steps[0] if self.bound_steps else 0

    def context_class(self, arrival: bool) -> ContextClass:
        """Its class; ``arrival``: in the order of arrival, where a count is as good as a time."""
        return ContextClass.FCF

    def rows_only_reason(self) -> str | None:
        """Why it cannot be run by columns; None: it can."""
        return None

    @property
    def rolling_shape(self) -> RollingShape | None:
        """Its shape if it is a rolling window over positions; None: it is not."""
        return None

    @property
    def slices_a_window(self) -> int | None:
        """How many slices one of its windows covers; None: that is not fixed."""
        return None

    @property
    def slices_covered(self) -> int | None:
        """The same with the slices that end where its windows do, not only where they begin."""
        return self.slices_a_window

    @property
    def exact_slices(self) -> int | None:
        """The same if it is exact, whatever tuples come; None: there may be fewer slices, or more."""
        return None

    def best_chunk(self, merge_ns: Callable[[], int]) -> BestChunk | None:
        """The largest chunk that PBA need not wait for, where a merge takes ``merge_ns()``; None: no theorem says."""
        return None

    def plain_words(self) -> str:
        """What it covers, for who does not know the papers' notation."""
        return str(self)

    def explain_words(self, arrival: bool) -> str:
        """What ``explain`` says of it."""
        return f"{self}; {self.context_class(arrival).value}"

    def slices_words(self, begins_only: bool) -> str:
        """What ``explain`` says of its slices, if their number is fixed; ``begins_only``: rows cut only at begins."""
        return f"{self.slices_a_window} a window"

    def file_table(self) -> dict[str, Any] | None:
        """Its table in a query file, with functions as they are; None: it is written by the path of its class.

        A value of None is left out.
        """
        return None


class ContextFree(Window, ABC):
    """Windows whose edges are known without looking at tuples.

    A subclass says where edges are; it must be immutable and picklable. It is on time, or on another column that
    advances if it has an ``on``, or on counts with ``measure = "count"``. Times are what the column has if it has plain
    numbers, else, or if the query has a ``time_unit``, nanoseconds since 1970.

    >>> import sash
    >>> class Office(sash.windows.ContextFree):
    ...     "From 9 to 17 o'clock of every day; times are hours."
    ...     def next_edge(self, after):
    ...         day = after // 24 * 24
    ...         return next(edge for edge in (day + 9, day + 17, day + 33) if edge > after)
    ...     def windows(self, after, upto):
    ...         day = after // 24 * 24
    ...         while day + 17 <= upto:
    ...             if day + 17 > after:
    ...                 yield day + 9, day + 17
    ...             day += 24
    >>> list(Office().windows(17, 70))
    [(33, 41), (57, 65)]
    """

    measure: ClassVar[Literal["time", "count"]] = "time"
    on: str | None = None
    columns: tuple[str, ...] = ()
    """Columns that it reads besides the one it is on: none, it is free of context."""

    @property
    def bounds_are_positions(self) -> bool:
        return self.measure == "count"

    @property
    def time_reach(self) -> Any:
        known = self.bound_steps or self.measure == "count"
        return super().time_reach if known else math.inf

    def context_class(self, arrival: bool) -> ContextClass:
        return ContextClass.CF if arrival or self.measure == "time" else ContextClass.FCF

    @abstractmethod
    def next_edge(self, after: Any) -> Any:
        """The next edge, a start or an end of a window, after ``after``."""

    def next_begin(self, after: Any) -> Any:
        """The next start of a window after ``after``; a type that does not know where they are has any edge for one.

        Only asked of the type that defines it: a subclass may have windows of its own.
        """
        return self.next_edge(after)

    @abstractmethod
    def windows(self, after: Any, upto: Any) -> Iterator[Extent]:
        """The windows with ``after < end <= upto`` in the order of their ends, their starts never going back.

        Lazily: ``upto`` may be infinite.
        """


class Edges:
    """The edges that tuples have brought, in order. Adding and finding one is O(log n).

    >>> edges = Edges([10, 30])
    >>> edges.add(20); edges.remove(30); list(edges)
    [10, 20]
    >>> edges.before(20), edges.after(20)
    (10, None)
    """

    def __init__(self, times: Iterable[Any] = ()) -> None:
        self._times = sorted(set(times))

    def add(self, time: Any) -> None:
        """Add an edge, unless it is there already."""
        at = bisect_left(self._times, time)
        if at == len(self._times) or self._times[at] != time:
            self._times.insert(at, time)

    def remove(self, time: Any) -> None:
        """Remove an edge, if it is there."""
        at = bisect_left(self._times, time)
        if at < len(self._times) and self._times[at] == time:
            del self._times[at]

    def before(self, time: Any) -> Any:
        """The last edge before ``time``, None if there is none."""
        at = bisect_left(self._times, time)
        return self._times[at - 1] if at else None

    def after(self, time: Any) -> Any:
        """The first edge after ``time``, None if there is none."""
        at = bisect_right(self._times, time)
        return self._times[at] if at < len(self._times) else None

    def drop_before(self, time: Any) -> None:
        """Forget the edges before ``time``."""
        del self._times[: bisect_left(self._times, time)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._times)

    def __len__(self) -> int:
        return len(self._times)

    def __contains__(self, time: Any) -> bool:
        at = bisect_left(self._times, time)
        return at < len(self._times) and bool(self._times[at] == time)


class ContextAware(Window, ABC):
    """Windows whose edges tuples bring: ``observe`` sees each tuple, and adds or removes edges.

    It sees tuples in the order of their times, except late ones. An instance is a description, immutable and picklable;
    all that is remembered of a stream is the edges, which are saved with its state.

    >>> import sash
    >>> class Shifts(sash.windows.ContextAware):
    ...     "From one change of driver to the next."
    ...     columns = ("changed",)
    ...     def observe(self, time, row, edges):
    ...         if row["changed"]:
    ...             edges.add(time)
    >>> edges = Edges()
    >>> for time, changed in enumerate([True, False, False, True, False, True]):
    ...     Shifts().observe(time, {"changed": changed}, edges)
    >>> list(Shifts().windows(edges, 0, 5))
    [(0, 3), (3, 5)]
    """

    forward: ClassVar[bool] = False
    """Whether a tuple may bring an edge that lies before it (forward context aware): then tuples are kept."""
    on: str | None = None
    follows_tuples: ClassVar[bool] = True
    columns: tuple[str, ...] = ()
    """The columns that the row of ``observe`` has."""

    def context_class(self, arrival: bool) -> ContextClass:
        return ContextClass.FCA if self.forward else ContextClass.FCF

    def rows_only_reason(self) -> str | None:
        return f"{self} observes each tuple"

    @abstractmethod
    def observe(self, time: Any, row: Mapping[str, Any], edges: Edges) -> None:
        """Look at a tuple; add or remove edges."""

    def windows(self, edges: Edges, after: Any, upto: Any) -> Iterator[Extent]:
        """The windows with ``after < end <= upto``, by end. By default, those between neighbouring edges."""
        return ((start, end) for start, end in pairwise(edges) if after < end <= upto)
