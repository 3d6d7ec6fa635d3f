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
from sash.aggregators.thread_pool import asked_threads, available_cores, shared_pool
from sash.kernels.rolling.form import Forms
from sash.kernels.rolling.inputs import Array, Columns, as_kernel_columns, as_result, as_room
from sash.kernels.rolling.runner import Arrays, Lane

__all__ = ["Compiled", "choose_threads"]

_LEAST_CHUNKS = 4  # a second thread begins with an lcs that is not its own: with fewer chunks that is too much
_SAMPLE = 1 << 16  # values on which the cost of one is measured
LEAST_MICROSECONDS = 30.0
"""What a chunk must take one thread for two to be worth it: to hand work over takes 16 µs at best, and an lcs more."""
LARGEST_BUFFER = 1 << 22
"""Bytes of ``lcs`` up to which two threads, each with its own, do not drive each other out of the cache."""


def choose_threads(algorithm: str, range_: int, slide: int, partial_bytes: int, cost: float) -> tuple[bool, str]:
    """Whether PBA's second thread is used, and why or why not; ``cost`` is that of a value, in nanoseconds."""
    if algorithm == "sba":
        return False, "as asked for"
    if asked_threads() == 0:
        return False, "no second thread is wanted"
    if available_cores() < 2:
        return False, "one core, on which a second thread would only take turns"
    if algorithm == "pba":
        return slide == 1, "as asked for" if slide == 1 else "PBA shares out chunks of single values only"
    if slide > 1:
        return False, f"with slide {slide} most merges make slices, in which lcs has no part"
    if range_ * partial_bytes > LARGEST_BUFFER:
        return False, f"two threads with {range_ * partial_bytes >> 20} MB of lcs each would share too small a cache"
    chunk = range_ * cost / 1000
    words = f"a chunk of {range_} values takes {chunk:.3g} µs ({cost:.2g} ns a value, measured)"
    if chunk < LEAST_MICROSECONDS:
        return False, f"{words}, and a second thread pays from {LEAST_MICROSECONDS:g} µs on"
    return True, f"{available_cores()} cores, and {words}"


class Compiled:
    """One window's kernels and state."""

    def __init__(self, aggregation: Aggregation, range_: int, slide: int, early: bool, algorithm: str, batch: Columns):
        self.aggregation = aggregation
        self.range, self.slide, self.early, self.algorithm = range_, slide, early, algorithm
        self.n, self.m = divmod(range_, slide)
        self.dtypes = as_kernel_columns(aggregation, batch).dtypes
        self.masked = batch.nulls is not None
        self.forms = self._forms()
        self.lane = self._new_lane()
        self.broken = False
        self.parallel, self.reason = False, ""

    def _forms(self) -> Forms:
        full = self.slide == 1 and self.range > 1 and not self.early and not self.masked
        return Forms(self.aggregation, self.dtypes, self.masked, full)

    def _new_lane(self) -> Lane:
        return Lane(self.forms, self.n, self.m, self.slide, self.early)

    def plan(self) -> list[str]:
        """How it is run, and why."""
        kept = "kept on disk" if self.forms.form.cached else "for this process"
        return [
            f"algorithm  {'PBA, two threads' if self.parallel else 'SBA, one thread'}: "
            + (self.reason or "no batch yet of enough values to measure what one costs"),
            f"compiled   yes, {kept}, in {self.forms.seconds:.2f} s",
        ]

    def feed(self, batch: Columns, windows: int, room: Any = None) -> Any:
        """Run a batch that completes so many windows, or leave everything as it was."""
        if self.broken:
            raise RuntimeError("an earlier batch was interrupted half-way: begin with a new Rolling")
        batch = as_kernel_columns(self.aggregation, batch)
        if batch.dtypes != self.dtypes:
            before, now = (", ".join(map(str, dtypes)) for dtypes in (self.dtypes, batch.dtypes))
            raise TypeError(f"the columns were of type {before} in earlier batches and are of type {now} in this one")
        if batch.nulls is not None and not self.masked:
            self._expect_nulls()
        columns = batch.arrays
        if self.masked:
            columns += (np.zeros(len(columns[0]), np.bool_) if batch.nulls is None else batch.nulls,)
        form = self.forms.form
        out = as_room(room, form.result, windows, batch.result_type, form.guarded)
        nulls = np.zeros(windows if form.nullable else 0, np.bool_)
        # a sum that overflows and a function of the user's can fail: then the batch has not been
        memo = self.lane.memo() if form.guarded or not form.cached else None
        try:
            if not self.reason:
                self._choose_threads(columns)
            (self._in_two_threads if self.parallel and self.n > 1 else self.lane.run)(columns, out, nulls, 0)
            return as_result(self.aggregation, out, nulls, batch.result_type, form.guarded)
        except BaseException:
            self.broken = memo is None  # interrupted, with part of a batch in its state
            if memo is not None:
                self.lane.restore(memo)
            raise

    def _expect_nulls(self) -> None:
        """Go over to the kernels for columns with nulls."""
        before, self.masked = self.lane, True
        self.forms = self._forms()
        self.lane = self._new_lane()
        self.lane.take_over_with_nulls(before)

    def _choose_threads(self, columns: Arrays) -> None:
        form, cost = self.forms.form, 0.0
        if self.algorithm == "auto" and self.slide == 1 and available_cores() > 1:
            if len(columns[0]) < _SAMPLE:
                return
            cost = form.cost_by(lambda: self._cost(columns))
        self.parallel, self.reason = choose_threads(self.algorithm, self.range, self.slide, form.partial_bytes, cost)

    def _cost(self, columns: Arrays) -> float:
        """Nanoseconds a value: of small windows over the first values, without what other processes take."""
        sample = tuple(np.array(column[:_SAMPLE]) for column in columns)
        form, taken = self.forms.form, []
        out, nulls = tuple(np.empty(_SAMPLE, dtype) for dtype in form.result), np.zeros(_SAMPLE, np.bool_)
        for _ in range(3):  # the first time to compile
            lane = Lane(self.forms, 1 << 10, 0, 1, self.early)
            begin = time.thread_time()
            lane.run(sample, out, nulls, 0)
            taken.append(time.thread_time() - begin)
        return min(taken) / _SAMPLE * 1e9

    def _in_two_threads(self, columns: Arrays, out: Arrays, nulls: Array, done: int) -> int:
        """PBA: the younger half of the chunks is run by another thread."""
        lane, n, size = self.lane, self.n, len(columns[0])
        first = -int(lane.state[0]) % n  # where the first chunk begins
        if (size - first) // n < _LEAST_CHUNKS:
            return lane.run(columns, out, nulls, done)
        half = first + round((size - first + n / 3) / 2 / n) * n  # an lcs alone is a third of the merges of a chunk
        emitting = lane.state[1] or self.early
        begins = done + half if emitting else done + int(lane.state[0]) + half - n + 1
        younger = self._new_lane()

        def run_younger() -> int:
            younger.begin_after(tuple(column[half - n : half] for column in columns))
            return younger.run(tuple(column[half:] for column in columns), out, nulls, begins)

        task = shared_pool().submit(run_younger)
        lane.run(tuple(column[:half] for column in columns), out, nulls, done)
        done = task.result()
        lane.take_over(younger)
        return done
