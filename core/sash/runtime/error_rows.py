"""Errors that name the row: a batch that cannot be aggregated is searched row by row for the first bad one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sash.frames import Frame
from sash.query import Query

__all__ = ["naming_rows"]


@contextmanager
def naming_rows(query: Query, frame: Frame, codes: Any = None, first: int = 0) -> Iterator[None]:
    """Have errors of aggregates name the row, counted from ``first``. Costs nothing unless one occurs."""
    try:
        yield
    except (TypeError, ArithmeticError) as error:
        complaint = _complaint(query, frame, codes, first)
        if complaint is None:
            raise
        raise TypeError(complaint) from error


def _complaint(query: Query, frame: Frame, codes: Any, first: int) -> str | None:
    """What is wrong with the first row that cannot be lifted, or combined with those of its key before it."""
    keys = [0] * len(frame) if codes is None else codes.tolist()
    complaints = []
    for aggregation in query.aggregates.values():
        columns = [frame.listed(column) for column in aggregation.columns]
        values = columns[0] if len(columns) == 1 else zip(*columns, strict=True) if columns else [None] * len(frame)
        totals: dict[Any, Any] = {}
        for row, (key, value) in enumerate(zip(keys, values, strict=True)):
            try:
                partial = aggregation.lift(value)
            except TypeError as error:
                complaints.append((row, str(error)))
                break
            before = totals.get(key)
            try:
                totals[key] = aggregation.combine(before, partial)
            except (TypeError, ArithmeticError) as error:
                complaints.append((row, f"{aggregation!r} cannot combine {before!r} with {partial!r}: {error}"))
                break
    if not complaints:
        return None
    row, complaint = min(complaints)
    return f"row {first + row}: {complaint}"
