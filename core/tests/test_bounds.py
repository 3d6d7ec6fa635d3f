"""The costs that the docstrings state, counted: calls of combine per operation, and partials held."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import pytest

import sash
from sash.aggregators import (
    ABA,
    AMTA,
    DABA,
    FIFO,
    PBA,
    SBA,
    DABALite,
    FifoAggregator,
    FlatFAT,
    FlatFIT,
    LogMTA,
    Recalc,
    SlickDeque,
    SlideSide,
    SubtractOnEvict,
    TwoStacks,
    TwoStacksLite,
)
from sash.testing import Counted

SIZES = [1, 2, 3, 7, 16, 100, 257]
# Any order of values is to keep the bounds; these are the ones that selective structures find hardest.
INPUTS: dict[str, Callable[[int], float]] = {
    "rising": lambda i: i,
    "falling": lambda i: -i,
    "mixed": lambda i: (i * 7919) % 1009,
}


class Bound(NamedTuple):
    amortised: float
    worst: Callable[[int], float]
    partials: Callable[[int], float]


def _n(n: int) -> float:
    return n


def _height(n: int) -> int:
    """⌈log2 n⌉, and 1 more."""
    return n.bit_length()


def _log(n: int) -> float:
    return math.ceil(math.log2(4 * max(n, 4)))


BOUNDS: dict[type[FifoAggregator], Bound] = {
    TwoStacks: Bound(3, lambda n: n + 2, lambda n: 2 * n),
    TwoStacksLite: Bound(3, lambda n: n + 2, lambda n: n + 1),
    ABA: Bound(3, lambda n: n + 2, lambda n: 2 * n),
    DABA: Bound(4, lambda n: 6, lambda n: 2 * n + 2),
    DABALite: Bound(4, lambda n: 6, lambda n: n + 2),
    FlatFIT: Bound(3, _n, _n),
    SlideSide: Bound(3, lambda n: n + 2, lambda n: n + 1),
    SlickDeque: Bound(2, lambda n: max(n, 2), lambda n: n + 1),
    SubtractOnEvict: Bound(2, lambda n: 2, lambda n: n + 1),
    # their levels are as many as all values so far have, here 21 n
    AMTA: Bound(6, lambda n: 5 * _height(n) + 4, lambda n: 2 * n + 130 * _height(21 * n)),
}


def slide_costs(
    algorithm: Callable[[sash.Aggregation], FifoAggregator], aggregation: sash.Aggregation, n: int, values: list[float]
) -> list[int]:
    """The combines of each slide (evict, insert, query) of a full window."""
    counted = Counted(aggregation)
    window = algorithm(counted)
    window.insert_many(values[:n])
    window.query()
    costs = []
    most = 0
    for value in values[n:]:
        before = counted.calls
        window.evict()
        window.insert(value)
        window.query()
        costs.append(counted.calls - before)
        most = max(most, window.partials)
    assert algorithm not in BOUNDS or most <= BOUNDS[algorithm].partials(n)
    return costs


def aggregations_for(algorithm: type[FifoAggregator]) -> list[sash.Aggregation]:
    if algorithm is SubtractOnEvict:
        return [sash.Sum()]
    return [sash.Max(), sash.Sum()] if algorithm in (SlickDeque, SlideSide) else [sash.Max()]


CASES = [(algorithm, aggregation) for algorithm in BOUNDS for aggregation in aggregations_for(algorithm)]


@pytest.mark.parametrize(("algorithm", "aggregation"), CASES)
@pytest.mark.parametrize("shape", INPUTS)
@pytest.mark.parametrize("n", SIZES)
def test_a_slide_costs_what_is_stated(
    algorithm: type[FifoAggregator], aggregation: sash.Aggregation, shape: str, n: int
) -> None:
    slides = 20 * n
    costs = slide_costs(algorithm, aggregation, n, [INPUTS[shape](i) for i in range(n + slides)])
    bound = BOUNDS[algorithm]
    assert max(costs) <= bound.worst(n)
    assert sum(costs) <= bound.amortised * slides + bound.worst(n)  # a window's worth is on account at the end


@pytest.mark.parametrize("n", SIZES)
def test_recalc_costs_n_minus_1(n: int) -> None:
    assert set(slide_costs(Recalc, sash.Max(), n, list(range(3 * n)))) == {n - 1}


@pytest.mark.parametrize("algorithm", [DABA, DABALite])
@pytest.mark.parametrize(
    "pattern", ["+" * 9 + "-" * 9, "++-", "+-", "+++--", "++++++-" * 3 + "-" * 15, "+" * 50 + "-" * 50]
)
def test_daba_is_constant_for_any_interleaving(algorithm: type[FifoAggregator], pattern: str) -> None:
    counted = Counted(sash.Max())
    window = algorithm(counted)
    for i, step in enumerate(pattern * 40):
        before = counted.calls
        if step == "+":
            window.insert(i % 13)
            assert counted.calls - before <= 3
        else:
            window.evict()
            assert counted.calls - before <= 2
        before = counted.calls
        window.query()
        window.query()
        assert counted.calls - before <= (1 if algorithm is DABA else 2)  # DABA caches the total
        assert window.partials <= (2 if algorithm is DABA else 1) * len(window) + 2


@pytest.mark.parametrize("n", SIZES)
def test_daba_without_its_cache_costs_one_more_a_step(n: int) -> None:
    uncached = partial(DABA, cached=False)
    costs = slide_costs(uncached, sash.Max(), n, [i * 7919 % 1009 for i in range(21 * n)])
    assert max(costs) <= 8
    assert sum(costs) <= 5 * len(costs) + 8
    if n == 257:
        with_it = slide_costs(DABA, sash.Max(), n, list(range(21 * n)))
        assert sum(costs) / sum(with_it) == pytest.approx(5 / 4, abs=0.02)
    window = uncached(sash.Max())
    window.insert_many(range(n))
    assert window.partials == 2 * n


@pytest.mark.parametrize("pattern", ["+" * 9 + "-" * 9, "++-", "+-", "++++++-" * 3 + "-" * 15])
def test_daba_without_its_cache_is_constant_for_any_interleaving(pattern: str) -> None:
    counted = Counted(sash.Max())
    window = DABA(counted, cached=False)
    for step in pattern * 40:
        before = counted.calls
        if step == "+":
            window.insert(7)
        else:
            window.evict()
        assert counted.calls - before <= (4 if step == "+" else 3)
        before = counted.calls
        window.query()
        assert counted.calls - before <= 1


@pytest.mark.parametrize("algorithm", [TwoStacks, TwoStacksLite, ABA])
def test_queries_alone_cost_one(algorithm: type[FifoAggregator]) -> None:
    counted = Counted(sash.Max())
    window = algorithm(counted)
    window.insert_many(range(10))
    window.evict()
    window.insert(10)
    before = counted.calls
    window.query()
    assert counted.calls - before == 1


@pytest.mark.parametrize("algorithm", [TwoStacks, TwoStacksLite, ABA, SlideSide])
def test_bulk_eviction_flips_only_what_stays(algorithm: type[FifoAggregator]) -> None:
    counted = Counted(sash.Max())
    window = algorithm(counted)
    window.insert_many(range(1000))
    before = counted.calls
    window.evict_many(990)
    assert counted.calls - before == 9


class TestFlatFAT:
    @pytest.mark.parametrize("n", [*SIZES, 1024, 5000])
    def test_a_slide_is_logarithmic(self, n: int) -> None:
        for cost in slide_costs(FlatFAT, sash.Max(), n, list(range(n + 200))):
            assert cost <= 4 * _log(n)

    @pytest.mark.parametrize("n", [64, 1024])
    @pytest.mark.parametrize("m", [1, 2, 8, 32, 64])
    def test_m_updates_cost_m_plus_m_log_n_over_m(self, n: int, m: int) -> None:
        counted = Counted(sash.Max())
        window = FlatFAT(counted)
        window.insert_many(range(n))
        assert window._capacity == n
        for _ in range(30):
            before = counted.calls
            window.evict_many(m)
            assert counted.calls - before <= m + m * math.ceil(math.log2(n / m))
            before = counted.calls
            window.insert_many(range(m))
            assert counted.calls - before <= m + m * math.ceil(math.log2(n / m))

    def test_growing_and_shrinking_is_constant_amortised_and_space_follows(self) -> None:
        counted = Counted(sash.Max())
        window = FlatFAT(counted)
        steps = 0
        for size in (1000, 10, 300, 5, 2000, 0):
            while len(window) != size:
                if len(window) < size:
                    window.insert(steps)
                else:
                    window.evict()
                steps += 1
                assert window._capacity <= max(4 * len(window) + 4, 4)
                assert window.partials <= 2 * window._capacity
        assert counted.calls <= steps * (math.log2(4096) + 16)

    def test_holes_are_closed_at_a_constant_amortised_cost(self) -> None:
        counted = Counted(sash.Max())
        window = FlatFAT(counted)
        window.insert_many(range(1024))
        alive = list(range(1024))
        before, steps = counted.calls, 3000
        for number in range(1024, 1024 + steps):  # never the oldest, so that holes pile up
            window.evict_at(alive.pop(1 + number * 31 % (len(alive) - 1)))
            window.insert(number)
            alive.append(number)
        window._check()
        assert window.query() == alive[-1] and len(window) == 1024
        assert window._capacity <= 2048
        assert (counted.calls - before) / steps <= 2 * math.log2(2048) + 16


WINDOWS = [(n, 1) for n in (1, 2, 3, 4, 5, 16, 33, 100, 257)] + [(10, 2), (11, 3), (7, 5), (64, 8), (100, 7)]


def boundary_costs(window: SBA, counted: Counted, slides: int) -> tuple[list[int], list[int]]:
    """The combines of this thread by insert and by query, of each window."""
    inserts: list[int] = []
    queries: list[int] = []
    since = counted.calls_here
    i = 0
    while len(queries) < slides:
        i += 1
        if window.insert((i * 7919) % 1009):
            inserts.append(counted.calls_here - since)
            since = counted.calls_here
            window.query()
            queries.append(counted.calls_here - since)
            since = counted.calls_here
    return inserts, queries


@pytest.mark.parametrize(("r", "s"), WINDOWS)
def test_sba_costs_three_amortised_and_a_chunk_at_worst(r: int, s: int) -> None:
    counted = Counted(sash.Max())
    window = SBA(counted, r, s)
    slides = 30 * window.chunk
    inserts, queries = boundary_costs(window, counted, slides)
    begun = bool(r % s)
    slicing = (s - 1) * slides + r
    assert sum(inserts) + sum(queries) <= (3 + begun) * slides + slicing
    assert max(inserts[1:]) <= s
    assert max(queries) <= 1 + begun + max(0, window.chunk - 2)
    assert window.partials <= 2 * (r // s) + 2


@pytest.mark.parametrize(("r", "s"), WINDOWS)
def test_pba_costs_three_at_worst_on_the_main_thread(r: int, s: int) -> None:
    counted = Counted(sash.Max())
    window = PBA(counted, r, s, parallel=True, pool=_Elsewhere())
    most = 0
    inserts, queries = [], []
    for _ in range(20):
        i, q = boundary_costs(window, counted, window.chunk)
        inserts += i
        queries += q
        most = max(most, window.partials)
    begun = bool(r % s)
    assert max(inserts[1:]) <= s  # s - 1 make the slice, one adds it to csa
    assert max(queries) <= 2 + begun
    per_slide = [i + q for i, q in zip(inserts, queries, strict=True)][1:]
    assert max(per_slide) <= 3 + begun + (s - 1)
    assert most <= 3 * window.chunk + 2
    if s == 1:
        assert most <= (3 * r + 13) / 2


class _Elsewhere(Executor):
    """An executor that finishes a task in another thread before it returns: the second thread of an idle machine."""

    def submit(self, task: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(task)


def test_every_fifo_algorithm_has_its_bounds_tested() -> None:
    assert {*BOUNDS, Recalc, FlatFAT, LogMTA} == set(FIFO)
