"""The tables of bench_spark, made from its raw results: medians over the rounds, and which goals were reached."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["KEYS", "PACKAGES", "RATIOS", "ROWS", "SIZES", "Results", "preamble"]

ROWS = 3_000_000
KEYS = 8
SIZES = [2**6, 2**10, 2**16]
RATIOS = [1, 10, 60, 600, 3600]
PACKAGES = ["sash", "pyspark", "pyarrow", "pandas", "numpy", "numba"]

COUNT = ["sash", "rowsBetween", "van Herk in SQL", "shuffle and sort"]
TIME = ["sash", "F.window"]
STREAMING = ["sash", "plain"]
STREAMS = [84, 10_000]  # keys
GOALS = {
    ("count", "rowsBetween"): {2**6: 2.0, 2**10: 10.0, 2**16: 100.0},
    ("count", "van Herk in SQL"): dict.fromkeys(SIZES, 1.3),
    ("time", "F.window"): {1: 0.8, 60: 10.0, 600: 50.0, 3600: 50.0},
    ("streaming time", "F.window"): {1: 0.8, 60: 10.0, 600: 50.0, 3600: 50.0},
    ("streaming 84 keys", "plain"): {1_000_000: 3.0},
    ("streaming 10000 keys", "plain"): {100_000: 5.0},
}
LIMIT = 1.5  # times shuffle and sort alone


class Results:
    """Medians over the rounds, and the tables made of them."""

    def __init__(self, rows: Iterable[dict[str, str]]) -> None:
        cpu: dict[tuple[str, int, str], list[float]] = defaultdict(list)
        speed: dict[tuple[str, int, str], list[float]] = defaultdict(list)
        given = list(rows)
        for row in given:
            key = (row["workload"], int(row["n"]), row["contender"])
            cpu[key].append(float(row["cpu_s_per_million"]))
            speed[key].append(float(row["rows_per_s"]))
        self.parts = _parts(given)
        self.cpu = {key: statistics.median(each) for key, each in cpu.items()}
        self.speed = {key: statistics.median(each) for key, each in speed.items()}

    def tables(self) -> Iterator[str]:
        yield from self._table("count", "Count windows, slide 1", "n", COUNT)
        yield from self._table("time", "Time windows", "size / slide", TIME)
        yield from self._table("streaming time", "Time windows of streams", "size / slide", TIME)
        for keys in STREAMS:
            workload = f"streaming {keys} keys"
            yield from self._table(workload, f"Streams of {keys:,} keys", "rows a micro-batch", STREAMING)
        yield from self._table("pipeline", "The data pipeline", "rows", ["sash"])
        yield from self._shares()
        yield from self._goals()

    def _sizes(self, workload: str) -> list[int]:
        return sorted({n for name, n, _ in self.cpu if name == workload})

    def _table(self, workload: str, title: str, head: str, names: list[str]) -> Iterator[str]:
        if not self._sizes(workload):
            return
        for what, numbers, form in (("CPU seconds per million rows", self.cpu, ".2f"), ("rows/s", self.speed, ",.0f")):
            yield from (
                "",
                f"### {title}: {what}",
                "",
                f"| {head} | {' | '.join(names)} |",
                "|---:" * (len(names) + 1) + "|",
            )
            for n in self._sizes(workload):
                cells = [numbers.get((workload, n, name)) for name in names]
                yield f"| {n} | {' | '.join('' if cell is None else format(cell, form) for cell in cells)} |"

    def _shares(self) -> Iterator[str]:
        heads = ["Python", "the JVM's threads of tasks and others", "its compiler", "its collector"]
        yield from ("", "### Where Sash's CPU seconds go, per million rows", "")
        yield from (f"| workload | {' | '.join(heads)} |", "|---" + "|---:" * len(heads) + "|")
        for (workload, n), shares in self.parts.items():
            yield f"| {workload} {n} | {' | '.join(format(share, '.2f') for share in shares)} |"

    def _goals(self) -> Iterator[str]:
        yield from ("", "### Goals, by CPU seconds", "", "| goal | reached | met |", "|---|---:|---|")
        for (workload, contender), limits in GOALS.items():
            for n, limit in limits.items():
                ours, theirs = self.cpu.get((workload, n, "sash")), self.cpu.get((workload, n, contender))
                if ours and theirs:
                    ratio = theirs / ours
                    verdict = "yes" if ratio >= limit else "no"
                    yield f"| {workload} {n}: at least {limit:g}x {contender} | {ratio:.2f}x | {verdict} |"
        for n in self._sizes("count"):
            ours, alone = self.cpu.get(("count", n, "sash")), self.cpu.get(("count", n, "shuffle and sort"))
            if ours and alone:
                ratio = ours / alone
                verdict = "yes" if ratio <= LIMIT else "no"
                yield f"| count {n}: at most {LIMIT:g}x shuffle and sort | {ratio:.2f}x | {verdict} |"


def _parts(rows: Iterable[dict[str, str]]) -> dict[tuple[str, int], list[float]]:
    """Of Sash: CPU seconds per million rows in Python, the JVM, its compiler and its collector, in the last round."""
    found = {}
    for row in rows:
        if row["contender"] == "sash":
            known = [float(row[f"{name}_s"]) for name in ("python", "compiler", "collector")]
            rest = float(row["cpu_s"]) - sum(known)
            found[row["workload"], int(row["n"])] = [
                each / int(row["rows"]) * 1e6 for each in (known[0], rest, *known[1:])
            ]
    return found


def preamble(path: Path) -> str:
    """What the numbers depend on, in a line."""
    facts = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    versions = ", ".join(f"{name} {facts[name]}" for name in PACKAGES)
    return (
        f"{facts['date']}, Python {facts['python']}, {versions}; {facts['cores']} cores of {facts['machine']}, load "
        f"{facts['load_before']:.1f} before; {facts['rows']:,} rows, {facts['keys']} keys, rounds: {facts['rounds']}"
    )
