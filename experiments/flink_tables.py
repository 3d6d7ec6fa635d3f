"""The tables of bench_flink, made from its raw results, and which goals were reached."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["Results", "read"]

Key = tuple[str, int, int, str]

PACKED, TIMED, BY_RECORD = "sash packed", "sash packed, time", "sash by record"
GOALS: list[tuple[Key, Key, float]] = [
    (("count", 84, 2**10, PACKED), ("count", 84, 2**10, "SQL OVER, arrival"), 3.0),
    (("count", 84, 2**14, PACKED), ("count", 84, 2**14, "SQL OVER, arrival"), 20.0),
    (("count", 84, 2**10, TIMED), ("count", 84, 2**10, "SQL OVER, time"), 3.0),
    (("count", 84, 2**14, TIMED), ("count", 84, 2**14, "SQL OVER, time"), 20.0),
    (("time", 84, 600, PACKED), ("time", 84, 600, "SQL HOP"), 10.0),
    (("time", 84, 3600, PACKED), ("time", 84, 3600, "SQL HOP"), 10.0),
    (("count", 84, 2**10, PACKED), ("count", 1, 2**10, "count_window"), 100.0),
    (("count", 8, 2**10, BY_RECORD), ("count", 8, 2**10, "identity"), 1 / 1.3),
    (("count", 8, 2**10, BY_RECORD), ("count", 8, 2**10, "identity, keyed in the JVM"), 1 / 1.3),
]
"""How many times as many records a second one contender has to take as another."""
SOURCE: Key = ("count", 84, 2**10, "source alone")
FLAT = 1.2
CALMER = 3.0
"""How many times shorter the worst record's stay has to be with PBA."""
CONTROL = "SBA, a merge a slide"
"""It has no more to do at a chunk's end than elsewhere: what its worst record waits for is something else."""


