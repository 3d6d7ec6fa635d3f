"""The claims of the MTA paper, on the raw results of ``make bench-mta``.

Slides are judged by the process's own time, which other programs on the machine do not lengthen; evictions in bulk, of
which each is timed by itself, by the clock.
"""

from __future__ import annotations

import statistics

from sash_experiments.benches import MTA_OWN
from sash_experiments.claims.claim import ENOUGH, Check, Claim, Unshown, Verdict, growth, held, line, sized, times
from sash_experiments.raw import Results

__all__ = ["CLAIMS"]

LATENCY, BULK, SEVERAL = f"latency{MTA_OWN}", "bulk", f"dimensions{MTA_OWN}"
CALLS = "a count is a call of Python, where the paper's is an addition"
CACHES = "in Python a value is an object of its own: larger windows leave the processor's caches"


def _constant(name: str) -> Check:
    def check(results: Results) -> Verdict:
        grows, change = growth(line(results, LATENCY, name), 64)
        return held(f"{times(change)} for {grows:,.0f}× the window", change < 2, CACHES)

    return check


def _logarithmic(results: Results) -> Verdict:
    grows, change = growth(line(results, LATENCY, "LogMTA"), 16)
    return held(f"{times(change)} for {grows:,.0f}× the window", change < grows**0.25, CACHES)


def _naive(results: Results) -> Verdict:
    grows, change = growth(line(results, LATENCY, "Recalc"), 16)
    return held(f"{times(change)} for {grows:,.0f}× the window", change > grows / 4)


def _lowest(results: Results) -> Verdict:
    amta, daba = line(results, LATENCY, "AMTA"), line(results, LATENCY, "DABA")
    sizes = [x for x in amta if x in daba and x >= 512]
    if not sizes:
        raise Unshown("windows are too small")
    found = statistics.median(amta[x] / daba[x] for x in sizes)
    return held(f"{times(found)} DABA's latency from 2^9 on", found < 1, "a policy is a call of Python for each slide")


def _store(results: Results) -> Verdict:
    memory, lmdb = line(results, LATENCY, "AMTA"), line(results, LATENCY, "AMTA, LMDB")
    x = max(x for x in memory if x in lmdb)
    text = f"{lmdb[x] - memory[x]:+.1f} µs with LMDB at {x:,.0f} values ({times(lmdb[x] / memory[x])})"
    return held(text, lmdb[x] < 2 * memory[x], "here all of a store's work is on this machine, the writing included")


def _bulk(results: Results) -> Verdict:
    daba, amta = line(results, BULK, "DABA"), line(results, BULK, "AMTA")
    x = max(x for x in daba if x in amta)
    return held(f"{times(daba[x] / amta[x])} at {x:,.0f} evicted", daba[x] / amta[x] >= 100)


def _bulk_log(results: Results) -> Verdict:
    grows, change = growth(line(results, BULK, "AMTA"), 64)
    return held(f"{times(change)} for {grows:,.0f}× as many", change < grows**0.5)


def _bulk_daba(results: Results) -> Verdict:
    grows, change = growth(line(results, BULK, "DABA"), 1024)
    return held(f"{times(change)} for {grows:,.0f}× as many", change > grows / 4)


def _worst(results: Results) -> Verdict:
    found = {name: max(line(results, BULK, name).values()) for name in ("AMTA", "LogMTA")}
    text = ", ".join(f"{name} {value:,.0f} µs" for name, value in found.items())
    return held(text, max(found.values()) < 1000, "what has left is freed at once here, value by value")


def _stores_bulk(results: Results) -> Verdict:
    daba = line(results, "bulk", "DABA")
    names = [name for name in results.panel("bulk") if name.startswith("AMTA,")]
    if not names:
        raise Unshown("no store was run")
    ahead = {}
    for name in names:
        found = line(results, "bulk", name)
        behind = [x for x in found if x in daba and found[x] >= daba[x]]
        ahead[name] = max(behind, default=0)
    text = ", ".join(f"{name.partition(', ')[2]} from {4 * x:,.0f} on" if x else name for name, x in ahead.items())
    return held(text, max(ahead.values()) <= 2**18)


def _simpler(results: Results) -> Verdict:
    log, amta = line(results, BULK, "LogMTA"), line(results, BULK, "AMTA")
    found = statistics.median(amta[x] / log[x] for x in log if x in amta)
    return held(f"AMTA {times(found)} Log MTA's time, median", found > 1)


def _fastest(results: Results) -> Verdict:
    panel = results.panel(SEVERAL)
    amta, daba = panel.get("AMTA", {}), panel.get("DABA", {})
    shared = [label for label in amta if label in daba and "together" not in label]
    if len(shared) < 4:
        raise Unshown("too few aggregations")
    won = [label for label in shared if amta[label] < daba[label]]
    text = (
        f"{len(won)} of {len(shared)}, median {times(statistics.median(amta[x] / daba[x] for x in shared))} DABA's time"
    )
    return held(
        text, len(won) == len(shared), "a policy is a call of Python for each slide, and a tree is read at each end"
    )


def _together(results: Results) -> Verdict:
    panel = results.panel(SEVERAL)
    found = {}
    for name in ("AMTA", "DABA"):
        each = {label: value for label, value in panel.get(name, {}).items() if "together" not in label}
        whole = [value for label, value in panel.get(name, {}).items() if "together" in label]
        if not whole or len(each) < 4:
            raise Unshown("it was not run")
        found[name] = whole[0] / sum(each.values())
    text = ", ".join(f"{name} {share:.0%}" for name, share in found.items())
    return held(f"{text} of the windows' own latencies together", max(found.values()) < 0.7)


