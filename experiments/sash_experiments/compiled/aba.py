"""ABA: Two-Stacks in place, as two stretches of one ring, of values and of sums (DABA paper, figure 7)."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash_experiments.compiled.atomics import seldom
from sash_experiments.compiled.jit import step
from sash_experiments.compiled.operations import Operations
from sash_experiments.compiled.steps import State, Steps, capacity

__all__ = ["aba"]

F, B, E = 0, 1, 2


def aba(operations: Operations) -> Steps:
    """Insert 1 merge, query 1, evict 0, or n - 1 when it flips."""
    lift, copy, merge, suffixes = operations.lift, operations.copy, operations.merge, operations.suffixes

    @step
    def insert(state: Any, source: Any, k: int) -> None:
        at, vals, aggs = state
        mask, end = vals.shape[0] - 1, at[E]
        lift(vals, end & mask, source, k)
        if seldom(at[B] == end):
            copy(aggs, end & mask, vals, end & mask)
        else:
            merge(aggs, end & mask, aggs, (end - 1) & mask, vals, end & mask)
        at[E] = end + 1

    @step
    def evict(state: Any) -> None:
        at, vals, aggs = state
        if seldom(at[F] == at[B]):  # flip
            mask = vals.shape[0] - 1
            for position in range(at[F], at[E]):
                copy(aggs, position & mask, vals, position & mask)
            suffixes(aggs, at[F], at[E] - 1, mask)
            at[B] = at[E]
        at[F] += 1

    @step
    def query(state: Any, answers: Any, place: int) -> None:
        at, _, aggs = state
        front, last = at[F] & (aggs.shape[0] - 1), (at[E] - 1) & (aggs.shape[0] - 1)
        if seldom(at[F] == at[B]):
            copy(answers, place, aggs, last)
        elif seldom(at[B] == at[E]):
            copy(answers, place, aggs, front)
        else:
            merge(answers, place, aggs, front, aggs, last)

    def arrays(size: int) -> State:
        return np.zeros(3, np.int64), *(operations.rows(capacity(size)) for _ in range(2))

    return Steps(arrays, insert, evict, query)
