"""SBA, the sequential boundary aggregator: W[range, slide] by cumulative sums from both sides of chunk boundaries.

`slide` values make a slice, b slices a chunk. In the open chunk ``csa`` accumulates slices from left to right; of a
closed one ``lcs`` holds the sums from every slice to its end, in place of the slices (``saa``). For W[10, 2] and b =
5:

    boundary                    boundary
       | s0   s1   s2   s3   s4    | s5   s6   s7 …          slices
       | lcs0[0]  …     lcs0[3]    | csa1[0] … csa1[2]
                        `-------- window 3 ------'   = lcs0[3] ⊕ csa1[2]

In general a window is an ``lcs`` element, any whole chunks, ``csa``, and the open slice if the slide does not divide
the range. ``lcs[0]``, the whole chunk, is its last ``csa``, so b - 2 merges compute the others, when the first window
needs one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from functools import reduce
from itertools import islice
from typing import Any

from sash.aggregations.base import Aggregation
from sash.aggregations.laws import alike
from sash.aggregators.base import Combine, check_aggregation
from sash.aggregators.chunk_size import check_window

__all__ = ["SBA", "Chunk", "extend_csa"]


def extend_csa(combine: Combine, csa: list[Any], slices: Iterable[Any]) -> None:
    """Extend the ``csa`` of a chunk by further slices. One merge a slice, none for the first.

    >>> csa = []
    >>> extend_csa(max, csa, [3, 1]); extend_csa(max, csa, [5])
    >>> csa
    [3, 3, 5]
    """
    for partial in slices:
        csa.append(combine(csa[-1], partial) if csa else partial)


class Chunk:
    """A closed chunk: ``lcs`` from index ``done`` on, still slices between 1 and there, and the whole chunk at 0."""

    __slots__ = ("combine", "done", "lcs")

    def __init__(self, combine: Combine, saa: list[Any], whole: Any) -> None:
        self.combine = combine
        self.lcs = saa
        self.done = max(len(saa) - 1, 1)
        self.lcs[0] = whole

    def complete(self, first: int = 1) -> None:
        """Compute what is missing of ``lcs``, from index ``first`` on. If ``combine`` raises, the next call resumes."""
        lcs, combine = self.lcs, self.combine
        for j in range(self.done - 1, first - 1, -1):
            lcs[j] = combine(lcs[j], lcs[j + 1])
            self.done = j

    def step(self) -> bool:
        """Compute one missing element; returns whether more are missing."""
        j = self.done - 1
        if j > 0:
            lcs = self.lcs
            lcs[j] = self.combine(lcs[j], lcs[j + 1])
            self.done = j
        return j > 1

    def finish(self) -> None:
        """Called when a window needs an element of ``lcs`` that is missing."""
        self.complete()


class SBA:
    """A count window W[range, slide], for any range ≥ slide and any associative combine.

    ``insert`` returns whether the value completed a window, whose result ``query`` returns then. ``chunk`` is the
    number b of slices in a chunk, by default all n of a window: one thread waits for nothing, and a window is never
    more than two parts.

    Combines per slide, besides the slide - 1 that make a slice of it: insert ≤ 1, query ≤ 1, and one more if the slide
    does not divide the range (with another chunk size: ≤ ⌊n / b⌋ + 1); the query that is the first to need a chunk's
    ``lcs`` does its b - 2 merges. So ≤ 3 amortised if the slide divides the range, and a chunk at worst. Holds at most
    2n + 2 partials.

    >>> import sash
    >>> window = sash.aggregators.SBA(sash.Max(), range=4, slide=2)
    >>> [window.query() for value in [5, 1, 2, 3, 0, 4, 9] if window.insert(value)]
    [5, 4]
    >>> window.insert_many([8, 7, 6])
    [9, 9]
    """

    def __init__(self, aggregation: Aggregation, range: int, slide: int = 1, chunk: int | None = None) -> None:
        check_aggregation(aggregation, type(self).__name__)
        check_window(range, slide)
        self.aggregation = aggregation
        self.range = range
        self.slide = slide
        if chunk is not None:
            _check_chunk(chunk, range // slide)
        self.chunk = self._default_chunk() if chunk is None else chunk
        self._lift = aggregation.lift
        self._combine = aggregation.combine
        self._open: Any = None  # the open slice, if any
        self._filled = 0  # values in it
        self._saa: list[Any] = []  # the slices of the open chunk
        self._csa: Any = None  # and their sum, if any
        self._closed: deque[Chunk] = deque()  # chunks that the last window or a later one reaches into
        self._j = -1  # where in the first of them the last window starts
        self._until = range  # values until the next window is complete

    def _default_chunk(self) -> int:
        return self.range // self.slide

    def __len__(self) -> int:
        """How many values the next window has so far."""
        return self.range - self._until

    @property
    def partials(self) -> int:
        """How many partials are held: the measure of space in the papers."""
        return sum(len(chunk.lcs) for chunk in self._closed) + len(self._saa) + 2

    def insert(self, value: Any) -> bool:
        """Add a value; returns whether it completed a window, which ``query`` then answers."""
        partial = self._lift(value)
        if self._filled:
            partial = self._combine(self._open, partial)
        if self._filled + 1 < self.slide:
            self._open = partial
            self._filled += 1
        else:
            saa = self._saa
            self._csa = self._combine(self._csa, partial) if saa else partial
            saa.append(partial)
            self._filled = 0
            if len(saa) == self.chunk:
                self._closed.append(self._close(saa, self._csa))
                self._saa = []
        if self._until > 1:
            self._until -= 1
            return False
        self._until = self.slide
        self._j += 1
        if self._j == self.chunk:
            self._closed.popleft()
            self._j = 0
        return True

    def insert_many(self, values: Iterable[Any]) -> list[Any]:
        """Add values in order, all or none; returns the results of the windows that they complete."""
        values = list(values)
        memo = self._memo(len(values))
        try:
            return [self.query() for value in values if self.insert(value)]
        except BaseException:
            self._restore(memo)
            raise

    def query(self) -> Any:
        """The result of the window that the last value completed."""
        return self.aggregation.lower(self.total())

    def total(self) -> Any:
        """The partial of the window that the last value completed, before ``lower``."""
        if self._j < 0 or self._until != self.slide:
            raise IndexError(f"no window ends here: the next one has {len(self)} of its {self.range} values")
        closed, combine = self._closed, self._combine
        first, j = closed[0], self._j
        if 0 < j < first.done:
            first.finish()
        total = first.lcs[j]
        if len(closed) > 1:
            for chunk in islice(closed, 1, None):
                total = combine(total, chunk.lcs[0])
        if self._saa:
            total = combine(total, self._csa)
        return combine(total, self._open) if self._filled else total

    @property
    def full(self) -> bool:
        """Whether any window has been complete."""
        return self._j >= 0

    def total_so_far(self) -> Any:
        """The partial of all values, as long as no window has been complete. A merge for each chunk, and two."""
        wholes = [chunk.lcs[0] for chunk in self._closed]
        return reduce(self._combine, [*wholes, self._csa if self._saa else None, self._open if self._filled else None])

    def _close(self, saa: list[Any], whole: Any) -> Chunk:
        return Chunk(self._combine, saa, whole)

    def _memo(self, coming: int) -> tuple[Any, ...]:
        closes = self._filled + coming >= self.slide * (self.chunk - len(self._saa))
        saa = list(self._saa) if closes else self._saa  # a chunk that is closed gets its lcs in place of its slices
        return (self._open, self._filled, saa, len(saa), self._csa, tuple(self._closed), self._j, self._until)

    def _restore(self, memo: tuple[Any, ...]) -> None:
        self._open, self._filled, self._saa, length, self._csa, closed, self._j, self._until = memo
        del self._saa[length:]
        self._closed = deque(closed)

    def _check(self) -> None:
        assert len(self._saa) < self.chunk and self._filled < self.slide
        assert -1 <= self._j < self.chunk and 0 < self._until <= self.range
        csa: list[Any] = []
        extend_csa(self._combine, csa, self._saa)
        assert not csa or alike(self._csa, csa[-1])
        passed = max(self._j, 0) * self.slide  # values of the first chunk that the last window has left behind
        held = len(self._closed) * self.chunk * self.slide + len(self._saa) * self.slide + self._filled
        assert held - passed == (len(self) + self.slide if self._j >= 0 else len(self))
        for chunk in self._closed:
            assert len(chunk.lcs) == self.chunk


def _check_chunk(chunk: int, slices: int) -> None:
    if isinstance(chunk, bool) or not isinstance(chunk, int):
        raise TypeError(f"chunk must be a whole number of slices; got {chunk!r}")
    if not 1 <= chunk <= slices:
        raise ValueError(f"chunk must be between 1 and the {slices} slices of a window; got {chunk}")
