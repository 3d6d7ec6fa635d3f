"""The aggregate store: the partials of slices, and what a window over some of them adds up to.

Slices are known by a number that grows by one with each (`Chunks`, `Queues`), or, where slices can still change, by a
key that orders them (`Lazy`, `Eager`):

| store | a slice comes | changes | a window | for |
| --- | --- | --- | --- | --- |
| Chunks | 2 merges for each length of chunk | no | ≤ 2 merges (once a chunk, 4) | final slices: SBA and PBA, shared |
| Queues | as the algorithm does | no | as the algorithm does | a FIFO algorithm by name, one a window |
| Lazy | none | none | a merge a slice | changing slices, few windows |
| Eager | O(log) | O(log) | O(log) | changing slices: FiBA |
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Collection
from concurrent.futures import Executor
from functools import reduce
from typing import Any, ClassVar, Literal

from sash.aggregators import FiBA, FifoAggregator
from sash.aggregators.pba import SharedChunk
from sash.aggregators.sba import Chunk, extend_csa
from sash.engine.rows.bundle import Merging
from sash.engine.rows.flat_chunk import OpenRows

__all__ = ["Chunks", "Eager", "KeyedStore", "Lazy", "NumberedStore", "Queues", "Store", "half_or_less"]


class _Level:
    """The ``csa`` and ``lcs`` of chunks of one length, and sums of neighbouring whole chunks."""

    __slots__ = ("asked", "begin", "closed", "csa", "length", "middles", "rows")

    def __init__(self, length: int, rows: OpenRows | None = None) -> None:
        self.length = length
        self.rows = rows
        self.closed: dict[int, tuple[int, Chunk]] = {}
        self.middles: dict[tuple[int, int], Any] = {}
        self.begin = -1  # of the chunk that csa is of
        self.csa: list[Any] = []
        self.asked: float = math.inf  # the end of the last window that it served; none yet


class Chunks:
    """SBA over slices that windows of all lengths share, or PBA with a pool.

    Each window of n slices is cut at multiples of a chunk length b, so that it is one element of ``lcs``, whole chunks,
    and one of ``csa``. ``chunk_of`` chooses b for n: by default the largest power of two that is at most n / 2. So
    windows of similar lengths use the same chunks, and b more slices come before a closed chunk's ``lcs`` is needed:
    one merge with each slice has it ready, and no window waits for a chunk.

    Merges: ≤ 2 a window, and ≤ 2 more when it takes in another chunk; for each length of chunk 1 a slice for ``csa``
    and 1 for ``lcs``, the latter on a thread of ``pool`` if given. With ``expected``, the slices of windows that will
    be asked for, the first window does not wait either; chunks of other lengths are begun when they are needed.

    >>> import sash
    >>> store = Chunks(Merging(sash.Concat()))
    >>> for letter in "abcdefgh": store.append(letter)
    >>> store.total(1, 7), store.total(2, 5), store.total(4, 5)
    ('b,c,d,e,f,g', 'c,d,e', 'e')
    """

    numbered: ClassVar[Literal[True]] = True

    def __init__(
        self,
        merging: Merging,
        chunk_of: Callable[[int], int] | None = None,
        pool: Executor | None = None,
        expected: Collection[int] = (),
    ) -> None:
        self._merging = merging
        self._combine = merging.combine
        self._chunk_of = chunk_of or half_or_less
        self._pool = pool
        self._partials: list[Any] = []
        self._begin = 0  # number of the first
        self._flat = merging.flat() if pool is not None else None
        self._levels: dict[int, _Level] = {}
        self._level_for: dict[int, _Level] = {}  # by the slices of a window
        self._awaited = [self._level(length) for length in {self._chunk_of(slices) for slices in expected}]
        self._unfinished: list[Chunk] = []
        self._leaving: list[list[Any]] = []  # emptied bit by bit: to free a long list at once takes milliseconds

    @property
    def eager(self) -> bool:
        """Whether it has use for a slice before a window asks for it."""
        return bool(self._awaited)

    def append(self, partial: Any) -> None:
        self._partials.append(partial)
        if self._unfinished:
            self._step()
        for partials in self._leaving:
            del partials[-2:]
        end = self._begin + len(self._partials)
        for level in self._awaited:
            csa = level.csa
            if level.begin + len(csa) == end - 1 and csa and len(csa) < level.length:
                csa.append(self._combine(csa[-1], partial))  # as _prefix does, which is slower
            else:
                self._prefix(level, (end - 1) // level.length * level.length, end)
        if self._pool is not None:
            for length, level in self._levels.items():
                if level.asked < end - length:
                    continue  # windows have other lengths by now
                if level.rows is not None:
                    level.rows.put(end - 1, partial)
                if end % length == 0 and end - length >= self._begin:
                    self._closed(level, end // length - 1)  # a thread may begin with its lcs

    def _step(self) -> None:
        """Make a merge of each ``lcs`` that is not ready."""
        ready = False
        for chunk in self._unfinished:
            ready |= not chunk.step()
        if ready:
            self._unfinished = [chunk for chunk in self._unfinished if chunk.done > 1]

    def total(self, low: int, high: int, window: int = 0) -> Any:
        """The partials from number ``low`` to before ``high`` merged."""
        if high - low == 1:
            return self._partials[low - self._begin]
        level = self._level_for.get(high - low)
        if level is None:
            level = self._level_for[high - low] = self._level(self._chunk_of(high - low))
        length, level.asked = level.length, high
        first, last = -(-low // length), high // length
        total = None
        if low < first * length:
            total = self._suffix(level, low)
        if first < last:
            total = self._combine(total, self._middle(level, first, last))
        begin = last * length
        if begin < high:
            csa, place = level.csa, high - begin - 1
            known = level.begin == begin and place < len(csa)
            total = self._combine(total, csa[place] if known else self._prefix(level, begin, high))
        return total

    def _level(self, length: int) -> _Level:
        level = self._levels.get(length)
        if level is None:
            rows = None if self._flat is None else OpenRows(self._flat, length)
            level = self._levels[length] = _Level(length, rows)
        return level

    def _middle(self, level: _Level, first: int, last: int) -> Any:
        """Whole chunks merged."""
        known = level.middles.get((first, last), self)
        if known is self:
            wholes = (self._closed(level, number)[1].lcs[0] for number in range(first, last))
            known = level.middles[first, last] = reduce(self._combine, wholes)
        return known

    def _suffix(self, level: _Level, low: int) -> Any:
        number = low // level.length
        begin, chunk = level.closed.get(number) or self._closed(level, number)
        place = low - begin
        if place and place < chunk.done:
            chunk.finish()
        return chunk.lcs[place]

    def _closed(self, level: _Level, number: int) -> tuple[int, Chunk]:
        """A closed chunk, and the number of its first slice: the older ones may have left already."""
        known = level.closed.get(number)
        if known is None:
            begin, end = max(number * level.length, self._begin), (number + 1) * level.length
            slices = self._partials[begin - self._begin : end - self._begin]
            whole = self._prefix(level, begin, end) if level.begin == begin else reduce(self._combine, slices)
            known = level.closed[number] = begin, self._make(level, begin, slices, whole)
        return known

    def _make(self, level: _Level, begin: int, slices: list[Any], whole: Any) -> Chunk:
        if self._pool is None:
            chunk = Chunk(self._combine, slices, whole)
            if chunk.done > 1:
                self._unfinished.append(chunk)
            return chunk
        if level.rows is not None:
            self._merging.count.merges += max(len(slices) - 2, 0)
            return level.rows.chunk(begin, slices, whole, self._pool)
        return SharedChunk(self._combine, slices, whole, self._pool)

    def _prefix(self, level: _Level, begin: int, end: int) -> Any:
        if level.begin != begin:
            if len(level.csa) == level.length and level.begin >= self._begin:
                self._closed(level, level.begin // level.length)  # while its csa, so the whole chunk, is known
            self._leaving.append(level.csa)
            level.begin, level.csa = begin, []
        begin -= self._begin
        extend_csa(self._combine, level.csa, self._partials[begin + len(level.csa) : end - self._begin])
        return level.csa[end - self._begin - begin - 1]

    def evict(self, upto: int) -> None:
        """Drop the slices before number ``upto``."""
        if upto - self._begin <= len(self._partials) // 64:
            return  # later, some at once
        del self._partials[: upto - self._begin]
        self._begin = upto
        self._leaving = [partials for partials in self._leaving if partials]
        for length, level in self._levels.items():
            for number in [number for number in level.closed if (number + 1) * length <= upto]:
                _, chunk = level.closed.pop(number)
                if chunk.done == 1 and isinstance(chunk.lcs, list):
                    self._leaving.append(chunk.lcs)
            for extent in [extent for extent in level.middles if extent[0] * length < upto]:
                del level.middles[extent]


def half_or_less(slices: int) -> int:
    """The largest power of two in the half of ``slices``."""
    return 1 << max(slices.bit_length() - 2, 0)


class Queues:
    """A FIFO algorithm for each window."""

    numbered: ClassVar[Literal[True]] = True
    eager: ClassVar[bool] = False

    def __init__(self, merging: Merging, algorithm: type[FifoAggregator]) -> None:
        self._algorithm = algorithm
        self._merging = merging
        self._make()  # an algorithm that cannot serve the aggregates says so now
        self._partials: list[Any] = []
        self._begin = 0
        self._queues: dict[int, tuple[FifoAggregator, int]] = {}

    def _make(self) -> FifoAggregator:
        return self._algorithm(self._merging)

    def append(self, partial: Any) -> None:
        self._partials.append(partial)

    def total(self, low: int, high: int, window: int = 0) -> Any:
        """The partials from number ``low`` to before ``high`` merged, neither less than in the window's last call."""
        queue, end = self._queues.get(window) or (self._make(), low)
        if low >= end:
            queue, end = self._make(), low
        else:
            queue.evict_many(low - (end - len(queue)))
        queue.insert_many(self._partials[end - self._begin : high - self._begin])
        self._queues[window] = queue, high
        return queue.total()

    def evict(self, upto: int) -> None:
        """Drop the slices before number ``upto``."""
        if upto - self._begin > len(self._partials) // 64:
            del self._partials[: upto - self._begin]
            self._begin = upto


