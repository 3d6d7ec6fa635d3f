"""The core cases on a Spark cluster that has no Sash of its own: it travels with the job."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from ..conformance.cases import CASES
from ..conformance.rows import sorted_rows
from .engine import SHARED
from .spark import SparkCluster

CORE = ["count", "time", "session", "time-late", "several", "own-aggregate"]


@pytest.fixture(scope="session")
def found(spark_cluster: SparkCluster) -> dict[tuple[str, str], list[dict[str, Any]]]:
    spark_cluster.run("spark_cases.py", f"{SHARED}/spark-cases", *CORE)
    written = (spark_cluster.host.shared / "spark-cases" / "rows.pickle").read_bytes()
    rows: dict[tuple[str, str], list[dict[str, Any]]] = pickle.loads(written)
    return rows


@pytest.mark.parametrize("way", ["batch", "streaming"])
@pytest.mark.parametrize("name", CORE)
def test_the_rows_are_those_of_the_definition(
    found: dict[tuple[str, str], list[dict[str, Any]]], name: str, way: str
) -> None:
    (case,) = [case for case in CASES if case.name == name]
    expected = case.settled() if way == "batch" else case.streamed()
    assert sorted_rows(case.query, found[name, way]) == sorted_rows(case.query, expected)
