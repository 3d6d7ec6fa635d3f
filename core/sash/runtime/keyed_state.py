"""The state of the operator of many keys as bytes: as one piece, or in parts that are written once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from sash.engine.columns.blocks import BlockId, Changes, Ledger, joined_parts
from sash.engine.keyed_lanes import KeyedLane
from sash.frames.key_table import KeyTable
from sash.query import Query
from sash.query.lanes import OwnWatermark
from sash.state.envelope import StateError, opened, sealed
from sash.state.fingerprint import compatible, fingerprint
from sash.state.untagged import dumps, loads
from sash.values.time_codec import TimeCodec

__all__ = ["KeyedState"]

KEYED, KEYED_HEADER = 4, 5
"""What an envelope holds: the state of many keys, or all of it but what is in blocks."""


class KeyedState:
    """What a :class:`sash.runtime.keyed.KeyedOperator` remembers, and how that is saved and restored."""

    _lanes: list[KeyedLane]

    def __init__(self, query: Query, *, own_watermark: OwnWatermark = False) -> None:
        self.query = query
        self._own = own_watermark
        self._keys = KeyTable(query.keys)
        self._codecs: dict[str, TimeCodec] = {}
        self._rows = 0
        self._gone: Counter[str] = Counter()  # what keys that were forgotten had counted
        self._serials = np.zeros(0, np.int64)  # of the keys, for the blocks of their slices
        self._blocks: dict[str, Ledger] = {}  # those that were written when parts were last saved, by lane

    def snapshot(self, *, trusted: bool = False) -> bytes:
        """The state of all keys as bytes, from which :meth:`restore` goes on. O(state), not O(keys) in Python.

        ``trusted`` as for :meth:`sash.Operator.snapshot`.
        """
        lanes = [(each.planned.lane.order or "", each.parts()) for each in self._lanes]
        return self._sealed(KEYED, {}, lanes, trusted)

    def _sealed(self, kind: int, more: dict[str, Any], lanes: list[Any], trusted: bool) -> bytes:
        extra = {
            "codecs": {order: codec.text for order, codec in self._codecs.items()},
            "rows": self._rows,
            "gone": dict(self._gone),
            "keys": list(self.query.keys),
        }
        sections = [extra | more, self._keys.parts(), *lanes]
        return sealed(kind, [fingerprint(self.query), *(dumps(section, trusted) for section in sections)])

    def snapshot_parts(self, *, trusted: bool = False) -> Changes:
        """What to write and what to delete since the last call, or since :meth:`restore_parts`.

        Of a key that runs by columns, slices that can change no more are written once, in blocks of 512, and deleted
        once: what is written is O(new slices + keys), not O(state). A lane that runs row by row is in the header.

        >>> import sash
        >>> from sash.runtime.keyed import KeyedOperator
        >>> op = KeyedOperator(sash.Query(key="k", windows=sash.sliding(2000), aggregates={"n": sash.Sum("x")}))
        >>> blocks = {}
        >>> for _ in range(3):
        ...     _ = op.process_batch({"k": ["a"] * 800, "x": [1] * 800})
        ...     header, new, deleted = op.snapshot_parts()
        ...     blocks = {name: block for name, block in (blocks | new).items() if name not in deleted}
        ...     print(len(new), len(blocks))
        1 1
        2 3
        1 4
        >>> KeyedOperator.restore_parts(op.query, header, blocks).process_batch({"k": ["a"], "x": [5]})["n"]
        [2004]
        """
        behind = self._serials[-1] + 1 if len(self._serials) else 0
        more = np.arange(behind, behind + len(self._keys) - len(self._serials))
        serials = np.concatenate([self._serials, more])
        lanes, ledgers = [], {}
        written: dict[BlockId, bytes] = {}
        deleted: list[BlockId] = []
        for each in self._lanes:
            order = each.planned.lane.order or ""
            parts, ledgers[order], new, old = each.parted(serials, self._blocks.get(order, Ledger.none()), trusted)
            lanes.append((order, parts))
            written |= new
            deleted += old
        for order in self._blocks.keys() - ledgers.keys():  # a lane that the query no longer has
            deleted += [(order, serial, block) for _, serial, block in self._blocks[order].without(Ledger.none())]
        changes = Changes(self._sealed(KEYED_HEADER, {"serials": serials}, lanes, trusted), written, deleted)
        before = self._serials, self._blocks
        try:
            self._serials, self._blocks = serials, ledgers
            return changes
        except BaseException:  # what nobody was given is not saved
            self._serials, self._blocks = before
            raise

    @classmethod
    def restore(cls, query: Query, blob: bytes, *, own_watermark: OwnWatermark = False, trusted: bool = False) -> Self:
        """An operator that goes on where a snapshot was taken. Windows that are new to it begin now.

        >>> import sash
        >>> from sash.runtime.keyed import KeyedOperator
        >>> query = sash.Query(key="plug", windows=sash.sliding(2), aggregates={"peak": sash.Max("load")})
        >>> op = KeyedOperator(query)
        >>> op.process_batch({"plug": ["a"], "load": [3]})
        {'plug': [], 'window_start': [], 'window_end': [], 'peak': []}
        >>> KeyedOperator.restore(query, op.snapshot()).process_batch({"plug": ["a"], "load": [2]})
        {'plug': ['a'], 'window_start': [0], 'window_end': [2], 'peak': [3]}
        """
        return cls._restored(query, blob, KEYED, None, own_watermark, trusted)

    @classmethod
    def restore_parts(
        cls,
        query: Query,
        header: bytes,
        blocks: Mapping[BlockId, bytes],
        *,
        own_watermark: OwnWatermark = False,
        trusted: bool = False,
    ) -> Self:
        """:meth:`restore` from the last header that :meth:`snapshot_parts` gave, and all blocks not deleted since."""
        return cls._restored(query, header, KEYED_HEADER, blocks, own_watermark, trusted)

    @staticmethod
    def check_parts(query: Query, header: bytes) -> None:
        """Refuse, with the reason, a header that :meth:`restore_parts` would refuse for this query."""
        _fitting(query, header, KEYED_HEADER)

    @classmethod
    def _restored(
        cls,
        query: Query,
        blob: bytes,
        kind: int,
        blocks: Mapping[BlockId, bytes] | None,
        own: OwnWatermark,
        trusted: bool,
    ) -> Self:
        sections = _fitting(query, blob, kind)
        op = cls(query, own_watermark=own)
        try:
            extra, keys, *lanes = [loads(section, trusted) for section in sections]
            if blocks is not None:
                op._serials = extra["serials"]
                lanes = [(order, op._joined(order, written, blocks, trusted)) for order, written in lanes]
            op._load(extra, keys, dict(lanes))
        except StateError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise StateError(f"the saved state cannot be read: {error}") from error
        return op

    def _joined(self, order: str, written: tuple[Any, ...], blocks: Mapping[BlockId, bytes], trusted: bool) -> Any:
        if written[0] == "rows":
            return written
        parts, self._blocks[order] = joined_parts(written, order, blocks, trusted)
        return parts

    def _load(self, extra: dict[str, Any], keys: Any, written: dict[str, Any]) -> None:
        if extra["keys"] != list(self.query.keys):
            raise StateError(
                f"the saved state is of another query: its key is {extra['keys']}, that of the query is "
                f"{list(self.query.keys)}"
            )
        self._codecs = {order: TimeCodec.from_text(text) for order, text in extra["codecs"].items()}
        self._rows, self._gone = extra["rows"], Counter(extra["gone"])
        self._keys = KeyTable.read(self.query.keys, keys)
        for each in self._lanes:
            order = each.planned.lane.order or ""
            if order in written:
                each.read(written[order])


def _fitting(query: Query, blob: bytes, kind: int) -> list[bytes]:
    """The sections of a state behind its fingerprint, if it is of a query that this one can go on from."""
    was, *sections = opened(blob, kind, 3)
    try:
        reason = compatible(was, fingerprint(query))
    except ValueError as error:
        raise StateError(f"the saved state is damaged: {error}") from error
    if reason is not None:
        raise StateError(f"the saved state is of another query: {reason}")
    return sections
