"""Sash in a plain process beside what one would use instead there: Polars, DuckDB, pandas, bottleneck and numbagg.
Run by ``make bench-local``.

Queries by key (``sash.run`` of a Polars frame): rows are 10 ms apart, keys in random order with equally many rows each,
and DuckDB has the rows in a table of its own. Count windows are of 1024 rows, or of the largest power of 2 that is at
most 0.4 of a key's rows. 10 min by 10 s is left out at 100,000 keys: it has 60 times as many
results as rows. Trailing windows are over two and a half times as many rows; days of a time zone over two years; record
batches over a generated stream of 104 times as many rows, 10 GB at the full scale, once, each contender in a process of
its own.
Arrays: ``sash.rolling`` with its defaults; medians are of an eighth of the rows, as pandas takes a microsecond a row.
Row by row: ``Operator.process`` of one stream, a fortieth of the rows. Streams: ``Operator`` in batches of 20,000 rows
and row by row: a tenth of the rows, of which a tenth are late and correct results; the first watermark behind a row of
each of 10,000 keys; and 1,000 windows over a hundredth of the rows. All contenders may use all cores.

A round calls a contender once untimed, and then five times or more, for a tenth of a second at least, with the garbage
collector off. The fastest call counts: a virtual machine has to get memory back from its host, which is paid by whoever
asks first. First results are CPU seconds of new processes with an empty cache, imports included, and those of further
queries in the same process. Memory is measured once: how far a call raises the peak of the resident set of a process,
less its result, and on Linux only.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from sash_experiments.benchmark import Benchmark, Case, Contender, Row, in_turn
from sash_experiments.benchmarks.local import child_runs
from sash_experiments.benchmarks.local import contenders as who
from sash_experiments.benchmarks.local.calendar_days import calendar_cases
from sash_experiments.benchmarks.local.queries import COUNT, HOPPING, SESSIONS, TRAILING, TUMBLING, KeyedQuery
from sash_experiments.benchmarks.local.record_batches import record_batch_cases
from sash_experiments.benchmarks.local.row_by_row import row_contender, row_queries
from sash_experiments.benchmarks.local.streams import stream_cases
from sash_experiments.benchmarks.local.tables import MANY_KEYS, PACKAGES, ROWS, SIZES, plots, tables
from sash_experiments.children import in_child

__all__ = ["BENCHMARK"]

KEYS = (100, MANY_KEYS)
KEY_ROWS = 40
"""Rows that a key has at least."""
FIRST_ROWS, MANY_FIRST_ROWS, BATCH_ROWS = 10_000, 1_000_000, 500


def key_numbers(rows: int) -> list[int]:
    return list(dict.fromkeys(min(keys, rows // KEY_ROWS) for keys in KEYS))


def keyed_queries(rows: int, keys: int) -> Iterator[KeyedQuery]:
    size = min(1024, 2 ** (int(0.4 * rows / keys).bit_length() - 1))
    yield KeyedQuery(COUNT, size, ("max",))
    yield KeyedQuery(COUNT, size, ("max", "mean", "sample std"))
    yield KeyedQuery(TUMBLING, 600, ("max", "mean"))
    if keys <= KEYS[0]:
        yield KeyedQuery(HOPPING, 600, ("max", "mean"), 10)
    yield KeyedQuery(SESSIONS, 5, ("count", "max"))


def keyed_cases(rows: int) -> Iterator[Case]:
    for keys in key_numbers(rows):
        readings = who.Readings(rows, keys)
        for query in keyed_queries(rows, keys):
            labels = {"workload": "keyed", "window": query.window, "aggregates": query.label, "keys": keys}
            yield Case(labels, list(who.Keyed(query, readings).contenders()))


def trailing_cases(rows: int) -> Iterator[Case]:
    """The last ten minutes at every row, both bounds included as SQL's RANGE has them; 10M rows instead of 4M."""
    rows = rows * 5 // 2
    keys = key_numbers(rows)[0]
    query = KeyedQuery(TRAILING, 600, ("max", "mean"))
    labels = {"workload": "trailing", "window": query.window, "aggregates": query.label, "keys": keys}
    yield Case(labels, list(who.Keyed(query, who.Readings(rows, keys)).contenders()))


