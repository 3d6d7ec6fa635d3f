"""Slices that grow coarser with age: what is kept is bounded by what each window needs, whatever runs beside it.

    session        |---------------------------------------- open
    W[4, 2]                                          |---|---|
    slices before  | a | b | c | d | e | f | g | h | i | j | k
    after          |               a ⊕ … ⊕ h         | i | j | k

A window needs the slices from its start on, and slices start wherever any window does. Where no window that is still to
be emitted or corrected begins, neighbouring slices that can change no more become one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sash.engine.rows.bundle import Bundle
from sash.engine.rows.slices import Slice
from sash.engine.rows.watches.base import Watch

__all__ = ["coarsen", "next_coarsening"]


def next_coarsening(held: int) -> int:
    """How many slices must be held before it is worth another look: each slice is looked at O(1) times."""
    return 2 * held + 64


def coarsen(slices: Sequence[Slice], watches: Sequence[Watch], upto: int, horizon: Any, bundle: Bundle) -> list[Slice]:
    """The slices, of which those before number ``upto`` are merged as far as all watches allow. 1 merge a slice less.

    Nothing given is changed. Costs a window O(log slices) for each of its begins; if only tuples tell them, O(slices).
    """
    mergeable = set(range(1, upto))
    for first, watch in sorted(((watch.keep_from(horizon), watch) for watch in watches), key=lambda pair: pair[0]):
        if first >= upto or not mergeable:
            break  # none that follows needs more
        mergeable.discard(first)
        mergeable.difference_update(watch.begins(first, upto))
    merged: list[Slice] = []
    for at, slice_ in enumerate(slices):
        if at not in mergeable:
            merged.append(slice_)
            continue
        if merged[-1] is slices[at - 1]:
            merged[-1] = _copy(merged[-1])
        _append(merged[-1], slice_, bundle)
    return merged


def _copy(slice_: Slice) -> Slice:
    copy = object.__new__(Slice)
    for name in Slice.__slots__:
        setattr(copy, name, getattr(slice_, name))
    return copy


def _append(slice_: Slice, younger: Slice, bundle: Bundle) -> None:
    slice_.partial = bundle.combine(slice_.partial, younger.partial)
    slice_.last = slice_.end = younger.last  # so that no tuple is added to it any more
    slice_.count += younger.count
    slice_.tuples = None
