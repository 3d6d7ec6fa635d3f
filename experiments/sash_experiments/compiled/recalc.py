"""Recalculation: the partials in a ring, all merged anew at every query."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash_experiments.compiled.jit import step
from sash_experiments.compiled.operations import Operations
from sash_experiments.compiled.steps import Steps, capacity

__all__ = ["read_size", "recalc"]

F, E = 0, 1


def recalc(operations: Operations) -> Steps:
    """Query n - 1 merges."""
    lift, copy, absorb = operations.lift, operations.copy, operations.absorb

    @step
    def insert(state: Any, source: Any, k: int) -> None:
        at, vals = state
        lift(vals, at[E] & (vals.shape[0] - 1), source, k)
        at[E] += 1

    @step
    def evict(state: Any) -> None:
        state[0][F] += 1

    @step
    def query(state: Any, answers: Any, place: int) -> None:
        at, vals = state
        mask = vals.shape[0] - 1
        copy(answers, place, vals, at[F] & mask)
        for position in range(at[F] + 1, at[E]):
            absorb(answers, place, vals, position & mask)

    return Steps(lambda size: (np.zeros(2, np.int64), operations.rows(capacity(size))), insert, evict, query)


def read_size(operations: Operations) -> Steps:
    """Of a count: query reads off how many there are, as the papers' re-evaluation does."""
    plain = recalc(operations)

    @step
    def query(state: Any, answers: Any, place: int) -> None:
        at, _ = state
        answers[place] = at[E] - at[F]

    return plain._replace(query=query)
