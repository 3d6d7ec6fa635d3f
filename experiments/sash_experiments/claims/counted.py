"""Claims about the number of merges: they are counted here, when the report is made, and depend on no machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sash
from sash.aggregators import DABA, PBA, FlatFAT
from sash_experiments.claims.claim import Claim, Verdict, held
from sash_experiments.raw import Results

__all__ = ["CLAIMS"]

N, SLIDES = 256, 2000


class _Counter:
    """A sum that counts its merges."""

    def __init__(self) -> None:
        self.merges = 0
        self.aggregation = sash.aggregation(lift=_same, combine=self._combine)

    def _combine(self, a: int, b: int) -> int:
        self.merges += 1
        return a + b

    def of(self, step: Callable[[], Any]) -> int:
        """The merges of a step."""
        before = self.merges
        step()
        return self.merges - before


def _same(value: int) -> int:
    return value


def _merges_of_slides(make: Callable[[sash.Aggregation], Any]) -> list[int]:
    """Of each slide of a window of N values: evict, insert, query."""
    counter = _Counter()
    window = make(counter.aggregation)
    window.insert_many(range(N))
    window.query()

    def slide() -> None:
        window.evict()
        window.insert(1)
        window.query()

    return [counter.of(slide) for _ in range(SLIDES)]


def _pba(_: Results) -> Verdict:
    counter = _Counter()
    window = PBA(counter.aggregation, N, parallel=False)
    window.insert_many(range(N))
    half = sash.optimal_chunk(N)

    def slide() -> None:
        if window.insert(1):
            window.query()

    taken = [counter.of(slide) for _ in range(SLIDES)]
    main = [
        merges for merges in taken if merges < half // 2
    ]  # the others make lcs as well, which is the second thread's
    return held(f"at most {max(main)} on the main thread, counted", max(main) <= 3)


def _pba_space(_: Results) -> Verdict:
    more = 0
    for n in (64, 256, 1024):
        window = PBA(sash.Max(), n)
        for value in range(3 * n):
            window.insert(value)
            more = max(more, 2 * window.partials - 3 * n)
    return held(f"(3n + {more}) / 2 at most, n = 64 to 1,024", more <= 13)


def _daba(_: Results) -> Verdict:
    taken = _merges_of_slides(DABA)
    return held(f"at most {max(taken)} a slide, {sum(taken) / SLIDES:.1f} on average, counted", max(taken) <= 8)


def _bulk(_: Results) -> Verdict:
    found = []
    for m in (1, 16, 64, N):
        counter = _Counter()
        window = FlatFAT(counter.aggregation)
        window.insert_many(range(N))
        window.query()

        def fire(window: FlatFAT = window, m: int = m) -> None:
            window.evict_many(m)
            window.insert_many([1] * m)
            window.query()

        bound = 2 * (m + m * (2 * N // m).bit_length()) + 2 * (2 * N).bit_length()
        found.append(max(counter.of(fire) for _ in range(20)) / bound)
    return held(f"within 2 (m + m log(n/m)) + 2 log n at m = 1, 16, 64, {N}", max(found) <= 1)


CLAIMS = [
    Claim("pba-fig4", "PBA makes at most 3 merges a window, in the worst case, too (Table 1)", "3", _pba, counted=True),
    Claim("pba-fig4", "PBA holds (3n + 13) / 2 partials (Table 1)", "(3n + 13) / 2", _pba_space, counted=True),
    Claim(
        "daba-fig18",
        "DABA makes a constant number of merges a slide, in the worst case, too",
        "O(1)",
        _daba,
        counted=True,
    ),
    Claim("ra-fig10", "A firing of m changes makes O(m + m log(n/m)) merges", "O(m + m log(n/m))", _bulk, counted=True),
]