def _in_pairs(combine: Callable[[Any, Any], Any], partials: list[Any]) -> Any:
    """All merged: as many merges as one after the other, but few of large partials, which holistic ones grow to."""
    while len(partials) > 1:
        pairs = [combine(a, b) for a, b in zip(partials[::2], partials[1::2], strict=False)]
        partials = pairs + partials[len(partials) - len(partials) % 2 :]
    return partials[0] if partials else None


class Lazy:
    """Slices as they are; a window is merged when it is asked for."""

    numbered: ClassVar[Literal[False]] = False

    def __init__(self, merging: Merging) -> None:
        self._combine = merging.combine
        self._keys: list[Any] = []
        self._partials: dict[Any, Any] = {}

    def put(self, key: Any, partial: Any) -> None:
        if key not in self._partials:
            insort(self._keys, key)
        self._partials[key] = partial

    def remove(self, key: Any) -> None:
        if self._partials.pop(key, self) is not self:
            del self._keys[bisect_left(self._keys, key)]

    def total(self, low: Any, high: Any) -> Any:
        """The partials with ``low <= key < high`` merged; without ``high``, all from ``low`` on."""
        end = len(self._keys) if high is None else bisect_left(self._keys, high)
        keys = self._keys[bisect_left(self._keys, low) : end]
        return _in_pairs(self._combine, [self._partials[key] for key in keys])

    def evict(self, upto: Any) -> None:
        count = bisect_left(self._keys, upto)
        for key in self._keys[:count]:
            del self._partials[key]
        del self._keys[:count]


