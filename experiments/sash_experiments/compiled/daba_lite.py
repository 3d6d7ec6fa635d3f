"""DABA Lite: DABA in one ring of partials, with two sums beside it.

          F           L           R           A           B           E
partials: to B  →     to R  →     values      to B  →     values
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sash_experiments.compiled.atomics import seldom
from sash_experiments.compiled.jit import step
from sash_experiments.compiled.operations import Operations
from sash_experiments.compiled.steps import State, Steps, capacity

__all__ = ["daba_lite"]

F, L, R, A, B, E = range(6)
AGG_RA, AGG_B = 0, 1  # the rows of ``sums``


def daba_lite(operations: Operations) -> Steps:
    """Insert ≤ 3 merges, evict ≤ 2, query ≤ 1."""
    lift, copy, absorb, merge = operations.lift, operations.copy, operations.absorb, operations.merge

    @step
    def fixup(state: Any) -> None:
        at, ring, sums = state
        mask = ring.shape[0] - 1
        if seldom(at[F] == at[B]):
            at[L] = at[R] = at[A] = at[B] = at[E]
            return
        if seldom(at[L] == at[B]):  # flip
            at[L] = at[F]
            at[A] = at[B] = at[E]
            copy(sums, AGG_RA, sums, AGG_B)
        if at[L] == at[R]:  # free ride
            at[L] += 1
            at[R] += 1
            at[A] += 1
            if at[A] != at[B]:
                copy(sums, AGG_RA, ring, at[A] & mask)
        else:  # shrink l_L and l_R
            absorb(ring, at[L] & mask, sums, AGG_RA)
            at[L] += 1
            at[A] -= 1
            if at[A] + 1 != at[B]:
                absorb(ring, at[A] & mask, ring, (at[A] + 1) & mask)

    @step
    def insert(state: Any, source: Any, k: int) -> None:
        at, ring, sums = state
        slot = at[E] & (ring.shape[0] - 1)
        lift(ring, slot, source, k)
        if seldom(at[B] == at[E]):
            copy(sums, AGG_B, ring, slot)
        else:
            absorb(sums, AGG_B, ring, slot)
        at[E] += 1
        fixup(state)

    @step
    def evict(state: Any) -> None:
        state[0][F] += 1
        fixup(state)

    @step
    def query(state: Any, answers: Any, place: int) -> None:
        at, ring, sums = state
        front = at[F] & (ring.shape[0] - 1)
        if seldom(at[B] == at[E]):
            copy(answers, place, ring, front)
        else:
            merge(answers, place, ring, front, sums, AGG_B)

    def arrays(size: int) -> State:
        return np.zeros(6, np.int64), operations.rows(capacity(size)), operations.rows(2)

    return Steps(arrays, insert, evict, query, held=(0, 2))
