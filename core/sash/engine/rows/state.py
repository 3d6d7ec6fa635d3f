"""The row engine's state as the neutral one, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from heapq import heapify
from operator import itemgetter

from sash.engine.rows.bundle import Bundle
from sash.engine.rows.slicer import Slicer
from sash.engine.rows.slices import Slices
from sash.state.lane_state import LaneState, SliceTable, WindowState
from sash.values.partial_column import PartialColumn

__all__ = ["fill", "table_of", "waiting", "windows_of"]


def table_of(slices: Slices, bundle: Bundle) -> SliceTable:
    """Slices as columns."""
    pieces = slices.all
    partials = [bundle.separate(piece.partial) for piece in pieces]
    return SliceTable(
        [piece.first for piece in pieces],
        [piece.last for piece in pieces],
        [piece.count for piece in pieces],
        tuple(PartialColumn.of([row[i] for row in partials]) for i in range(len(bundle.parts))),
        {i: list(piece.tuples) for i, piece in enumerate(pieces) if piece.tuples is not None},
    )


def waiting(slicer: Slicer) -> list[tuple[object, tuple[object, ...]]]:
    """The tuples that wait, in order of arrival."""
    return [(time, values) for time, _, values in sorted(slicer.pending, key=itemgetter(1))]


def windows_of(states: Mapping[str | None, WindowState], names: Sequence[str | None]) -> dict[str | None, WindowState]:
    """Copies of windows' states."""
    return {name: states[name].copy() for name in names}


def fill(slicer: Slicer, state: LaneState, bundle: Bundle) -> None:
    """Give a slicer the tuples and slices of a state; where edges lie, it has to be told afterwards."""
    slicer.accepted, slicer.newest, slicer.direct_until = state.accepted, state.newest, state.direct_until
    first = -len(state.pending)
    slicer.pending = [(time, first + number, values) for number, (time, values) in enumerate(state.pending)]
    heapify(slicer.pending)
    slicer.slices = Slices(bundle)
    table = state.slices
    partials = zip(*(column.to_list() for column in table.partials), strict=True)
    position = slicer.settled - sum(map(int, table.count))
    for i, parts in enumerate(partials):
        piece = slicer.slices.insert(
            i, table.first[i], position, bundle.join(tuple(parts)), math.inf, table.tuples.get(i)
        )
        piece.last, piece.count, piece.edge = table.last[i], int(table.count[i]), True
        position += piece.count
    slicer.slices.journal = None
