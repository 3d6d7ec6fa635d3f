"""A run that is cut short, by a signal or a full disk, leaves no output that looks whole, and an old one as it was."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.dataset  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from sash.cli import main
from sash.cli.files import Source

FUNCTIONS = """
import os

def lift(value):
    if value == -1 and "REACHED" in os.environ:  # say that this row is reached, and wait until it may go on
        os.write(os.open(os.environ["REACHED"], os.O_WRONLY), b"here")
        os.open(os.environ["GO_ON"], os.O_RDONLY)
    return value

def combine(a, b):
    return b
"""
QUERY = """
window = { type = "sliding", range = 1 }
[aggregates.x]
function = "aggregation"
columns = "x"
lift = "waiting:lift"
combine = "waiting:combine"
"""
ROWS = 3000
OUTPUTS = ["out", "out.parquet", "out.csv", "out.jsonl"]


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A query that waits in the last of three files: by then a stream has given the results of two."""
    (tmp_path / "waiting.py").write_text(FUNCTIONS)
    (tmp_path / "q.toml").write_text(QUERY)
    (tmp_path / "in").mkdir()
    (tmp_path / "results").mkdir()
    for number in range(3):
        values = [float(value) for value in range(number * ROWS, (number + 1) * ROWS)]
        file = tmp_path / "in" / f"{number}.parquet"
        pq.write_table(pa.table({"x": values if number < 2 else [-1.0, *values[1:]]}), file)
        os.utime(file, (10**9 + number, 10**9 + number))
    for fifo in ("reached", "go-on"):
        os.mkfifo(tmp_path / fifo)
    return tmp_path


def command(output: str) -> list[str]:
    options = ["--query", "q.toml", "--input", "in", "--streaming", "--allow-imports", "waiting", "--quiet"]
    return [sys.executable, "-W", "ignore", "-m", "sash.cli", "run", *options, "--output", f"results/{output}"]


def complete(here: Path, output: str, **limits: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(output), cwd=here, capture_output=True, text=True, check=False, **limits)


@contextmanager
def waiting(here: Path, output: str) -> Iterator[subprocess.Popen[bytes]]:
    """A run that waits in the last file."""
    environment = os.environ | {"REACHED": str(here / "reached"), "GO_ON": str(here / "go-on")}
    with subprocess.Popen(command(output), cwd=here, env=environment, stderr=subprocess.PIPE) as run:
        try:
            assert wait_for(here / "reached", run) == b"here"
            yield run
        finally:
            run.kill()


def wait_for(fifo: Path, run: subprocess.Popen[bytes]) -> bytes:
    """What the run writes into the pipe; nothing, if it ends before."""
    pipe, ended = os.open(fifo, os.O_RDWR), os.pidfd_open(run.pid)
    try:
        ready, _, _ = select.select([pipe, ended], [], [])
        return os.read(pipe, 100) if pipe in ready else b""
    finally:
        os.close(pipe)
        os.close(ended)


def go_on(here: Path, run: subprocess.Popen[bytes]) -> tuple[int, str]:
    (here / "go-on").write_text("")
    _, said = run.communicate()
    return run.returncode, said.decode()


