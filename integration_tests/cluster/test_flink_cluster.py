"""The core cases on a Flink cluster that has no Sash of its own: it travels with the job."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from ..conformance.cases import CASES
from ..conformance.rows import sorted_rows
from .engine import SHARED
from .flink import FlinkCluster

CORE = ["count", "time", "session", "time-late", "several", "own-aggregate"]


@pytest.fixture(scope="session")
def found(flink_cluster: FlinkCluster) -> dict[tuple[str, str], list[dict[str, Any]]]:
    flink_cluster.run("flink_cases.py", f"{SHARED}/flink-cases", *CORE)
    written = (flink_cluster.host.shared / "flink-cases" / "rows.pickle").read_bytes()
    rows: dict[tuple[str, str], list[dict[str, Any]]] = pickle.loads(written)
    return rows


@pytest.mark.parametrize("way", ["packed", "record"])
@pytest.mark.parametrize("name", CORE)
def test_the_rows_are_those_of_the_definition(
    found: dict[tuple[str, str], list[dict[str, Any]]], name: str, way: str
) -> None:
    (case,) = [case for case in CASES if case.name == name]
    assert sorted_rows(case.query, found[name, way]) == sorted_rows(case.query, case.streamed(close=True))
