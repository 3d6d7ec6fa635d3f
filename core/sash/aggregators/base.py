"""What the FIFO merging algorithms share: the window as a queue of partials, oldest first.

    evict() <-- [ oldest | … | newest ] <-- insert(value)        query() = lower(oldest ⊕ … ⊕ newest)

An algorithm defines how partials enter (`_push`), leave (`_pop`) and add up (`total`). A call that fails changes
nothing: algorithms compute everything that can raise, in ``lift`` or ``combine``, before they change anything. Where
that would cost more than to undo it, they are :class:`StepwiseAggregator`. ABA, DABA and FlatFIT keep their partials in
a :class:`Ring`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any, ClassVar

from sash.aggregations.base import Aggregation

__all__ = [
    "Combine",
    "FifoAggregator",
    "FormAggregator",
    "Ring",
    "RingAggregator",
    "StepwiseAggregator",
    "check_aggregation",
    "check_count",
    "prefix_sums",
    "suffix_sums",
]

Combine = Callable[[Any, Any], Any]


class FifoAggregator(ABC):
    """A sliding window over which an aggregation is kept: the SWAG data type of the DABA paper.

    Inserts and evictions can be interleaved in any way, so the window may grow and shrink. ``len()`` is the number of
    values in the window, nulls included.
    """

    _space: ClassVar[tuple[int, int]] = (1, 0)
    """How many partials are held for each value, and how many besides."""

    def __init__(self, aggregation: Aggregation) -> None:
        check_aggregation(aggregation, type(self).__name__)
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
        check_count(count, len(self))
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
    def partials(self) -> int:
        """How many partials are held: the measure of space in the papers."""
        per_value, besides = self._space
        return per_value * len(self) + besides

    def _push(self, partial: Any) -> None:
        """Add a partial. An algorithm defines this or :meth:`_push_many`; each defaults to the other."""
        self._push_many((partial,))

    def _pop(self) -> None:
        """Remove the oldest partial of a window that is not empty. By default :meth:`_pop_many`, and vice versa."""
        self._pop_many(1)

    def _push_many(self, partials: Sequence[Any]) -> None:
        """Add partials, all or none. The default suits an algorithm whose single steps cannot fail."""
        for partial in partials:
            self._push(partial)

    def _pop_many(self, count: int) -> None:
        """Remove ``count`` partials, at least one and at most all; as for :meth:`_push_many`."""
        for _ in range(count):
            self._pop()

    @abstractmethod
    def _check(self) -> None:
        """Assert every invariant. Linear or slower: for tests."""


class StepwiseAggregator(FifoAggregator):
    """An algorithm whose bulk operations are single steps in a row, all undone if one of them fails.

    A step changes a bounded number of entries, so a memo of those suffices to undo it.
    """

    @abstractmethod
    def _memo(self) -> Any:
        """A copy of what the next step may change."""

    @abstractmethod
    def _restore(self, memo: Any) -> None:
        """Undo the step that followed ``memo``, if it did not fail."""

    def _push_many(self, partials: Sequence[Any]) -> None:
        self._all_or_none(self._push, [(partial,) for partial in partials])

    def _pop_many(self, count: int) -> None:
        self._all_or_none(self._pop, [()] * count)

    def _all_or_none(self, step: Callable[..., None], calls: list[tuple[Any, ...]]) -> None:
        memos = []
        try:
            for arguments in calls:
                memos.append(self._memo())
                step(*arguments)
        except BaseException:
            for memo in reversed(memos):
                self._restore(memo)
            raise


class FormAggregator(FifoAggregator):
    """An algorithm with several forms: all calls go to ``_form``, the one that suits the aggregation."""

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


def prefix_sums(combine: Combine, partials: Sequence[Any], before: Any = None) -> list[Any]:
    """[first, first ⊕ second, …]: the sums of all prefixes, each after ``before`` unless that is None."""
    if before is None:
        return list(accumulate(partials, combine))
    return list(accumulate(partials, combine, initial=before))[1:]


def suffix_sums(combine: Combine, partials: Sequence[Any]) -> list[Any]:
    """[last, last but one ⊕ last, …]: the sums of all suffixes, shortest first."""
    sums: list[Any] = []
    for partial in reversed(partials):
        sums.append(combine(partial, sums[-1]) if sums else partial)
    return sums


def check_aggregation(aggregation: Any, user: str) -> None:
    """Raise unless ``aggregation`` is one."""
    if not isinstance(aggregation, Aggregation):
        raise TypeError(f"{user} needs an aggregation such as sash.Max(); got {aggregation!r}")


def check_count(count: int, most: int) -> None:
    """Raise unless ``count`` is a whole number from 0 to ``most``."""
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(f"the number of values must be a whole number; got {count!r}")
    if count < 0:
        raise ValueError(f"the number of values must not be negative; got {count}")
    if count > most:
        raise IndexError(f"the window has {most} values, not {count}")


_SMALLEST_RING = 8


class Ring:
    """A queue with random access at positions that only grow: ``front`` … ``end - 1``, ``i`` in ``slots[i & mask]``.

    The algorithms index ``slots`` themselves: a method call costs more than what they do there. Growing and shrinking
    moves references and combines nothing; it costs O(1) amortised a call and happens only while the window's size
    changes by a factor.
    """

    __slots__ = ("mask", "slots")

    def __init__(self) -> None:
        self.slots: list[Any] = [None] * _SMALLEST_RING
        self.mask = _SMALLEST_RING - 1

    def make_room(self, front: int, end: int, more: int = 1) -> None:
        """Grow the ring to hold ``more`` positions from ``end`` on. Needed if ``end - front > mask`` for one."""
        size = len(self.slots)
        while end - front + more > size:
            size *= 2
        if size != len(self.slots):
            self._resize(front, end, size)

    def give_back(self, front: int, end: int) -> None:
        """Halve the ring while less than a quarter of it is in use. Needed if ``(end - front) * 4 < mask``."""
        size = len(self.slots)
        while size > _SMALLEST_RING and end - front < size // 4:
            size //= 2
        if size != len(self.slots):
            self._resize(front, end, size)

    def _resize(self, front: int, end: int, size: int) -> None:
        slots: list[Any] = [None] * size
        for position in range(front, end):
            slots[position & (size - 1)] = self.slots[position & self.mask]
        self.slots, self.mask = slots, size - 1

    def between(self, start: int, end: int) -> list[Any]:
        """The contents of positions ``start`` … ``end - 1``."""
        return [self.slots[position & self.mask] for position in range(start, end)]

    def clear(self, start: int, end: int) -> None:
        """Release what positions ``start`` … ``end - 1`` hold."""
        for position in range(start, end):
            self.slots[position & self.mask] = None


class RingAggregator(FifoAggregator):
    """An algorithm whose entries are at the positions ``_f`` … ``_e - 1`` of one or two rings."""

    def __init__(self, aggregation: Aggregation, *rings: Ring) -> None:
        super().__init__(aggregation)
        self._rings = rings
        self._f = self._e = 0

    def __len__(self) -> int:
        return self._e - self._f

    def _make_room(self, more: int = 1) -> None:
        for ring in self._rings:
            ring.make_room(self._f, self._e, more)

    def _give_back(self) -> None:
        for ring in self._rings:
            ring.give_back(self._f, self._e)
