"""Adapters on simulated engines: whatever crashes, rescales or waits, rows are those of the definition.

And the simulator itself: it finds faults that are planted, and a seed always runs the same schedule.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

import sash_spark.state
import sash_spark.streaming_buckets
from sash.aggregators.pba import asked_threads
from sash_flink.journal import Journal, Tail, Weight

from .conformance.cases import CASES
from .conformance.rows import sorted_rows
from .simulator.runs import ENGINES, case_of, compare, crash_everywhere, expected
from .simulator.scenarios import MOVES, RUNS, SCENARIOS, local_and_spark
from .simulator.world import World

THOROUGH = os.environ.get("SASH_TESTS") == "thorough"
STATES = Path(__file__).parent / "conformance" / "states"
NUMBERS = {case.name: number for number, case in enumerate(CASES)}


@pytest.fixture(autouse=True)
def _no_pool_left_held() -> Iterator[None]:
    """A crashed task that leaves PBA's pool of threads held would change the plans of all tests after it."""
    before = asked_threads()
    yield
    assert asked_threads() == before, "the pool of threads was not released"


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_are_those_of_the_definition(engine: str) -> None:
    seeds = range((20 if THOROUGH else 4) * len(CASES))  # each case in each length
    counts = [compare(engine, seed).counts for seed in seeds]
    assert {case_of(seed) for seed in seeds} == set(range(len(CASES)))
    assert sum(sum(count.get(name, 0) for name in ("crashes", "retries")) for count in counts) > len(seeds) // 4


@pytest.mark.parametrize("engine", RUNS)
def test_every_case_goes_on_after_changes(engine: str) -> None:
    """Under each scenario in a thorough run, else under one of them, not the same for neighbours."""
    for number, case in enumerate(CASES):
        names = list(SCENARIOS) if THOROUGH else [list(SCENARIOS)[number % len(SCENARIOS)]]
        for name in names:
            rows = sorted_rows(case.query, RUNS[engine](case, SCENARIOS[name]))
            assert rows == expected(number, engine.startswith("flink")), f"{case.name}, {name}"


def test_every_case_moves_between_here_and_spark() -> None:
    for number, case in enumerate(CASES):
        for places in MOVES if THOROUGH else [MOVES[number % len(MOVES)]]:
            rows = sorted_rows(case.query, local_and_spark(case, places))
            assert rows == expected(number, close=False), f"{case.name}, {places}"


def kept_states() -> list[tuple[str, str]]:
    """(release, case) of each state that a release has written after half of a case's rows."""
    return [(path.stem, name) for path in STATES.glob("*.zip") for name in ZipFile(path).namelist()]


@pytest.mark.parametrize(("release", "name"), kept_states())
def test_a_case_goes_on_from_the_state_of_an_earlier_release(release: str, name: str) -> None:
    """Here, on Spark and moved from one to the other; ``states/write.py`` has written them."""
    case = CASES[NUMBERS[name]]
    with ZipFile(STATES / f"{release}.zip") as archive:
        snapshot = archive.read(name)
    half = len(case.rows) // 2
    before = replace(case, rows=case.rows[:half]).unfinished()
    for places in ("l", "s", "lls", "ssl"):
        later = Counter(sorted_rows(case.query, local_and_spark(case, places, snapshot, half)))
        right = Counter(expected(NUMBERS[name], close=False))
        right.subtract(sorted_rows(case.query, before))
        assert later == +right, places


@pytest.mark.parametrize("engine", ENGINES)
def test_a_crash_at_every_call_of_the_state_and_at_the_next(engine: str) -> None:
    numbers = range(len(CASES)) if THOROUGH else [NUMBERS[name] for name in ("time-late", "session-late", "count")]
    calls = [crash_everywhere(engine, number, rows=8 if THOROUGH else 5) for number in numbers]
    assert min(calls) > 2 and sum(calls) > 5 * len(calls)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_seed_always_runs_the_same_schedule(engine: str) -> None:
    one, other = (compare(engine, 5) for _ in range(2))
    assert one.world.schedule == other.world.schedule
    assert one.world.calls == other.world.calls > 0


def test_a_job_that_ends_twice_for_a_key() -> None:
    """A snapshot at the end of the input, an operator that is not kept alive, and another timer at the end."""
    for number in (NUMBERS["time"], NUMBERS["several-on-times-and-counts"], NUMBERS["results-of-several-parts"]):
        compare("flink-packed", 1, number)


def never_written(self: Journal, tail: Tail | None, entry: Any) -> Tail | None:
    """Loses what comes while a bundle is open."""
    return tail


def written_again(self: Tail, entry: Any) -> bool:
    """Changes an element after it was written."""
    self.element[1].append(entry)
    return True


def snapshot_too_early(self: Weight, size: int) -> bool:
    """Never writes a snapshot: harmless."""
    return False


def any_bytes(name: Any, blob: bytes) -> Any:
    """Takes what a worker has kept for the state, whatever the state is."""
    _, op = sash_spark.state._KEPT.pop(name, (None, None))
    return op


FAULTS: dict[str, tuple[str, Any, str, Callable[..., Any]]] = {
    "an entry is lost": ("flink-record", Journal, "append", never_written),
    "an entry comes after its element was written": ("flink-record", Tail, "append", written_again),
    "a worker's state of a failed batch": ("spark-whole", sash_spark.streaming_buckets, "recall", any_bytes),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    engine, place, name, instead = FAULTS[fault]
    monkeypatch.setattr(place, name, instead)
    for seed in range(60):
        try:
            compare(engine, seed)
        except (AssertionError, RuntimeError) as error:
            said = "\n".join([str(error), *getattr(error, "__notes__", ())])
            assert f"seed {seed}" in said and "start" in said  # the schedule
            return
    pytest.fail("no seed of 60 has found it")


def test_a_snapshot_is_no_matter_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Weight, "add", snapshot_too_early)
    for seed in range(4):
        compare("flink-record", seed)


def test_crashes_are_counted_by_calls() -> None:
    world = World(1, frozenset([2]))
    world.call("one")
    with pytest.raises(BaseException, match=r"^$"):
        world.call("two")
    world.call("three")
    assert world.schedule == ["seed 1", "crash at call 2: two"]
    assert expected(0, close=True)
