"""SBA and PBA: every W[r, s], any chunk, whatever the second thread does."""

from __future__ import annotations

import os
import random
import sys
import threading
import time
import traceback
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from catalogue import CASES, Case
from sash.aggregators import PBA, SBA
from sash.aggregators import pba as pool
from sash.aggregators.pba import WAITING
from sash.aggregators.sba import Chunk
from sash.testing import Counted, count_windows, naive
from sash.values import shares


@pytest.mark.parametrize("r", range(1, 31))
def test_every_range_slide_and_chunk(r: int) -> None:
    values = list(range(3 * r + 7))
    for s in range(1, r + 1):
        expected = count_windows(values, r, s)
        for chunk in [None, *range(1, r // s + 1)]:
            for window in (SBA(sash.Collect(), r, s, chunk), PBA(sash.Collect(), r, s, chunk, parallel=True)):
                results = []
                for value in values:
                    if window.insert(value):
                        results.append(window.query())
                    window._check()
                assert results == expected, (window, r, s, chunk)
                assert window.partials <= (r // s // window.chunk + 2) * window.chunk + 2


@pytest.mark.parametrize("case", CASES, ids=str)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_lockstep_with_the_definition(case: Case, data: st.DataObject) -> None:
    values = data.draw(st.lists(case.values, max_size=40))
    r = data.draw(st.integers(1, 12))
    s = data.draw(st.integers(1, r))
    cut = data.draw(st.integers(0, len(values)))
    expected = [naive(case.aggregation, window) for window in count_windows(values, r, s)]
    for window in (SBA(case.aggregation, r, s), PBA(case.aggregation, r, s, parallel=True)):
        results = window.insert_many(values[:cut]) + window.insert_many(values[cut:])
        assert len(results) == len(expected)
        assert all(map(case.equal, results, expected))


def test_len_is_what_the_next_window_has() -> None:
    window = SBA(sash.Max(), 5, 2)
    lengths = []
    for i in range(9):
        lengths.append(len(window))
        window.insert(i)
    assert [*lengths, len(window)] == [0, 1, 2, 3, 4, 3, 4, 3, 4, 3]


@pytest.mark.parametrize(("r", "s", "b"), [(7, 2, None), (6, 3, 1), (9, 2, 2), (5, 1, 3)])
def test_before_the_first_window_the_total_so_far_is_of_all_values(r: int, s: int, b: int | None) -> None:
    window = SBA(sash.Collect(), r, s, b)
    for count in range(1, r):
        assert not window.insert(count) and not window.full
        assert list(window.total_so_far()) == list(range(1, count + 1))
    assert window.insert(r) and window.full


class TestSecondThread:
    def test_a_slow_combine_there_delays_but_changes_nothing(self) -> None:
        main = threading.get_ident()
        merged_elsewhere = 0

        def slow_elsewhere(a: str, b: str) -> str:
            nonlocal merged_elsewhere
            if threading.get_ident() != main:
                merged_elsewhere += 1
                time.sleep(random.random() / 500)
            else:
                time.sleep(0)  # lets the other thread begin
            return a + b

        aggregation = sash.aggregation(lift=str, combine=slow_elsewhere)
        values = [chr(97 + i % 26) for i in range(600)]
        expected = ["".join(window) for window in count_windows(values, 50)]
        window = PBA(aggregation, 50, parallel=True)
        assert window.insert_many(values) == expected
        assert merged_elsewhere > 100

    def test_a_slow_combine_here_lets_the_other_thread_do_the_lcs(self) -> None:
        main = threading.get_ident()

        def slow_here(a: str, b: str) -> str:
            if threading.get_ident() == main:
                time.sleep(0.0005)
            return a + b

        counted = Counted(sash.aggregation(lift=str, combine=slow_here))
        window = PBA(counted, 40, parallel=True)
        results = window.insert_many("x" * 200)
        assert results == ["x" * 40] * 161
        assert counted.calls - counted.calls_here >= window.chunk - 2  # what it began with in time, all of it if idle

    def test_a_pool_that_never_runs_anything_is_not_waited_for(self) -> None:
        class Stuck(Executor):
            def submit(self, *_: Any, **__: Any) -> Future[Any]:
                return Future()

        window = PBA(sash.Collect(), 9, parallel=True, pool=Stuck())
        values = list(range(60))
        assert window.insert_many(values) == count_windows(values, 9)

    def test_waiting_sleeps(self) -> None:
        """A thread that waits for lcs is asleep on a lock: it does not look again and again."""
        begun, release = threading.Event(), threading.Event()
        main = threading.get_ident()

        def combine(a: int, b: int) -> int:
            if threading.get_ident() != main:
                begun.set()
                release.wait(10)
            return max(a, b)

        window = PBA(sash.aggregation(lift=int, combine=combine), 8, parallel=True)
        for i in range(8):
            window.insert(i)
        assert begun.wait(10)  # so that the task cannot be taken back
        window.insert(8)
        doing: list[str] = []

        def look() -> None:
            doing.extend(frame.name for frame in traceback.extract_stack(sys._current_frames()[main]))
            release.set()

        threading.Timer(0.3, look).start()
        assert window.query() == 8
        assert doing[-1] == "wait" and "finish" in doing

    def test_an_error_there_is_raised_here_and_the_window_goes_on(self) -> None:
        main = threading.get_ident()
        broken = True

        def combine(a: str, b: str) -> str:
            if broken and threading.get_ident() != main:
                raise ZeroDivisionError("in the other thread")
            return a + b

        window = PBA(sash.aggregation(lift=str, combine=combine), 8, parallel=True)
        for letter in "abcdefgh":
            window.insert(letter)
        while not window._closed[0].task.done():  # type: ignore[attr-defined]
            time.sleep(0.001)
        window.insert("i")
        with pytest.raises(ZeroDivisionError) as caught:
            window.query()
        assert "another thread" in caught.value.__notes__[0]
        assert window.query() == "bcdefghi"  # tried again here
        broken = False
        assert window.insert_many("jkl") == ["cdefghij", "defghijk", "efghijkl"]

    def test_one_pool_for_all_keys(self) -> None:
        windows = [PBA(sash.Max(), 64, parallel=True) for _ in range(200)]
        for value in range(200):
            for window in windows:
                if window.insert(value):
                    window.query()
        threads = [thread for thread in threading.enumerate() if thread.name.startswith("sash-lcs")]
        assert 1 <= len(threads) <= max(1, pool.available_cores() - 1)

    def test_a_pool_of_ones_own_is_used(self) -> None:
        with ThreadPoolExecutor(1, thread_name_prefix="own") as own:
            names = set()

            def combine(a: int, b: int) -> int:
                names.add(threading.current_thread().name)
                return max(a, b)

            window = PBA(sash.aggregation(lift=int, combine=combine), 512, parallel=True, pool=own)
            window.insert_many(range(2000))
        assert {name.split("_")[0] for name in names} == {threading.current_thread().name, "own"}

    def test_a_closed_pool_is_said_and_done_without(self) -> None:
        own = ThreadPoolExecutor(1)
        own.shutdown()
        window = PBA(sash.Collect(), 6, parallel=True, pool=own)
        with pytest.warns(RuntimeWarning, match="PBA goes on in one thread"):
            assert window.insert_many(range(30)) == count_windows(list(range(30)), 6)
        assert not window.parallel and "takes no tasks" in window.reason

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_a_forked_process_has_its_own_threads(self) -> None:
        def works() -> bool:
            window = PBA(sash.Collect(), 300, parallel=True)
            return window.insert_many(range(1000)) == count_windows(list(range(1000)), 300)

        assert works()
        child = os.fork()
        if not child:
            os._exit(0 if works() else 1)
        assert os.waitpid(child, 0)[1] == 0


class TestChoice:
    def test_small_chunks_are_not_worth_a_task(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sash.aggregators.pba.available_cores", lambda: 2)
        monkeypatch.setattr("sash.aggregators.pba.handover_ns", lambda: 49_000)
        window = PBA(_releasing(), 100)  # a merge of the user's is taken to cost 1 µs
        assert not window.parallel
        assert window.reason == (
            "a chunk of 51 slices saves 49 µs of merges (1 µs each, assumed), and to hand it over takes 49 µs"
        )
        assert PBA(_releasing(), 102).parallel

    def test_a_combine_that_holds_the_gil_gains_nothing(self) -> None:
        window = PBA(sash.Max(), 100_000)
        assert not window.parallel
        assert "GIL" in window.reason or "one core" in window.reason

    def test_a_combine_that_releases_it_does(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sash.aggregators.pba.available_cores", lambda: 2)
        monkeypatch.setattr("sash.aggregators.pba.handover_ns", lambda: 49_000)
        window = PBA(_releasing(), 100_000)
        assert window.parallel and window.reason.startswith("2 cores; a chunk of 50001 slices saves 49999 µs")

    def test_one_core(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sash.aggregators.pba.available_cores", lambda: 1)
        window = PBA(_releasing(), 100_000)
        assert not window.parallel and "one core" in window.reason

    def test_threads_can_be_unwanted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sash.aggregators.pba.available_cores", lambda: 2)
        pool.hold_pool(0)
        try:
            window = PBA(_releasing(), 100_000)
        finally:
            pool.release_pool()
        assert not window.parallel and "wanted" in window.reason
        assert PBA(_releasing(), 100_000).parallel

    def test_passes_over_rows_use_no_more_threads_than_the_holder_asked_for(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(shares, "available_cores", lambda: 4)
        assert len(shares.shares_of(1 << 20)) == 4
        for threads in (0, 1):
            pool.hold_pool(threads)
            assert len(shares.shares_of(1 << 20)) == threads + 1
            pool.release_pool()
        assert len(shares.shares_of(1 << 20)) == 4 and len(shares.shares_of(0)) == 1

    def test_threads_end_with_the_last_that_holds_the_pool(self) -> None:
        def threads() -> int:
            return sum(thread.name.startswith("sash-lcs") for thread in threading.enumerate())

        pool.hold_pool(3)
        pool.hold_pool(1)  # a second one changes nothing
        for _ in range(20):
            PBA(sash.Max(), 512, parallel=True).insert_many(range(2000))
        pool.release_pool()
        assert 1 <= threads() <= 3
        pool.release_pool()
        assert threads() == 0

    def test_what_is_asked_for_is_done(self) -> None:
        assert PBA(sash.Max(), 10, parallel=True).parallel
        assert not PBA(_releasing(), 100_000, parallel=False).parallel


class Stepwise(Executor):
    """A second thread in step with the first: it makes one merge of an ``lcs`` with each tuple that the first takes.

    When the first thread waits for a chunk, the second one makes all the merges that are left.
    """

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []

    def submit(self, complete: Any, /, *args: Any, **kwargs: Any) -> Any:
        chunk: Chunk = complete.__self__
        if chunk.done > 1:
            self.chunks.append(chunk)
        return _Task()

    def step(self, chunks: list[Chunk]) -> None:
        """Make one merge of each of these, which were there when a tuple came; others begin with the next one."""
        self.chunks = [chunk for chunk in self.chunks if chunk not in chunks or chunk.step()]


class _Task:
    """A task that has begun and so is not cancelled."""

    def cancel(self) -> bool:
        return False

    def exception(self) -> None:
        return None


@settings(max_examples=100, deadline=None)
@given(r=st.integers(4, 120), s=st.integers(1, 9))
def test_the_waits_that_are_counted_are_those_of_theorem_1(r: int, s: int) -> None:
    r = max(r, s)
    n, best = r // s, sash.optimal_chunk(r, s)
    values = [str(value) for value in range(4 * r)]
    expected = [naive(sash.Concat(), window) for window in count_windows(values, r, s)]

    def waits(chunk: int) -> int:
        steps, before = Stepwise(), WAITING.times
        window = PBA(sash.Concat(), r, s, chunk, parallel=True, pool=steps)
        results = []
        for value in values:
            begun = list(steps.chunks)
            if window.insert(value):
                results.append(window.query())
            steps.step(begun)
        assert results == expected
        return WAITING.times - before

    assert waits(best) == 0
    if best < n:
        assert waits(best + 1) > 0


def _releasing() -> sash.Aggregation:
    return sash.aggregation(lift=float, combine=max, releases_gil=True)
