"""The conformance matrix on Spark and Flink: every aggregation × every column type that the engine has.

As in this process (``core/tests/test_matrix.py``): values, types and refusals, with and without lateness.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from matrix_known import check

from . import matrix_flink, matrix_spark
from .matrix_engines import Engine, Run, outcomes

if TYPE_CHECKING:
    from pyflink.datastream import StreamExecutionEnvironment
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::sash.PerformanceWarning"),
    pytest.mark.timeout(1200),  # the first test of a way runs all column types
]
LATE = pytest.mark.parametrize("late", [False, True], ids=["", "late"])
REFUSALS_LATE = pytest.mark.parametrize(
    "late", [False, pytest.param(True, marks=pytest.mark.thorough)], ids=["", "late"]
)
"""Queries are refused by their types. Whether tuples may be late matters to none so far."""


SPARK = {
    matrix_spark.BATCH: matrix_spark.run_batch,
    matrix_spark.STREAMING: matrix_spark.run_stream,
}
FLINK = [matrix_flink.BY_RECORD, matrix_flink.PACKED]
_OUTCOMES: dict[str, dict[tuple[str, bool], Any]] = {}


def outcome(engine: Engine, kind: str, late: bool, run: Callable[[], Run]) -> Any:
    """The results of one column type: all of an engine's are computed when the first is asked for."""
    if engine.name not in _OUTCOMES:
        _OUTCOMES[engine.name] = outcomes(engine, run())
    found = _OUTCOMES[engine.name][kind, late]
    if isinstance(found, Exception):
        raise found
    return found


@LATE
@pytest.mark.parametrize("kind", matrix_spark.COLUMNS)
@pytest.mark.parametrize("engine", SPARK, ids=lambda engine: engine.name)
def test_spark(engine: Engine, kind: str, late: bool, spark: SparkSession, tmp_path: Path) -> None:
    found = outcome(engine, kind, late, lambda: SPARK[engine](spark, tmp_path))
    check(engine.name, kind, late, engine.wrong(kind, late, found, matrix_spark.spark_type))


@REFUSALS_LATE
@pytest.mark.parametrize("kind", matrix_spark.COLUMNS)
@pytest.mark.parametrize("engine", SPARK, ids=lambda engine: engine.name)
def test_spark_refuses(engine: Engine, kind: str, late: bool, spark: SparkSession, tmp_path: Path) -> None:
    assert matrix_spark.wrong_refusals(engine, spark, tmp_path, kind, late) == {}


@LATE
@pytest.mark.parametrize("kind", matrix_flink.COLUMNS)
@pytest.mark.parametrize("engine", FLINK, ids=lambda engine: engine.name)
def test_flink(engine: Engine, kind: str, late: bool, flink: StreamExecutionEnvironment, tmp_path: Path) -> None:
    found = outcome(engine, kind, late, lambda: matrix_flink.run_job(engine, flink, tmp_path))
    check(engine.name, kind, late, engine.wrong(kind, late, found, lambda of: of))


@REFUSALS_LATE
@pytest.mark.parametrize("kind", matrix_flink.COLUMNS)
@pytest.mark.parametrize("engine", FLINK, ids=lambda engine: engine.name)
def test_flink_refuses(
    engine: Engine, kind: str, late: bool, flink: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    assert matrix_flink.wrong_refusals(engine, flink, tmp_path, kind, late) == {}
