"""Subtract-on-evict: one running total, added to on insert, subtracted from on evict."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import reduce
from itertools import islice
from typing import Any

from sash.aggregations.base import Aggregation
from sash.aggregators.base import FifoAggregator

__all__ = ["SubtractOnEvict"]


class SubtractOnEvict(FifoAggregator):
    """For invertible aggregations only; any other is a TypeError.

    Combines and inversions: insert 1, evict 1, query 0. Holds n + 1 partials.

    >>> import sash
    >>> window = sash.aggregators.SubtractOnEvict(sash.Sum())
    >>> window.insert_many([2, 6, 3]); window.evict(); window.query()
    9
    >>> sash.aggregators.SubtractOnEvict(sash.Max())
    Traceback (most recent call last):
    ...
    TypeError: SubtractOnEvict needs an invertible aggregation, and Max() is not: use DABA, which needs no inverse
    """

    _space = (1, 1)

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        if not aggregation.invertible:
            raise TypeError(
                f"SubtractOnEvict needs an invertible aggregation, and {aggregation!r} is not: "
                "use DABA, which needs no inverse"
            )
        self._invert = aggregation.invert
        self._queue: deque[Any] = deque()
        self._total: Any = None
        self._real = 0  # partials that are not the identity: without any, the total is the identity and not a zero

    def __len__(self) -> int:
        return len(self._queue)

    def total(self) -> Any:
        return self._total

    def _push(self, partial: Any) -> None:
        self._total = self._combine(self._total, partial)
        self._real += partial is not None
        self._queue.append(partial)

    def _pop(self) -> None:
        oldest = self._queue[0]
        real = self._real - (oldest is not None)
        self._total = self._invert(self._total, oldest) if real else None
        self._real = real
        self._queue.popleft()

    def _push_many(self, partials: Sequence[Any]) -> None:
        self._total = reduce(self._combine, partials, self._total)
        self._real += sum(partial is not None for partial in partials)
        self._queue.extend(partials)

    def _pop_many(self, count: int) -> None:
        total, real = self._total, self._real
        for partial in islice(self._queue, count):
            real -= partial is not None
            total = self._invert(total, partial) if real else None
        self._total, self._real = total, real
        for _ in range(count):
            self._queue.popleft()

    def _check(self) -> None:
        assert self._real == sum(partial is not None for partial in self._queue)
        assert (self._total is None) == (self._real == 0)
