"""The base classes of users' own windows: edges are known in advance, or tuples bring them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, ClassVar, Literal

from sash.windows.base import ContextClass, Extent, Window

__all__ = ["ContextAware", "ContextFree", "Edges"]


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
        """The next edge, a start or an end of a window, behind ``after``."""

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
        """The first edge behind ``time``, None if there is none."""
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
        return f"{self} is told of each tuple"

    @abstractmethod
    def observe(self, time: Any, row: Mapping[str, Any], edges: Edges) -> None:
        """Look at a tuple; add or remove edges."""

    def windows(self, edges: Edges, after: Any, upto: Any) -> Iterator[Extent]:
        """The windows with ``after < end <= upto``, by end. By default, those between neighbouring edges."""
        return ((start, end) for start, end in pairwise(edges) if after < end <= upto)
