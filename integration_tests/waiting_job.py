"""A program whose job waits in a Python function until it is told to go on."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["SASH_RUN", "go_on", "waiting_job"]

FUNCTIONS = """
import os

def lift(value):
    "Say that a job runs, and wait."
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
SASH_RUN = ["-m", "sash.cli", "run", "--query", "q.toml", "--input", "in.csv", "--allow-imports", "waiting", "--engine"]


@contextmanager
def waiting_job(folder: Path, program: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A program of this folder, for as long as a function of its job waits. What it says is in the file ``said``."""
    (folder / "waiting.py").write_text(FUNCTIONS)
    (folder / "q.toml").write_text(QUERY)
    (folder / "in.csv").write_text("x\n1\n")
    for fifo in ("reached", "go-on"):
        os.mkfifo(folder / fifo)
    given = {name for name in os.environ if "FLINK" in name or name.startswith("_python")} - {"FLINK_ENV_JAVA_OPTS"}
    clean = {name: value for name, value in os.environ.items() if name not in given}
    (folder / "scratch").mkdir()
    clean |= {"TMPDIR": str(folder / "scratch"), "REACHED": str(folder / "reached"), "GO_ON": str(folder / "go-on")}
    clean["PYTHONPATH"] = os.pathsep.join([str(folder), *(path for path in sys.path if path)])
    with (
        open(folder / "said", "w") as said,
        subprocess.Popen([sys.executable, *program], cwd=folder, env=clean, stdout=said, stderr=said) as process,
    ):
        pipe, ended = os.open(folder / "reached", os.O_RDWR), os.pidfd_open(process.pid)
        try:
            ready, _, _ = select.select([pipe, ended], [], [])
            assert pipe in ready, (folder / "said").read_text()
            yield process
        finally:
            process.kill()
            os.close(pipe)
            os.close(ended)


def go_on(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """Let the function go on, and the program end."""
    pipe = os.open(folder / "go-on", os.O_RDWR)  # stays open: functions that come later do not wait
    assert process.wait() == 0, (folder / "said").read_text()
    os.close(pipe)
