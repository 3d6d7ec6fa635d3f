"""The claims of the Reactive Aggregator's paper."""

from __future__ import annotations

from sash_experiments.breakeven import NEVER
from sash_experiments.claims.claim import ENOUGH, Check, Claim, Unshown, Verdict, line, logarithmic, ratio, times
from sash_experiments.raw import Results
from sash_experiments.reactive import ISS, RA, SIZES

__all__ = ["CLAIMS"]

LARGEST = max(SIZES)
CALLS = "a call of Python costs the same in both: the tree's depth in calls is what is seen"


def _points(results: Results, panel: str) -> dict[str, float]:
    found = results.panel(panel).get("FlatFAT", {})
    if len(found) < 4:
        raise Unshown("too few aggregations")
    return {name: point for name, point in found.items() if name not in ("Count", "Collect")}


def _range(panel: str, most: float) -> Check:
    def check(results: Results) -> Verdict:
        found = _points(results, panel)
        reached = [point for point in found.values() if point != NEVER]
        if not reached:
            return Verdict(f"never up to {LARGEST:,}", False, CALLS)
        never, text = len(found) - len(reached), f"{min(reached):,.0f} to {max(reached):,.0f}"
        if never and most > LARGEST:
            raise Unshown(f"{text}, and {never} not up to {LARGEST:,}; larger windows are not measured")
        return Verdict(text + (f", {never} never" if never else ""), not never and max(reached) <= most)

    return check


def _never(results: Results) -> Verdict:
    found = results.panel("break-even").get("FlatFAT", {})
    if not {"Count", "Collect"} <= set(found):
        raise Unshown("they were not run")
    text = ", ".join(
        f"{name} {'never' if found[name] == NEVER else f'{found[name]:,.0f}'}" for name in ("Count", "Collect")
    )
    holds = found["Count"] == found["Collect"] == NEVER
    why = "recalculation counts one by one here, where the paper's read off the size; tuples are joined fast"
    return Verdict(text, holds, "" if holds else why)


def _speedup(label: str, enough: float) -> Check:
    def check(results: Results) -> Verdict:
        found = ratio(results, "throughput", f"{RA} {label}", f"{ISS} {label}", 1024)
        return Verdict(times(found), found >= enough, "" if found >= enough else CALLS)

    return check


def _small(results: Results) -> Verdict:
    ra, iss = line(results, "throughput", f"{RA} Max"), line(results, "throughput", f"{ISS} Max")
    x = min(ra)
    return Verdict(
        f"{1 - ra[x] / iss[x]:.0%} slower at n = {x:g}", ra[x] > 0.85 * iss[x], "" if ra[x] > 0.85 * iss[x] else CALLS
    )


def _log(results: Results) -> Verdict:
    found = {label: logarithmic(line(results, "cost", f"RA {label}")) for label in ("Max", "StdDev")}
    text = ", ".join(f"R² {value:.2f} ({label})" for label, value in found.items())
    return Verdict(text, min(found.values()) > 0.85)


def _tumbling(results: Results) -> Verdict:
    found = ratio(results, "cost", f"{RA} StdDev", f"{ISS} StdDev", 64)
    return Verdict(
        f"{times(found)} the cost", found < 1.3, "" if found < 1.3 else "the tree is rebuilt in Python, node by node"
    )


def _resizing(results: Results) -> Verdict:
    found = ratio(results, "cost", "RA StdDev, oscillating", "RA StdDev, fixed", 64)
    return Verdict(f"{times(found)} the cost of a fixed size", found < 1.2)


def _coarse(results: Results) -> Verdict:
    found = line(results, "cost", "m = n/16")
    sizes = [x for x in found if x >= 1024]
    if len(sizes) < 2:
        raise Unshown("windows are too small")
    change = found[sizes[-1]] / found[sizes[0]]
    return Verdict(f"{times(change)} from n = {sizes[0]:,.0f} to {sizes[-1]:,.0f}", 0.7 < change < 1.4)


def _fine(results: Results) -> Verdict:
    found = logarithmic(line(results, "cost", "m = 1"))
    return Verdict(f"R² {found:.2f}", found > 0.85)


CLAIMS = [
    Claim("ra-tab3", "RA is faster than re-evaluation from small windows on", "10 to 370", _range("break-even", 370)),
    Claim("ra-tab3", "RA is ten times as fast from moderate windows on", "700 to 5,810", _range("10x", 5810)),
    Claim("ra-tab3", "RA never breaks even for Count and Collect", "never", _never),
    Claim("ra-fig6", "At 1,024 values RA is faster than re-evaluation (Max)", "almost 3×", _speedup("Max", 3 * ENOUGH)),
    Claim(
        "ra-fig6",
        "At 1,024 values RA is faster than re-evaluation (StdDev)",
        "over 10×",
        _speedup("StdDev", 10 * ENOUGH),
    ),
    Claim("ra-fig6", "On the smallest windows RA is little slower (Max)", "about 10 %", _small),
    Claim("ra-fig7", "RA's cost of a tuple is logarithmic in the window", "a straight line", _log),
    Claim("ra-fig8", "On tumbling windows RA costs what re-evaluation does", "about the same", _tumbling),
    Claim("ra-fig9", "Resizing is amortised: windows that oscillate cost no more than fixed ones", "less", _resizing),
    Claim("ra-fig10", "With m = n/16 the cost of a tuple does not depend on the window", "level", _coarse),
    Claim("ra-fig10", "With m = 1 it is logarithmic", "a straight line", _fine),
    Claim(
        "ra-fig11",
        "RA is faster than the algorithm of Arasu and Widom",
        "1.2–1.4×",
        cannot="Sash does not have that algorithm.",
    ),
]