def _in_bulk(kind: str, published: float) -> Check:
    def check(results: Results) -> Verdict:
        panel, place = results.panel(f"policies{MTA_OWN}"), f"{kind}, evicting in bulk"
        found = [panel.get(name, {}).get(place) for name in ("AMTA", "DABA")]
        if found[0] is None or found[1] is None:
            raise Unshown("it was not run")
        text = f"{times(found[1] / found[0])} ({found[0]:.1f} against {found[1]:.1f} µs)"
        return sized(found[1] / found[0], ENOUGH * published, "AMTA is ahead", ours=text)

    return check


def _many(results: Results) -> Verdict:
    """So many windows of one dimension beside one of so many."""
    found = line(results, f"many{MTA_OWN}", "AMTA, LMDB")
    most = max(found)
    if most < 10:
        raise Unshown("too few dimensions")
    slope, _ = statistics.linear_regression(list(found), list(found.values()))
    text = f"{slope:.2f} µs a dimension, {found[1.0]:.1f} for one: {times(most * found[1.0] / found[most])} at {most:g}"
    return sized(most * found[1.0] / found[most], 9.9 * ENOUGH, "one window is ahead of as many", CALLS, text)


def _linear_in_dimensions(results: Results) -> Verdict:
    found = line(results, f"many{MTA_OWN}", "AMTA, LMDB")
    if len(found) < 4:
        raise Unshown("too few dimensions")
    share = statistics.correlation(list(found), list(found.values())) ** 2
    return held(f"R² {share:.2f}", share > 0.9)


def _limited(results: Results) -> Verdict:
    found = {name: line(results, "limited", name) for name in ("AMTA", "AMTA, LMDB")}
    least, goal = min(found["AMTA"]), max(size for sizes in found.values() for size in sizes.values())
    memory, stored = found["AMTA"][least], found["AMTA, LMDB"][least]
    if memory == goal:
        raise Unshown("windows are so small that memory holds them")
    return held(f"{memory:,.0f} values with {least:g} MB, {stored:,.0f} in LMDB", stored == goal)


def _memory(results: Results) -> Verdict:
    memory, lmdb = line(results, "memory", "AMTA"), line(results, "memory", "AMTA, LMDB")
    x = max(x for x in memory if x in lmdb)
    return held(f"{lmdb[x]:,.0f} against {memory[x]:,.0f} MB at {x:,.0f} values", lmdb[x] < memory[x] / 4)


def _memory_log(results: Results) -> Verdict:
    grows, change = growth(line(results, "memory", "AMTA, LMDB"))
    return held(f"{times(change)} for {grows:,.0f}× the window (LMDB)", change < grows**0.5)


CLAIMS = [
    Claim("mta-exp1", "AMTA's latency does not depend on the window's size", "constant", _constant("AMTA")),
    Claim("mta-exp1", "DABA's latency does not depend on the window's size", "constant", _constant("DABA")),
    Claim("mta-exp1", "Log MTA's latency grows logarithmically", "logarithmic", _logarithmic),
    Claim("mta-exp1", "Naive aggregation's latency grows linearly", "linear", _naive),
    Claim("mta-exp1", "In memory, AMTA has the lowest latency from windows of 2^9 on", "lowest", _lowest),
    Claim("mta-exp1", "Keeping a window in a store costs AMTA little", "about 1 µs", _store),
    Claim("mta-exp2", "MTA evicts in bulk logarithmically", "logarithmic", _bulk_log),
    Claim("mta-exp2", "DABA evicts in bulk linearly", "linear", _bulk_daba),
    Claim(
        "mta-exp2",
        "At large evictions MTA is orders of magnitude faster than DABA",
        "seconds against milliseconds",
        _bulk,
    ),
    Claim("mta-exp2", "The slowest bulk eviction in memory is below a millisecond", "AMTA 455, Log MTA 258 µs", _worst),
    Claim("mta-exp2", "Log MTA evicts in bulk faster than AMTA", "almost 1 ms of 5 in a store", _simpler),
    Claim("mta-exp2", "At large evictions MTA in a store is ahead of DABA in memory", "ahead", _stores_bulk),
    Claim(
        "mta-exp3", "All six aggregations are faster in AMTA than in DABA", "6 of 6; sum 4.2 against 4.3 µs", _fastest
    ),
    Claim(
        "mta-exp3",
        "Where a policy evicts in bulk, AMTA is much faster than DABA: what is older than the maximum",
        "2.0× (1.8 against 3.5 µs)",
        _in_bulk("max", 2.0),
    ),
    Claim(
        "mta-exp3",
        "Where a policy evicts in bulk, AMTA is much faster than DABA: what is older than the longest run",
        "1.5× (6.5 against 10 µs)",
        _in_bulk("longest rising run", 1.5),
    ),
    Claim(
        "mta-exp3",
        "All six in one window cost less than a window each",
        "less",
        _together,
    ),
    Claim("mta-exp4", "In a store, a window of 2^25 needs a small part of the memory", "512 MB against 32 GB", _memory),
    Claim(
        "mta-exp4",
        "Where memory is limited, a store holds windows that memory does not",
        "2^25 with 512 MB, of which memory holds a small part",
        _limited,
    ),
    Claim(
        "mta-exp5",
        "Many dimensions in one window in a store cost less than a window each, at 50",
        "9.9× (411 ns a dimension, 4,895 for one)",
        _many,
    ),
    Claim("mta-exp5", "The latency grows linearly with the dimensions", "linear", _linear_in_dimensions),
    Claim("mta-exp4", "In a store, local memory grows logarithmically", "O(log n)", _memory_log),
]
