"""The experiment of ``make scalability``: contenders compute the same, and its tables say what the raw results do."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sash
from sash.testing import count_windows
from sash_experiments.benchmark import is_chosen
from sash_experiments.benchmarks.scalability import on_spark
from sash_experiments.benchmarks.scalability.aggregates import AGGREGATES, by_threads, count_query
from sash_experiments.benchmarks.scalability.bench import named, rows, without_start
from sash_experiments.benchmarks.scalability.runs import WARM, Run, runs
from sash_experiments.benchmarks.scalability.scale_model import ScaleModel
from sash_experiments.benchmarks.scalability.sizes import SCALES
from sash_experiments.benchmarks.scalability.tables import tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_contenders_on_spark_agree(spark: SparkSession, tmp_path: Path) -> None:
    path = on_spark.write_readings(tmp_path, 3_000, 5)
    frame = spark.read.parquet(path)
    contenders = on_spark.contenders_of(5)
    found = {
        name: sorted(contenders["max", name](frame, 64).select("plug", "window_end", "peak").collect())
        for name in ("batch", "van Herk in SQL", "rowsBetween")
    }
    assert len(found["batch"]) == 3_000 - 5 * 63
    assert found["batch"] == found["van Herk in SQL"] == found["rowsBetween"]
    readings = [(row["plug"], row["ts"], row["load"]) for row in frame.collect()]
    found_windows = (
        contenders["max", "F.window"](frame, 8).select("plug", "window.start", "window.end", "peak").collect()
    )
    for plug, start, end, peak in found_windows[::50]:  # of 40 readings, a millisecond apart
        assert (end - start).total_seconds() == 0.04
        assert peak == max(load for key, ts, load in readings if key == plug and start <= ts < end)
    assert len({row["start"] for row in found_windows}) == 3_000 // 5 + 8 - 1


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_the_stateful_stream_on_spark_computes_the_same(spark: SparkSession, tmp_path: Path, aggregate: str) -> None:
    path = on_spark.write_readings(tmp_path, 1_000, 3)
    expected = on_spark.batch(aggregate)(spark.read.parquet(path), 16).select("plug", "window_end", "peak").collect()
    table = f"streamed_{aggregate}"
    state = on_spark.run_stream(
        spark, path, aggregate, 16, lambda frame: frame.writeStream.format("memory").queryName(table)
    )
    found = spark.table(table).select("plug", "window_end", "peak").collect()
    assert sorted(found) == [(plug, end, pytest.approx(peak)) for plug, end, peak in sorted(expected)]
    assert state > 0


def test_what_is_called_fpba_is_pba_and_what_is_called_sba_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sash.aggregators.pba.available_cores", lambda: 2)
    monkeypatch.setattr("sash.aggregators.pba.handover_ns", lambda: 1)
    for aggregate in AGGREGATES:
        assert "lcs on another thread" in sash.explain(by_threads(aggregate, 1024), verbose=True)
        assert "lcs on another thread" not in sash.explain(count_query(aggregate, 1024, "sba"), verbose=True)


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_both_ways_into_flink_compute_the_same(aggregate: str) -> None:
    loads = [float(number * 7919 % 1009) for number in range(40)]
    data = [{"plug": 0, "load": load} for load in loads]
    expected = [max(window) if aggregate == "max" else sum(window) / 8 for window in count_windows(loads, 8)]
    for query in (by_threads(aggregate, 8), count_query(aggregate, 8, "pba"), count_query(aggregate, 8, "sba")):
        assert [row["peak"] for row in sash.run(query, data)] == pytest.approx(expected)


def test_contenders_take_turns_and_the_plain_ones_are_run_once() -> None:
    found = [(run.contender, run.repeat) for run in runs({("max", "batch"): 9, ("max", "rowsBetween"): 3}, 2)]
    assert found == [("batch", WARM), ("batch", 0), ("rowsBetween", 0), ("batch", 1)]


def test_warm_ups_and_the_start_of_a_job_do_not_count() -> None:
    def spent(rows: int, seconds: float, cpu: float, repeat: int, start: bool = False) -> dict[str, Any]:
        return {**vars(Run("max", "SBA", rows, repeat, start)), "seconds": seconds, "cpu_seconds": cpu}

    told = [
        spent(90, 9.0, 30.0, WARM),
        *(spent(10, 1.0, 5.0, 0, True), spent(110, 3.0, 15.0, 0)),
        *(spent(10, 3.5, 5.0, 1, True), spent(110, 3.0, 15.0, 1)),  # noise: nothing can be told
        spent(70, 2.0, 4.0, 2),
    ]
    found = [(run["rows"], run["seconds"], run["cpu_seconds"]) for run in without_start(iter(told))]
    assert found == [(100, 2.0, 10.0), (70, 2.0, 4.0)]


def test_parts_can_be_chosen() -> None:
    size = SCALES["small"]
    names = [
        named(engine, "local", 84, parallelism, name)
        for engine in ("flink", "spark")
        for parallelism in size.parallelisms
        for name in size.contenders(engine, 84, parallelism)
    ]
    assert len(set(names)) == len(names)
    assert [name for name in names if is_chosen(name, "flink-local-84-4;spark-local-84-1-moments:batch")] == [
        "flink-local-84-4-max:FPBA packed",
        "flink-local-84-4-max:SBA packed",
        "flink-local-84-4-max:SQL OVER",
        "spark-local-84-1-moments:batch",
    ]
    nothing = argparse.Namespace(smoke=True, where=["local"], engines=["spark"], only="flink-local")
    with pytest.raises(SystemExit, match="'flink-local' chooses nothing"):
        list(rows(nothing))


def follow(model: ScaleModel, workers: int, cores: int) -> tuple[float, float]:
    return model.rate_of(workers, cores), model.cpu_of(workers)


@pytest.mark.parametrize(
    "model",
    [
        ScaleModel(1e5, 8e-6, 0.0, 0.0),
        ScaleModel(1e5, 8e-6, 2e-6, 0.0),
        ScaleModel(1e5, 1e-5, 0.0, 0.2),
        ScaleModel(6e5, 3e-6, 1e-6, 0.05, 0.1),
    ],
)
@pytest.mark.parametrize("cores", [2, 64])
def test_the_scale_model_finds_what_made_its_points(model: ScaleModel, cores: int) -> None:
    found = ScaleModel.fit(follow(model, 1, cores), follow(model, 2, cores), cores, model.hottest)
    for workers in (1, 2, 4, 8, 16, 32, 64):
        assert found.rate_of(workers) == pytest.approx(model.rate_of(workers))
    points = {workers: model.rate_of(workers, cores) for workers in (1, 2, 4)}
    assert list(found.errors(points, cores).values()) == pytest.approx([0, 0, 0])


def test_the_scale_model_knows_limits() -> None:
    shared_nothing = ScaleModel(100.0, 0.01, 0.0, 0.0)
    assert shared_nothing.rate_of(64) == 6400 and shared_nothing.rate_of(64, cores=2) == 200
    assert ScaleModel(100.0, 0.01, 0.0, 0.0, hottest=0.1).rate_of(64) == pytest.approx(1000)
    assert ScaleModel(100.0, 0.01, 0.0, 1.0).rate_of(64) == pytest.approx(100)  # one at a time
    assert ScaleModel.fit((100, 0.01), (250, 0.009), 8).contention == 0  # noise does not make a gain
    assert shared_nothing.crossing(4, 24) == 100 * 0.75 * 24


def test_tables_are_of_medians_and_say_what_is_predicted_and_which_goals_were_reached() -> None:
    measured = [
        ("FPBA packed", 1, 2, 4), ("FPBA packed", 1, 50, 100), ("FPBA packed", 1, 2, 4), ("FPBA packed", 2, 1, 5),
        ("FPBA packed", 4, 1.25, 6), ("SQL OVER", 1, 10, 12),
    ]  # fmt: skip
    labels = {"engine": "flink", "where": "cluster", "keys": 336, "aggregate": "max", "rows": 1_000_000}
    columns = ("contender", "parallelism", "seconds", "cpu_seconds")
    results = [{**dict(zip(columns, each, strict=True)), **labels, "state_bytes": "4096"} for each in measured]
    text = "\n".join(tables(results, {"cores": 2}))
    assert "2 cores limit what can be seen" in text
    assert "## Flink, cluster, 336 keys, max: measured" in text
    assert "| 1 | FPBA packed | 500,000 | 4 | 4,096 | 3 |" in text
    predicted = text[text.index("## Predicted, not measured") :]
    assert "| flink, cluster, 336 keys, max, FPBA packed | 2 | 0.0% | 1,454,545 |" in predicted
    assert "SQL OVER |" not in predicted[: predicted.index("## Goals")]  # it was not run on two
    assert "| flink, cluster, 336 keys, max, FPBA packed | +0.0% | -60.0% | -54.5% |" in predicted
    assert "| flink, cluster, 336 keys, 1: FPBA packed at least 3 times SQL OVER | 5 | yes |" in text
    assert "| flink, max, FPBA packed: CPU of a row from 1 to 2 workers within 15% | +25.0% | no |" in text
