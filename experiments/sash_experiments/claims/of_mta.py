"""The claims of the MTA paper, on the raw results of ``make bench-mta``."""

from __future__ import annotations

from sash_experiments.claims.claim import Check, Claim, Line, Unshown, Verdict, line, times
from sash_experiments.raw import Results

__all__ = ["CLAIMS"]


def _change(found: Line, least: float) -> tuple[float, float]:
    """(how much the window grows, how much the number does) from ``least`` on."""
    sizes = [x for x in found if x >= least]
    if len(sizes) < 2:
        raise Unshown("windows are too small")
    return sizes[-1] / sizes[0], found[sizes[-1]] / found[sizes[0]]


def _constant(name: str) -> Check:
    def check(results: Results) -> Verdict:
        grows, change = _change(line(results, "latency", name), 64)
        return Verdict(f"{times(change)} for {grows:,.0f}× the window", change < 2)

    return check


def _naive(results: Results) -> Verdict:
    grows, change = _change(line(results, "latency", "Recalc"), 64)
    return Verdict(f"{times(change)} for {grows:,.0f}× the window", change > grows / 4)


def _store(results: Results) -> Verdict:
    memory, lmdb = line(results, "latency", "AMTA"), line(results, "latency", "AMTA, LMDB")
    x = max(x for x in memory if x in lmdb)
    return Verdict(f"{times(lmdb[x] / memory[x])} of in memory, with LMDB", lmdb[x] < 3 * memory[x])


def _bulk(results: Results) -> Verdict:
    daba, amta = line(results, "bulk", "DABA"), line(results, "bulk", "AMTA")
    x = max(x for x in daba if x in amta)
    return Verdict(f"{times(daba[x] / amta[x])} at {x:,.0f} evicted", daba[x] / amta[x] >= 100)


def _bulk_log(results: Results) -> Verdict:
    grows, change = _change(line(results, "bulk", "AMTA"), 64)
    return Verdict(f"{times(change)} for {grows:,.0f}× as many", change < grows**0.5)


def _bulk_daba(results: Results) -> Verdict:
    grows, change = _change(line(results, "bulk", "DABA"), 1024)
    return Verdict(f"{times(change)} for {grows:,.0f}× as many", change > grows / 4)


def _memory(results: Results) -> Verdict:
    memory, lmdb = line(results, "memory", "AMTA"), line(results, "memory", "AMTA, LMDB")
    x = max(x for x in memory if x in lmdb)
    return Verdict(f"{lmdb[x]:,.0f} against {memory[x]:,.0f} MB at {x:,.0f} values", lmdb[x] < memory[x] / 4)


CLAIMS = [
    Claim("mta-exp1", "AMTA's latency does not depend on the window's size", "constant", _constant("AMTA")),
    Claim("mta-exp1", "DABA's latency does not depend on the window's size", "constant", _constant("DABA")),
    Claim("mta-exp1", "Naive aggregation's latency grows linearly", "linear", _naive),
    Claim("mta-exp1", "Keeping a window in a store costs AMTA little", "about 1 µs", _store),
    Claim("mta-exp2", "MTA evicts in bulk logarithmically", "logarithmic", _bulk_log),
    Claim("mta-exp2", "DABA evicts in bulk linearly", "linear", _bulk_daba),
    Claim(
        "mta-exp2",
        "At large evictions MTA is orders of magnitude faster than DABA",
        "seconds against milliseconds",
        _bulk,
    ),
    Claim(
        "mta-exp3",
        "Where a policy evicts in bulk, AMTA is faster than DABA (max of two years of readings)",
        "1.8 against 3.5 µs",
        cannot="The stream of the paper's experiment is not public.",
    ),
    Claim("mta-exp4", "In a store, a window of 2^25 needs a small part of the memory", "512 MB against 32 GB", _memory),
]
