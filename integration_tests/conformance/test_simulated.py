"""The simulator is right: it gives the rows, and the late and rejected rows, that real Flink and real Spark give."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from integration_tests.simulator.flink_job import FlinkJob
from integration_tests.simulator.spark_stream import SparkStream
from integration_tests.simulator.world import World

from . import spark
from .cases import CASES, Case
from .flink import run_late
from .rows import plain, sorted_rows

if TYPE_CHECKING:
    from pyflink.datastream import StreamExecutionEnvironment

RECORDED = ("time-disorder", "time-late", "time-too-late", "early-late", "session-late", "trailing-late", "count-late")
"""Cases whose rows depend on watermarks and on what is late."""


CASES_OF_TIME = [case for case in CASES if case.name in RECORDED]


def counted(rows: Any) -> Counter[str]:
    return Counter(repr([plain(value) for value in row]) for row in rows)


@pytest.mark.engine
@pytest.mark.xdist_group("flink")
@pytest.mark.parametrize("packed", [True, False], ids=["packed", "record"])
def test_late_rows_and_results_of_flink(flink: StreamExecutionEnvironment, tmp_path: Path, packed: bool) -> None:
    real = run_late(flink, tmp_path, CASES_OF_TIME, packed=packed)
    some = 0
    for case in CASES_OF_TIME:
        job = FlinkJob(case, World(1, frozenset(), steady=True), packed)
        rows, (results, late) = job.run(), real[case.name]
        assert sorted_rows(case.query, rows) == sorted_rows(case.query, results), case.name
        assert counted(job.late_rows()) == counted(late), case.name
        some += len(late)
    assert some > 10


@pytest.mark.engine
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("case", CASES_OF_TIME, ids=lambda case: case.name)
def test_results_of_spark(case: Case, request: pytest.FixtureRequest) -> None:
    stream = SparkStream(case, World(1, frozenset(), steady=True), parts=False, buckets=2)
    assert sorted_rows(case.query, stream.run()) == sorted_rows(case.query, spark.streaming(case, request))
