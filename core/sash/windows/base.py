"""What a window says of itself, so that nobody has to ask which type it is of."""

from __future__ import annotations

from enum import Enum
from typing import Any, ClassVar

__all__ = ["ContextClass", "Extent", "Window"]

Extent = tuple[Any, Any]
"""A window's start and end: it covers ``start <= time < end``, or positions likewise if it is on counts."""


class ContextClass(Enum):
    """How much of the stream a window's edges depend on (general stream slicing, section 4.4)."""

    CF = "context free"
    FCF = "forward context free"
    FCA = "forward context aware"


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
    follows_tuples: ClassVar[bool] = False
    """Whether tuples decide where its edges are, so that a late one may move them (figure 4). Sessions only merge."""
    required_algorithm: ClassVar[str | None] = None
    """The merging algorithm that alone can find its windows."""

    @property
    def bounds_are_positions(self) -> bool:
        """Whether ``window_start`` and ``window_end`` are positions."""
        return False

    @property
    def edges_are_positions(self) -> bool:
        """Whether some of its edges are positions: then a late tuple shifts all that follow it."""
        return self.bounds_are_positions

    @property
    def bound_steps(self) -> tuple[Any, ...]:
        """The amounts by which its bounds differ from each other and from tuples, in the unit that times have inside.

        The first is the longest that a window reaches behind a tuple. None if the type does not know them.
        """
        return ()

    @property
    def needs_time(self) -> bool:
        """Whether it is measured in durations, or, with ``on``, in numbers: then arrival cannot order it."""
        return bool(self.bound_steps)

    @property
    def time_reach(self) -> Any:
        """How far behind a tuple the end of its last window can lie, unless more tuples come."""
        return self.bound_steps[0] if self.bound_steps else 0

    def context_class(self, arrival: bool) -> ContextClass:
        """Its class; ``arrival``: in the order of arrival, where a count is as good as a time."""
        return ContextClass.FCF

    def rows_only_reason(self) -> str | None:
        """Why it cannot be run by columns; None: it can."""
        return None

    @property
    def rolling_shape(self) -> tuple[int, int, bool] | None:
        """(range, slide, partial) if it is a rolling window over positions; None: it is not."""
        return None

    @property
    def slices_a_window(self) -> int | None:
        """How many slices one of its windows covers; None: that is not fixed."""
        return None

    @property
    def exact_slices(self) -> int | None:
        """The same if it is exact, whatever tuples come; None: there may be fewer slices, or more."""
        return None

    def explain_words(self, arrival: bool) -> str:
        """What ``explain`` says of it."""
        return f"{self}; {self.context_class(arrival).value}"

    def slices_words(self) -> str:
        """What ``explain`` says of its slices, if their number is fixed."""
        return f"{self.slices_a_window} a window"

    def file_table(self) -> dict[str, Any] | None:
        """Its table in a query file, with functions as they are; None: it is written by the path of its class.

        A value of None is left out.
        """
        return None
