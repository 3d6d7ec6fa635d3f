"""The command line on the local engine: files in, files out, what it says and how it ends."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import date, datetime
from pathlib import Path, PurePosixPath
from typing import Any

import fsspec  # type: ignore[import-untyped]
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.csv  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

import sash
import sash.runtime.operator
from sash.cli import main
from sash.cli.engines import Tally
from sash.cli.files import Source
from sash.cli.running import line, summary
from sash.cli.writers import writing

QUERY = """
key = "key"
time = "ts"
watermark_delay = "2s"
[windows.minute]
type = "sliding"
range = "1m"
slide = "20s"
[windows.visit]
type = "session"
gap = "1s"
[aggregates.peak]
function = "Max"
columns = "load"
[aggregates.first]
function = "First"
columns = "seq"
"""
ROWS = 600


@pytest.fixture
def query(tmp_path: Path) -> Path:
    path = tmp_path / "q.toml"
    path.write_text(QUERY, encoding="utf-8")
    return path


Ran = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ran(capsys: pytest.CaptureFixture[str]) -> Ran:
    def run(*arguments: Any) -> tuple[int, str, str]:
        try:
            code = main([str(each) for each in arguments])
        except SystemExit as ended:
            code = int(ended.code or 0)
        return (code, *capsys.readouterr())

    return run


def readings(rows: int = ROWS, plugs: int = 14) -> Any:
    """Readings of smart plugs, 14 a second. Some plugs skip seconds, so that their visits end."""
    random, numbers = np.random.default_rng(7), np.arange(rows)
    ts = np.datetime64("2013-09-01", "us") + numbers // 14 * np.timedelta64(1, "s")
    return pa.table({"key": random.integers(0, plugs, rows), "ts": ts, "load": random.random(rows), "seq": numbers})


def write(table: Any, path: Path) -> Path:
    with writing(path) as out:
        out.write(table)
    return path


def write_parts(table: Any, folder: Path, kind: str = "parquet") -> Path:
    """The rows in three files of a folder, one after the other."""
    folder.mkdir()
    size = len(table) // 3
    for number in range(3):
        write(table.slice(number * size, size), folder / f"part-{number}.{kind}")
    return folder


def table_of(path: Path) -> Any:
    return Source.of(path).table()


def rows_of(table: Any) -> list[str]:
    return sorted(json.dumps(row, default=str) for row in table.to_pylist())


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_a_run_over_any_format_gives_what_sash_run_gives(tmp_path: Path, query: Path, ran: Ran, kind: str) -> None:
    data, out = tmp_path / f"in.{kind}", tmp_path / f"out.{kind}"
    write(readings(), data)
    code, _, said = ran("run", "--query", query, "--input", data, "--output", out)
    assert code == 0, said
    expected = sash.run(sash.load_query(query), readings())
    found = table_of(out)
    assert rows_of(found.cast(expected.schema)) == rows_of(expected)
    assert len(expected) > 100
    assert f"rows in       {ROWS}\nrows out      {len(expected)}\nlate rows     0" in said


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_a_folder_is_a_stream_in_the_order_of_writing(tmp_path: Path, query: Path, ran: Ran, kind: str) -> None:
    folder = write_parts(readings(), tmp_path / "in", kind)
    names = sorted(folder.glob("part-*"))
    for number, name in enumerate(names):  # names in one order, times in the other
        os.rename(name, name.with_name(f"{len(names) - number}.{kind}"))
        os.utime(name.with_name(f"{len(names) - number}.{kind}"), (10**9 + number, 10**9 + number))
    out, told = tmp_path / "out.jsonl", tmp_path / "told.json"
    code, _, said = ran(
        *("run", "--query", query, "--input", folder, "--streaming", "--output", out, "--summary", told)
    )
    assert code == 0, said
    operator = sash.runtime.operator.KeyedOperator(sash.load_query(query), own_watermark="key")
    whole = readings()
    expected = [operator.process_batch(whole), operator.close(like=whole)]
    assert rows_of(table_of(out)) == rows_of(table_of(write(pa.concat_tables(expected), tmp_path / "expected.jsonl")))
    summary = json.loads(told.read_text())
    assert summary["rows_in"] == ROWS and summary["late"] == 0 and summary["state_bytes"] > 0


def test_rows_that_come_too_late_are_counted(tmp_path: Path, query: Path, ran: Ran) -> None:
    late = readings(plugs=1).take([*range(1, ROWS), 0])
    pq.write_table(late, tmp_path / "in.parquet")
    code, _, said = ran(
        "run", "--query", query, "--input", tmp_path / "in.parquet", "--streaming", "--output", tmp_path / "o.csv"
    )
    assert code == 0 and "late rows     1\n" in said


def test_the_console_shows_a_table_or_lines(tmp_path: Path, query: Path, ran: Ran) -> None:
    pq.write_table(readings(), tmp_path / "in.parquet")
    code, shown, said = ran("run", "--query", query, "--input", tmp_path / "in.parquet", "--quiet")
    head, *rows = shown.splitlines()
    assert code == 0 and said == ""
    assert head.split() == ["key", "window", "window_start", "window_end", "peak", "first"]
    assert len(rows) == len(table_of(_run(ran, query, tmp_path)))
    code, shown, _ = ran("run", "--query", query, "--input", tmp_path / "in.parquet", "--output-format", "jsonl")
    assert list(json.loads(shown.splitlines()[0])) == head.split()


def _run(ran: Ran, query: Path, folder: Path) -> Path:
    out = folder / "all.parquet"
    assert ran("run", "--query", query, "--input", folder / "in.parquet", "--output", out)[0] == 0
    return out


def test_a_folder_as_output_gets_part_files_and_must_be_new(tmp_path: Path, query: Path, ran: Ran) -> None:
    pq.write_table(readings(), tmp_path / "in.parquet")
    arguments = ("run", "--query", query, "--input", tmp_path / "in.parquet", "--output", tmp_path / "parts")
    assert ran(*arguments)[0] == 0
    assert rows_of(table_of(tmp_path / "parts")) == rows_of(table_of(_run(ran, query, tmp_path)))
    assert (tmp_path / "parts" / "_SUCCESS").exists()
    code, _, said = ran(*arguments)
    assert code == 2 and "is not empty: name a new folder, or a file" in said


def test_no_results_are_a_file_with_columns_and_no_rows(tmp_path: Path, query: Path, ran: Ran) -> None:
    pq.write_table(readings(0), tmp_path / "in.parquet")
    table = pq.read_table(_run(ran, query, tmp_path))
    assert len(table) == 0 and table.column_names[0] == "key" and "peak" in table.column_names


ERRORS = {
    "no query file": (2, ["--query", "no.toml", "--input", "in.csv"], "no.toml: no such query file"),
    "a query file that cannot be read": (2, ["--query", "in.csv/q.toml", "--input", "in.csv"], "file cannot be read: "),
    "a query file that is wrong": (2, ["--query", "bad.toml", "--input", "in.csv"], "bad.toml, line 2: "),
    "no data": (2, ["--query", "q.toml", "--input", "no.csv"], "no.csv: no such file or folder"),
    "an empty folder": (2, ["--query", "q.toml", "--input", "empty"], "holds no Parquet, CSV or JSON lines files"),
    "no such column": (
        1,
        ["--query", "q.toml", "--input", "other.csv"],
        "has no column 'key', which the query reads; it has 'a'",
    ),
    "a wrong type": (1, ["--query", "q.toml", "--input", "wrong.csv"], "'ts'"),
    "no format": (2, ["--query", "q.toml", "--input", "in.data"], "add --format"),
    "not JSON": (2, ["--query", "q.toml", "--input", "bad.jsonl"], "line 2: this is not JSON"),
    "not an object": (2, ["--query", "q.toml", "--input", "list.jsonl"], "line 1: expected an object"),
    "not Parquet": (2, ["--query", "q.toml", "--input", "bad.parquet"], "cannot be read as parquet"),
    "more values than columns": (2, ["--query", "q.toml", "--input", "ragged.csv"], "ragged.csv, line 3: cannot be"),
    "a text without an end": (2, ["--query", "q.toml", "--input", "endless.csv"], "endless.csv, line 3: cannot be"),
    "a ragged row that is no text": (
        2,
        ["--query", "q.toml", "--input", "latin.csv"],
        "latin.csv, line 2: cannot be",
    ),
    "deep JSON": (2, ["--query", "q.toml", "--input", "deep.jsonl"], "line 1: values are nested too deeply"),
    "more than 64 bits": (
        2,
        ["--query", "q.toml", "--input", "bits.jsonl"],
        "line 2: 9223372036854775808 is not a whole number of 64 bits",
    ),
    "a number without an end": (
        2,
        ["--query", "q.toml", "--input", "digits.jsonl"],
        "line 1: 1111111111111111111111111…",
    ),
    "no engine": (
        2,
        ["--query", "q.toml", "--input", "in.csv", "--engine", "spork"],
        "there is no engine 'spork'; there are",
    ),
    "no folder": (2, ["--query", "q.toml", "--input", "in.csv", "--output", "no/out.csv"], "there is no folder"),
    "an output of no format": (
        2,
        ["--query", "q.toml", "--input", "in.csv", "--output", "out.txt"],
        "add --output-format",
    ),
}
FILES = {
    "bad.toml": 'key = "a"\nwindw = 1\n',
    "in.csv": "key,ts,load,seq\n1,2020-01-01T00:00:00,1.5,0\n",
    "in.data": "key,ts,load,seq\n",
    "other.csv": "a,b\n1,2\n",
    "wrong.csv": "key,ts,load,seq\n1,yesterday,1.5,0\n",
    "bad.jsonl": '{"key": 1}\nkey 2\n',
    "list.jsonl": "[1, 2]\n",
    "ragged.csv": "key,ts,load,seq\n1,2020-01-01T00:00:00,1.5,0\n1,2020-01-01T00:00:00,1.5,0,7\n",
    "endless.csv": 'key,ts,load,seq\n1,2020-01-01T00:00:00,1.5,0\n"' + "x" * 200_000,
    "latin.csv": "key,ts,load,seq\n\udce9,2020-01-01T00:00:00,1.5,0,7\n",
    "deep.jsonl": "[" * 100_000 + "]" * 100_000 + "\n",
    "bits.jsonl": '{"key": 9223372036854775807}\n{"key": 9223372036854775808}\n',
    "digits.jsonl": f'{{"key": {"1" * 5_000}}}\n',
    "bad.parquet": "no",
}


@pytest.mark.parametrize(("expected", "arguments", "text"), ERRORS.values(), ids=ERRORS)
def test_what_is_wrong_is_one_sentence_and_an_exit_code(
    tmp_path: Path,
    query: Path,
    ran: Ran,
    monkeypatch: pytest.MonkeyPatch,
    expected: int,
    arguments: list[str],
    text: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    for name, content in FILES.items():
        (tmp_path / name).write_text(content, encoding="utf-8", errors="surrogateescape")
    before = sorted(tmp_path.rglob("*"))
    code, shown, said = ran("run", *arguments)
    assert (code, shown) == (expected, ""), said
    assert text in said and said.count("\n") == 1 and said.startswith("sash: ")
    assert sorted(tmp_path.rglob("*")) == before  # nothing is half written


def test_a_csv_file_of_empty_lines_has_no_rows(tmp_path: Path, query: Path, ran: Ran) -> None:
    (tmp_path / "in.csv").write_text("key,ts,load,seq\n\n\n")
    code, _, said = ran("run", "--query", query, "--input", tmp_path / "in.csv", "--output", tmp_path / "out.jsonl")
    assert (code, (tmp_path / "out.jsonl").read_text()) == (0, ""), said


def test_nested_results_do_not_go_into_csv(tmp_path: Path, ran: Ran) -> None:
    query = tmp_path / "q.toml"
    query.write_text(
        'window = { type = "sliding", range = 3 }\naggregates.all = { function = "Collect", columns = "load" }'
    )
    pq.write_table(readings(9), tmp_path / "in.parquet")
    code, _, said = ran("run", "--query", query, "--input", tmp_path / "in.parquet", "--output", tmp_path / "out.csv")
    assert code == 1 and "column 'all' holds several values a row, which CSV cannot" in said
    assert ran("run", "--query", query, "--input", tmp_path / "in.parquet", "--output", tmp_path / "out.jsonl")[0] == 0
    assert len(json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])["all"]) == 3


@pytest.mark.parametrize("streaming", [[], ["--streaming"]], ids=["batch", "streaming"])
def test_ends_at_times_and_at_positions_are_structures(tmp_path: Path, ran: Ran, streaming: list[str]) -> None:
    query, out = tmp_path / "q.toml", tmp_path / "out.parquet"
    query.write_text(
        'time = "ts"\naggregates.n = { function = "Count" }\n'
        'windows.minute = { type = "tumbling", range = "10s" }\nwindows.two = { type = "sliding", range = 200 }\n'
    )
    pq.write_table(readings(300), tmp_path / "in.parquet")
    code, _, said = ran("run", "--query", query, "--input", tmp_path / "in.parquet", "--output", out, *streaming)
    assert code == 0, said
    rows = pq.read_table(out).to_pylist()
    assert next(row for row in rows if row["window"] == "two")["window_end"] == {"ts": None, "position": 200}
    first = next(row for row in rows if row["window"] == "minute")
    assert first["n"] == 140 and first["window_end"]["position"] is None and first["window_end"]["ts"].second == 10
    assert len(rows) == 3 + 101


@pytest.mark.parametrize("streaming", [[], ["--streaming"]], ids=["batch", "streaming"])
@pytest.mark.parametrize(
    ("columns", "window", "end"),
    [
        (
            {"at": [date(2024, 1, 1), date(2024, 1, 2)]},
            'time = "at"\nwindows.w = { type = "sliding", range = "36h", slide = "12h" }',
            datetime(2024, 1, 1, 12),
        ),
        ({"at": [1, 2]}, 'windows.w = { type = "sliding", range = 2.5, slide = 0.5, on = "at" }', 1.5),
    ],
    ids=["half days", "fractions"],
)
def test_ends_between_values_of_the_column_are_told_beside_positions(
    tmp_path: Path, ran: Ran, streaming: list[str], columns: dict[str, Any], window: str, end: Any
) -> None:
    query, out = tmp_path / "q.toml", tmp_path / "out.parquet"
    query.write_text(
        f'{window}\nwindows.n = {{ type = "sliding", range = 1 }}\naggregates.n = {{ function = "Count" }}'
    )
    pq.write_table(pa.table(columns), tmp_path / "in.parquet")
    code, _, said = ran("run", "--query", query, "--input", tmp_path / "in.parquet", "--output", out, *streaming)
    assert code == 0, said
    rows = [row for row in pq.read_table(out).to_pylist() if row["window"] == "w"]
    assert min(row["window_end"]["at"] for row in rows) == end


def test_explain_tells_the_plan(query: Path, ran: Ran) -> None:
    code, shown, _ = ran("explain", query)
    assert code == 0 and shown.strip() == str(sash.explain(sash.load_query(query)))
    code, shown, _ = ran("explain", "--verbose", query)
    assert code == 0 and shown.strip() == str(sash.explain(sash.load_query(query), verbose=True))


def test_help_is_everywhere(ran: Ran) -> None:
    for command in ([], ["run"], ["explain"]):
        code, shown, _ = ran(*command, "--help")
        assert code == 0 and "usage: sash" in shown
    assert ran()[0] == 2
    assert ran("run")[0] == 2
    assert ran("run", "--query", "q", "--input", "i", "--parallelism", "0")[0] == 2


def test_the_script_is_installed_and_ends_quietly_when_nobody_reads_on(tmp_path: Path) -> None:
    (tmp_path / "q.toml").write_text('window = { type = "tumbling", range = 1 }\naggregates.n = { function = "Count" }')
    pq.write_table(readings(20_000), tmp_path / "in.parquet")
    command = [str(Path(sys.executable).with_name("sash")), "run", "q.toml", "--input", "in.parquet"]
    made = subprocess.Popen(
        [*command, "--output-format=csv", "--quiet"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert made.stdout is not None and made.stderr is not None
    assert made.stdout.readline().split(b",")[-1] == b'"n"\n'
    made.stdout.close()
    assert made.stderr.read() == b"" and made.wait() == 0
    made.stderr.close()


def test_code_that_a_query_names_is_found_in_this_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import sash\nspread = sash.aggregation('load', lift=lambda v: (v, v), "
        "combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])), lower=lambda p: p[1] - p[0])\n")  # fmt: skip
    (tmp_path / "q.toml").write_text(
        'window = { type = "sliding", range = 2 }\naggregates.spread = { function = "mine:spread" }\n'
    )
    (tmp_path / "in.csv").write_text("load\n1.5\n4.0\n3.5\n")
    command = [str(Path(sys.executable).with_name("sash")), "run", "--query", "q.toml", "--input", "in.csv", "--quiet"]
    command += ["--allow-imports", "mine"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line.split()[-1] for line in done.stdout.splitlines()] == ["spread", "2.5", "0.5"]


def test_a_stream_whose_engine_does_not_tell_its_state_says_so() -> None:
    assert "state         not reported by the engine\n" in summary(Tally(late=0), 1.0, "flink", streaming=True)


def test_progress_tells_how_far_it_is() -> None:
    assert line(Tally("computing", 10), None, 1) == "computing, 10 rows in, 0 out, 1 s"
    assert line(Tally("computing", 20), 10, 1).startswith("[########################] 100 %")


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("compression", ["gz", "zst"])
def test_compressed_files_and_patterns(tmp_path: Path, query: Path, ran: Ran, kind: str, compression: str) -> None:
    plain, packed = tmp_path / f"in-1.{kind}", tmp_path / f"in-1.{kind}.{compression}"
    write(readings(), plain)
    assert ran("run", query, "--input", plain, "--output", tmp_path / "expected.parquet")[0] == 0
    with pa.output_stream(str(packed), compression="detect") as file:
        file.write(plain.read_bytes())
    plain.unlink()
    out = tmp_path / f"out.{kind}.{compression}"
    code, _, said = ran("run", query, "--input", tmp_path / "in-*", "--output", out)
    assert code == 0, said
    magic = {"gz": b"\x1f\x8b", "zst": b"\x28\xb5\x2f\xfd"}[compression]
    assert out.read_bytes().startswith(magic)
    expected = table_of(tmp_path / "expected.parquet")
    assert rows_of(table_of(out).cast(expected.schema)) == rows_of(expected)


def test_a_pattern_that_no_file_has(tmp_path: Path, query: Path, ran: Ran) -> None:
    code, _, said = ran("run", query, "--input", tmp_path / "none-*.csv")
    assert (code, said) == (2, f"sash: {tmp_path}/none-*.csv: no file matches\n")


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_standard_input_and_output(tmp_path: Path, query: Path, ran: Ran, kind: str) -> None:
    data, out, packed = tmp_path / f"in.{kind}", tmp_path / f"out.{kind}", tmp_path / f"piped.{kind}"
    write(readings(), data)
    assert ran("run", query, "--input", data, "--output", out)[0] == 0
    command = [sys.executable, "-m", "sash", "run", str(query), "--input", "-", "--output", "-", "--quiet"]
    command += ["--format", kind, "--output-format", kind]
    done = subprocess.run(command, input=data.read_bytes(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    packed.write_bytes(done.stdout)
    assert rows_of(table_of(packed)) == rows_of(table_of(out))


def test_standard_input_needs_a_format(query: Path, ran: Ran) -> None:
    assert ran("run", query, "--input", "-")[::2] == (
        2,
        "sash: --input -: say in which format standard input is with --format\n",
    )


def test_one_query_is_named_once(tmp_path: Path, query: Path, ran: Ran) -> None:
    code, _, said = ran("run", query, "--query", query, "--input", tmp_path)
    assert code == 2
    assert "not allowed with argument" in said
    assert ran("run", "--input", tmp_path)[0] == 2


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["ex"], {"explain", "experiment"}),
        (["run", "--inp"], {"--input"}),
        (["run", "--format", ""], {"parquet", "csv", "jsonl"}),
        (["completion", ""], {"bash", "fish", "zsh", "-h", "--help"}),
    ],
)
def test_a_shell_completes_commands_and_options(ran: Ran, words: list[str], completed: set[str]) -> None:
    code, script, _ = ran("completion", "bash")
    assert code == 0
    words_ = " ".join(f"'{word}'" for word in ["sash", *words])
    ask = f"{script}\nCOMP_WORDS=({words_}); COMP_CWORD={len(words)}; _sash; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    shown = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True).stdout
    assert set(shown.split()) == completed


def test_fish_completes_commands_options_and_their_values(ran: Ran) -> None:
    code, script, _ = ran("completion", "fish")
    lines = script.splitlines()
    assert code == 0
    assert any(
        line.startswith("complete -c sash -n __fish_use_subcommand -xa run -d 'Run a query file") for line in lines
    )
    in_run = "complete -c sash -n '__fish_seen_subcommand_from run'"
    assert any(line.startswith(f"{in_run} -l format -xa 'parquet csv jsonl' -d ") for line in lines)
    assert any(line.startswith(f"{in_run} -l input -r -d ") for line in lines)
    assert any(line.startswith(f"{in_run} -l streaming -d ") for line in lines)
    if fish := shutil.which("fish"):
        ask = f"{script}\ncomplete -C 'sash run --form'"
        shown = subprocess.run([fish, "-c", ask], capture_output=True, text=True, check=True).stdout
        assert [line.partition("\t")[0] for line in shown.splitlines()] == ["--format"]


@pytest.fixture
def memory() -> Iterator[str]:
    """A folder of fsspec's file system in memory, by its URL."""
    fs = fsspec.filesystem("memory")
    yield "memory://bucket"
    fs.rm("/bucket", recursive=True)


