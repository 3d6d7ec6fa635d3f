"""PBA in the operator: another thread computes the lcs of large partials, by a kernel that releases the GIL."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from typing import Any

import pytest

import sash
from sash.aggregators.pba import WAITING, hold_pool, release_pool
from sash.engine.rows import flat_chunk
from sash.engine.rows.aggregate_store import Chunks
from sash.engine.rows.bundle import Merging
from sash.testing import Counted

AGGREGATIONS = [sash.Bloom(capacity=50), sash.MomentSketch(k=3)]


@pytest.fixture
def two_threads() -> Iterator[None]:
    """Whatever the machine has."""
    hold_pool(1)
    yield
    release_pool()


class Later(Executor):
    """Runs nothing until it is told to."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Future[Any], Any]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.waiting.append((Future(), fn))
        return self.waiting[-1][0]


def values(count: int) -> list[int | None]:
    """Powers of small ones are exact, however they are added up; some are null."""
    chance = random.Random(7)
    return [None if chance.random() < 0.2 else chance.randrange(1, 9) for _ in range(count)]


def same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return a[:3] == b[:3] and a[3:] == pytest.approx(b[3:])
    return bool(a == b)


@pytest.mark.parametrize("aggregation", AGGREGATIONS, ids=lambda each: each.name)
@pytest.mark.parametrize("expected", [[], [11]])
def test_rows_of_numbers_add_up_to_what_partials_do(aggregation: sash.Aggregation, expected: list[int]) -> None:
    pool = Later()
    flat = Chunks(Merging(aggregation), lambda _: 5, pool, expected)
    plain = Chunks(Merging(aggregation), lambda _: 5)
    for end, value in enumerate(values(200), 1):
        flat.append(aggregation.lift(value))
        plain.append(aggregation.lift(value))
        if end % 3 == 0:  # some chunks are ready when they are needed, the main thread computes others
            for future, run in pool.waiting:
                if future.set_running_or_notify_cancel():
                    future.set_result(run())
            pool.waiting.clear()
        if end >= 11:
            assert same(flat.total(end - 11, end), plain.total(end - 11, end))
            flat.evict(end - 11)
            plain.evict(end - 11)


@pytest.mark.parametrize("aggregation", [sash.Bloom("x"), sash.MomentSketch("x")], ids=lambda each: each.name)
def test_large_partials_are_merged_in_another_thread(
    aggregation: sash.Aggregation, two_threads: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: set[str] = set()
    complete = flat_chunk.FlatChunk.complete

    def seen(chunk: flat_chunk.FlatChunk) -> None:
        threads.add(threading.current_thread().name)
        complete(chunk)

    monkeypatch.setattr(flat_chunk.FlatChunk, "complete", seen)
    monkeypatch.setattr("sash.aggregators.pba.handover_ns", lambda: 50_000)
    # A merge of these takes tens of nanoseconds on a fast machine, which is not worth a thread.
    query = sash.Query(windows=sash.sliding(1024, 1), aggregates={"a": aggregation}, combine_time="1us")
    op = sash.Operator(query)
    assert "PBA" in op.explain() and "another thread" in op.explain()
    op.warm_up()
    for i in range(3000):
        op.process({"x": i % 5})
    assert any(name.startswith("sash-lcs") for name in threads)


def test_no_thread_no_pba() -> None:
    hold_pool(0)
    try:
        assert (
            sash.Operator(sash.Query(windows=sash.sliding(1024), aggregates={"a": sash.Bloom("x")})).plan.algorithm
            == "SBA"
        )
    finally:
        release_pool()


def test_what_was_waited_for_is_counted() -> None:
    store = Chunks(Merging(sash.Bloom()), lambda _: 64, Later(), [100])
    before = WAITING.times
    for i in range(100):
        store.append(1 << i)
    store.total(1, 100)
    assert WAITING.times == before + 1


@pytest.mark.parametrize("n", [64, 100, 129])
def test_not_even_the_first_window_waits_for_a_chunk(n: int) -> None:
    counted = Counted(sash.Max("x"))
    op = sash.Operator(sash.Query(windows=sash.sliding(n), aggregates={"a": counted}))
    worst = 0
    for i in range(4 * n):
        before = counted.calls
        op.process({"x": i})
        worst = max(worst, counted.calls - before)
    assert worst <= 7
