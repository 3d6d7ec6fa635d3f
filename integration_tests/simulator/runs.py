"""Runs of cases on simulated engines by seed, compared with the definition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

from integration_tests.conformance.cases import CASES, Case
from integration_tests.conformance.rows import sorted_rows

from .flink_job import FlinkJob
from .spark_stream import SparkStream
from .world import World

__all__ = ["ENGINES", "case_of", "compare", "crash_everywhere", "expected", "length_of"]

ENGINES: dict[str, Callable[[Case, World], Any]] = {
    "flink-record": partial(FlinkJob, packed=False),
    "flink-packed": partial(FlinkJob, packed=True),
    "spark-whole": partial(SparkStream, parts=False),
    "spark-parts": partial(SparkStream, parts=True),
}


SHORT = (4, 8, 16)
"""How many of the first rows most seeds run on: what goes wrong at a crash does so with few rows, too."""


@cache
def shortened(number: int, rows: int | None) -> Case:
    """The case of this number with its first rows only; None: with all."""
    case = CASES[number]
    return case if rows is None or rows >= len(case.rows) else replace(case, rows=case.rows[:rows])


@cache
def expected(number: int, close: bool, rows: int | None = None) -> list[str]:
    """The rows of the case of this number, as the definition has them."""
    case = shortened(number, rows)
    return sorted_rows(case.query, case.streamed(close))


def case_of(seed: int) -> int:
    """The number of the case that a seed runs."""
    return seed % len(CASES)


def length_of(seed: int) -> int | None:
    """How many rows of its case a seed runs; None: all, as every fourth does."""
    turn = seed // len(CASES) % 4
    return SHORT[turn - 1] if turn else None


def compare(
    engine: str,
    seed: int,
    number: int | None = None,
    crash_at: frozenset[int] | None = None,
    rows: int | None = None,
) -> Any:
    """Run a seed on an engine; raises AssertionError, with the schedule, if rows are lost, doubled or wrong.

    ``number`` is the case, by default that of the seed, with the seed's number of rows; else ``rows`` says how many.
    """
    if number is None:
        number, rows = case_of(seed), length_of(seed)
    case, world = shortened(number, rows), World(seed, crash_at)
    job = ENGINES[engine](case, world)
    got = Counter(sorted_rows(case.query, job.run()))
    right = Counter(expected(number, engine.startswith("flink"), rows))
    if got != right:
        lost, more = right - got, got - right
        said = [f"{engine}, case {case.name}, seed {seed}: {lost.total()} rows lost, {more.total()} too many"]
        said += [f"- {row}" for row in list(lost)[:5]] + [f"+ {row}" for row in list(more)[:5]]
        raise AssertionError("\n".join([*said, *world.schedule]))
    return job


def crash_everywhere(engine: str, number: int, rows: int, seed: int = 3) -> int:
    """Run the first rows of a case once for each call of the state API, which crashes; how many there are.

    Each run takes the same schedule up to its crash. One more run for each call crashes there and at the next call
    after it: while the state is read again.
    """
    calls: int = compare(engine, seed, number, frozenset(), rows).world.calls
    for call in range(1, calls + 1):
        for crashes in (frozenset([call]), frozenset([call, call + 1])):
            world = compare(engine, seed, number, crashes, rows).world
            assert world.crashes >= 1, f"{engine}, case {CASES[number].name}: no crash at call {call} of {calls}"
    return calls
