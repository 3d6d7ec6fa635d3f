"""PBA, the parallel boundary aggregator: SBA whose ``lcs`` is computed by a second thread.

    main thread     … csa of chunk 0 | csa of chunk 1, windows       | csa of chunk 2, windows …
    second thread                    | lcs of chunk 0, right to left | lcs of chunk 1 …
                                  boundary                        boundary

``lcs`` and ``csa`` of a window are never of the same chunk, so the two threads share no work. With the optimal chunk
size (:mod:`sash.aggregators.chunk_size`) ``lcs`` is there when the first window needs it. If it is not, the main thread
sleeps until it is, or computes it itself if the pool has not started to. So results never depend on timing.

Where a second thread cannot help there is none: with one core, under a GIL with a ``combine`` that holds it, and with
chunks so small that handing one over costs more than its merges. Both costs are measured
(:mod:`sash.aggregators.costs`).

All PBA windows of a process share one pool of threads, however many keys it has.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from sash.aggregations.base import Aggregation
from sash.aggregators.base import Combine
from sash.aggregators.chunk_size import optimal_chunk
from sash.aggregators.costs import MergeTime, handover_ns, merge_time
from sash.aggregators.sba import SBA, Chunk
from sash.values.shares import available_cores, limit_shares

__all__ = [
    "PBA",
    "WAITING",
    "SharedChunk",
    "Waiting",
    "asked_threads",
    "available_cores",
    "choose_second_thread",
    "hold_pool",
    "release_pool",
    "shared_pool",
    "why_no_thread",
]


@dataclass
class Waiting:
    """How often a window needed ``lcs`` that was not ready, and for how long main threads waited.

    ``tasks`` is how many chunks other threads were given.
    """

    times: int = 0
    seconds: float = 0.0
    tasks: int = 0

    def add(self, seconds: float) -> None:
        """Count one more wait."""
        self.times += 1
        self.seconds += seconds


WAITING = Waiting()
"""The waits of this process, for its metrics."""

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_asked: int | None = None
_holders = 0


def shared_pool() -> ThreadPoolExecutor:
    """The pool, started at first use: a thread for every core but one, or as many as :func:`hold_pool` asked for."""
    global _pool
    with _lock:
        if _pool is None:
            threads = available_cores() - 1 if _asked is None else _asked
            _pool = ThreadPoolExecutor(max(1, threads), thread_name_prefix="sash-lcs")
        return _pool


def asked_threads() -> int | None:
    """How many threads :func:`hold_pool` asked for; None if it left that open."""
    return _asked


def why_no_thread() -> str | None:
    """Why there is no second thread, whatever it costs; None: there is one."""
    if asked_threads() == 0:
        return "no second thread is wanted"
    if asked_threads() is None and available_cores() < 2:
        return "one core: a second thread would only take turns with the first"
    return None


def choose_second_thread(
    releases_gil: bool, chunk: int, merge: Callable[[], MergeTime], handovers: int = 1
) -> tuple[bool, str]:
    """Whether a second thread pays for chunks of so many slices, and why or why not.

    It saves the b - 2 merges of ``lcs``, each of which takes ``merge``, and costs handing the chunk over, or as much as
    ``handovers`` of that.
    """
    if (reason := why_no_thread()) is not None:
        return False, reason
    if getattr(sys, "_is_gil_enabled", lambda: True)() and not releases_gil:
        return False, "combine holds the GIL: a second thread would only take turns with the first"
    time, costs = merge(), handovers * handover_ns()
    saves = max(chunk - 2, 0) * time.ns
    words = (
        f"a chunk of {chunk} slices saves {saves / 1000:g} µs of merges ({time.ns / 1000:g} µs each, {time.source}), "
        f"and to hand it over takes {costs / 1000:g} µs"
    )
    return saves > costs, words if saves <= costs else f"{available_cores()} cores; {words}"


def hold_pool(threads: int | None = None) -> None:
    """Keep the pool until :func:`release_pool`: something runs that may use it, such as a task of an engine.

    The first holder decides how many ``threads``; with 0 the planner never chooses PBA. Threads start when needed.

    >>> hold_pool(0); asked_threads()
    0
    >>> release_pool(); asked_threads()
    """
    global _asked, _holders, _pool
    with _lock:
        if not _holders and threads is not None:
            if _pool is not None:
                _pool.shutdown(wait=False)  # queued tasks still run
            _asked, _pool = threads, None
            limit_shares(threads + 1)
        _holders += 1


def release_pool() -> None:
    """Undo one :func:`hold_pool`. With the last, the pool's threads finish their tasks and stop."""
    global _asked, _holders, _pool
    with _lock:
        _holders -= 1
        unused = None
        if not _holders:
            unused, _pool, _asked = _pool, None, None
            limit_shares(None)
    if unused is not None:
        unused.shutdown(wait=True)


