"""The pipeline: original formats, quarantine, copies, sorted Parquet with a manifest."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sash_spark import debs, pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# As the organisers' files have them: DEBS 2012 has 66 columns with tabs between, DEBS 2014 seven.
DEBS12 = [
    "\t".join(["2012-02-22T16:46:28.9670320+00:00", "2556001", "0", "13056", "14406", *["0"] * 61]),
    "\t".join(["2012-02-22T16:46:28.9770284+00:00", "2556002", "17", "13054", "14402", *["1"] * 61]),
]
DEBS14 = [
    "2967740693,1379879533,82.042,0,1,0,12",
    "2967740694,1379879533,2.216,1,1,0,12",
    "2967740695,1379879534,0,1,0,2,39",
]


def test_debs12(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "allData.txt"
    broken = ["yesterday\t3\t1\t2\t3", "2012-02-22T16:46:29.0000000+00:00\t4\t1"]
    path.write_text("\n".join([*DEBS12, *broken, ""]))
    clean = debs.debs12(spark, str(path))
    first, second = clean.rows.orderBy("seq").collect()
    assert first.ts == dt.datetime(2012, 2, 22, 16, 46, 28, 967032)
    assert (second.seq, second.mf01, second.mf02, second.mf03, second.key) == (2556002, 17.0, 13054.0, 14402.0, 0)
    reasons = {row.line.split("\t")[0]: row.reasons for row in clean.quarantine.collect()}
    assert reasons["yesterday"] == ["no timestamp"]
    assert reasons["2012-02-22T16:46:29.0000000+00:00"][0] == "fewer than 5 columns"


def test_debs14(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "sorted.csv"
    broken = ["1,2,3", "2967740696,1379879534,-4,1,0,2,39", "2967740697,soon,4,1,0,2,39"]
    path.write_text("\n".join([*DEBS14, *broken]))
    clean = debs.debs14(spark, str(path))
    first, second = clean.rows.orderBy("seq").collect()
    assert (first.key, first.house, first.load) == (12_000_001, 12, 2.216)
    assert (second.key, second.ts) == (39_002_000, dt.datetime(2013, 9, 22, 19, 52, 14))
    assert sorted(row.reasons[0] for row in clean.quarantine.collect()) == [
        "load is negative",
        "not 7 columns",
        "timestamp is no whole number",
    ]


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_any_file(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    lines = {
        "csv": ["key,load", "1,2.5", "one,2.5", "3,4"],
        "json": ['{"key": 1, "load": 2.5}', '{"key": "one", "load": 2.5}', '{"key": 3, "load": 4}'],
    }[kind]
    path = tmp_path / f"some.{kind}"
    path.write_text("\n".join(lines))
    clean = pipeline.read(spark, str(path), schema="key long, load double")
    assert [(row.key, row.load) for row in clean.rows.orderBy("key").collect()] == [(1, 2.5), (3, 4.0)]
    (held,) = clean.quarantine.collect()
    assert "one" in held.line and held.reasons == ["not key long, load double"]
    with pytest.raises(ValueError, match="give schema="):
        pipeline.read(spark, str(path))
    with pytest.raises(ValueError, match="give format="):
        pipeline.read(spark, "data.xyz")


def test_written(spark: SparkSession, tmp_path: Path) -> None:
    rows = pipeline.generated(spark, 1000, plugs=5, seed=3)
    clean = pipeline.cleaned(rows, {"no load": rows["load"] > 400})
    held = clean.quarantine.count()
    several = pipeline.replicated(clean.rows, 3, stride=100)
    path = f"file://{tmp_path}/out"
    manifest = pipeline.written(several, path, partitions=2, quarantine=clean.quarantine, seed=3)
    assert manifest["rows"] == 3 * (1000 - held) and manifest["keys"] == 15
    assert manifest["quarantined"].get("rows", 0) == held
    assert manifest["time"] == ["1970-01-01 00:00:00", "1970-01-01 00:03:19"] and manifest["time_zone"] == "UTC"
    (text,) = (tmp_path / "out" / "manifest").glob("*.txt")
    assert json.loads(text.read_text()) == manifest
    for file in (tmp_path / "out" / "rows").glob("*.parquet"):
        order = [(row.key, row.ts) for row in spark.read.parquet(str(file)).collect()]
        assert order == sorted(order)
    keys = {row.key for row in spark.read.parquet(f"{path}/rows").select("key").distinct().collect()}
    assert keys == {copy * 100 + plug for copy in range(3) for plug in range(5)}


def test_nothing_runs_before_it_is_written(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "sorted.csv"
    path.write_text("\n".join(DEBS14))
    context = spark.sparkContext
    context.setLocalProperty("spark.jobGroup.id", "lazy")
    try:
        clean = debs.debs14(spark, str(path))
        rows = pipeline.replicated(clean.rows, 10)
        assert list(context.statusTracker().getJobIdsForGroup("lazy")) == []
        pipeline.written(rows, str(tmp_path / "out"), quarantine=clean.quarantine)
        assert len(context.statusTracker().getJobIdsForGroup("lazy")) > 0
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # takes it away


def test_what_cannot_be_shifted(spark: SparkSession) -> None:
    with pytest.raises(TypeError, match="'key' is string"):
        pipeline.replicated(spark.createDataFrame([("a",)], "key string"), 2)
