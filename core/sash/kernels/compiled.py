"""Kernels led over batches: the state they carry, which of them runs, and in how many threads.

Long inputs are run a few chunks at a time. So the look whether there is NaN among them, which decides on the faster of
two kernels, finds the values in the cache that the kernel is about to read; and arrays that kernels cannot read as they
are, strided or read-only ones, are copied in pieces.

With a second thread (PBA) the whole chunks of a batch are shared out. What makes that possible is the boundary between
chunks: all that the windows of a chunk need from before it is the ``lcs`` of its predecessor, with which the second
thread begins:

    main thread    | chunk 0 | chunk 1 | … chunk h-1 |
    second thread               lcs of chunk h-1 | chunk h | … chunk k-1 |
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation
from sash.aggregators.pool import available_cores, shared_pool
from sash.kernels.columns import Array, Columns, as_result
from sash.kernels.forms import Form, form_of

__all__ = ["Compiled", "Lane", "choose_threads"]

_PIECE = 1 << 16
_LEAST_CHUNKS = 4  # a second thread begins with an lcs that is not its own: with fewer chunks that is too much
SMALLEST_PARALLEL = 1 << 15
"""Shorter windows are left to one thread, as the paper does too."""
LARGEST_BUFFER = 1 << 22
"""Bytes of ``lcs`` up to which two threads, each with its own, do not drive each other out of the cache."""
# Both measured by `make bench-rolling`.


def choose_threads(algorithm: str, range_: int, slide: int, partial_bytes: int) -> tuple[bool, str]:
    """Whether PBA's second thread is used, and why or why not."""
    if algorithm == "sba":
        return False, "as asked for"
    if available_cores() < 2:
        return False, "one core, on which a second thread would only take turns"
    if algorithm == "pba":
        return slide == 1, "as asked for" if slide == 1 else "PBA shares out chunks of single values only"
    if slide > 1:
        return False, f"with slide {slide} most merges make slices, in which lcs has no part"
    if range_ < SMALLEST_PARALLEL:
        return False, f"windows of under {SMALLEST_PARALLEL} values"
    if range_ * partial_bytes > LARGEST_BUFFER:
        return False, f"two threads with {range_ * partial_bytes >> 20} MB of lcs each would share too small a cache"
    return True, f"{available_cores()} cores and windows of {range_} values"


Arrays = tuple[Array, ...]


