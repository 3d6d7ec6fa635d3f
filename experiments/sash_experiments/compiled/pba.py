"""PBA: SBA whose ``lcs`` is computed by a second thread, of chunks of the size at which nothing waits for it.

    main thread     … csa of chunk 0 | csa of chunk 1, windows       | csa of chunk 2, windows …
    second thread                    | lcs of chunk 0, right to left | lcs of chunk 1 …
                                  boundary                        boundary

Both threads run compiled code without the GIL. They share two counters: the chunks that the main thread has closed, and
those whose ``lcs`` the second has completed. Each is written by one thread, with release, and read by the other, with
acquire, and has a cache line of its own. Whoever waits looks at the counter some hundred times, then lets others run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sash_experiments.compiled.atomics import load_acquire, pause, store_release
from sash_experiments.compiled.jit import loop, step
from sash_experiments.compiled.operations import Operations
from sash_experiments.compiled.sba import ALL, CLOSED, FIRST, B, J, chunk_query, chunk_steps, chunks, following
from sash_experiments.compiled.steps import State, Steps

__all__ = ["WAITS", "pba"]

PUBLISHED, DONE, STOPPED, WAITS = 0, 16, 32, 48  # places in ``shared``, two cache lines apart
DONE_BASE = 17  # where the chunk after the last completed one begins: the second thread's


def pba(operations: Operations) -> Steps:
    """Insert 1 merge, query ≤ 2; the b - 2 merges of a chunk are the second thread's."""
    suffixes = operations.suffixes

    @step
    def complete(state: Any) -> None:
        at, shared = state[0], state[3]
        if at[J] == 1 and load_acquire(shared, DONE) <= at[FIRST]:
            looks = 0
            while load_acquire(shared, DONE) <= at[FIRST]:
                pause(looks)
                looks += 1
            shared[WAITS] += 1

    @step
    def close(state: Any) -> None:
        store_release(state[3], PUBLISHED, state[0][CLOSED])

    @loop
    def second(state: Any) -> None:
        at, rows, _, shared = state
        done, base, looks = shared[DONE], shared[DONE_BASE], 0
        while True:
            stopped: int = load_acquire(shared, STOPPED)
            if load_acquire(shared, PUBLISHED) > done:
                suffixes(rows, base + 1, base + at[B] - 1, ALL)
                done, base = done + 1, following(rows, base, at[B])
                store_release(shared, DONE, done)
                looks = 0
            elif stopped:
                shared[DONE_BASE] = base
                return
            else:
                pause(looks)
                looks += 1

    @loop
    def stop(state: Any, stopped: int) -> None:
        store_release(state[3], STOPPED, stopped)

    def arrays(size: int, chunk: int) -> State:
        return *chunks(operations, size, chunk), np.zeros(64, np.int64)

    insert, evict = chunk_steps(operations, close)
    return Steps(arrays, insert, evict, chunk_query(operations, complete), second, stop)
