"""Windows in stores: beside Recalc step by step, opened again and again, damaged, shared, and with the store away."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

import sash
from sash.aggregators import Recalc
from sash.stores import (
    MemoryStore,
    Store,
    StoreAway,
    StoredAMTA,
    StoredLogMTA,
    StoreError,
)
from sash.stores.base import Batch, page_key

ALGORITHMS = pytest.mark.parametrize("algorithm", [StoredLogMTA, StoredAMTA])
pytest_plugins = ["store_fixtures"]
Reopen = Callable[[], Store]


def small(algorithm: type[Any], aggregation: sash.Aggregation, store: Store) -> Any:
    """A window with so little memory that nearly all of it is in the store."""
    return algorithm(aggregation, store, buffer=3, cache=4)


def machine(algorithm: type[Any], places: Callable[[], Reopen]) -> type[RuleBasedStateMachine]:
    class Lockstep(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.place = places()
            self.window = small(algorithm, sash.Concat(separator=""), self.place())
            self.oracle = Recalc(sash.Concat(separator=""))
            self.letters = itertools.cycle("abcdefghijklmnopqrstuvwxyz")

        @rule()
        def insert(self) -> None:
            letter = next(self.letters)
            self.window.insert(letter)
            self.oracle.insert(letter)

        @rule(count=st.integers(0, 60))
        def insert_many(self, count: int) -> None:
            letters = list(itertools.islice(self.letters, count))
            self.window.insert_many(letters)
            self.oracle.insert_many(letters)

        @precondition(lambda self: len(self.oracle) > 0)
        @rule()
        def evict(self) -> None:
            self.window.evict()
            self.oracle.evict()

        @rule(fraction=st.floats(0, 1))
        def evict_many(self, fraction: float) -> None:
            count = round(fraction * len(self.oracle))
            self.window.evict_many(count)
            self.oracle.evict_many(count)

        @rule(most=st.integers(0, 60))
        def evict_while(self, most: int) -> None:
            gone = self.window.evict_while(lambda total, oldest: len(total) - len(oldest) >= most)
            assert gone == max(len(self.oracle) - most, 0)
            self.oracle.evict_many(gone)

        @rule()
        def slide(self) -> None:
            for _ in range(min(30, len(self.oracle))):
                self.evict()
                self.insert()
                self.agrees()

        @rule()
        def flush(self) -> None:
            self.window.flush()
            self.window.verify()

        @rule()
        def open_again(self) -> None:
            self.window.close()
            self.window = small(algorithm, sash.Concat(separator=""), self.place())
            self.window._check()

        @invariant()
        def agrees(self) -> None:
            assert len(self.window) == len(self.oracle)
            assert self.window.query() == self.oracle.query()

        def teardown(self) -> None:
            self.window.close()

    return Lockstep


@ALGORITHMS
def test_lockstep_with_recalc(algorithm: type[Any], places: Callable[[], Reopen]) -> None:
    run_state_machine_as_test(
        machine(algorithm, places),
        settings=settings(
            max_examples=12, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


@ALGORITHMS
def test_a_window_opened_again_is_to_the_bit_what_it_was(algorithm: type[Any], place: Reopen) -> None:
    """Whatever the kinds of partials: numbers, tuples, nulls, texts."""
    everything = sash.aggregations.custom.Together([sash.Mean(), sash.Concat(), sash.SampleStdDev(), sash.Last()])
    values = [None if i % 7 == 3 else i / 3 for i in range(700)]
    window = small(algorithm, everything, place())
    oracle = small(algorithm, everything, MemoryStore())
    for each in (window, oracle):
        each.insert_many([(value, str(value), value, value) for value in values])
        each.evict_many(100)
    window.close()
    window = small(algorithm, everything, place())
    while len(oracle):
        assert window.query() == oracle.query()
        window.evict()
        oracle.evict()
    window.close()
    oracle.close()


class TestMemory:
    @ALGORITHMS
    def test_few_elements_are_in_memory(self, algorithm: type[Any], place: Reopen) -> None:
        """O(log n): of each level its tail and two pages, each 16 elements here."""
        window = algorithm(sash.Max(), place(), buffer=32, cache=32)
        for start in range(0, 2**15, 512):
            window.insert_many(range(start, start + 512))
        for i in range(3000):
            window.insert(i)
            window.evict()
        window.evict_many(2**14)
        window.query()
        for i in range(2000):
            window.insert(i)
            window.evict()
            assert window.query() == 2**15 - 1
        assert window.local <= 17 * (3 * 16) + 40
        assert len(window) == 2**14
        window.close()

    def test_what_has_left_is_deleted_from_the_store(self, place: Reopen) -> None:
        store = place()
        window = StoredAMTA(sash.Max(), store, buffer=32, cache=32)
        window.insert_many(range(10_000))
        window.flush()
        before = len(list(store.keys()))
        window.evict_many(9_000)
        for i in range(3000):
            window.insert(i)
            window.evict()
        window.flush()
        keys = list(store.keys())
        assert before > 1000 and len(keys) < 2 * 1000 / 16 + 20
        assert keys == sorted(keys) and keys[0] >= page_key(0, 12_000 // 16)
        window.close()


def test_two_windows_in_one_store_do_not_mix(places: Callable[[], Reopen]) -> None:
    place = places()
    store = place()
    with small(StoredAMTA, sash.Concat(), store) as window:
        window.insert_many("abc")
    store = place()
    first = small(StoredAMTA, sash.Concat(), store)
    second = small(StoredAMTA, sash.Concat(), store)  # as another process would
    first.insert("d")
    first.flush()
    second.insert("e")
    with pytest.raises(StoreError, match=r"store .* is not as this window left it"):
        second.flush()
    first.insert("f")
    first.flush()
    second._levels.close()
    first.close()
    with small(StoredAMTA, sash.Concat(), place()) as window:
        assert window.query() == "a,b,c,d,f"


class _Unsteady(MemoryStore):
    """Fails now and then, before a commit or behind it: then it is done, but nobody knows."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = itertools.cycle(["done", "away", "done", "silent", "away", "away", "silent", "done"])

    def commit(self, batch: Batch, header: bytes, before: bytes | None) -> None:
        turn = next(self.turns)
        if turn != "away":
            super().commit(batch, header, before)
        if turn != "done":
            raise StoreAway("the store does not answer")


def test_commits_that_fail_are_repeated_and_done_once() -> None:
    store = _Unsteady()
    window = small(StoredAMTA, sash.Concat(separator=""), store)
    letters = "abcdefghijklmnopqrstuvwxyz"
    taken = ""
    for letter in letters * 8:
        try:
            window.insert(letter)
        except StoreAway:
            continue  # it has not been
        taken += letter
    while True:
        try:
            window.flush()
            break
        except StoreAway:
            continue
    assert len(taken) > 100
    assert window.query() == taken
    again = small(StoredAMTA, sash.Concat(separator=""), store)
    assert again.query() == taken
