"""Compile ahead, so that no process on this machine has to: for images and CI."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from sash.aggregations import Count, Max, Mean, Min, PopulationStdDev, SampleStdDev, Sum
from sash.aggregations.base import Aggregation
from sash.kernels.inputs import Array, as_columns
from sash.kernels.kinds import NotCompilable
from sash.kernels.ranges.aggregate import ranges_aggregate
from sash.kernels.rolling.groups import by_group
from sash.kernels.rolling.windows import CompiledRolling
from sash.kernels.tiers import compiling_at_once

__all__ = ["COMMON", "warm"]

COMMON = (Count(), Sum(), Mean(), Min(), Max(), SampleStdDev(), PopulationStdDev())
"""What is compiled for nobody's query in particular."""


def warm(aggregations: Sequence[Aggregation] = COMMON) -> Iterator[str]:
    """Compile the kernels of aggregations over 64-bit floats and integers; name each that is done. Seconds each."""
    for aggregation, name in product((aggregation.unfiltered for aggregation in aggregations), ("f8", "i8")):
        columns = tuple(np.arange(1, 9, dtype=name) for _ in range(aggregation.arity))
        try:
            with compiling_at_once():
                _compile(aggregation, columns)
        except NotCompilable as error:
            yield f"{aggregation!r} over {np.dtype(name)} runs in Python: {error}"
        else:
            yield f"{aggregation!r} over {np.dtype(name)}"


def _compile(aggregation: Aggregation, columns: tuple[Array, ...]) -> None:
    batch = as_columns(aggregation, columns, None)
    form = ranges_aggregate(aggregation, tuple(column.dtype for column in columns))
    partials = form.reduce(batch, np.arange(9))
    form.merge(partials, partials)
    form.totals(partials, np.array([0]), np.array([2]))
    form.totals(partials, np.array([0]), np.array([8]))
    for exact, slide in product((True, False), (1, 2)):
        window = CompiledRolling(aggregation, 4, slide, False, "sba", batch, exact=exact)
        by_group(window, batch, np.array([0, 8]), np.array([0, 5 if slide == 1 else 3]))
        window = CompiledRolling(aggregation, 4, slide, False, "sba", batch, exact=exact)
        window.feed(batch, 5 if slide == 1 else 3)
