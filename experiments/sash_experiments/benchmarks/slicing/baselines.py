"""What stream slicing is compared with: the techniques of the paper's section 3, as operators over the same rows.

| technique | a tuple comes | a window is complete |
| --- | --- | --- |
| Buckets | is added to each window that it is in, as Flink does | its partial is there |
| TupleBuffer | goes into a sorted array | its tuples are merged |
| FlatFATs | a leaf of a FlatFAT on tuples, in order only | O(log tuples) |
| Trees | a leaf of a FiBA on tuples: FlatFAT has no cheap inserts between leaves | O(log tuples) |

All have windows [k·slide, k·slide + range) on time and, optionally, a session; all take tuples up to ``delay`` late,
and give the same rows as ``sash.Operator``. ``warm`` brings one to where it would be after a stretch of stream without
the time that it takes. Holistic partials grow with every merge: there buckets collect tuples as Flink's do, and what is
merged is merged in pairs.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any

import sash
from sash.aggregations.base import Kind
from sash.aggregators import FiBA, FlatFAT

__all__ = [
    "Baseline",
    "Buckets",
    "Extents",
    "FlatFATs",
    "OnTuples",
    "Row",
    "Stretches",
    "Trees",
    "TupleBuffer",
    "merged",
]

Row = dict[str, Any]
Extents = Sequence[tuple[int, int]]
"""(range, slide) of each window."""


def merged(combine: Callable[[Any, Any], Any], partials: list[Any]) -> Any:
    """All merged in pairs, in order: n - 1 merges, few of them large."""
    while len(partials) > 1:
        pairs = zip(partials[::2], partials[1::2], strict=False)
        partials = [combine(a, b) for a, b in pairs] + (partials[-1:] if len(partials) % 2 else [])
    return partials[0] if partials else None


class Sessions:
    """Open sessions as [first, last, partial], in order; neighbours are joined with ``combine``."""

    def __init__(self, gap: int, combine: Callable[[Any, Any], Any]) -> None:
        self.gap = gap
        self._combine = combine
        self._open: list[list[Any]] = []

    def add(self, time: int, partial: Any) -> None:
        sessions = self._open
        at = len(sessions) if not sessions or sessions[-1][0] <= time else bisect_right(sessions, [time])
        if at and time - sessions[at - 1][1] < self.gap:
            session = sessions[at - 1]
            session[1] = max(session[1], time)
            session[2] = self._combine(session[2], partial)
            at -= 1
        else:
            sessions.insert(at, [time, time, partial])
        if at + 1 < len(sessions) and sessions[at + 1][0] - sessions[at][1] < self.gap:
            _, last, partial = sessions.pop(at + 1)
            sessions[at][1] = max(sessions[at][1], last)
            sessions[at][2] = self._combine(sessions[at][2], partial)

    def complete(self, watermark: int) -> Iterator[tuple[int, int, Any]]:
        while self._open and self._open[0][1] + self.gap <= watermark:
            first, last, partial = self._open.pop(0)
            yield first, last + self.gap, partial

    @property
    def oldest(self) -> float:
        return self._open[0][0] if self._open else float("inf")


class Baseline:
    """What the techniques share: the watermark, and results as rows."""

    def __init__(self, extents: Extents, aggregation: sash.Aggregation, gap: int | None = None, delay: int = 0) -> None:
        self.extents = extents
        self.aggregation = aggregation
        self.column = aggregation.columns[0]
        self.delay = delay
        self.watermark = -(10**18)
        self.holistic = aggregation.kind is Kind.HOLISTIC
        self.sessions = None if gap is None else Sessions(gap, self.joining())

    def joining(self) -> Callable[[Any, Any], Any]:
        """What two sessions' third parts become when they are joined; without partials, nothing."""
        return lambda a, b: None

    def process(self, row: Row) -> list[Row]:
        """Take a tuple; the results that it brings."""
        time = row["ts"]
        if time < self.watermark:
            return []
        self.add(time, row[self.column])
        if time - self.delay <= self.watermark:
            return []
        self.watermark = time - self.delay
        return self.fire()

    def warm(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self.process(row)

    def add(self, time: int, value: Any) -> None:
        raise NotImplementedError

    def fire(self) -> list[Row]:
        raise NotImplementedError

    def row(self, window: int, start: int, end: int, partial: Any) -> Row:
        name = "session" if window < 0 else f"w{window}"
        result = self.aggregation.lower(partial)
        return {"window": name, "window_start": start, "window_end": end, "result": result}

    def in_order(self, results: list[tuple[int, int, int, Any]]) -> list[Row]:
        """(end, window, start, partial) of results as rows."""
        results.sort(key=lambda result: result[:3])
        return [self.row(window, start, end, partial) for end, window, start, partial in results]


class Buckets(Baseline):
    """A partial for each open window."""

    def __init__(self, extents: Extents, aggregation: sash.Aggregation, gap: int | None = None, delay: int = 0) -> None:
        super().__init__(extents, aggregation, gap, delay)
        self._buckets: list[dict[int, Any]] = [{} for _ in extents]
        self._each = [(i, *extent, self._buckets[i]) for i, extent in enumerate(extents)]
        self._timers: list[tuple[int, int, int]] = []

    def joining(self) -> Callable[[Any, Any], Any]:
        return list.__add__ if self.holistic else self.aggregation.combine

    def warm(self, rows: Sequence[Row]) -> None:
        """A tuple costs the same however many came before."""
        super().warm(rows[-20:])

    def add(self, time: int, value: Any) -> None:
        partial = self.aggregation.lift(value)
        if self.holistic:
            self._collect(time, partial)
            return
        combine = self.aggregation.combine
        for i, size, slide, buckets in self._each:
            start = time - time % slide
            while start + size > time:
                known = buckets.get(start)
                if known is None:
                    heappush(self._timers, (start + size, i, start))
                    buckets[start] = partial
                else:
                    buckets[start] = combine(known, partial)
                start -= slide
        if self.sessions is not None:
            self.sessions.add(time, partial)

    def _collect(self, time: int, partial: Any) -> None:
        for i, size, slide, buckets in self._each:
            start = time - time % slide
            while start + size > time:
                known = buckets.get(start)
                if known is None:
                    heappush(self._timers, (start + size, i, start))
                    buckets[start] = [partial]
                else:
                    known.append(partial)
                start -= slide
        if self.sessions is not None:
            self.sessions.add(time, [partial])

    def fire(self) -> list[Row]:
        found, timers = [], self._timers
        while timers and timers[0][0] <= self.watermark:
            end, i, start = heappop(timers)
            found.append((end, i, start, self._whole(self._buckets[i].pop(start))))
        if self.sessions is not None:
            for start, end, kept in self.sessions.complete(self.watermark):
                found.append((end, -1, start, self._whole(kept)))
        return self.in_order(found) if found else []

    def _whole(self, kept: Any) -> Any:
        return merged(self.aggregation.combine, kept) if self.holistic else kept


class OnTuples(Baseline):
    """What keeps all tuples of open windows and asks for stretches of them."""

    def __init__(self, extents: Extents, aggregation: sash.Aggregation, gap: int | None = None, delay: int = 0) -> None:
        super().__init__(extents, aggregation, gap, delay)
        self._timers: list[tuple[int, int]] = []
        self._drop_at = 0
        self._longest = max(size for size, _ in extents)

    def total(self, start: int, end: int) -> Any:
        """The partial of the tuples with start <= time < end; None if there is none."""
        raise NotImplementedError

    def drop(self, upto: int) -> None:
        raise NotImplementedError

    def put(self, time: int, value: Any) -> None:
        raise NotImplementedError

    def add(self, time: int, value: Any) -> None:
        if not self._timers:
            self._begin(time - self.delay)
        self.put(time, value)
        if self.sessions is not None:
            self.sessions.add(time, None)

    def _begin(self, watermark: int) -> None:
        for i, (size, slide) in enumerate(self.extents):
            end = (watermark - size) // slide * slide + size
            while end <= watermark:
                end += slide
            self._timers.append((end, i))
        heapify(self._timers)

    def warm(self, rows: Sequence[Row]) -> None:
        self.warm_tuples(rows)
        if self.sessions is not None:
            for row in rows:
                self.sessions.add(row["ts"], None)
        newest = max(row["ts"] for row in rows)
        self.watermark = newest - self.delay
        self._begin(self.watermark)
        if self.sessions is not None:
            list(self.sessions.complete(self.watermark))

    def warm_tuples(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self.put(row["ts"], row[self.column])

    def fire(self) -> list[Row]:
        found, timers = [], self._timers
        while timers[0][0] <= self.watermark:
            end, i = timers[0]
            size, slide = self.extents[i]
            heapreplace(timers, (end + slide, i))
            partial = self.total(end - size, end)
            if partial is not None:
                found.append((end, i, end - size, partial))
        if self.sessions is not None:
            for start, end, _ in self.sessions.complete(self.watermark):
                found.append((end, -1, start, self.total(start, end)))
        if self.watermark >= self._drop_at:
            oldest = min(self.watermark - self._longest, self.sessions.oldest if self.sessions else self.watermark)
            self.drop(int(oldest))
            self._drop_at = self.watermark + self._longest // 4
        return self.in_order(found) if found else []


class TupleBuffer(OnTuples):
    """A sorted array of tuples."""

    def __init__(self, extents: Extents, aggregation: sash.Aggregation, gap: int | None = None, delay: int = 0) -> None:
        super().__init__(extents, aggregation, gap, delay)
        self._tuples: list[tuple[int, int, Any]] = []
        self._came = 0

    def put(self, time: int, value: Any) -> None:
        entry = (time, self._came, value)
        self._came += 1
        if not self._tuples or self._tuples[-1] < entry:
            self._tuples.append(entry)
        else:
            insort(self._tuples, entry)

    def total(self, start: int, end: int) -> Any:
        tuples, lift, combine = self._tuples, self.aggregation.lift, self.aggregation.combine
        low, high = bisect_left(tuples, (start,)), bisect_left(tuples, (end,))
        if self.holistic:
            return merged(combine, [lift(value) for _, _, value in tuples[low:high]])
        partial = None
        for _, _, value in tuples[low:high]:
            partial = combine(partial, lift(value))
        return partial

    def drop(self, upto: int) -> None:
        del self._tuples[: bisect_left(self._tuples, (upto,))]


class Stretches(FlatFAT):
    """FlatFAT that also answers for a stretch of its leaves."""

    def between(self, low: int, high: int) -> Any:
        """What the leaves from ``low`` to before ``high`` add up to, counted from the oldest."""
        first, last = (self._front + low) % self._capacity, (self._front + high - 1) % self._capacity
        if first <= last:
            return self._stretch(first, last)
        return self._merge(self._stretch(first, self._capacity - 1), self._stretch(0, last))

    def _stretch(self, first: int, last: int) -> Any:
        low, high = first + self._capacity, last + self._capacity + 1
        left = right = None
        while low < high:
            if low & 1:
                left = self._merge(left, self._tree[low])
                low += 1
            if high & 1:
                high -= 1
                right = self._merge(self._tree[high], right)
            low >>= 1
            high >>= 1
        return self._merge(left, right)


class FlatFATs(OnTuples):
    """FlatFAT over tuples that come in order."""

    def __init__(self, extents: Extents, aggregation: sash.Aggregation, gap: int | None = None, delay: int = 0) -> None:
        super().__init__(extents, aggregation, gap, delay)
        self._tree = Stretches(aggregation)
        self._times: list[int] = []

    def put(self, time: int, value: Any) -> None:
        self._tree.insert(value)
        self._times.append(time)

    def warm_tuples(self, rows: Sequence[Row]) -> None:
        self._tree.insert_many([row[self.column] for row in rows])
        self._times += [row["ts"] for row in rows]

    def total(self, start: int, end: int) -> Any:
        low, high = bisect_left(self._times, start), bisect_left(self._times, end)
        return self._tree.between(low, high) if low < high else None

    def drop(self, upto: int) -> None:
        gone = bisect_left(self._times, upto)
        self._tree.evict_many(gone)
        del self._times[:gone]


class Trees(OnTuples):
    """FiBA over tuples that come in any order."""

    def __init__(self, extents: Extents, aggregation: sash.Aggregation, gap: int | None = None, delay: int = 0) -> None:
        super().__init__(extents, aggregation, gap, delay)
        self._tree = FiBA(aggregation)
        self._came = 0

    def put(self, time: int, value: Any) -> None:
        self._tree.insert_at((time, self._came), value)
        self._came += 1

    def total(self, start: int, end: int) -> Any:
        return self._tree.range_total((start,), (end,))

    def drop(self, upto: int) -> None:
        self._tree.evict_until((upto,))
