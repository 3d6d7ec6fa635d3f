"""Every claim beside what was measured here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sash_experiments.claims import CLAIMS, Claim, Unshown, Verdict
from sash_experiments.raw import COMPILED, PYTHON, Results
from sash_experiments.registry import EXPERIMENTS, stored

__all__ = ["CANNOT", "DIRECTION", "FAILS", "HOLDS", "NOT_RUN", "Judged", "judged"]

HOLDS, DIRECTION, FAILS = "holds", "holds in direction, not in size", "does not hold"
CANNOT, NOT_RUN = "cannot be shown here", "not run"


@dataclass(frozen=True)
class Judged:
    """A claim, and what came of it."""

    claim: Claim
    verdict: str
    """holds, holds in direction, does not hold, cannot be shown here, not run."""
    ours: str = ""
    why: str = ""


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
            return _worded(claim, claim.check(results.on(rung)), results, rung)
        except Unshown as unshown:
            error = unshown
    return Judged(claim, NOT_RUN, why=f"the results here do not reach so far: {error}")


def _worded(claim: Claim, verdict: Verdict, results: Results, rung: str) -> Judged:
    marked = " (compiled)" if rung == COMPILED else ""
    ours = f"{verdict.ours}{marked}"
    if verdict.holds is None:
        return Judged(claim, CANNOT, ours, verdict.why)
    if verdict.holds:
        return Judged(claim, HOLDS, ours, verdict.why)
    # what is supposed is of Python
    reasons = [f"probably because {verdict.why}"] if verdict.why and rung == PYTHON else []
    why = "; ".join([*reasons, *_busy(results)])
    if not verdict.direction:
        return Judged(claim, FAILS, ours, why)
    details = "" if verdict.direction.endswith(verdict.ours) else f": {verdict.ours}"
    return Judged(claim, DIRECTION, f"{verdict.direction} where the paper has {claim.published}{details}{marked}", why)


def _busy(results: Results) -> Iterator[str]:
    load, cores = results.load, results.facts.get("cores")
    if load and cores and load > 1.5 * cores:
        yield f"the machine was busy with other work (a load of {load:.0f} on {cores} cores)"
