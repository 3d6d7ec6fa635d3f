"""Windows: which stretches of a stream are aggregated. For now those on counts of values, in order of arrival."""

from __future__ import annotations

from dataclasses import dataclass

from sash.chunks import checked_window

__all__ = ["CountWindow", "sliding", "tumbling"]


@dataclass(frozen=True)
class CountWindow:
    """W[range, slide]: window i covers the values i·slide … i·slide + range - 1 and is complete with the last."""

    range: int
    slide: int

    def __post_init__(self) -> None:
        for name in ("range", "slide"):
            if isinstance(getattr(self, name), str):
                raise TypeError(
                    f"{name}={getattr(self, name)!r}: windows on time are not built yet; give a count of values"
                )
        checked_window(self.range, self.slide)

    def __str__(self) -> str:
        return f"W[{self.range}, {self.slide}]"


def sliding(range: int, slide: int = 1) -> CountWindow:
    """The last ``range`` values, every ``slide`` values. Only full windows give results.

    >>> sliding(range=1024, slide=8)
    CountWindow(range=1024, slide=8)
    """
    return CountWindow(range, slide)


def tumbling(range: int) -> CountWindow:
    """Every ``range`` values once.

    >>> tumbling(60)
    CountWindow(range=60, slide=60)
    """
    return CountWindow(range, range)
