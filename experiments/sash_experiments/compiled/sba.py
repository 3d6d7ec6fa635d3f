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

from sash_experiments.compiled.jit import step
from sash_experiments.compiled.operations import Operations
from sash_experiments.compiled.steps import State, Steps

__all__ = ["CHUNKS", "CLOSED", "FIRST", "FLAGS", "OPEN", "B", "J", "chunk_query", "chunk_steps", "chunks", "sba"]

B, CHUNKS = 0, 1  # the slices of a chunk, and the chunks that there is room for
OPEN = 2  # slices in the open chunk
FIRST, J = 3, 4  # the chunk in which the window begins, and where in it
CLOSED = 5  # chunks that are closed, of all
FLAGS = 6  # the length of ``at``


def chunks(operations: Operations, size: int, chunk: int) -> State:
    """The numbers that describe the chunks of a window of ``size`` slices, the chunks, and ``csa``."""
    at = np.zeros(FLAGS, np.int64)
    at[B], at[CHUNKS] = chunk, size // chunk + 2
    return at, operations.rows(int(at[B] * at[CHUNKS])), operations.rows(1)


def sba(operations: Operations) -> Steps:
    """Insert 1 merge, query ≤ 1 (⌊n / b⌋ for smaller chunks); the first to need a chunk's ``lcs`` does its b - 2."""
    absorb = operations.absorb

    @step
    def complete(state: Any) -> None:
        at, rows, _ = state
        if at[J] == 1:  # the first window that needs it
            base = at[FIRST] % at[CHUNKS] * at[B]
            for position in range(base + at[B] - 2, base, -1):
                absorb(rows, position, rows, position + 1)

    @step
    def close(state: Any) -> None:
        pass

    def arrays(size: int, chunk: int | None = None) -> State:
        return chunks(operations, size, size if chunk is None else chunk)

    insert, evict = chunk_steps(operations, close)
    return Steps(arrays, insert, evict, chunk_query(operations, complete))


def chunk_steps(operations: Operations, close: Any) -> tuple[Any, Any]:
    """Insert, which calls ``close`` at a boundary, and evict; they begin with at, rows and csa of the state."""
    lift, copy, absorb = operations.lift, operations.copy, operations.absorb

    @step
    def insert(state: Any, source: Any, k: int) -> None:
        at, rows, csa = state[0], state[1], state[2]
        base = at[CLOSED] % at[CHUNKS] * at[B]
        slot = base + at[OPEN]
        lift(rows, slot, source, k)
        if at[OPEN]:
            absorb(csa, 0, rows, slot)
        else:
            copy(csa, 0, rows, slot)
        at[OPEN] += 1
        if at[OPEN] == at[B]:
            copy(rows, base, csa, 0)
            at[OPEN] = 0
            at[CLOSED] += 1
            close(state)

    @step
    def evict(state: Any) -> None:
        at = state[0]
        at[J] += 1
        if at[J] == at[B]:
            at[J] = 0
            at[FIRST] += 1

    return insert, evict


def chunk_query(operations: Operations, complete: Any) -> Any:
    """Query: an element of ``lcs``, whole chunks, ``csa``. ``complete`` sees to it that the first is there."""
    copy, absorb = operations.copy, operations.absorb

    @step
    def query(state: Any, answers: Any, place: int) -> None:
        at, rows, csa = state[0], state[1], state[2]
        complete(state)
        copy(answers, place, rows, at[FIRST] % at[CHUNKS] * at[B] + at[J])
        for chunk in range(at[FIRST] + 1, at[CLOSED]):
            absorb(answers, place, rows, chunk % at[CHUNKS] * at[B])
        if at[OPEN]:
            absorb(answers, place, csa, 0)

    return query
