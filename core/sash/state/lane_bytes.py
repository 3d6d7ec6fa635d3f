"""The bytes of a state: a header that is written each time, and blocks of slices that are written once.

```
slices by number   |  512 … 1023 | 1024 … 1535 | 1536 …  1600   1601 |
                   |   block 1   |   block 2   |  final          open |
                      written once, immutable    in the header
```

Slices that can change no more are final; 512 of them, by their number in the stream, are a block. The header has all
else: the fingerprint of the query, what each lane and window knows, the slices behind the last block, the tuples that
wait, and which blocks belong to it. Saving costs O(what is not yet in blocks); docs/state.md is the format, byte
by byte.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple
from zlib import crc32

from sash.state.envelope import BLOCK_OF_SLICES, HEADER, LENGTH, WHOLE, StateError, opened, sealed
from sash.state.fingerprint import Fingerprint, compatible
from sash.state.lane_state import BLOCK, LaneState, Tuple, WindowState
from sash.state.parts import joined, read_table, read_tuples, table_parts, tail, tuple_parts
from sash.state.untagged import dumps, loads

__all__ = ["BLOCK", "Snapshot", "StateError", "decode", "encode", "from_bytes", "to_bytes"]

_APART = ("slices", "pending", "windows")  # fields of a lane that are not written as they are


class Snapshot(NamedTuple):
    """A state in bytes: the header, and the blocks by their ids; ``live`` are the ids of all that belong to it."""

    header: bytes
    blocks: dict[int, bytes]
    live: tuple[int, ...] = ()


def encode(
    fingerprint: bytes,
    lanes: Mapping[str, LaneState],
    extra: Mapping[str, Any],
    known: Collection[int] = (),
    trusted: bool = False,
) -> Snapshot:
    """The bytes of the lanes, by the column that orders them ("" for the order of arrival).

    Blocks whose ids are ``known``, because they were written before, are not written again; those that are known but no
    longer ``live`` can be deleted. ``trusted`` allows objects of users' own types, by cloudpickle: inside an engine's
    state, nowhere else.
    """
    sections, blocks, live = [fingerprint, dumps(dict(extra), trusted)], {}, []
    for (order, lane), prefix in zip(sorted(lanes.items()), _prefixes(sorted(lanes)), strict=True):
        ids = _whole_blocks(lane)
        for block in ids:
            live.append(prefix + block)
            if prefix + block not in known:
                begin = max(block * BLOCK, lane.numbered)
                body = (
                    order,
                    begin,
                    table_parts(lane.slices, begin - lane.numbered, (block + 1) * BLOCK - lane.numbered),
                )
                blocks[prefix + block] = sealed(BLOCK_OF_SLICES, [dumps(body, trusted)])
        begin = ids.stop * BLOCK - lane.numbered if ids else 0
        known_fields = {field.name: getattr(lane, field.name) for field in fields(lane) if field.name not in _APART}
        windows = {
            name: {field.name: getattr(window, field.name) for field in fields(window)}
            for name, window in lane.windows.items()
        }
        rest = table_parts(lane.slices, begin, len(lane.slices))
        whole = (order, known_fields, windows, (prefix, ids.start, ids.stop), rest, tuple_parts(lane.pending))
        sections.append(dumps(whole, trusted))
    return Snapshot(sealed(HEADER, sections), blocks, tuple(live))


def decode(
    snapshot: Snapshot, fingerprint: bytes, trusted: bool = False
) -> tuple[dict[str, LaneState], dict[str, Any]]:
    """The lanes and the extra values of a snapshot, for the query of this fingerprint; O(the state).

    A window that the query no longer has is left out, one that it did not have begins behind the newest tuple. A lane
    of which no window is left is left out too.
    """
    was, extra, *bodies = opened(snapshot.header, HEADER, 2)
    try:
        reason = compatible(was, fingerprint)
        old, new = Fingerprint.from_bytes(was), Fingerprint.from_bytes(fingerprint)
    except ValueError as error:
        raise StateError(f"the saved state is damaged: {error}") from error
    if reason is not None:
        raise StateError(f"the saved state is of another query: {reason}")
    lanes = {}
    for body in bodies:
        try:
            order, lane = _lane(loads(body, trusted), snapshot.blocks, trusted)
        except StateError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise StateError(f"the saved state cannot be read: {error}") from error
        if order in new.lanes:
            lanes[order] = _fitted(order, lane, old, new)
    try:
        return lanes, dict(loads(extra, trusted))
    except (TypeError, ValueError) as error:
        raise StateError(f"the saved state cannot be read: {error}") from error


def to_bytes(snapshot: Snapshot) -> bytes:
    """A snapshot as one piece. It has to have all of its blocks."""
    blocks = [LENGTH.pack(block) + body for block, body in sorted(snapshot.blocks.items())]
    return sealed(WHOLE, [snapshot.header, *blocks])


def from_bytes(blob: bytes) -> Snapshot:
    """The snapshot that :func:`to_bytes` made one piece of; :class:`StateError` if it did not."""
    header, *sections = opened(blob, WHOLE, 1)
    if any(len(section) < LENGTH.size for section in sections):
        raise StateError("the saved state is damaged: a block has no number")
    blocks = {LENGTH.unpack_from(section)[0]: section[LENGTH.size :] for section in sections}
    return Snapshot(header, blocks, tuple(blocks))


def _prefixes(orders: Sequence[str]) -> list[int]:
    """What the ids of each lane's blocks begin with: 23 bits of a hash of its name, above 40 bits of number."""
    taken: list[int] = []
    for order in orders:
        prefix = crc32(order.encode("utf-8", "surrogatepass")) >> 9
        while prefix in taken:
            prefix = (prefix + 1) % 2**23
        taken.append(prefix)
    return [prefix << 40 for prefix in taken]


