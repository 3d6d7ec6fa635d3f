"""Code in the README and in docs/ that is not a doctest: it runs as it is printed, on the engines that it is about.

What the pages take as given (a DataFrame, a stream, files) is made here.
"""

from __future__ import annotations

import contextlib
import io
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
    """The rows in one order; Spark's timestamps have the zone of its session, UTC, where others have none."""
    plain = {
        name: [value.replace(tzinfo=None) if isinstance(value, datetime) else value for value in values]
        for name, values in columns.items()
    }
    return sorted(zip(*(plain[name] for name in sorted(plain)), strict=True))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The README's names after its first example, and the results of its query here over more readings."""
    names = paste("README.md", monkeypatch, tmp_path, only=1)
    names["peaks"] = sash.run(names["query"], readings())
    assert len(names["peaks"]["peak"]) == 2 * (ROWS // 50 + 1)  # a window ends every 5 s, each plug has 5 rows a second
    return names


def test_the_readme_on_spark(spark: SparkSession, here: dict[str, Any]) -> None:
    expected = rows_of(here["peaks"])
    here["df"] = spark.createDataFrame(pa.table(readings()))
    run(blocks("README.md", "python")[1], here)
    assert rows_of(here["peaks"].toArrow().to_pydict()) == expected


def test_the_readme_on_flink(flink: StreamExecutionEnvironment, here: dict[str, Any], tmp_path: Path) -> None:
    from pyflink.datastream import RuntimeExecutionMode

    flink.set_runtime_mode(RuntimeExecutionMode.BATCH)
    expected = rows_of(here["peaks"])
    here["stream"] = _stream(flink, tmp_path / "readings.json")
    run(blocks("README.md", "python")[2], here)
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
    from pyflink.table import StreamTableEnvironment

    first, changelog = blocks("docs/flink.md", "python")
    names: dict[str, Any] = {}
    run(first, names)
    (expected,) = re.findall(r"print\(row\)  # (.*)", first)
    assert expected in capsys.readouterr().out
    names["t_env"] = t_env = StreamTableEnvironment.create(flink)
    rows = "('a', 3.0, TIMESTAMP '2026-01-01 00:00:00'), ('a', 5.0, TIMESTAMP '2026-01-01 00:00:20')"
    readings = t_env.sql_query(f"SELECT plug, CAST(v AS DOUBLE) AS `load`, ts FROM (VALUES {rows}) AS r(plug, v, ts)")
    t_env.create_temporary_view("readings", readings)
    run(changelog, names)
    found = t_env.execute_sql("SELECT plug, peak FROM peaks").collect()
    assert [tuple(row) for row in found] == [("a", 5.0)]


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
            "/path/to/updates": str(tmp_path / "updates"),
            "'peak.toml'": f"'{tmp_path / 'peak.toml'}'",
            '"sorted.csv"': repr(str(tmp_path / "sorted.csv")),
            '"data/debs14"': repr(str(tmp_path / "debs14")),
            '"changes"': repr(str(tmp_path / "changes")),
        }
        run(code, names, **paths)
    assert spark.read.parquet(str(tmp_path / "out")).count() > 0
    assert (tmp_path / "debs14").is_dir() and (tmp_path / "changes").is_dir()


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


def paste(page: str, monkeypatch: pytest.MonkeyPatch, folder: Path, only: int | None = None) -> dict[str, Any]:
    """Run the code of a page, or ``only`` its first blocks, in a folder, and compare what it prints with the page."""
    monkeypatch.chdir(folder)
    text = (ROOT / page).read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    found = re.findall(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", text, re.DOTALL | re.MULTILINE)
    for code, expected in found[:only]:
        if ">>>" not in code:
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                run(code, names)
            assert not expected or output.getvalue() == expected, code
    return names


def test_getting_started_runs_as_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paste("docs/getting-started.md", monkeypatch, tmp_path)
    assert "<svg" in (tmp_path / "trades.svg").read_text(encoding="utf-8")


def test_the_pictures_are_those_that_the_page_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "images").mkdir()
    paste("docs/plots.md", monkeypatch, tmp_path)
    drawn = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "images").iterdir()}
    assert drawn == {name: (ROOT / "docs" / "images" / name).read_text(encoding="utf-8") for name in drawn}
    assert len(drawn) == 4


def test_the_tutorial_ends_in_a_live_job(
    flink: StreamExecutionEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = paste("docs/tutorial.md", monkeypatch, tmp_path)
    assert names["count"] == 6


def test_all_code_of_the_pages_is_run() -> None:
    """A page with code that is no doctest is named by a test."""
    with_code = {
        path.relative_to(ROOT).as_posix()
        for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
        if blocks(path.relative_to(ROOT).as_posix(), "python")
    }
    tests = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    assert [page for page in sorted(with_code) if f'{Path(page).name}"' not in tests] == []
