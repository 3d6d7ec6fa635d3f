"""Sash and its peers on the workloads of ``bench local``, each with the input as it wants it, and all results compared.

Sash's results are compared with the definition, on the first windows of one key, and all results of peers with Sash's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np

import sash
from sash_experiments.benchmark import Contender, Row
from sash_experiments.benchmarks.local.queries import COUNT, HOPPING, SESSIONS, TABLE, TRAILING, TUMBLING, KeyedQuery
from sash_experiments.benchmarks.rolling.contenders import Data as Values
from sash_experiments.benchmarks.rolling.contenders import seconds_of_calls

__all__ = [
    "ARRAY_AGGREGATES",
    "CHECKED",
    "DEFINITIONS",
    "INTERVAL_US",
    "START",
    "Keyed",
    "Readings",
    "Values",
    "array_contenders",
    "measure_call",
]

Array = np.ndarray[Any, Any]
Columns = tuple[Array, ...]

START = np.datetime64("2026-01-01", "us")
INTERVAL_US = 10_000
"""Between a row and the next, of all keys together."""
CHECKED = 20
"""Windows that are compared with the definition."""
DEFINITIONS: dict[str, Callable[..., Any]] = {
    "count": np.size,
    "max": np.max,
    "mean": np.mean,
    "sum": np.sum,
    "sample std": partial(np.std, ddof=1),
    "median": np.median,
}


class Readings:
    """Rows of as many keys, in random order and equally many of each, as each contender wants them."""

    def __init__(self, rows: int, keys: int) -> None:
        self.rows, self.keys = rows - rows % keys, keys
        random = np.random.default_rng(7)
        self.key = random.permutation(np.arange(self.rows) % keys)
        self.ts = START + np.arange(self.rows) * np.timedelta64(INTERVAL_US, "us")
        self.load = random.random(self.rows)

    @property
    def columns(self) -> dict[str, Array]:
        return {"key": self.key, "ts": self.ts, "load": self.load}

    @cached_property
    def polars(self) -> Any:
        import polars

        return polars.DataFrame(self.columns)

    @cached_property
    def pandas(self) -> Any:
        import pandas

        return pandas.DataFrame(self.columns)

    @cached_property
    def duckdb(self) -> Any:
        """A connection with the rows in a table, on as many threads as there are cores."""
        import duckdb

        connection = duckdb.connect()
        connection.register("frame", self.polars)
        connection.execute(f"CREATE TABLE {TABLE} AS FROM frame")
        return connection

    @cached_property
    def all_seen(self) -> Any:
        """The time of the row with which all keys have been seen."""
        return self.ts[np.unique(self.key, return_index=True)[1].max()]


class Keyed:
    """One query by key over readings: its contenders, and what they compute, in the order of keys and windows."""

    def __init__(self, query: KeyedQuery, readings: Readings) -> None:
        self.query, self.readings = query, readings

    def calls(self) -> dict[str, Callable[[], Any]]:
        """What each contender runs."""
        query, readings, asked = self.query, self.readings, self.query.sash()
        calls: dict[str, Callable[[], Any]] = {
            "sash": lambda: sash.run(asked, readings.polars),
            "polars": lambda: query.polars(readings.polars),
            "duckdb": lambda: readings.duckdb.sql(query.sql()).pl(),
        }
        if query.kind == TUMBLING:
            calls["polars, truncate"] = lambda: query.polars_truncated(readings.polars)
            calls["pandas"] = lambda: query.pandas(readings.pandas)
        if query.kind == TRAILING:
            calls["polars, rolling_by"] = lambda: query.polars_rolling_by(readings.polars)
        return calls

    def contenders(self) -> Iterator[Contender]:
        for name, call in self.calls().items():
            measure = partial(measure_call, call, self.readings.rows)
            if name == "sash":
                yield Contender(name, measure, lambda: self.ours, self.definition)
            else:
                yield Contender(name, measure, partial(self.with_length, call), self.expected)

    @cached_property
    def ours(self) -> Columns:
        """Kept, because every peer's results are compared with it."""
        return self.in_order(self.calls()["sash"]())

    def expected(self) -> tuple[int, Columns]:
        return len(self.ours[0]), self.ours

    def with_length(self, call: Callable[[], Any]) -> tuple[int, Columns]:
        columns = self.in_order(call())
        return len(columns[0]), columns

    def in_order(self, result: Any) -> Columns:
        """A result's columns: keys, where windows start (trailing ones end) if that is a time, and aggregates.

        Left out are count windows that are not full, and hopping windows that start before all keys have been seen:
        Polars starts with the first row of a key, Sash with the first window that has it.
        """
        import polars as pl

        kind, size = self.query.kind, self.query.size
        frame = result if isinstance(result, pl.DataFrame) else pl.from_pandas(result)
        if kind == COUNT:
            order = next((name for name in ("window_start", "ts") if name in frame.columns), None)
            frame = frame.sort("key", *filter(None, [order]), maintain_order=True)
            if order != "window_start":
                frame = frame.filter(pl.int_range(pl.len()).over("key") >= size - 1)
            return tuple(frame[name].to_numpy() for name in ("key", *self.query.aggregates))
        bounds = {"window_end": "start", "ts": "start"} if kind == TRAILING else {"window_start": "start"}
        frame = frame.rename(bounds, strict=False)
        frame = frame.with_columns(pl.col("start").cast(pl.Datetime("us")).cast(pl.Int64)).sort("key", "start")
        if kind == HOPPING:
            frame = frame.filter(pl.col("start") >= int(self.readings.all_seen.astype(np.int64)))
        return tuple(frame[name].to_numpy() for name in ("key", "start", *self.query.aggregates))

    def definition(self) -> Columns:
        """The first windows of the first key, from scratch."""
        mine = self.readings.key == 0
        times, loads = self.readings.ts[mine].astype(np.int64), self.readings.load[mine]
        windows = [(start, loads[rows]) for start, rows in self.windows(times)][:CHECKED]
        aggregates = [
            np.array([DEFINITIONS[name](values) for _, values in windows], float) for name in self.query.aggregates
        ]
        keys, starts = np.zeros(len(windows), int), np.array([start for start, _ in windows])
        return (keys, *aggregates) if self.query.kind == COUNT else (keys, starts, *aggregates)

    def windows(self, times: Array) -> Iterator[tuple[int, Any]]:
        """(start, which rows) of each window over rows of these times."""
        kind, size, micro = self.query.kind, self.query.size, 1_000_000
        if kind == COUNT:
            for first in range(len(times) - size + 1)[:CHECKED]:
                yield first, slice(first, first + size)
        elif kind == TRAILING:
            for time in times[:CHECKED]:
                yield int(time), (times >= time - size * micro) & (times <= time)
        elif kind == SESSIONS:
            opening = np.flatnonzero(np.diff(times, prepend=times[0] - size * micro) >= size * micro)
            for first, end in zip(opening, [*opening[1:], len(times)], strict=True):
                yield int(times[first]), slice(first, end)
        else:
            length, step = size * micro, (self.query.slide or size) * micro
            earliest = times[0] - length if kind == TUMBLING else int(self.readings.all_seen.astype(np.int64))
            begin = -(-earliest // step) * step
            for start in range(begin, begin + CHECKED * length, step):
                inside = (start <= times) & (times < start + length)
                if inside.any():
                    yield start, inside


def measure_call(call: Callable[[], Any], rows: int) -> Iterator[Row]:
    """A row's time, by the clock and of CPU: the fastest of five calls or more, after one that is not timed."""
    walls, cpus = zip(*seconds_of_calls(call, least_calls=5), strict=True)
    wall, cpu = min(walls), min(cpus)
    yield {"rows": rows, "ns_per_row": round(wall / rows * 1e9, 3), "cpu_ns_per_row": round(cpu / rows * 1e9, 3)}


ARRAY_AGGREGATES = {
    "max": sash.Max,
    "mean": sash.Mean,
    "sum": sash.Sum,
    "sample std": sash.SampleStdDev,
    "median": sash.Median,
}


def array_contenders(label: str, values: Values, n: int) -> Iterator[Contender]:
    """Rolling windows of an array, every library with its defaults; numbagg has no maximum and no median."""
    import bottleneck as bn  # type: ignore[import-untyped]
    import numbagg  # type: ignore[import-not-found, import-untyped, unused-ignore]

    x, rolling, series = values.numpy, values.pandas.rolling(n), values.polars
    aggregation = ARRAY_AGGREGATES[label]()
    more = {"ddof": 1} if label == "sample std" else {}
    suffix = "std" if label == "sample std" else label
    calls: dict[str, Callable[[], Any]] = {
        "bottleneck": lambda: getattr(bn, f"move_{suffix}")(x, n, **more),
        "polars": lambda: getattr(series, f"rolling_{suffix}")(n),
        "pandas": getattr(rolling, suffix),
    }
    if hasattr(numbagg, f"move_{suffix}"):
        calls["numbagg"] = lambda: getattr(numbagg, f"move_{suffix}")(x, window=n)

    def definition() -> Array:
        windows = np.lib.stride_tricks.sliding_window_view(x, n)[:CHECKED]
        return np.array([DEFINITIONS[label](window) for window in windows])

    def ours() -> Any:
        return sash.rolling(x, aggregation, range=n)

    yield Contender("sash", partial(measure_call, ours, values.rows), ours, definition)
    for name, call in calls.items():

        def full(call: Callable[[], Any] = call) -> Array:
            return np.asarray(call())[n - 1 :]

        yield Contender(name, partial(measure_call, call, values.rows), full)
