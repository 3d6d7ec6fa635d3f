"""Two-Stacks Lite: one ring, in which the sums of the front lie where its values were.

          F               B               E
partials: to B  →         values               back = the sum of B … E
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sash_experiments.compiled.atomics import seldom
from sash_experiments.compiled.jit import step
from sash_experiments.compiled.operations import Operations
from sash_experiments.compiled.steps import State, Steps, capacity

__all__ = ["two_stacks_lite"]

F, B, E = 0, 1, 2


def two_stacks_lite(operations: Operations) -> Steps:
    """Insert 1 merge, query 1, evict 0, or n - 1 when it flips."""
    lift, copy, absorb, merge = operations.lift, operations.copy, operations.absorb, operations.merge
    suffixes = operations.suffixes

    @step
    def insert(state: Any, source: Any, k: int) -> None:
        at, ring, back = state
        slot = at[E] & (ring.shape[0] - 1)
        lift(ring, slot, source, k)
        if seldom(at[B] == at[E]):
            copy(back, 0, ring, slot)
        else:
            absorb(back, 0, ring, slot)
        at[E] += 1

    @step
    def evict(state: Any) -> None:
        at, ring, _ = state
        if seldom(at[F] == at[B]):  # flip
            suffixes(ring, at[F], at[E] - 1, ring.shape[0] - 1)
            at[B] = at[E]
        at[F] += 1

    @step
    def query(state: Any, answers: Any, place: int) -> None:
        at, ring, back = state
        front = at[F] & (ring.shape[0] - 1)
        if seldom(at[F] == at[B]):
            copy(answers, place, back, 0)
        elif seldom(at[B] == at[E]):
            copy(answers, place, ring, front)
        else:
            merge(answers, place, ring, front, back, 0)

    def arrays(size: int) -> State:
        return np.zeros(3, np.int64), operations.rows(capacity(size)), operations.rows(1)

    return Steps(arrays, insert, evict, query, held=(0, 2))
