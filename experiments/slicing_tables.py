"""The tables of bench_slicing, made from its raw results: medians over the rounds, and which goals were reached."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from football import RATE, lengths

__all__ = ["PACKAGES", "Results", "preamble"]

PACKAGES = ["sash", "numpy", "numba"]
TITLES = {
    "8": "Figure 8: tuples/s against concurrent windows, sum",
    "9": "Figure 9: tuples/s against concurrent windows with disorder and a session, sum",
    "10a": "Figure 10a: bytes against slices, windows on time, 50,000 tuples in the allowed lateness",
    "10b": "Figure 10b: bytes against tuples in the allowed lateness, windows on time, 500 slices",
    "10c": "Figure 10c: bytes against slices, windows on counts, 50,000 tuples in the allowed lateness",
    "10d": "Figure 10d: bytes against tuples in the allowed lateness, windows on counts, 500 slices",
    "11": "Figure 11: µs of one firing against slices in the window",
    "12": "Figure 12: tuples/s against disorder, 20 windows and a session, sum",
    "13": "Figure 13: tuples/s of aggregations, 20 windows, 20 % late",
    "14": "Figure 14: tuples/s of the median against concurrent windows, 20 % late",
    "15": "Figure 15: µs of a split against tuples in the slice",
    "16": "Figure 16: tuples/s against concurrent windows on time and on counts, 20 % late, sum",
    "columns": "Columns: million tuples/s, max over a window of 3600 slices of 1000 tuples",
}
HEADS = {
    **dict.fromkeys(("8", "9", "14", "16"), "windows"),
    **dict.fromkeys(("10a", "10c", "11"), "slices"),
    **dict.fromkeys(("10b", "10d", "15"), "tuples"),
    "12": "disorder",
    "13": "aggregation",
    "columns": "batches",
}

Line = dict[str, float]


class Results:
    """Medians over the rounds, and the tables made of them."""

    def __init__(self, rows: Iterable[dict[str, str]]) -> None:
        numbers: dict[tuple[str, str, str, str], list[float]] = defaultdict(list)
        for row in rows:
            numbers[row["figure"], row["setting"], row["x"], row["contender"]].append(float(row["value"]))
        self.medians = {key: statistics.median(each) for key, each in numbers.items()}

    def of(self, figure: str) -> dict[str, dict[str, Line]]:
        """{setting: {x: {contender: median}}} of a figure."""
        found: dict[str, dict[str, Line]] = defaultdict(lambda: defaultdict(dict))
        for (each, setting, x, contender), number in self.medians.items():
            if each == figure:
                found[setting][x][contender] = number
        return found

    def tables(self) -> Iterator[str]:
        yield from goals_table(list(self.goals()))
        for figure, title in TITLES.items():
            settings = self.of(figure)
            if figure in ("8", "9", "11", "12", "14", "columns"):
                for setting, lines in settings.items():
                    yield from table(f"{title}; {setting}", HEADS[figure], lines, figure)
            elif figure == "15" and settings:
                sizes = {x: None for lines in settings.values() for x in lines}
                turned = {x: {name: lines[x]["split"] for name, lines in settings.items() if x in lines} for x in sizes}
                yield from table(title, HEADS[figure], turned, figure)
            else:
                for lines in settings.values():
                    yield from table(title, HEADS[figure], lines, figure)

    def goals(self) -> Iterator[tuple[str, str, bool]]:
        """(what was to be reached, what was, whether it is enough)."""
        for setting, lines in self.of("8").items():
            rate = 10 * RATE if "20,000" in setting else RATE
            for name in ("sash rows", "sash columns"):
                if all(name in line for line in lines.values()):
                    yield flat(f"{name}, {setting}", {x: line[name] for x, line in lines.items()}, rate)
            if "100" in lines:
                ratio = lines["100"]["sash rows"] / lines["100"]["buckets"]
                yield f"100 windows, {setting}: rows at least 10x buckets", f"{ratio:.1f}x", ratio >= 10
        for setting, lines in self.of("11").items():
            if lines:
                x, line = list(lines.items())[-1]
                text = f"{line['sash']:.1f} µs against {line['eager']:.1f} µs"
                yield f"firing of {x} slices, {setting}: less than the eager tree", text, line["sash"] < line["eager"]
        for setting, least in (("in order", 20), ("20 % late", 3)):
            for x, line in self.of("columns").get(setting, {}).items():
                reached_m = line["sash columns"] / 1e6
                text = f"columns, {setting}, {x}: at least {least}M tuples/s"
                yield text, f"{reached_m:.1f}M", reached_m >= least


def flat(what: str, reached: Line, rate: int) -> tuple[str, str, bool]:
    """Whether throughput is nearly the same for all numbers of windows."""
    first = next(iter(reached.values()))
    worst = min(reached, key=lambda x: reached[x])
    share = reached[worst] / first
    every = rate / sum(1000 / length for length in lengths(int(worst)))
    text = f"{share:.0%} ({worst} windows, which give a result every {every:,.0f} tuples)"
    return f"{what}: at least 75 % of 1 window's throughput", text, share >= 0.75


def goals_table(goals: list[tuple[str, str, bool]]) -> Iterator[str]:
    if goals:
        yield from ["\nGoals\n", "| goal | reached | met |", "| --- | --- | --- |"]
        yield from (f"| {goal} | {reached} | {'yes' if met else 'no'} |" for goal, reached, met in goals)


def table(title: str, head: str, lines: dict[str, Line], figure: str) -> Iterator[str]:
    names = list(dict.fromkeys(name for line in lines.values() for name in line))
    if lines:
        yield f"\n{title}\n"
        yield f"| {head} | " + " | ".join(names) + " |"
        yield "| ---: |" + " ---: |" * len(names)
        for x, line in lines.items():
            cells = [shown(line[name], figure) if name in line else "" for name in names]
            yield " | ".join([f"| {int(x):,}" if x.isdigit() else f"| {x}", *cells]) + " |"


def shown(number: float, figure: str) -> str:
    if figure == "columns":
        return f"{number / 1e6:.1f}"
    return f"{number:,.1f}" if figure in ("11", "15") else f"{number:,.0f}"


def preamble(path: Path) -> str:
    known = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    versions = ", ".join(f"{name} {known[name]}" for name in ["python", *PACKAGES])
    tiny = "; sizes too small to mean anything" if known["tiny"] else ""
    return (
        f"{versions}; {known['cores']} cores, {known['processor'] or known['machine']}, {known['system']}; medians of "
        f"{known['rounds']} rounds, one core; raw results in {path.name}{tiny}"
    )
