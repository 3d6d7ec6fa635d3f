"""Windows between tuples that a condition holds for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sash.windows.base import ContextAware, Edges

__all__ = ["Punctuated", "punctuated"]


@dataclass(frozen=True)
class Punctuated(ContextAware):
    """From one tuple for which ``when`` holds to the next: each of them brings an edge at its time."""

    when: str | Callable[..., Any]
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.when, str) and not self.columns:
            object.__setattr__(self, "columns", (self.when,))
        elif isinstance(self.when, str) or not callable(self.when) or not self.columns:
            raise TypeError(
                "punctuated takes the name of a column that is true where a window begins, or a function and the names "
                f"of the columns that it takes; got {self.when!r} and {self.columns!r}"
            )

    def observe(self, time: Any, row: Mapping[str, Any], edges: Edges) -> None:
        if self.holds([row[column] for column in self.columns]):
            edges.add(time)

    def holds(self, values: list[Any]) -> bool:
        """Whether a window begins with a tuple that has these values in ``columns``."""
        if isinstance(self.when, str):
            return bool(values[0])
        return bool(self.when(*values))

    def rows_only_reason(self) -> str | None:
        return None

    def file_table(self) -> dict[str, Any]:
        columns = None if isinstance(self.when, str) else list(self.columns)
        return {"type": "punctuated", "when": self.when, "columns": columns}

    def __str__(self) -> str:
        if isinstance(self.when, str):
            return f"punctuated by {self.when}"
        return f"punctuated by {getattr(self.when, '__name__', 'a function')} of {', '.join(self.columns)}"


def punctuated(when: str | Callable[..., Any], *columns: str) -> Punctuated:
    """A window from one tuple to the next for which ``when`` holds: a boolean column, or a function of columns.

    A window covers the times from the first tuple's, inclusive, to the second one's, exclusive. It is emitted when the
    second arrives, so tuples before the first or after the last punctuation are in no result. O(1) a tuple.

    >>> punctuated("is_start")
    Punctuated(when='is_start', columns=('is_start',))
    >>> str(punctuated(lambda speed: speed == 0, "speed"))
    'punctuated by <lambda> of speed'
    """
    return Punctuated(when, columns)
