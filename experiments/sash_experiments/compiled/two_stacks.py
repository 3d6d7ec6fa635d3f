"""Two-Stacks: both stacks hold a value and the sum from the bottom up to it (DABA paper, figure 5)."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash_experiments.compiled.atomics import seldom
from sash_experiments.compiled.jit import step
from sash_experiments.compiled.operations import Operations
from sash_experiments.compiled.steps import State, Steps

__all__ = ["two_stacks"]

FRONT, BACK = 0, 1  # how many entries each stack has


def two_stacks(operations: Operations) -> Steps:
    """Insert 1 merge, query 1, evict 0, or n - 1 when it flips."""
    lift, copy, merge = operations.lift, operations.copy, operations.merge

    @step
    def insert(state: Any, source: Any, k: int) -> None:
        at, _, _, vals, aggs = state
        top = at[BACK]
        lift(vals, top, source, k)
        if seldom(top == 0):
            copy(aggs, top, vals, top)
        else:
            merge(aggs, top, aggs, top - 1, vals, top)
        at[BACK] = top + 1

    @step
    def flip(state: Any) -> None:
        at, front_vals, front_aggs, vals, _ = state
        top = 0
        for position in range(at[BACK] - 1, -1, -1):
            copy(front_vals, top, vals, position)
            if top:
                merge(front_aggs, top, vals, position, front_aggs, top - 1)
            else:
                copy(front_aggs, top, vals, position)
            top += 1
        at[FRONT], at[BACK] = top, 0

    @step
    def evict(state: Any) -> None:
        at = state[0]
        if seldom(at[FRONT] == 0):
            flip(state)
        at[FRONT] -= 1

    @step
    def query(state: Any, answers: Any, place: int) -> None:
        at, _, front_aggs, _, aggs = state
        if seldom(at[FRONT] == 0):
            copy(answers, place, aggs, at[BACK] - 1)
        elif seldom(at[BACK] == 0):
            copy(answers, place, front_aggs, at[FRONT] - 1)
        else:
            merge(answers, place, front_aggs, at[FRONT] - 1, aggs, at[BACK] - 1)

    def arrays(size: int) -> State:
        return np.zeros(2, np.int64), *(operations.rows(size) for _ in range(4))

    return Steps(arrays, insert, evict, query)