class Lane:
    """The state of one thread's way through a column, and the kernels to go on with."""

    def __init__(self, forms: tuple[Form, Form], n: int, m: int, slide: int, early: bool) -> None:
        self.form, self.clean_form = forms
        self.n, self.m, self.slide, self.early = n, m, slide, early
        # slices in the open chunk, whether one is closed, which buffer is which, values in the begun slice
        self.state = np.zeros(4, np.int64)
        self.buffers = [self.form.arrays(n), self.form.arrays(n), self.form.arrays(2)]
        self.wary = 0  # values until none of the open chunk can be NaN

    def run(self, columns: Arrays, out: Arrays, nulls: Array, done: int) -> int:
        """Run columns, piece by piece, each of which ends with a chunk."""
        size, chunk = len(columns[0]), self.n * self.slide
        readable = all(column.flags.c_contiguous and column.flags.writeable for column in columns)
        begun = int(self.state[0]) * self.slide + int(self.state[3])
        start = 0
        while start < size:
            end = min(size, start + max(1, _PIECE // chunk) * chunk - begun)
            piece = tuple(column[start:end] for column in columns)
            done = self._run_piece(piece if readable else tuple(map(np.array, piece)), out, nulls, done)
            start, begun = end, 0
        return done

    def _run_piece(self, piece: Arrays, out: Arrays, nulls: Array, done: int) -> int:
        kernels, state, (a, b, c) = self.fitting(piece[0]).kernels, self.state, self.buffers
        if self.slide == 1:
            return int(kernels.by_value(piece, self.n, self.early, state, a, b, c, out, nulls, done))
        return int(kernels.by_slice(piece, self.n, self.slide, self.m, self.early, state, a, b, c, out, nulls, done))

    def fitting(self, values: Array) -> Form:
        """The kernels without an eye for NaN, if there is none, nor one left in the open chunk."""
        if self.clean_form is self.form:
            return self.form
        if len(values) and np.isnan(values.min()):  # NumPy's minimum is NaN if any value is, and fast
            self.wary = self.n * self.slide + len(values)
        self.wary = max(0, self.wary - len(values))
        return self.form if self.wary else self.clean_form

    def begin_after(self, chunk: Arrays) -> None:
        """Go on behind a whole chunk that another lane runs."""
        readable = tuple(map(np.array, chunk)) if not all(part.flags.c_contiguous for part in chunk) else chunk
        self.form.kernels.backward(readable, self.n, self.buffers[0])
        self.state[:] = (0, 1, 0, 0)

    def memo(self) -> tuple[Any, ...]:
        """All of its state, copied: O(n)."""
        return (self.state.copy(), [tuple(map(np.copy, arrays)) for arrays in self.buffers], self.wary)

    def restore(self, memo: tuple[Any, ...]) -> None:
        """Be as when ``memo`` was taken."""
        self.state, self.buffers, self.wary = memo

    def take_over(self, other: Lane) -> None:
        """Have the state of another lane, which has run what came after this one's."""
        self.buffers, self.wary = other.buffers, other.wary
        self.state[:] = other.state


class Compiled:
    """One window's kernels and state."""

    def __init__(self, aggregation: Aggregation, range_: int, slide: int, early: bool, algorithm: str, batch: Columns):
        self.aggregation = aggregation
        self.n, self.m = divmod(range_, slide)
        self.slide = slide
        self.early = early
        self.dtypes = batch.dtypes
        self.masked = batch.nulls is not None
        self.form, self.clean_form = self._forms()
        self.lane = self._new_lane()
        self.broken = False
        self.parallel, self.reason = choose_threads(algorithm, range_, slide, self.form.partial_bytes)

    def _forms(self) -> tuple[Form, Form]:
        kind = self.dtypes[0].kind
        form = form_of(self.aggregation, self.dtypes, self.masked, kind != "f")
        same = self.aggregation.columnar(kind, True) == self.aggregation.columnar(kind, False)
        return form, form if same else form_of(self.aggregation, self.dtypes, self.masked, True)

    def _new_lane(self) -> Lane:
        return Lane((self.form, self.clean_form), self.n, self.m, self.slide, self.early)

    @property
    def seconds(self) -> float:
        """What compiling took, or loading what was compiled before."""
        return self.form.seconds + (self.clean_form.seconds if self.clean_form is not self.form else 0.0)

    def feed(self, batch: Columns, windows: int) -> Any:
        """Run a batch that completes so many windows, or leave everything as it was."""
        if self.broken:
            raise RuntimeError("an earlier batch was interrupted half-way: begin with a new Rolling")
        if batch.dtypes != self.dtypes:
            before, now = (", ".join(map(str, dtypes)) for dtypes in (self.dtypes, batch.dtypes))
            raise TypeError(f"the columns were of type {before} in earlier batches and are of type {now} in this one")
        if batch.nulls is not None and not self.masked:
            self._expect_nulls()
        columns = batch.arrays
        if self.masked:
            columns += (np.zeros(len(columns[0]), np.bool_) if batch.nulls is None else batch.nulls,)
        out = tuple(np.empty(windows, dtype) for dtype in self.form.result)
        nulls = np.zeros(windows if self.form.nullable else 0, np.bool_)
        # a sum that overflows and a function of the user's can fail: then the batch has not been
        memo = self.lane.memo() if self.form.guarded or not self.form.cached else None
        try:
            (self._in_two_threads if self.parallel and self.n > 1 else self.lane.run)(columns, out, nulls, 0)
            return as_result(self.aggregation, out, nulls, batch.result_type, self.form.guarded)
        except BaseException:
            self.broken = memo is None  # interrupted, with part of a batch in its state
            if memo is not None:
                self.lane.restore(memo)
            raise

    def _expect_nulls(self) -> None:
        """Go over to the kernels for columns with nulls: all partials so far have a value."""
        self.masked = True
        self.form, self.clean_form = self._forms()
        lane = self._new_lane()
        lane.take_over(self.lane)
        lane.buffers = [(np.ones(len(arrays[0]), np.bool_), *arrays) for arrays in self.lane.buffers]
        self.lane = lane

    def _in_two_threads(self, columns: Arrays, out: Arrays, nulls: Array, done: int) -> int:
        """PBA: the younger half of the whole chunks is run by another thread."""
        lane, n, size = self.lane, self.n, len(columns[0])
        first = min(size, n - int(lane.state[0]) if lane.state[0] or not lane.state[1] else 0)
        done = lane.run(tuple(column[:first] for column in columns), out, nulls, done)
        chunks = (size - first) // n
        if chunks < _LEAST_CHUNKS:
            return lane.run(tuple(column[first:] for column in columns), out, nulls, done)
        half = first + chunks // 2 * n
        younger = self._new_lane()
        rest = tuple(column[half:] for column in columns)

        def run_younger() -> int:
            younger.begin_after(tuple(column[half - n : half] for column in columns))
            return younger.run(rest, out, nulls, done + half - first)

        task = shared_pool().submit(run_younger)
        lane.run(tuple(column[first:half] for column in columns), out, nulls, done)
        done = task.result()
        lane.take_over(younger)
        return done
