"""The tables and plots of ``bench mta``, made from its raw results: medians, and which goals were reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sash_experiments.svg_plot import plot
from sash_experiments.tables import Goal, goals, grid, medians, number_or_power

__all__ = ["plots", "tables"]

Row = dict[str, str]
Cells = dict[str, dict[str, float]]
"""By contender, and by what is in the column: the median of what was measured."""


def cells(rows: list[Row], experiment: str, column: str, measure: str) -> Cells:
    found: Cells = {}
    mine = [row for row in rows if row["experiment"] == experiment]
    for (name, at), value in medians(mine, measure, "contender", column).items():
        found.setdefault(name, {})[at] = value
    return found


def tables(rows: list[Row], facts: Mapping[str, Any]) -> Iterator[str]:
    """All tables that there are results for."""

    def shown(title: str, experiment: str, column: str, measure: str, style: str = "{:.1f}") -> Iterator[str]:
        found = cells(rows, experiment, column, measure)
        columns = list(dict.fromkeys(at for line in found.values() for at in line))
        if all(column.isdigit() for column in columns):
            columns.sort(key=int)
        yield from grid(title, "", found, style, columns)

    def size(experiment: str) -> str:
        return next((number_or_power(row["n"]) for row in rows if row["experiment"] == experiment), "")

    slide = "a value comes, the policy lets one go, the result is asked for: mean, µs"
    yield from shown(f"Windows of constant size: {slide}", "latency", "n", "mean_us")
    yield from shown("The worst of these, µs", "latency", "n", "worst_us", "{:.0f}")
    title = f"So many of {size('bulk')} values leave at once, and the result: µs"
    yield from shown(title, "bulk", "evicted", "mean_us", "{:.0f}")
    yield from shown(
        f"Aggregates over {size('dimensions')} values, a slide: mean, µs", "dimensions", "aggregate", "mean_us"
    )
    title = f"Policies that let many of at most {size('policies')} values go at once, a slide: mean, µs"
    yield from shown(title, "policies", "aggregate", "mean_us")
    yield from shown("The same, time of the processor, all threads, µs", "policies", "aggregate", "cpu_us")
    yield from shown(f"So many counts of one window of {size('many')} values: mean, µs", "many", "aggregate", "mean_us")
    held = "Memory of the process, MB more than before there was a window"
    yield from shown(held, "memory", "n", "rss_mb", "{:.0f}")
    yield from shown("A slide in that process: mean, µs", "memory", "n", "mean_us")
    yield from shown("A slide in that process: time of its processor, all threads, µs", "memory", "n", "cpu_us")
    limited = "The window that is reached where a process may allocate so many MB more than it has"
    yield from shown(limited, "limited", "aggregate", "steps", "{:,.0f}")
    yield from goals([*_bulk_goals(rows), *_growth_goals(rows), *_stored_goals(rows), *_memory_goals(rows)])


def _bulk_goals(rows: list[Row]) -> Iterator[Goal]:
    bulk, at = cells(rows, "bulk", "evicted", "mean_us"), str(1 << 20)
    for name, line in bulk.items():
        if name not in ("DABA", "Recalc") and at in line and at in bulk.get("DABA", {}):
            ratio = bulk["DABA"][at] / line[at]
            yield f"2^20 values leave: {name} at least 100x faster than DABA", f"{ratio:,.0f}x", ratio >= 100


def _growth_goals(rows: list[Row]) -> Iterator[Goal]:
    """Logarithmic growth: an increment for each factor of 4, so that 10 of them are at most some 20 times the least."""
    for name, line in cells(rows, "bulk", "evicted", "mean_us").items():
        if name in ("LogMTA", "AMTA"):
            ratio = max(line.values()) / line[min(line, key=int)]
            text = f"{name} in memory: from 1 value to all of them the time grows as their logarithm, at most 23x"
            yield text, f"{ratio:.1f}x", ratio <= 23


def _stored_goals(rows: list[Row]) -> Iterator[Goal]:
    """By the clock, and by the time of the processor, which other programs on the machine change less."""
    for measure, what in (("mean_us", "by the clock"), ("cpu_us", "by the processor's time")):
        slide = cells(rows, "memory", "n", measure)
        for name, line in slide.items():
            shared = [at for at in line if at in slide.get("AMTA", {})]
            if name.startswith("AMTA,") and shared:
                at = max(shared, key=int)
                ratio = line[at] / slide["AMTA"][at]
                text = f"{name}, {number_or_power(at)} values: a slide at most 3x AMTA's in memory, {what}"
                yield text, f"{ratio:.2f}x", ratio <= 3


def _memory_goals(rows: list[Row]) -> Iterator[Goal]:
    """What is in a store is not in memory: from 2^16 values to the most, the process grows by less than 64 MB."""
    for name, line in cells(rows, "memory", "n", "rss_mb").items():
        if name.startswith("AMTA,"):
            last = max(line, key=int)
            grown = line[last] - line[min(line, key=int)]
            text = f"{name}: the process grows by less than 64 MB up to {number_or_power(last)} values"
            yield text, f"{grown:.0f} MB", grown < 64


def plots(rows: list[Row]) -> Iterator[tuple[str, str]]:
    """(name, SVG) of latency, bulk eviction and memory; what is too little for a logarithm is drawn as 0.1."""
    for experiment, column, measure, title, x_label, y_label in (
        ("latency", "n", "mean_us", "A slide of a window of constant size", "values in the window", "µs"),
        ("bulk", "evicted", "mean_us", "Many values leave at once", "values that leave", "µs"),
        ("memory", "n", "rss_mb", "Memory of the process", "values in the window", "MB"),
    ):
        found = cells(rows, experiment, column, measure)
        lines = {name: sorted((int(at), max(value, 0.1)) for at, value in line.items()) for name, line in found.items()}
        if lines:
            yield f"mta-{experiment}", plot(title, x_label, y_label, lines)
