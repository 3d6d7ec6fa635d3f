"""A claim of a paper, and what came of it here."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from sash_experiments.raw import Results

__all__ = [
    "ENOUGH",
    "Check",
    "Claim",
    "Line",
    "Unshown",
    "Verdict",
    "factor",
    "growth",
    "held",
    "line",
    "logarithmic",
    "nearly",
    "ratio",
    "sized",
    "times",
]

ENOUGH = 0.8
"""A factor holds if ours is at least so much of the paper's."""
Line = dict[float, float]
Check = Callable[[Results], "Verdict"]


class Verdict(NamedTuple):
    """What was measured here, and whether the claim holds; None: this machine cannot tell, and ``why`` says why."""

    ours: str
    holds: bool | None
    why: str = ""
    direction: str = ""
    """Which way the difference goes, and how far, if it goes the paper's way: "PBA is ahead, by 1.4×"."""
    cause: str = ""
    """Why it does not hold, as the results themselves show; unlike ``why``, which is supposed."""


class Unshown(Exception):
    """The results do not reach to where the claim is made: a smaller scale, an experiment that was not run."""


@dataclass(frozen=True)
class Claim:
    """What a paper says, in our words, and the number it gives."""

    experiment: str
    text: str
    published: str
    check: Check | None = None
    cannot: str = ""
    """Why it cannot be shown here, if it has no check."""
    counted: bool = False
    """Whether its check counts or computes, and reads no results."""


def line(results: Results, panel: str, series: str) -> Line:
    """{x: median} of a series, by ascending x; Unshown if it is not there."""
    found = results.panel(panel).get(series)
    if not found:
        raise Unshown(f"there is no {series} in {panel!r}")
    return dict(sorted((float(x), value) for x, value in found.items()))


def ratio(results: Results, panel: str, over: str, under: str, least: float = 0) -> float:
    """How many times the one series is the other: the median over all x of at least ``least`` that both have."""
    one, other = line(results, panel, over), line(results, panel, under)
    shared = [one[x] / other[x] for x in one if x in other and x >= least and other[x]]
    if not shared:
        raise Unshown(f"nothing is measured from {least:g} on")
    return statistics.median(shared)


def times(number: float) -> str:
    """A factor in words.

    >>> times(2.54), times(123.4)
    ('2.5×', '123×')
    """
    return f"{number:.1f}×" if number < 100 else f"{number:,.0f}×"


def held(ours: str, holds: bool, why: str = "", cause: str = "") -> Verdict:
    """A verdict with a reason, supposed or measured, only if the claim does not hold."""
    return Verdict(ours, holds) if holds else Verdict(ours, holds, why, cause=cause)


def sized(found: float, enough: float, direction: str, why: str = "", ours: str = "") -> Verdict:
    """A verdict on a factor that is above 1 if the ``direction`` is the paper's, and ``enough`` if the size is, too."""
    holds = found >= enough
    text = f"{direction}, by {times(found)}" if found > 1 else ""
    return Verdict(ours or times(found), holds, "" if holds else why, text)


def growth(found: Line, least: float = 0) -> tuple[float, float]:
    """(how many times the largest x is the smallest from ``least`` on, how many times the number there is)."""
    places = [x for x in found if x >= least]
    if len(places) < 2:
        raise Unshown("too few sizes")
    return places[-1] / places[0], found[places[-1]] / found[places[0]]


def factor(panel: str, over: str, under: str, enough: float, least: float = 0, why: str = "") -> Check:
    """A check that one series is at least ``enough`` times another."""

    def check(results: Results) -> Verdict:
        return sized(ratio(results, panel, over, under, least), enough, f"{over} is ahead", why)

    return check


def nearly(panel: str, series: str, enough: float = 0.7, why: str = "") -> Check:
    """That a series at the last of its places is not far below the first, whatever its places are called."""

    def check(results: Results) -> Verdict:
        values = list(results.panel(panel).get(series, {}).values())
        if len(values) < 2:
            raise Unshown("it was not measured")
        return held(f"{values[-1] / values[0]:.0%} at the most of it", values[-1] >= enough * values[0], why)

    return check


def logarithmic(found: Line) -> float:
    """R² of a fit of a + b · log x: 1 is perfectly logarithmic."""
    if len(found) < 4:
        raise Unshown("too few sizes to fit a line")
    logs, values = [math.log(x) for x in found], list(found.values())
    return statistics.correlation(logs, values) ** 2
