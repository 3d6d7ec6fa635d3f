"""Tables of Sash beside what one would use instead, and plots, from raw results. ``make figures``.

The site's page on benchmarks has all lines, the README those of ``README_LINES``.

Nothing is measured here: rows of benchmarks that have not been run are left out, and said to be.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator

from sash_experiments.benchmarks.flink.tables import Results as FlinkResults
from sash_experiments.raw import PYTHON, read_rows, results_folder
from sash_experiments.svg_plot import plot
from sash_experiments.tables import insert, medians

__all__ = ["main"]

Numbers = dict[tuple[str, ...], float]
"""Medians over the rounds, by what they are of."""
Line = tuple[str, str, float | None, float | None]
"""What is computed, instead of what, and both numbers."""

FEWEST = 10_000
"""Rows that a rate must be of to be quoted: of fewer, most of it is what any job costs."""


def raw(name: str) -> list[dict[str, str]]:
    """A benchmark's raw results; none, if it was not run."""
    path = results_folder() / f"{name}.csv"
    return read_rows(path)[0] if path.exists() else []


def rolling() -> Iterator[Line]:
    found = medians(raw("rolling"), "ns_per_value", "workload", "aggregation", "n", "contender")
    everyone = ("bottleneck", "polars", "scipy", "pandas")
    for n, label, names in (("1024", "2^10", everyone), ("131072", "2^17", everyone[:1])):
        for name in names:
            case = ("max", "max", n)
            yield f"an array, max of {label}", name, found.get((*case, "sash")), found.get((*case, name))
    case, name = ("own", "spread", "1024"), "pandas `apply`, `engine='numba'`"
    theirs = found.get((*case, "pandas apply, numba"))
    yield "an array, your own function of 2^10", name, found.get((*case, "sash")), theirs


LOCAL = (
    ("last 1024 rows", "max", "100", "polars", "a frame, 100 keys, max of 2^10 rows", "Polars `rolling_max().over()`"),
    ("last 1024 rows", "max", "100", "duckdb", "a frame, 100 keys, max of 2^10 rows", "DuckDB, `ROWS BETWEEN`"),
    ("10 min", "max + mean", "100", "duckdb", "a frame, 100 keys, 10 min", "DuckDB `time_bucket`"),
    ("10 min by 10 s", "max + mean", "100", "polars", "a frame, 100 keys, 10 min by 10 s", "Polars `group_by_dynamic`"),
    ("sessions of 5 s", "count + max", "100", "polars", "a frame, 100 keys, sessions of 5 s", "Polars `group_by`"),
    (
        "sessions of 5 s",
        "count + max",
        "100000",
        "polars",
        "a frame, 100,000 keys, sessions of 5 s",
        "Polars `group_by`",
    ),
)


def local() -> Iterator[Line]:
    found = medians(raw("local"), "ns_per_row", "workload", "window", "aggregates", "keys", "contender")
    for window, aggregates, keys, name, what, instead in LOCAL:
        case = ("keyed", window, aggregates, keys)
        yield what, instead, found.get((*case, "sash")), found.get((*case, name))
    for n, label in (("64", "2^6"), ("1024", "2^10"), ("16384", "2^14")):
        case = ("arrays", n, "median", "")
        yield f"an array, median of {label}", "bottleneck", found.get((*case, "sash")), found.get((*case, "bottleneck"))


def slicing() -> Iterator[Line]:
    found = medians(raw("slicing"), "value", "figure", "setting", "x", "contender")
    case = ("9", "20 % late, a session", "100")
    for name, label in (("buckets", "a bucket a window"), ("tuple buffer", "a buffer of tuples")):
        ours, theirs = found.get((*case, "sash rows")), found.get((*case, name))
        yield "a stream in Python, 100 windows, late rows", label, ours, theirs


SPARK = (
    ("count", "1024", "rowsBetween", "Spark, max of 2^10 rows", "`rowsBetween`"),
    ("count", "1024", "van Herk in SQL", "Spark, max of 2^10 rows", "van Herk, written in SQL"),
    ("count", "65536", "rowsBetween", "Spark, max of 2^16 rows", "`rowsBetween`"),
    ("time", "60", "F.window", "Spark, 1 min by 1 s", "`F.window`"),
    ("streaming 84 keys", "1000000", "plain", "Spark streaming, 84 keys", "`applyInPandasWithState` by hand"),
    ("streaming 10000 keys", "100000", "plain", "Spark streaming, 10,000 keys", "`applyInPandasWithState` by hand"),
)


