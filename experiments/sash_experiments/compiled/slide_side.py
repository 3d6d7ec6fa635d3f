"""SlideSide: sums of prefixes where parts can be removed again, else sums of suffixes as in Two-Stacks Lite.

prefixes:  base | v0⊕v1 | v0⊕v1⊕v2 | …        the window = the newest prefix, less the base
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sash_experiments.compiled.jit import step
from sash_experiments.compiled.operations import Operations
from sash_experiments.compiled.steps import State, Steps, capacity
from sash_experiments.compiled.two_stacks_lite import two_stacks_lite

__all__ = ["slide_side"]

F, E, RENEWED = 0, 1, 2  # RENEWED: the first position whose prefix starts at the base


def slide_side(operations: Operations) -> Steps:
    """Insert 1 merge, query 1, evict 0, or n when the prefixes are renewed."""
    return two_stacks_lite(operations) if operations.remove is None else _prefixes(operations)


def _prefixes(operations: Operations) -> Steps:
    lift, copy, merge, remove = operations.lift, operations.copy, operations.merge, operations.remove

    @step
    def insert(state: Any, source: Any, k: int) -> None:
        at, prefixes, value = state
        mask, end = prefixes.shape[0] - 1, at[E]
        if end == at[RENEWED]:
            lift(prefixes, end & mask, source, k)
        else:
            lift(value, 0, source, k)
            merge(prefixes, end & mask, prefixes, (end - 1) & mask, value, 0)
        at[E] = end + 1

    @step
    def evict(state: Any) -> None:
        at, prefixes, _ = state
        at[F] += 1
        if at[F] - at[RENEWED] >= at[E] - at[F]:  # as much has left as there is: else sums grow for ever
            mask, base = prefixes.shape[0] - 1, (at[F] - 1) & (prefixes.shape[0] - 1)
            for position in range(at[F], at[E]):
                remove(prefixes, position & mask, prefixes, base)
            at[RENEWED] = at[F]

    @step
    def query(state: Any, answers: Any, place: int) -> None:
        at, prefixes, _ = state
        mask = prefixes.shape[0] - 1
        copy(answers, place, prefixes, (at[E] - 1) & mask)
        if at[F] > at[RENEWED]:
            remove(answers, place, prefixes, (at[F] - 1) & mask)

    def arrays(size: int) -> State:
        # the base stays beside the window's own prefixes
        return np.zeros(3, np.int64), operations.rows(capacity(size + 1)), operations.rows(1)

    return Steps(arrays, insert, evict, query, held=(0, 2))
