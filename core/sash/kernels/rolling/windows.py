"""Kernels led over batches, by one thread or two.

With a second thread (PBA) the whole chunks of a batch are shared out. What makes that possible is the boundary between
chunks: all that the windows of a chunk need from before it is the ``lcs`` of its predecessor, with which the second
thread begins:

    main thread    | chunk 0 | chunk 1 | … chunk h-1 |
    second thread  | lcs of chunk h-1 | chunk h | … chunk k-1 |
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation
from sash.aggregators.costs import handover_ns
from sash.aggregators.pba import available_cores, shared_pool, why_no_thread
from sash.kernels.inputs import Array, InputColumns, as_kernel_columns, as_result, output_arrays
from sash.kernels.rolling.aggregate import RollingAggregate, exact_rolling_aggregate, rolling_aggregate
from sash.kernels.rolling.runner import Arrays, Runner

__all__ = ["CompiledRolling", "choose_threads"]

_LEAST_CHUNKS = 4  # a second thread begins with an lcs that is not its own: with fewer chunks that is too much
_SAMPLE = 1 << 16  # values on which the cost of one is measured
LCS = 1 / 3
"""The share of the merges of a chunk that ``lcs`` has, which the second thread begins with though it is not its own."""
LARGEST_BUFFER = 1 << 22
"""Bytes of ``lcs`` up to which two threads, each with its own, do not drive each other out of the cache."""


def choose_threads(algorithm: str, range_: int, slide: int, partial_bytes: int, cost: float) -> tuple[bool, str]:
    """Whether PBA's second thread is used, and why or why not; ``cost`` is that of a value, in nanoseconds."""
    if algorithm == "sba":
        return False, "as asked for"
    if (reason := why_no_thread()) is not None:
        return False, reason
    if algorithm == "pba":
        return slide == 1, "as asked for" if slide == 1 else "PBA shares out chunks of single values only"
    if slide > 1:
        return False, f"with slide {slide} most merges make slices, in which lcs has no part"
    if range_ * partial_bytes > LARGEST_BUFFER:
        return False, f"two threads with {range_ * partial_bytes >> 20} MB of lcs each would share too small a cache"
    chunk, costs = range_ * cost, handover_ns()
    saves = chunk * (1 - LCS)
    words = (
        f"a chunk of {range_} values saves {saves / 1000:.3g} µs ({cost:.2g} ns a value, measured), "
        f"and to hand work over takes {costs / 1000:g} µs"
    )
    return saves > costs, words if saves <= costs else f"{available_cores()} cores; {words}"


