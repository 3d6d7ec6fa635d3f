"""A series as a line of text, for terminals."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["sparkline"]

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], width: int = 60) -> str:
    """The series in so many columns at most, each as high as its greatest value; least and greatest beside it.

    O(values).

    >>> sparkline([1, 2, 3, 4, 5, 6, 7, 8], width=4)
    '1 ▂▄▆█ 8'
    >>> sparkline([5, 5, 5])
    '5 ▁▁▁ 5'
    """
    if not values:
        return ""
    step = math.ceil(len(values) / width)
    tops = [max(values[start : start + step]) for start in range(0, len(values), step)]
    low, high = min(values), max(values)
    span = (high - low) or math.inf
    bars = "".join(_BARS[min(int((top - low) / span * len(_BARS)), len(_BARS) - 1)] for top in tops)
    return f"{low:.4g} {bars} {high:.4g}"
