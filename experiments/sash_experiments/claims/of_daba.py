"""The claims of the DABA paper."""

from __future__ import annotations

import statistics

from sash_experiments.breakeven import NEVER
from sash_experiments.claims.claim import ENOUGH, Claim, Unshown, Verdict, held, line, ratio, sized, times
from sash_experiments.contenders import UNCACHED
from sash_experiments.daba import SHOWN
from sash_experiments.raw import Results
from sash_experiments.waiting_merges import CHAINS
from sash_experiments.young_and_old import SEPARATE, SHARED

__all__ = ["CLAIMS"]

THREE = ("TwoStacks", "ABA", "DABA")
LINEAR = ("Collect",)


def _points(results: Results, name: str) -> dict[str, float]:
    found = results.panel("break-even").get(name, {})
    if len(found) < 4:
        raise Unshown("too few aggregations")
    return {label: point for label, point in found.items() if label not in LINEAR}


def _low(results: Results) -> Verdict:
    points = {name: _points(results, name) for name in THREE}
    most = {name: max(each.values()) for name, each in points.items()}
    never = [name for name, each in points.items() if NEVER in each.values()]
    text = ", ".join(f"{name} ≤ {value:,.0f}" for name, value in most.items())
    return Verdict(
        text, not never and all(value <= 112 for value in most.values()), "never: " + ", ".join(never) if never else ""
    )


def _reactive(results: Results) -> Verdict:
    tree, aba = _points(results, "FlatFAT"), _points(results, "ABA")
    found = [tree[label] / aba[label] for label in tree if label != "Bloom" and aba[label] and tree[label]]
    why = "where a call of Python dominates, trees are nearer"
    return sized(statistics.median(found), 10 * ENOUGH, "ABA breaks even sooner", why)


def _collect(results: Results) -> Verdict:
    points = results.panel("break-even")
    found = {name: points.get(name, {}).get("Collect") for name in THREE}
    if None in found.values():
        raise Unshown("Collect was not run")
    holds = all(value == NEVER for value in found.values())
    text = ", ".join(f"{name} {'never' if value == NEVER else f'{value:,.0f}'}" for name, value in found.items())
    return Verdict(
        text, holds, "" if holds else "joining Python's tuples copies pointers, cheaper than a loop over values"
    )


def _steady(results: Results) -> Verdict:
    deviation = results.panel("deviation")
    if not {"TwoStacks", "DABA"} <= set(deviation) or len(deviation["DABA"]) < 3:
        raise Unshown("too few aggregations")
    found = [deviation["TwoStacks"][label] / deviation["DABA"][label] for label in deviation["DABA"]]
    text = f"{times(min(found))} to {times(max(found))}"
    why = "calls of Python deviate by themselves"
    return sized(statistics.median(found), 3 * ENOUGH, "DABA deviates less", why, text)


def _slower(results: Results) -> Verdict:
    average = results.panel("average")
    if len(average.get("DABA", {})) < 3:
        raise Unshown("too few aggregations")
    found = statistics.median(average["DABA"][label] / average["ABA"][label] for label in average["DABA"])
    return Verdict(times(found), found > 1)


def _best(results: Results) -> Verdict:
    stacks = [line(results, "Sum", name) for name in ("TwoStacks", "ABA")]
    others = [line(results, "Sum", name) for name in ("DABA", "FlatFAT")]
    sizes = [x for x in stacks[0] if x >= 16]
    if not sizes:
        raise Unshown("windows are too small")
    won = [x for x in sizes if max(each[x] for each in stacks) > max(each[x] for each in others)]
    return Verdict(f"at {len(won)} of {len(sizes)} sizes from 2^4 on", len(won) == len(sizes))


def _constant(results: Results) -> Verdict:
    found = line(results, "Sum", "DABA")
    if max(found) < 4096:
        raise Unshown("windows are too small")
    change = found[max(found)] / found[16.0]
    cause = _chained(results, "DABA", 16.0, max(found))
    return held(f"{times(change)} from 2^4 to {max(found):,.0f}", change > 0.6, cause=cause)


