"""What the FIFO merging algorithms share: the window as a queue of partials, oldest first.

    evict() <-- [ oldest | … | newest ] <-- insert(value)        query() = lower(oldest ⊕ … ⊕ newest)

An algorithm defines how partials enter (`_push`), leave (`_pop`) and add up (`total`). Whatever it does, a call either
happens or does not: if ``lift`` or ``combine`` raises, the structure is as it was before the call. So everything that
can raise is computed before anything is changed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sash.aggregations.base import Aggregation

__all__ = ["FifoAggregator", "FormAggregator", "StepwiseAggregator", "checked_count"]


class FifoAggregator(ABC):
    """A sliding window over which an aggregation is kept: the SWAG data type of the DABA paper.

    Inserts and evictions can be interleaved in any way, so the window may grow and shrink. ``len()`` is the number of
    values in the window, nulls included.
    """

    def __init__(self, aggregation: Aggregation) -> None:
        if not isinstance(aggregation, Aggregation):
            raise TypeError(f"{type(self).__name__} needs an aggregation such as sash.Max(); got {aggregation!r}")
        self.aggregation = aggregation
        self._lift = aggregation.lift
        self._combine = aggregation.combine

    def insert(self, value: Any) -> None:
        """Add a value at the young end."""
        self._push(self._lift(value))

    def insert_many(self, values: Iterable[Any]) -> None:
        """Add values in order, all or none."""
        self._push_many([self._lift(value) for value in values])

    def evict(self) -> None:
        """Remove the oldest value."""
        if not len(self):
            raise IndexError("cannot evict: the window is empty")
        self._pop()

    def evict_many(self, count: int) -> None:
        """Remove the ``count`` oldest values, all or none."""
        checked_count(count, len(self))
        if count:
            self._pop_many(count)

    def query(self) -> Any:
        """The aggregation's result over the window."""
        return self.aggregation.lower(self.total())

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def total(self) -> Any:
        """The partial of the whole window, before ``lower``."""

    @property
    @abstractmethod
    def partials(self) -> int:
        """How many partials are held: the measure of space in the papers."""

    @abstractmethod
    def _push(self, partial: Any) -> None: ...

    @abstractmethod
    def _pop(self) -> None:
        """Remove the oldest partial of a window that is not empty."""

    @abstractmethod
    def _push_many(self, partials: Sequence[Any]) -> None: ...

    @abstractmethod
    def _pop_many(self, count: int) -> None:
        """Remove ``count`` partials, at least one and at most all."""

    @abstractmethod
    def _check(self) -> None:
        """Assert every invariant. Linear or slower: for tests."""


class StepwiseAggregator(FifoAggregator):
    """An algorithm whose bulk operations are its single steps in a row, undone again if one of them fails.

    A step changes a bounded number of entries, so a memo of them is all that undoing it takes.
    """

    @abstractmethod
    def _memo(self) -> Any:
        """What the next step may change."""

    @abstractmethod
    def _restore(self, memo: Any) -> None:
        """Undo the step before which ``memo`` was taken; nothing to undo is fine too."""

    def _push_many(self, partials: Sequence[Any]) -> None:
        self._all_or_none(self._push(partial) for partial in partials)

    def _pop_many(self, count: int) -> None:
        self._all_or_none(self._pop() for _ in range(count))

    def _all_or_none(self, steps: Iterator[None]) -> None:
        memos = [self._memo()]
        try:
            memos.extend(self._memo() for _ in steps)
        except BaseException:
            for memo in reversed(memos):
                self._restore(memo)
            raise


class FormAggregator(FifoAggregator):
    """An algorithm that has several forms, and the one that suits the aggregation does the work."""

    _form: FifoAggregator

    def __len__(self) -> int:
        return len(self._form)

    @property
    def partials(self) -> int:
        return self._form.partials

    def total(self) -> Any:
        return self._form.total()

    def _push(self, partial: Any) -> None:
        self._form._push(partial)

    def _pop(self) -> None:
        self._form._pop()

    def _push_many(self, partials: Sequence[Any]) -> None:
        self._form._push_many(partials)

    def _pop_many(self, count: int) -> None:
        self._form._pop_many(count)

    def _check(self) -> None:
        self._form._check()


def checked_count(count: int, most: int) -> None:
    """Refuse a number of values of the window that is not a whole number from 0 to ``most``."""
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(f"the number of values must be a whole number; got {count!r}")
    if count < 0:
        raise ValueError(f"the number of values must not be negative; got {count}")
    if count > most:
        raise IndexError(f"the window has {most} values, not {count}")
