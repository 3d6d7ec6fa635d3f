"""One thread's way through a column: the state that kernels carry from stretch to stretch, and which of them run."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.aggregations.base import Full
from sash.kernels.compiled_aggregate import Array
from sash.kernels.rolling.aggregate import RollingAggregate

__all__ = ["Arrays", "Runner"]

Arrays = tuple[Array, ...]

_STRETCH = 1 << 22
"""Values after which a keyboard interrupt is heard."""
_SHORT_STRETCH = 1 << 16
"""Values that are copied, or looked through, so as to be in the cache when the kernel reads them."""


class Runner:
    """Kernels and their state. Arrays that kernels cannot read, strided or read-only, are copied in stretches."""

    def __init__(self, aggregate: RollingAggregate, n: int, m: int, slide: int, early: bool) -> None:
        self.aggregate = aggregate
        self.n, self.m, self.slide, self.early = n, m, slide, early
        # slices in the open chunk, whether one is closed, which buffer is which, values in the begun slice, rows read
        self.state = np.zeros(5, np.int64)
        self.buffers = [
            aggregate.suffixes(n),
            aggregate.suffixes(n),
            aggregate.partials(2),
            aggregate.rows(n + 1 if slide == 1 else 1),
        ]
        self.unsafe = 0  # values that are to be run by nan_safe kernels

    @property
    def chunk(self) -> int:
        """Values in a chunk."""
        return self.n * self.slide

    @property
    def begun(self) -> int:
        """Values in the open chunk."""
        return int(self.state[0]) * self.slide + int(self.state[3])

    def run(self, columns: Arrays, out: Arrays, nulls: Array, done: int) -> int:
        """Run columns, in stretches that each end with a chunk; results go to ``done`` and on."""
        size, start = len(columns[0]), 0
        readable = _are_readable(columns)
        while start < size:
            most = _STRETCH if readable and not self.unsafe else _SHORT_STRETCH
            end = min(size, start + max(1, most // self.chunk) * self.chunk - self.begun)
            stretch = tuple(column[start:end] for column in columns)
            done = self._run_stretch(stretch if readable else tuple(map(np.array, stretch)), out, nulls, done)
            start += int(self.state[4])
        return done

    def _run_stretch(self, stretch: Arrays, out: Arrays, nulls: Array, done: int) -> int:
        aggregate, (*buffers, rows) = self.aggregate, self.buffers
        if self.unsafe:
            aggregate = aggregate.nan_safe
            spoilt = np.isnan(stretch[0].min())  # NumPy's minimum is NaN if any value is, and fast
            self.unsafe = self.chunk if spoilt else max(0, self.unsafe - len(stretch[0]))
        work = len(stretch[0]) + self.n // 8  # as Python, chunks are copied
        if self.slide == 1:
            outputs = (self.state, *buffers, rows, out, nulls, done)
            done = aggregate.kernels.run("by_value", work, (stretch, self.n, self.early), outputs)
        else:
            shape = (self.n, self.slide, self.m, self.early)
            done = aggregate.kernels.run("by_slice", work, (stretch, *shape), (self.state, *buffers, out, nulls, done))
        if self.state[4] < len(stretch[0]):
            self.unsafe = self.chunk  # the kernel stopped at NaN: until the open chunk is closed
        return done

    def begin_after(self, chunk: Arrays) -> None:
        """Go on behind a whole chunk that another runner runs."""
        chunk = chunk if _are_readable(chunk) else tuple(map(np.array, chunk))
        spoilt = self.aggregate.kernels.run("spoils", _STRETCH, (chunk,), ())  # compiled at once: many rows follow
        aggregate = self.aggregate.nan_safe if spoilt else self.aggregate
        aggregate.kernels.run("backward", _STRETCH, (chunk, self.n), (self.buffers[0],))
        self.buffers[3][0][self.n] = chunk[0][-1]
        self.state[:] = (0, 1, 0, 0, 0)

    def memo(self) -> tuple[Any, ...]:
        """All of its state, copied: O(n)."""
        return (self.state.copy(), [tuple(map(np.copy, arrays)) for arrays in self.buffers], self.unsafe)

    def restore(self, memo: tuple[Any, ...]) -> None:
        """Be as when ``memo`` was taken."""
        self.state, self.buffers, self.unsafe = memo

    def take_over(self, other: Runner) -> None:
        """Have the state of another runner, which has run what came after this one's."""
        self.restore((other.state, other.buffers, other.unsafe))

    def take_over_with_nulls(self, other: Runner) -> None:
        """The same from kernels for columns without nulls: all partials so far have a value."""
        self.take_over(other)
        *partials, rows = other.buffers
        functions = other.aggregate.functions
        if isinstance(functions, Full):
            partials = self._counted(functions, partials, rows[0][self.n])
        valid = [(np.ones(len(arrays[0]), np.bool_), *arrays) for arrays in partials]
        self.buffers = [*valid, (*rows, np.zeros(len(rows[0]), np.bool_))]

    def _counted(self, functions: Full, buffers: list[Arrays], origin: Any) -> list[Arrays]:
        """Partials with their counts: n - j at position j of lcs, q in csa."""
        assert functions.counted is not None
        lcs, csa = np.arange(self.n, 0, -1), np.full(2, max(1, int(self.state[0])))
        partials = []
        for arrays, counts in zip(buffers, (lcs, lcs, csa), strict=True):
            with np.errstate(all="ignore"):  # of a buffer without partials yet
                numbers = tuple(array[: len(counts)] for array in arrays)
                partial = functions.counted(numbers if len(numbers) > 1 else numbers[0], counts, origin)
            kinds = self.aggregate.partial[1:]
            partials.append(tuple(part.astype(kind) for part, kind in zip(partial, kinds, strict=True)))
        return partials


def _are_readable(columns: Arrays) -> bool:
    return all(column.flags.c_contiguous and column.flags.writeable for column in columns)