def _forget() -> None:
    """Drop the pool in a forked child, which has none of its threads."""
    global _asked, _holders, _lock, _pool
    _asked, _holders, _lock, _pool = None, 0, threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


class SharedChunk(Chunk):
    """A chunk whose ``lcs`` another thread computes."""

    __slots__ = ("task",)

    def __init__(self, combine: Combine, saa: list[Any], whole: Any, pool: Executor) -> None:
        super().__init__(combine, saa, whole)
        self.task: Future[None] | None = pool.submit(self.complete)
        WAITING.tasks += 1

    def finish(self) -> None:
        task, self.task = self.task, None
        start = perf_counter()
        if task is not None and not task.cancel() and (error := task.exception()) is not None:
            error.add_note("raised by combine while another thread computed PBA's lcs")
            raise error
        self.complete()
        WAITING.add(perf_counter() - start)


class PBA(SBA):
    """A count window W[range, slide] at no more than 3 merges per slide on the main thread.

    As :class:`SBA`, except that the b - 2 merges of a chunk are a task of a thread pool, that of the process or
    ``pool``, and that a chunk is by default of the size at which nothing waits for it (Theorem 1). ``parallel``
    overrides the choice whether to use it; :attr:`parallel` is the choice and :attr:`reason` its reason.

    Combines on the main thread per slide of W[n, 1]: insert 1, query ≤ 2, at worst and on average. Holds at most
    3b + 2 partials, (3n + 10) / 2 for W[n, 1].

    >>> import sash
    >>> window = sash.aggregators.PBA(sash.Max(), range=4, slide=1, parallel=True)
    >>> [window.query() for value in [5, 1, 2, 3, 0, 4, 9] if window.insert(value)]
    [5, 3, 4, 9]
    """

    def __init__(
        self,
        aggregation: Aggregation,
        range: int,
        slide: int = 1,
        chunk: int | None = None,
        *,
        parallel: bool | None = None,
        pool: Executor | None = None,
    ) -> None:
        super().__init__(aggregation, range, slide, chunk)
        self._pool = pool
        self.parallel, self.reason = self._choose() if parallel is None else (parallel, "as asked for")

    def _default_chunk(self) -> int:
        return optimal_chunk(self.range, self.slide)

    def _choose(self) -> tuple[bool, str]:
        aggregation = self.aggregation
        return choose_second_thread(aggregation.releases_gil, self.chunk, lambda: merge_time(aggregation))

    def _close(self, saa: list[Any], whole: Any) -> Chunk:
        if not self.parallel:
            return super()._close(saa, whole)
        try:
            return SharedChunk(self._combine, saa, whole, self._pool or shared_pool())
        except RuntimeError as error:  # the pool was shut down, with the interpreter or by its owner
            self.parallel, self.reason = False, f"its pool takes no tasks: {error}"
            warnings.warn(f"PBA goes on in one thread: {error}", RuntimeWarning, stacklevel=3)
            return super()._close(saa, whole)
