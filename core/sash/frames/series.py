"""Series of pandas and polars: their arrays, and results as a series beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation
from sash.frames.library import Library
from sash.frames.pandas_frame import PANDAS
from sash.frames.polars_frame import POLARS
from sash.values.arrays import Array, data_of, mask_of, with_nulls
from sash.values.columns import StructColumn

__all__ = ["SeriesColumns"]


class SeriesColumns:
    """Columns of which at least one is a series; results get the index and the name of the first."""

    def __init__(self, library: Library, columns: Sequence[Any]) -> None:
        self._library, self._columns = library, columns
        self._first = next(column for column in columns if library.is_column(column))
        for column in columns:
            if library.is_column(column) and not library.same_rows(column, self._first):
                raise ValueError("the series have different indexes: align them first")

    @classmethod
    def of(cls, columns: Sequence[Any]) -> SeriesColumns | None:
        """None: all columns are arrays or the like."""
        for library in (PANDAS, POLARS):
            if any(map(library.is_column, columns)):
                return cls(library, columns)
        return None

    @property
    def arrays(self) -> list[Any]:
        """The columns as arrays, masked where they are null: NaN is null where pandas has no other."""
        library = self._library
        return [library.array(column, "null") if library.is_column(column) else column for column in self._columns]

    def aligned(self, results: Any, rows: Array, aggregation: Aggregation) -> Any:
        """A series of as many rows as there are, which holds the results in some ``rows`` and nulls in others. O(n)."""
        size, like = len(self._first), None
        if aggregation.result_column is not None:
            source = self._columns[aggregation.result_column]
            like = source if self._library.is_column(source) else None
        if isinstance(results, tuple):
            whole: Any = StructColumn(
                tuple(_spread(part, rows, size) for part in results), aggregation.result_tuple or aggregation.fields
            )
        else:
            whole = _spread(results, rows, size)
            if like is None and results.dtype.kind == "f" and isinstance(self._first.dtype, np.dtype):
                like = self._first[:0].astype(np.float64)  # NaN is the null of pandas' floats
        return self._library.beside(self._library.make_column(whole, like), self._first)


def _spread(results: Array, rows: Array, size: int) -> Array:
    """Results in their rows, nulls elsewhere."""
    if len(rows) == size:
        return results
    data, null, mask = np.zeros(size, results.dtype), np.ones(size, np.bool_), mask_of(results)
    data[rows], null[rows] = data_of(results), False if mask is None else mask
    if results.dtype.kind == "O":
        data[null] = None
        return data
    return with_nulls(data, null)