def _chained(results: Results, name: str, small: float, large: float) -> str:
    """How much a slide's time grows with the window by what a merge waits for: the algorithm makes as many merges."""
    growths = []
    for chain in CHAINS:
        taken = {float(x): value for x, value in results.panel(chain).get(name, {}).items()}
        if small not in taken or large not in taken:
            return ""
        growths.append(f"{times(taken[large] / taken[small])} if {chain}")
    return (
        f"from n = {small:g} to {large:,.0f} the time of a slide, with as many merges, grows {', '.join(growths)} "
        f"({name}, compiled): in small windows the sums of several flips are made at once"
    )


def _linear(results: Results) -> Verdict:
    found = line(results, "Sum", "Recalc")
    if 1024.0 not in found:
        raise Unshown("windows are too small")
    change = found[64.0] / found[1024.0]
    return Verdict(f"{times(change)} less for 16× the window", 8 < change < 32)


def _trees(results: Results) -> Verdict:
    found = {name: ratio(results, "GeometricMean", name, "FlatFAT", 256) for name in THREE}
    text = ", ".join(f"{name} {times(value)}" for name, value in found.items())
    return Verdict(text, min(found.values()) > 1)


def _sooner(results: Results) -> Verdict:
    aba, stacks = _points(results, "ABA"), _points(results, "TwoStacks")
    middle = statistics.median(aba.values()), statistics.median(stacks.values())
    why = "in Python two lists are as cheap to index as one"
    return held(f"{middle[0]:g} against {middle[1]:g} values", middle[0] <= middle[1], why)


def _later(results: Results) -> Verdict:
    daba, stacks = _points(results, "DABA"), _points(results, "TwoStacks")
    middle = statistics.median(daba.values()), statistics.median(stacks.values())
    return held(f"{middle[0]:g} against {middle[1]:g} values", middle[0] >= middle[1])


def _spikes(results: Results) -> Verdict:
    found = {name: _slowest(results, name) / 1e3 for name in THREE}
    text = ", ".join(f"{name} {value:,.1f} µs" for name, value in found.items())
    factor = min(found["TwoStacks"], found["ABA"]) / found["DABA"]
    return sized(factor, 4, "DABA's are lower", "other work of the process is in the slowest slides, too", text)


def _slowest(results: Results, name: str) -> float:
    """The slowest slide of Sum. Compiled, what else the machine does is left out."""
    typical = results.panel("slowest").get(name, {}).get("Sum")
    panel = next((each for each in results.panels if each.startswith("Sum: ")), "")
    return typical if typical is not None else max(line(results, panel, name).values())


def _improves(results: Results) -> Verdict:
    found = line(results, "Sum", "ABA")
    if 256.0 not in found:
        raise Unshown("windows are too small")
    change = found[256.0] / found[min(found)]
    cause = _chained(results, "ABA", min(found), 256.0)
    return held(f"{times(change)} from n = {min(found):g} to 2^8 (ABA)", change > 1, cause=cause)


def _bloom(results: Results) -> Verdict:
    tree = line(results, "Bloom", "FlatFAT")
    others = {name: line(results, "Bloom", name) for name in THREE}
    ahead = [x for x in tree if tree[x] > min(each[x] for each in others.values())]
    text = (
        f"ahead of the slowest of the three at n = {', '.join(f'{x:,.0f}' for x in ahead)}" if ahead else "never ahead"
    )
    why = "a call of Python costs more than merging 2^14 bits, and the tree makes the most calls"
    return held(text, bool(ahead) and max(ahead) < 256, why)


def _cache_pays(results: Results) -> Verdict:
    cached, uncached = line(results, "Bloom", "DABA"), line(results, "Bloom", UNCACHED)
    found = [cached[x] / uncached[x] for x in cached if x in uncached and x >= 64]
    if len(found) < 3:
        raise Unshown("windows are too small")
    ahead = sum(factor > 1 for factor in found)
    text = f"{(statistics.median(found) - 1):+.0%}, ahead at {ahead} of {len(found)} sizes from 2^6 on"
    direction = "the cache pays" if statistics.median(found) > 1 else ""
    return Verdict(text, bool(direction) and ahead == len(found), direction=direction)


