"""Partials of a chunk as rows of an array, for ``lcs`` by a kernel that releases the GIL.

slices come   row 0 │ row 1 │ row 2 │ …           each is put into its row as it comes: nothing is converted at once
chunk closes  whole │ lcs 1 │ lcs 2 │ … │ lcs b-1  another thread, which holds the GIL only to begin and to end
"""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any, cast

import numpy as np

from sash.aggregations.base import Flat
from sash.aggregators.pba import SharedChunk
from sash.kernels.fallback import RowSuffixes

__all__ = ["FlatChunk", "OpenRows"]

Array = np.ndarray[Any, Any]


class OpenRows:
    """The rows of the chunk that is open."""

    def __init__(self, flat: Flat, length: int) -> None:
        self._flat, self._length = flat, length
        self._suffixes = RowSuffixes(flat)
        self._begin()

    def _begin(self) -> None:
        self._rows = np.empty((self._length, self._flat.width), self._flat.dtype)
        self._first = self._next = -1

    def put(self, number: int, partial: Any) -> None:
        """Put the partial of a slice in its row. All of a chunk come, unless it was open before there were rows."""
        place = number % self._length
        if number != self._next or not place:
            self._first = number
        self._rows[place] = self._flat.to_row(partial)
        self._next = number + 1

    def chunk(self, begin: int, slices: list[Any], whole: Any, pool: Executor) -> FlatChunk:
        """The chunk of these slices, of which the first has the number ``begin``."""
        rows = self._rows
        if (self._first, self._next) == (begin, begin + self._length):
            self._begin()
        else:
            rows = np.empty((len(slices), self._flat.width), self._flat.dtype)
            for place, partial in enumerate(slices):
                rows[place] = self._flat.to_row(partial)
        return FlatChunk(self._flat, self._suffixes, rows, whole, pool)


class _Lcs:
    """Reads like a list."""

    __slots__ = ("_flat", "_rows", "_whole")

    def __init__(self, flat: Flat, rows: Array) -> None:
        self._flat, self._rows = flat, rows
        self._whole: Any = None

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, j: int) -> Any:
        return self._flat.from_row(self._rows[j]) if j else self._whole

    def __setitem__(self, j: int, whole: Any) -> None:
        assert j == 0
        self._whole = whole


class FlatChunk(SharedChunk):
    """A chunk whose ``lcs`` a kernel computes in another thread."""

    __slots__ = ("_rows", "_suffixes")

    def __init__(self, flat: Flat, suffixes: Any, rows: Array, whole: Any, pool: Executor) -> None:
        self._suffixes = suffixes
        self._rows = rows
        super().__init__(_no_merge, cast(list[Any], _Lcs(flat, rows)), whole, pool)

    def complete(self, first: int = 1) -> None:
        """Compute all of ``lcs``, if it is not there."""
        if self.done > 1:
            self._suffixes(self._rows[1:])  # the lcs of a whole chunk is its csa
            self.done = 1


def _no_merge(a: Any, b: Any) -> Any:
    raise AssertionError("a kernel merges the rows of this chunk")
