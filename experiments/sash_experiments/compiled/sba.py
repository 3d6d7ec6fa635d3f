"""SBA: chunks of b slices; ``csa`` of the open one, ``lcs`` of closed ones in place of their slices.

    boundary                    boundary
       | s0   s1   s2   s3   s4    | s5   s6   s7 …          slices
       | lcs0[0]  …     lcs0[3]    | csa1[0] … csa1[2]
                        `-------- window 3 ------'   = lcs0[3] ⊕ csa1[2]

Chunks lie one after the other in a ring; ``lcs[0]`` of each is the whole chunk, its last ``csa``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sash_experiments.compiled.atomics import seldom
from sash_experiments.compiled.jit import step
from sash_experiments.compiled.operations import Operations
from sash_experiments.compiled.steps import State, Steps

__all__ = ["ALL", "CLOSED", "FIRST", "HELD", "B", "J", "chunk_query", "chunk_steps", "chunks", "following", "sba"]

B = 0  # the slices of a chunk
CLOSED, BASE, OPEN = 1, 2, 3  # chunks that are closed, of all; where the open one begins; the slices in it
FIRST, FIRST_BASE, J = 4, 5, 6  # the chunk in which the window begins, of all; where that begins; where in it
LENGTH = 7
HELD = (0, 2)  # the numbers and csa
ALL = -1  # the mask of a ring that does not wrap


def chunks(operations: Operations, size: int, chunk: int) -> State:
    """The numbers that describe the chunks of a window of ``size`` slices, the chunks, and ``csa``."""
    at = np.zeros(LENGTH, np.int64)
    at[B] = chunk
    return at, operations.rows(chunk * (size // chunk + 2)), operations.rows(1)


def _following(rows: Any, base: int, chunk: int) -> int:
    """Where the chunk after the one at ``base`` begins."""
    return base + chunk if base + chunk < rows.shape[0] else 0


following = step(_following)


def sba(operations: Operations) -> Steps:
    """Insert 1 merge, query ≤ 1 (⌊n / b⌋ for smaller chunks); the first to need a chunk's ``lcs`` does its b - 2."""
    suffixes = operations.suffixes

    @step
    def complete(state: Any) -> None:
        at, rows, _ = state
        if seldom(at[J] == 1):  # the first window that needs it
            first = at[FIRST_BASE]
            suffixes(rows, first + 1, first + at[B] - 1, ALL)

    @step
    def close(state: Any) -> None:
        pass

    def arrays(size: int, chunk: int | None = None) -> State:
        return chunks(operations, size, size if chunk is None else chunk)

    insert, evict = chunk_steps(operations, close)
    return Steps(arrays, insert, evict, chunk_query(operations, complete), held=HELD)


def chunk_steps(operations: Operations, close: Any) -> tuple[Any, Any]:
    """Insert, which calls ``close`` at a boundary, and evict; they begin with at, rows and csa of the state."""
    lift, copy, absorb = operations.lift, operations.copy, operations.absorb

    @step
    def insert(state: Any, source: Any, k: int) -> None:
        at, rows, csa = state[0], state[1], state[2]
        slot = at[BASE] + at[OPEN]
        lift(rows, slot, source, k)
        if seldom(at[OPEN] == 0):
            copy(csa, 0, rows, slot)
        else:
            absorb(csa, 0, rows, slot)
        at[OPEN] += 1
        if seldom(at[OPEN] == at[B]):
            copy(rows, at[BASE], csa, 0)
            at[BASE] = following(rows, at[BASE], at[B])
            at[OPEN] = 0
            at[CLOSED] += 1
            close(state)

    @step
    def evict(state: Any) -> None:
        at, rows = state[0], state[1]
        at[J] += 1
        if seldom(at[J] == at[B]):
            at[J] = 0
            at[FIRST] += 1
            at[FIRST_BASE] = following(rows, at[FIRST_BASE], at[B])

    return insert, evict


def chunk_query(operations: Operations, complete: Any) -> Any:
    """Query: an element of ``lcs``, whole chunks, ``csa``. ``complete`` sees to it that the first is there."""
    copy, absorb = operations.copy, operations.absorb

    @step
    def query(state: Any, answers: Any, place: int) -> None:
        at, rows, csa = state[0], state[1], state[2]
        complete(state)
        base = at[FIRST_BASE]
        copy(answers, place, rows, base + at[J])
        if at[FIRST] + 1 < at[CLOSED]:
            base = following(rows, base, at[B])
            absorb(answers, place, rows, base)
            if seldom(at[FIRST] + 2 < at[CLOSED]):  # chunks smaller than a third of the window
                for _ in range(at[FIRST] + 2, at[CLOSED]):
                    base = following(rows, base, at[B])
                    absorb(answers, place, rows, base)
        if not seldom(at[OPEN] == 0):
            absorb(answers, place, csa, 0)

    return query
