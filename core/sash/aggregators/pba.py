"""PBA, the parallel boundary aggregator: SBA whose ``lcs`` is computed by a second thread.

    main thread     … csa of chunk 0 | csa of chunk 1, windows       | csa of chunk 2, windows …
    second thread                    | lcs of chunk 0, right to left | lcs of chunk 1 …
                                  boundary                        boundary

``lcs`` and ``csa`` of a window are never of the same chunk, so the two threads share no work. With the optimal chunk
size (:mod:`sash.aggregators.chunk_size`) ``lcs`` is there when the first window needs it; if it is not, the main thread
sleeps until it is, or computes it itself when the pool has not begun to. So the results never depend on timing.

Where a second thread cannot help there is none: with one core, with chunks so small that starting a task costs more
than its merges, and, under a GIL, with a ``combine`` that holds it.
"""

from __future__ import annotations

import sys
import warnings
from concurrent.futures import Executor, Future
from time import perf_counter
from typing import Any

from sash.aggregations.base import Aggregation
from sash.aggregators.chunk_size import optimal_chunk
from sash.aggregators.sba import SBA, Chunk, Combine
from sash.aggregators.thread_pool import WAITING, asked_threads, available_cores, shared_pool

__all__ = ["PBA", "SharedChunk"]


class SharedChunk(Chunk):
    """A chunk whose ``lcs`` another thread computes."""

    __slots__ = ("task",)

    def __init__(self, combine: Combine, saa: list[Any], whole: Any, pool: Executor) -> None:
        super().__init__(combine, saa, whole)
        self.task: Future[None] | None = pool.submit(self.complete)

    def finish(self) -> None:
        task, self.task = self.task, None
        begin = perf_counter()
        if task is not None and not task.cancel() and (error := task.exception()) is not None:
            error.add_note("raised by combine while another thread computed PBA's lcs")
            raise error
        self.complete()
        WAITING.add(perf_counter() - begin)


class PBA(SBA):
    """A count window W[range, slide] at no more than 3 merges per slide on the main thread.

    As :class:`SBA`, except that the b - 2 merges of a chunk are a task of a thread pool, that of the process or
    ``pool``, and that a chunk is by default of the size at which nothing waits for it (Theorem 1). ``parallel``
    overrides the choice whether to use it; :attr:`parallel` tells what was chosen and :attr:`reason` why.

    Combines on the main thread per slide of W[n, 1]: insert 1, query ≤ 2, at worst and on average. Holds at most
    3b + 2 partials, (3n + 10) / 2 for W[n, 1].

    >>> import sash
    >>> window = sash.aggregators.PBA(sash.Max(), range=4, slide=1, parallel=True)
    >>> [window.query() for value in [5, 1, 2, 3, 0, 4, 9] if window.insert(value)]
    [5, 3, 4, 9]
    """

    smallest_task = 256
    """Chunks of fewer slices are not worth a task: handing one over costs about as much as so many merges."""

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
        if asked_threads() == 0:
            return False, "no second thread is wanted"
        if asked_threads() is None and available_cores() < 2:
            return False, "one core: a second thread would only take turns with the first"
        if self.chunk < self.smallest_task:
            return False, f"handing over a task costs more than the merges of a chunk of {self.chunk}"
        if getattr(sys, "_is_gil_enabled", lambda: True)() and not self.aggregation.releases_gil:
            return False, "combine holds the GIL: a second thread would only take turns with the first"
        return True, f"{available_cores()} cores, chunks of {self.chunk} slices"

    def _close(self, saa: list[Any], whole: Any) -> Chunk:
        if not self.parallel:
            return super()._close(saa, whole)
        try:
            return SharedChunk(self._combine, saa, whole, self._pool or shared_pool())
        except RuntimeError as error:  # the pool was shut down, with the interpreter or by its owner
            self.parallel, self.reason = False, f"its pool takes no tasks: {error}"
            warnings.warn(f"PBA goes on in one thread: {error}", RuntimeWarning, stacklevel=3)
            return super()._close(saa, whole)
