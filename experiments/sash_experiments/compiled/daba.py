"""DABA: ABA whose flip is spread over the operations before it is needed (DABA paper, figure 17: with caching).

         F           L           R           A           B           E
vals:    v  …        v  …        v  …        v  …        v  …
aggs:    to B  →     to R  →     ←  from R   to B  →     ←  from B
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sash_experiments.compiled.atomics import seldom
from sash_experiments.compiled.jit import step
from sash_experiments.compiled.operations import Operations
from sash_experiments.compiled.steps import State, Steps, capacity

__all__ = ["daba"]

F, L, R, A, B, E, VALID = range(7)
R_PLUS_A, F_PLUS_B = 0, 1  # the rows of ``sums``


def daba(operations: Operations, cached: bool = True) -> Steps:
    """Insert ≤ 3 merges, evict ≤ 2, query ≤ 1. Without the cached sums (figure 14) insert ≤ 4, evict ≤ 3, query ≤ 1."""
    lift, copy, absorb, merge = operations.lift, operations.copy, operations.absorb, operations.merge

    @step
    def fixup(state: Any) -> None:
        at, vals, aggs, sums = state
        mask = vals.shape[0] - 1
        at[VALID] = 0
        if seldom(at[F] == at[B]):
            at[L] = at[R] = at[A] = at[B] = at[E]
            return
        if seldom(at[L] == at[B]):  # flip
            at[L] = at[F]
            at[A] = at[B] = at[E]
            copy(sums, R_PLUS_A, aggs, (at[E] - 1) & mask)
        if at[L] == at[R]:  # free ride
            at[L] += 1
            at[R] += 1
            at[A] += 1
        else:  # shrink l_L and l_R
            left = (at[A] - 1) & mask
            if not cached:
                copy(sums, R_PLUS_A, aggs, left)
                if at[A] != at[B]:
                    absorb(sums, R_PLUS_A, aggs, at[A] & mask)
            absorb(aggs, at[L] & mask, sums, R_PLUS_A)
            if seldom(at[A] == at[B]):
                copy(aggs, left, vals, left)
            else:
                merge(aggs, left, vals, left, aggs, at[A] & mask)
            at[L] += 1
            at[A] -= 1

    @step
    def insert(state: Any, source: Any, k: int) -> None:
        at, vals, aggs, _ = state
        mask, end = vals.shape[0] - 1, at[E]
        lift(vals, end & mask, source, k)
        if seldom(at[B] == end):
            copy(aggs, end & mask, vals, end & mask)
        else:
            merge(aggs, end & mask, aggs, (end - 1) & mask, vals, end & mask)
        at[E] = end + 1
        fixup(state)

    @step
    def evict(state: Any) -> None:
        state[0][F] += 1
        fixup(state)

    @step
    def total(into: Any, place: int, at: Any, aggs: Any) -> None:
        mask = aggs.shape[0] - 1
        if seldom(at[B] == at[E]):
            copy(into, place, aggs, at[F] & mask)
        else:
            merge(into, place, aggs, at[F] & mask, aggs, (at[E] - 1) & mask)

    @step
    def query(state: Any, answers: Any, place: int) -> None:
        at, _, aggs, sums = state
        if not cached:
            total(answers, place, at, aggs)
            return
        if not at[VALID]:
            total(sums, F_PLUS_B, at, aggs)
            at[VALID] = 1
        copy(answers, place, sums, F_PLUS_B)

    def arrays(size: int) -> State:
        return np.zeros(7, np.int64), *(operations.rows(capacity(size)) for _ in range(2)), operations.rows(2)

    return Steps(arrays, insert, evict, query, held=(0, 3))
