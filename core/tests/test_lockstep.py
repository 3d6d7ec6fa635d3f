"""Every FIFO algorithm × every aggregation that it admits, step by step beside Recalc, the definition."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

import sash
from catalogue import CASES, DATASKETCHES, SKETCHES, Case, UncachedDABA
from sash.aggregators import FIFO, FifoAggregator, Recalc, SlickDeque, SlideSide, SubtractOnEvict
from sash.testing import naive


def admits(algorithm: type[FifoAggregator], aggregation: sash.Aggregation) -> bool:
    if algorithm is SubtractOnEvict:
        return aggregation.invertible
    if algorithm is SlickDeque:
        return aggregation.invertible or aggregation.selective
    return True


ALGORITHMS: tuple[type[FifoAggregator], ...] = (*FIFO, UncachedDABA)
MATRIX = [
    pytest.param(algorithm, case, id=f"{algorithm.__name__}-{case}")
    for algorithm in ALGORITHMS
    if algorithm is not Recalc
    for case in (CASES[::6] if algorithm is UncachedDABA else CASES + SKETCHES + DATASKETCHES)
    if admits(algorithm, case.aggregation)
]


def machine(algorithm: type[FifoAggregator], case: Case) -> type[RuleBasedStateMachine]:
    """A state machine that moves a window and its oracle alike."""

    class Lockstep(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.window = algorithm(case.aggregation)
            self.oracle = Recalc(case.aggregation)

        @rule(value=case.values)
        def insert(self, value: Any) -> None:
            self.window.insert(value)
            self.oracle.insert(value)

        @rule(values=st.lists(case.values, max_size=20))
        def insert_many(self, values: list[Any]) -> None:
            self.window.insert_many(values)
            self.oracle.insert_many(values)

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

        @rule()
        def drain(self) -> None:
            while len(self.oracle):
                self.evict()
                self.agrees()

        @invariant()
        def agrees(self) -> None:
            assert len(self.window) == len(self.oracle)
            if case in SKETCHES:
                assert case.equal(self.window.total(), self.oracle.total())
            else:
                assert case.equal(self.window.query(), self.oracle.query())

        @invariant()
        def keeps_its_invariants(self) -> None:
            if case.exact:
                self.window._check()

    return Lockstep


@pytest.mark.parametrize(("algorithm", "case"), MATRIX)
def test_lockstep_with_recalc(algorithm: type[FifoAggregator], case: Case) -> None:
    run_state_machine_as_test(
        machine(algorithm, case),
        settings=settings(
            max_examples=settings().max_examples // 8,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


MOMENTS = (
    *("SampleVariance", "PopulationVariance", "Skewness", "Kurtosis", "Covariance", "Correlation", "Slope"),
    *("WeightedMean", "ExponentialMean", "Product", "Any", "All"),
)
OWN = ("spread", "matrix_product")


def test_the_matrix_is_whole() -> None:
    refused = {(a, c.aggregation.name) for a in FIFO for c in CASES if not admits(a, c.aggregation)}
    assert refused == {
        (algorithm, name)
        for algorithm in (SubtractOnEvict, SlickDeque)
        for name in [
            *"MinCount MaxCount SampleStdDev PopulationStdDev CollectDistinct M4 Bloom".split(),
            *OWN,
            *MOMENTS,
        ]
    } | {(SubtractOnEvict, name) for name in "Min Max ArgMin ArgMax First".split()}
    for algorithm, name in refused:
        case = next(case for case in CASES if case.aggregation.name == name)
        with pytest.raises(TypeError, match=f"{algorithm.__name__} needs .* {case.aggregation.name}"):
            algorithm(case.aggregation)


@pytest.mark.parametrize("case", [c for c in CASES if c.exact], ids=str)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_slide_side_answers_every_shorter_window(case: Case, data: st.DataObject) -> None:
    values = data.draw(st.lists(case.values, max_size=25))
    window = SlideSide(case.aggregation)
    kept: list[Any] = []
    for value in values:
        window.insert(value)
        kept.append(value)
        if len(kept) > 12:
            window.evict()
            del kept[0]
        count = data.draw(st.integers(0, len(kept)))
        assert case.equal(window.query_last(count), naive(case.aggregation, kept[len(kept) - count :]))
    with pytest.raises(IndexError, match="the window has"):
        window.query_last(len(kept) + 1)


def sawtooth(window: FifoAggregator, values: list[int]) -> None:
    for value in values:
        window.insert(value)
        if len(window) == 40:
            window.evict_many(35)


def thirds(window: FifoAggregator, values: list[int]) -> None:
    """Two inserts to one evict until it is large, then one to two, over and over: never the same size for long."""
    growing = True
    for value in values:
        window.insert(value)
        growing = len(window) < 60 if growing else len(window) < 6
        for _ in range(value % 2 if growing else min(2, len(window))):
            window.evict()


def fill_and_drain(window: FifoAggregator, values: list[int]) -> None:
    window.insert_many(values)
    while len(window):
        window.evict()


@pytest.mark.parametrize("algorithm", FIFO)
@pytest.mark.parametrize("pattern", [sawtooth, thirds, fill_and_drain])
@pytest.mark.parametrize("aggregation", [sash.Collect(), sash.Last()], ids=str)
def test_growing_and_shrinking_windows(
    algorithm: type[FifoAggregator], pattern: Any, aggregation: sash.Aggregation
) -> None:
    class Checked(algorithm):  # type: ignore[misc, valid-type]
        def _moved(self) -> None:
            self._check()
            assert self.query() == oracle_of(self).query()

        def insert(self, value: Any) -> None:
            super().insert(value)
            log.append(value)
            self._moved()

        def insert_many(self, values: Any) -> None:
            super().insert_many(values)
            log.extend(values)
            self._moved()

        def evict(self) -> None:
            super().evict()
            self._moved()

        def evict_many(self, count: int) -> None:
            super().evict_many(count)
            self._moved()

    log: list[int] = []

    def oracle_of(window: FifoAggregator) -> Recalc:
        oracle = Recalc(aggregation)
        oracle.insert_many(log[len(log) - len(window) :])
        return oracle

    pattern(Checked(aggregation), list(range(300)))
    assert len(log) == 300
