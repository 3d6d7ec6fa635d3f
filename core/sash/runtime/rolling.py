"""Arrays in, arrays out: count windows over columns, by compiled kernels.

The kernels run SBA over whole columns (:mod:`sash.kernels.rolling.kernels`), or PBA with a second thread for large
windows. What Numba cannot compile runs row by row in Python, with the same results and a warning.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation
from sash.aggregators.chunk_size import check_window
from sash.frames.series import SeriesColumns
from sash.kernels.fallback import PythonRolling, warn_in_python
from sash.kernels.inputs import InputColumns, as_columns
from sash.kernels.kinds import NotCompilable
from sash.kernels.order_statistics import RankedRolling
from sash.kernels.rolling.groups import by_group, grouped
from sash.kernels.rolling.windows import CompiledRolling
from sash.runtime.periods import centered
from sash.windows.base import RollingShape
from sash.windows.count import least_values

__all__ = ["Rolling", "rolling", "rolling_by"]


def rolling(
    values: Any,
    aggregation: Aggregation,
    range: int,
    slide: int = 1,
    partial: bool = False,
    mask: Any = None,
    algorithm: str = "auto",
    out: Any = None,
    *,
    center: bool = False,
    min_periods: int | None = None,
) -> Any:
    """The results of ``aggregation`` over the windows W[range, slide] of an array.

    ``values`` is an array, or a tuple of several for an aggregation of several columns; values are null where they are
    masked or ``mask`` is True. The result is an array, a tuple of them for a result of several parts (M4), masked where
    windows have no result. ``partial`` also emits the first windows, which are not yet full. ``out`` is an array for
    the result, or a tuple of them, as from an earlier call: new memory costs as much as computing a maximum.

    Of a Series of pandas or polars, or a tuple of several, the result is a Series with the same name and index, null in
    rows that complete no window; NaN is null where pandas has no other null.

    With ``center`` or ``min_periods`` each row has a result, as in pandas: ``center`` has the row in the middle of its
    window; a window with fewer values than ``min_periods``, nulls not counted, is null. By default as many as
    ``range`` are needed, or 1 with ``partial``. The slide is 1 then.

    Costs 3 merges a slide, in compiled code that releases the GIL; O(range / slide) memory besides the result.

    >>> import numpy as np, sash
    >>> sash.rolling(np.array([3.0, 1.0, 4.0, 1.0, 5.0]), sash.Max(), range=3)
    array([4., 4., 5.])
    >>> sash.rolling(np.array([3, 1, 4, 1, 5]), sash.Sum(), range=4, slide=2, partial=True)
    array([4, 9])
    >>> sash.rolling(np.array([3, 1, 4, 1, 5]), sash.Sum(), range=3, center=True, min_periods=2)
    array([ 4,  8,  6, 10,  6])
    """
    columns = values if isinstance(values, tuple) else (values,)
    series = SeriesColumns.of(columns)
    if center or min_periods is not None:
        if slide != 1 or out is not None:
            raise ValueError("center and min_periods have a result for each row: leave out slide and out")
        least = least_values(range, partial, min_periods)
        push = Rolling(aggregation, range, 1, True, algorithm).push
        arrays = columns if series is None else series.arrays
        results = centered(push, aggregation, arrays, mask, range, least, center)
        if series is None:
            return results
        return series.aligned(results, np.arange(len(arrays[0])), aggregation)
    window = Rolling(aggregation, range, slide, partial, algorithm)
    if series is None:
        return window.push(*columns, mask=mask, out=out)
    if out is not None:
        raise TypeError("out= is for arrays; the results of a Series are a new Series")
    return series.aligned(window.push(*series.arrays, mask=mask), window.ends, aggregation)


def rolling_by(
    codes: Any,
    values: Any,
    aggregation: Aggregation,
    range: int,
    slide: int = 1,
    partial: bool = False,
    mask: Any = None,
) -> tuple[Any, Any]:
    """:func:`rolling` for each group of rows: ``(ends, results)``, group by group.

    ``codes`` says which group a row is in: whole numbers from 0 on, few of them unused, in any order. ``ends`` are the
    rows that completed the windows, so ``codes[ends]`` are their groups. One call of a compiled kernel, whatever the
    number of groups; rows that do not come group by group are put in order first, which copies them.

    >>> import numpy as np, sash
    >>> ends, peaks = sash.rolling_by(np.array([0, 1, 0, 1, 1]), np.array([5, 2, 3, 9, 4]), sash.Max(), range=2)
    >>> ends, peaks
    (array([2, 3, 4]), array([5, 9, 9]))
    """
    window = Rolling(aggregation, range, slide, partial, "sba")
    columns = values if isinstance(values, tuple) else (values,)
    batch = as_columns(aggregation, columns, mask)
    order, starts = grouped(codes, len(batch.arrays[0]))
    if order is not None:
        nulls = None if batch.nulls is None else batch.nulls[order]
        batch = InputColumns(tuple(array[order] for array in batch.arrays), nulls, batch.result_type)
    runner = window._choose(batch)
    if not isinstance(runner, CompiledRolling):
        ends, results = runner.feed_groups(batch, starts)
    else:
        before = np.concatenate([[0], np.cumsum(window._shape.completed(np.diff(starts)))])
        ends, results = by_group(runner, batch, starts, before)
    return (ends if order is None else order[ends]), results


class Rolling:
    """:func:`rolling` a batch at a time, with the same results however the input is cut.

    Holds two chunks of range / slide partials. The types of the columns are those of the first batch.

    >>> import numpy as np, sash
    >>> window = sash.Rolling(sash.Mean(), range=3)
    >>> window.push(np.array([1.0, 2.0])), window.push(np.array([6.0, 1.0]))
    (array([], dtype=float64), array([3., 3.]))
    """

    def __init__(
        self, aggregation: Aggregation, range: int, slide: int = 1, partial: bool = False, algorithm: str = "auto"
    ) -> None:
        if not isinstance(aggregation, Aggregation):
            raise TypeError(f"rolling needs an aggregation such as sash.Max(); got {aggregation!r}")
        check_window(range, slide)
        if algorithm not in ("auto", "sba", "pba"):
            raise ValueError(f"algorithm must be 'auto', 'sba' or 'pba'; got {algorithm!r}")
        if aggregation.where is not None:
            raise TypeError(f"{aggregation!r}: where= names a column of a query; mask arrays instead (mask=~condition)")
        self.aggregation = aggregation
        self.algorithm = algorithm
        self._shape = RollingShape(range, slide, bool(partial))
        self._count = 0
        self._broken = False
        self._runner: Any = None

    def push(self, *columns: Any, mask: Any = None, out: Any = None) -> Any:
        """Take a batch; the results of the windows that it completes, in ``out`` if there is one."""
        if self._broken:
            raise RuntimeError("an earlier batch was interrupted: start a new Rolling")
        batch = as_columns(self.aggregation, columns, mask)
        count, runner, result = self._count, self._runner, None
        try:
            if runner is None:
                self._runner = self._choose(batch)
            size = len(batch.arrays[0])
            windows = self._shape.completed(count + size) - self._shape.completed(count)
            result = self._runner.feed(batch, windows, out)
            self._count = count + size
            return result
        except BaseException:
            self._runner, self._count, self._broken = runner, count, result is not None and runner is not None
            raise

    @property
    def ends(self) -> Any:
        """The rows that have completed windows, counted from the first batch on. O(windows)."""
        return self._shape.ends(np.arange(self._shape.completed(self._count))) - 1

    def _choose(self, batch: InputColumns) -> Any:
        shape = (self.aggregation, *self._shape)
        if self.aggregation.by_ranks:
            return RankedRolling(self.aggregation, self._shape)
        others = [str(dtype) for dtype in batch.dtypes if dtype.kind not in "biuf"]
        try:
            if others:
                raise NotCompilable(f"a column is of type {others[0]}, not of numbers")
            return CompiledRolling(*shape, self.algorithm, batch)
        except NotCompilable as error:
            warn_in_python(repr(self.aggregation), str(error))
            return PythonRolling(*shape, str(error))

    def explain(self) -> str:
        """How batches run, and why; known after the first.

        >>> import sash
        >>> print(sash.Rolling(sash.Max(), range=10, slide=2).explain())
        windows    W[10, 2], 5 slices
        no batch yet: what is compiled depends on the columns' types
        """
        range_, slide, _ = self._shape
        n, m = divmod(range_, slide)
        begin = f"windows    W[{range_}, {slide}], {n} slices" + (f" and {m} values" if m else "")
        if self._runner is None:
            return f"{begin}\nno batch yet: what is compiled depends on the columns' types"
        return "\n".join([begin, *self._runner.plan()])
