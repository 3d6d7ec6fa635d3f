"""What ``bench local`` measures in processes of their own: first results with nothing compiled, and peak memory.

Everything is imported where it is used: the imports are part of what a first result costs.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sash_experiments.benchmarks.local.queries import COUNT, HOPPING, SESSIONS, TABLE, KeyedQuery

if TYPE_CHECKING:
    from sash_experiments.benchmarks.local.contenders import Keyed

__all__ = [
    "FIRST_QUERIES",
    "OWN",
    "WARM_SHARE",
    "extra_memory",
    "first_batch",
    "first_results",
    "peak_bytes",
    "reset_peak",
]

KEYS = 10
OWN = "your own function"
FIRST_QUERIES = {
    "count": KeyedQuery(COUNT, 100, ("max", "mean")),
    "time": KeyedQuery(HOPPING, 10, ("max", "mean"), 1),
    "sessions": KeyedQuery(SESSIONS, 5, ("max", "mean")),
}
WARM_SHARE = 16
"""One row in so many is run before memory is measured, so that compiling is not part of it."""


def first_results(contender: str, names: list[str], rows: int) -> Iterator[float]:
    """CPU seconds until the result of each query, one after the other; those of the first begin with the process."""
    random = np.random.default_rng(9)
    start = np.datetime64("2026-01-01", "us")
    data = {
        "key": random.permutation(np.arange(rows) % KEYS),
        "ts": start + np.arange(rows) * np.timedelta64(10_000, "us"),
        "load": random.random(rows),
    }
    before = 0.0
    for name in names:
        _run(contender, name, data)
        now = time.process_time()
        yield now - before
        before = now


def _run(contender: str, name: str, data: dict[str, Any]) -> Any:
    if contender == "sash":
        import sash

        return sash.run(_own_query() if name == OWN else FIRST_QUERIES[name].sash(), data)
    if contender == "polars":
        import polars

        return FIRST_QUERIES[name].polars(polars.DataFrame(data))
    import duckdb

    connection = duckdb.connect()
    connection.register(TABLE, data)
    return connection.sql(FIRST_QUERIES[name].sql()).fetchnumpy()


def _own_query() -> Any:
    """The user's own aggregation of the README."""
    import sash

    spread = sash.aggregation(
        "load",
        lift=lambda v: (v, v),
        combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
        lower=lambda p: p[1] - p[0],
        commutative=True,
    )
    return sash.Query(key="key", windows=sash.sliding(100), aggregates={"spread": spread})


def first_batch(rows: int) -> Iterator[float]:
    """CPU seconds of a new process until the results of the first batch of a stream."""
    import sash

    query = sash.Query(
        windows=sash.sliding(100), aggregates={"max": sash.Max("load"), "mean": sash.Mean("load")}, key="key"
    )
    batch = {"key": np.arange(rows) % 2, "load": np.random.default_rng(9).random(rows)}
    sash.Operator(query).process_batch(batch)
    yield time.process_time()


def extra_memory(contender: str, query: list[Any], rows: int, keys: int) -> Iterator[list[float]]:
    """[MB by which a call raises the peak of this process, less its result; MB of its input]."""
    from sash_experiments.benchmarks.local.contenders import Keyed, Readings

    kind, size, aggregates, slide = query
    asked = KeyedQuery(kind, size, tuple(aggregates), slide)
    _call(Keyed(asked, Readings(rows // WARM_SHARE, keys)), contender)()
    readings = Readings(rows, keys)
    call = _call(Keyed(asked, readings), contender)
    gc.collect()
    before = reset_peak()
    result = call()
    yield [(peak_bytes() - before - result.estimated_size()) / 2**20, readings.polars.estimated_size() / 2**20]


def _call(keyed: Keyed, contender: str) -> Callable[[], Any]:
    """The contender's call, with its input in place."""
    getattr(keyed.readings, "duckdb" if contender == "duckdb" else "polars")  # created when first asked for
    return keyed.calls()[contender]


def reset_peak() -> int:
    """Set the peak of the resident set to its present size, in bytes, and return it. On Linux only."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return peak_bytes()


def peak_bytes() -> int:
    """The peak of the resident set. On Linux only."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
