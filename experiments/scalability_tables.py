"""The tables of ``scalability.py``, made from its raw results: medians of repeats, and which goals were reached."""

from __future__ import annotations

import csv
import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["Results"]

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


class Results:
    """Medians over the repeats by engine, place, contender and parallelism."""

    def __init__(self, rows: Iterable[Mapping[str, Any]], facts: Mapping[str, Any]) -> None:
        self.facts = facts
        speed: dict[Key, list[float]] = defaultdict(list)
        cpu: dict[Key, list[float]] = defaultdict(list)
        state: dict[Key, list[float]] = defaultdict(list)
        for row in rows:
            key = (row["engine"], row["where"], row["contender"], int(row["parallelism"]))
            speed[key].append(float(row["rows"]) / float(row["seconds"]))
            cpu[key].append(float(row["cpu_seconds"]) / float(row["rows"]) * 1e6)
            if row["state_bytes"]:
                state[key].append(float(row["state_bytes"]))
        self.speed, self.cpu = _medians(speed), _medians(cpu)
        self.state = {key: max(found) for key, found in state.items()}

    @classmethod
    def read(cls, path: Path) -> Results:
        with path.open(newline="") as file:
            return cls(list(csv.DictReader(file)), json.loads(path.with_suffix(".json").read_text(encoding="utf-8")))

    def tables(self) -> Iterator[str]:
        """All that there are results for."""
        yield self._preamble()
        for engine, where in dict.fromkeys(key[:2] for key in self.speed):
            yield from self._table(engine, where)
        yield from self._goals()

    def _preamble(self) -> str:
        facts = self.facts
        versions = ", ".join(f"{name} {facts[name]}" for name in ("sash", "apache-flink", "pyspark"))
        machine = f"{facts['cores']} cores of {facts['machine']}, load {facts['load_before']:.1f} before"
        return (
            f"{facts['date']}, Python {facts['python']}, {versions}; {machine}; max over windows of {facts['range']} "
            f"at slide 1, medians of {facts['repeats']}.\n"
            f"{facts['cores']} cores limit what can be seen: workers share them with each other and with the source, "
            "so that rows/s cannot double. A bottleneck\n"
            "that they share would show in the CPU seconds per million rows, which would rise from step to step."
        )

    def _table(self, engine: str, where: str) -> Iterator[str]:
        by, keys = ("parallelism" if where == "local" else "workers"), self.facts["keys"][where]
        yield from ("", f"### {engine.capitalize()}, {where}, {keys} keys", "")
        yield f"| {by} | contender | rows/s | CPU s per million rows | bytes of state | sash : it, rows/s | by CPU |"
        yield "|---:|---|---:|---:|---:|---:|---:|"
        mine = [key for key in self.speed if key[:2] == (engine, where)]
        for key in sorted(mine, key=lambda key: key[3]):
            state = f"{self.state[key]:,.0f}" if key in self.state else ""
            faster, cheaper = (f"{self.ratio(key, by):.3g}" for by in (self.speed, self.cpu))
            cells = [key[3], key[2], f"{self.speed[key]:,.0f}", f"{self.cpu[key]:.3g}", state, faster, cheaper]
            yield f"| {' | '.join(map(str, cells))} |"

    def ratio(self, key: Key, by: Mapping[Key, float]) -> float:
        """How many times as many rows Sash takes as a contender, in a second or for a second of CPU."""
        ours, its = by[key[0], key[1], "sash", key[3]], by[key]
        return ours / its if by is self.speed else its / ours

    def _goals(self) -> Iterator[str]:
        yield from ("", "### Goals", "", "| goal | found | reached |", "|---|---:|---|")
        for engine, contender, asked in GOALS:
            for key in sorted(key for key in self.speed if (key[0], key[2]) == (engine, contender)):
                found = self.ratio(key, self.speed)
                yes = "yes" if found >= asked else "no"
                yield f"| {engine}, {key[1]}, {key[3]}: at least {asked:g} times {contender} | {found:.3g} | {yes} |"
        for key in sorted(key for key in self.cpu if key[1] == "cluster" and key[2] == "sash" and key[3] == 2):
            one = self.cpu.get((*key[:3], 1))
            if one:
                found = self.cpu[key] / one - 1
                yes = "yes" if abs(found) <= DRIFT else "no"
                yield f"| {key[0]}: CPU of a row from 1 to 2 workers within {DRIFT:.0%} | {found:+.1%} | {yes} |"


def _medians(found: Mapping[Key, list[float]]) -> dict[Key, float]:
    return {key: statistics.median(values) for key, values in found.items()}