def _whole_blocks(lane: LaneState) -> range:
    """The numbers of the blocks that are final, and in the table at least in part."""
    stop = (lane.numbered + lane.final) // BLOCK
    start = lane.numbered // BLOCK
    return range(start, stop) if stop > start else range(0)


def _lane(written: tuple[Any, ...], blocks: Mapping[int, bytes], trusted: bool) -> tuple[str, LaneState]:
    order, known_fields, windows, (prefix, start, stop), rest, pending = written
    tables = []
    for block in range(start, stop):
        if prefix + block not in blocks:
            raise StateError(f"the saved state is incomplete: block {block} of {_named(order)} is missing")
        of, begin, table = loads(opened(blocks[prefix + block], BLOCK_OF_SLICES, 1)[0], trusted)
        read = read_table(table)
        if (of, begin // BLOCK, begin + len(read)) != (order, block, (block + 1) * BLOCK):
            raise StateError(
                f"the saved state is damaged: another block is in the place of block {block} of {_named(order)}"
            )
        tables.append(tail(read, max(0, known_fields["numbered"] - begin)))
    slices = joined([*tables, read_table(rest)])
    windows = {name: WindowState(**of) for name, of in windows.items()}
    return order, LaneState(**known_fields, slices=slices, windows=windows, pending=read_tuples(pending))


def _named(order: str) -> str:
    return f"the windows on {order!r}" if order else "the windows in the order of arrival"


def _fitted(order: str, lane: LaneState, old: Fingerprint, new: Fingerprint) -> LaneState:
    """The lane with the windows that the query has now, and kept tuples with the columns that it reads now."""
    there = {name for name, (of, _) in new.windows.items() if of == order}
    lane.windows = {name: window for name, window in lane.windows.items() if name in there}
    for name in there - set(lane.windows):
        lane.windows[name] = WindowState(since=lane.newest, since_count=lane.accepted)
    if old.values != new.values:
        places = [old.values.index(column) if column in old.values else None for column in new.values]
        lane.pending = _refitted(lane.pending, places)
        lane.slices.tuples = {place: _refitted(kept, places) for place, kept in lane.slices.tuples.items()}
    return lane


def _refitted(tuples: list[Tuple], places: list[int | None]) -> list[Tuple]:
    return [(time, tuple(None if place is None else row[place] for place in places)) for time, row in tuples]
