"""The page for those who come from other tools: both sides of each line of its tables run and have the same values."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

if TYPE_CHECKING:
    from pyflink.datastream import StreamExecutionEnvironment
    from pyspark.sql import SparkSession

PAGE = Path(__file__).parents[1] / "docs" / "coming-from.md"


def sections() -> dict[str, str]:
    """The page by its titles; what comes before the first is under "columns"."""
    parts = re.split(r"^## (.*)\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {"columns": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def lines(section: str) -> list[tuple[str, str]]:
    """What is written there and here, of each line of a section's table."""
    cells = [line.strip("| ").split(" | ") for line in sections()[section].splitlines() if line.startswith("| ")]
    found = [(there.strip("`"), here.strip("`")) for *_, there, here in cells[2:]]
    assert len(found) > 5
    return found


def names_of(section: str, **given: Any) -> dict[str, Any]:
    """The names that the code of a section defines, besides those at the head of the page and those given."""
    names: dict[str, Any] = {}
    for part in ("columns", section):
        for code in re.findall(r"^```python\n(.*?)^```", sections()[part], re.DOTALL | re.MULTILINE):
            exec(compile(code, f"the section on {part}", "exec"), names)
        names |= given
    return names


def values(results: Any) -> list[Any]:
    """The last column of any kind of results, in order of size: tools do not agree on an order of rows."""
    if isinstance(results, pd.DataFrame):
        results = results.iloc[:, -1]
    if isinstance(results, pl.DataFrame):
        results = results.to_series(-1)
    if isinstance(results, pd.Series | pl.Series):
        results = results.to_list()
    plain = [
        value if not isinstance(value, float) else None if math.isnan(value) else round(value, 9) for value in results
    ]
    return sorted(plain, key=lambda value: (value is None, 0 if value is None else value))


@pytest.mark.parametrize(("there", "here"), lines("pandas"))
@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
def test_pandas(there: str, here: str) -> None:
    names = names_of("pandas")
    expected = values(eval(there, names))
    assert values(eval(here, names)) == expected
    assert any(value is not None for value in expected)


@pytest.mark.parametrize(("there", "here"), lines("polars"))
def test_polars(there: str, here: str) -> None:
    names = names_of("polars")
    assert values(eval(here, names)) == values(eval(there, names))


@pytest.mark.parametrize(("there", "here"), lines("SQL"))
def test_sql(there: str, here: str) -> None:
    names = names_of("SQL")
    with duckdb.connect() as connection:
        connection.register("trades", names["trades"])
        expected = [row[-1] for row in connection.execute(there).fetchall()]
    assert values(eval(here, names)) == values(expected)


def test_flink(flink: StreamExecutionEnvironment, tmp_path: Path) -> None:
    from pyflink.table import StreamTableEnvironment

    rows = pa.table(names_of("columns")["columns"]).to_pylist()
    path = tmp_path / "trades.csv"
    path.write_text("".join(",".join(map(str, row.values())) + "\n" for row in rows))
    tables = StreamTableEnvironment.create(flink)
    tables.execute_sql(
        "CREATE TEMPORARY TABLE trades (ts TIMESTAMP(3), symbol STRING, price DOUBLE, `size` DOUBLE, ok BOOLEAN, "
        f"WATERMARK FOR ts AS ts) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')"
    )
    names = names_of("Flink", trades=tables.from_path("trades"))
    for there, here in lines("Flink"):
        with tables.execute_sql(there).collect() as results:
            expected = [row[len(row) - 1] for row in results]
        found = eval(here, names)
        with found.execute().collect() as results:
            assert values([row[len(row) - 1] for row in results]) == values(expected), here


def test_spark(spark: SparkSession) -> None:
    table = pa.table(names_of("columns")["columns"])
    names = names_of("Spark", trades=spark.createDataFrame(table.to_pandas()))
    for there, here in lines("Spark"):
        found, expected = ([row[-1] for row in eval(code, names).collect()] for code in (here, there))
        assert values(found) == values(expected), here
