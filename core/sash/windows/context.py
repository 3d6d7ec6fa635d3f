"""Windows whose edges depend on the tuples: sessions, punctuations, the last N every T."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from sash.values.durations import as_duration, nanoseconds
from sash.windows.base import ContextAware, Edges
from sash.windows.periodic import TimeWindow, checked_number

__all__ = ["Last", "Punctuated", "Session", "last", "punctuated", "session"]


@dataclass(frozen=True)
class Session:
    """Runs of tuples less than ``gap`` apart, from the first one's time to the last one's time + gap."""

    gap: Any
    on: str | None = None
    columns: tuple[str, ...] = field(default=(), init=False, repr=False)
    _number: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.on is None:
            if isinstance(self.gap, int | float):
                raise TypeError(f"gap must be a duration such as '30s', or name a column with on=; got {self.gap!r}")
            object.__setattr__(self, "gap", as_duration(self.gap, "gap"))
        number = nanoseconds(self.gap) if self.on is None else checked_number(self.gap, "gap", self.on)
        if number <= 0:
            raise ValueError(f"gap must be more than 0; got {self.gap!r}")
        object.__setattr__(self, "_number", number)

    @property
    def number(self) -> Any:
        """The gap in the unit that times have inside."""
        return self._number

    def __str__(self) -> str:
        return f"session of gap {self.gap}" + (f" on {self.on}" if self.on else "")


@dataclass(frozen=True)
class Punctuated(ContextAware):
    """From one tuple for which ``when`` holds to the next: both of them put an edge at their time."""

    when: str | Callable[..., Any]
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.when, str) and not self.columns:
            object.__setattr__(self, "columns", (self.when,))
        elif isinstance(self.when, str) or not callable(self.when) or not self.columns:
            raise TypeError(
                "punctuated takes the name of a column that is true where a window begins, or a function and the names "
                f"of the columns that it is given; got {self.when!r} and {self.columns!r}"
            )

    def observe(self, time: Any, row: Mapping[str, Any], edges: Edges) -> None:
        if self.holds([row[column] for column in self.columns]):
            edges.add(time)

    def holds(self, values: list[Any]) -> bool:
        """Whether a window begins with a tuple that has these values in ``columns``."""
        if isinstance(self.when, str):
            return bool(values[0])
        return bool(self.when(*values))

    def __str__(self) -> str:
        if isinstance(self.when, str):
            return f"punctuated by {self.when}"
        return f"punctuated by {getattr(self.when, '__name__', 'a function')} of {', '.join(self.columns)}"


@dataclass(frozen=True)
class Last:
    """The last ``count`` tuples, every ``every`` of time. Emitted if there is a new one among them, and if full.

    ``partial``: also while there are fewer.
    """

    count: int
    every: Any
    offset: Any = 0
    on: str | None = None
    partial: bool = False
    columns: tuple[str, ...] = field(default=(), init=False, repr=False)
    _ticks: TimeWindow = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.count, bool) or not isinstance(self.count, int):
            raise TypeError(f"count must be a whole number of tuples; got {self.count!r}")
        if self.count < 1:
            raise ValueError(f"count must be at least 1; got {self.count}")
        if self.on is None:
            if isinstance(self.every, int | float):
                raise TypeError(f"every must be a duration such as '10s'; name a column with on=; got {self.every!r}")
            object.__setattr__(self, "every", as_duration(self.every, "every"))
            object.__setattr__(self, "offset", as_duration(self.offset, "offset"))
        object.__setattr__(self, "_ticks", TimeWindow(self.every, self.every, self.offset, self.on))

    @property
    def ticks(self) -> TimeWindow:
        """The tumbling windows whose ends are its edges."""
        return self._ticks

    def __str__(self) -> str:
        return f"last {self.count} every {self.every}" + (f" on {self.on}" if self.on else "")


def session(gap: float | str | timedelta, *, on: str | None = None) -> Session:
    """A window that lasts until nothing comes for ``gap``. Costs a comparison a tuple; no tuple is kept.

    >>> session("30s")
    Session(gap='30s', on=None)
    """
    return Session(gap, on)


def punctuated(when: str | Callable[..., Any], *columns: str) -> Punctuated:
    """A window from one tuple to the next for which ``when`` holds: a boolean column, or a function of columns.

    A window covers the times from the one tuple's, inclusive, to the other's, exclusive; it is emitted once both are
    there, so tuples before the first or behind the last punctuation give no result.

    >>> punctuated("is_start")
    Punctuated(when='is_start', columns=('is_start',))
    >>> str(punctuated(lambda speed: speed == 0, "speed"))
    'punctuated by <lambda> of speed'
    """
    return Punctuated(when, columns)


def last(
    count: int,
    every: float | str | timedelta,
    *,
    offset: float | str | timedelta = 0,
    on: str | None = None,
    partial: bool = False,
) -> Last:
    """The last ``count`` tuples at every multiple of ``every``: where they begin is known only afterwards.

    >>> last(10, every="5s")
    Last(count=10, every='5s', offset='0s', on=None, partial=False)
    """
    return Last(count, every, offset, on, bool(partial))
