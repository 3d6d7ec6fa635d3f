"""The tables of ``bench scalability``, made from its raw results: medians of repeats, and which goals were reached."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from sash_experiments.tables import Goal, goals, table

__all__ = ["KEYS", "tables"]

KEYS = {"local": 84, "cluster": 336}
GOALS = [
    ("flink", "SQL OVER", 3.0),
    ("flink", "HOP", 10.0),
    ("flink", "count_window", 10.0),
    ("spark", "van Herk in SQL", 1.3),
    ("spark", "rowsBetween", 10.0),
    ("spark", "F.window", 10.0),
]
"""How many times as many rows a second Sash has to take."""
DRIFT = 0.15
"""By how much the CPU seconds of a row may differ between one and two workers."""

Key = tuple[str, str, str, int]
Numbers = Mapping[Key, float]


def tables(rows: Iterable[Mapping[str, Any]], facts: Mapping[str, Any]) -> Iterator[str]:
    """All tables that there are results for: medians by engine, place, contender and parallelism."""
    runs: dict[Key, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        runs[row["engine"], row["where"], row["contender"], int(row["parallelism"])].append(row)

    def medians(number: Callable[[Mapping[str, Any]], float]) -> dict[Key, float]:
        return {key: statistics.median(map(number, of)) for key, of in runs.items()}

    speed = medians(lambda run: float(run["rows"]) / float(run["seconds"]))
    cpu = medians(lambda run: float(run["cpu_seconds"]) / float(run["rows"]) * 1e6)
    state = {key: max(float(run["state_bytes"] or 0) for run in of) for key, of in runs.items()}
    yield (
        f"{facts['cores']} cores limit what can be seen: workers share them with each other and with the source, "
        "so that rows/s cannot double. A bottleneck\n"
        "that they share would show in the CPU seconds per million rows, which would rise from step to step."
    )
    for engine, where in dict.fromkeys(key[:2] for key in runs):
        heads = ["contender", "rows/s", "CPU s per million rows", "bytes of state", "sash : it, rows/s", "by CPU"]
        lines = [
            [
                key[3],
                key[2],
                f"{speed[key]:,.0f}",
                f"{cpu[key]:.3g}",
                f"{state[key]:,.0f}" if state[key] else "",
                f"{_times(speed, key):.3g}",
                f"{1 / _times(cpu, key):.3g}",
            ]
            for key in sorted(runs, key=lambda key: key[3])
            if key[:2] == (engine, where)
        ]
        title = f"### {engine.capitalize()}, {where}, {KEYS[where]} keys"
        yield from table(title, ["parallelism" if where == "local" else "workers", *heads], lines, 2)
    yield from goals(_goals(speed, cpu), "### Goals")


def _times(numbers: Numbers, key: Key) -> float:
    """How many times a contender's number Sash's is."""
    return numbers[key[0], key[1], "sash", key[3]] / numbers[key]


def _goals(speed: Numbers, cpu: Numbers) -> Iterator[Goal]:
    for engine, contender, asked in GOALS:
        for key in sorted(key for key in speed if (key[0], key[2]) == (engine, contender)):
            found = _times(speed, key)
            text = f"{engine}, {key[1]}, {key[3]}: at least {asked:g} times {contender}"
            yield text, f"{found:.3g}", found >= asked
    for engine, where, contender, workers in sorted(cpu):
        one = cpu.get((engine, where, contender, 1))
        if one and (where, contender, workers) == ("cluster", "sash", 2):
            found = cpu[engine, where, contender, 2] / one - 1
            text = f"{engine}: CPU of a row from 1 to 2 workers within {DRIFT:.0%}"
            yield text, f"{found:+.1%}", abs(found) <= DRIFT
