"""Slices and tuples as plain parts, mostly columns of numbers, that can be written, and how they are put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sash.state.envelope import StateError
from sash.state.lane_state import SliceTable, Tuple
from sash.values.partial_column import PartialColumn

__all__ = ["joined", "read_table", "read_tuples", "table_parts", "tail", "tuple_parts"]


def table_parts(slices: SliceTable, begin: int, end: int) -> tuple[Any, ...]:
    """Some slices of a table, by place: what is written of them."""
    kept = {place - begin: slices.tuples[place] for place in range(begin, end) if place in slices.tuples}
    flat = [tuple_ for tuples in kept.values() for tuple_ in tuples]
    counts = [len(tuples) for tuples in kept.values()]
    columns = [_column(column[begin:end]) for column in slices.partials]
    times = (slices.first[begin:end], slices.last[begin:end], slices.count[begin:end])
    return (*times, columns, list(kept), counts, tuple_parts(flat))


def _column(column: PartialColumn) -> tuple[Any, ...]:
    return (len(column), np.packbits(column.valid).tobytes(), column.shape, list(column.arrays), column.objects)


def tuple_parts(tuples: Sequence[Tuple]) -> tuple[Any, ...]:
    """Tuples as columns: of their times, and of each of their values."""
    times = PartialColumn.of([time for time, _ in tuples])
    values = zip(*(values for _, values in tuples), strict=True)
    return (_column(times), [_column(PartialColumn.of(column)) for column in values])


def _read_column(written: tuple[Any, ...]) -> PartialColumn:
    size, bits, shape, arrays, objects = written
    if len(bits) != (size + 7) // 8:
        raise StateError("the saved state is damaged: a column is not as long as it says")
    valid = np.unpackbits(np.frombuffer(bits, np.uint8), count=size).astype(np.bool_)
    column = PartialColumn(valid, shape, tuple(arrays), objects)
    if any(len(part) != size for part in (valid, *arrays, *([] if objects is None else [objects]))):
        raise StateError("the saved state is damaged: a column is not as long as it says")
    return column


def read_tuples(written: tuple[Any, ...]) -> list[Tuple]:
    """The tuples that :func:`tuple_parts` was given."""
    times, values = _read_column(written[0]).to_list(), [_read_column(column).to_list() for column in written[1]]
    rows = zip(*values, strict=True) if values else [()] * len(times)
    return list(zip(times, rows, strict=True))


def read_table(written: tuple[Any, ...]) -> SliceTable:
    """The slices that :func:`table_parts` was given."""
    first, last, count, columns, places, counts, flat = written
    tuples, at = read_tuples(flat), 0
    kept = {}
    for place, size in zip(places, counts, strict=True):
        kept[place] = tuples[at : at + size]
        at += size
    table = SliceTable(first, last, count, tuple(map(_read_column, columns)), kept)
    if at != len(tuples) or any(len(part) != len(count) for part in (first, last, *table.partials)):
        raise StateError("the saved state is damaged: the columns of its slices are of different lengths")
    return table


def tail(table: SliceTable, begin: int) -> SliceTable:
    """A table without its first slices, which have left since its block was written."""
    if not begin:
        return table
    tuples = {place - begin: kept for place, kept in table.tuples.items() if place >= begin}
    return SliceTable(
        table.first[begin:],
        table.last[begin:],
        table.count[begin:],
        tuple(column[begin:] for column in table.partials),
        tuples,
    )


def joined(tables: list[SliceTable]) -> SliceTable:
    """Tables one behind the other."""
    if len(tables) == 1:
        return tables[0]
    tables = [table for table in tables if len(table)] or tables[:1]
    tuples, at = {}, 0
    for table in tables:
        tuples.update({at + place: kept for place, kept in table.tuples.items()})
        at += len(table)
    first, last, count = (_sequence([getattr(table, name) for table in tables]) for name in ("first", "last", "count"))
    columns = zip(*(table.partials for table in tables), strict=True)
    return SliceTable(first, last, count, tuple(map(PartialColumn.concatenate, columns)), tuples)


def _sequence(parts: list[Any]) -> Any:
    if all(isinstance(part, np.ndarray) for part in parts) and len({part.dtype for part in parts}) == 1:
        return np.concatenate(parts)
    return [value for part in parts for value in (part.tolist() if isinstance(part, np.ndarray) else part)]
