"""Slices in blocks, which are written once and deleted once, so that saving costs what is new.

    slices of a key, by number   |  512 … 1023 | 1024 … 1535 | 1536 …  1600   1601 |
                                 |   block 1   |   block 2   |  final          open |
                                    written once, immutable    in the header, with what is known of each key

Slices that can change no more are final; 512 of them, by their number in the key's stream, are a block. Keys have
serial numbers, which stay when others are forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from sash.aggregations.base import Aggregation
from sash.state.lane_state import BLOCK, LaneState, SliceColumns
from sash.state.snapshot_format import (
    BLOCK_OF_SLICES,
    StateError,
    constant_or_packed,
    open_envelope,
    read_constant,
    read_slices,
    slice_parts,
)
from sash.state.time_columns import convert_units
from sash.state.values import loads
from sash.values.arrays import Array

__all__ = ["BlockId", "Contents", "Ledger", "check_blocks", "digest", "read_blocks", "take_blocks", "total"]

BlockId = tuple[str, int, int]
"""The column that orders the lane, or ""; the serial number of the key; the number of the block."""


class Ledger(NamedTuple):
    """The blocks of a lane in a state: keys' serial numbers, rising, the first block, the one after the last."""

    serials: Array
    starts: Array
    stops: Array

    @staticmethod
    def none() -> Ledger:
        """No block."""
        return Ledger(*(np.zeros(0, np.int64) for _ in range(3)))

    @staticmethod
    def of(lane: LaneState, serials: Array) -> Ledger:
        """The whole blocks of final slices that a lane has. O(keys)."""
        starts = lane.keys.numbered // BLOCK
        return Ledger(serials, starts, np.maximum(starts, (lane.keys.numbered + lane.final) // BLOCK))

    def without(self, other: Ledger) -> Iterator[tuple[int, int, int]]:
        """(place here, serial, block) of the blocks that the other one does not have. O(keys + such blocks)."""
        place = np.searchsorted(other.serials, self.serials)
        place = np.minimum(place, max(0, len(other.serials) - 1))
        there = other.serials[place] == self.serials if len(other.serials) else np.zeros(len(self.serials), np.bool_)
        start, stop = self.starts.copy(), self.stops.copy()  # what the other one has, cut to what is here
        start[there] = np.clip(other.starts[place[there]], self.starts[there], self.stops[there])
        stop[there] = np.clip(other.stops[place[there]], start[there], self.stops[there])
        stop[~there] = start[~there]
        for at in np.flatnonzero((start > self.starts) | (stop < self.stops)).tolist():
            serial = int(self.serials[at])
            for block in chain(range(self.starts[at], start[at]), range(stop[at], self.stops[at])):
                yield at, serial, block

    def parts(self) -> Any:
        """What is written of it, besides the serial numbers."""
        if (self.starts == self.stops).all():
            return None
        return constant_or_packed(self.starts), constant_or_packed(self.stops - self.starts)

    @staticmethod
    def read(written: Any, serials: Array) -> Ledger:
        """The ledger of these :meth:`parts`."""
        starts, sizes = (read_constant(part, len(serials)) for part in ((0, 0) if written is None else written))
        return Ledger(serials, starts, starts + sizes)


@dataclass
class Contents:
    """What a state holds. Lanes are by the column that orders them, "" for the order of arrival.

    ``keys`` is what is written of a :class:`~sash.frames.key_table.KeyTable`; ``extra`` is what else the operator
    knows. ``serials`` are numbers of the keys that stay when others are forgotten, rising; ``blocks`` are those that
    are written already, by lane, and ``digests`` those of their bytes.
    """

    extra: dict[str, Any]
    keys: Any
    lanes: dict[str, LaneState]
    serials: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    blocks: dict[str, Ledger] = field(default_factory=dict)
    digests: dict[BlockId, int] = field(default_factory=dict)


def take_blocks(
    lane: LaneState, order: str, ledger: Ledger, known: Ledger
) -> tuple[SliceColumns, dict[BlockId, tuple[Any, ...]]]:
    """The slices of a lane that are in no block, and what is written of the blocks that are not known. O(slices)."""
    slices, numbered = lane.slices, lane.keys.numbered
    begins = np.searchsorted(slices.codes, np.arange(len(lane.keys)))
    in_blocks = np.where(ledger.stops > ledger.starts, ledger.stops * BLOCK - numbered, 0)
    rank = np.arange(len(slices)) - begins[slices.codes]
    new = {
        (order, serial, block): _block_parts(slices, int(begins[at]), int(numbered[at]), (order, serial, block))
        for at, serial, block in ledger.without(known)
    }
    return (slices.take(rank >= in_blocks[slices.codes]) if in_blocks.any() else slices), new


def _block_parts(slices: SliceColumns, begin: int, numbered: int, name: BlockId) -> tuple[Any, ...]:
    """What is written of a block; some of its slices may have left before."""
    number = max(name[2] * BLOCK, numbered)
    slices_of_block = slices.take(slice(begin + number - numbered, begin + (name[2] + 1) * BLOCK - numbered))
    return (*name[:2], number, slice_parts(slices_of_block, np.array([len(slices_of_block)])))


def digest(block: bytes) -> int:
    """The identity of a block: other streams have blocks with the same ids. O(bytes)."""
    return int.from_bytes(blake2b(block, digest_size=8).digest(), "little")


def total(digests: Mapping[BlockId, int], order: str) -> int:
    """The digests of all blocks of a lane as one number, which its header has. O(blocks)."""
    return sum(of_block for name, of_block in digests.items() if name[0] == order) % 2**64


def check_blocks(order: str, ledger: Ledger, blocks: Mapping[BlockId, bytes], known: int | None) -> dict[BlockId, int]:
    """The digests of a lane's blocks; refuses blocks other than those of the header, whose :func:`total` is ``known``.

    None: it is of an older version, which did not write the total. O(bytes).
    """
    names = [(order, serial, block) for _, serial, block in ledger.without(Ledger.none())]
    digests = {name: digest(blocks[name]) for name in names}
    if known is not None and total(digests, order) != known:
        raise StateError(
            "the saved state is damaged: its blocks are not those of its header, but of another stream, or of another "
            "time, or changed"
        )
    return digests


def read_blocks(
    lane: LaneState,
    order: str,
    ledger: Ledger,
    blocks: Mapping[BlockId, bytes],
    aggregates: Sequence[Aggregation],
    trusted: bool,
) -> SliceColumns:
    """All slices of a lane: those of its blocks, and those that are in none. O(slices)."""
    tables = []
    for at, serial, block in ledger.without(Ledger.none()):
        slices = _read_block(blocks, (order, serial, block), int(lane.keys.numbered[at]), trusted)
        slices = replace(slices, codes=np.full(len(slices), at))
        tables.append(_convert_slices(slices, lane.slices.dtypes, aggregates))
    return SliceColumns.concatenate([*tables, lane.slices]) if tables else lane.slices


def _read_block(blocks: Mapping[BlockId, bytes], name: BlockId, numbered: int, trusted: bool) -> SliceColumns:
    """The slices of a block that have not left since."""
    if name not in blocks:
        raise StateError(f"the saved state is incomplete: block {name[2]} of key number {name[1]} is missing")
    envelope = open_envelope(blocks[name])
    envelope.require([BLOCK_OF_SLICES])
    body = loads(envelope.sections[0], trusted)
    order, serial, number, parts = _upgrade(body) if envelope.version == 1 else body
    slices = read_slices(parts, 1)
    if (order, serial, number // BLOCK, number + len(slices)) != (*name, (name[2] + 1) * BLOCK):
        raise StateError(
            f"the saved state is damaged: another block is in the place of block {name[2]} of key number {name[1]}"
        )
    return slices.take(slice(max(0, numbered - number), None))


def _upgrade(body: Any) -> Any:
    """A block of format version 1, as version 2 has it. It does not say what types its partials are of."""
    order, serial, number, close, last, count, columns = body
    size = len(close[-1])
    parts = (size, close, None if last is None else (last,), 1 if count is None else count, columns, (), None)
    return order, serial, number, parts


def _convert_slices(slices: SliceColumns, dtypes: Any, aggregates: Sequence[Aggregation]) -> SliceColumns:
    """Slices with timestamps in the units of these types: columns may have changed their type since."""
    if not slices.dtypes or slices.dtypes == dtypes:
        return replace(slices, dtypes=dtypes)
    columns = zip(aggregates, slices.partials, slices.dtypes, dtypes, strict=True)
    return replace(slices, partials=tuple(convert_units(*column) for column in columns), dtypes=dtypes)
