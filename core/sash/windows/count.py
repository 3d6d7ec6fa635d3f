"""Windows on counts of tuples: of a fixed length, around each tuple, or as long as a slide policy lets them be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar, Literal

from sash.aggregators.chunk_size import BestChunk, check_window
from sash.windows.base import ContextClass, ContextFree, Extent, RollingShape

__all__ = ["AroundWindow", "CountWindow", "While", "least_values", "window_while"]

Policy = Callable[[dict[str, Any], dict[str, Any]], Any]


@dataclass(frozen=True)
class CountWindow(ContextFree):
    """W[range, slide]: window i covers the values i·slide … i·slide + range - 1 and is complete with the last.

    Only full windows are emitted. ``partial``: also those that end before the first full one, a whole number of slides
    before it.
    """

    measure: ClassVar[Literal["time", "count"]] = "count"
    range: int
    slide: int
    partial: bool = False

    def __post_init__(self) -> None:
        check_window(self.range, self.slide)

    def plain_words(self) -> str:
        if self.range == self.slide:
            return f"{self.range} rows, one window after the other"
        return f"the last {self.range} rows, at every {'row' if self.slide == 1 else f'{self.slide} rows'}"

    def __str__(self) -> str:
        return f"W[{self.range}, {self.slide}]" + ", partial ones too" * self.partial

    @property
    def rolling_shape(self) -> RollingShape | None:
        return self._shape

    @property
    def _shape(self) -> RollingShape:
        return RollingShape(self.range, self.slide, self.partial)

    @property
    def ahead(self) -> int:
        """How many tuples behind the last one its windows may reach at the end of the input. O(1)."""
        return 0

    @property
    def first_end(self) -> int:
        """The position behind the first window. O(1)."""
        return self._shape.first

    @property
    def slices_a_window(self) -> int:
        return self.range // self.slide

    @property
    def slices_covered(self) -> int:
        return self.slices_a_window * 2 + 1 if self.range % self.slide else self.slices_a_window

    @property
    def exact_slices(self) -> int | None:
        return None if self.range % self.slide else self.range // self.slide

    def best_chunk(self, merge_ns: Callable[[], int]) -> BestChunk:
        return BestChunk.of_counts(self.range, self.slide)

    def explain_words(self, arrival: bool) -> str:
        return f"{super().explain_words(arrival)}, on counts"

    def slices_words(self, begins_only: bool) -> str:
        rest = self.range % self.slide
        return super().slices_words(begins_only) + (f" and {rest} tuples" if rest else "")

    def file_table(self) -> dict[str, Any]:
        if self.range == self.slide and not self.partial:
            return {"type": "tumbling", "range": self.range}
        return {"type": "sliding", "range": self.range, "slide": self.slide, "partial": self.partial or None}

    def next_edge(self, after: int) -> int:
        return min(CountWindow.next_begin(self, after), self._end_behind(after))

    def next_begin(self, after: int) -> int:
        return max(0, (after // self.slide + 1) * self.slide)

    def _end_behind(self, after: int) -> int:
        passed = (after - self.first_end) // self.slide + 1
        return self.first_end + max(passed, 0) * self.slide

    def windows(self, after: int, upto: float) -> Iterator[Extent]:
        for end in count(self._end_behind(after), self.slide):
            if end > upto:
                return
            yield max(0, end - self.range), end


def least_values(range_: int, partial: bool, min_periods: int | None) -> int:
    """How many values a window needs for a result: all, unless said otherwise. O(1)."""
    if min_periods is None:
        return 1 if partial else range_
    if isinstance(min_periods, bool) or not isinstance(min_periods, int) or not 1 <= min_periods <= range_:
        raise ValueError(f"min_periods must be a whole number from 1 to the range, {range_}; got {min_periods!r}")
    return min_periods


@dataclass(frozen=True)
class AroundWindow(CountWindow):
    """For each tuple a window of ``range``, which ends with it or, with ``center``, has it in the middle.

    range 4, center     a  b  c  d  e  f        the tuple, one of the two in the middle, and what lies around it
                       [---a----]
                       [------b----]
                       [---------c---]

    The window of tuple i covers the positions i + ahead - range + 1 … i + ahead, with ``ahead`` tuples behind i. Where
    there are fewer tuples, before the first or behind the last, it covers those that there are. It is complete with its
    last tuple; those that reach behind the last tuple of all are complete when the input ends.
    """

    center: bool = False
    min_periods: int | None = None
    least_values: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.slide != 1:
            raise ValueError(
                f"center and min_periods have a result for each tuple, so the slide must be 1; got {self.slide}"
            )
        object.__setattr__(self, "least_values", least_values(self.range, self.partial, self.min_periods))

    @property
    def ahead(self) -> int:
        return (self.range - 1) // 2 if self.center else 0

    @property
    def first_end(self) -> int:
        return self.ahead + 1

    @property
    def rolling_shape(self) -> None:
        return None

    @property
    def exact_slices(self) -> None:
        return None

    def plain_words(self) -> str:
        least = f", null with fewer than {self.least_values} values"
        if self.center:
            return f"{self.range} rows around every row{least}"
        return f"{super().plain_words()}{least}"

    def __str__(self) -> str:
        centered = ", centered" * self.center
        return f"W[{self.range}, 1]{centered}, at least {self.least_values} values"

    def file_table(self) -> dict[str, Any]:
        table = {"type": "sliding", "range": self.range, "slide": None, "partial": self.partial or None}
        return table | {"center": self.center or None, "min_periods": self.min_periods}


@dataclass(frozen=True)
class While(ContextFree):
    """With each tuple a window: all tuples so far, without the oldest that ``policy`` has let go.

    It is on counts, and every position is an edge; where a window begins depends on its tuples.
    """

    measure: ClassVar[Literal["time", "count"]] = "count"
    can_be_corrected: ClassVar[bool] = False
    required_algorithm: ClassVar[str | None] = "AMTA"
    policy: Policy
    on: str | None = None

    def __post_init__(self) -> None:
        if not callable(self.policy):
            raise TypeError(
                "window_while takes a function policy(total, oldest) that says whether the oldest tuples leave; got "
                f"{self.policy!r}"
            )

    def context_class(self, arrival: bool) -> ContextClass:
        return ContextClass.FCF

    def rows_only_reason(self) -> str:
        return f"{self} calls its policy at each tuple"

    def file_table(self) -> dict[str, Any]:
        return {"type": "while", "policy": self.policy, "on": self.on}

    def next_edge(self, after: int) -> int:
        return after + 1

    def windows(self, after: Any, upto: Any) -> Iterator[Extent]:
        raise TypeError(f"{self}: where it begins is not known without its tuples")

    def __str__(self) -> str:
        return f"while {getattr(self.policy, '__name__', 'a policy')} lets the oldest go"


def window_while(policy: Policy, *, on: str | None = None) -> While:
    """With each tuple, in order, a window of those that ``policy`` has not let go.

    ``policy(total, oldest)`` takes the results of all aggregates of the query, by name, over the window with the new
    tuple, and over some of its oldest tuples; if it is true, those leave, all of them. What leaves is the longest such
    run, found by a search in a tree (:class:`~sash.aggregators.AMTA`), not tuple by tuple: O(log m) calls for m tuples
    that leave. So the policy must be monotone: where it lets some of the oldest go, it lets fewer of them go too.
    Otherwise windows differ from what one might expect, or a ``PolicyError`` is raised where the search notices.

    ``window_start`` and ``window_end`` of a result are positions; a window that nothing is left of has no result.
    Results cannot be corrected: with ``allowed_lateness`` it is refused.

    >>> import sash
    >>> def at_most_ten(total, oldest):
    ...     "A tuple leaves if it and all after it add up to more than 10."
    ...     return total["sum"] - oldest["sum"] + oldest["newest"] > 10
    >>> query = sash.Query(
    ...     windows=sash.window_while(at_most_ten),
    ...     aggregates={"peak": sash.Max("load"), "sum": sash.Sum("load"), "newest": sash.Last("load")},
    ... )
    >>> results = sash.run(query, {"load": [2, 2, 3, 3, 4]})
    >>> results["window_start"], results["peak"], results["sum"]
    ([0, 0, 0, 0, 2], [2, 2, 3, 3, 4], [2, 4, 7, 10, 10])
    """
    return While(policy, on)
