"""Slices in blocks, which are written once and deleted once: so that saving costs what is new.

    slices of a key, by number   |  512 … 1023 | 1024 … 1535 | 1536 …  1600   1601 |
                                 |   block 1   |   block 2   |  final          open |
                                    written once, immutable    in the header, with what is known of each key

Slices that can change no more are final; 512 of them, by their number in the key's stream, are a block. Keys have
serial numbers, which stay when others are forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sash.aggregations.base import Aggregation
from sash.state.columns import constant_or_packed, read_constant, read_slices, slice_parts
from sash.state.envelope import BLOCK_OF_SLICES, StateError, open_envelope, open_sections
from sash.state.lane_state import BLOCK, LaneState, SliceColumns
from sash.state.partial_units import in_units
from sash.state.v1 import upgrade_block
from sash.state.values import loads
from sash.values.arrays import Array

__all__ = ["BlockId", "Ledger", "read_blocks", "take_blocks"]

BlockId = tuple[str, int, int]
"""The column that orders the lane, or ""; the serial number of the key; the number of the block."""


class Ledger(NamedTuple):
    """Which blocks of a lane belong to a state: keys' serial numbers, rising, the first block, that behind the last."""

    serials: Array
    starts: Array
    stops: Array

    @staticmethod
    def none() -> Ledger:
        """No block."""
        return Ledger(*(np.zeros(0, np.int64) for _ in range(3)))

    @staticmethod
    def of(lane: LaneState, serials: Array) -> Ledger:
        """The whole blocks of final slices that a lane has."""
        starts = lane.keys.numbered // BLOCK
        return Ledger(serials, starts, np.maximum(starts, (lane.keys.numbered + lane.final) // BLOCK))

    def without(self, other: Ledger) -> Iterator[tuple[int, int, int]]:
        """(place here, serial, block) of the blocks that the other one does not have. O(keys) and what is found."""
        place = np.searchsorted(other.serials, self.serials)
        place = np.minimum(place, max(0, len(other.serials) - 1))
        there = other.serials[place] == self.serials if len(other.serials) else np.zeros(len(self.serials), np.bool_)
        start, stop = self.starts.copy(), self.stops.copy()  # what the other one has, cut to what is here
        start[there] = np.clip(other.starts[place[there]], self.starts[there], self.stops[there])
        stop[there] = np.clip(other.stops[place[there]], start[there], self.stops[there])
        stop[~there] = start[~there]
        for at in np.flatnonzero((start > self.starts) | (stop < self.stops)).tolist():
            serial = int(self.serials[at])
            for block in (*range(self.starts[at], start[at]), *range(stop[at], self.stops[at])):
                yield at, serial, block

    def parts(self) -> Any:
        """What is written of it, besides the serial numbers."""
        if (self.starts == self.stops).all():
            return None
        return constant_or_packed(self.starts), constant_or_packed(self.stops - self.starts)

    @staticmethod
    def read(written: Any, serials: Array) -> Ledger:
        """What :meth:`parts` was written of."""
        if written is None:
            return Ledger(serials, np.zeros(len(serials), np.int64), np.zeros(len(serials), np.int64))
        starts, sizes = (read_constant(part, len(serials)) for part in written)
        return Ledger(serials, starts, starts + sizes)


def take_blocks(
    lane: LaneState, order: str, ledger: Ledger, known: Ledger
) -> tuple[SliceColumns, dict[BlockId, tuple[Any, ...]]]:
    """The slices of a lane that are in no block, and what is written of the blocks that are not known. O(slices)."""
    slices, numbered = lane.slices, lane.keys.numbered
    begins = np.searchsorted(slices.codes, np.arange(len(lane.keys)))
    inside = np.where(ledger.stops > ledger.starts, ledger.stops * BLOCK - numbered, 0)
    rank = np.arange(len(slices)) - begins[slices.codes]
    new = {
        (order, serial, block): _block(slices, int(begins[at]), int(numbered[at]), (order, serial, block))
        for at, serial, block in ledger.without(known)
    }
    return (slices.take(rank >= inside[slices.codes]) if inside.any() else slices), new


def _block(slices: SliceColumns, begin: int, numbered: int, name: BlockId) -> tuple[Any, ...]:
    """A block; of its slices, some may have left before it is written."""
    number = max(name[2] * BLOCK, numbered)
    places = slice(begin + number - numbered, begin + (name[2] + 1) * BLOCK - numbered)
    own = slices.take(places)
    return (*name[:2], number, slice_parts(own, np.array([len(own)])))


def read_blocks(
    lane: LaneState,
    order: str,
    ledger: Ledger,
    blocks: Mapping[BlockId, bytes],
    aggregates: Sequence[Aggregation],
    trusted: bool,
) -> SliceColumns:
    """All slices of a lane: those of its blocks, and those that are in none."""
    tables = []
    for at, serial, block in ledger.without(Ledger.none()):
        own = _read_block(blocks, (order, serial, block), int(lane.keys.numbered[at]), trusted)
        tables.append(_as_in(replace(own, codes=np.full(len(own), at)), lane.slices, aggregates))
    return SliceColumns.concatenate([*tables, lane.slices]) if tables else lane.slices


def _read_block(blocks: Mapping[BlockId, bytes], name: BlockId, numbered: int, trusted: bool) -> SliceColumns:
    """The slices of a block that have not left since."""
    if name not in blocks:
        raise StateError(f"the saved state is incomplete: block {name[2]} of key number {name[1]} is missing")
    body = loads(open_sections(blocks[name], BLOCK_OF_SLICES, 1)[0], trusted)
    if open_envelope(blocks[name]).version == 1:
        body = upgrade_block(body)
    order, serial, number, parts = body
    slices = read_slices(parts, 1)
    if (order, serial, number // BLOCK, number + len(slices)) != (*name, (name[2] + 1) * BLOCK):
        raise StateError(
            f"the saved state is damaged: another block is in the place of block {name[2]} of key number {name[1]}"
        )
    return slices.take(slice(max(0, numbered - number), None))


def _as_in(own: SliceColumns, like: SliceColumns, aggregates: Sequence[Aggregation]) -> SliceColumns:
    """Slices with timestamps in the units that those of the header have: columns may have changed their type since."""
    if not own.dtypes or own.dtypes == like.dtypes:
        return replace(own, dtypes=like.dtypes)
    types = zip(own.dtypes, like.dtypes, strict=True)
    columns = zip(aggregates, own.partials, types, strict=True)
    return replace(own, partials=tuple(in_units(of, column, *pair) for of, column, pair in columns), dtypes=like.dtypes)
