"""SlickDeque: the partials that can still become the answer, where merging selects; a running answer, where it inverts.

selective:   a deque of positions and their partials; a new partial removes those at the young end that it beats
invertible:  a ring of partials and their sum, from which the oldest is removed
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sash_experiments.compiled.jit import step
from sash_experiments.compiled.operations import Operations
from sash_experiments.compiled.steps import State, Steps, capacity

__all__ = ["slick_deque"]

F, E, OLD, YOUNG = 0, 1, 2, 3  # of the window; of the deque


def slick_deque(operations: Operations) -> Steps:
    """Selective: insert < 2 merges amortised, n at worst. Invertible: insert 1 merge, evict 1 removal."""
    if operations.wins is not None:
        return _selective(operations)
    if operations.remove is not None:
        return _invertible(operations)
    raise TypeError("SlickDeque needs a selective or invertible aggregation")


def _selective(operations: Operations) -> Steps:
    lift, copy, wins = operations.lift, operations.copy, operations.wins

    @step
    def insert(state: Any, source: Any, k: int) -> None:
        at, positions, partials, value = state
        mask, young = positions.shape[0] - 1, at[YOUNG]
        lift(value, 0, source, k)
        while young > at[OLD] and wins(partials, (young - 1) & mask, value, 0):
            young -= 1
        copy(partials, young & mask, value, 0)
        positions[young & mask] = at[E]
        at[YOUNG] = young + 1
        at[E] += 1

    @step
    def evict(state: Any) -> None:
        at, positions, _, _ = state
        if positions[at[OLD] & (positions.shape[0] - 1)] == at[F]:
            at[OLD] += 1
        at[F] += 1

    @step
    def query(state: Any, answers: Any, place: int) -> None:
        at, positions, partials, _ = state
        copy(answers, place, partials, at[OLD] & (positions.shape[0] - 1))

    def arrays(size: int) -> State:
        slots = capacity(size)
        return np.zeros(4, np.int64), np.zeros(slots, np.int64), operations.rows(slots), operations.rows(1)

    return Steps(arrays, insert, evict, query, held=(0, 3))


def _invertible(operations: Operations) -> Steps:
    lift, copy, absorb, remove = operations.lift, operations.copy, operations.absorb, operations.remove

    @step
    def insert(state: Any, source: Any, k: int) -> None:
        at, ring, total = state
        slot = at[E] & (ring.shape[0] - 1)
        lift(ring, slot, source, k)
        if at[F] == at[E]:
            copy(total, 0, ring, slot)
        else:
            absorb(total, 0, ring, slot)
        at[E] += 1

    @step
    def evict(state: Any) -> None:
        at, ring, total = state
        remove(total, 0, ring, at[F] & (ring.shape[0] - 1))
        at[F] += 1

    @step
    def query(state: Any, answers: Any, place: int) -> None:
        copy(answers, place, state[2], 0)

    def arrays(size: int) -> State:
        return np.zeros(2, np.int64), operations.rows(capacity(size)), operations.rows(1)

    return Steps(arrays, insert, evict, query, held=(0, 2))
