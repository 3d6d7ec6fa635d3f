"""Batches in worker processes, both ways: some of the cases that the batch runtime runs in threads of the JVM."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .cases import CASES
from .flink import run_cases
from .rows import sorted_rows

if TYPE_CHECKING:
    from pyflink.datastream import StreamExecutionEnvironment

SOME = [case for case in CASES if case.name in ("time-disorder", "session", "count-arrival", "several")]


@pytest.mark.parametrize("packed", [True, False], ids=["packed", "by record"])
def test_the_rows_are_those_of_the_definition(flink: StreamExecutionEnvironment, tmp_path: Path, packed: bool) -> None:
    found = run_cases(flink, tmp_path, True, SOME, packed=packed)
    assert len(found) == 4
    for case in SOME:
        assert sorted_rows(case.query, found[case.name]) == sorted_rows(case.query, case.settled()), case.name
