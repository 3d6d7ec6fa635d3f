"""Errors about values of a batch that an aggregate cannot take: which column and row it was, and what was expected."""

from __future__ import annotations

import re
from typing import Any, NoReturn

import numpy as np

from sash.aggregations.base import Aggregation, combined, lowered, renamed
from sash.frames import Frame
from sash.query import Query

__all__ = ["raise_naming_row"]

Array = np.ndarray[Any, Any]


def raise_naming_row(error: Exception, query: Query, frame: Frame, codes: Array, first: int = 0) -> NoReturn:
    """Raise an error of an aggregate again, as one that names the row, counted from ``first``. O(rows)."""
    complaints = [_complaint(aggregation, frame, codes) for aggregation in query.aggregates.values()]
    of_rows = [complaint for complaint in complaints if complaint is not None]
    if not of_rows:
        conflict = _conflict(error, query, frame, first)
        if conflict is None:
            raise error
        raise conflict from error
    row, complaint = min(of_rows, key=lambda pair: pair[0])
    raise renamed(complaint, f"row {first + row}: {complaint}") from error


def _complaint(aggregation: Aggregation, frame: Frame, codes: Array) -> tuple[int, Exception] | None:
    """The first row whose value cannot be lifted, combined with those of its key before it, or lowered with them."""
    columns = [frame.to_list(column) for column in aggregation.columns]
    values = columns[0] if len(columns) == 1 else zip(*columns, strict=True) if columns else [None] * len(frame)
    totals: dict[Any, Any] = {}
    of_lower: tuple[int, Exception] | None = None
    for row, (key, value) in enumerate(zip(codes.tolist(), values, strict=True)):
        try:
            partial = aggregation.lift(value)
            totals[key] = combined(aggregation, totals.get(key), partial)
        except Exception as error:  # whatever a user's functions raise
            return row, error
        if of_lower is None:
            try:
                lowered(aggregation, totals[key])
            except Exception as error:
                of_lower = row, error
    return of_lower


def _conflict(error: Exception, query: Query, frame: Frame, first: int) -> Exception | None:
    """An error that names the first value of the last type in ``error``: it conflicts with values before the batch."""
    (younger,) = _TYPES.findall(str(error))[-1:] or [""]
    for aggregation in query.aggregates.values():
        for column in aggregation.columns if repr(aggregation) in str(error) else ():
            for row, value in enumerate(frame.to_list(column)):
                if younger in (type(value).__name__, f"{type(value).__module__}.{type(value).__name__}"):
                    place, got = f"column {column!r}, row {first + row}", f"{value!r} of type {type(value).__name__}"
                    return renamed(error, f"{place}: expected values as before; got {got}: {error}")
    return None


_TYPES = re.compile(r"'([A-Za-z][\w.]*)'")
