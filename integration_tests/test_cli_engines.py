"""``sash run`` gives the same rows on every engine, as a batch and as a stream."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sash.cli import main
from sash.cli.files import Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = {
    "times": """
key = "key"
time = "ts"
watermark_delay = "5s"
[windows.minute]
type = "sliding"
range = "1m"
slide = "20s"
[windows.tens]
type = "tumbling"
range = "10s"
[aggregates.peak]
function = "Max"
columns = "load"
[aggregates.mean]
function = "Mean"
columns = "load"
[aggregates.first]
function = "First"
columns = "seq"
""",
    "times and counts": """
key = "key"
time = "ts"
[windows.minute]
type = "tumbling"
range = "1m"
[windows.twenty]
type = "sliding"
range = 20
slide = 7
[aggregates.sum]
function = "Sum"
columns = "seq"
""",
    "counts in the order of the files": """
key = ["house", "key"]
[window]
type = "sliding"
range = 10
slide = 3
[aggregates.all]
function = "Collect"
columns = "seq"
""",
}


@pytest.fixture(params=QUERIES)
def query(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "q.toml"
    path.write_text(QUERIES[request.param], encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "in"
    assert main(["generate", "debs14", "--rows", "900", "--keys", "4", "--output", str(made), "--files", "3"]) == 0
    return made


@pytest.fixture(params=["written at once", "written in another order"])
def stream(request: pytest.FixtureRequest, folder: Path) -> Path:
    """Files that a stream takes in the order of their names, all written in one millisecond, or in the opposite one."""
    at_once = request.param == "written at once"
    for number, file in enumerate(sorted(folder.iterdir())):
        moment = 10**9 - (0 if at_once else number)
        os.utime(file, (moment, moment))
    return folder


def rows(query: Path, data: Path, *options: str) -> list[str]:
    out = query.with_name("-".join(["out", *options]).replace("--", "") + ".parquet")
    assert main(["run", "--query", str(query), "--input", str(data), "--output", str(out), *options]) == 0
    table: Any = Source.of(out).table()
    assert len(table) > 30
    return sorted(map(repr, [list(table.schema), *table.to_pylist()]))


def test_spark_gives_the_rows_of_the_local_engine(spark: SparkSession, query: Path, folder: Path) -> None:
    assert rows(query, folder, "--engine", "spark") == rows(query, folder)


def test_a_stream_on_spark_gives_the_rows_of_the_local_engine(spark: SparkSession, query: Path, stream: Path) -> None:
    assert rows(query, stream, "--engine", "spark", "--streaming") == rows(query, stream, "--streaming")


@pytest.mark.parametrize("streaming", [[], ["--streaming"]], ids=["batch", "streaming"])
def test_flink_gives_the_rows_of_the_local_engine(flink: Any, query: Path, folder: Path, streaming: list[str]) -> None:
    found = rows(query, folder, "--engine", "flink", "--parallelism", "2", *streaming)
    assert found == rows(query, folder, *streaming)


def test_a_row_that_spark_cannot_take_is_one_sentence(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query, data = tmp_path / "q.toml", tmp_path / "in.csv"
    query.write_text(
        'window = { type = "sliding", range = 2 }\naggregates.all = { function = "Mean", columns = "x" }\n'
    )
    data.write_text("x\na\nb\n")
    assert main(["run", "--query", str(query), "--input", str(data), "--engine", "spark"]) == 1
    said = capsys.readouterr().err
    assert "'x'" in said and said.count("\n") == 1


@pytest.mark.parametrize("home", [None, "/nowhere"], ids=["a Spark", "no Java"])
def test_a_spark_of_its_own_says_nothing_and_one_that_does_not_start_one_sentence(
    tmp_path: Path, folder: Path, home: str | None
) -> None:
    (tmp_path / "q.toml").write_text(QUERIES["times"], encoding="utf-8")
    command = ["run", "--query", "q.toml", "--input", "in", "--output", "out.csv", "--engine", "spark"]
    environment = os.environ | ({} if home is None else {"JAVA_HOME": home})
    done = subprocess.run(
        [sys.executable, "-m", "sash.cli", *command],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line.partition(" ")[0] for line in done.stderr.splitlines()]
    if home is None:
        assert (done.returncode, said) == (0, ["rows", "rows", "late", "state", "time"])
    else:
        assert (done.returncode, said) == (2, ["sash:"])
        assert "needs Java 17" in done.stderr and "/nowhere/bin/java" in done.stderr
