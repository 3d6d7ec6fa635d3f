"""State: what is kept of a stream. This is the only place that writes and reads it as bytes.

A header has all that is not in blocks (:mod:`sash.state.blocks`); a whole snapshot is a header without blocks.
docs/state.md describes the format byte by byte. States of version 1 are read too (:mod:`sash.state.v1`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np

from sash.query import Query
from sash.state import v1
from sash.state.blocks import BlockId, Contents, Ledger, check_blocks, digest, read_blocks, take_blocks, total
from sash.state.fingerprint import Fingerprint, compatible, fingerprint
from sash.state.lane_state import KeyColumns, LaneState, SliceColumns, WindowColumns
from sash.state.snapshot_format import (
    BLOCK_OF_SLICES,
    HEADER,
    WHOLE,
    StateError,
    constant_or_packed,
    open_envelope,
    pack,
    read_constant,
    read_slices,
    read_tuples,
    seal,
    slice_parts,
    state_errors,
    tuple_parts,
    unpack,
)
from sash.state.values import dumps, loads
from sash.values.arrays import Array

__all__ = ["Changes", "Contents", "Kept", "check", "read", "read_parts", "write", "write_parts"]


class Changes(NamedTuple):
    """What to write and delete of a state since it was last saved; the header is always new."""

    header: bytes
    written: dict[BlockId, bytes]
    deleted: list[BlockId]


class Kept(NamedTuple):
    """What an operator keeps of the parts that were written, for the next time: fields of :class:`Contents`."""

    serials: Array
    blocks: dict[str, Ledger]
    digests: dict[BlockId, int]


def write(query: Query, contents: Contents, trusted: bool = False) -> bytes:
    """A whole snapshot. O(state), not O(keys) in Python.

    ``trusted`` allows objects of users' own types, by cloudpickle: inside an engine's state, nowhere else.
    """
    lanes = [(order, *_lane_parts(lane, lane.slices), None) for order, lane in contents.lanes.items()]
    return _seal(WHOLE, query, contents, lanes, trusted)


def write_parts(query: Query, contents: Contents, trusted: bool = False) -> tuple[Changes, Kept]:
    """What to write and delete since ``contents.blocks`` were written, and what to keep for the next time.

    A key that has no serial number yet gets one. What is written is O(new slices + keys), not O(state); the header has
    the total of the digests of all blocks, so that it goes with no others.
    """
    known, serials = contents.blocks, _extend_serials(contents)
    ledgers, lanes = {}, []
    written: dict[BlockId, bytes] = {}
    deleted: list[BlockId] = []
    for order, lane in contents.lanes.items():
        ledger = ledgers[order] = Ledger.of(lane, serials[: len(lane.keys)])
        rest, new = take_blocks(lane, order, ledger, known.get(order, Ledger.none()))
        lanes.append((order, *_lane_parts(lane, rest), ledger.parts()))
        written |= {name: seal(BLOCK_OF_SLICES, [dumps(body, trusted)]) for name, body in new.items()}
    for order, ledger in known.items():
        removed = ledger.without(ledgers.get(order, Ledger.none()))
        deleted += [(order, serial, block) for _, serial, block in removed]
    digests = contents.digests
    if written or deleted:
        removed_ids = set(deleted)
        digests = {name: known for name, known in digests.items() if name not in removed_ids}
        digests |= {name: digest(block) for name, block in written.items()}
    totals = {order: total(digests, order) for order in ledgers}
    contents = replace(contents, extra=contents.extra | {"blocks": totals})
    header = _seal(HEADER, query, contents, [serials, *lanes], trusted)
    return Changes(header, written, deleted), Kept(serials, ledgers, digests)


def _extend_serials(contents: Contents) -> Array:
    serials, keys = contents.serials, contents.keys[0]
    next_serial = serials[-1] + 1 if len(serials) else 0
    return np.concatenate([serials, np.arange(next_serial, next_serial + keys - len(serials))])


def _seal(kind: int, query: Query, contents: Contents, lanes: list[Any], trusted: bool) -> bytes:
    sections = [contents.extra, contents.keys, *lanes]
    return seal(kind, [fingerprint(query), *(dumps(section, trusted) for section in sections)])


def read(query: Query, blob: bytes, trusted: bool = False) -> Contents:
    """The contents of a whole snapshot, for a query that may have other windows. O(state).

    A window that the query no longer has is left out, one that it did not have begins after the newest tuple. A lane
    of which no window is left is left out too.
    """
    return _read(query, blob, (WHOLE, v1.KEYED), {}, trusted)


def read_parts(query: Query, header: bytes, blocks: Mapping[BlockId, bytes], trusted: bool = False) -> Contents:
    """The contents of a header and the blocks that belong to it. O(state)."""
    return _read(query, header, (HEADER, v1.KEYED_HEADER), blocks, trusted)


def check(query: Query, header: bytes) -> None:
    """Refuse, with the reason, a header that :func:`read_parts` would refuse for this query."""
    _open(query, header, (HEADER, v1.KEYED_HEADER))


def _open(query: Query, blob: bytes, kinds: tuple[int, int]) -> tuple[int, int, list[bytes]]:
    """The version, kind and sections of a state, if it is of a query that this one can go on from.

    ``kinds`` are those that version 2 and, besides, version 1 may have here.
    """
    envelope = open_envelope(blob)
    envelope.require(kinds if envelope.version == 1 else kinds[:1])
    version, kind, sections = envelope
    try:
        saved = v1.fingerprint_of(kind, sections) if version == 1 else sections[0]
        reason = compatible(saved, fingerprint(query))
        if reason is not None and compatible(saved, fingerprint(query, fields=False)) is None:
            reason = None
    except ValueError as error:
        raise StateError(f"the saved state is damaged: {error}") from error
    if reason is not None:
        raise StateError(f"the saved state is of another query: {reason}")
    return envelope


def _read(
    query: Query, blob: bytes, kinds: tuple[int, int], blocks: Mapping[BlockId, bytes], trusted: bool
) -> Contents:
    version, kind, sections = _open(query, blob, kinds)
    names, aggregates = Fingerprint.from_bytes(fingerprint(query)), list(query.computed.values())
    with state_errors():
        if version == 1:
            contents = v1.read(kind, sections, blocks, trusted)
        else:
            contents = _contents(kind, sections, trusted)
        contents.lanes = {order: lane for order, lane in contents.lanes.items() if order in names.lanes}
        totals = contents.extra.pop("blocks", {})
        for order, lane in contents.lanes.items():
            lane.check()
            if order in contents.blocks:
                ledger = contents.blocks[order]
                lane.slices = read_blocks(lane, order, ledger, blocks, aggregates, trusted)
                contents.digests |= check_blocks(order, ledger, blocks, totals.get(order))
                lane.check()
            lane.fit([name for name, (ordered_by, _) in names.windows.items() if ordered_by == order], query.values)
        return contents


def _contents(kind: int, sections: list[bytes], trusted: bool) -> Contents:
    extra, keys, *rest = [loads(section, trusted) for section in sections[1:]]
    contents, most = Contents(dict(extra), keys, {}), max(1, _key_count(keys))
    if kind == HEADER:
        contents.serials, *rest = rest
    for order, *parts, ledger in rest:
        contents.lanes[order] = lane = _read_lane(parts, most)
        if kind == HEADER:
            contents.blocks[order] = Ledger.read(ledger, contents.serials[: len(lane.keys)])
    return contents


def _key_count(keys: Any) -> int:
    """How many keys there are, as all of their columns have it."""
    size, columns = keys
    if any(len(data) != size for data, _ in columns.values()) or not 0 <= size <= (size if columns else 1):
        raise StateError("the saved state is damaged: the columns of its keys are of different lengths")
    return int(size)


# a lane


def _lane_parts(lane: LaneState, slices: SliceColumns) -> tuple[Any, ...]:
    """What is written of a lane, of whose slices some are in blocks."""
    size = len(lane.keys)
    return (
        (size, lane.advanced, lane.buffered, lane.merges, lane.late_corrected),
        tuple(constant_or_packed(getattr(lane.keys, column.name)) for column in fields(KeyColumns)),
        {name: _window_parts(window) for name, window in lane.windows.items()},
        slice_parts(slices, np.bincount(slices.codes, minlength=size)),
        tuple_parts(lane.pending),
    )


def _read_lane(written: list[Any], most: int) -> LaneState:
    """The reverse of :func:`_lane_parts`, for at most so many keys."""
    (size, advanced, buffered, merges, corrected), columns, windows, slices, pending = written
    if not 0 <= size <= most:
        raise StateError("the saved state is damaged: a lane has more keys than there are")
    return LaneState(
        KeyColumns(*(read_constant(column, size) for column in columns)),
        {name: _read_window(window, size) for name, window in windows.items()},
        read_slices(slices, size),
        read_tuples(pending),
        np.zeros(size, np.int64),
        advanced,
        buffered,
        merges,
        corrected,
    )


def _window_parts(window: WindowColumns) -> Any:
    columns, flats = (window.since, window.since_count), (window.edges, window.revisions)
    parts = [None if column is None else constant_or_packed(column) for column in columns]
    parts += [None if flat is None else (constant_or_packed(flat[0]), *map(pack, flat[1:])) for flat in flats]
    return None if all(part is None for part in parts) else parts


def _read_window(written: Any, size: int) -> WindowColumns:
    if written is None:
        return WindowColumns()
    columns = (None if column is None else read_constant(column, size) for column in written[:2])
    flats = (None if flat is None else (read_constant(flat[0], size), *map(unpack, flat[1:])) for flat in written[2:])
    parts: list[Any] = [*columns, *flats]
    return WindowColumns(*parts)
