"""Windows on counts of tuples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar, Literal

from sash.aggregators.chunk_size import check_window
from sash.windows.base import Extent
from sash.windows.custom import ContextFree

__all__ = ["CountWindow"]


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

    def __str__(self) -> str:
        return f"W[{self.range}, {self.slide}]" + ", partial ones too" * self.partial

    @property
    def rolling_shape(self) -> tuple[int, int, bool]:
        return self.range, self.slide, self.partial

    @property
    def slices_a_window(self) -> int:
        return self.range // self.slide

    @property
    def exact_slices(self) -> int | None:
        return None if self.range % self.slide else self.range // self.slide

    def explain_words(self, arrival: bool) -> str:
        return f"{super().explain_words(arrival)}, on counts"

    def slices_words(self) -> str:
        rest = self.range % self.slide
        return super().slices_words() + (f" and {rest} tuples" if rest else "")

    def file_table(self) -> dict[str, Any]:
        if self.range == self.slide and not self.partial:
            return {"type": "tumbling", "range": self.range}
        return {"type": "sliding", "range": self.range, "slide": self.slide, "partial": self.partial or None}

    def next_edge(self, after: int) -> int:
        start = max(0, (after // self.slide + 1) * self.slide)
        return min(start, self._end_behind(after))

    def _end_behind(self, after: int) -> int:
        first = self.range % self.slide or self.slide
        least = first if self.partial else self.range
        return max(least, (after - first) // self.slide * self.slide + self.slide + first)

    def windows(self, after: int, upto: float) -> Iterator[Extent]:
        for end in count(self._end_behind(after), self.slide):
            if end > upto:
                return
            yield max(0, end - self.range), end
