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

from sash_experiments.compiled.atomics import load_acquire, pause, prefetch, seldom, store_release
from sash_experiments.compiled.jit import loop, step
from sash_experiments.compiled.operations import Operations
from sash_experiments.compiled.sba import (
    ALL,
    BASE,
    CLOSED,
    FIRST,
    FIRST_BASE,
    HELD,
    OPEN,
    B,
    J,
    chunk_query,
    chunk_steps,
    chunks,
    following,
)
from sash_experiments.compiled.steps import State, Steps

__all__ = ["WAITS", "pba"]

LINE, AHEAD = 64, 2048  # bytes: of a cache line, and that are fetched at once
PUBLISHED, DONE, STOPPED, WAITS = 0, 16, 32, 48  # places in ``shared``, two cache lines apart
DONE_BASE = 17  # where the chunk after the last completed one begins: the second thread's


def pba(operations: Operations) -> Steps:
    """Insert 1 merge, query ≤ 2; the b - 2 merges of a chunk are the second thread's."""
    suffixes, row = operations.suffixes, operations.rows(1).nbytes
    block, ahead, a_line = max(AHEAD // row, 1), max(AHEAD // 2 // row, 4), max(LINE // row, 1)

    @step
    def wait(shared: Any, first: int) -> None:
        looks = 0
        while load_acquire(shared, DONE) <= first:
            pause(looks)
            looks += 1
        shared[WAITS] += 1

    @step
    def complete(state: Any) -> None:
        at, shared = state[0], state[3]
        if seldom(at[J] == 1) and seldom(load_acquire(shared, DONE) <= at[FIRST]):
            wait(shared, at[FIRST])

    @step
    def close(state: Any) -> None:
        store_release(state[3], PUBLISHED, state[0][CLOSED])

    @step
    def fetch(rows: Any, first: int, last: int) -> None:
        for offset in range(first * row, last * row, LINE):
            prefetch(rows, offset)

    @step
    def lcs(rows: Any, first: int, last: int) -> None:
        """In blocks: each is fetched from the main thread's cache while the one after it is merged."""
        fetch(rows, max(first, last - block), last)
        while last > first:
            begin = max(first, last - block)
            fetch(rows, max(first, begin - block), begin)
            suffixes(rows, begin, last, ALL)
            last = begin

    @loop
    def second(state: Any) -> None:
        at, rows, _, shared = state
        done, base, looks = shared[DONE], shared[DONE_BASE], 0
        while True:
            stopped: int = load_acquire(shared, STOPPED)
            if load_acquire(shared, PUBLISHED) > done:
                lcs(rows, base + 1, base + at[B] - 1)
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

    def arrays(size: int, chunk: int = 1) -> State:
        return *chunks(operations, size, chunk), np.zeros(64, np.int64)

    take, evict = chunk_steps(operations, close)

    @step
    def insert(state: Any, source: Any, k: int) -> None:
        """Beside it, fetch what the second thread has had in its cache last: a slot to fill, a lcs to ask for."""
        at, rows = state[0], state[1]
        slot, asked = at[BASE] + at[OPEN] + ahead, at[FIRST_BASE] + at[J] + ahead
        if slot % a_line == 0:
            fetch(rows, slot, slot + 1)
            fetch(rows, asked, asked + 1)
        take(state, source, k)

    return Steps(arrays, insert, evict, chunk_query(operations, complete), HELD, second, stop)
