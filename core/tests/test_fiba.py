"""FiBA beside a sorted list, the costs that it states, and what it does when something raises."""

from __future__ import annotations

import copy
import math
import pickle
import random
from bisect import insort_right
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from operator import itemgetter
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

import sash
from catalogue import CASES, Case
from sash.aggregators import FiBA
from sash.testing import Counted, Failing, naive

Operation = Callable[[FiBA], Any]

ARITIES = [2, 4, 8]
TIMES = st.integers(-20, 20)  # few, so that many are equal


class Sorted:
    """The definition: a list of (time, value), by time and among equal times by arrival."""

    def __init__(self, aggregation: sash.Aggregation) -> None:
        self.aggregation = aggregation
        self.entries: list[tuple[Any, Any]] = []

    def insert_at(self, time: Any, value: Any) -> None:
        insort_right(self.entries, (time, value), key=itemgetter(0))

    def insert_many_at(self, pairs: list[tuple[Any, Any]]) -> None:
        for time, value in pairs:
            self.insert_at(time, value)

    def evict(self) -> None:
        del self.entries[0]

    def evict_until(self, time: Any) -> int:
        before = len(self.entries)
        self.entries = [entry for entry in self.entries if not entry[0] < time]
        return before - len(self.entries)

    def query(self) -> Any:
        return naive(self.aggregation, [value for _, value in self.entries])

    def range_query(self, start: Any, end: Any) -> Any:
        return naive(self.aggregation, [value for time, value in self.entries if start <= time < end])


