"""PBA over batches: ``lcs`` is kept between them, another thread computes it, and rows are those of the definition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.aggregators.pba import WAITING, hold_pool, release_pool
from sash.runtime.operator import KeyedOperator
from sash.testing import Evaluator

pytestmark = pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")


@pytest.fixture(autouse=True)
def a_thread() -> Iterator[None]:
    """A pool of one thread, as a slot that asked for one has it."""
    hold_pool(1)
    yield
    release_pool()


PAIR = sash.aggregation(
    "x", lift=lambda x: (x, x), combine=lambda a, b: (a[0], b[1]), lower=lambda p: p[1] * 1000.0 + p[0]
)
"""Of the first and the last value: neither commutative nor invertible."""
AGGREGATES: dict[str, sash.Aggregation] = {
    "max": sash.Max("x"),
    "m4": sash.M4("x"),
    "own": PAIR,
    "first": sash.First("x"),
    "all": sash.Collect("x"),
    "moments": sash.MomentSketch("x", k=2, q=(0.0, 1.0)),
    "bloom": sash.Bloom("x", capacity=8),
}
WINDOWS = {
    "count": sash.sliding(12),
    "slide": sash.sliding(12, 4),
    "cut": sash.sliding(13, 3),
    "time": sash.sliding(12, 2, on="t"),
    "gaps": sash.sliding(40, 3, on="t"),
}
Batch = list[dict[str, Any]]


def process(op: KeyedOperator, batch: Batch) -> list[tuple[Any, ...]]:
    columns = {name: np.array([row[name] for row in batch]) for name in ("key", "t", "x")}
    return rows_of(op.process_batch(columns))


def rows_of(table: dict[str, Any]) -> list[tuple[Any, ...]]:
    columns = [column.tolist() if hasattr(column, "tolist") else list(column) for column in table.values()]
    return [tuple(map(plain, row)) for row in zip(*columns, strict=True)]


def plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def expected(query: sash.Query, batches: Sequence[Batch]) -> list[tuple[Any, ...]]:
    """By the definition, key by key."""
    found = []
    for key in sorted({row["key"] for batch in batches for row in batch}):
        evaluator = Evaluator(query.using(algorithm="auto", key=None))
        for batch in batches:
            for row in batch:
                if row["key"] == key:
                    found += [(key, *map(plain, result.values())) for result in evaluator.process(row)]
    return sorted(found, key=repr)


@st.composite
def streams(draw: st.DrawFn) -> list[Batch]:
    """Batches of up to 30 rows of three keys, in the order of time."""
    batches, time = [], 0
    for _ in range(draw(st.integers(1, 8))):
        batch = []
        for _ in range(draw(st.integers(1, 30))):
            time += draw(st.sampled_from([1, 1, 1, 2, 7]))
            batch.append({"key": draw(st.integers(0, 2)), "t": time, "x": float(draw(st.integers(0, 9)))})
        batches.append(batch)
    return batches


@pytest.mark.parametrize("window", WINDOWS)
@settings(max_examples=15, deadline=None)
@given(batches=streams(), cut=st.integers(0, 8), failing=st.integers(0, 8))
def test_rows_are_those_of_the_definition(window: str, batches: list[Batch], cut: int, failing: int) -> None:
    """However the stream is cut, over a restart, and if a batch before one has failed."""
    aggregates = {name: aggregate for name, aggregate in AGGREGATES.items() if name not in ("bloom", "all")}
    query = sash.Query(key="key", windows=WINDOWS[window], aggregates=aggregates, algorithm="pba")
    op, found = KeyedOperator(query, own_watermark="key"), list[tuple[Any, ...]]()
    for number, batch in enumerate(batches):
        if number == cut:
            op = KeyedOperator.restore(query, op.snapshot(trusted=True), own_watermark="key", trusted=True)
        if number == failing:
            fail(op, batch)
        found += process(op, batch)
    assert sorted(found, key=repr) == expected(query, batches)


@pytest.mark.parametrize("aggregate", ["max", "first"])  # put straight into slices, or waiting until they are settled
@settings(max_examples=15, deadline=None)
@given(batches=streams(), seed=st.integers(0, 99), cut=st.integers(0, 8))
def test_rows_in_disorder(aggregate: str, batches: list[Batch], seed: int, cut: int) -> None:
    chance = np.random.default_rng(seed)
    for batch in batches:
        for row in batch:
            row["t"] -= int(chance.integers(0, 6))
    query = sash.Query(
        key="key",
        windows=sash.sliding(20, 2),
        aggregates={"x": AGGREGATES[aggregate]},
        time="t",
        watermark_delay=4,
        algorithm="pba",
    )
    op, found = KeyedOperator(query, own_watermark="key"), list[tuple[Any, ...]]()
    for number, batch in enumerate(batches):
        if number == cut:
            op = KeyedOperator.restore(query, op.snapshot(trusted=True), own_watermark="key", trusted=True)
        found += process(op, batch)
    assert sorted(found, key=repr) == expected(query, batches)


def test_keys_that_an_engine_moves_on_in_time() -> None:
    """As an engine does: rows move no watermark, it does, for all keys."""
    chance, found = np.random.default_rng(7), []
    window = sash.sliding(50, 1, on="t")
    query = sash.Query(key="key", windows=window, aggregates={"x": sash.Max("x")}, algorithm="pba")
    rows = [{"key": int(chance.integers(0, 3)), "t": t, "x": float(chance.integers(0, 99))} for t in range(600)]
    before = WAITING.tasks
    for algorithm in ("pba", "sba"):
        op, results = KeyedOperator(query.using(algorithm=algorithm), own_watermark=[]), list[Any]()
        for begin in range(0, 600, 20):
            results += process(op, rows[begin : begin + 20][::-1])
            results += rows_of(op.advance(begin + 15))
        found.append(results)
    assert found[0] == found[1] and len(found[0]) > 1500
    assert WAITING.tasks - before >= 3 * 5


def fail(op: KeyedOperator, batch: Batch) -> None:
    """A batch that would have other slices, and fails when its results are written."""
    others = [{**row, "x": row["x"] + 100} for row in batch]

    def refuse(*_: Any) -> Any:
        raise KeyError("no")

    columns = {name: np.array([row[name] for row in others]) for name in ("key", "t", "x")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(op._output, "table", refuse)
        with pytest.raises(KeyError, match="no"):
            op.process_batch(columns)


def stream_of(rows: int, size: int, keys: int = 2) -> list[Batch]:
    chance = np.random.default_rng(5)
    every = [{"key": i % keys, "t": i, "x": float(chance.integers(0, 50))} for i in range(rows)]
    return [every[begin : begin + size] for begin in range(0, rows, size)]


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_large_partials_and_growing_ones(aggregate: str) -> None:
    query = sash.Query(key="key", windows=sash.sliding(20), aggregates={"x": AGGREGATES[aggregate]}, algorithm="pba")
    batches, before = stream_of(200, 7), WAITING.tasks
    op = KeyedOperator(query)
    found = [row for batch in batches for row in process(op, batch)]
    one = KeyedOperator(query.using(algorithm="sba"))
    assert found == [row for batch in batches for row in process(one, batch)]
    assert sorted(found, key=repr) == expected(query, batches)
    if aggregate == "all":
        assert WAITING.tasks == before and "partials grow with what they cover" in op.explain()
    else:
        chunks = 2 * (100 // sash.optimal_chunk(20))  # all that are closed, of both keys
        assert chunks - 4 <= WAITING.tasks - before <= chunks
        assert "PBA, chunks of 11 slices: a second thread keeps lcs: as asked for" in op.explain()


def test_merges_do_not_grow_with_the_window_where_batches_are_small() -> None:
    merges = {}
    for algorithm in ("sba", "pba"):
        query = sash.Query(windows=sash.sliding(500), aggregates={"x": sash.Max("x")}, algorithm=algorithm)
        op = KeyedOperator(query)
        for begin in range(0, 3000, 10):
            op.process_batch({"x": np.arange(begin, begin + 10.0) % 37})
        merges[algorithm] = op.metrics["merges"] / 3000
    assert merges["pba"] <= 4  # a row in its slice, csa, lcs, and the window; csa again for what is behind an edge
    assert merges["sba"] > 10 * merges["pba"]


def test_keys_that_are_forgotten_are_renumbered() -> None:
    query = sash.Query(key="key", windows=sash.sliding(10), aggregates={"x": sash.Max("x")}, time="t", algorithm="pba")
    early = [{"key": 0, "t": t, "x": 90.0 - t} for t in range(15)]
    rest = [{"key": 1 + t % 2, "t": t, "x": float(t * 7 % 40)} for t in range(15, 200)]
    ops = [KeyedOperator(query.using(algorithm=algorithm)) for algorithm in ("pba", "sba")]
    for begin in range(0, 200, 12):
        batch = (early + rest)[begin : begin + 12]
        one, other = (process(op, batch) for op in ops)
        assert one == other
        if begin == 96:
            assert [op.forget_silent(50) for op in ops] == [1, 1]


def test_costs_decide_and_no_thread_is_used_that_was_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(handover: int, threads: int = 1, **more: Any) -> tuple[str, int]:
        release_pool()
        hold_pool(threads)
        monkeypatch.setattr("sash.aggregators.pba.handover_ns", lambda: handover)
        query = sash.Query(windows=sash.sliding(200), aggregates={"m": sash.MomentSketch("x", k=2, q=(0.0, 1.0))})
        op, before = KeyedOperator(query.using(**more)), WAITING.tasks
        for begin in range(0, 1000, 10):
            op.process_batch({"x": np.arange(begin, begin + 10.0)})
        return op.explain(), WAITING.tasks - before

    said, tasks = run(1)
    assert tasks > 0 and "PBA, chunks of 101 slices: a second thread keeps lcs: " in said
    said, tasks = run(10**9)
    assert (
        tasks == 0 and "SBA, chunks of 101 slices: a second thread would not help: a chunk of 101 slices saves" in said
    )
    said, tasks = run(1, threads=0)
    assert tasks == 0 and "no second thread is wanted" in said
    said, tasks = run(33_000, combine_time="1us")  # 99 merges, and three times that
    assert tasks == 0 and "(1 µs each, given), and to hand it over takes 99 µs" in said
    said, tasks = run(32_999, combine_time="1us")
    assert tasks > 0


def test_compiled_merges_are_measured_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sash.aggregators.pba.handover_ns", lambda: 1)
    monkeypatch.setattr("sash.kernels.tiers.COMPILE_ROWS", 0)
    query = sash.Query(windows=sash.sliding(3000), aggregates={"x": sash.Max("x")})
    op = KeyedOperator(query)
    values = np.random.default_rng(3).random(20_000)
    op.process_batch({"x": values[:0]})
    assert "no merges have been measured yet" in op.explain()
    found = [op.process_batch({"x": values[begin : begin + 1000]})["x"] for begin in range(0, 20_000, 1000)]
    assert "PBA, chunks of 1501 slices: a second thread keeps lcs: " in op.explain()
    assert np.concatenate(found).tolist() == sash.rolling(values, sash.Max(), range=3000).tolist()


class Held(Executor):
    """A pool whose thread has begun with every task, and goes on when someone waits; ``idle``: it never begins."""

    idle = False

    def __init__(self) -> None:
        self.tasks: list[Future[Any]] = []

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        class Task(Future[Any]):
            def result(self, timeout: float | None = None) -> Any:
                if not self.done():
                    self.set_result(function(*arguments))
                return super().result(timeout)

        self.tasks.append(Task())
        if not self.idle:
            self.tasks[-1].set_running_or_notify_cancel()
        return self.tasks[-1]


@pytest.mark.parametrize("idle", [False, True])
def test_who_needs_lcs_that_is_not_there_waits_or_computes_it(idle: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Held()
    pool.idle = idle
    monkeypatch.setattr("sash.engine.columns.kept_chunks.shared_pool", lambda: pool)
    query = sash.Query(windows=sash.sliding(20), aggregates={"x": sash.Max("x")}, algorithm="pba")
    op, before = KeyedOperator(query), WAITING.times
    found = [op.process_batch({"x": np.arange(begin, begin + 4.0)})["x"].tolist() for begin in range(0, 80, 4)]
    assert [value for part in found for value in part] == [float(i) for i in range(19, 80)]
    needed = [task for task in pool.tasks if task.done()]
    assert len(needed) >= 2 and all(task.cancelled() == idle for task in needed)
    assert WAITING.times - before >= len(needed)


def test_lcs_does_not_hold_the_slices_that_it_was_computed_from(monkeypatch: pytest.MonkeyPatch) -> None:
    from sash.engine.columns import kept_chunks

    made: list[Any] = []

    class Watched(kept_chunks._Lcs):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(kept_chunks, "_Lcs", Watched)
    op = KeyedOperator(sash.Query(windows=sash.sliding(20), aggregates={"x": sash.Max("x")}, algorithm="pba"))
    for begin in range(0, 200, 5):
        op.process_batch({"x": np.arange(begin, begin + 5.0)})
    release_pool()  # which waits for its threads
    hold_pool(1)
    assert len(made) >= 5 and all(lcs._compute is None for lcs in made)
