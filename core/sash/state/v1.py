"""Reads states of format version 1, which Sash 0.1 wrote, as the state that version 2 has. Nothing is written so.

Version 1 had four kinds of envelopes besides blocks: the state of one key, as a header or whole, and the state of many,
likewise. A lane of many keys was written as columns, or as one record a key; that of one key as such a record.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import fields
from itertools import chain
from typing import Any

import numpy as np

from sash.state.blocks import Contents, Ledger
from sash.state.fingerprint import Fingerprint
from sash.state.key_states import KeyState, SliceState, gather
from sash.state.lane_state import (
    BLOCK,
    KeyColumns,
    LaneState,
    Tuple,
    TupleColumns,
    WindowColumns,
    WindowState,
)
from sash.state.snapshot_format import (
    BLOCK_OF_SLICES,
    HEADER,
    WHOLE,
    StateError,
    open_sections,
    read_column,
    read_slices,
)
from sash.state.values import loads
from sash.values.arrays import with_nulls

__all__ = ["KEYED", "KEYED_HEADER", "fingerprint_of", "read"]

KEYED, KEYED_HEADER = 4, 5
"""What an envelope of version 1 holds: the state of many keys, or all of it but what is in blocks."""
_NUMBER = struct.Struct("<Q")


def fingerprint_of(kind: int, sections: list[bytes]) -> bytes:
    """The fingerprint of the query of a state."""
    return open_sections(sections[0], HEADER, 2)[0] if kind == WHOLE else sections[0]


def read(kind: int, sections: list[bytes], blocks: Mapping[Any, bytes], trusted: bool) -> Contents:
    """The contents of an envelope, without the slices in blocks of many keys. O(state)."""
    if kind == WHOLE:
        header, *rest = sections
        numbered = {_NUMBER.unpack_from(section)[0]: section[_NUMBER.size :] for section in rest}
        return _read_one_key(open_sections(header, HEADER, 2), numbered, trusted)
    if kind == HEADER:
        return _read_one_key(sections, blocks, trusted)
    extra, keys, *lanes = [loads(section, trusted) for section in sections[1:]]
    names, contents = Fingerprint.from_bytes(sections[0]), Contents(extra, keys, {})
    contents.serials = extra.get("serials", contents.serials)
    for order, written in lanes:
        if written[0] == "rows":
            contents.lanes[order] = _lane_of_rows(written, names, order)
            continue
        if kind == KEYED_HEADER:
            *written, ledger = written
            contents.blocks[order] = Ledger(*ledger)
        contents.lanes[order] = _lane_of_columns(written)
    return contents


# one key


def _read_one_key(sections: list[bytes], blocks: Mapping[int, bytes], trusted: bool) -> Contents:
    names, extra = Fingerprint.from_bytes(sections[0]), dict(loads(sections[1], trusted))
    lanes = {}
    for section in sections[2:]:
        order, known, windows, ids, rest, pending = loads(section, trusted)
        tables = _tables(order, ids, known["numbered"], blocks, trusted)
        state = _key_state(known, windows, [*chain(*tables), *_slice_states(rest)], pending)
        lanes[order] = _gather([state], names, order, names.values, None, order in extra["buffered"])
    return Contents(extra | {"gone": {}, "keys": []}, (1, {}), lanes)


def _tables(
    order: str, ids: tuple[int, int, int], numbered: int, blocks: Mapping[int, bytes], trusted: bool
) -> list[list[SliceState]]:
    """The slices of the blocks of one key that have not left since."""
    prefix, start, stop = ids
    tables = []
    for block in range(start, stop):
        name = f"block {block} of {f'the windows on {order!r}' if order else 'the windows in the order of arrival'}"
        if prefix + block not in blocks:
            raise StateError(f"the saved state is incomplete: {name} is missing")
        lane, begin, table = loads(open_sections(blocks[prefix + block], BLOCK_OF_SLICES)[0], trusted)
        slices = _slice_states(table)
        if (lane, begin // BLOCK, begin + len(slices)) != (order, block, (block + 1) * BLOCK):
            raise StateError(f"the saved state is damaged: another block is in the place of {name}")
        tables.append(slices[max(0, numbered - begin) :])
    return tables


# records of keys


def _lane_of_rows(written: Any, names: Fingerprint, order: str) -> LaneState:
    _, records, values, rest = written
    states = [_key_state(known, windows, _slice_states(table), pending) for known, windows, table, pending in records]
    return _gather(states, names, order, values, rest["advanced"], rest["buffered"])


def _gather(
    states: list[KeyState], names: Fingerprint, order: str, values: Any, advanced: Any, buffered: bool
) -> LaneState:
    windows = [name for name, (lane, _) in names.windows.items() if lane == order]
    return gather(states, len(names.aggregates), values, windows, advanced, buffered)


def _key_state(known: Any, windows: Any, slices: list[SliceState], pending: Any) -> KeyState:
    states = {name: WindowState(**window) for name, window in windows.items()}
    return KeyState(**known, slices=slices, pending=_tuples(pending), windows=states)


def _slice_states(written: Any) -> list[SliceState]:
    first, last, count, columns, places, counts, flat = written
    tuples, at = _tuples(flat), 0
    kept: list[Any] = [None] * len(count)
    for place, size in zip(places, counts, strict=True):
        kept[place] = tuples[at : at + size]
        at += size
    lists = [column.tolist() if isinstance(column, np.ndarray) else column for column in (first, last, count)]
    partials = [read_column(column).to_list() for column in columns]
    if at != len(tuples) or any(len(column) != len(count) for column in (*lists, *partials)):
        raise StateError("the saved state is damaged: the columns of its slices are of different lengths")
    return list(map(SliceState, *lists, zip(*partials, strict=True), kept))


def _tuples(written: Any) -> list[Tuple]:
    times, values = read_column(written[0]).to_list(), [read_column(column).to_list() for column in written[1]]
    rows = zip(*values, strict=True) if values else [()] * len(times)
    return list(zip(times, rows, strict=True))


# columns of keys


def _lane_of_columns(written: Any) -> LaneState:
    _, keys, marks, (sizes, close, last, count, columns), dtypes, (codes, times, waiting), rest = written
    renamed = {"late_dropped": "dropped", "numbered": "evicted"}
    columns_of = {column.name: keys[renamed.get(column.name, column.name)] for column in fields(KeyColumns)}
    types = tuple(None if names is None else tuple(names) for names in dtypes)
    parts = (sizes, close, None if last is None else (last,), 1 if count is None else count, columns, types, None)
    return LaneState(
        KeyColumns(**columns_of),
        {name: WindowColumns.of_edge(*mark) for name, mark in marks.items()},
        read_slices(parts, len(columns_of["accepted"])),
        TupleColumns(codes, times, {name: with_nulls(*column) for name, column in waiting.items()}),
        np.zeros(len(columns_of["accepted"]), np.int64),
        rest["advanced"],
        rest["buffered"],
        rest["merges"],
    )
