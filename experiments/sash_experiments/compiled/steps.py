"""What an algorithm is to the loops that drive it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["State", "Steps", "capacity"]


State = tuple[Any, ...]


class Steps(NamedTuple):
    """An algorithm over windows of a fixed number of partials: arrays, and the compiled steps that change them.

    Loops insert as many partials as the window has, and query; then, over and over, they evict, insert and query.
    """

    arrays: Callable[..., State]
    """The state of a window of so many partials, empty."""
    insert: Any
    """``insert(state, source, k)``: lift the k-th value of ``source`` into the window."""
    evict: Any
    """``evict(state)``: remove the oldest partial."""
    query: Any
    """``query(state, answers, place)``: write the partial of the window to a row of ``answers``."""
    held: tuple[int, ...] = (0,)
    """Places in the state of arrays that are as small for any window, and that nobody else changes while a loop runs:
    counters, single partials."""
    second: Any = None
    """``second(state)``: what a second thread runs beside the loop until ``stop``, if there is one."""
    stop: Any = None
    """``stop(state, stopped)`` tells it, or takes it back."""


def capacity(size: int) -> int:
    """The slots of a ring for so many partials: a power of two, so that a position is masked into it.

    >>> capacity(1), capacity(8), capacity(9)
    (1, 8, 16)
    """
    return 1 << (size - 1).bit_length()
