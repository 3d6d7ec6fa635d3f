"""Log MTA and AMTA: their costs counted, what a slide policy lets go, and what a bulk eviction leaves in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from catalogue import CASES, Case
from sash.aggregations.custom import Together
from sash.aggregators import AMTA, LogMTA, PolicyError, Recalc
from sash.aggregators.mta import MTA, Levels, Policy
from sash.testing import Counted, Failing, naive

BOTH = pytest.mark.parametrize("algorithm", [LogMTA, AMTA])
SIZES = [1, 2, 3, 7, 8, 9, 100, 1000]


def cost(counted: Counted, call: Callable[..., Any], *arguments: Any) -> int:
    before = counted.calls
    call(*arguments)
    return counted.calls - before


def log2(n: int) -> int:
    """⌊log2 n⌋, of 0 and of 1 nothing."""
    return max(n.bit_length() - 1, 0)


class TestCosts:
    @pytest.mark.parametrize("n", SIZES)
    def test_log_mta_is_logarithmic(self, n: int) -> None:
        counted = Counted(sash.Max())
        window = LogMTA(counted)
        for i in range(n):
            assert cost(counted, window.insert, i) <= log2(len(window)) + 2
        for i in range(2 * n):
            assert cost(counted, window.evict) <= log2(n) + 1
            assert cost(counted, window.insert, i) <= log2(n) + 2
            assert cost(counted, window.query) == 0
        assert cost(counted, window.insert_many, range(n)) <= n + 2 * log2(2 * n) + 3

    @pytest.mark.parametrize("n", SIZES)
    def test_amta_is_logarithmic_at_worst(self, n: int) -> None:
        counted = Counted(sash.Max())
        window = AMTA(counted)
        for i in range(n):
            assert cost(counted, window.insert, i) <= log2(n) + 1
            assert cost(counted, window.query) <= 3 * log2(n) + 2
        for i in range(3 * n):
            assert cost(counted, window.evict) <= log2(n)
            assert cost(counted, window.query) <= 3 * log2(n) + 2
            assert cost(counted, window.insert, i) <= log2(n) + 1
            assert cost(counted, window.query) <= 3 * log2(n) + 2

    @pytest.mark.parametrize("pattern", ["+-", "++-", "+++--", "++++++-" * 3 + "-" * 15, "+" * 50 + "-" * 50, "+" * 7])
    def test_amta_is_constant_amortised_for_any_interleaving(self, pattern: str) -> None:
        counted = Counted(sash.Max())
        window = AMTA(counted)
        steps = pattern * (6000 // len(pattern))
        for i, step in enumerate(steps):
            if step == "+":
                window.insert(i % 13)
            else:
                window.evict()
            window.query()
        assert counted.calls <= 4 * len(steps) + 40  # a slide is two steps, and a query each here

    @BOTH
    @pytest.mark.parametrize("n", [64, 1000, 2**15])
    def test_evicting_many_is_logarithmic(self, algorithm: type[MTA], n: int) -> None:
        counted = Counted(sash.Max())
        for count in {1, 2, 10, n // 3, n // 2, n - 2, n - 1, n}:
            window = algorithm(counted)
            window.insert_many(range(n))
            window.query()
            assert cost(counted, window.evict_many, count) <= 2 * log2(n) + 1
            assert cost(counted, window.query) <= 3 * log2(n) + 2
            assert len(window) == n - count

    @BOTH
    @pytest.mark.parametrize("n", [64, 2**14])
    def test_a_policy_is_searched_for_not_tried_tuple_by_tuple(self, algorithm: type[MTA], n: int) -> None:
        for count in [*range(20), n // 3, n // 2, n - 2, n - 1, n]:
            counted, asked = Counted(sash.Count()), 0
            window = algorithm(counted)
            window.insert_many(range(n))

            def oldest_few(total: int, oldest: int, count: int = count) -> bool:
                nonlocal asked
                asked += 1
                return oldest <= count

            combines = cost(counted, window.evict_while, oldest_few)
            assert len(window) == n - count
            assert asked <= 4 * log2(max(count, 1)) + 3
            assert combines <= asked + 6 * log2(n) + 2

    def test_a_bulk_costs_no_more_than_its_values(self) -> None:
        counted = Counted(sash.Max())
        window = AMTA(counted)
        window.insert_many(range(1024))
        window.query()
        for m in (1, 2, 5, 100, 1000):
            n = len(window)
            assert cost(counted, window.insert_many, range(m)) <= m + min(m, 3 * log2(n)) + log2(n)


class TestMemory:
    @BOTH
    @pytest.mark.parametrize("slides", [True, False])
    def test_what_a_bulk_eviction_leaves_is_given_back_little_by_little(
        self, algorithm: type[MTA], slides: bool
    ) -> None:
        window = algorithm(sash.Max())
        n = 2**15
        window.insert_many(range(n))
        assert window.partials <= 2 * n + 130 * 17
        window.evict_many(n - 10)
        assert window.partials > n  # not at once: that would be linear
        if slides:
            for i in range(n // 2):
                window.insert(i)
                window.evict()
        else:
            for i in range(n // 4):
                window.insert(i)
        assert window.partials <= 2 * len(window) + 130 * 17

    def test_released_pages_are_gone(self) -> None:
        levels = Levels(page=4)
        levels.extend(0, list(range(100)))
        levels.drop(50)
        levels.drop(50)
        assert levels.get(0, 50) == 50
        with pytest.raises(LookupError, match="page 0 of level 0 has been released"):
            levels.get(0, 0)


def leaving(aggregation: sash.Aggregation, values: list[Any], policy: Policy) -> int:
    """By definition: the longest run of oldest values that leaves, of those all of whose shorter ones do."""
    total, count = naive(aggregation, values), 0
    while count < len(values) and policy(total, naive(aggregation, values[: count + 1])):
        count += 1
    return count


Dimensions = Together([sash.Sum(), sash.Last(), sash.Max()])


def at_most_ten(total: Any, oldest: Any) -> bool:
    """The paper's running example: a value stays if it and all behind it add up to at most 10."""
    return bool(total[0] - oldest[0] + oldest[1] > 10)


