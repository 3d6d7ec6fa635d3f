"""The README's table of Sash beside what one would use instead, and its plots, from raw results. ``make figures``.

Nothing is measured here: rows of benchmarks that have not been run are left out, and said to be.
"""

from __future__ import annotations

import csv
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from flink_tables import read
from svg_plot import plot
from tables import insert

HERE = Path(__file__).parent
RESULTS = HERE / "results"
Row = dict[str, str]
Numbers = dict[tuple[str, ...], float]
"""Medians over the rounds, by what they are of."""


FEWEST = 10_000
"""Rows that a rate must be of to be quoted: of fewer, most of it is what any job costs."""


def medians(name: str, value: str, *keys: str, rows: str = "") -> Numbers:
    """Of a benchmark's raw results, where the column ``rows`` says that they are of enough; none, if it was not run."""
    path = RESULTS / f"{name}.csv"
    found: dict[tuple[str, ...], list[float]] = defaultdict(list)
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if row[value] and (not rows or int(row[rows]) >= FEWEST):
                    found[tuple(row[key] for key in keys)].append(float(row[value]))
    return {key: statistics.median(numbers) for key, numbers in found.items()}


def line(what: str, instead: str, ours: float | None, theirs: float | None, unit: str, faster: float) -> Iterator[str]:
    """A row of the table, if both were measured."""
    if ours and theirs:
        yield f"| {what} | {instead} | {told(theirs)} {unit} | {told(ours)} {unit} | {told(faster)}× |"


def told(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def rolling() -> Iterator[str]:
    found = medians("rolling", "ns_per_value", "workload", "aggregation", "n", "contender")
    everyone = ("bottleneck", "polars", "scipy", "pandas")
    for n, label, names in ((2**10, "2^10", everyone), (2**17, "2^17", everyone[:1])):
        for name in names:
            ours, theirs = (found.get(("max", "max", str(n), each)) for each in ("sash", name))
            if ours and theirs:
                yield from line(f"an array, max of {label}", name, ours, theirs, "ns a value", theirs / ours)
    ours, theirs = (found.get(("own", "spread", "1024", each)) for each in ("sash", "pandas apply, numba"))
    if ours and theirs:
        what = "an array, your own function of 2^10"
        yield from line(what, "pandas `apply`, `engine='numba'`", ours, theirs, "ns a value", theirs / ours)


def slicing() -> Iterator[str]:
    found = medians("slicing", "value", "figure", "setting", "x", "contender")
    for name, label in (("buckets", "a bucket a window"), ("tuple buffer", "a buffer of tuples")):
        ours, theirs = (found.get(("9", "20 % late, a session", "100", each)) for each in ("sash rows", name))
        if ours and theirs:
            yield from line("a stream in Python, 100 windows, late rows", label, ours, theirs, "rows/s", ours / theirs)


SPARK = (
    ("count", "1024", "rowsBetween", "Spark, max of 2^10 rows", "`rowsBetween`"),
    ("count", "1024", "van Herk in SQL", "Spark, max of 2^10 rows", "van Herk, written in SQL"),
    ("count", "65536", "rowsBetween", "Spark, max of 2^16 rows", "`rowsBetween`"),
    ("time", "60", "F.window", "Spark, 1 min by 1 s", "`F.window`"),
    ("streaming 84 keys", "1000000", "plain", "Spark streaming, 84 keys", "`applyInPandasWithState` by hand"),
    ("streaming 10000 keys", "100000", "plain", "Spark streaming, 10,000 keys", "`applyInPandasWithState` by hand"),
)


def spark() -> Iterator[str]:
    found = medians("spark", "cpu_s_per_million", "workload", "n", "contender", rows="rows")
    for workload, n, name, what, instead in SPARK:
        ours, theirs = (found.get((workload, n, each)) for each in ("sash", name))
        if ours and theirs:
            yield from line(what, instead, ours, theirs, "CPU s a million rows", theirs / ours)


FLINK = (
    ("count", "1024", "sash packed", "SQL OVER, arrival", "Flink, max of 2^10 rows, by arrival", "SQL `OVER`"),
    ("count", "1024", "sash packed, time", "SQL OVER, time", "Flink, max of 2^10 rows, by time", "SQL `OVER`"),
    ("count", "16384", "sash packed", "SQL OVER, arrival", "Flink, max of 2^14 rows, by arrival", "SQL `OVER`"),
    ("count", "16384", "sash packed, time", "SQL OVER, time", "Flink, max of 2^14 rows, by time", "SQL `OVER`"),
    ("time", "600", "sash packed", "SQL HOP", "Flink, 10 min by 1 s", "SQL `HOP`"),
)


def flink() -> Iterator[str]:
    found = read(RESULTS / "flink.csv").cpu
    for workload, n, mine, name, what, instead in FLINK:
        ours, theirs = (found.get((workload, 84, int(n), each)) for each in (mine, name))
        if ours and theirs:
            yield from line(what, instead, ours, theirs, "CPU µs a row", theirs / ours)


PARTS: dict[str, Callable[[], Iterator[str]]] = {
    "make bench-rolling": rolling,
    "make bench-slicing": slicing,
    "make bench-spark": spark,
    "make bench-flink": flink,
}


def table() -> str:
    """All rows that there are results for, and which benchmarks have none."""
    lines = ["| on | instead of | theirs | Sash | factor |", "| --- | --- | ---: | ---: | ---: |"]
    missing = []
    for command, part in PARTS.items():
        rows = list(part())
        lines += rows
        if not rows:
            missing.append(f"`{command}`")
    if missing:
        lines += ["", f"No results are kept yet of {' and '.join(missing)}."]
    return "\n".join(lines)


def curves(found: Numbers, *prefix: str) -> dict[str, list[tuple[float, float]]]:
    """{contender: points} of the numbers whose keys begin so; the last two parts of a key are x and contender."""
    lines: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for key, value in found.items():
        if key[:-2] == prefix:
            lines[key[-1]].append((float(key[-2]), value))
    return {name: sorted(points) for name, points in lines.items()}


def figures() -> Iterator[tuple[str, str]]:
    """(file, SVG text) of the plots."""
    found = curves(medians("rolling", "ns_per_value", "workload", "aggregation", "n", "contender"), "max", "max")
    names = {
        "sash": "sash.rolling",
        "bottleneck": "bottleneck",
        "polars": "polars",
        "scipy": "scipy",
        "pandas": "pandas",
    }
    names |= {"copyto": "memcpy"}
    lines = {label: found[name] for name, label in names.items() if name in found}
    if lines:
        yield "rolling.svg", plot("Maximum of a sliding window, 10 million float64", "window size", "ns a value", lines)
    found = curves(medians("slicing", "value", "figure", "setting", "x", "contender"), "8", "in order")
    if found:
        yield "slicing.svg", plot("Many windows over one stream", "concurrent windows", "rows a second", found)
    found = curves(medians("pba-fig4.small", "value", "panel", "x", "series"), "uniform")
    if found:
        yield "pba-fig4.svg", plot("PBA's figure 4: maximum at slide 1", "window size", "values a second", found)


def main() -> None:
    text = table()
    print(text)
    insert(text, HERE.parent / "README.md", "instead")
    for name, drawn in figures():
        (RESULTS / name).write_text(drawn, encoding="utf-8")
        print(f"{RESULTS / name}")


if __name__ == "__main__":
    main()
