"""For tests of windows, ours and users': the naive definition of results, and aggregations that count or fail.

Nothing here is fast.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

from sash.aggregations.base import Aggregation
from sash.testing.definition import count_windows, naive
from sash.testing.evaluator import Evaluator, evaluate

__all__ = ["Counted", "Evaluator", "Failing", "count_windows", "evaluate", "naive"]


class _Wrapped(Aggregation):
    """Behaves like ``inner``, and calls ``_before_combine`` before every merge."""

    def __init__(self, inner: Aggregation) -> None:
        self.inner = inner
        for trait in ("columns", "inputs", "kind", "commutative", "selective", "empty", "_invert"):
            setattr(self, trait, getattr(inner, trait))

    @property
    def name(self) -> str:
        return f"{type(self).__name__} {self.inner.name}"

    def lift(self, value: Any) -> Any:
        return self.inner.lift(value)

    def combine(self, a: Any, b: Any) -> Any:
        self._before_combine()
        return self.inner.combine(a, b)

    def lower(self, partial: Any) -> Any:
        return self.inner.lower(partial)

    _lift, _combine, _lower = lift, combine, lower

    def invert(self, total: Any, oldest: Any) -> Any:
        self._before_combine()
        return self.inner.invert(total, oldest)

    def _before_combine(self) -> None:
        raise NotImplementedError


class Counted(_Wrapped):
    """Counts the calls of ``combine`` and ``invert``, by thread.

    >>> import sash
    >>> counted = Counted(sash.Max())
    >>> window = sash.aggregators.Recalc(counted)
    >>> window.insert_many([1, 2, 3]); window.query(), counted.calls
    (3, 2)
    """

    def __init__(self, inner: Aggregation) -> None:
        super().__init__(inner)
        self._calls: Counter[int] = Counter()

    def _before_combine(self) -> None:
        self._calls[threading.get_ident()] += 1

    @property
    def calls(self) -> int:
        """The number of calls so far, by all threads."""
        return self._calls.total()

    @property
    def calls_here(self) -> int:
        """The number of calls so far by this thread."""
        return self._calls[threading.get_ident()]


class Failing(_Wrapped):
    """Raises ``ArithmeticError`` at the ``fuse``-th call of ``combine`` or ``invert`` from now, once; 0: never.

    >>> import sash
    >>> failing = Failing(sash.Max())
    >>> failing.fuse = 1
    >>> failing.combine(1, 2)
    Traceback (most recent call last):
    ...
    ArithmeticError: combine failed
    >>> failing.combine(1, 2)
    2
    """

    fuse = 0

    def _before_combine(self) -> None:
        if self.fuse:
            self.fuse -= 1
            if not self.fuse:
                raise ArithmeticError("combine failed")
