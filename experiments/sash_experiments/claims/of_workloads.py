"""What the stream slicing paper claims of workloads (``make bench-slicing``) and of its dashboard."""

from __future__ import annotations

import statistics

from sash_experiments.claims.claim import (
    ENOUGH,
    Check,
    Claim,
    Unshown,
    Verdict,
    factor,
    held,
    line,
    nearly,
    ratio,
    sized,
    times,
)
from sash_experiments.raw import Results

__all__ = ["CLAIMS"]

RESULTS = "each window has results of its own, which cost more than the tuples that come between two of them"
WAITS = "tuples wait for the watermark here, and are counted once they are in order"
NEARLY_DISTINCT = (
    "with nearly all values distinct nothing is saved by encoding runs, and slices are merged at every end"
)


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
    why = "ArgMin, ArgMax and M4 keep times with values"
    return held(text, min(plain) > max(holistic.values()), why)


def _split(results: Results) -> Verdict:
    found = line(results, "a split", "sum")
    sizes = [x for x in found if x >= 1000]
    if len(sizes) < 2:
        raise Unshown("slices are too small")
    growth = found[sizes[-1]] / found[sizes[0]]
    return Verdict(f"{times(growth)} for {sizes[-1] / sizes[0]:,.0f}× the tuples", growth > 0.3 * sizes[-1] / sizes[0])


def _counts(results: Results) -> Verdict:
    share = ratio(results, "20 % late", "rows, time", "rows, count")
    return held(f"on time {times(share)} the throughput of on counts", share > 1)


def _with_windows(series: str, falls: bool, why: str = "") -> Check:
    """How throughput changes with the number of windows."""

    def check(results: Results) -> Verdict:
        found = line(results, "20 % late", series)
        share = found[max(found)] / found[min(found)]
        return held(f"{share:.0%} at {max(found):g} windows", share < 0.75 if falls else share >= 0.75, why)

    return check


def _decays(panel: str, series: str) -> Check:
    def check(results: Results) -> Verdict:
        values = list(results.panel(panel).get(series, {}).values())
        if len(values) < 2:
            raise Unshown("it was not measured")
        share = min(values) / values[0]
        return held(f"to {share:.0%}", share < 0.9, "inserting into a Python list is one move of memory")

    return check


def _on_counts(results: Results) -> Verdict:
    panel = results.panel(next((name for name in results.panels if name.startswith("20 windows")), ""))
    time, count = panel.get("time", {}), panel.get("count, corrected", {})
    if len(time) < 3 or not count:
        raise Unshown("it was not measured")
    shares = sorted(count[name] / time[name] for name in time if name in count)
    return held(f"{shares[0]:.0%} to {shares[-1]:.0%} of the throughput on time", shares[-1] < 1)


def _inverted(results: Results) -> Verdict:
    panel = results.panel(next((name for name in results.panels if name.startswith("20 windows")), ""))
    found = panel.get("count, corrected", {})
    if not {"sum", "sum without invert"} <= set(found):
        raise Unshown("it was not measured")
    change = found["sum"] / found["sum without invert"]
    return held(f"{times(change)} with an inverse", change > 1.5)


def _few_values(results: Results) -> Verdict:
    found = ratio(results, "machine, 37 values", "sash rows", "buckets", 10.0)
    return held(f"{times(found)} buckets", found > 1)


def _encoded(results: Results) -> Verdict:
    machine, ball = line(results, "machine, 37 values", "sash rows"), line(results, "football", "sash rows")
    shared = [machine[x] / ball[x] for x in machine if x in ball]
    if not shared:
        raise Unshown("it was not measured")
    return held(f"{times(min(shared))} to {times(max(shared))}", min(shared) > 1)


def _scales(results: Results) -> Verdict:
    found, cores = line(results, "throughput", "sash columns"), results.facts.get("cores") or 1
    within = [x for x in found if x <= cores]
    if len(within) < 2:
        raise Unshown("only one instance was measured")
    x = max(within)
    share = found[x] / found[min(within)] / x
    text = f"{times(found[x] / found[min(within)])} with {x:g} instances on {cores} cores ({share:.0%} of linear)"
    busy = line(results, "processors kept busy", "sash columns")[x]
    text += f", which had {busy:.1f} of them"
    why = f"4 instances need more cores than the {cores} of this machine"
    others = "; other programs had the rest of it meanwhile" if busy < 0.8 * x else ""
    return Verdict(text, None, why + others)