def memory_cases(rows: int) -> Iterator[Case]:
    if sys.platform != "linux":
        return
    keys = key_numbers(rows)[0]
    query = next(keyed_queries(rows, keys))
    fitting = query._replace(size=min(query.size, rows // keys // child_runs.WARM_SHARE))

    def measure(contender: str) -> Iterator[Row]:
        for extra, data in in_child(child_runs.extra_memory, contender, fitting, rows, keys, SASH_COMPILE_ROWS="0"):
            yield {"rows": rows, "extra_mb": round(extra, 2), "input_mb": round(data, 2)}

    labels = {"workload": "memory", "window": fitting.window, "aggregates": query.label, "keys": keys}
    yield Case(labels, [Contender(name, partial(measure, name)) for name in ("sash", "polars", "duckdb")])


def array_cases(rows: int) -> Iterator[Case]:
    """What has no full window in the data is left out."""
    every, fewer = who.Values(rows), who.Values(rows // 8)
    for label in who.ARRAY_AGGREGATES:
        values = fewer if label == "median" else every
        for n in SIZES:
            if n < values.rows:
                labels = {"workload": "arrays", "window": n, "aggregates": label, "keys": ""}
                yield Case(labels, list(who.array_contenders(label, values, n)))


def cold_cases(rows: int) -> Iterator[Case]:
    """First results. That all contenders compute the same is checked in this process."""
    few, many = min(FIRST_ROWS, rows), min(MANY_FIRST_ROWS, rows)
    queries = child_runs.FIRST_QUERIES

    def measure(contender: str) -> Iterator[Row]:
        further = [*queries, child_runs.OWN] if contender == "sash" else [*queries]
        yield from first_results(contender, further, few)
        yield from first_results(contender, ["time"], few)
        yield from first_results(contender, ["count"], many, f" of {many:,} rows")
        if contender == "sash":
            for seconds in in_empty_cache(child_runs.first_batch, BATCH_ROWS):
                yield {"window": f"first batch of {BATCH_ROWS} rows", "rows": BATCH_ROWS, "cpu_s": seconds}

    readings = who.Readings(few, child_runs.KEYS)
    checked = [{one.name: one for one in who.Keyed(query, readings).contenders()} for query in queries.values()]
    labels = {"workload": "cold", "window": "", "aggregates": "max + mean", "keys": child_runs.KEYS}
    yield Case(
        labels,
        [joined(name, partial(measure, name), [by_name[name] for by_name in checked]) for name in checked[0]],
    )


def first_results(contender: str, names: list[str], rows: int, what: str = "") -> Iterator[Row]:
    """CPU seconds of queries, one after the other in a new process."""
    all_seconds = in_empty_cache(child_runs.first_results, contender, names, rows)
    for place, (name, seconds) in enumerate(zip(names, all_seconds, strict=True)):
        yield {"window": f"{'further' if place else 'first'} query{what}: {name}", "rows": rows, "cpu_s": seconds}


def in_empty_cache(function: Callable[..., Iterator[float]], *arguments: Any) -> Iterator[float]:
    with tempfile.TemporaryDirectory() as folder:
        for seconds in in_child(function, *arguments, NUMBA_CACHE_DIR=folder):
            yield round(seconds, 4)


def joined(name: str, measure: Callable[[], Iterator[Row]], checked: list[Contender]) -> Contender:
    """A contender whose answer is those of several others."""

    def answer() -> list[Any]:
        return [one.answer() for one in checked if one.answer is not None]

    def oracle() -> list[Any]:
        return [one.oracle() for one in checked if one.oracle is not None]

    return Contender(name, measure, answer, oracle)


def row_cases(rows: int) -> Iterator[Case]:
    fewer = rows // 40
    for (window, label), query in row_queries(fewer).items():
        labels = {"workload": "rows", "window": window, "aggregates": label, "keys": ""}
        yield Case(labels, [row_contender(query, fewer)])


WORKLOADS: dict[str, Callable[[int], Iterator[Case]]] = {
    "keyed": keyed_cases,
    "trailing": trailing_cases,
    "calendar": calendar_cases,
    "batches": record_batch_cases,
    "memory": memory_cases,
    "arrays": array_cases,
    "cold": cold_cases,
    "rows": row_cases,
    "streams": lambda rows: stream_cases(rows, 1_000 if rows >= MANY_FIRST_ROWS else 20),
}


def rows(options: argparse.Namespace) -> Iterator[Row]:
    for workload in options.only or WORKLOADS:
        rounds = 1 if workload in ("memory", "batches") else options.rounds
        yield from in_turn(WORKLOADS[workload](options.rows), rounds)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of queries and arrays (default %(default)s)")
    names = ", ".join(WORKLOADS)
    parser.add_argument("--only", nargs="+", choices=list(WORKLOADS), metavar="WORKLOAD", help=names)


KEY = ("workload", "window", "aggregates", "keys", "contender")
BENCHMARK = Benchmark(
    "local",
    __doc__,
    (*KEY, "round", "rows", "ns_per_row", "cpu_ns_per_row", "cpu_s", "extra_mb", "input_mb"),
    KEY,
    rows,
    tables,
    PACKAGES,
    rounds=3,
    arguments=arguments,
    page="docs/benchmarks/frames.md",
    plots=plots,
)