class CompiledRolling:
    """One window's kernels and state. ``exact``: with all the digits that slices keep; others are faster."""

    def __init__(
        self,
        aggregation: Aggregation,
        range_: int,
        slide: int,
        early: bool,
        algorithm: str,
        batch: InputColumns,
        exact: bool = False,
    ) -> None:
        self.aggregation = aggregation
        self.range, self.slide, self.early, self.algorithm = range_, slide, early, algorithm
        self.n, self.m = divmod(range_, slide)
        self.dtypes = as_kernel_columns(aggregation, batch).dtypes
        self.masked, self._exact = batch.nulls is not None, exact
        self.aggregate = self._aggregate()
        self.runner = self._new_runner()
        self.broken = False
        self.parallel, self.reason = False, ""

    def _aggregate(self) -> RollingAggregate:
        full = self.slide == 1 and self.range > 1 and not self.early and not self.masked
        if self._exact:
            return exact_rolling_aggregate(self.aggregation, self.dtypes, self.masked, full, False)
        return rolling_aggregate(self.aggregation, self.dtypes, self.masked, full)

    def _new_runner(self) -> Runner:
        return Runner(self.aggregate, self.n, self.m, self.slide, self.early)

    def plan(self) -> list[str]:
        """How it is run, and why."""
        kept = "kept on disk" if self.aggregate.cached else "for this process"
        seconds = self.aggregate.all_seconds
        return [
            f"algorithm  {'PBA, two threads' if self.parallel else 'SBA, one thread'}: "
            + (self.reason or "no batch yet of enough values to measure what one costs"),
            f"compiled   yes, {kept}, in {seconds:.2f} s" if seconds else "compiled   not yet: too few values so far",
        ]

    def feed(self, batch: InputColumns, windows: int, out: Any = None) -> Any:
        """Run a batch that completes so many windows, or leave everything as it was."""
        if self.broken:
            raise RuntimeError("an earlier batch was interrupted: start a new Rolling")
        batch = as_kernel_columns(self.aggregation, batch)
        if batch.dtypes != self.dtypes:
            before, now = (", ".join(map(str, dtypes)) for dtypes in (self.dtypes, batch.dtypes))
            raise TypeError(f"the columns were of type {before} in earlier batches and are of type {now} in this one")
        if batch.nulls is not None and not self.masked:
            self._expect_nulls()
        columns = batch.arrays
        if self.masked:
            columns += (np.zeros(len(columns[0]), np.bool_) if batch.nulls is None else batch.nulls,)
        aggregate, guarded = self.aggregate, self.aggregate.functions.guarded
        arrays = output_arrays(out, aggregate.result, windows, batch.result_type, guarded)
        nulls = np.zeros(windows if aggregate.nullable else 0, np.bool_)
        # a sum that overflows, a function of the user's and Python can be interrupted: then the batch is rolled back
        memo = self.runner.memo() if guarded or not aggregate.builtin or aggregate.runs_as_python else None
        try:
            if not self.reason:
                self._choose_threads(columns)
            (self._in_two_threads if self.parallel and self.n > 1 else self.runner.run)(columns, arrays, nulls, 0)
            return as_result(self.aggregation, arrays, nulls, batch.result_type, guarded)
        except BaseException:
            self.broken = memo is None  # interrupted, with part of a batch in its state
            if memo is not None:
                self.runner.restore(memo)
            raise

    def _expect_nulls(self) -> None:
        """Go over to the kernels for columns with nulls."""
        before, self.masked = self.runner, True
        self.aggregate = self._aggregate()
        self.runner = self._new_runner()
        self.runner.take_over_with_nulls(before)

    def _choose_threads(self, columns: Arrays) -> None:
        cost = 0.0
        if self.algorithm == "auto" and self.slide == 1 and available_cores() > 1:
            kernel = self.aggregate.kernels.kernels["by_value"]
            if len(columns[0]) < _SAMPLE or not (kernel.compiled or kernel.expects(len(columns[0]))):
                return
            cost = self.aggregate.cost(lambda: self._cost(columns))
        size = self.aggregate.partial_bytes
        self.parallel, self.reason = choose_threads(self.algorithm, self.range, self.slide, size, cost)

    def _cost(self, columns: Arrays) -> float:
        """Nanoseconds a value: of small windows over the first values, without what other processes take."""
        sample = tuple(np.array(column[:_SAMPLE]) for column in columns)
        out, nulls = tuple(np.empty(_SAMPLE, dtype) for dtype in self.aggregate.result), np.zeros(_SAMPLE, np.bool_)
        seconds = []
        for _ in range(3):  # the first time to compile
            runner = Runner(self.aggregate, 1 << 10, 0, 1, self.early)
            begin = time.thread_time()
            runner.run(sample, out, nulls, 0)
            seconds.append(time.thread_time() - begin)
        return min(seconds) / _SAMPLE * 1e9

    def _in_two_threads(self, columns: Arrays, out: Arrays, nulls: Array, done: int) -> int:
        """PBA: the younger half of the chunks is run by another thread."""
        runner, n, size = self.runner, self.n, len(columns[0])
        first = -int(runner.state[0]) % n  # where the first chunk begins
        if (size - first) // n < _LEAST_CHUNKS:
            return runner.run(columns, out, nulls, done)
        half = first + round((size - first + n / 3) / 2 / n) * n  # an lcs alone is a third of the merges of a chunk
        emitting = runner.state[1] or self.early
        begins = done + half if emitting else done + int(runner.state[0]) + half - n + 1
        younger = self._new_runner()

        def run_younger() -> int:
            younger.begin_after(tuple(column[half - n : half] for column in columns))
            return younger.run(tuple(column[half:] for column in columns), out, nulls, begins)

        task = shared_pool().submit(run_younger)
        runner.run(tuple(column[:half] for column in columns), out, nulls, done)
        done = task.result()
        runner.take_over(younger)
        return done
