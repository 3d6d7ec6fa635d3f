"""The tables of ``bench local``, made from its raw results: medians over the rounds, and which goals were reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sash_experiments.benchmarks.local.streams import CORRECTED, ROW_BY_ROW
from sash_experiments.svg_plot import plot
from sash_experiments.tables import medians, number_or_power, table

__all__ = ["MANY_KEYS", "PACKAGES", "ROWS", "SIZES", "Results", "plots", "tables"]

ROWS = 4_000_000
MANY_KEYS = 100_000
SIZES = (2**6, 2**10, 2**14)
PACKAGES = ("sash", "numpy", "numba", "bottleneck", "duckdb", "numbagg", "pandas", "polars")
PEERS = ("polars", "polars, truncate", "polars, rolling_by", "duckdb", "pandas", "bottleneck", "numbagg", ROW_BY_ROW)

Case = tuple[str, str, str, str]
"""Workload, window, aggregates and keys."""
Line = dict[str, float]
"""A number for each contender."""
Goal = list[str]
THREE, TRAILING = "max + mean + sample std", "last 10 min at every row"


class Factor(NamedTuple):
    """How many times as fast as a peer Sash has to be."""

    workload: str
    window: str
    aggregates: str
    keys: str
    peer: str
    asked: float

    @property
    def case(self) -> Case:
        return self[:4]


BY_KEY = (
    ("last 1024 rows", "max", "polars", 4.0),
    ("last 1024 rows", THREE, "polars", 4.0),
    ("10 min", "max + mean", "duckdb", 1.5),
    ("10 min by 10 s", "max + mean", "polars", 15.0),
    ("sessions of 5 s", "count + max", "polars", 5.0),
)
MANY = 1.5
"""With many keys of few rows, factors may be so many times smaller."""
FACTORS = [
    *(Factor("keyed", window, label, "100", peer, asked) for window, label, peer, asked in BY_KEY),
    *(
        Factor("keyed", window.replace("1024", "16"), label, str(MANY_KEYS), peer, asked / MANY)
        for window, label, peer, asked in BY_KEY
    ),
    Factor("trailing", TRAILING, "max + mean", "100", "polars", 3.0),
    Factor("trailing", TRAILING, "max + mean", "100", "duckdb", 10.0),
    *(Factor("arrays", str(n), "median", "", "bottleneck", 1.0) for n in SIZES),
    *(Factor("arrays", str(2**10), label, "", "bottleneck", 1.0) for label in ("mean", "sum")),
    Factor("streams", CORRECTED, "max + mean", "100", ROW_BY_ROW, 10.0),
]
FIRST, FURTHER = 2.5, 1.0
COLD = {
    "first query: count": FIRST,
    "first query: time": FIRST,
    "first batch of 500 rows": FIRST,
    "first query of 1,000,000 rows: count": 5.0,
}
"""CPU seconds, at most; those of further queries are FURTHER."""
MOST_MB = 1000
"""Of a stream of record batches, however long."""
MOST_US = {("last 1024 rows", "max"): 2.5, ("600 s by 1 s", "max"): 5.0}
"""Microseconds a row, at most."""


class Results:
    """Medians over the rounds of all that is measured: {case: {contender: number}}."""

    def __init__(self, rows: list[dict[str, str]]) -> None:
        self.wall, self.cpu, self.seconds, self.extra, self.input = (
            self._lines(rows, column) for column in ("ns_per_row", "cpu_ns_per_row", "cpu_s", "extra_mb", "input_mb")
        )

    @staticmethod
    def _lines(rows: list[dict[str, str]], column: str) -> dict[Case, Line]:
        lines: dict[Case, Line] = {}
        for key, number in medians(rows, column, "workload", "window", "aggregates", "keys", "contender").items():
            workload, window, aggregates, keys, contender = key
            lines.setdefault((workload, window, aggregates, keys), {})[contender] = number
        return lines

    def speeds(self, workload: str, title: str, heads: list[str]) -> Iterator[str]:
        """Nanoseconds a row of all contenders, and how many times those of Sash the best peer takes."""
        cases = [case for case in self.wall if case[0] == workload]
        names = [name for name in ("sash", *PEERS) if any(name in self.wall[case] for case in cases)]
        lines = []
        for case in cases:
            wall, cpu = self.wall[case], self.cpu[case]
            cells = [f"{wall[name]:.3g} ({cpu[name]:.3g})" if name in wall else "" for name in names]
            best = [_best(line) / line["sash"] for line in (wall, cpu)]
            labels = [case[2], number_or_power(case[1]), *([f"{int(case[3]):,}"] if case[3] else [])]
            lines.append([*labels, *cells, *(f"{factor:.3g}" for factor in best)])
        heads = [*heads, *names, "best peer / sash", "by CPU"]
        yield from table(title, heads, lines, len(heads) - len(names) - 2)


def _best(line: Line) -> float:
    return min(number for name, number in line.items() if name != "sash")


def tables(rows: list[dict[str, str]], facts: Mapping[str, Any]) -> Iterator[str]:
    """All tables that there are results for."""
    results = Results(rows)
    title = "`sash.run` by key: ns a row by the clock (and of CPU)"
    yield from results.speeds("keyed", title, ["aggregates", "window", "keys"])
    title = "Trailing windows by key, a result a row: ns a row by the clock (and of CPU)"
    yield from results.speeds("trailing", title, ["aggregates", "window", "keys"])
    title = "Days of a time zone by key: ns a row by the clock (and of CPU)"
    yield from results.speeds("calendar", title, ["aggregates", "window", "keys"])
    title = "A table larger than memory, in record batches: ns a row by the clock (and of CPU)"
    yield from results.speeds("batches", title, ["aggregates", "window", "keys"])
    title = "`sash.rolling`: ns a value by the clock (and of CPU)"
    yield from results.speeds("arrays", title, ["aggregate", "window"])
    yield from _first_results(results)
    title = "Peak memory beyond input and output: MB (of 2^20 bytes)"
    lines: list[list[Any]] = [
        [label, window, f"{int(keys):,}", *(f"{line.get(name, 0):.0f}" for name in ("sash", "polars", "duckdb")), data]
        for (case, line) in results.extra.items()
        for workload, window, label, keys in [case]
        if workload == "memory"
        for data in [f"{results.input[case]['sash']:.0f}"]
    ]
    yield from table(title, ["aggregates", "window", "keys", "sash", "polars", "duckdb", "input"], lines, 3)
    lines = [
        [label, window, line["sash"] / 1000, results.cpu[workload, window, label, keys]["sash"] / 1000]
        for (workload, window, label, keys), line in results.wall.items()
        if workload == "rows"
    ]
    yield from table("`Operator.process`: µs a row", ["aggregates", "window", "by the clock", "of CPU"], lines, 2)
    title = "`sash.Operator` in batches and row by row: ns a row, or a key, by the clock (and of CPU)"
    yield from results.speeds("streams", title, ["aggregates", "case", "keys"])
    heads = ["goal", "asked", "by the clock", "by CPU", "reached"]
    yield from table(f"Goals, set for {ROWS:,} rows", heads, _goals(results))


def _first_results(results: Results) -> Iterator[str]:
    names = ("sash", "polars", "duckdb")
    lines = [[case[1], *(line.get(name, "") for name in names)] for case, line in results.seconds.items()]
    title = "First results in a new process with an empty cache, imports included: CPU s"
    yield from table(title, ["result", *names], lines)


def _goals(results: Results) -> Iterator[Goal]:
    for goal in FACTORS:
        line = results.wall.get(goal.case, {})
        if {"sash", goal.peer} <= line.keys():
            cpu_line = results.cpu[goal.case]
            wall, cpu = line[goal.peer] / line["sash"], cpu_line[goal.peer] / cpu_line["sash"]
            where = f"{int(goal.keys):,} keys" if goal.keys else "an array"
            text = f"{goal.aggregates}, {number_or_power(goal.window)}, {where}: {goal.peer} / sash"
            reached = _yes(wall >= goal.asked, cpu >= goal.asked)
            yield [text, f"≥ {goal.asked:.3g}", f"{wall:.3g}", f"{cpu:.3g}", reached]
    for case, line in results.extra.items():
        if case[0] == "batches":
            data = results.input[case]["sash"] / 1024
            text = f"{case[2]}, {case[1]}, {data:.3g} GB: peak MB of the process (duckdb: {line['duckdb']:.0f})"
            yield [text, f"≤ {MOST_MB}", f"{line['sash']:.0f}", "", _yes(line["sash"] <= MOST_MB)]
            continue
        share = line["sash"] / results.input[case]["sash"]
        yield [f"{case[2]}, {case[1]}: extra memory / input", "≤ 1", f"{share:.3g}", "", _yes(share <= 1)]
    for (_, window, _, _), line in results.seconds.items():
        asked = FURTHER if window.startswith("further") else COLD.get(window)
        if asked is not None:
            yield [f"{window}, CPU s", f"≤ {asked:g}", "", f"{line['sash']:.3g}", _yes(line["sash"] <= asked)]
    yield from _row_goals(results)


def _row_goals(results: Results) -> Iterator[Goal]:
    found = {
        case[1:3]: (line["sash"] / 1000, results.cpu[case]["sash"] / 1000)
        for case, line in results.wall.items()
        if case[0] == "rows"
    }
    for key, asked in MOST_US.items():
        if key in found:
            wall, cpu = found[key]
            text = f"row by row, {key[1]}, {key[0]}: µs a row"
            yield [text, f"≤ {asked:g}", f"{wall:.3g}", f"{cpu:.3g}", _yes(wall <= asked, cpu <= asked)]
    for (window, label), times in found.items():
        if label == THREE:
            wall, cpu = (three / one for three, one in zip(times, found[window, "max"], strict=True))
            text = f"row by row, {label}, {window}: the time of max alone"
            yield [text, "≤ 2", f"{wall:.3g}", f"{cpu:.3g}", _yes(wall <= 2, cpu <= 2)]


def _yes(met: bool, by_cpu: bool | None = None) -> str:
    if by_cpu is not None and met != by_cpu:
        return "by CPU only" if by_cpu else "by the clock only"
    return "yes" if met else "no"


def plots(rows: list[dict[str, str]]) -> Iterator[tuple[str, str]]:
    """(name, SVG) of medians by window size, and of a maximum by number of keys."""
    wall = Results(rows).wall
    medians_by_size: dict[str, list[tuple[float, float]]] = {}
    max_by_keys: dict[str, list[tuple[float, float]]] = {}
    for (workload, window, label, keys), line in wall.items():
        for name, number in line.items():
            if workload == "arrays" and label == "median":
                medians_by_size.setdefault(name, []).append((float(window), number))
            elif workload == "keyed" and window.startswith("last") and label == "max":
                max_by_keys.setdefault(name, []).append((float(keys), number))
    if medians_by_size:
        yield "local-median", plot("Median of a sliding window", "window size", "ns a value", medians_by_size)
    if max_by_keys:
        yield "local-keys", plot("Maximum of the last rows of each key", "keys", "ns a row", max_by_keys)
