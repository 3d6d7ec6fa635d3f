"""The benchmark runs, at a size at which it tells nothing."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


def test_contenders_agree_and_tables_are_made(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    bench = importlib.import_module("bench_spark")
    tables = importlib.import_module("spark_tables")
    frame = bench.readings(spark, 8_000, tmp_path / "readings")
    cases = [next(bench.count_cases(8_000)), list(bench.time_cases(8_000))[1]]
    rows = [row for case in cases for row in bench.bench(case, frame, rounds=1)]
    assert [(row["workload"], row["n"]) for row in rows] == [("count", 64)] * 4 + [("time", 10)] * 2
    assert all(row["cpu_s"] >= 0 and row["rows"] > 0 for row in rows)
    lines = list(tables.Results({name: str(value) for name, value in row.items()} for row in rows).tables())
    assert sum(line.startswith("| count 64: ") for line in lines) == 3


def test_contenders_agree_on_a_stream(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    bench = importlib.import_module("bench_spark_streaming")
    files = bench.Files(tmp_path / "in", keys=3)
    files.add(files.made(2, 100))
    found = {}
    for name, made in bench.CONTENDERS.items():
        df = spark.readStream.schema(bench.SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(files.folder))
        writer = made(df, 8).writeStream.format("memory").queryName(f"bench_{name}")
        writer.option("checkpointLocation", str(tmp_path / name)).trigger(availableNow=True).start().awaitTermination()
        found[name] = sorted(
            spark.table(f"bench_{name}").select("plug", "window_start", "window_end", "peak").collect()
        )
    assert len(found["sash"]) == 200 - 3 * 7
    assert found["sash"] == found["plain"]
