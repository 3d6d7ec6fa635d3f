"""The row engine's state of one key, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from heapq import heapify
from operator import itemgetter

from sash.engine.rows.bundle import Bundle
from sash.engine.rows.slicer import Slicer
from sash.engine.rows.slices import Slices
from sash.state.key_states import KeyState, SliceState
from sash.state.lane_state import WindowState

__all__ = ["copy_windows", "fill", "slice_states", "waiting"]


def slice_states(slices: Slices, bundle: Bundle) -> list[SliceState]:
    """Slices, with the partials of the aggregates apart."""
    separate = bundle.separate
    return [
        SliceState(
            slice_.first,
            slice_.last,
            slice_.count,
            separate(slice_.partial),
            None if slice_.tuples is None else list(slice_.tuples),
        )
        for slice_ in slices.all
    ]


def waiting(slicer: Slicer) -> list[tuple[object, tuple[object, ...]]]:
    """The tuples that wait, in order of arrival."""
    return [(time, values) for time, _, values in sorted(slicer.pending, key=itemgetter(1))]


def copy_windows(
    states: Mapping[str | None, WindowState], names: Sequence[str | None]
) -> dict[str | None, WindowState]:
    """Copies of windows' states."""
    return {name: states[name].copy() for name in names}


def fill(slicer: Slicer, state: KeyState, bundle: Bundle) -> None:
    """Fill a slicer with the tuples and slices of a state. The caller sets the edges afterwards."""
    slicer.accepted, slicer.newest, slicer.direct_until = state.accepted, state.newest, state.direct_until
    first = -len(state.pending)
    slicer.pending = [(time, first + number, values) for number, (time, values) in enumerate(state.pending)]
    heapify(slicer.pending)
    slicer.slices = slices = Slices(bundle)
    position = slicer.settled - sum(slice_.count for slice_ in state.slices)
    for at, saved in enumerate(state.slices):
        partial = bundle.join(saved.partials)
        slice_ = slices.insert(at, saved.first, position, partial, math.inf, saved.tuples)
        slice_.last, slice_.count, slice_.edge = saved.last, saved.count, True
        position += saved.count
    slices.journal = None
