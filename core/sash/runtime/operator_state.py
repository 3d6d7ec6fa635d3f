"""The state of the operator of one key: as bytes, and carried over when windows come and go."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Self

from sash.engine.lane import Engines
from sash.engine.planner import plan
from sash.query import Query
from sash.query.lanes import OwnWatermark, moves_watermark
from sash.state.fingerprint import fingerprint
from sash.state.lane_bytes import Snapshot, decode, encode, from_bytes, to_bytes
from sash.values.time_codec import TimeCodec
from sash.windows import Window

__all__ = ["OperatorState"]


class OperatorState:
    """What a :class:`sash.Operator` remembers, and how that is saved, restored and fitted to other windows."""

    def __init__(self, query: Query, *, own_watermark: OwnWatermark = True) -> None:
        self._own = own_watermark
        self._codecs: dict[str, TimeCodec] = {}
        self._closed = False
        self._rows = 0
        self._prepare(query)

    def _prepare(self, query: Query) -> None:
        """All that depends on the query, without a tuple yet."""
        self.plan = plan(query, self._own)
        self.query = query
        self._lanes = [Engines(query, planned, moves_watermark(self._own, planned.lane)) for planned in self.plan.lanes]

    def _refuse_closed(self) -> None:
        if self._closed:
            raise RuntimeError("the operator is closed: its input has ended")

    def snapshot(self, *, trusted: bool = False) -> bytes:
        """All of its state as bytes, from which :meth:`restore` goes on, here or in another runtime. O(state).

        ``trusted`` allows partials that are objects of types that Sash does not know, which are pickled: only for
        places that nobody else can write to.
        """
        return to_bytes(self.snapshot_parts(trusted=trusted))

    def snapshot_parts(self, known: Collection[int] = (), *, trusted: bool = False) -> Snapshot:
        """The state as a header and blocks of slices that never change: those ``known`` are not written again."""
        extra = {
            "codecs": {order: codec.text for order, codec in self._codecs.items()},
            "buffered": [each.lane.order or "" for each in self._lanes if each.planned.decisions.buffered],
            "rows": self._rows,
            "closed": self._closed,
        }
        lanes = {each.lane.order or "": each.dump() for each in self._lanes}
        return encode(fingerprint(self.query), lanes, extra, known, trusted)

    @classmethod
    def restore(cls, query: Query, blob: bytes, *, own_watermark: OwnWatermark = True, trusted: bool = False) -> Self:
        """An operator that goes on where a snapshot was taken. Windows that are new to it begin now.

        >>> import sash
        >>> query = sash.Query(windows=sash.sliding(2), aggregates={"peak": sash.Max("load")})
        >>> op = sash.Operator(query)
        >>> op.process({"load": 3}); op = sash.Operator.restore(query, op.snapshot()); op.process({"load": 9})
        []
        [{'window_start': 0, 'window_end': 2, 'peak': 9}]
        """
        return cls.restore_parts(query, from_bytes(blob), own_watermark=own_watermark, trusted=trusted)

    @classmethod
    def restore_parts(
        cls, query: Query, parts: Snapshot, *, own_watermark: OwnWatermark = True, trusted: bool = False
    ) -> Self:
        """:meth:`restore` from a header and all live blocks."""
        op = cls(query, own_watermark=own_watermark)
        op._load(parts, trusted)
        return op

    def _load(self, parts: Snapshot, trusted: bool) -> None:
        lanes, extra = decode(parts, fingerprint(self.query), trusted)
        self._codecs = {order: TimeCodec.from_text(text) for order, text in extra["codecs"].items()}
        self._rows, self._closed = extra["rows"], extra["closed"]
        for each in self._lanes:
            name = each.lane.order or ""
            if name in lanes:
                each.load(lanes[name], newly_buffered=name not in extra["buffered"])

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
        state = self.snapshot_parts(trusted=True)
        other = self.restore_parts(query, state, own_watermark=self._own, trusted=True)
        changes = [(name, value) for name, value in vars(other).items() if name != "dropped"]
        before = [(name, getattr(self, name)) for name, _ in changes]
        try:
            for name, value in changes:
                setattr(self, name, value)
        except BaseException:
            for name, value in before:
                setattr(self, name, value)
            raise
