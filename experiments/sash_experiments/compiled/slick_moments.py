"""SlickDeque over a moment sketch, by components as the PBA paper ran it: count and sums invert, min and max select.

Two deques of positions, one for each extreme, point into the ring of partials; the sums are a running answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sash_experiments.compiled.jit import step
from sash_experiments.compiled.operations import Operations
from sash_experiments.compiled.steps import State, Steps, capacity

__all__ = ["slick_moments"]

F, E = 0, 1
OLD, YOUNG = 2, 4  # of the deque of the minimum; that of the maximum is beside it
LOW, HIGH = 1, 2  # where a partial has its extremes


def slick_moments(operations: Operations) -> Steps:
    """Insert and evict an addition a component, and < 2 comparisons each for the two extremes, n at worst."""
    lift, copy = operations.lift, operations.copy

    @step
    def insert(state: Any, source: Any, k: int) -> None:
        at, ring, total, positions = state
        mask, end = ring.shape[0] - 1, at[E]
        slot = end & mask
        lift(ring, slot, source, k)
        for part in range(ring.shape[1]):
            total[0, part] += ring[slot, part]
        for side in range(2):
            young, part = at[YOUNG + side], LOW + side
            while young > at[OLD + side]:
                older = ring[positions[side, (young - 1) & mask] & mask, part]
                if (older <= ring[slot, part]) if part == LOW else (older >= ring[slot, part]):
                    break
                young -= 1
            positions[side, young & mask] = end
            at[YOUNG + side] = young + 1
        at[E] = end + 1

    @step
    def evict(state: Any) -> None:
        at, ring, total, positions = state
        mask = ring.shape[0] - 1
        for part in range(ring.shape[1]):
            total[0, part] -= ring[at[F] & mask, part]
        for side in range(2):
            if positions[side, at[OLD + side] & mask] == at[F]:
                at[OLD + side] += 1
        at[F] += 1

    @step
    def query(state: Any, answers: Any, place: int) -> None:
        at, ring, total, positions = state
        mask = ring.shape[0] - 1
        copy(answers, place, total, 0)
        for side in range(2):
            slot = positions[side, at[OLD + side] & mask] & mask
            answers[place, LOW + side] = ring[slot, LOW + side]

    def arrays(size: int) -> State:
        slots = capacity(size)
        return np.zeros(6, np.int64), operations.rows(slots), operations.rows(1), np.zeros((2, slots), np.int64)

    return Steps(arrays, insert, evict, query, held=(0, 2))