def _shared_space(results: Results) -> Verdict:
    found = _at_most_lengths(results, "partials held", SEPARATE, SHARED)
    return sized(found, 2, "sharing holds less")


def _shared_time(results: Results) -> Verdict:
    found = {label: _at_most_lengths(results, label, SHARED, SEPARATE) for label in SHOWN}
    text = ", ".join(f"{label} {times(value)}" for label, value in found.items())
    why = "a value moves from part to part: k inserts and k evictions either way, and k - 1 more merges to answer"
    return held(f"{text} the throughput", min(found.values()) > 1, why)


def _at_most_lengths(results: Results, panel: str, over: str, under: str) -> float:
    one, other = line(results, panel, over), line(results, panel, under)
    if max(one) < 8:
        raise Unshown("too few lengths")
    return one[max(one)] / other[max(one)]


def _leaves_the_caches(results: Results) -> Verdict:
    """Throughput alone: processors count cache misses for one program of their own only."""
    found = line(results, "GeometricMean", "ABA")
    if max(found) < 2**20:
        raise Unshown("windows are too small")
    share = found[max(found)] / found[2.0**10]
    return held(f"{share:.0%} of the throughput at 2^10 (ABA, GeometricMean)", share < 0.95)


CLAIMS = [
    Claim(
        "daba-tab1",
        "Two-Stacks, ABA and DABA beat recalculation from small windows on, for all aggregations but Collect",
        "TwoStacks ≤ 48, ABA ≤ 28, DABA ≤ 112",
        _low,
    ),
    Claim("daba-tab1", "The tree of Reactive breaks even much later: its point over ABA's", "10–100×", _reactive),
    Claim("daba-tab1", "Nothing beats recalculation for Collect", "never", _collect),
    Claim("daba-tab1", "ABA breaks even no later than Two-Stacks (medians)", "16 against 28", _sooner),
    Claim("daba-tab1", "DABA breaks even later than Two-Stacks (medians)", "64 against 28", _later),
    Claim(
        "daba-tab2",
        "Two-Stacks and ABA have spikes of O(n), DABA has none: slowest slides (Sum)",
        "DABA lowest",
        _spikes,
    ),
    Claim("daba-tab2", "DABA's latency deviates less than that of Two-Stacks", "3–25×", _steady),
    Claim("daba-tab2", "On average DABA is somewhat slower than ABA", "1.2× (Sum: 210 to 172 cycles)", _slower),
    Claim("daba-fig18", "Two-Stacks and ABA have the best throughput", "all sizes", _best),
    Claim(
        "daba-fig18",
        "DABA's throughput does not depend on the window's size",
        "level up to the caches' size",
        _constant,
    ),
    Claim(
        "daba-fig18",
        "ABA's and DABA's throughput improves up to 2^8, as flips become rarer (Sum)",
        "improves",
        _improves,
    ),
    Claim("daba-fig18", "Reactive is ahead for Bloom below 2^8 only", "below 2^8", _bloom),
    Claim(
        "daba-fig18",
        "DABA's cache of partials pays where merging is costly (Bloom)",
        "modest but consistent",
        _cache_pays,
    ),
    Claim(
        "daba-fig18",
        "Throughput falls towards 2^20, where windows leave the caches",
        "276× the cache misses of 2^10 (ABA)",
        _leaves_the_caches,
    ),
    Claim("daba-sharing", "Windows of several lengths share young and old parts in less space", "less", _shared_space),
    Claim("daba-sharing", "… or in less time", "less", _shared_time),
    Claim("daba-fig18", "Recalculation's throughput falls linearly with the window", "linear", _linear),
    Claim("daba-fig18", "Reactive is slower than all three (GeometricMean, from 2^8 on)", "slower", _trees),
]
