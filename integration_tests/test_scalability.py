"""The experiment of ``make scalability``: contenders compute the same, and its tables say what the raw results do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sash_experiments.benchmarks.scalability import on_spark
from sash_experiments.benchmarks.scalability.bench import without_start
from sash_experiments.benchmarks.scalability.runs import WARM, runs
from sash_experiments.benchmarks.scalability.tables import tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_contenders_on_spark_agree(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.read.parquet(on_spark.write_readings(tmp_path, 3_000, 5))
    found = {
        name: sorted(contender(frame, 64).select("plug", "window_end", "peak").collect())
        for name, contender in on_spark.CONTENDERS.items()
    }
    assert len(found["sash"]) == 3_000 - 5 * 63
    assert found["sash"] == found["van Herk in SQL"] == found["rowsBetween"]
    readings = [(row["plug"], row["ts"], row["load"]) for row in frame.collect()]
    found_windows = on_spark.time_windows(5)(frame, 8).select("plug", "window.start", "window.end", "peak").collect()
    for plug, start, end, peak in found_windows[::50]:  # of 40 readings, a millisecond apart
        assert (end - start).total_seconds() == 0.04
        assert peak == max(load for key, ts, load in readings if key == plug and start <= ts < end)
    assert len({row["start"] for row in found_windows}) == 3_000 // 5 + 8 - 1


def test_contenders_take_turns_and_the_plain_ones_are_run_once() -> None:
    found = [(run.contender, run.repeat) for run in runs({"sash": 9, "rowsBetween": 3}, 2)]
    assert found == [("sash", WARM), ("sash", 0), ("rowsBetween", 0), ("sash", 1)]


def test_the_start_of_a_job_does_not_count() -> None:
    spent = [(90, 9.0, 30.0, -1), (10, 1.0, 5.0, 0), (110, 3.0, 15.0, 0), (10, 3.5, 5.0, 1), (110, 3.0, 15.0, 1)]
    pairs = [
        {"contender": "sash", "rows": rows, "seconds": seconds, "cpu_seconds": cpu, "repeat": repeat}
        for rows, seconds, cpu, repeat in spent
    ]
    (run,) = without_start(iter(pairs))
    assert (run["rows"], run["seconds"], run["cpu_seconds"]) == (100, 2.0, 10.0)


def test_tables_are_of_medians_and_say_which_goals_were_reached() -> None:
    rows = [
        {**dict(zip(("contender", "parallelism", "seconds", "cpu_seconds"), each, strict=True)), "engine": "flink"}
        | {"where": "cluster", "rows": 1_000_000, "state_bytes": "4096"}
        for each in [
            ("sash", 1, 2, 4), ("sash", 1, 50, 100), ("sash", 1, 2, 4), ("sash", 2, 1, 5), ("SQL OVER", 1, 10, 12),
        ]
    ]  # fmt: skip
    text = "\n".join(tables(rows, {"cores": 2}))
    assert "2 cores limit what can be seen" in text
    assert "| 1 | sash | 500,000 | 4 | 4,096 | 1 | 1 |" in text
    assert "| flink, cluster, 1: at least 3 times SQL OVER | 5 | yes |" in text
    assert "| flink: CPU of a row from 1 to 2 workers within 15% | +25.0% | no |" in text
