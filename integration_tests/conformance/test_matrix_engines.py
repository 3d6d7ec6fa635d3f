"""The conformance matrix on Spark and Flink: every aggregation × every column type that the engine has.

As in this process (``core/tests/test_matrix.py``): values, types and refusals, with and without lateness.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from matrix_known import check

from . import matrix_flink, matrix_spark
from .matrix_engines import Engine

if TYPE_CHECKING:
    from pyflink.datastream import StreamExecutionEnvironment
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
LATE = pytest.mark.parametrize("late", [False, True], ids=["", "late"])


@LATE
@pytest.mark.parametrize("kind", matrix_spark.COLUMNS)
def test_spark_batch(kind: str, late: bool, spark: SparkSession, tmp_path: Path) -> None:
    check("Spark batch", kind, late, matrix_spark.wrong_in_batch(spark, tmp_path, kind, late))


@LATE
@pytest.mark.parametrize("kind", matrix_spark.COLUMNS)
def test_spark_streaming(kind: str, late: bool, spark: SparkSession, tmp_path: Path) -> None:
    check("Spark streaming", kind, late, matrix_spark.wrong_in_stream(spark, tmp_path, kind, late))


_JOBS: dict[str, Any] = {}


def _job(engine: Engine, env: StreamExecutionEnvironment, folder: Path) -> Any:
    """What the one job of a way gave; one that fails is not tried again for each type."""
    if engine.name not in _JOBS:
        _JOBS[engine.name] = None
        _JOBS[engine.name] = matrix_flink.outcomes(engine, env, folder)
    assert _JOBS[engine.name] is not None, "the job has failed: see the first test of it"
    return _JOBS[engine.name]


@LATE
@pytest.mark.parametrize("kind", matrix_flink.COLUMNS)
@pytest.mark.parametrize("engine", [matrix_flink.BY_RECORD, matrix_flink.PACKED], ids=lambda engine: engine.name)
def test_flink(engine: Engine, kind: str, late: bool, flink: StreamExecutionEnvironment, tmp_path: Path) -> None:
    outcomes, refusals = _job(engine, flink, tmp_path)
    wrong = engine.wrong(kind, late, outcomes[kind, late], lambda of: of)
    check(engine.name, kind, late, wrong | refusals[kind, late])
