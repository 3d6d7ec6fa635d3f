"""Operators that are saved and restored, and keep their state when windows are added or removed."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import numpy as np

from sash import state
from sash.engine.planner import plan
from sash.frames.key_table import KeyTable
from sash.query import Query
from sash.runtime.stream import Stream
from sash.runtime.times import Times
from sash.state import Changes, Contents
from sash.state.blocks import BlockId
from sash.state.snapshot_format import StateError, state_errors
from sash.values.arrays import Array
from sash.windows import Window

__all__ = ["Snapshots"]

_logger = logging.getLogger("sash")


class Snapshots(Stream):
    """A stream that can be saved and restored."""

    def snapshot(self, *, trusted: bool = False) -> bytes:
        """The whole state as bytes, from which :meth:`restore` goes on, here or in another runtime. O(state).

        ``trusted`` allows partials of types that Sash does not know, which are pickled: only for places that nobody
        else can write to.
        """
        return state.write(self.query, self._contents(), trusted)

    def snapshot_parts(self, *, trusted: bool = False) -> Changes:
        """What to write and what to delete since the last call, or since :meth:`restore_parts`.

        Slices that can change no more are written once, in blocks of 512, and deleted once: what is written is O(new
        slices + keys), not O(state).

        >>> import sash
        >>> op = sash.Operator(sash.Query(key="k", windows=sash.sliding(2000), aggregates={"n": sash.Sum("x")}))
        >>> blocks = {}
        >>> for _ in range(3):
        ...     _ = op.process_batch({"k": ["a"] * 800, "x": [1] * 800})
        ...     header, new, deleted = op.snapshot_parts()
        ...     blocks = {name: block for name, block in (blocks | new).items() if name not in deleted}
        ...     print(len(new), len(blocks))
        1 1
        2 3
        1 4
        >>> sash.Operator.restore_parts(op.query, header, blocks).process_batch({"k": ["a"], "x": [5]})["n"]
        [2004]
        """
        changes, kept = state.write_parts(self.query, self._contents(), trusted)
        before = self._serials, self._blocks, self._digests
        try:
            self._serials, self._blocks, self._digests = kept
            return changes
        except BaseException:  # what the caller does not get is not saved
            self._serials, self._blocks, self._digests = before
            raise

    def split(
        self, group_of: Callable[[dict[str, Array]], Array], *, trusted: bool = False
    ) -> Iterator[tuple[int, bytes]]:
        """A snapshot of the keys of each group, with the group; nothing changes. O(groups · state).

        ``group_of`` gets the key's columns, and returns the number of each key's group. Whoever restores all of them
        has the operators of as many streams, each of some of the keys.

        >>> import sash
        >>> op = sash.Operator(sash.Query(key="k", windows=sash.sliding(2), aggregates={"n": sash.Sum("x")}))
        >>> _ = op.process_batch({"k": [1, 2, 3], "x": [5, 6, 7]})
        >>> parts = dict(op.split(lambda columns: columns["k"] % 2))
        >>> sash.Operator.restore(op.query, parts[1]).process_batch({"k": [3, 1], "x": [1, 1]})
        {'k': [1, 3], 'window_start': [0, 0], 'window_end': [2, 2], 'n': [6, 8]}
        """
        if not self.keys:
            return
        columns, _ = self._keys.columns(np.arange(self.keys))
        groups = np.asarray(group_of(columns), np.int64)
        for group in np.unique(groups).tolist():
            yield group, self._snapshot_of(groups == group, trusted)

    def _snapshot_of(self, which: Array, trusted: bool) -> bytes:
        mark = self._mark()
        try:
            self._driver.keep(which)
            self._keys, self._serials = self._keys.keep(which), self._serials[which[: len(self._serials)]]
            return self.snapshot(trusted=trusted)
        finally:
            self._undo(mark)

    def _contents(self) -> Contents:
        extra = {
            "codecs": self._driver.times.texts(),
            "rows": self._driver.rows,
            "closed": self._closed,
            "gone": dict(self._forgotten),
            "keys": list(self._key_columns),
        }
        lanes = {lane.lane.order or "": lane.running.save() for lane in self._driver.lanes}
        return Contents(extra, self._keys.parts(), lanes, self._serials, self._blocks, self._digests)

    @classmethod
    def restore(cls, query: Query, blob: bytes, *, trusted: bool = False, **options: Any) -> Self:
        """An operator that goes on where a snapshot was taken. Windows that are new to it begin now. O(state).

        ``options`` are those of the operator, and ``trusted`` as for :meth:`snapshot`.

        >>> import sash
        >>> query = sash.Query(key="plug", windows=sash.sliding(2), aggregates={"peak": sash.Max("load")})
        >>> op = sash.Operator(query)
        >>> op.process({"plug": "a", "load": 3})
        []
        >>> sash.Operator.restore(query, op.snapshot()).process({"plug": "a", "load": 9})
        [{'plug': 'a', 'window_start': 0, 'window_end': 2, 'peak': 9}]
        """
        return cls._from(query, state.read(query, blob, trusted), options)

    @classmethod
    def restore_parts(
        cls, query: Query, header: bytes, blocks: Mapping[BlockId, bytes], *, trusted: bool = False, **options: Any
    ) -> Self:
        """:meth:`restore` from the last header of :meth:`snapshot_parts` and all blocks not deleted since. O(state)."""
        return cls._from(query, state.read_parts(query, header, blocks, trusted), options)

    @staticmethod
    def check_parts(query: Query, header: bytes) -> None:
        """Refuse a header that :meth:`restore_parts` would refuse for this query, with the reason. O(header)."""
        state.check(query, header)

    @classmethod
    def _from(cls, query: Query, contents: Contents, options: Mapping[str, Any]) -> Self:
        op = cls(query, **options)
        with state_errors():
            op._load(contents)
        return op

    def _load(self, contents: Contents) -> None:
        extra, names = contents.extra, list(self._key_columns)
        if extra["keys"] != names:
            raise StateError(
                f"the saved state is of another query: its key is {extra['keys']}, that of the query is {names}"
            )
        self._driver.times = Times.from_texts(self.query, extra["codecs"])
        self._driver.rows, self._forgotten = extra["rows"], Counter(extra["gone"])
        self._closed = extra.get("closed", False)
        self._keys = KeyTable.read(names, contents.keys)
        self._serials, self._blocks, self._digests = contents.serials, contents.blocks, contents.digests
        for lane in self._driver.lanes:
            saved = contents.lanes.get(lane.lane.order or "")
            if saved is not None:
                lane.restore(saved)
        _logger.debug("restored the state of %d keys, after %d rows", self.keys, self._driver.rows)

    # adding and removing windows

    def add_window(self, name: str, window: Window) -> None:
        """Add a window, over the tuples after the newest one so far. O(state).

        It emits what begins after that tuple; on counts, it counts from there.
        """
        if None in self.query.named:
            raise ValueError("windows can be added to a query whose windows have names: windows={'name': window, …}")
        if name in self.query.named:
            raise ValueError(f"there is a window {name!r} already")
        self._change({**self.query.named, name: window})

    def remove_window(self, name: str) -> None:
        """Remove a window; what it has not emitted yet is lost. O(state)."""
        if name not in self.query.named:
            raise KeyError(f"there is no window {name!r}; there are {', '.join(map(repr, self.query.named))}")
        others = {other: window for other, window in self.query.named.items() if other != name}
        if not others:
            raise ValueError(f"{name!r} is the only window: close the operator instead")
        self._change(others)

    def _change(self, windows: Mapping[Any, Window]) -> None:
        self._refuse_closed()
        query = self.query.using(windows=windows)
        if list(query.computed) != list(self.query.computed):
            raise ValueError(
                "the first window with center or min_periods cannot come, nor the last one go, while the stream runs: "
                "slices count values for them; put the window into another query"
            )
        plan(query, self._own)  # refuses what cannot run before anything changes
        other = type(self).restore(query, self.snapshot(trusted=True), own_watermark=self._own, trusted=True)
        other._go_on_from(self)
        self.__dict__ = vars(other)  # in one step, so that an interrupt comes before or after it

    def _go_on_from(self, other: Self) -> None:
        """Take over what is not saved."""
        self._driver.dropped, self._deletes = other._driver.dropped, other._deletes
