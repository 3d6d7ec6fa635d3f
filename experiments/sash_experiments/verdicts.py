"""Every claim beside what was measured here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sash_experiments.claims import CLAIMS, Claim, Unshown
from sash_experiments.raw import Results
from sash_experiments.registry import EXPERIMENTS, stored

__all__ = ["Judged", "judged"]

HOLDS, FAILS, CANNOT, NOT_RUN = "holds", "does not hold", "cannot be shown here", "not run"


@dataclass(frozen=True)
class Judged:
    """A claim, and what came of it."""

    claim: Claim
    verdict: str
    """holds, does not hold, cannot be shown here, not run."""
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
    if results is None:
        return Judged(claim, NOT_RUN, why=f"run {EXPERIMENTS[claim.experiment].command}")
    try:
        verdict = claim.check(results)
    except Unshown as error:
        return Judged(claim, NOT_RUN, why=f"the results here do not reach so far: {error}")
    if verdict.holds is None:
        return Judged(claim, CANNOT, verdict.ours, verdict.why)
    if verdict.holds:
        return Judged(claim, HOLDS, verdict.ours, verdict.why)
    reasons = [f"probably because {verdict.why}"] if verdict.why else []
    return Judged(claim, FAILS, verdict.ours, "; ".join([*reasons, *_busy(results)]))


def _busy(results: Results) -> Iterator[str]:
    load, cores = results.load, results.facts.get("cores")
    if load and cores and load > 1.5 * cores:
        yield f"the machine was busy with other work (a load of {load:.0f} on {cores} cores)"
