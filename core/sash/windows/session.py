"""Sessions: windows that end when no tuple comes for a while."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar

from sash.values.timestamps import as_duration, nanoseconds
from sash.windows.base import Window
from sash.windows.time import number_along

__all__ = ["Session", "session"]


@dataclass(frozen=True)
class Session(Window):
    """Runs of tuples less than ``gap`` apart, from the first one's time to the last one's time + gap."""

    emits_early: ClassVar[bool] = True
    tells_replaced: ClassVar[bool] = True
    gap: Any
    on: str | None = None
    columns: tuple[str, ...] = field(default=(), init=False, repr=False)
    number: Any = field(init=False, repr=False, compare=False)
    """The gap in the unit that times have inside."""

    def __post_init__(self) -> None:
        if self.on is None:
            if isinstance(self.gap, int | float):
                raise TypeError(f"gap must be a duration such as '30s', or name a column with on=; got {self.gap!r}")
            object.__setattr__(self, "gap", as_duration(self.gap, "gap"))
        number = nanoseconds(self.gap) if self.on is None else number_along(self.gap, "gap", self.on)
        if number <= 0:
            raise ValueError(f"gap must be more than 0; got {self.gap!r}")
        object.__setattr__(self, "number", number)

    @property
    def bound_steps(self) -> tuple[Any, ...]:
        return (self.number,)

    def file_table(self) -> dict[str, Any]:
        return {"type": "session", "gap": self.gap, "on": self.on}

    def plain_words(self) -> str:
        return f"runs of rows less than {self.gap}{f' of {self.on}' if self.on else ''} apart"

    def __str__(self) -> str:
        return f"session of gap {self.gap}" + (f" on {self.on}" if self.on else "")


def session(gap: float | str | timedelta, *, on: str | None = None) -> Session:
    """A window that ends when no tuple comes for ``gap``. Costs a comparison a tuple; no tuple is kept.

    >>> session("30s")
    Session(gap='30s', on=None)
    """
    return Session(gap, on)