class Eager:
    """FiBA over slices: a slice that changes and a window both cost O(log slices)."""

    numbered: ClassVar[Literal[False]] = False

    def __init__(self, merging: Merging) -> None:
        self._tree = FiBA(merging)
        self._keys: list[Any] = []

    def _has(self, key: Any) -> bool:
        at = bisect_left(self._keys, key)
        return at < len(self._keys) and bool(self._keys[at] == key)

    def put(self, key: Any, partial: Any) -> None:
        if self._has(key):
            self._tree.replace_at(key, partial)
        else:
            self._tree.insert_at(key, partial)
            insort(self._keys, key)

    def remove(self, key: Any) -> None:
        if self._has(key):
            self._tree.replace_at(key, None)  # neutral until it is evicted

    def total(self, low: Any, high: Any) -> Any:
        """The partials with ``low <= key < high`` merged; without ``high``, all from ``low`` on."""
        if high is None:
            high = (*self._tree.youngest, 0)  # behind all
        return self._tree.range_total(low, high)

    def evict(self, upto: Any) -> None:
        self._tree.evict_until(upto)
        del self._keys[: bisect_left(self._keys, upto)]


NumberedStore = Chunks | Queues
KeyedStore = Lazy | Eager
Store = NumberedStore | KeyedStore
