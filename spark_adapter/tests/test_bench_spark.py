"""The benchmark runs, at a size at which it tells nothing."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


@pytest.fixture(autouse=True)
def _modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXPERIMENTS))


def test_contenders_agree_and_tables_are_made(spark: SparkSession, tmp_path: Path) -> None:
    bench, tables = (importlib.import_module(name) for name in ("bench_spark_batch", "spark_tables"))
    frame = bench.readings(spark, 8_000, tmp_path / "readings")
    cases = [next(bench.count_cases(8_000)), list(bench.time_cases(8_000))[1]]
    rows = [row for case in cases for row in bench.bench(case, frame, rounds=1)]
    assert [(row["workload"], row["n"]) for row in rows] == [("count", 64)] * 4 + [("time", 10)] * 2
    assert all(row["cpu_s"] >= 0 and row["rows"] > 0 for row in rows)
    lines = list(tables.Results({name: str(value) for name, value in row.items()} for row in rows).tables())
    assert sum(line.startswith("| count 64: ") for line in lines) == 3


@pytest.mark.parametrize(("contenders", "size"), [("COUNT", 8), ("TIME", 1), ("TIME", 10)])
def test_contenders_agree_on_a_stream(spark: SparkSession, tmp_path: Path, contenders: str, size: int) -> None:
    bench = importlib.import_module("bench_spark_streaming")
    files = bench.Files(tmp_path / "in", keys=3)
    files.add(files.made(2, 100))
    found: dict[str, list[Any]] = {}
    for name, made in getattr(bench, contenders).items():
        df = spark.readStream.schema(bench.SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(files.folder))
        table = f"bench_{contenders}_{size}_{name.replace('.', '_')}"
        writer = made(df, size).writeStream.format("memory").queryName(table)
        writer.option("checkpointLocation", str(tmp_path / table)).trigger(availableNow=True).start().awaitTermination()
        found[name] = sorted(spark.table(table).select("plug", "window_start", "window_end", "peak").collect())
    ours, theirs = found.values()
    assert len(ours) > 150
    assert ours == theirs


def test_the_pipeline(spark: SparkSession, tmp_path: Path) -> None:
    row = importlib.import_module("bench_spark_pipeline").measure(spark, tmp_path, count=3000, copies=2)
    assert (row["workload"], row["n"], row["rows"]) == ("pipeline", 6000, 2 * 2997)
