"""The benchmark runs, at a size at which it tells nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sash_experiments.benchmark import check, in_turn
from sash_experiments.benchmarks.spark import batch, pipeline, skew, streaming
from sash_experiments.benchmarks.spark.tables import tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_contenders_agree_and_tables_are_made(spark: SparkSession, tmp_path: Path) -> None:
    frame = batch.readings(spark, 8_000, tmp_path / "readings")
    cases = [next(batch.count_cases(frame, 8_000)), list(batch.time_cases(frame, 8_000))[1]]
    rows = list(in_turn(cases))
    assert [(row["workload"], row["n"]) for row in rows] == [("count", 64)] * 4 + [("time", 10)] * 2
    assert all(row["cpu_s"] >= 0 and row["rows"] > 0 for row in rows)
    lines = list(tables([{name: str(value) for name, value in row.items()} for row in rows], {}))
    assert sum(line.startswith("| count 64: ") for line in lines) == 3


@pytest.mark.parametrize(
    ("workload", "number"),
    [("streaming", 0), pytest.param("streaming-time", 0, marks=pytest.mark.thorough), ("streaming-time", 1)],
)
def test_contenders_agree_on_a_stream(spark: SparkSession, tmp_path: Path, workload: str, number: int) -> None:
    cases = {"streaming": streaming.count_cases, "streaming-time": streaming.time_cases}[workload]
    case = list(cases(spark, tmp_path))[number]
    first = case.contenders[0]
    assert first.answer is not None
    answer = first.answer()
    assert len(answer) > 150
    check(replace(case, contenders=[replace(first, answer=lambda: answer), *case.contenders[1:]]))


def test_skew(spark: SparkSession, tmp_path: Path) -> None:
    rows = list(in_turn(skew.cases(spark, tmp_path, 30_000)))
    assert [(row["n"], row["contender"]) for row in rows] == [
        (percent, name) for percent in (12, 90) for name in ("sash", "sash, salted")
    ]
    assert any("an even spread" in line for line in tables([{k: str(v) for k, v in row.items()} for row in rows], {}))


def test_the_pipeline(spark: SparkSession, tmp_path: Path) -> None:
    (row,) = pipeline.measure(spark, tmp_path, count=3000, copies=2)
    assert row["rows"] == 2 * 2997
