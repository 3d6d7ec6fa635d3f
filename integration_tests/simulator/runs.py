"""Runs of cases on simulated engines by seed, compared with the definition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from integration_tests.conformance.cases import CASES, Case
from integration_tests.conformance.rows import sorted_rows

from .flink_job import FlinkJob
from .spark_stream import SparkStream
from .world import World

__all__ = ["ENGINES", "case_of", "compare", "expected"]

ENGINES: dict[str, Callable[[Case, World], Any]] = {
    "flink-record": partial(FlinkJob, packed=False),
    "flink-packed": partial(FlinkJob, packed=True),
    "spark-whole": partial(SparkStream, parts=False),
    "spark-parts": partial(SparkStream, parts=True),
}


@cache
def expected(number: int, close: bool) -> list[str]:
    """The rows of the case of this number, as the definition has them."""
    return sorted_rows(CASES[number].query, CASES[number].streamed(close))


def case_of(seed: int) -> int:
    """The number of the case that a seed runs."""
    return seed % len(CASES)


def compare(engine: str, seed: int, number: int | None = None, crash_at: frozenset[int] | None = None) -> Any:
    """Run a seed on an engine; raises AssertionError, with the schedule, if rows are lost, doubled or wrong."""
    number = case_of(seed) if number is None else number
    case, world = CASES[number], World(seed, crash_at)
    job = ENGINES[engine](case, world)
    rows = Counter(sorted_rows(case.query, job.run()))
    right = Counter(expected(number, close=engine.startswith("flink")))
    if rows != right:
        lost, more = right - rows, rows - right
        said = [f"{engine}, case {case.name}, seed {seed}: {lost.total()} rows lost, {more.total()} too many"]
        said += [f"- {row}" for row in list(lost)[:5]] + [f"+ {row}" for row in list(more)[:5]]
        raise AssertionError("\n".join([*said, *world.schedule]))
    return job
