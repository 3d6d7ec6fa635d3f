"""Every claim beside what was measured here."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from sash_experiments.claims import CLAIMS, Claim, Unshown, Verdict
from sash_experiments.raw import COMPILED, PYTHON, WAITS, Results
from sash_experiments.registry import EXPERIMENTS, stored

__all__ = ["CANNOT", "DIRECTION", "FAILS", "HOLDS", "NEEDS_MORE", "NOT_RUN", "Judged", "counts", "judged"]

HOLDS, DIRECTION, FAILS = "holds", "direction only", "does not hold"
NEEDS_MORE, CANNOT, NOT_RUN = "needs a larger scale or more cores", "cannot be shown", "not run"
SMALLEST = "measured at the smallest scale"
VERDICTS = (HOLDS, DIRECTION, FAILS, NEEDS_MORE, CANNOT, NOT_RUN)


@dataclass(frozen=True)
class Judged:
    """A claim, and what came of it."""

    claim: Claim
    verdict: str
    """One of ``VERDICTS``."""
    ours: str = ""
    why: str = ""


def counts(folder: Path) -> dict[str, int]:
    """How many claims there are of each verdict that there is."""
    found = Counter(each.verdict for each in judged(folder))
    return {verdict: found[verdict] for verdict in VERDICTS if found[verdict]}


def judged(folder: Path) -> Iterator[Judged]:
    """All claims, on the raw results in a folder."""
    known = {name: stored(EXPERIMENTS[name], folder) for name in {claim.experiment for claim in CLAIMS}}
    for claim in CLAIMS:
        yield _judged(claim, known[claim.experiment])


def _judged(claim: Claim, results: Results | None) -> Judged:
    if claim.check is None:
        return Judged(claim, CANNOT, why=claim.cannot)
    if claim.counted:
        verdict = claim.check(Results((), {}))
        return Judged(claim, HOLDS if verdict.holds else FAILS, verdict.ours, verdict.why)
    if results is None:
        return Judged(claim, NOT_RUN, why=f"run {EXPERIMENTS[claim.experiment].command}")
    error = Unshown()
    for rung in sorted({*results.rungs, PYTHON}):  # compiled, where it is there
        try:
            return _marked(_worded(claim, claim.check(results.on(rung)), results, rung), results)
        except Unshown as unshown:
            error = unshown
    return Judged(claim, NEEDS_MORE, why=f"{_scale(results)} do not reach so far: {error}")


def _marked(judgement: Judged, results: Results) -> Judged:
    """With a note if the numbers only show that the experiment runs: such numbers refute nothing."""
    if results.facts.get("scale") != "smoke":
        return judgement
    refuted = judgement.verdict in (FAILS, DIRECTION)
    verdict = NEEDS_MORE if refuted else judgement.verdict
    return replace(judgement, verdict=verdict, why="; ".join(filter(None, [judgement.why, SMALLEST])))


def _worded(claim: Claim, verdict: Verdict, results: Results, rung: str) -> Judged:
    marked = " (compiled)" if rung == COMPILED else ""
    ours = f"{verdict.ours}{marked}"
    if verdict.holds is None:
        return Judged(claim, NEEDS_MORE, ours, verdict.why)
    if verdict.holds:
        return Judged(claim, HOLDS, ours, verdict.why)
    why = "; ".join([*_reasons(verdict, results, rung), *_busy(results)])
    if not verdict.direction:
        return Judged(claim, FAILS, ours, why)
    details = "" if verdict.direction.endswith(verdict.ours) else f": {verdict.ours}"
    return Judged(claim, DIRECTION, f"{verdict.direction} where the paper has {claim.published}{details}{marked}", why)


def _reasons(verdict: Verdict, results: Results, rung: str) -> Iterator[str]:
    """What was measured; what is supposed, of Python only."""
    if verdict.cause:
        yield f"measured: {verdict.cause}"
        return
    if rung == PYTHON:
        if verdict.why:
            yield f"probably because {verdict.why}"
        return
    waits = [row.value for row in results.on(rung).rows if row.panel.endswith(WAITS)]
    if waits:
        yield f"PBA's main thread waited for lcs at {statistics.median(waits):.1f} % of the chunks (median, measured)"


def _scale(results: Results) -> str:
    return f"the results of scale {results.facts['scale']}" if "scale" in results.facts else "the results here"


def _busy(results: Results) -> Iterator[str]:
    load, cores = results.load, results.facts.get("cores")
    if load and cores and load > 1.5 * cores:
        yield f"the machine was busy with other work (a load of {load:.0f} on {cores} cores)"