@pytest.mark.parametrize("streaming", [[], ["--streaming"]], ids=["batch", "streaming"])
def test_urls_of_fsspec_are_read_and_written(
    tmp_path: Path, query: Path, ran: Ran, memory: str, streaming: list[str]
) -> None:
    folder = write_parts(readings(3000), tmp_path / "plugs")
    fs = fsspec.filesystem("memory")
    fs.makedirs("/bucket/plugs")
    for file in sorted(folder.iterdir()):
        fs.put_file(str(file), f"/bucket/plugs/{file.name}")
    expected = tmp_path / "expected.jsonl"
    assert ran("run", query, "--input", folder, "--output", expected, *streaming)[0] == 0
    for place in (f"{memory}/plugs", f"{memory}/plugs/*.parquet"):
        assert ran("run", query, "--input", place, "--output", f"{memory}/out.jsonl", *streaming)[0] == 0
        lines = sorted(fs.cat_file("/bucket/out.jsonl").decode().splitlines())
        assert lines == sorted(expected.read_text().splitlines())
    assert ran("run", query, "--input", f"{memory}/plugs", "--output", f"{memory}/peaks")[0] == 0
    assert sorted(PurePosixPath(name).name for name in fs.ls("/bucket/peaks", detail=False)) == [
        "_SUCCESS",
        "part-00000.parquet",
    ]
    assert "is not empty" in ran("run", query, "--input", f"{memory}/plugs", "--output", f"{memory}/peaks")[2]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("memory://nowhere/plugs.csv", "memory://nowhere/plugs.csv: there is no such file"),
        ("memory://nowhere/*.csv", "memory://nowhere/*.csv: there is no such file"),
        ("nothing://bucket/plugs.csv", "nothing://bucket/plugs.csv: Protocol not known: nothing"),
    ],
)
def test_urls_that_cannot_be_read(query: Path, ran: Ran, url: str, said: str) -> None:
    code, _, error = ran("run", query, "--input", url)
    assert code == 2
    assert said in error and error.count("\n") == 1
