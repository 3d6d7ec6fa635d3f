"""Queries in SQL, and in one line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException

import sash
import sash_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TEXT = """
key = "plug"
window = { type = "sliding", range = 3 }
aggregates.peak = { function = "Max", columns = "load" }
aggregates.all = { function = "Collect", columns = "load" }
"""


@pytest.fixture(scope="module")
def readings(spark: SparkSession) -> DataFrame:
    rows = spark.range(40).selectExpr("id % 3 AS plug", "timestamp_seconds(id) AS ts", "id", "hash(id) % 10 AS load")
    rows.createOrReplaceTempView("readings")
    return rows


def test_a_query_as_text_and_as_file(spark: SparkSession, readings: DataFrame, tmp_path: Path) -> None:
    sash_spark.register(spark)
    file = tmp_path / "peak.toml"
    file.write_text(TEXT)
    expected = sash_spark.aggregate(readings, sash.load_query(file), order="id").orderBy("plug", "window_end").collect()
    for query in (TEXT, str(file)):
        found = spark.sql(f"SELECT * FROM sash(TABLE(readings), '{query}', 'id') ORDER BY plug, window_end")
        assert found.collect() == expected


def test_a_query_by_name(spark: SparkSession, readings: DataFrame) -> None:
    own = sash.aggregation("load", lift=lambda v: (v, v), combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])))
    query = sash.Query(key="plug", windows=sash.tumbling("10s"), aggregates={"ends": own}, time="ts")
    sash_spark.register(spark, {"ends": query}, name="mine")
    found = spark.sql("SELECT * FROM mine(TABLE(readings), 'ends') ORDER BY plug, window_end").collect()
    assert found == sash_spark.aggregate(readings, query).orderBy("plug", "window_end").collect()


def test_what_sql_users_are_told(spark: SparkSession, readings: DataFrame) -> None:
    sash_spark.register(spark)
    for query, message in ((TEXT, "no order of its own"), ("peek", "there is no query 'peek'")):
        with pytest.raises(AnalysisException, match=message):
            spark.sql(f"SELECT * FROM sash(TABLE(readings), '{query}')")


@pytest.mark.parametrize("way", ["a text", "a file"])
def test_sql_runs_no_code_that_a_query_names(
    spark: SparkSession, readings: DataFrame, tmp_path: Path, way: str
) -> None:
    sash_spark.register(spark)
    touched = tmp_path / "touched"
    query = f"""window = {{ type = "sliding", range = 3 }}
[aggregates.x]
function = "os:system"
columns = "touch {touched}"
"""
    if way == "a file":
        file = tmp_path / "evil.toml"
        file.write_text(query)
        query = str(file)
    with pytest.raises(
        AnalysisException, match=r"line 3: 'os:system' names code .*not allowed in SQL; .*register it by name"
    ):
        spark.sql(f"SELECT * FROM sash(TABLE(readings), '{query}', 'id')")
    assert not touched.exists()


def test_one_line(spark: SparkSession, readings: DataFrame) -> None:
    found = sash_spark.rolling(readings, 3, key="plug", order="id", peak=sash.Max("load"), all=sash.Collect("load"))
    sash_spark.create_view(readings, sash.query.file.parse_query(TEXT), "peaks", order="id")
    again = spark.sql("SELECT * FROM peaks ORDER BY plug, window_end").collect()
    assert found.orderBy("plug", "window_end").collect() == again
    assert len(again) == 40 - 2 * 3