def rows(path: Path) -> int:
    return len(Source.of(path).table())


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
@pytest.mark.parametrize("output", ["out", "out.jsonl"])
def test_a_signal_leaves_nothing_that_looks_like_an_output(here: Path, output: str, number: signal.Signals) -> None:
    with waiting(here, output) as run:
        assert not (here / "results" / output).exists()
        run.send_signal(number)
        _, said = run.communicate()
    codes = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}
    assert run.returncode == codes[number]
    assert b"Traceback" not in said
    left = [path.name for path in (here / "results").iterdir()]
    assert all(name.startswith(".") for name in left), left
    assert number == signal.SIGKILL or not left


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
@pytest.mark.parametrize("output", ["out", "out.parquet"])
def test_a_signal_leaves_what_was_there(here: Path, output: str, number: signal.Signals) -> None:
    there = here / "results" / output
    if output == "out":  # data in it would be refused at once; what is none must stay
        there.mkdir()
        (there / ".kept").write_text("mine")
        (there / "_kept").write_text("mine")
        before = ["out", "out/.kept", "out/_kept"]
    else:
        there.write_text("mine")
        before = [output]
    with waiting(here, output) as run:
        run.send_signal(number)
        run.communicate()
    left = names(here / "results")
    assert [name for name in left if ".part" not in name] == before
    assert number == signal.SIGKILL or left == before
    if output == "out":
        assert not pyarrow.dataset.dataset(there).files, "a reader finds data"
    else:
        assert there.read_text() == "mine"
    assert complete(here, output).returncode == 0
    assert rows(there) == 3 * ROWS
    assert output != "out" or (there / ".kept").read_text() == (there / "_kept").read_text() == "mine"


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_full_disk_is_one_sentence_and_leaves_what_was_there(here: Path, output: str) -> None:
    """A limit on the size of files: the first parts fit below it, the rows of a file do not."""
    there = here / "results" / output
    if output != "out":
        there.write_text("mine")
    limit = 5_000
    done = complete(here, output, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert done.returncode == 1
    assert done.stderr == f"sash: results/{output} cannot be written: file too large\n"
    assert names(here / "results") == ([] if output == "out" else [output])
    assert output == "out" or there.read_text() == "mine"


@pytest.mark.parametrize("made", ["by the run", "before", "before, with a file that is no data"])
def test_a_whole_folder_has_a_mark_that_readers_skip(here: Path, made: str) -> None:
    there = here / "results" / "out"
    if made != "by the run":
        there.mkdir(mode=0o750)
    if made.endswith("no data"):
        (there / "_SUCCESS").write_text("of another run")
    assert complete(here, "out").returncode == 0
    assert names(there) == ["_SUCCESS", *(f"part-{number:05d}.parquet" for number in range(3))]
    assert (there / "_SUCCESS").read_text() == ""
    umask = os.umask(0)
    os.umask(umask)
    assert there.stat().st_mode & 0o777 == (0o777 & ~umask if made == "by the run" else 0o750)
    assert rows(there) == len(pq.read_table(there)) == 3 * ROWS
    assert names(here / "results") == ["out", *(f"out/{name}" for name in names(there))]


def test_a_folder_behind_a_link_is_filled(here: Path) -> None:
    (here / "elsewhere").mkdir()
    (here / "results" / "out").symlink_to(here / "elsewhere")
    assert complete(here, "out").returncode == 0
    assert (here / "results" / "out").is_symlink() and rows(here / "elsewhere") == 3 * ROWS


@pytest.mark.parametrize("output", ["out.parquet", "out.jsonl"])
def test_two_runs_to_one_file_do_not_meet(here: Path, output: str) -> None:
    with waiting(here, output) as run:
        assert complete(here, output).returncode == 0
        assert rows(here / "results" / output) == 3 * ROWS
        assert go_on(here, run) == (0, "")
    assert names(here / "results") == [output]
    assert rows(here / "results" / output) == 3 * ROWS


@pytest.mark.parametrize("hidden", [False, True], ids=["new", "with a file that is no data"])
def test_of_two_runs_to_one_folder_the_first_that_ends_wins(here: Path, hidden: bool) -> None:
    there = here / "results" / "out"
    if hidden:
        there.mkdir()
        (there / ".kept").touch()
    with waiting(here, "out") as run:
        assert complete(here, "out").returncode == 0
        before = {path: path.read_bytes() for path in there.iterdir() if path.is_file()}
        code, said = go_on(here, run)
    assert code == 2 and said.endswith("is not empty: name a new folder, or a file\n") and said.count("\n") == 1
    assert {path: path.read_bytes() for path in there.iterdir()} == before
    assert rows(there) == 3 * ROWS


def test_an_error_of_the_data_leaves_no_folder(here: Path) -> None:
    (here / "in" / "2.parquet").write_text("not Parquet")
    done = complete(here, "out")
    assert done.returncode == 2 and "cannot be read as parquet" in done.stderr
    assert names(here / "results") == []


def refuse(name: str) -> float:
    raise AssertionError(f"{name} is not JSON")


@pytest.mark.parametrize("place", ["file", "folder", "console"])
def test_json_lines_have_null_for_nan_and_infinity(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    (tmp_path / "q.toml").write_text(
        'window = { type = "sliding", range = 2 }\n'
        'aggregates.all = { function = "Collect", columns = "x" }\n'
        'aggregates.max = { function = "Max", columns = "x" }\n'
        'aggregates.ends = { function = "M4", columns = "x" }\naggregates.sum = { function = "Sum", columns = "n" }\n'
    )
    values = [1.5, float("inf"), float("-inf"), float("nan"), 2.5, 3.5]
    pq.write_table(pa.table({"x": values, "n": range(6)}), tmp_path / "in.parquet")
    out = {"file": ["--output", tmp_path / "out.jsonl"], "folder": ["--output", tmp_path / "out"], "console": []}[place]
    options = ["run", "--query", tmp_path / "q.toml", "--input", tmp_path / "in.parquet", *out]
    assert main(list(map(str, [*options, "--output-format", "jsonl", "--quiet"]))) == 0
    path = {"file": tmp_path / "out.jsonl", "folder": tmp_path / "out" / "part-00000.jsonl"}.get(place)
    text = capsys.readouterr().out if path is None else path.read_text()
    found = [json.loads(line, parse_constant=refuse) for line in text.splitlines()]
    assert [row["all"] for row in found] == [[1.5, None], [None, None], [None, None], [None, 2.5], [2.5, 3.5]]
    assert [row["max"] for row in found][-1] == 3.5 and found[0]["max"] is None
    assert [row["sum"] for row in found] == [1, 3, 5, 7, 9]
    if path is not None:
        assert Source.of(path).table().column("max").to_pylist()[0] is None


def test_json_lines_of_others_may_have_nan(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"x": 1.5}\n{"x": NaN}\n{"x": -Infinity}\n{"x": null}\n')
    first, second, *rest = Source.of(tmp_path / "in.jsonl").table().column("x").to_pylist()
    assert (first, rest) == (1.5, [float("-inf"), None]) and second != second
