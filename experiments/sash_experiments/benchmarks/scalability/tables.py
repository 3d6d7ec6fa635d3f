"""The tables of ``bench scalability``, made from its raw results: medians of repeats, what a model makes of them, and
which goals were reached."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from sash_experiments.benchmarks.scalability.scale_model import ScaleModel
from sash_experiments.generators.debs import WORK, shares_of_plugs
from sash_experiments.tables import Goal, goals, table

__all__ = ["tables"]

GOALS = [
    ("flink", "FPBA packed", "SQL OVER", 3.0),
    ("flink", "FPBA packed", "HOP", 10.0),
    ("flink", "FPBA packed", "count_window", 10.0),
    ("spark", "batch", "van Herk in SQL", 1.3),
    ("spark", "batch", "rowsBetween", 10.0),
    ("spark", "batch", "F.window", 10.0),
]
"""How many times as many rows a second Sash has to take."""
DRIFT = 0.15
"""By how much the CPU seconds of a row may differ between one and two workers."""
SCALED = ("FPBA packed", "batch")
"""Of whom that is asked."""
PREDICTED = (4, 8, 16, 32, 64)
"""Numbers of workers that the model predicts."""
HOTTEST: dict[str, Callable[[int], float]] = {
    "flink": lambda keys: keys ** (WORK - 1),
    "spark": lambda keys: float(shares_of_plugs(keys).max()),
}
"""The share of the plug with the most readings, as the engines' readings are made."""
ROW_BYTES = 24
"""Of a reading on its way to another worker: a plug, a time, a load."""


class Case(NamedTuple):
    """Who computed what, and where."""

    engine: str
    where: str
    keys: int
    aggregate: str
    contender: str


Numbers = Mapping[tuple[Case, int], float]
"""By the case and the number of workers."""


def tables(rows: Iterable[Mapping[str, Any]], facts: Mapping[str, Any]) -> Iterator[str]:
    """All tables that there are results for: medians by engine, place, contender and parallelism; the model; goals."""
    runs: dict[tuple[Case, int], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        case = Case(row["engine"], row["where"], int(row["keys"]), row["aggregate"], row["contender"])
        runs[case, int(row["parallelism"])].append(row)

    def medians(number: Callable[[Mapping[str, Any]], float]) -> dict[tuple[Case, int], float]:
        return {key: statistics.median(map(number, of)) for key, of in runs.items()}

    speed = medians(lambda run: float(run["rows"]) / float(run["seconds"]))
    cpu = medians(lambda run: float(run["cpu_seconds"]) / float(run["rows"]) * 1e6)
    state = {key: max(float(run["state_bytes"] or 0) for run in of) for key, of in runs.items()}
    yield (
        f"{facts['cores']} cores limit what can be seen: workers share them with each other and with the source, "
        "so that rows/s cannot double. A bottleneck\n"
        "that they share would show in the CPU seconds per million rows, which would rise from step to step."
    )
    for engine, where, keys, aggregate in dict.fromkeys(case[:4] for case, _ in runs):
        lines = [
            [
                workers,
                case.contender,
                f"{speed[case, workers]:,.0f}",
                f"{cpu[case, workers]:.3g}",
                f"{state[case, workers]:,.0f}" if state[case, workers] else "",
                len(runs[case, workers]),
            ]
            for case, workers in sorted(runs, key=lambda key: key[1])
            if case[:4] == (engine, where, keys, aggregate)
        ]
        heads = ["contender", "rows/s", "CPU s per million rows", "bytes of state", "runs"]
        title = f"## {engine.capitalize()}, {where}, {keys} keys, {aggregate}: measured"
        yield from table(title, [_workers(where), *heads], lines, 2)
    yield from _predictions(speed, cpu, int(facts["cores"]))
    yield from goals(_goals(speed, cpu), "## Goals")


def _workers(where: str) -> str:
    return "parallelism" if where == "local" else "workers"


def _predictions(speed: Numbers, cpu: Numbers, cores: int) -> Iterator[str]:
    """Of all that was measured with 1 and 2 workers."""
    lines, off = [], []
    for case in dict.fromkeys(case for case, _ in speed):
        if (case, 1) not in speed or (case, 2) not in speed:
            continue
        points = [(speed[case, workers], cpu[case, workers] / 1e6) for workers in (1, 2)]
        model = ScaleModel.fit(points[0], points[1], cores, HOTTEST[case.engine](case.keys))
        name = f"{case.engine}, {case.where}, {case.keys} keys, {case.aggregate}, {case.contender}"
        rates = [f"{model.rate_of(workers):,.0f}" for workers in PREDICTED]
        link = f"{max(model.crossing(workers, ROW_BYTES) for workers in PREDICTED) * 8e-6:,.0f}"
        lines.append([name, f"{model.network * 1e6:.3g}", f"{model.contention:.1%}", *rates, link])
        found = {workers: rate for (of, workers), rate in speed.items() if of == case}
        errors = model.errors(found, cores)
        off.append([name, *(f"{errors[workers]:+.1%}" if workers in errors else "" for workers in (1, 2, 4))])
    heads = ["network, CPU s per million rows", "contention", *(f"rows/s of {workers}" for workers in PREDICTED)]
    title = (
        "## Predicted, not measured\n\n"
        "By a model that is fitted on 1 and 2 workers. Each worker has as many cores as one had here. Network is what\n"
        "rows cost that another worker than theirs has read, contention how much each worker slows each other one.\n"
        f"The key with the most rows is on one worker. The last column is what a worker sends at most, at {ROW_BYTES} "
        "bytes a row."
    )
    yield from table(title, ["", *heads, "Mbit/s of a worker"], lines)
    title = (
        "## By how much the model is off what was measured\n\n"
        f"On the {cores} cores that all workers shared. It is fitted on 1 and 2; 4 it has not seen."
    )
    yield from table(title, ["", "1", "2", "4"], off)


def _goals(speed: Numbers, cpu: Numbers) -> Iterator[Goal]:
    for engine, ours, contender, asked in GOALS:
        for case, workers in sorted(speed):
            beside = case._replace(contender=ours), workers
            if (case.engine, case.aggregate, case.contender) == (engine, "max", contender) and beside in speed:
                found = speed[beside] / speed[case, workers]
                text = (
                    f"{engine}, {case.where}, {case.keys} keys, {workers}: {ours} at least {asked:g} times {contender}"
                )
                yield text, f"{found:.3g}", found >= asked
    for case, workers in sorted(cpu):
        one = cpu.get((case, 1))
        if one and workers == 2 and case.where == "cluster" and case.contender in SCALED:
            found = cpu[case, 2] / one - 1
            text = f"{case.engine}, {case.aggregate}, {case.contender}: CPU of a row from 1 to 2 workers"
            yield f"{text} within {DRIFT:.0%}", f"{found:+.1%}", abs(found) <= DRIFT