class TestPolicies:
    @BOTH
    def test_the_running_example_of_the_paper(self, algorithm: type[MTA]) -> None:
        window = algorithm(Dimensions)
        for value in [2, 2, 3, 3]:
            window.insert((value,) * 3)
            assert window.evict_while(at_most_ten) == 0
        assert window.query() == (10, 3, 3)
        window.insert((4,) * 3)
        assert window.evict_while(at_most_ten) == 2
        assert window.query() == (10, 4, 4) and len(window) == 3

    @BOTH
    def test_a_value_that_is_too_large_for_the_window(self, algorithm: type[MTA]) -> None:
        window = algorithm(Dimensions)
        window.insert_many([(3,) * 3, (11,) * 3])
        assert window.evict_while(at_most_ten) == 2
        assert len(window) == 0 and window.query() == (None, None, None)

    @BOTH
    def test_the_last_hour(self, algorithm: type[MTA]) -> None:
        """Listing 1."""
        window = algorithm(sash.Max())
        times = [0, 1_000, 3_599_000, 3_600_000, 3_600_500, 9_000_000]
        lengths = []
        for time in times:
            window.insert(time)
            window.evict_while(lambda total, oldest: total - oldest >= 3_600_000)
            lengths.append(len(window))
        assert lengths == [1, 2, 3, 3, 4, 1]

    @BOTH
    @settings(max_examples=60, deadline=None)
    @given(data=st.data())
    def test_any_monotone_policy_lets_go_what_it_says(self, algorithm: type[MTA], data: st.DataObject) -> None:
        window, kept = algorithm(Dimensions), list[Any]()
        for _ in range(data.draw(st.integers(1, 12))):
            fresh = data.draw(st.lists(st.integers(1, 6), max_size=40))
            window.insert_many([(value,) * 3 for value in fresh])
            kept += [(value,) * 3 for value in fresh]
            most = data.draw(st.integers(0, 120))

            def within(total: Any, oldest: Any, most: int = most) -> bool:
                return bool(total[0] - oldest[0] + oldest[1] > most)

            expected = leaving(Dimensions, kept, within)
            assert window.evict_while(within) == expected
            del kept[:expected]
            assert window.query() == naive(Dimensions, kept)
            window._check()

    @BOTH
    @pytest.mark.parametrize("case", [c for c in CASES if c.exact and not c.aggregation.commutative], ids=str)
    @settings(max_examples=15, deadline=None)
    @given(data=st.data())
    def test_what_a_policy_is_told_is_exact(self, algorithm: type[MTA], case: Case, data: st.DataObject) -> None:
        """Each stretch of oldest values that it is asked about is one, in order, whatever the aggregation."""
        values = data.draw(st.lists(case.values, min_size=1, max_size=40))
        both = Together([sash.Count(), case.aggregation])
        window = algorithm(both)
        window.insert_many([(value, value) for value in values])
        gone = data.draw(st.integers(0, len(values)))
        window.evict_many(gone)
        count = data.draw(st.integers(0, len(values)))

        def policy(total: Any, oldest: Any) -> bool:
            if len(values) > gone:
                assert case.equal(total[1], naive(case.aggregation, values[gone:]))
            assert case.equal(oldest[1], naive(case.aggregation, values[gone : gone + oldest[0]]))
            return bool(oldest[0] <= count)

        assert window.evict_while(policy) == min(count, len(values) - gone)

    @BOTH
    def test_a_policy_that_is_not_monotone_is_found_out(self, algorithm: type[MTA]) -> None:
        window = algorithm(sash.Count())
        window.insert_many(range(1000))
        with pytest.raises(PolicyError, match=r"of 1000 values it lets the oldest 4 go, but not the oldest 3; nothing"):
            window.evict_while(lambda total, oldest: oldest != 3)
        assert len(window) == 1000 and window.query() == 1000

    @BOTH
    def test_a_policy_that_fails_changes_nothing(self, algorithm: type[MTA]) -> None:
        window = algorithm(sash.Collect())
        window.insert_many(range(100))

        def fails(total: Any, oldest: Any) -> bool:
            if len(oldest) > 20:
                raise ArithmeticError("policy failed")
            return True

        with pytest.raises(ArithmeticError, match="policy failed"):
            window.evict_while(fails)
        window._check()
        assert window.query() == list(range(100))

    @BOTH
    def test_a_combine_that_fails_in_the_search_changes_nothing(self, algorithm: type[MTA]) -> None:
        for fuse in range(1, 100):
            failing = Failing(sash.Collect())
            window = algorithm(failing)
            window.insert_many(range(100))
            failing.fuse = fuse
            try:
                window.evict_while(lambda total, oldest: len(oldest) <= 60)
            except ArithmeticError:
                window._check()
                assert window.query() == list(range(100))
            else:
                failing.fuse = 0
                assert window.query() == list(range(60, 100))
                return
        pytest.fail("it never succeeded")


@BOTH
@settings(max_examples=40, deadline=None)
@given(steps=st.lists(st.tuples(st.integers(0, 300), st.floats(0, 1)), max_size=12))
def test_large_bulks_of_values_that_do_not_commute(algorithm: type[MTA], steps: list[tuple[int, float]]) -> None:
    window, oracle = algorithm(sash.Concat(separator="")), Recalc(sash.Concat(separator=""))
    for count, fraction in steps:
        values = [chr(97 + i % 26) for i in range(count)]
        window.insert_many(values)
        oracle.insert_many(values)
        gone = round(fraction * len(oracle))
        window.evict_many(gone)
        oracle.evict_many(gone)
        assert window.query() == oracle.query() and len(window) == len(oracle)
        window._check()
