"""The tables of bench_flink, made from its raw results, and which goals were reached."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

__all__ = ["Results"]

GOALS = [
    ("count", 84, 2**10, "sash packed", "SQL OVER", 3.0),
    ("count", 84, 2**14, "sash packed", "SQL OVER", 20.0),
    ("count", 84, 2**10, "sash packed", "count_window", 100.0),
    ("count", 84, 2**10, "sash by record", "identity", 1 / 1.3),
    ("time", 84, 600, "sash packed", "SQL HOP", 10.0),
    ("time", 84, 3600, "sash packed", "SQL HOP", 10.0),
]
"""How many times as many records a second one contender has to take as another."""
FLAT = 1.2


class Results:
    """Records a second and CPU a record, by workload, keys, size and contender."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self.speed: dict[tuple[str, int, int, str], float] = {}
        self.cpu: dict[tuple[str, int, int, str], float] = {}
        for row in rows:
            key = (row["workload"], int(row["keys"]), int(row["n"]), row["contender"])
            self.speed[key] = float(row["records_per_s"])
            self.cpu[key] = float(row["cpu_us_per_record"])

    def tables(self) -> Iterator[str]:
        """All that there are results for."""
        for workload, keys in dict.fromkeys((key[0], key[1]) for key in self.speed):
            yield self._table(workload, keys)
        yield self._goals()

    def _table(self, workload: str, keys: int) -> str:
        mine = [key for key in self.speed if key[:2] == (workload, keys)]
        contenders = list(dict.fromkeys(key[3] for key in mine))
        lines = [f"{workload} windows, {keys} keys: thousand records/s (CPU µs a record)", ""]
        lines.append("| n | " + " | ".join(contenders) + " |")
        lines.append("| ---: |" + " ---: |" * len(contenders))
        for n in sorted({key[2] for key in mine}):
            cells = []
            for name in contenders:
                key = (workload, keys, n, name)
                cells.append(f"{self.speed[key] / 1000:.3g} ({self.cpu[key]:.3g})" if key in self.speed else "")
            lines.append(f"| {n} | " + " | ".join(cells) + " |")
        return "\n".join(lines)

    def _goals(self) -> str:
        lines = ["| goal | asked | found | reached |", "| --- | ---: | ---: | --- |"]
        for workload, keys, n, ours, theirs, asked in GOALS:
            a, b = self.speed.get((workload, keys, n, ours)), self.speed.get((workload, keys, n, theirs))
            if a and b:
                said = f"{ours} : {theirs}, {workload} {n}, {keys} keys"
                lines.append(f"| {said} | ≥ {asked:.3g} | {a / b:.3g} | {'yes' if a / b >= asked else 'no'} |")
        for name in ("sash packed", "sash by record"):
            of = [speed for key, speed in self.speed.items() if key[0] == "count" and key[1] == 84 and key[3] == name]
            if len(of) > 1:
                found = max(of) / min(of)
                yes = "yes" if found <= FLAT else "no"
                lines.append(f"| {name} flat, 84 keys: fastest : slowest | ≤ {FLAT} | {found:.3g} | {yes} |")
        return "\n".join(lines)
