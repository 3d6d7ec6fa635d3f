"""Recalculation from scratch: the definition, and so the oracle that every other algorithm is compared with."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import reduce
from typing import Any

from sash.aggregations.base import Aggregation
from sash.aggregators.base import FifoAggregator

__all__ = ["Recalc"]


class Recalc(FifoAggregator):
    """Merges all n partials at every query.

    Combines: insert 0, evict 0, query n - 1. Holds n partials.

    >>> import sash
    >>> window = sash.aggregators.Recalc(sash.Concat())
    >>> window.insert_many(["a", "b", "c"]); window.evict(); window.query()
    'b,c'
    """

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._queue: deque[Any] = deque()

    def __len__(self) -> int:
        return len(self._queue)

    def total(self) -> Any:
        return reduce(self._combine, self._queue) if self._queue else None

    def _push_many(self, partials: Sequence[Any]) -> None:
        self._queue.extend(partials)

    def _pop(self) -> None:
        self._queue.popleft()

    def _check(self) -> None:
        assert self.partials == len(self)
