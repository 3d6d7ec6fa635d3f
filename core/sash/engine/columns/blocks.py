"""The slices of many keys in blocks, which are written once and deleted once: so that saving costs what is new.

    slices of a key, by number   |  512 … 1023 | 1024 … 1535 | 1536 …  1600   1601 |
                                 |   block 1   |   block 2   |  final          open |
                                    written once, immutable    in the header, with what is known of each key

As in :mod:`sash.state.lane_bytes`, for lanes that run by columns. Keys have serial numbers, which stay when others are
forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from sash.engine.columns.keys import altered
from sash.engine.columns.state import State
from sash.engine.columns.state_bytes import _close, _read_close, column_parts
from sash.engine.columns.table import ones
from sash.state.envelope import BLOCK_OF_SLICES, StateError, opened, sealed
from sash.state.lane_state import BLOCK
from sash.state.parts import _column, _read_column
from sash.state.untagged import dumps, loads
from sash.values.partial_column import PartialColumn

__all__ = ["BlockId", "Changes", "Ledger", "joined_parts", "parted"]

Array = np.ndarray[Any, Any]
BlockId = tuple[str, int, int]
"""The column that orders the lane, or ""; the serial number of the key; the number of the block."""


class Changes(NamedTuple):
    """What has to be written of a state and deleted since it was last saved: the header is always new."""

    header: bytes
    written: dict[BlockId, bytes]
    deleted: list[BlockId]


class Ledger(NamedTuple):
    """Which blocks of a lane belong to a state: keys' serial numbers, rising, the first block, that behind the last."""

    serials: Array
    starts: Array
    stops: Array

    @staticmethod
    def none() -> Ledger:
        """No block."""
        return Ledger(*(np.zeros(0, np.int64) for _ in range(3)))

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


def parted(
    state: State, serials: Array, in_order: bool, buffered: bool, order: str, known: Ledger, trusted: bool
) -> tuple[tuple[Any, ...], Ledger, dict[BlockId, bytes], list[BlockId]]:
    """A lane's parts without the slices in blocks; the blocks that there are, those that are new, those to delete."""
    table, evicted = state.table, state.keys.evicted
    begins, final = table.begins(len(state.keys)), state.rules.final(table, state.keys, in_order)
    starts = evicted // BLOCK
    stops = np.maximum(starts, (evicted + final) // BLOCK)
    ledger = Ledger(serials, starts, stops)
    inside = np.where(stops > starts, stops * BLOCK - evicted, 0)  # so many slices of each key are in blocks
    rank = np.arange(len(table)) - begins[table.code]
    rest = altered(state, table=table.take(rank >= inside[table.code]))
    new = [(at, serial, block, _slices(block, int(evicted[at]))) for at, serial, block in ledger.without(known)]
    places = [begins[at] + np.arange(*(number - evicted[at] for number in numbers)) for at, _, _, numbers in new]
    written = dict(_blocks(state, new, places, order, trusted))
    deleted = [(order, serial, block) for _, serial, block in known.without(ledger)]
    return (*column_parts(rest, buffered), tuple(ledger)), ledger, written, deleted


def _slices(block: int, evicted: int) -> tuple[int, int]:
    """The numbers of the slices that a block has when it is written: some may have left before."""
    return max(block * BLOCK, evicted), (block + 1) * BLOCK


def _blocks(
    state: State, new: list[Any], places: list[Array], order: str, trusted: bool
) -> Iterator[tuple[BlockId, bytes]]:
    if not new:
        return
    own = state.table.take(np.concatenate(places))
    columns = [each.form.to_column(part) for each, part in zip(state.aggregates, own.partials, strict=True)]
    upto = 0
    for (_, serial, block, numbers), of in zip(new, places, strict=True):
        part = slice(upto, upto + len(of))
        upto = part.stop
        times = _times(own.first[part], own.last[part], own.count[part])
        body = dumps((order, serial, numbers[0], *times, [_column(column[part]) for column in columns]), trusted)
        yield (order, serial, block), sealed(BLOCK_OF_SLICES, [body])


def _times(first: Array, last: Array, count: Array) -> tuple[Any, ...]:
    """When slices begin and end and how many tuples they have, in few bytes where they are as usual."""
    close = _close(first, np.array([0, len(first)]))
    return close, None if np.array_equal(first, last) else last, None if (count == 1).all() else count


def _read_times(close: tuple[Any, ...], last: Array | None, count: Array | None, sizes: Array) -> list[Array]:
    first = _read_close(close, sizes)
    return [first, first if last is None else last, ones(len(first)) if count is None else count]


def joined_parts(
    written: tuple[Any, ...], order: str, blocks: Mapping[BlockId, bytes], trusted: bool
) -> tuple[tuple[Any, ...], Ledger]:
    """The parts of a lane with the slices of its blocks among them, as if there were none; and which there are."""
    *parts, known = written
    ledger = Ledger(*(np.asarray(each) for each in known))
    kind, keys, marks, (sizes, close, last, count, columns), *others = parts
    pieces = [
        (at, *_read_block(blocks, (order, serial, block), int(keys["evicted"][at]), trusted))
        for at, serial, block in ledger.without(Ledger.none())
    ]
    if not pieces:
        return tuple(parts), ledger
    rest = _read_times(close, last, count, sizes)
    codes = np.concatenate(
        [*(np.full(len(piece[1]), piece[0]) for piece in pieces), np.repeat(np.arange(len(sizes)), sizes)]
    )
    by_key = np.argsort(codes, kind="stable")  # blocks come in their order, and what is in none comes behind
    whole = [np.concatenate([*(piece[1 + i] for piece in pieces), rest[i]])[by_key] for i in range(3)]
    merged = [
        _column(PartialColumn.concatenate([*(piece[4][i] for piece in pieces), _read_column(column)])[by_key])
        for i, column in enumerate(columns)
    ]
    slices = (np.bincount(codes, minlength=len(sizes)), (whole[0],), whole[1], whole[2], merged)
    return (kind, keys, marks, slices, *others), ledger


def _read_block(blocks: Mapping[BlockId, bytes], name: BlockId, evicted: int, trusted: bool) -> tuple[Any, ...]:
    """The slices of a block that have not left since."""
    if name not in blocks:
        raise StateError(f"the saved state is incomplete: block {name[2]} of key number {name[1]} is missing")
    body = loads(opened(blocks[name], BLOCK_OF_SLICES, 1)[0], trusted)
    order, serial, begin, close, last, count, columns = body
    if (order, serial, begin // BLOCK) != name:
        raise StateError(
            f"the saved state is damaged: another block is in the place of block {name[2]} of key number {name[1]}"
        )
    size = (name[2] + 1) * BLOCK - begin
    times, read = _read_times(close, last, count, np.array([size])), [_read_column(column) for column in columns]
    if {*map(len, times), *map(len, read)} != {size}:
        raise StateError(f"the saved state is damaged: block {name[2]} of key number {name[1]} has another size")
    left = slice(max(0, evicted - begin), None)
    return *(each[left] for each in times), [column[left] for column in read]
