"""The operator record by record with a clock: how long each record is in it, by the algorithm that merges its slices.

FPBA's claim is about the record that comes at a chunk's end. What computes ``lcs`` then is one of

- ``SBA``: the main thread, all of it at once, as the paper has it;
- ``SBA, kernel``: the same by the compiled kernel that PBA's second thread runs;
- ``SBA, a merge a slide``: the main thread, one merge with each record, as the operator's own SBA does;
- ``PBA``: a thread of the slot's pool, by that kernel.

Two clocks: that on the wall, which also tells when the machine had something else to do, and the CPU time of the main
thread together with the time that it waited for ``lcs``. State is written apart from this: the same for all four.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from pyflink.common import Types
from pyflink.datastream import DataStream

import sash
from sash.aggregators.pba import WAITING
from sash_flink import WindowOperatorFunction
from sash_flink.clock import END

__all__ = ["ALGORITHMS", "timed_stream"]

ALGORITHMS = ("SBA", "SBA, kernel", "SBA, a merge a slide", "PBA")
_TYPES: dict[str, Any] = {"double": Types.DOUBLE(), "binary": Types.PRIMITIVE_ARRAY(Types.BYTE())}


class AtOnce(Executor):
    """Runs a task when it is given: on the main thread."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run it."""
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


class Timed(WindowOperatorFunction):
    """Writes the seconds of each record, by both clocks, into a file at the end of the input.

    Not when it is closed: Flink may end a worker before it has been.
    """

    def __init__(self, algorithm: str, path: Path, *rest: Any, **options: Any) -> None:
        super().__init__(*rest, **options)
        self.algorithm, self.path = algorithm, path

    def open(self, runtime_context: Any) -> None:
        """Start, with PBA's pool in the main thread if that is asked for."""
        from sash.engine import planner as plan
        from sash.engine.rows.bundle import Merging

        if self.algorithm in ("SBA", "SBA, kernel"):
            vars(plan)["shared_pool"] = AtOnce
        if self.algorithm == "SBA":
            Merging.flat = lambda self: None  # type: ignore[method-assign]
        self.seconds: list[tuple[float, float]] = []
        super().open(runtime_context)

    def take(self, live: Any, records: Any) -> list[Any]:
        """Take a record, and look at the clocks."""
        wall, own, waited = perf_counter(), thread_time(), WAITING.seconds
        results = super().take(live, records)
        own = thread_time() - own + WAITING.seconds - waited
        self.seconds.append((perf_counter() - wall, own))
        return results

    def advance(self, live: Any, watermark: int) -> list[Any]:
        """Go on in time; at the end write what was seen: of the only key."""
        if watermark == END:
            np.save(self.path, np.array(self.seconds))
        return super().advance(live, watermark)


def timed_stream(stream: DataStream, aggregation: sash.Aggregation, n: int, algorithm: str, path: Path) -> DataStream:
    """The results of windows of n readings (plug, load)."""
    kind = "binary" if isinstance(aggregation, sash.Bloom) else "double"
    query = sash.Query(
        key="plug",
        windows=sash.sliding(n),
        aggregates={"a": aggregation},
        algorithm="sba" if algorithm == "SBA, a merge a slide" else "auto",
    )
    read = pa.schema([("plug", pa.int32()), ("load", pa.float64())])
    results = pa.schema([("plug", pa.int32()), ("window_start", "int64"), ("window_end", "int64"), ("a", kind)])
    function = Timed(algorithm, path, query, read, results, threads=1)
    types = [Types.INT(), Types.LONG(), Types.LONG(), _TYPES[kind]]
    return stream.key_by(lambda row: row[0], Types.INT()).process(function, Types.ROW_NAMED(results.names, types))
