"""The tables of ``bench slicing``, made from its raw results: medians over the rounds, and which goals were reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sash_experiments.benchmarks.slicing.football import RATE, lengths
from sash_experiments.tables import Goal, goals, grid, medians

__all__ = ["SLIDING", "tables"]

SLIDING = "in order, slides of 3/10 of a window"
TITLES = {
    "8": "Figure 8: tuples/s against concurrent windows, sum",
    "8b": "Figure 8: slices held at most, windows that slide by 3/10 of their length",
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
    **dict.fromkeys(("8", "8b", "9", "14", "16"), "windows"),
    **dict.fromkeys(("10a", "10c", "11"), "slices"),
    **dict.fromkeys(("10b", "10d", "15"), "tuples"),
    "12": "disorder",
    "13": "aggregation",
    "columns": "batches",
}
STYLES: dict[str, str | Callable[[float], str]] = {
    "columns": lambda number: f"{number / 1e6:.1f}",
    "11": "{:,.1f}",
    "15": "{:,.1f}",
}

Line = dict[str, float]
Settings = dict[str, dict[str, Line]]
"""{setting: {x: {contender: median}}} of a figure."""


def tables(rows: list[dict[str, str]], facts: Mapping[str, Any]) -> Iterator[str]:
    """The goals and all tables that there are results for."""
    figures: dict[str, Settings] = {}
    for (figure, setting, x, name), number in medians(rows, "value", "figure", "setting", "x", "contender").items():
        # Splits have one contender: their settings are the columns.
        setting, name = ("", setting) if figure == "15" else (setting, name)
        figures.setdefault(figure, {}).setdefault(setting, {}).setdefault(x, {})[name] = number
    if facts.get("tiny"):
        yield "Sizes are too small to mean anything."
    yield from goals(_goals(figures))
    for figure, title in TITLES.items():
        settings = figures.get(figure, {})
        for setting, lines in settings.items():
            named = figure in ("8", "9", "11", "12", "14", "columns")
            shown = {f"{int(x):,}" if x.isdigit() else x: line for x, line in lines.items()}
            style = STYLES.get(figure, "{:,.0f}")
            yield from grid(f"{title}; {setting}" if named else title, HEADS[figure], shown, style, words=0)


def _goals(figures: Mapping[str, Settings]) -> Iterator[Goal]:
    for setting, lines in figures.get("8", {}).items():
        if setting == SLIDING:
            continue  # it shows what Pairs and Cutty do with such windows
        rate = 10 * RATE if "20,000" in setting else RATE
        for name in ("sash rows", "sash columns"):
            if all(name in line for line in lines.values()):
                yield _flat(f"{name}, {setting}", {x: line[name] for x, line in lines.items()}, rate)
        if "100" in lines:
            ratio = lines["100"]["sash rows"] / lines["100"]["buckets"]
            yield f"100 windows, {setting}: rows at least 10x buckets", f"{ratio:.1f}x", ratio >= 10
    for setting, lines in figures.get("11", {}).items():
        x, line = list(lines.items())[-1]
        text = f"{line['sash']:.1f} µs against {line['eager']:.1f} µs"
        yield f"firing of {x} slices, {setting}: less than the eager tree", text, line["sash"] < line["eager"]
    for setting, least in (("in order", 20), ("20 % late", 3)):
        for x, line in figures.get("columns", {}).get(setting, {}).items():
            reached = line["sash columns"] / 1e6
            yield f"columns, {setting}, {x}: at least {least}M tuples/s", f"{reached:.1f}M", reached >= least


def _flat(what: str, reached: Line, rate: int) -> Goal:
    """Whether throughput is nearly the same for all numbers of windows."""
    worst = min(reached, key=lambda x: reached[x])
    share = reached[worst] / next(iter(reached.values()))
    every = rate / sum(1000 / length for length in lengths(int(worst)))
    text = f"{share:.0%} ({worst} windows, which give a result every {every:,.0f} tuples)"
    return f"{what}: at least 75 % of 1 window's throughput", text, share >= 0.75
