"""What the stream slicing paper claims of slicing and its alternatives, on results of ``make bench-slicing``."""

from __future__ import annotations

from sash_experiments.claims.claim import (
    Check,
    Claim,
    Unshown,
    Verdict,
    factor,
    growth,
    held,
    line,
    nearly,
    ratio,
    sized,
    times,
)
from sash_experiments.raw import Results

__all__ = ["CLAIMS"]

ORDERED, LATE = "in order", "20 % late, a session"
DENSE = "in order, 20,000 tuples a second"
MANY = 1000.0
RESULTS = (
    "with 1,000 windows there is a result every few tuples, and giving it costs more in Python than taking the tuple"
)


def _flat(panel: str, series: str, until: float, why: str = "") -> Check:
    def check(results: Results) -> Verdict:
        found = line(results, panel, series)
        if until not in found:
            raise Unshown(f"{until:g} was not measured")
        share = found[until] / found[min(found)]
        return held(f"{share:.0%} of one window's", share >= 0.75, why, _of_results(results, series, until))

    return check


def _of_results(results: Results, series: str, until: float) -> str:
    """What becomes of it where ten times as many tuples come between two results."""
    found = {float(x): value for x, value in results.panel(DENSE).get(series, {}).items()}
    if until not in found:
        return ""
    share = found[until] / found[min(found)]
    return (
        f"it is what results cost, not tuples: with ten times as many tuples between two results, {until:,.0f} windows "
        f"have {share:.0%} of one window's throughput"
    )


def _at_least(panel: str, series: str, x: float, least: float) -> Check:
    def check(results: Results) -> Verdict:
        found = line(results, panel, series).get(x)
        if found is None:
            raise Unshown(f"{x:g} was not measured")
        return Verdict(f"{found:,.0f} tuples/s", found >= least)

    return check


def _specialised(results: Results) -> Verdict:
    """General slicing beside the techniques that are made for its easiest case."""
    found = {name: ratio(results, ORDERED, "sash rows", name) for name in ("Pairs", "Cutty")}
    text = " and ".join(f"{times(value)} {name}'s" for name, value in found.items())
    why = "the operator checks each row and knows many kinds of windows; the two are written for this one"
    return held(f"the operator's throughput is {text}", min(found.values()) >= 0.5, why)


def _ahead_of_buckets(results: Results) -> Verdict:
    found = {name: ratio(results, ORDERED, name, "buckets", MANY) for name in ("Pairs", "Cutty")}
    text = ", ".join(f"{name} {times(value)}" for name, value in found.items())
    return sized(min(found.values()), 10, "both are ahead", ours=text)


def _fewer_slices(results: Results) -> Verdict:
    found = ratio(results, "8b: slices held at most", "Pairs", "Cutty")
    return sized(found, 1.5, "Cutty holds fewer")


def _tree(results: Results) -> Verdict:
    found = line(results, LATE, "FiBA on tuples")
    text = f"{min(found.values()):,.0f} tuples/s or more"
    return Verdict(text, max(found.values()) < 1500, "ours is a finger B-tree, made for disorder, not FlatFAT")


def _memory(results: Results) -> Verdict:
    found = line(results, "10b: windows on time", "sash")
    change = found[max(found)] / found[min(found)]
    return Verdict(f"{times(change)} for {max(found) / min(found):,.0f}× the tuples", change < 1.3)


def _memory_tuples(results: Results) -> Verdict:
    """What keeps tuples, where windows are on time."""
    found = {name: growth(line(results, "10b: windows on time", name)) for name in ("tuple buffer", "FiBA on tuples")}
    text = ", ".join(f"{name} {times(change)}" for name, (_, change) in found.items())
    grows = next(iter(found.values()))[0]
    return held(f"{text} for {grows:,.0f}× the tuples", all(change > grows / 4 for _, change in found.values()))


def _memory_slices(results: Results) -> Verdict:
    found = line(results, "10a: windows on time", "sash")
    if not {100.0, 1000.0} <= set(found):
        raise Unshown("100 and 1,000 slices were not measured")
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


def _disorder(results: Results) -> Verdict:
    found = line(results, LATE, "sash columns").get(100.0)
    rows = line(results, LATE, "sash rows").get(100.0)
    if found is None or rows is None:
        raise Unshown("100 windows were not measured")
    return held(f"{found:,.0f} tuples/s in columns, {rows:,.0f} by rows (100 windows)", found >= 1.7e6)


def _stored(results: Results) -> Verdict:
    """A finished window's result, where windows are kept whole, beside what slices have to merge."""
    found = line(results, "sum, p50", "sash")
    text = f"ours, from chunks of slices: {found[max(found)]:,.1f} µs at {max(found):,.0f} slices"
    return Verdict(
        text, None, "stores of slices are measured, not buckets: looking up what is ready is a call of Python"
    )


def _holistic_latency(results: Results) -> Verdict:
    plain, median = line(results, "sum, p50", "lazy"), line(results, "median, p50", "lazy")
    shared = [median[x] / plain[x] for x in plain if x in median]
    if not shared:
        raise Unshown("it was not measured")
    return held(f"median {times(min(shared))} to {times(max(shared))} sum's (lazy)", max(shared) < 30)


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
    Claim("slicing-fig8", "General slicing is about as fast as Pairs and Cutty", "alike", _specialised),
    Claim(
        "slicing-fig8",
        "Pairs and Cutty, too, are orders of magnitude ahead of buckets at 1,000 windows",
        "> 10×",
        _ahead_of_buckets,
    ),
    Claim(
        "slicing-fig8",
        "In order it suffices to start slices where windows start (Cutty); Pairs starts some where they end, too",
        "half the slices, if a slide does not divide the range",
        _fewer_slices,
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
    Claim("slicing-fig9", "With 20 % late, slicing takes 1.7 million tuples a second", "1.7 M/s (lazy)", _disorder),
    Claim(
        "slicing-fig9",
        "With disorder, too, slicing is almost level up to 1,000 windows (rows)",
        "almost constant",
        nearly(LATE, "sash rows", 0.75, RESULTS),
    ),
    Claim("slicing-fig10", "Memory does not depend on the tuples where windows are on time", "level", _memory),
    Claim("slicing-fig10", "Tuple buffers and trees hold all tuples where slicing need not", "linear", _memory_tuples),
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
    Claim(
        "slicing-fig11",
        "Latencies of the median follow the same trends, in the same order",
        "same order",
        _holistic_latency,
    ),
    Claim("slicing-fig11", "Buckets, whose windows are ready, answer fastest", "buckets < 30 ns", _stored),
]
