"""SlickDeque: keep only what can still become the answer.

Selective aggregations (a ⊕ b is a or b):

    window:  2  6  3  5  3          deque:  6 — 5 — 3     (max: 2 can never win again once 6 is there, 3 once 5 is)

A new partial removes all entries at the young end that it beats; the oldest entry left is the answer. Invertible
aggregations keep a running answer instead, as subtract-on-evict does. (Shein, Chrysanthis and Labrinidis, 2018.)
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import Any

from sash.aggregations.base import Aggregation
from sash.aggregators.base import FifoAggregator, FormAggregator, StepwiseAggregator
from sash.aggregators.subtract_on_evict import SubtractOnEvict

__all__ = ["SlickDeque"]


class _Selective(StepwiseAggregator):
    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._deque: deque[tuple[int, Any]] = deque()  # (position, partial)
        self._f = self._e = 0
        self._beaten: list[tuple[int, Any]] = []  # by the newest partial: needed to undo its push

    def __len__(self) -> int:
        return self._e - self._f

    @property
    def partials(self) -> int:
        return len(self._deque)

    def total(self) -> Any:
        return self._deque[0][1] if self._deque else None

    def _push(self, partial: Any) -> None:
        self._beaten = []
        if partial is not None:
            try:
                while self._deque and self._combine(self._deque[-1][1], partial) is partial:
                    self._beaten.append(self._deque.pop())
            except BaseException:
                self._give_back()
                raise
            self._deque.append((self._e, partial))
        self._e += 1

    def _give_back(self) -> None:
        self._deque.extend(reversed(self._beaten))
        self._beaten = []

    def _pop(self) -> None:
        if self._deque and self._deque[0][0] == self._f:
            self._deque.popleft()
        self._f += 1

    _pop_many = FifoAggregator._pop_many  # steps that combine nothing cannot fail half-way

    def _memo(self) -> Any:
        return (self._e, self._beaten)

    def _restore(self, memo: Any) -> None:
        end, beaten = memo
        if self._deque and self._deque[-1][0] == end:
            self._deque.pop()
        self._give_back()
        self._e, self._beaten = end, beaten

    def _check(self) -> None:
        positions = [position for position, _ in self._deque]
        assert positions == sorted(set(positions))
        assert all(self._f <= position < self._e for position in positions)
        partials = [partial for _, partial in self._deque]
        assert all(self._combine(a, b) is a for a, b in pairwise(partials))


class SlickDeque(FormAggregator):
    """For selective and for invertible aggregations; any other is a TypeError.

    Combines, selective: insert < 2 amortised and n at worst, evict 0, query 0; holds at most n partials, and few where
    the input is random. Invertible: insert 1, evict 1, query 0; holds n + 1.

    >>> import sash
    >>> window = sash.aggregators.SlickDeque(sash.Max())
    >>> window.insert_many([2, 6, 3, 5, 3]); window.evict_many(2); window.query()
    5
    >>> sash.aggregators.SlickDeque(sash.MaxCount())
    Traceback (most recent call last):
    ...
    TypeError: SlickDeque needs a selective or invertible aggregation, and MaxCount() is neither: use DABA
    """

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        if not (aggregation.selective or aggregation.invertible):
            raise TypeError(
                f"SlickDeque needs a selective or invertible aggregation, and {aggregation!r} is neither: use DABA"
            )
        self._form = (_Selective if aggregation.selective else SubtractOnEvict)(aggregation)
