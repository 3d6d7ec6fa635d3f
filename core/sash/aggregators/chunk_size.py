"""The chunk size at which PBA never waits: Theorems 1 and 2 of the PBA paper, as derived in the design.

Let n = ⌊range / slide⌋ slices make a window and m = range mod slide be left over. At a boundary the second thread
starts on ``lcs``, right to left, while the main thread goes on with ``csa``, left to right; time is counted in merges:

    boundary                                          the first window that needs lcs ends
       |  lcs[b-1]  lcs[b-2]  …  lcs[1]                               |
       |  0         1             b-2                                 |
       |  csa[0] … one merge a value …                 (n-b+1)·slide - 1 + m

Not to wait means b - 2 ≤ (n-b+1)·slide - 1 + m, and the largest such b, at most n, is the best: it makes a window span
the fewest chunks. With b* a window covers one whole chunk at most, ⌊n / b*⌋ = 1.
"""

from __future__ import annotations

import math
from datetime import timedelta
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from sash.values.timestamps import nanoseconds

__all__ = ["BestChunk", "check_window", "optimal_chunk", "optimal_chunk_time"]

Duration = float | str | timedelta


class BestChunk(NamedTuple):
    """b* of a window, and what it follows from. Amounts are tuples in Theorem 1, and times in one unit in Theorem 2."""

    theorem: Literal[1, 2]
    n: int
    m: Any
    slide: Any
    combine_time: Any
    """None in Theorem 1, which counts time in merges."""
    chunk: int
    """b*, in slices of one slide each."""

    @staticmethod
    def of_counts(range: int, slide: int) -> BestChunk:
        """b* by Theorem 1, of a window of ``range`` tuples. O(1)."""
        n, m = divmod(range, slide)
        best = n if n <= slide + m + 1 else (slide * (n + 1) + m + 1) // (slide + 1)
        return BestChunk(1, n, m, slide, None, best)

    @staticmethod
    def of_times(range: Any, slide: Any, combine_time: Any) -> BestChunk:
        """b* by Theorem 2, of numbers in one unit; exact if they are integers or fractions. O(1)."""
        n, m = divmod(range, slide)
        c = m + combine_time if m else 0
        best = int(n)
        if n * combine_time > slide + 2 * combine_time + c:
            best = math.floor((n * (slide + combine_time) + slide + 2 * combine_time + c) / (slide + 2 * combine_time))
        return BestChunk(2, int(n), m, slide, combine_time, best)


def check_window(range: int, slide: int) -> None:
    """Raise unless W[range, slide] is a valid count window."""
    for name, number in (("range", range), ("slide", slide)):
        if isinstance(number, bool) or not isinstance(number, int):
            raise TypeError(f"{name} must be a whole number of values; got {number!r}")
        if number < 1:
            raise ValueError(f"{name} must be at least 1; got {number}")
    if range < slide:
        raise ValueError(
            f"range {range} is below slide {slide}: values between windows would belong to none; "
            f"use a range of at least {slide}, or sample the input first"
        )


def optimal_chunk(range: int, slide: int = 1) -> int:
    """b*, in slices, for a count window W[range, slide] (Theorem 1). O(1).

    >>> optimal_chunk(32), optimal_chunk(2**20), optimal_chunk(10, 2)
    (17, 524289, 4)
    """
    check_window(range, slide)
    return BestChunk.of_counts(range, slide).chunk


def optimal_chunk_time(range: Duration, slide: Duration, combine_time: Duration) -> int:
    """b*, in slices, for a time window W[range, slide] when one merge takes ``combine_time`` (Theorem 2). O(1).

    All three are numbers in one unit, or all three durations.

    >>> optimal_chunk_time("1h", "10ms", "100ns"), optimal_chunk_time(3600, 1, 0.5)
    (359997, 2701)
    """
    durations = {"range": range, "slide": slide, "combine_time": combine_time}
    r, s, t = (_number(name, duration) for name, duration in durations.items())
    if len({isinstance(duration, str | timedelta) for duration in durations.values()}) > 1:
        raise TypeError(f"range, slide and combine_time must be all numbers or all durations; got {durations}")
    if s <= 0:
        raise ValueError(f"slide must be above 0; got {slide!r}")
    if t < 0:
        raise ValueError(f"combine_time must not be negative; got {combine_time!r}")
    if r < s:
        raise ValueError(f"range {range!r} is below slide {slide!r}: values between windows would belong to none")
    return BestChunk.of_times(r, s, t).chunk


def _number(name: str, duration: Duration) -> Fraction:
    if isinstance(duration, str | timedelta):
        return Fraction(nanoseconds(duration))
    if isinstance(duration, bool) or not isinstance(duration, int | float) or not math.isfinite(duration):
        raise TypeError(f"{name} must be a finite number or a duration; got {duration!r}")
    return Fraction(duration)
