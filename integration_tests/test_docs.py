"""Code in the README and in docs/ that is not a doctest: it runs as it is printed, on the engines that it is about.

What the pages take as given (a DataFrame, a stream, files) is made here.
"""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

import sash
from sash.cli import main
from sash_experiments.generators import debs14_lines

if TYPE_CHECKING:
    from pyflink.datastream import DataStream, StreamExecutionEnvironment
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]
ROWS = 2200
"""Of two plugs: each has some more than fill a window of 1024."""


def blocks(page: str, language: str) -> list[str]:
    """The code of a page in a language, doctests left out."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [code for code in found if ">>>" not in code]


def run(code: str, names: dict[str, Any], **instead: str) -> None:
    """Run the code of a page, with paths of this test instead of the page's."""
    for given, path in instead.items():
        code = code.replace(given, path)
    exec(compile(code, "documentation", "exec"), names)


def readings() -> dict[str, list[Any]]:
    begin = datetime(2026, 1, 1)
    return {
        "plug": [i % 2 for i in range(ROWS)],
        "house": [f"house {i % 3}" for i in range(ROWS)],
        "load": [float(i * 7919 % 1009) for i in range(ROWS)],
        "ts": [begin + timedelta(milliseconds=100 * i) for i in range(ROWS)],
        "seq": list(range(ROWS)),
    }


def rows_of(columns: dict[str, list[Any]]) -> list[tuple[Any, ...]]:
    return sorted(zip(*(columns[name] for name in sorted(columns)), strict=True))


def readme() -> tuple[str, str, str]:
    """The README's first code: here, on Spark, on Flink."""
    code = blocks("README.md", "python")[0]
    here, spark, flink = re.split(r"^(?=import sash_)", code, flags=re.MULTILINE)
    return here, spark, flink


@pytest.fixture
def here() -> dict[str, Any]:
    """The README's names after its part that runs here."""
    names: dict[str, Any] = {"frame": readings()}
    run(readme()[0], names)
    assert len(names["peaks"]["peak"]) == 2 * (ROWS // 2 - 1023)
    return names


def test_the_readme_on_spark(spark: SparkSession, here: dict[str, Any]) -> None:
    expected = rows_of(here["peaks"])
    here["df"] = spark.createDataFrame(pa.table(readings()))
    run(readme()[1], here)
    assert rows_of(here["peaks"].toArrow().to_pydict()) == expected


def test_the_readme_on_flink(flink: StreamExecutionEnvironment, here: dict[str, Any], tmp_path: Path) -> None:
    from pyflink.datastream import RuntimeExecutionMode

    flink.set_runtime_mode(RuntimeExecutionMode.BATCH)
    expected = rows_of(here["peaks"])
    here["stream"] = _stream(flink, tmp_path / "readings.json")
    run(readme()[2], here)
    with here["peaks"].execute_and_collect() as results:
        rows = [row.as_dict() for row in results]
    assert rows_of({name: [row[name] for row in rows] for name in rows[0]}) == expected


def _stream(env: StreamExecutionEnvironment, path: Path) -> DataStream:
    from pyflink.table import StreamTableEnvironment

    given = readings()
    rows = [dict(zip(given, values, strict=True)) for values in zip(*given.values(), strict=True)]
    path.write_text("".join(json.dumps(row | {"ts": row["ts"].isoformat()}) + "\n" for row in rows))
    t_env = StreamTableEnvironment.create(env)
    t_env.execute_sql(
        "CREATE TEMPORARY TABLE readings (plug BIGINT, house STRING, `load` DOUBLE, ts TIMESTAMP(6), seq BIGINT) WITH "
        f"('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json', "
        "'json.timestamp-format.standard' = 'ISO-8601')"
    )
    return t_env.to_data_stream(t_env.from_path("readings"))


def test_the_page_on_flink(flink: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]) -> None:
    (first, *_) = blocks("docs/flink.md", "python")
    run(first, {})
    (expected,) = re.findall(r"print\(row\)  # (.*)", first)
    assert expected in capsys.readouterr().out


def test_the_page_on_spark(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sash_spark

    monkeypatch.chdir(tmp_path)
    (tmp_path / "peak.toml").write_text(blocks("docs/queries.md", "toml")[0], encoding="utf-8")
    (tmp_path / "sorted.csv").write_text("".join(line + "\n" for line in debs14_lines(300)), encoding="utf-8")
    df = spark.createDataFrame(pa.table(readings()))
    df.createOrReplaceTempView("readings")
    many = pa.table(readings() | {"plug": list(range(ROWS))})  # so that every bucket has some
    spark.createDataFrame(many).write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(df.schema).parquet(str(tmp_path / "in"))
    names: dict[str, Any] = {"spark": spark, "sash_spark": sash_spark, "df": df, "stream": stream}
    checkpoint = str(tmp_path / "checkpoint")
    for code in blocks("docs/spark.md", "python"):
        paths = {
            '"path", …': f'"path", {str(tmp_path / "out")!r}',
            '"checkpointLocation", …': f'"checkpointLocation", {checkpoint!r}',
            ".start()": ".trigger(availableNow=True).start().awaitTermination()",
            "/path/to/checkpoint": checkpoint,
            "'peak.toml'": f"'{tmp_path / 'peak.toml'}'",
            '"sorted.csv"': repr(str(tmp_path / "sorted.csv")),
            '"data/debs14"': repr(str(tmp_path / "debs14")),
        }
        run(code, names, **paths)
    assert spark.read.parquet(str(tmp_path / "out")).count() > 0
    assert (tmp_path / "debs14").is_dir()


def test_the_page_on_columns() -> None:
    rng = np.random.default_rng(1)
    names: dict[str, Any] = {name: rng.random(5000) for name in ("values", "load", "batch", "room")}
    names |= {"house": rng.integers(0, 9, 5000), "codes": rng.integers(0, 3, 5000)}
    names["room"] = names["room"][: 5000 - 1023]
    for code in blocks("docs/columns.md", "python"):
        run(code, names)
    assert len(names["peaks"]) == len(names["ends"])


def test_the_page_on_query_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    whole, *_ = blocks("docs/queries.md", "toml")
    (tmp_path / "peak.toml").write_text(whole, encoding="utf-8")
    names: dict[str, Any] = {"sash": sash}
    for code in blocks("docs/queries.md", "python"):
        run(code, names)
    (tmp_path / "again.toml").write_text(str(names["text"]), encoding="utf-8")
    assert sash.load_query(tmp_path / "again.toml") == names["query"]


def test_the_page_on_the_command_line(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "peak.toml").write_text(blocks("docs/cli.md", "toml")[0], encoding="utf-8")
    (console,) = blocks("docs/cli.md", "console")
    commands = [line.removeprefix("$ sash ") for line in console.splitlines() if line.startswith("$ sash ")]
    assert len(commands) >= 5
    for command in commands:
        assert main(command.split()) == 0, command
        assert "Traceback" not in capsys.readouterr().err
    assert (tmp_path / "peaks.parquet").exists()