def _a_processor(results: Results, name: str) -> float:
    taken, busy = line(results, "throughput", name), line(results, "processors kept busy", name)
    return statistics.median(taken[x] / busy[x] for x in taken if busy.get(x))


def _dashboard(results: Results) -> Verdict:
    """By what a processor takes that does nothing else, since other programs have some of them on a busy machine."""
    own = {name: _a_processor(results, name) for name in ("sash rows", "sash columns", "buckets")}
    found, columns = own["sash rows"] / own["buckets"], own["sash columns"] / own["buckets"]
    why = "what a row costs Python before it is merged is that of several merges"
    return held(f"{times(found)} by rows, {times(columns)} in columns", found >= 8, why)


def _dashboard_state(results: Results) -> Verdict:
    found = line(results, "state", "sash columns")
    grows, change = max(found) / min(found), found[max(found)] / found[min(found)]
    return held(f"{times(change)} for {grows:g}× the instances", abs(change / grows - 1) < 0.1)


def _than_a_buffer(results: Results) -> Verdict:
    found, buffer = (line(results, "20 % late", name) for name in ("rows, count", "tuple buffer, count"))
    if not {1000.0} <= found.keys() & buffer.keys():
        raise Unshown("1,000 windows were not measured")
    ahead = found[1000.0] / buffer[1000.0]
    return sized(ahead, 10 * ENOUGH, "slicing is ahead", RESULTS, f"{times(ahead)} at 1,000 windows")


CLAIMS = [
    Claim("slicing-fig12", "Buckets do not mind late tuples either", "level", nearly("share", "buckets")),
    Claim("slicing-fig12", "Tuple buffers slow down with late tuples", "decays", _decays("share", "tuple buffer")),
    Claim("slicing-fig12", "Trees on tuples slow down with late tuples", "decays", _decays("share", "FiBA on tuples")),
    Claim("slicing-fig12", "Slicing takes late tuples as fast as others", "level", nearly("share", "sash rows")),
    Claim("slicing-fig12", "Slicing does not mind how late they are", "level", nearly("delay", "sash rows")),
    Claim(
        "slicing-fig13",
        "Distributive and algebraic aggregations are about alike, holistic ones much slower",
        "much slower",
        _functions,
    ),
    Claim("slicing-fig13", "On counts, late tuples cost throughput, whatever the aggregation", "lower", _on_counts),
    Claim("slicing-fig13", "On counts, an inverse pays: sum with it over sum without", "higher", _inverted),
    Claim(
        "slicing-fig14",
        "For the median of 37 values slicing is ahead of buckets (from 10 windows on)",
        "ahead",
        _few_values,
    ),
    Claim(
        "slicing-fig14",
        "Run length encoding pays: the median of 37 values over that of the football",
        "slightly",
        _encoded,
    ),
    Claim(
        "slicing-fig14",
        "For the median, too, slicing is ahead of buckets (from 10 windows on)",
        "ahead",
        factor("football", "sash rows", "buckets", 1, 10.0, NEARLY_DISTINCT),
    ),
    Claim("slicing-fig15", "A split costs linearly in the slice's tuples", "linear", _split),
    Claim("slicing-fig16", "With disorder, windows on counts are slower than on time", "slower", _counts),
    Claim(
        "slicing-fig16",
        "On time, throughput does not depend on the number of windows",
        "constant",
        _with_windows("rows, time", False, RESULTS),
    ),
    Claim(
        "slicing-fig16",
        "On counts, throughput falls beyond 40 windows",
        "falls",
        _with_windows("rows, count", True, WAITS),
    ),
    Claim(
        "slicing-fig16",
        "Windows on counts: 1,000 are an order of magnitude faster than with a tuple buffer",
        "10×",
        _than_a_buffer,
    ),
    Claim("slicing-fig17", "The dashboard scales linearly up to 4 of 8 cores", "linear up to 4", _scales),
    Claim("slicing-fig17", "Slicing is an order of magnitude ahead of buckets (rows)", "10×", _dashboard),
    Claim("slicing-fig17", "State grows linearly with the degree of parallelism", "linear", _dashboard_state),
]
