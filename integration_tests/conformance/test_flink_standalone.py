"""A standalone cluster of processes on loopback, by the wheel's own scripts: a TaskManager dies, a spare takes over."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ..ports import free_ports
from .rows import sorted_rows
from .test_flink_recovery import QUERY, STREAM, waited_for, write

ROOT = Path(__file__).parents[2]
JOB = Path(__file__).parent / "flink_job.py"


class Cluster:
    """A JobManager and TaskManagers of one slot each, all processes of this one."""

    def __init__(self, folder: Path) -> None:
        found = importlib.util.find_spec("pyflink")
        assert found is not None and found.origin is not None
        self.home, self.folder = Path(found.origin).parent, folder
        rpc, self.rest = free_ports(2)
        shutil.copytree(self.home / "conf", folder / "conf")
        (folder / "log").mkdir()
        settings = {
            "jobmanager.rpc.address": "127.0.0.1",
            "jobmanager.rpc.port": rpc,
            "jobmanager.bind-host": "127.0.0.1",
            "jobmanager.memory.process.size": "768m",
            "rest.address": "127.0.0.1",
            "rest.port": self.rest,
            "rest.bind-port": self.rest,
            "rest.bind-address": "127.0.0.1",
            "taskmanager.host": "127.0.0.1",
            "taskmanager.bind-host": "127.0.0.1",
            "taskmanager.numberOfTaskSlots": 1,
            "taskmanager.memory.process.size": "1100m",
            "heartbeat.interval": 1000,
            "heartbeat.timeout": 5000,
            "python.executable": sys.executable,
            "python.client.executable": sys.executable,
            "env.java.opts.all": self._options(),
        }
        lines = [f"{name}: {json.dumps(value)}\n" for name, value in settings.items()]
        (folder / "conf" / "config.yaml").write_text("".join(lines))
        self.processes = {"jobmanager": self._start("jobmanager.sh", "start-foreground")}
        for name in ("first", "second"):
            self.processes[name] = self._start(
                "taskmanager.sh", "start-foreground", "-D", f"taskmanager.resource-id={name}"
            )

    def _options(self) -> str:
        """What the wheel's configuration has Java told."""
        lines = (self.home / "conf" / "config.yaml").read_text().splitlines()
        return next(line for line in lines if line.strip().startswith("all:")).strip().removeprefix("all: ")

    def _environment(self) -> dict[str, str]:
        mine = {"FLINK_CONF_DIR": str(self.folder / "conf"), "FLINK_LOG_DIR": str(self.folder / "log")}
        return os.environ | mine | {"PYTHONPATH": str(ROOT)}

    def _start(self, script: str, *words: str) -> subprocess.Popen[bytes]:
        with (self.folder / "log" / f"{script}-{time.time_ns()}").open("wb") as log:
            return subprocess.Popen(
                [self.home / "bin" / script, *words],
                env=self._environment(),
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.rest}{path}", timeout=10) as answer:
            return json.load(answer)

    def submit(self, *arguments: str) -> str:
        """Start the job; its number."""
        client = [str(self.home / "bin" / "flink"), "run", "-d", "-m", f"127.0.0.1:{self.rest}"]
        python = ["-pyclientexec", sys.executable, "-pyexec", sys.executable, "-py", str(JOB)]
        done = subprocess.run(
            [*client, *python, *arguments],
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.rpartition("JobID ")[2].split()[0]

    def at_work(self, job: str) -> set[str]:
        """The TaskManagers that have tasks of a job which all run."""
        vertices = [self.get(f"/jobs/{job}/vertices/{each['id']}") for each in self.get(f"/jobs/{job}")["vertices"]]
        tasks = [task for vertex in vertices for task in vertex["subtasks"]]
        run = all(task["status"] == "RUNNING" for task in tasks)
        return {task["taskmanager-id"] for task in tasks} if run else set()

    def stop(self) -> None:
        """End all, the Python workers of TaskManagers included."""
        for process in self.processes.values():
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_for(what: str, found: Callable[[], Any]) -> Any:
    """Ask until the answer is not empty."""
    end = time.monotonic() + 200
    while time.monotonic() < end:
        try:
            if answer := found():
                return answer
        except OSError:  # it does not answer yet
            pass
        time.sleep(0.2)
    raise TimeoutError(what)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    try:
        wait_for("two slots", lambda: made.get("/overview")["slots-total"] == 2)
        yield made
    finally:
        made.stop()


@pytest.mark.cluster
def test_a_spare_taskmanager_goes_on_where_a_killed_one_was(cluster: Cluster, tmp_path: Path) -> None:
    third = len(STREAM.rows) // 3
    (tmp_path / "in").mkdir()
    write(STREAM.rows[:third], tmp_path / "in" / "0.json")
    job = cluster.submit(str(tmp_path), "packed")
    some = sorted_rows(QUERY, replace(STREAM, rows=STREAM.rows[:third]).streamed())
    assert waited_for(some, tmp_path) == some
    (busy,) = wait_for("tasks", lambda: cluster.at_work(job))
    write(STREAM.rows[third : 2 * third], tmp_path / "in" / "1.json")  # it dies while it takes these
    os.kill(cluster.processes[busy].pid, signal.SIGKILL)
    some = sorted_rows(QUERY, replace(STREAM, rows=STREAM.rows[: 2 * third]).streamed())
    # When its reader dies the source gives a file back, behind all new ones: were the last there, these came late.
    assert waited_for(some, tmp_path) == some
    write(STREAM.rows[2 * third :], tmp_path / "in" / "2.json")
    whole = sorted_rows(QUERY, STREAM.streamed())
    assert waited_for(whole, tmp_path) == whole
    assert cluster.at_work(job) == {"first", "second"} - {busy}
