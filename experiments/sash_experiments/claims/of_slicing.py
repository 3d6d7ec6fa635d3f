"""The claims of the stream slicing paper, on the raw results of ``make bench-slicing``."""

from __future__ import annotations

from collections.abc import Callable

from sash_experiments.claims.claim import Claim, Unshown, Verdict, factor, line, ratio, times
from sash_experiments.raw import Results

__all__ = ["CLAIMS"]

ORDERED, LATE = "in order", "20 % late, a session"
MANY = 1000.0
RESULTS = (
    "with 1,000 windows there is a result every few tuples, and giving it costs more in Python than taking the tuple"
)


def _flat(panel: str, series: str, until: float, why: str = "") -> Callable[[Results], Verdict]:
    def check(results: Results) -> Verdict:
        found = line(results, panel, series)
        if until not in found:
            raise Unshown(f"{until:g} was not measured")
        share = found[until] / found[min(found)]
        return Verdict(f"{share:.0%} of one window's", share >= 0.75, "" if share >= 0.75 else why)

    return check


def _at_least(panel: str, series: str, x: float, least: float) -> Callable[[Results], Verdict]:
    def check(results: Results) -> Verdict:
        found = line(results, panel, series).get(x)
        if found is None:
            raise Unshown(f"{x:g} was not measured")
        return Verdict(f"{found:,.0f} tuples/s", found >= least)

    return check


def _tree(results: Results) -> Verdict:
    found = line(results, LATE, "FiBA on tuples")
    text = f"{min(found.values()):,.0f} tuples/s or more"
    return Verdict(text, max(found.values()) < 1500, "ours is a finger B-tree, made for disorder, not FlatFAT")


def _memory(results: Results) -> Verdict:
    found = line(results, "10b: windows on time", "sash")
    change = found[max(found)] / found[min(found)]
    return Verdict(f"{times(change)} for {max(found) / min(found):,.0f}× the tuples", change < 1.3)


def _memory_slices(results: Results) -> Verdict:
    found = line(results, "10a: windows on time", "sash")
    change, slices = found[1000.0] / found[100.0], 10
    return Verdict(f"{times(change)} for {slices}× the slices", 5 < change < 15)


def _memory_counts(results: Results) -> Verdict:
    found = line(results, "10d: windows on count", "sash")
    change = found[max(found)] / found[min(found)]
    return Verdict(f"{times(change)} for {max(found) / min(found):,.0f}× the tuples", change > 3)


def _lazy(results: Results) -> Verdict:
    lazy, eager = line(results, "sum, p50", "lazy"), line(results, "sum, p50", "eager")
    x = max(x for x in lazy if x in eager)
    return Verdict(f"{lazy[x]:,.0f} against {eager[x]:,.0f} µs at {x:,.0f} entries", lazy[x] > 10 * eager[x])


def _order(panel: str) -> Callable[[Results], Verdict]:
    def check(results: Results) -> Verdict:
        found = results.panel(panel).get("sash rows")
        if not found:
            raise Unshown("it was not measured")
        values = list(found.values())
        return Verdict(f"{values[-1] / values[0]:.0%} at the most of it", values[-1] >= 0.7 * values[0])

    return check


def _functions(results: Results) -> Verdict:
    panel = next((name for name in results.panels if name.startswith("20 windows")), "")
    found = results.panel(panel).get("time", {})
    holistic = {
        name: value
        for name, value in found.items()
        if name.lower() in ("median", "p90", "quantile 0.9", "90-percentile")
    }
    plain = [value for name, value in found.items() if name not in holistic]
    if not holistic or len(plain) < 3:
        raise Unshown("it was not measured")
    spread = max(plain) / min(plain)
    ahead = min(plain) / max(holistic.values())
    text = f"{times(spread)} between the fastest and the slowest, {times(ahead)} over holistic ones"
    return Verdict(text, min(plain) > max(holistic.values()))


