"""A table larger than memory in record batches, as ``bench local`` measures it: 10 minutes by key, in order of time.

The batches are generated as they are read, 24 bytes a row; at the full scale they are 10 GB. Each contender has a
process of its own, whose peak of the resident set, all that it has imported included, is in ``extra_mb``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import sash
from sash_experiments.benchmark import Case, Contender, Row
from sash_experiments.benchmarks.local.child_runs import peak_bytes, reset_peak
from sash_experiments.children import in_child

__all__ = ["STREAM", "record_batch_cases"]

STREAM = "10 min of a stream of record batches"
LENGTH_MS, STEP_MS, KEYS = 600_000, 10, 100
BATCH = 1 << 16
ROW_BYTES = 24
GROWTH = 104
"""Rows of the stream, in those of other workloads: 10 GB for 4M."""
CHECKED, WARM = 4 * BATCH, 8 * BATCH

Array = np.ndarray[Any, Any]


def generate(rows: int) -> Any:
    """A reader of rows that are 10 ms apart, keys in turn."""
    import pyarrow as pa  # type: ignore[import-untyped]

    schema = pa.schema([("key", pa.int64()), ("ts", pa.int64()), ("load", pa.float64())])
    load = np.random.default_rng(3).random(BATCH)

    def batches() -> Iterator[Any]:
        for begin in range(0, rows, BATCH):
            place = np.arange(begin, min(begin + BATCH, rows))
            yield pa.record_batch([place % KEYS, place * STEP_MS, load[: len(place)]], schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def by_sash(rows: int) -> Iterator[Any]:
    """The results, batch by batch."""
    aggregates = {"max": sash.Max("load"), "mean": sash.Mean("load")}
    query = sash.Query(key="key", windows=sash.tumbling(LENGTH_MS, on="ts"), aggregates=aggregates)
    for batch in sash.run(query, generate(rows)):
        yield [batch[name].to_numpy() for name in ("key", "window_start", "max", "mean")]


def by_duckdb(rows: int) -> Iterator[Any]:
    """The same, which come when all is read."""
    import duckdb

    reader = generate(rows)
    start = f"ts - ts % {LENGTH_MS}"
    with duckdb.connect() as connection:
        connection.register("stream", reader)
        found = connection.sql(
            f"SELECT key, {start} AS start, max(load), avg(load) FROM stream GROUP BY ALL"
        ).fetchnumpy()
    yield list(found.values())


CONTENDERS: dict[str, Callable[[int], Iterator[Any]]] = {"sash": by_sash, "duckdb": by_duckdb}


def record_batch_cases(rows: int) -> Iterator[Case]:
    """One case, on Linux, where the peak of a process can be read."""
    if sys.platform != "linux":
        return
    labels = {"workload": "batches", "window": STREAM, "aggregates": "max + mean", "keys": KEYS}
    yield Case(labels, [_contender(name, rows * GROWTH) for name in CONTENDERS])


def _contender(name: str, rows: int) -> Contender:
    def measure() -> Iterator[Row]:
        for wall, cpu, peak in in_child(run, name, rows):
            times = {"ns_per_row": round(wall / rows * 1e9, 3), "cpu_ns_per_row": round(cpu / rows * 1e9, 3)}
            yield {"rows": rows, **times, "extra_mb": round(peak, 2), "input_mb": round(rows * ROW_BYTES / 2**20, 2)}

    return Contender(name, measure, partial(answer, name), definition)


def run(name: str, rows: int) -> Iterator[list[float]]:
    """[seconds by the clock, of CPU, MB of this process at most], once all is compiled."""
    for _ in CONTENDERS[name](min(WARM, rows)):
        pass
    reset_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in CONTENDERS[name](rows):
        pass
    yield [time.perf_counter() - wall, time.process_time() - cpu, peak_bytes() / 2**20]


def answer(name: str) -> list[Array]:
    """The results of the first rows, by key and window."""
    columns = [np.concatenate(parts) for parts in zip(*CONTENDERS[name](CHECKED), strict=True)]
    order = np.lexsort(columns[1::-1])
    return [column[order].astype(float) for column in columns]


def definition() -> list[Array]:
    """The same from scratch."""
    table = generate(CHECKED).read_all()
    key, ts, load = (table[name].to_numpy() for name in ("key", "ts", "load"))
    groups = [
        (one, at, load[(key == one) & (ts // LENGTH_MS == at)])
        for one in range(KEYS)
        for at in np.unique(ts // LENGTH_MS)
    ]
    rows = [(one, at * LENGTH_MS, values.max(), values.mean()) for one, at, values in groups if len(values)]
    return [np.array(column, float) for column in zip(*rows, strict=True)]
