"""The last N tuples, every T."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar

from sash.values.timestamps import as_duration
from sash.windows.base import ContextClass, Window
from sash.windows.time import TimeWindow

__all__ = ["Last", "last"]


@dataclass(frozen=True)
class Last(Window):
    """The last ``count`` tuples, every ``every`` of time. Emitted if one of them is new, and if there are as many.

    ``partial``: also while there are fewer.
    """

    follows_tuples: ClassVar[bool] = True
    count: int
    every: Any
    offset: Any = 0
    on: str | None = None
    partial: bool = False
    columns: tuple[str, ...] = field(default=(), init=False, repr=False)
    ticks: TimeWindow = field(init=False, repr=False, compare=False)
    """The tumbling windows whose ends are its edges."""

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
        object.__setattr__(self, "ticks", TimeWindow(self.every, self.every, self.offset, self.on))

    @property
    def edges_are_positions(self) -> bool:
        return True

    @property
    def bound_steps(self) -> tuple[Any, ...]:
        return self.ticks.numbers

    def context_class(self, arrival: bool) -> ContextClass:
        return ContextClass.FCA

    def file_table(self) -> dict[str, Any]:
        table = {"type": "last", "count": self.count, "every": self.every, "offset": self.ticks.file_offset()}
        return table | {"on": self.on, "partial": self.partial or None}

    def plain_words(self) -> str:
        return f"the newest {self.count} rows, every {self.every}{f' of {self.on}' if self.on else ''}"

    def __str__(self) -> str:
        return f"last {self.count} every {self.every}" + (f" on {self.on}" if self.on else "")


def last(
    count: int,
    every: float | str | timedelta,
    *,
    offset: float | str | timedelta = 0,
    on: str | None = None,
    partial: bool = False,
) -> Last:
    """The last ``count`` tuples at every multiple of ``every``. As many tuples are kept.

    >>> last(10, every="5s")
    Last(count=10, every='5s', offset='0s', on=None, partial=False)
    """
    return Last(count, every, offset, on, bool(partial))