class Results:
    """Records a second and CPU a record, of all turns, and latencies, by workload, keys, size and contender."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self.stay: dict[Key, tuple[float, ...]] = {}
        sums: dict[Key, list[float]] = {}
        for row in rows:
            key = (row["workload"], int(row["keys"]), int(row["n"]), row["contender"])
            if row["worst_us"]:
                self.stay[key] = tuple(float(row[name]) for name in ("p50_us", "p999_us", "worst_us", "worst_own_us"))
            else:
                turn = [float(row[name]) for name in ("records", "wall_s", "cpu_s")]
                sums[key] = [a + b for a, b in zip(sums.get(key, [0.0] * 3), turn, strict=True)]
        self.speed = {key: records / wall for key, (records, wall, _) in sums.items() if records}
        self.cpu = {key: cpu / records * 1e6 for key, (records, _, cpu) in sums.items() if records}

    def tables(self) -> Iterator[str]:
        """All that there are results for."""
        for workload, keys in sorted({(key[0], key[1]) for key in self.speed if key[1] > 1}):
            yield self._speeds(workload, keys)
        if self.stay:
            yield self._stays()
        yield self._goals()

    def _speeds(self, workload: str, keys: int) -> str:
        mine = [key for key in self.speed if key[0] == workload and key[1] in (keys, 1 if keys == 84 else keys)]
        contenders = list(dict.fromkeys(key[3] for key in mine))
        length = "n" if workload == "count" else "size / slide"
        title = f"Maximum over {workload} windows of {keys} keys, thousand records/s (CPU µs a record):"
        lines = [title, "", f"| {length} | " + " | ".join(contenders) + " |", "| ---: |" + " ---: |" * len(contenders)]
        for n in sorted({key[2] for key in mine}):
            found = [key for key in mine if key[2] == n]
            cells = [next((self._cell(key) for key in found if key[3] == name), "") for name in contenders]
            lines.append(f"| {n} | " + " | ".join(cells) + " |")
        return "\n".join(lines)

    def _cell(self, key: Key) -> str:
        return f"{self.speed[key] / 1000:.3g} ({self.cpu[key]:.3g})"

    def _stays(self) -> str:
        lines = [
            "Microseconds that a record is in the operator, record by record: half of them, all but one in a thousand, "
            "the worst, and the worst by the main thread's own clock (CPU and waiting for lcs):",
            "",
            "| aggregate | n | lcs by | p50 | p99.9 | worst | worst, own |",
            "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
        ]
        for (workload, _, n, contender), stay in self.stay.items():
            told = " | ".join(f"{value:,.0f}" for value in stay)
            lines.append(f"| {workload.removeprefix('latency ')} | {n} | {contender} | {told} |")
        return "\n".join(lines)

    def _goals(self) -> str:
        lines = ["| goal | asked | by the clock | by CPU | reached |", "| --- | ---: | ---: | ---: | --- |"]
        for mine, theirs, asked in GOALS:
            if mine in self.speed and theirs in self.speed:
                found, cpu = self.speed[mine] / self.speed[theirs], self.cpu[theirs] / self.cpu[mine]
                said = f"{mine[3]} : {theirs[3]}, {mine[0]} {mine[2]}, {mine[1]} keys"
                lines.append(
                    f"| {said} | ≥ {asked:.3g} | {found:.3g} | {cpu:.3g} | {_yes(found >= asked, cpu >= asked)} |"
                )
        lines += self._without_source()
        for name, plugs in ((PACKED, 84), (PACKED, 8), (BY_RECORD, 8)):
            keys = [key for key in self.speed if key[:2] == ("count", plugs) and key[3] == name]
            if len(keys) > 1:
                found, cpu = (
                    max(of[key] for key in keys) / min(of[key] for key in keys) for of in (self.speed, self.cpu)
                )
                said = f"{name} is flat, {plugs} keys, most : least"
                lines.append(f"| {said} | ≤ {FLAT} | {found:.3g} | {cpu:.3g} | {_yes(found <= FLAT, cpu <= FLAT)} |")
        for workload, keys_, n in dict.fromkeys(key[:3] for key in self.stay):
            sba, pba = (self.stay[workload, keys_, n, name] for name in ("SBA", "PBA"))
            said = f"worst record, SBA : PBA, {workload.removeprefix('latency ')} {n}"
            found, own = sba[-2] / pba[-2], sba[-1] / pba[-1]
            reached = _yes(found >= CALMER, own >= CALMER)
            control = self.stay.get((workload, keys_, n, CONTROL))
            if control is not None and sba[-1] < CALMER * control[-1]:
                reached = "cannot be told: the control's worst is as bad"
            lines.append(f"| {said} | ≥ {CALMER:.0f} | {found:.3g} | {own:.3g} | {reached} |")
        return "\n".join(lines)

    def _without_source(self) -> Iterator[str]:
        """The goals of SQL OVER by arrival once more, without what both spend on the same source."""
        for mine, theirs, asked in GOALS:
            if theirs[3] == "SQL OVER, arrival" and {mine, theirs, SOURCE} <= self.cpu.keys():
                found = (self.cpu[theirs] - self.cpu[SOURCE]) / (self.cpu[mine] - self.cpu[SOURCE])
                said = f"{mine[3]} : {theirs[3]}, {mine[0]} {mine[2]}, {mine[1]} keys, both less {SOURCE[3]}"
                yield f"| {said} | ≥ {asked:.3g} | | {found:.3g} | {'yes' if found >= asked else 'no'} |"


def read(path: Path) -> Results:
    """Of a file; none, if there is none."""
    if not path.exists():
        return Results([])
    with path.open(newline="", encoding="utf-8") as file:
        return Results(csv.DictReader(file))


def _yes(by_wall: bool, by_cpu: bool) -> str:
    if by_wall != by_cpu:
        return "by CPU only" if by_cpu else "by the clock only"
    return "yes" if by_wall else "no"
