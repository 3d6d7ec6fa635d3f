"""What the PBA paper claims of Flink, on the raw results of ``make scalability``."""

from __future__ import annotations

from collections.abc import Iterator

from sash_experiments.claims.claim import Check, Claim, Unshown, Verdict, held, times
from sash_experiments.raw import Results

__all__ = ["CLAIMS"]


PBA = "FPBA"
"""How the names of contenders begin whose plan is PBA: a claim about PBA is judged on these alone."""
OURS = {"flink": (PBA, "SBA"), "spark": ("batch", "stateful")}
"""How ours begin; all others are the engines' own."""


def _panels(results: Results, engine: str, where: str) -> Iterator[dict[str, dict[str, float]]]:
    found = [name for name in results.panels if name.startswith(f"{engine}, {where}")]
    if not found:
        raise Unshown(f"{engine} was not run on {'a cluster' if where == 'cluster' else 'one machine'}")
    return (results.panel(name) for name in found)


def _ahead(engine: str, where: str, judged: str) -> Check:
    """Those whose names begin so over the best of the engine's own, where both were run with the same parallelism."""

    def check(results: Results) -> Verdict:
        ratios, seen = [], False
        for panel in _panels(results, engine, where):
            ours = {name: line for name, line in panel.items() if name.startswith(judged)}
            own = [line for name, line in panel.items() if not name.startswith(OURS[engine])]
            seen |= bool(ours)
            for x in {x for line in ours.values() for x in line}:
                others = [line[x] for line in own if x in line]
                if others:
                    ratios.append(max(line[x] for line in ours.values() if x in line) / max(others))
        if not seen:
            raise Unshown(f"{judged} was not run there")
        if not ratios:
            raise Unshown(f"{engine}'s own windows were not run beside ours")
        return held(f"{times(min(ratios))} to {times(max(ratios))} the fastest other", min(ratios) > 1)

    return check


def _grows(engine: str, where: str, what: str) -> Check:
    """How PBA's throughput grows from one to the most; whether that is linear, a machine of few cores cannot tell."""

    def check(results: Results) -> Verdict:
        told = []
        for panel in _panels(results, engine, where):
            for name, line in panel.items():
                found = {int(x): value for x, value in line.items()}
                if name.startswith(PBA) and len(found) > 1:
                    told.append(
                        f"{name}: {times(found[max(found)] / found[min(found)])} from {min(found)} to {max(found)}"
                    )
        if not told:
            raise Unshown(f"{PBA} was not run with two numbers of {what}")
        cores = results.facts.get("cores", "few")
        why = f"the paper needs more cores than the {cores} that all {what} share here"
        return Verdict("; ".join(dict.fromkeys(told)), None, why)

    return check


CLAIMS = [
    Claim(
        "pba-fig8",
        "In Flink on one machine, PBA's throughput is above Flink's own",
        "improved",
        _ahead("flink", "local", PBA),
    ),
    Claim(
        "pba-fig8",
        "In Flink on a cluster, PBA's throughput is above Flink's own",
        "improved",
        _ahead("flink", "cluster", PBA),
    ),
    Claim(
        "pba-fig8",
        "In Flink, throughput grows linearly up to 3 parallel instances on 6 cores",
        "linear",
        _grows("flink", "local", "instances"),
    ),
    Claim(
        "pba-fig8",
        "In Flink, throughput grows linearly with the nodes of a cluster of 6",
        "linear",
        _grows("flink", "cluster", "workers"),
    ),
    Claim(
        "pba-fig8",
        "Beyond the paper, in Spark: ours above Spark's own windows",
        "not in the paper",
        _ahead("spark", "local", "batch"),
    ),
]