def spark() -> Iterator[Line]:
    enough = [row for row in raw("spark") if int(row["rows"]) >= FEWEST]
    found = medians(enough, "cpu_s_per_million", "workload", "n", "contender")
    for workload, n, name, what, instead in SPARK:
        yield what, instead, found.get((workload, n, "sash")), found.get((workload, n, name))


FLINK = (
    ("count", 2**10, "sash packed", "SQL OVER, arrival", "Flink, max of 2^10 rows, by arrival", "SQL `OVER`"),
    ("count", 2**10, "sash packed, time", "SQL OVER, time", "Flink, max of 2^10 rows, by time", "SQL `OVER`"),
    ("count", 2**14, "sash packed", "SQL OVER, arrival", "Flink, max of 2^14 rows, by arrival", "SQL `OVER`"),
    ("count", 2**14, "sash packed, time", "SQL OVER, time", "Flink, max of 2^14 rows, by time", "SQL `OVER`"),
    ("time", 600, "sash packed", "SQL HOP", "Flink, 10 min by 1 s", "SQL `HOP`"),
)


def flink() -> Iterator[Line]:
    found = FlinkResults(raw("flink")).cpu
    for workload, n, mine, name, what, instead in FLINK:
        yield what, instead, found.get((workload, 84, n, mine)), found.get((workload, 84, n, name))


PARTS = {
    "make bench-rolling": (rolling, "ns a value"),
    "make bench-local": (local, "ns a row"),
    "make bench-slicing": (slicing, "rows/s"),
    "make bench-spark": (spark, "CPU s a million rows"),
    "make bench-flink": (flink, "CPU µs a row"),
}


def shown(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


README_LINES = {
    ("an array, max of 2^10", "bottleneck"),
    ("an array, your own function of 2^10", "pandas `apply`, `engine='numba'`"),
    ("a frame, 100 keys, max of 2^10 rows", "Polars `rolling_max().over()`"),
    ("a frame, 100 keys, 10 min", "DuckDB `time_bucket`"),
    ("a frame, 100 keys, sessions of 5 s", "Polars `group_by`"),
    ("Spark, max of 2^10 rows", "`rowsBetween`"),
    ("Spark, 1 min by 1 s", "`F.window`"),
    ("Flink, max of 2^10 rows, by time", "SQL `OVER`"),
}
"""What the README shows: one line a place where Sash runs and a kind of window, whoever is faster."""


def table(only: Container[tuple[str, str]] | None = None) -> str:
    """The lines that there are results for, all or ``only`` some, and which benchmarks have none."""
    lines = ["| on | instead of | theirs | Sash | factor |", "| --- | --- | ---: | ---: | ---: |"]
    missing = []
    for command, (part, unit) in PARTS.items():
        found = [line for line in part() if line[2] and line[3]]
        if not found:
            missing.append(f"`{command}`")
        for what, instead, ours, theirs in found:
            if ours and theirs and (only is None or (what, instead) in only):
                factor = shown(ours / theirs if unit == "rows/s" else theirs / ours)
                lines.append(f"| {what} | {instead} | {shown(theirs)} {unit} | {shown(ours)} {unit} | {factor}× |")
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
    numbers = medians(raw("rolling"), "ns_per_value", "workload", "aggregation", "n", "contender")
    found = curves(numbers, "max", "max")
    names = {"sash": "sash.rolling", "copyto": "memcpy"}
    order = ("sash", "bottleneck", "polars", "scipy", "pandas", "copyto")
    if found:
        lines = {names.get(name, name): found[name] for name in order if name in found}
        yield "rolling.svg", plot("Maximum of a sliding window, 10 million float64", "window size", "ns a value", lines)
    found = curves(medians(raw("slicing"), "value", "figure", "setting", "x", "contender"), "8", "in order")
    if found:
        yield "slicing.svg", plot("Many windows over one stream", "concurrent windows", "rows a second", found)
    rows = [row for row in raw("pba-fig4.small") if row.get("rung", PYTHON) == PYTHON]
    found = curves(medians(rows, "value", "panel", "x", "series"), "uniform")
    if found:
        yield "pba-fig4.svg", plot("PBA's figure 4: maximum at slide 1", "window size", "values a second", found)


def main() -> None:
    """Print the table, put it into the site and some of it into the README, and write the plots."""
    text, root = table(), results_folder().parents[1]
    print(text)
    insert(text, root / "docs" / "benchmarks" / "index.md", "instead")
    insert(table(README_LINES), root / "README.md", "instead")
    for name, drawn in figures():
        path = results_folder() / name
        path.write_text(drawn, encoding="utf-8")
        print(path)