def _split(results: Results) -> Verdict:
    found = line(results, "a split", "sum")
    sizes = [x for x in found if x >= 1000]
    if len(sizes) < 2:
        raise Unshown("slices are too small")
    growth = found[sizes[-1]] / found[sizes[0]]
    return Verdict(f"{times(growth)} for {sizes[-1] / sizes[0]:,.0f}× the tuples", growth > 0.3 * sizes[-1] / sizes[0])


def _counts(results: Results) -> Verdict:
    time, count = line(results, "20 % late", "rows, time"), line(results, "20 % late", "rows, count")
    share = ratio(results, "20 % late", "rows, time", "rows, count")
    fall = {name: each[max(each)] / each[min(each)] for name, each in (("time", time), ("counts", count))}
    return Verdict(
        f"on time {times(share)} of on counts; to {max(time):g} windows {fall['time']:.0%} and {fall['counts']:.0%}",
        share > 1,
    )


CLAIMS = [
    Claim(
        "slicing-fig8",
        "Slicing takes millions of tuples a second, with 100 concurrent windows",
        "millions (Java)",
        _at_least(ORDERED, "sash columns", 100.0, 1e6),
    ),
    Claim(
        "slicing-fig8",
        "Slicing's throughput hardly falls from 1 to 1,000 windows (rows)",
        "nearly level",
        _flat(ORDERED, "sash rows", MANY, RESULTS),
    ),
    Claim(
        "slicing-fig8",
        "Buckets are orders of magnitude slower at 1,000 windows",
        "> 10×",
        factor(ORDERED, "sash rows", "buckets", 10, MANY),
    ),
    Claim(
        "slicing-fig8",
        "Trees on tuples are orders of magnitude slower",
        "> 10×",
        factor(
            ORDERED, "sash rows", "FlatFAT", 10, 0, "in Python a tuple costs microseconds anyhow: a tree adds a few"
        ),
    ),
    Claim(
        "slicing-fig9",
        "With disorder and sessions slicing is an order of magnitude ahead of buckets (from 100 windows on)",
        "10×",
        factor(LATE, "sash rows", "buckets", 10, 100.0),
    ),
    Claim(
        "slicing-fig9",
        "With disorder and sessions slicing is ahead of the tuple buffer (from 100 windows on)",
        "10×",
        factor(LATE, "sash rows", "tuple buffer", 10, 100.0),
    ),
    Claim("slicing-fig9", "Trees on tuples take less than 1,500 tuples a second with disorder", "< 1,500/s", _tree),
    Claim("slicing-fig10", "Memory does not depend on the tuples where windows are on time", "level", _memory),
    Claim("slicing-fig10", "Memory grows linearly with the slices where windows are on time", "linear", _memory_slices),
    Claim(
        "slicing-fig10",
        "Memory grows with the tuples where windows are on counts and tuples late",
        "grows",
        _memory_counts,
    ),
    Claim(
        "slicing-fig11",
        "Eager stores answer at once where lazy ones take up to 1 ms for 10^5 entries",
        "1,000 against 5 µs",
        _lazy,
    ),
    Claim("slicing-fig12", "Slicing takes late tuples as fast as others", "level", _order("share")),
    Claim("slicing-fig12", "Slicing does not mind how late they are", "level", _order("delay")),
    Claim(
        "slicing-fig13",
        "Distributive and algebraic aggregations are about alike, holistic ones much slower",
        "much slower",
        _functions,
    ),
    Claim(
        "slicing-fig14",
        "For the median, too, slicing is ahead of buckets (from 10 windows on)",
        "ahead",
        factor("football", "sash rows", "buckets", 1, 10.0),
    ),
    Claim("slicing-fig15", "A split costs linearly in the slice's tuples", "linear", _split),
    Claim("slicing-fig16", "Windows on counts are slower with disorder, and fall with their number", "slower", _counts),
    Claim(
        "slicing-fig17",
        "The dashboard scales linearly up to 4 of 8 cores",
        "linear",
        cannot="It needs more cores than the 2 of this machine.",
    ),
]
