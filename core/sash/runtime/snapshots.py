"""The state of operators as bytes, and carried over when windows come and go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, Self

import numpy as np

from sash.engine.planner import plan
from sash.frames.key_table import KeyTable
from sash.query import Query
from sash.runtime.stream import Stream
from sash.runtime.times import Times
from sash.state.envelope import StateError, opened, sealed
from sash.state.fingerprint import compatible, fingerprint
from sash.state.lane_bytes import Snapshot, decode, encode, from_bytes, to_bytes
from sash.state.untagged import dumps, loads
from sash.windows import Window

__all__ = ["KeySnapshots", "Snapshots"]

KEYED, KEYED_HEADER = 4, 5
"""What an envelope holds: the state of many keys, or all of it but what is in blocks."""


class Snapshots(Stream):
    """A stream that is saved and restored."""

    def snapshot(self, *, trusted: bool = False) -> bytes:
        """All of its state as bytes, from which :meth:`restore` goes on, here or in another runtime. O(state).

        ``trusted`` allows partials that are objects of types that Sash does not know, which are pickled: only for
        places that nobody else can write to.
        """
        lanes = [(lane.lane.order or "", lane.running.parts()) for lane in self._driver.lanes]
        return self._sealed(KEYED, {}, lanes, trusted)

    def _sealed(self, kind: int, more: dict[str, Any], lanes: list[Any], trusted: bool) -> bytes:
        extra = {
            "codecs": self._driver.times.texts(),
            "rows": self._driver.rows,
            "gone": dict(self._gone),
            "keys": list(self._key_columns),
        }
        extra |= {"closed": True} if self._closed else {}
        sections = [extra | more, self._keys.parts(), *lanes]
        return sealed(kind, [fingerprint(self.query), *(dumps(section, trusted) for section in sections)])

    def snapshot_parts(self, *, trusted: bool = False) -> Any:
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
        from sash.engine.columns.blocks import BlockId, Changes, Ledger

        behind = self._serials[-1] + 1 if len(self._serials) else 0
        more = np.arange(behind, behind + len(self._keys) - len(self._serials))
        serials = np.concatenate([self._serials, more])
        lanes, ledgers = [], {}
        written: dict[BlockId, bytes] = {}
        deleted: list[BlockId] = []
        for lane in self._driver.lanes:
            order = lane.lane.order or ""
            known = self._blocks.get(order, Ledger.none())
            parts, ledgers[order], new, old = lane.running.parted(serials, known, trusted)
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
    def restore(cls, query: Query, blob: bytes, **options: Any) -> Self:
        """An operator that goes on where a snapshot was taken. Windows that are new to it begin now.

        ``options`` are those of the operator, and ``trusted`` as for :meth:`snapshot`.

        >>> import sash
        >>> query = sash.Query(key="plug", windows=sash.sliding(2), aggregates={"peak": sash.Max("load")})
        >>> op = sash.Operator(query)
        >>> op.process({"plug": "a", "load": 3})
        []
        >>> sash.Operator.restore(query, op.snapshot()).process({"plug": "a", "load": 9})
        [{'plug': 'a', 'window_start': 0, 'window_end': 2, 'peak': 9}]
        """
        return cls._restored(query, blob, KEYED, None, **options)

    @classmethod
    def restore_parts(cls, query: Query, header: bytes, blocks: Mapping[Any, bytes], **options: Any) -> Self:
        """:meth:`restore` from the last header that :meth:`snapshot_parts` gave, and all blocks not deleted since."""
        return cls._restored(query, header, KEYED_HEADER, blocks, **options)

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
        blocks: Mapping[Any, bytes] | None,
        *,
        trusted: bool = False,
        **options: Any,
    ) -> Self:
        sections = _fitting(query, blob, kind)
        op = cls(query, **options)
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

    def _joined(self, order: str, written: tuple[Any, ...], blocks: Mapping[Any, bytes], trusted: bool) -> Any:
        from sash.engine.columns.blocks import joined_parts

        if written[0] == "rows":
            return written
        parts, self._blocks[order] = joined_parts(written, order, blocks, trusted)
        return parts

    def _load(self, extra: dict[str, Any], keys: Any, written: dict[str, Any]) -> None:
        if extra["keys"] != list(self._key_columns):
            raise StateError(
                f"the saved state is of another query: its key is {extra['keys']}, that of the query is "
                f"{list(self._key_columns)}"
            )
        self._driver.times = Times.from_texts(self.query, extra["codecs"])
        self._driver.rows, self._gone = extra["rows"], Counter(extra["gone"])
        self._closed = extra.get("closed", False)
        self._keys = KeyTable.read(self._key_columns, keys)
        for lane in self._driver.lanes:
            order = lane.lane.order or ""
            if order in written:
                engine = lane.rows() if written[order][0] == "rows" and self._mixed else lane.batches()
                engine.read(written[order])

    # windows that come and go

    def add_window(self, name: str, window: Window) -> None:
        """Have another window from now on: over the tuples behind the newest one so far. O(state).

        It gives the windows that begin behind that tuple; on counts, it counts from there.
        """
        if None in self.query.named:
            raise ValueError("windows can be added to a query whose windows have names: windows={'name': window, …}")
        if name in self.query.named:
            raise ValueError(f"there is a window {name!r} already")
        self._change({**self.query.named, name: window})

    def remove_window(self, name: str) -> None:
        """Have a window no more: what it has not given yet it never does. O(state)."""
        if name not in self.query.named:
            raise KeyError(f"there is no window {name!r}; there are {', '.join(map(repr, self.query.named))}")
        left = {key: window for key, window in self.query.named.items() if key != name}
        if not left:
            raise ValueError(f"{name!r} is the only window: close the operator instead")
        self._change(left)

    def _change(self, windows: Mapping[Any, Window]) -> None:
        self._refuse_closed()
        query = self.query.using(windows=windows)
        plan(query, self._own)  # what cannot be run is refused before anything changes
        other = type(self).restore(query, self.snapshot(trusted=True), own_watermark=self._own, trusted=True)
        other._driver.dropped = self._driver.dropped
        changes = list(vars(other).items())
        before = [(name, getattr(self, name)) for name, _ in changes]
        try:
            for name, value in changes:
                setattr(self, name, value)
        except BaseException:
            for name, value in before:
                setattr(self, name, value)
            raise


class KeySnapshots(Snapshots):
    """The same for a stream without a key, in the format of one key."""

    def snapshot(self, *, trusted: bool = False) -> bytes:
        """All of its state as bytes."""
        if self._key_columns:
            return super().snapshot(trusted=trusted)
        return to_bytes(self.snapshot_parts(trusted=trusted))

    def snapshot_parts(self, known: Collection[int] = (), *, trusted: bool = False) -> Any:
        """The state as a header and blocks of slices that never change: those ``known`` are not written again."""
        if self._key_columns:
            return super().snapshot_parts(trusted=trusted)
        extra = {
            "codecs": self._driver.times.texts(),
            "buffered": [lane.lane.order or "" for lane in self._driver.lanes if lane.planned.decisions.buffered],
            "rows": self._driver.rows,
            "closed": self._closed,
        }
        lanes = {}
        for lane in self._driver.lanes:
            if not lane.running.dump():
                lane.rows().grow(1)
            lanes[lane.lane.order or ""] = lane.running.dump()[0]
        return encode(fingerprint(self.query), lanes, extra, known, trusted)

    @classmethod
    def restore(cls, query: Query, blob: bytes, **options: Any) -> Self:
        """An operator that goes on where a snapshot was taken."""
        if _is_keyed(cls, query):
            return super().restore(query, blob, **options)
        return cls.restore_parts(query, from_bytes(blob), **options)

    @classmethod
    def restore_parts(  # type: ignore[override]
        cls,
        query: Query,
        parts: Any,
        blocks: Mapping[Any, bytes] | None = None,
        *,
        trusted: bool = False,
        **options: Any,
    ) -> Self:
        """:meth:`restore` from a header and all live blocks."""
        if blocks is not None:
            return super().restore_parts(query, parts, blocks, trusted=trusted, **options)
        op = cls(query, **options)
        op._load_key(parts, trusted)
        return op

    def _load_key(self, parts: Snapshot, trusted: bool) -> None:
        lanes, extra = decode(parts, fingerprint(self.query), trusted)
        self._driver.times = Times.from_texts(self.query, extra["codecs"])
        self._driver.rows, self._closed = extra["rows"], extra["closed"]
        self._keys.number(())
        for lane in self._driver.lanes:
            name = lane.lane.order or ""
            if name in lanes:
                state = lanes[name]
                if name not in extra["buffered"] and lane.planned.decisions.buffered:
                    state.direct_until = state.newest
                lane.engine = None
                lane.rows().load([state], restored=True)


def _is_keyed(cls: type, query: Query) -> bool:
    return bool(query.keys) and cls.__name__ != "KeyOperator"


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