def machine(case: Case, min_arity: int) -> type[RuleBasedStateMachine]:
    """A state machine that moves a window and its oracle alike. Queries are steps too, so that work piles up."""
    pairs = st.tuples(TIMES, case.values)

    class Lockstep(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.window = FiBA(case.aggregation, min_arity)
            self.oracle = Sorted(case.aggregation)

        @rule(time=TIMES, value=case.values)
        def insert_at(self, time: int, value: Any) -> None:
            self.window.insert_at(time, value)
            self.oracle.insert_at(time, value)

        @rule(values=st.lists(case.values, max_size=20))
        def append(self, values: list[Any]) -> None:
            for value in values:
                self.insert_at((self.window.youngest or 0) + 1, value)

        @rule(pairs=st.lists(pairs, max_size=5) | st.lists(pairs, min_size=30, max_size=40))
        def insert_many_at(self, pairs: list[tuple[int, Any]]) -> None:
            self.window.insert_many_at(iter(pairs))
            self.oracle.insert_many_at(pairs)

        @precondition(lambda self: self.oracle.entries)
        @rule(fraction=st.floats(0, 1))
        def evict(self, fraction: float) -> None:
            for _ in range(math.ceil(fraction * min(len(self.window), 20))):
                self.window.evict()
                self.oracle.evict()

        @precondition(lambda self: self.oracle.entries)
        @rule(fraction=st.floats(0, 1), beyond=st.integers(0, 1))
        def evict_until(self, fraction: float, beyond: int) -> None:
            time = self.oracle.entries[int(fraction * (len(self.window) - 1))][0] + beyond
            assert self.window.evict_until(time) == self.oracle.evict_until(time)

        @rule()
        def query(self) -> None:
            assert case.equal(self.window.query(), self.oracle.query())

        @rule(start=TIMES, end=TIMES)
        def range_query(self, start: int, end: int) -> None:
            assert case.equal(self.window.range_query(start, end), self.oracle.range_query(start, end))

        @rule()
        def drain(self) -> None:
            while self.oracle.entries:
                self.evict(0.1)
                self.query()

        @invariant()
        def keeps_its_invariants(self) -> None:
            if case.exact:
                self.window._check()
            entries = self.oracle.entries
            assert [time for time, _ in self.window.items()] == [time for time, _ in entries]
            assert len(self.window) == len(entries)
            assert self.window.oldest == (entries[0][0] if entries else None)
            assert self.window.youngest == (entries[-1][0] if entries else None)

        def teardown(self) -> None:
            self.query()

    return Lockstep


ORDERED = [case for case in CASES if str(case) in ("Collect", "Concat", "Max", "matrix_product")]
MATRIX = [(case, 2, 3) for case in CASES if case not in ORDERED] + [(c, a, 9) for c in ORDERED for a in ARITIES]


@pytest.mark.parametrize(("case", "min_arity", "examples"), MATRIX, ids=str)
def test_lockstep_with_a_sorted_list(case: Case, min_arity: int, examples: int) -> None:
    run_state_machine_as_test(
        machine(case, min_arity),
        settings=settings(
            max_examples=examples, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


def sawtooth(window: FiBA) -> Iterator[None]:
    for time in range(200):
        window.insert_at(time, time)
        if len(window) == 60:
            yield
            window.evict_until(time - 5)
        yield


def grow_in_the_middle(window: FiBA) -> Iterator[None]:
    for time in range(80):
        window.insert_at(time if time % 2 else -time, time)
        yield
    for time in range(80):
        window.insert_at(0, time)
        yield


def grow_backwards_and_drain(window: FiBA) -> Iterator[None]:
    for time in range(100, 0, -1):
        window.insert_at(time, time)
        yield
    while len(window):
        window.evict()
        yield


def load_and_cut(window: FiBA) -> Iterator[None]:
    window.insert_many_at((time, time) for time in range(500))
    for time in (1, 2, 3, 40, 41, 300, 498, 499, 500):
        window.evict_until(time)
        yield


def thrash(window: FiBA) -> Iterator[None]:
    """Around the sizes at which the root is cut and merged again."""
    for size in (16, 17, 64, 65, 128):
        while len(window) != size:
            window.insert_at(len(window) * 7 % 50, size)
        for _ in range(6):
            window.evict()
            window.evict()
            yield
            window.insert_at(1000, size)
            window.insert_at(1000, size)
            yield


@pytest.mark.parametrize("min_arity", [2, 4])
@pytest.mark.parametrize("pattern", [sawtooth, grow_in_the_middle, grow_backwards_and_drain, load_and_cut, thrash])
@pytest.mark.parametrize("every", [1, 5])
def test_growing_and_shrinking_windows(pattern: Callable[[FiBA], Iterator[None]], min_arity: int, every: int) -> None:
    window = FiBA(sash.Collect(), min_arity)
    for step, _ in enumerate(pattern(window)):
        window._check()
        if step % every == 0:
            assert (window.query() or []) == [partial[0] for _, partial in window.items()]
            window._check()


@pytest.mark.parametrize("n", [1, 4, 9, 20, 33])
@pytest.mark.parametrize("loaded", ["at once", "one by one"])
def test_one_change_at_every_place(n: int, loaded: str) -> None:
    """After a query everything is computed, so whatever a change forgets to mark shows."""
    for place in range(-1, n):
        changes: list[list[tuple[float, Any]]] = [[(place + 0.5, i) for i in range(m)] for m in (1, 2, 5, 12)]
        for change in [*changes, [(place, "a"), (place + 2, "b")], None]:
            window, oracle = FiBA(sash.Collect(), 2), Sorted(sash.Collect())
            for time in range(n):
                oracle.insert_at(time, -time)
                if loaded == "one by one":
                    window.insert_at(time, -time)
                    window.query()
            if loaded == "at once":
                window.insert_many_at(oracle.entries)
                window.query()
            if change is None:
                assert window.evict_until(place + 0.5) == oracle.evict_until(place + 0.5)
            elif len(change) == 1:
                window.insert_at(*change[0])
                oracle.insert_at(*change[0])
            else:
                window.insert_many_at(change)
                oracle.insert_many_at(change)
            window._check()
            assert window.query() == oracle.query()


@pytest.mark.parametrize("younger", [0, 1, 4, 20])
def test_equal_times_stay_in_order_of_arrival(younger: int) -> None:
    for equal in range(25):
        window = FiBA(sash.Concat(separator=""), 2)
        window.insert_many_at([(1, "a")] * equal + [(2, "y")] * younger + [(0, "x")])
        window.insert_at(1, "b")
        window.insert_many_at([(1, "c"), (0, "x"), (1, "d")])
        assert window.query() == "xx" + equal * "a" + "bcd" + younger * "y"
        assert window.range_query(1, 2) == equal * "a" + "bcd"
        assert window.evict_until(1) == 2
        assert window.evict_until(1) == 0
        assert window.query() == equal * "a" + "bcd" + younger * "y"


def test_nulls_are_entries() -> None:
    window = FiBA(sash.Max(), 2)
    window.insert_many_at((time, None) for time in range(40))
    assert len(window) == 40 and window.query() is None and window.range_query(3, 20) is None
    window.insert_at(17, 5)
    assert window.query() == 5 and window.range_query(0, 17) is None and window.range_query(17, 18) == 5
    assert window.evict_until(18) == 19
    assert window.query() is None and len(window) == 22
    assert FiBA(sash.Count()).query() == 0


@pytest.mark.parametrize(
    ("start", "step"),
    [
        (datetime(2024, 2, 28, tzinfo=UTC), timedelta(hours=5)),
        (-7.5, 0.25),
        (Decimal("1.1"), Decimal("0.1")),
        (Fraction(1, 3), Fraction(1, 7)),
        (np.datetime64("2024-02-28T00:00"), np.timedelta64(1, "m")),
        (np.float64(3), np.float64(0.5)),
    ],
    ids=lambda argument: type(argument).__name__,
)
def test_any_time_that_has_an_order(start: Any, step: Any) -> None:
    window = FiBA(sash.Collect(), 2)
    times = [start + i * step for i in range(50)]
    shuffled = list(enumerate(times))
    random.Random(1).shuffle(shuffled)
    for i, time in shuffled[:25]:
        window.insert_at(time, i)
    window.insert_many_at((time, i) for i, time in shuffled[25:])
    assert window.query() == list(range(50))
    assert window.range_query(times[10], times[20]) == list(range(10, 20))
    assert window.evict_until(times[30]) == 30 and window.oldest == times[30] and window.youngest == times[49]


def test_infinite_times() -> None:
    window = FiBA(sash.Concat())
    window.insert_many_at([(math.inf, "end"), (3, "b"), (-math.inf, "begin"), (2.5, "a")])
    assert window.query() == "begin,a,b,end"
    assert window.range_query(-math.inf, math.inf) == "begin,a,b"
    assert window.evict_until(math.inf) == 3


def test_copies_are_independent_and_whole() -> None:
    window = FiBA(sash.Collect(), 2)
    window.insert_many_at((time % 13, time) for time in range(100))
    window.query()
    window.insert_at(6, "late")
    expected = [partial[0] for _, partial in window.items()]
    for other in (copy.deepcopy(window), pickle.loads(pickle.dumps(window))):
        other._check()
        other.evict()
        assert other.query() == expected[1:]
    assert window.query() == expected


# The costs. Each operation is counted together with the query after it.


def filled(counted: Counted, min_arity: int, n: int, how: str) -> FiBA:
    """A window with the times 0 … n - 1, which has answered a query."""
    window = FiBA(counted, min_arity)
    times = list(range(n))
    if how == "bulk":
        window.insert_many_at((time, time % 97) for time in times)
    else:
        if how == "shuffled":
            random.Random(n).shuffle(times)
        for time in times:
            window.insert_at(time, time % 97)
    window.query()
    return window


def costs(window: FiBA, counted: Counted, operations: list[Operation]) -> list[int]:
    spent = []
    for operation in operations:
        before = counted.calls
        operation(window)
        window.query()
        spent.append(counted.calls - before)
    return spent


def insert(time: float, value: Any = 1) -> Operation:
    return lambda window: window.insert_at(time, value)


def cut(time: float) -> Operation:
    return lambda window: window.evict_until(time)


def worst(min_arity: int, n: int) -> float:
    return 6 * min_arity * (math.log(n, min_arity) + 2)


SIZES = [2**8, 2**10, 2**12]
FILLINGS = ["in order", "shuffled", "bulk"]


@pytest.mark.parametrize("min_arity", ARITIES)
@pytest.mark.parametrize("how", FILLINGS)
@pytest.mark.parametrize("n", [SIZES[0], SIZES[-1]])
def test_the_ends_are_constant_amortised_and_logarithmic_at_worst(min_arity: int, n: int, how: str) -> None:
    counted = Counted(sash.Max())
    window = filled(counted, min_arity, n, how)
    inserts = costs(window, counted, [insert(n + t, t) for t in range(1000)])
    evicts = costs(window, counted, [FiBA.evict] * n)
    older = costs(window, counted, [insert(-t, t) for t in range(1000)])
    for spent in (inserts, evicts, older):
        assert sum(spent) <= 6 * len(spent)
        assert max(spent) <= worst(min_arity, n + 1000)

    def slide(window: FiBA) -> None:
        window.insert_at(window.youngest + 1, 1)
        window.evict()

    assert sum(costs(window, counted, [slide] * 1000)) <= (6 + 6 - 2) * 1000  # with one query for the two


@pytest.mark.parametrize("min_arity", ARITIES)
def test_windows_of_every_small_size(min_arity: int) -> None:
    for n in range(2, 12 * min_arity):
        counted = Counted(sash.Max())
        window = filled(counted, min_arity, n, "in order")
        for pattern in ("+-", "++--", "+++++-----"):
            steps = [insert(1e6) if step == "+" else FiBA.evict for step in pattern * 10]
            spent = costs(window, counted, steps)
            assert sum(spent) <= 6 * len(spent) + worst(min_arity, n) or n <= 2 * min_arity
            assert max(spent) <= max(worst(min_arity, n), n)


@pytest.mark.parametrize("min_arity", ARITIES)
@pytest.mark.parametrize("how", FILLINGS)
@pytest.mark.parametrize("end", ["old", "young"])
def test_an_insertion_costs_the_logarithm_of_its_distance_not_of_the_size(min_arity: int, how: str, end: str) -> None:
    means: dict[int, list[float]] = {}
    for n in SIZES:
        counted = Counted(sash.Max())
        window = filled(counted, min_arity, n, how)
        for d in (1000, 300, 100, 30, 10, 3, 1, 0):  # what is inserted further in changes no distance further out
            if d <= n // 4:
                at = n - d - 0.5 if end == "young" else d - 0.5
                step = 1e-6 if end == "young" else -1e-6
                spent = costs(window, counted, [insert(at + i * step) for i in range(100)])
                means.setdefault(d, []).append(sum(spent) / 100)
                assert max(spent) <= worst(min_arity, n)
    for d, of_sizes in means.items():
        assert max(of_sizes) <= 4 * min_arity * math.log(d + 1, min_arity) + 6
        assert max(of_sizes) - min(of_sizes) <= 2 * min_arity


class Tick:
    """A time that counts how often it is compared, and can fail at it."""

    comparisons = 0
    fuse = 0

    def __init__(self, time: float) -> None:
        self.time = time

    def __lt__(self, other: Tick) -> bool:
        Tick.comparisons += 1
        Tick.fuse -= 1
        if not Tick.fuse:
            raise ArithmeticError("comparison failed")
        return self.time < other.time

    def __repr__(self) -> str:
        return f"Tick({self.time})"


def comparisons(call: Callable[..., Any], *arguments: Any) -> int:
    before = Tick.comparisons
    call(*arguments)
    return Tick.comparisons - before


@pytest.mark.parametrize("min_arity", ARITIES)
def test_a_time_is_found_in_the_logarithm_of_its_distance(min_arity: int) -> None:
    for n in SIZES:
        window = FiBA(sash.Max(), min_arity)
        window.insert_many_at((Tick(time), 1) for time in range(n))
        for d in (0, 1, 10, 100):
            for at in (d - 0.5, n - d - 0.5):
                steps = comparisons(window.insert_at, Tick(at), 1)
                assert steps <= (1 + math.log2(4 * min_arity)) * (math.log(d + 1, min_arity) + 2) + 3
        assert comparisons(window.insert_at, Tick(n), 1) == 1
        assert comparisons(window.evict) == 0


@pytest.mark.parametrize("min_arity", ARITIES)
@pytest.mark.parametrize("how", FILLINGS)
@pytest.mark.parametrize("n", SIZES)
def test_bulk_eviction_is_logarithmic_however_many_leave(min_arity: int, how: str, n: int) -> None:
    for fractions in ([0.001, 0.01, 0.1, 0.3, 0.5, 0.77, 0.9, 0.99, 0.999], [0.4, 0.6, 1.1]):
        counted = Counted(sash.Max())
        window = filled(counted, min_arity, n, how)
        for fraction in fractions:
            (spent,) = costs(window, counted, [cut(n * fraction)])
            assert spent <= worst(min_arity, n)
            assert window.query() == naive(sash.Max(), [t % 97 for t in range(math.ceil(n * fraction), n)])


@pytest.mark.parametrize("min_arity", ARITIES)
def test_bulk_eviction_compares_few_times(min_arity: int) -> None:
    for n in SIZES:
        window = FiBA(sash.Max(), min_arity)
        window.insert_many_at((Tick(time), 1) for time in range(n))
        steps = comparisons(window.evict_until, Tick(n * 0.7))
        assert steps <= (1 + math.log2(4 * min_arity)) * (math.log(n, min_arity) + 1) + 3


@pytest.mark.parametrize("min_arity", ARITIES)
@pytest.mark.parametrize("m", [1, 8, 64, 512])
def test_bulk_insertion_costs_less_than_one_by_one(min_arity: int, m: int) -> None:
    n, d, counted = 2**12, 2**11, Counted(sash.Max())
    pairs = [(n - distance - 0.5, distance) for distance in random.Random(m).sample(range(d), m)]
    window, single = (filled(counted, min_arity, n, "in order") for _ in range(2))
    (bulk,) = costs(window, counted, [lambda w: w.insert_many_at(pairs)])
    assert bulk <= 4 * min_arity * (m * math.log(d / m + 1, min_arity) + m + math.log(d + 1, min_arity))
    one_by_one = costs(single, counted, [insert(*pair) for pair in pairs])
    assert m < 64 or bulk <= sum(one_by_one) / 2
    assert list(single.items()) == list(window.items())
    window._check()


@pytest.mark.parametrize("min_arity", ARITIES)
@pytest.mark.parametrize("spread", [1, 8])
def test_bulk_insertion_compares_fewer_times(min_arity: int, spread: int) -> None:
    n, m = 2**12, 512
    pairs = [(Tick(n - time * spread - 0.5), time) for time in range(m)]
    bulk, single = FiBA(sash.Max(), min_arity), FiBA(sash.Max(), min_arity)
    for window in (bulk, single):
        window.insert_many_at((Tick(time), 1) for time in range(n))
    one_by_one = sum(comparisons(single.insert_at, *pair) for pair in pairs)
    assert comparisons(bulk.insert_many_at, pairs) <= one_by_one / 1.2


@pytest.mark.parametrize("min_arity", ARITIES)
@pytest.mark.parametrize("how", FILLINGS)
def test_queries_alone_and_ranges(min_arity: int, how: str) -> None:
    dice = random.Random(3)
    for n in SIZES:
        counted = Counted(sash.Max())
        window = filled(counted, min_arity, n, how)
        before = counted.calls
        window.query()
        assert counted.calls - before <= 2
        for _ in range(50):
            start, end = sorted(dice.choices(range(-5, n + 5), k=2))
            before = counted.calls
            result = window.range_query(start, end)
            assert counted.calls - before <= 4 * min_arity * (math.log(n, min_arity) + 1)
            assert result == naive(sash.Max(), [t % 97 for t in range(max(start, 0), min(end, n))])


@pytest.mark.parametrize("min_arity", ARITIES)
@pytest.mark.parametrize("how", FILLINGS)
def test_work_that_piled_up_costs_no_more_than_in_pieces(min_arity: int, how: str) -> None:
    counted, dice = Counted(sash.Max()), random.Random(5)
    window = filled(counted, min_arity, 2000, how)
    eager = copy.deepcopy(window)
    assert isinstance(eager.aggregation, Counted)
    steps: list[Operation] = []
    for _ in range(1000):
        steps += [insert(dice.uniform(0, 2000)), FiBA.evict]
    in_pieces = costs(eager, eager.aggregation, steps)
    (at_once,) = costs(window, counted, [lambda w: [step(w) for step in steps]])
    assert at_once <= sum(in_pieces)
    assert list(eager.items()) == list(window.items())


@pytest.mark.parametrize("min_arity", ARITIES)
@pytest.mark.parametrize("how", FILLINGS)
def test_space(min_arity: int, how: str) -> None:
    for n in (1, 10, *SIZES):
        window = filled(Counted(sash.Max()), min_arity, n, how)
        logarithm = math.log(n, min_arity)
        assert n <= window.partials <= n * (1 + 1 / (min_arity - 1)) + 4 * min_arity * (logarithm + 1)
        assert window._tree.top <= logarithm  # the depth of every recursion


# What raises changes nothing.


def prepared(aggregation: sash.Aggregation, time: Callable[[float], Any] = float) -> FiBA:
    window = FiBA(aggregation, 2)
    window.insert_many_at((time(t), t) for t in range(40))
    window.query()
    for t in (3, 20, 20, 38):
        window.insert_at(time(t), -t)
    window.evict()
    return window


def contents(window: FiBA) -> list[Any]:
    """All that can be seen of a window: its entries, and its results while it is drained."""
    window._check()
    seen: list[Any] = [[partial for _, partial in window.items()]]
    while len(window):
        seen.append(window.query())
        window.evict()
    return seen


def operations(time: Callable[[float], Any]) -> dict[str, Operation]:
    return {
        "append": lambda window: window.insert_at(time(50), 1),
        "insert": lambda window: window.insert_at(time(17.5), 1),
        "insert at the old end": lambda window: window.insert_at(time(-1), 1),
        "insert near the old end": lambda window: window.insert_at(time(2.5), 1),
        "insert many": lambda window: window.insert_many_at([(time(t * 7 % 45), t) for t in range(25)]),
        "append many": lambda window: window.insert_many_at([(time(t), t) for t in range(45, 60)]),
        "evict": lambda window: window.evict(),
        "evict many": lambda window: [window.evict() for _ in range(9)],
        "evict few": lambda window: window.evict_until(time(2)),
        "evict until": lambda window: window.evict_until(time(23)),
        "evict nearly all": lambda window: window.evict_until(time(39)),
        "evict all": lambda window: window.evict_until(time(99)),
        "query": lambda window: window.query(),
        "range": lambda window: window.range_query(time(2), time(33)),
    }


@pytest.mark.parametrize("name", operations(float))
def test_a_combine_that_raises_changes_nothing(name: str) -> None:
    run = operations(float)[name]
    before, after = prepared(sash.Collect()), prepared(sash.Collect())
    run(after)
    expected = {False: contents(before), True: contents(after)}
    for fuse in range(1, 500):
        failing = Failing(sash.Collect())
        window, done = prepared(failing), False
        failing.fuse = fuse
        try:
            run(window)
            done = True
            window.query()
            window.range_query(1.0, 36.0)
        except ArithmeticError:
            assert contents(window) == expected[done], f"after a failure in combine {fuse}"
        else:
            failing.fuse = 0
            assert contents(window) == expected[True]
            return
    pytest.fail("it never succeeded")


@pytest.mark.parametrize("name", [n for n in operations(float) if n not in ("evict", "evict many", "query")])
def test_a_comparison_that_raises_changes_nothing(name: str) -> None:
    run = operations(Tick)[name]
    expected = contents(prepared(sash.Collect(), Tick))
    for fuse in range(1, 500):
        window = prepared(sash.Collect(), Tick)
        Tick.fuse = fuse
        try:
            run(window)
        except ArithmeticError:
            assert contents(window) == expected, f"after a failure in comparison {fuse}"
        else:
            assert fuse > 1
            return
        finally:
            Tick.fuse = 0
    pytest.fail("it never succeeded")


def test_a_value_that_cannot_be_lifted_changes_nothing() -> None:
    window = FiBA(sash.Concat(), 2)
    window.insert_many_at((time, str(time)) for time in range(9))
    with pytest.raises(TypeError, match="cannot aggregate 5"):
        window.insert_at(3, 5)
    with pytest.raises(TypeError, match="cannot aggregate 5"):
        window.insert_many_at([(3, "a"), (4, 5), (5, "b")])
    with pytest.raises(ZeroDivisionError):
        window.insert_many_at((1 // (3 - time), "c") for time in range(5))
    window._check()
    assert window.query() == "0,1,2,3,4,5,6,7,8"


BAD_TIMES: list[tuple[Any, type[Exception], str]] = [
    (None, TypeError, "a time is needed; got None"),
    (math.nan, ValueError, "a time must have a place in the order of times; got nan"),
    (np.datetime64("NaT"), ValueError, "a time must have a place in the order of times; got .*NaT"),
    (Decimal("NaN"), ValueError, "a time must have a place in the order of times; got .*NaN"),
    ("1", TypeError, "the time '1' cannot be ordered with 11: "),
    (datetime(2024, 1, 1), TypeError, r"the time datetime.*\(2024, 1, 1, 0, 0\) cannot be ordered with 11: "),
    (1j, TypeError, "the time 1j cannot be ordered with 11: "),
]


@pytest.mark.parametrize(("time", "error", "words"), BAD_TIMES)
def test_bad_times(time: Any, error: type[Exception], words: str) -> None:
    window = FiBA(sash.Collect(), 2)
    window.insert_many_at((t, t) for t in range(12))
    calls: list[Callable[[], Any]] = [
        lambda: window.insert_at(time, 5),
        lambda: window.insert_many_at([(3, 1), (time, 5)]),
        lambda: window.evict_until(time),
        lambda: window.range_query(time, 5),
        lambda: window.range_query(5, time),
    ]
    for call in calls:
        with pytest.raises(error, match=words):
            call()
    window._check()
    assert window.query() == list(range(12))


def test_the_first_time_decides_the_kind() -> None:
    window = FiBA(sash.Count())
    with pytest.raises(TypeError, match="the time 1j cannot be ordered with 1j: "):
        window.insert_at(1j, 5)
    with pytest.raises(TypeError, match="the times cannot be ordered: "):
        window.insert_many_at([(1, 5), ("a", 6)])
    with pytest.raises(TypeError, match=r"insert_many_at takes pairs \(time, value\); got \(1, 2, 3\)"):
        window.insert_many_at([(1, 2, 3)])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"insert_many_at takes pairs \(time, value\); got 7"):
        window.insert_many_at([7])  # type: ignore[list-item]
    assert len(window) == 0 and list(window.items()) == [] and window.oldest is None and window.youngest is None
    window.insert_at("b", 1)
    window.insert_at("a", 1)
    assert window.oldest == "a"


def test_empty_windows() -> None:
    window = FiBA(sash.Sum())
    with pytest.raises(IndexError, match="cannot evict: the window is empty"):
        window.evict()
    window.insert_many_at([])
    assert window.evict_until(5) == 0
    assert window.total() is None and window.query() is None and window.range_total(1, 2) is None
    window.insert_at(1, 5)
    assert window.range_query(1, 1) is None and window.range_query(2, 1) is None and window.range_query(1, 2) == 5
    assert window.evict_until(1) == 0 and window.evict_until(1.5) == 1 and len(window) == 0


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((max,), TypeError, "FiBA needs an aggregation such as sash.Max"),
        ((sash.Max,), TypeError, "FiBA needs an aggregation such as sash.Max"),
        ((sash.Max(), 1), ValueError, "min_arity must be at least 2; got 1"),
        ((sash.Max(), 4.0), TypeError, "min_arity must be a whole number; got 4.0"),
        ((sash.Max(), True), TypeError, "min_arity must be a whole number; got True"),
        ((sash.Max(), None), TypeError, "min_arity must be a whole number; got None"),
    ],
)
def test_bad_arguments(arguments: tuple[Any, ...], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        FiBA(*arguments)
