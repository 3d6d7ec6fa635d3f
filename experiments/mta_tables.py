"""The tables and plots of bench_mta, made from its raw results: medians, and which goals were reached."""

from __future__ import annotations

import csv
import json
import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from svg_plot import plot
from tables import insert

__all__ = ["FIELDS", "report"]

FIELDS = ["experiment", "contender", "n", "evicted", "aggregate", "steps"]
FIELDS += ["mean_us", "cpu_us", "p50_us", "p999_us", "worst_us", "rss_mb", "anonymous_mb"]
Row = dict[str, str]
Cells = dict[str, dict[str, float]]
"""By contender, and by what is in the column: the median of what was measured."""


def report(path: Path, docs: Path | None) -> None:
    """Print the tables, draw the plots beside the raw results, and put the tables into a Markdown file."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    text = "\n".join(_text(rows, path))
    print(text)
    for name, drawn in _plots(rows):
        path.with_name(f"mta-{name}.svg").write_text(drawn, encoding="utf-8")
    if docs is not None:
        insert(text, docs, "bench-mta")


def cells(rows: list[Row], experiment: str, column: str, measure: str) -> Cells:
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["experiment"] == experiment and row[measure]:
            found[row["contender"]][row[column]].append(float(row[measure]))
    return {name: {at: statistics.median(each) for at, each in line.items()} for name, line in found.items()}


def _power(number: str) -> str:
    return f"2^{math.log2(int(number)):g}" if number.isdigit() else number


def _table(title: str, found: Cells, style: str = "{:.1f}") -> Iterator[str]:
    columns = list(dict.fromkeys(at for line in found.values() for at in line))
    if all(column.isdigit() for column in columns):
        columns.sort(key=int)
    if not columns:
        return
    yield f"\n{title}\n"
    yield "| | " + " | ".join(map(_power, columns)) + " |"
    yield "| --- |" + " ---: |" * len(columns)
    for name, line in found.items():
        yield f"| {name} | " + " | ".join(style.format(line[at]) if at in line else "" for at in columns) + " |"


def _text(rows: list[Row], path: Path) -> Iterator[str]:
    about = json.loads(path.with_suffix(".json").read_text())
    packages = ", ".join(f"{name} {about[name]}" for name in ("lmdb", "rocksdict", "redis", "redis-server"))
    yield f"{about['date']}; Python {about['python']}, sash {about['sash']}, {packages}."
    yield f"{about['processor']}, {about['cores']} cores; {about['load_before']} programs wanted to run on them before."
    slide = "a value comes, the policy lets one go, the result is asked for: mean, µs"
    yield from _table(f"Windows of constant size: {slide}", cells(rows, "latency", "n", "mean_us"))
    yield from _table("The worst of these, µs", cells(rows, "latency", "n", "worst_us"), "{:.0f}")
    bulk = cells(rows, "bulk", "evicted", "mean_us")
    size = next((_power(row["n"]) for row in rows if row["experiment"] == "bulk"), "")
    yield from _table(f"So many of {size} values leave at once, and the result: µs", bulk, "{:.0f}")
    size = next((_power(row["n"]) for row in rows if row["experiment"] == "dimensions"), "")
    found = cells(rows, "dimensions", "aggregate", "mean_us")
    yield from _table(f"Aggregates over {size} values, a slide: mean, µs", found)
    held = "Memory of the process, MB more than before there was a window"
    yield from _table(held, cells(rows, "memory", "n", "rss_mb"), "{:.0f}")
    yield from _table("A slide in that process: mean, µs", cells(rows, "memory", "n", "mean_us"))
    yield from _table(
        "A slide in that process: time of its processor, all threads, µs", cells(rows, "memory", "n", "cpu_us")
    )
    yield "\n| goal | reached | |"
    yield "| --- | --- | --- |"
    for goal in (_bulk_goal, _growth_goal, _stored_goal, _memory_goal):
        yield from goal(rows)


def _verdict(text: str, reached: str, met: bool) -> str:
    return f"| {text} | {reached} | {'yes' if met else 'no'} |"


def _bulk_goal(rows: list[Row]) -> Iterator[str]:
    bulk, at = cells(rows, "bulk", "evicted", "mean_us"), str(1 << 20)
    for name, line in bulk.items():
        if name != "DABA" and name != "Recalc" and at in line and at in bulk.get("DABA", {}):
            ratio = bulk["DABA"][at] / line[at]
            yield _verdict(f"2^20 values leave: {name} at least 100x faster than DABA", f"{ratio:,.0f}x", ratio >= 100)


def _growth_goal(rows: list[Row]) -> Iterator[str]:
    """Logarithmic growth: an increment for each factor of 4, so that 10 of them are at most some 20 times the least."""
    for name, line in cells(rows, "bulk", "evicted", "mean_us").items():
        if name in ("LogMTA", "AMTA"):
            low, high = line[min(line, key=int)], max(line.values())
            text = f"{name} in memory: from 1 value to all of them the time grows as their logarithm, at most 23x"
            yield _verdict(text, f"{high / low:.1f}x", high / low <= 23)


def _stored_goal(rows: list[Row]) -> Iterator[str]:
    """By the clock, and by the time of the processor, which other programs on the machine change less."""
    for measure, what in (("mean_us", "by the clock"), ("cpu_us", "by the processor's time")):
        slide = cells(rows, "memory", "n", measure)
        for name, line in slide.items():
            shared = [at for at in line if at in slide.get("AMTA", {})]
            if name.startswith("AMTA,") and shared:
                at = max(shared, key=int)
                ratio = line[at] / slide["AMTA"][at]
                text = f"{name}, {_power(at)} values: a slide at most 3x AMTA's in memory, {what}"
                yield _verdict(text, f"{ratio:.2f}x", ratio <= 3)


def _memory_goal(rows: list[Row]) -> Iterator[str]:
    """What is in a store is not in memory: from 2^16 values to the most, the process grows by less than 64 MB."""
    for name, line in cells(rows, "memory", "n", "rss_mb").items():
        if name.startswith("AMTA,"):
            last = max(line, key=int)
            grown = line[last] - line[min(line, key=int)]
            yield _verdict(
                f"{name}: the process grows by less than 64 MB up to {_power(last)} values",
                f"{grown:.0f} MB",
                grown < 64,
            )


def _plots(rows: list[Row]) -> Iterator[tuple[str, str]]:
    drawn: list[tuple[str, str, str, str, str, str]] = [
        ("latency", "n", "mean_us", "A slide of a window of constant size", "values in the window", "µs"),
        ("bulk", "evicted", "mean_us", "Many values leave at once", "values that leave", "µs"),
        ("memory", "n", "rss_mb", "Memory of the process", "values in the window", "MB"),
    ]
    for experiment, column, measure, title, x_label, y_label in drawn:
        found = cells(rows, experiment, column, measure)
        at_least: Callable[[float], float] = lambda value: max(value, 0.1)  # noqa: E731  # what a logarithm can show
        lines = {name: sorted((int(at), at_least(value)) for at, value in line.items()) for name, line in found.items()}
        if lines:
            yield experiment, plot(title, x_label, y_label, lines)
