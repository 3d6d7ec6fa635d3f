"""One thread's way through a column: the state that kernels carry from piece to piece, and which of them run."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.aggregations.base import Full
from sash.kernels.rolling.form import Array, Forms

__all__ = ["Arrays", "Lane"]

Arrays = tuple[Array, ...]

_PIECE = 1 << 22
"""Values after which a keyboard interrupt is heard."""
_SMALL_PIECE = 1 << 16
"""Values that are copied, or looked through, so as to be in the cache when the kernel reads them."""


class Lane:
    """Kernels and their state. Arrays that kernels cannot read, strided or read-only, are copied in pieces."""

    def __init__(self, forms: Forms, n: int, m: int, slide: int, early: bool) -> None:
        self.forms = forms
        self.n, self.m, self.slide, self.early = n, m, slide, early
        # slices in the open chunk, whether one is closed, which buffer is which, values in the begun slice, rows read
        self.state = np.zeros(5, np.int64)
        form = forms.form
        self.buffers = [form.partials(n), form.partials(n), form.partials(2), form.rows(n + 1 if slide == 1 else 1)]
        self.wary = 0  # values for which NaN is to be reckoned with

    @property
    def chunk(self) -> int:
        """Values in a chunk."""
        return self.n * self.slide

    @property
    def begun(self) -> int:
        """Values in the open chunk."""
        return int(self.state[0]) * self.slide + int(self.state[3])

    def run(self, columns: Arrays, out: Arrays, nulls: Array, done: int) -> int:
        """Run columns, piece by piece, each of which ends with a chunk; results go to ``done`` and on."""
        size, start = len(columns[0]), 0
        readable = all(column.flags.c_contiguous and column.flags.writeable for column in columns)
        while start < size:
            most = _PIECE if readable and not self.wary else _SMALL_PIECE
            end = min(size, start + max(1, most // self.chunk) * self.chunk - self.begun)
            piece = tuple(column[start:end] for column in columns)
            done = self._run_piece(piece if readable else tuple(map(np.array, piece)), out, nulls, done)
            start += int(self.state[4])
        return done

    def _run_piece(self, piece: Arrays, out: Arrays, nulls: Array, done: int) -> int:
        wary = self.wary
        if wary:
            spoilt = np.isnan(piece[0].min())  # NumPy's minimum is NaN if any value is, and fast
            self.wary = self.chunk if spoilt else max(0, wary - len(piece[0]))
        form, (*buffers, rows) = self.forms.wary if wary else self.forms.form, self.buffers
        if self.slide == 1:
            done = form.run("by_value", piece, self.n, self.early, self.state, *buffers, rows, out, nulls, done)
        else:
            shape = (self.n, self.slide, self.m, self.early)
            done = form.run("by_slice", piece, *shape, self.state, *buffers, out, nulls, done)
        if self.state[4] < len(piece[0]):
            self.wary = self.chunk  # the kernel stopped at NaN: until the open chunk is closed
        return done

    def begin_after(self, chunk: Arrays) -> None:
        """Go on behind a whole chunk that another lane runs."""
        if not all(part.flags.c_contiguous and part.flags.writeable for part in chunk):
            chunk = tuple(map(np.array, chunk))
        spoilt = self.forms.form.run("spoils", chunk)
        (self.forms.wary if spoilt else self.forms.form).run("backward", chunk, self.n, self.buffers[0])
        self.buffers[3][0][self.n] = chunk[0][-1]
        self.state[:] = (0, 1, 0, 0, 0)

    def memo(self) -> tuple[Any, ...]:
        """All of its state, copied: O(n)."""
        return (self.state.copy(), [tuple(map(np.copy, arrays)) for arrays in self.buffers], self.wary)

    def restore(self, memo: tuple[Any, ...]) -> None:
        """Be as when ``memo`` was taken."""
        self.state, self.buffers, self.wary = memo

    def take_over(self, other: Lane) -> None:
        """Have the state of another lane, which has run what came after this one's."""
        self.restore((other.state, other.buffers, other.wary))

    def take_over_with_nulls(self, other: Lane) -> None:
        """The same from kernels for columns without nulls: all partials so far have a value."""
        self.take_over(other)
        *partials, rows = other.buffers
        functions = other.forms.form.functions
        if isinstance(functions, Full):
            partials = self._counted(functions, partials, rows[0][self.n])
        valid = [(np.ones(len(arrays[0]), np.bool_), *arrays) for arrays in partials]
        self.buffers = [*valid, (*rows, np.zeros(len(rows[0]), np.bool_))]

    def _counted(self, functions: Full, buffers: list[Arrays], origin: Any) -> list[Arrays]:
        """Partials with their counts: n - j at position j of lcs, q in csa."""
        lcs, csa = np.arange(self.n, 0, -1), np.full(2, max(1, int(self.state[0])))
        found = []
        for arrays, counts in zip(buffers, (lcs, lcs, csa), strict=True):
            with np.errstate(all="ignore"):  # of a buffer without partials yet
                partial = functions.counted(arrays if len(arrays) > 1 else arrays[0], counts, origin)
            kinds = self.forms.form.partial[1:]
            found.append(tuple(part.astype(kind) for part, kind in zip(partial, kinds, strict=True)))
        return found
