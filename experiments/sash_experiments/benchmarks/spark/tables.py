"""The tables of ``bench spark``, made from its raw results: medians over the rounds, and which goals were reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sash_experiments.tables import Goal, goals, medians, table

__all__ = ["EVEN", "KEYS", "PACKAGES", "RATIOS", "ROWS", "SIZES", "SKEWED", "tables"]

ROWS = 3_000_000
KEYS = 8
EVEN, SKEWED = 12, 90
"""Percent of the rows that are of the most frequent key."""
SIZES = [2**6, 2**10, 2**16]
RATIOS = [1, 10, 60, 600, 3600]
PACKAGES = ("sash", "pyspark", "pyarrow", "pandas", "numpy", "numba")

TABLES = {
    "count": ("Count windows, slide 1", "n"),
    "time": ("Time windows", "size / slide"),
    "skew": ("A key with most of the rows", "% of the rows in one key"),
    "streaming time": ("Time windows of streams", "size / slide"),
    "streaming 84 keys": ("Streams of 84 keys", "rows a micro-batch"),
    "streaming 10000 keys": ("Streams of 10,000 keys", "rows a micro-batch"),
    "pipeline": ("The data pipeline", "rows"),
}
GOALS = {
    ("count", "rowsBetween"): {2**6: 2.0, 2**10: 10.0, 2**16: 100.0},
    ("count", "van Herk in SQL"): dict.fromkeys(SIZES, 1.3),
    ("time", "F.window"): {1: 0.8, 60: 10.0, 600: 50.0, 3600: 50.0},
    ("streaming time", "F.window"): {1: 0.8, 60: 10.0, 600: 50.0, 3600: 50.0},
    ("streaming 84 keys", "plain"): {1_000_000: 3.0},
    ("streaming 10000 keys", "plain"): {100_000: 5.0},
}
LIMIT = 1.5
"""Times shuffle and sort alone, or an even spread of the rows over keys."""

Numbers = Mapping[tuple[str, ...], float]


def tables(rows: list[dict[str, str]], facts: Mapping[str, Any]) -> Iterator[str]:
    """All tables that there are results for."""
    cpu, speed = (medians(rows, column, "workload", "n", "contender") for column in ("cpu_s_per_million", "rows_per_s"))
    for workload, (title, head) in TABLES.items():
        for what, numbers, style in (("CPU seconds per million rows", cpu, ".2f"), ("rows/s", speed, ",.0f")):
            yield from _table(f"## {title}: {what}", head, workload, numbers, style)
    heads = ["workload", "Python", "the JVM's threads of tasks and others", "its compiler", "its collector"]
    yield from table("## Where Sash's CPU seconds go, per million rows", heads, _shares(rows))
    yield from goals(_goals(cpu), "## Goals, by CPU seconds")
    yield from goals(_skew_goals(speed), "## Goals, by the wall")


def _table(title: str, head: str, workload: str, numbers: Numbers, style: str) -> Iterator[str]:
    names = list(dict.fromkeys(name for found, _, name in numbers if found == workload))
    lines = [
        [n, *(format(numbers[workload, n, name], style) if (workload, n, name) in numbers else "" for name in names)]
        for n in sorted({n for found, n, _ in numbers if found == workload}, key=int)
    ]
    yield from table(title, [head, *names], lines, 0)


def _shares(rows: list[dict[str, str]]) -> list[list[Any]]:
    """Of Sash: CPU seconds per million rows in Python, the JVM, its compiler and its collector, in the last round."""
    found: dict[str, list[Any]] = {}
    for row in rows:
        if row["contender"] == "sash":
            python, compiler, collector = (float(row[f"{name}_s"]) for name in ("python", "compiler", "collector"))
            rest = float(row["cpu_s"]) - python - compiler - collector
            shares = [part / int(row["rows"]) * 1e6 for part in (python, rest, compiler, collector)]
            found[f"{row['workload']} {row['n']}"] = shares
    return [[name, *shares] for name, shares in found.items()]


def _skew_goals(speed: Numbers) -> Iterator[Goal]:
    even, skewed = (speed.get(("skew", str(percent), "sash, salted")) for percent in (EVEN, SKEWED))
    if even and skewed:
        ratio = even / skewed
        yield f"one key of {SKEWED} %: at most {LIMIT:g}x an even spread", f"{ratio:.2f}x", ratio <= LIMIT


def _goals(cpu: Numbers) -> Iterator[Goal]:
    for (workload, contender), limits in GOALS.items():
        for n, limit in limits.items():
            ours, theirs = (cpu.get((workload, str(n), name)) for name in ("sash", contender))
            if ours and theirs:
                ratio = theirs / ours
                yield f"{workload} {n}: at least {limit:g}x {contender}", f"{ratio:.2f}x", ratio >= limit
    for n in SIZES:
        ours, alone = (cpu.get(("count", str(n), name)) for name in ("sash", "shuffle and sort"))
        if ours and alone:
            yield f"count {n}: at most {LIMIT:g}x shuffle and sort", f"{ours / alone:.2f}x", ours / alone <= LIMIT
