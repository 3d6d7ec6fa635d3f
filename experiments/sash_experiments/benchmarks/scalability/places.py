"""Where the runs of ``bench scalability`` happen: on this machine, or on a cluster of containers with so many workers.

A place starts a driver, tells the CPU seconds of all that works for it, and, on Flink, how large the state was.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from sash.cli.processes import cpu_seconds
from sash_experiments.processes import free_port

__all__ = ["Cluster", "Local", "Place", "cluster", "has_image", "local"]

HERE = Path(__file__).parent
ROOT = Path(__file__).parents[4]
PROJECT = "sash-scalability"
CLIENTS = {"flink": ("jobmanager", 8081), "spark": ("spark-master", 8080)}
WORKERS = {"FLINK_PROPERTIES": "taskmanager.memory.process.size=3g", "SPARK_WORKER_MEMORY": "2g"}
CODE, DATA = "/var/lib/sash/data/experiments", "/var/lib/sash/data/scalability"
SETTINGS = {
    # Checkpoints are taken, as one would, and tell how large the state is; none is waited for at the end of the input.
    "flink": ["execution.checkpointing.interval=1s", "execution.checkpointing.checkpoints-after-tasks-finish=false"],
    "spark": ["spark.executor.memory=1600m"],
}


class Place(Protocol):
    """Where an engine runs."""

    name: str

    def driver(self, arguments: list[str]) -> list[str]:
        """The command that makes runs there."""

    def cpu(self) -> float:
        """CPU seconds of all that works for it, so far."""

    def state_bytes(self) -> int | None:
        """Of the job that ended last; None: the engine does not tell."""


class Local:
    """This process and those beneath it. Flink takes checkpoints into a folder, which tell how large its state is."""

    name = "local"

    def __init__(self, engine: str, folder: Path) -> None:
        command = [sys.executable, "-m", f"{__package__}.on_{engine}", "--data", str(folder)]
        self._checkpoints = folder / "checkpoints"
        settings = [*SETTINGS["flink"], f"execution.checkpointing.dir=file://{self._checkpoints}"]
        of_engine = settings if engine == "flink" else []
        self._command = [*command, *(word for setting in of_engine for word in ("--setting", setting))]
        self._lock = threading.Lock()
        self._largest = 0

    def driver(self, arguments: list[str]) -> list[str]:
        return [*self._command, *arguments]

    def cpu(self) -> float:
        with self._lock:
            return cpu_seconds()

    def state_bytes(self) -> int | None:
        """Of the largest checkpoint since it was last asked for."""
        largest, self._largest = self._largest, 0
        return largest or None

    def watch(self) -> None:
        """Look at what may be gone soon: processes that end, and checkpoints that a new one replaces."""
        self.cpu()
        for checkpoint in self._checkpoints.glob("*/chk-*"):
            self._largest = max(self._largest, _bytes_in(checkpoint))


def _bytes_in(folder: Path) -> int:
    try:
        return sum(file.stat().st_size for file in folder.iterdir())
    except OSError:  # it has just been deleted
        return 0


@contextmanager
def local(engine: str, folder: Path) -> Iterator[Local]:
    """Processes that end take with them what they spent: it has to be seen before."""
    place, ended = Local(engine, folder), threading.Event()

    def watch() -> None:
        while not ended.wait(0.2):
            place.watch()

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield place
    finally:
        ended.set()
        watching.join()


class Cluster:
    """Containers of compose/compose.yaml; the driver is a process in that of the JobManager or the master."""

    name = "cluster"

    def __init__(self, engine: str, port: int) -> None:
        import docker  # type: ignore[import-untyped]

        self._engine, self._port, self._docker = engine, port, docker.from_env()
        client, _ = CLIENTS[engine]
        self._client: str = self._containers(f"com.docker.compose.service={client}")[0].id
        subprocess.run(["docker", "exec", self._client, "mkdir", "-p", CODE], check=True)
        script = HERE / f"on_{engine}.py"  # what it imports is installed in the image
        subprocess.run(["docker", "cp", str(script), f"{self._client}:{CODE}/"], check=True, capture_output=True)

    def _containers(self, *labels: str) -> Any:
        wanted = [f"com.docker.compose.project={PROJECT}", *labels]
        return self._docker.containers.list(filters={"label": wanted})

    def driver(self, arguments: list[str]) -> list[str]:
        settings = [word for setting in SETTINGS[self._engine] for word in ("--setting", setting)]
        script = [f"{CODE}/on_{self._engine}.py", "--data", DATA, "--pause", "3", *settings, *arguments]
        return ["docker", "exec", self._client, "job", self._engine, *script]

    def cpu(self) -> float:
        """As the kernel counts it for each container, those of its processes that have ended included."""
        stats = [self._docker.api.stats(node.id, stream=False, one_shot=True) for node in self._containers()]
        return float(sum(node["cpu_stats"]["cpu_usage"]["total_usage"] for node in stats) / 1e9)

    def state_bytes(self) -> int | None:
        if self._engine != "flink":
            return None
        jobs = self._get("/jobs/overview")["jobs"]
        last = max(jobs, key=lambda job: job["start-time"])["jid"]
        return int(self._get(f"/jobs/{last}/checkpoints")["summary"]["state_size"]["max"]) or None

    def _get(self, path: str, attempts: int = 20) -> Any:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}{path}", timeout=10) as answer:
                return json.load(answer)
        except urllib.error.HTTPError:  # of a job that has just ended Flink may not know, for a moment
            if not attempts:
                raise
        time.sleep(0.5)
        return self._get(path, attempts - 1)


@contextmanager
def cluster(engine: str, workers: int) -> Iterator[Cluster]:
    """A cluster of its own, beside those that may be up."""
    port = free_port()
    ports = {"FLINK_UI_PORT": port, "SPARK_UI_PORT": port, "SPARK_HISTORY_PORT": free_port()}
    environment = {**os.environ, **WORKERS, "COMPOSE_PROJECT_NAME": PROJECT}
    environment |= {name: str(value) for name, value in ports.items()}
    up, down = [str(ROOT / "scripts" / "cluster-up")], [str(ROOT / "scripts" / "cluster-down"), "--volumes"]
    try:
        subprocess.run([*up, str(workers), engine], env=environment, check=True, capture_output=True)
        yield Cluster(engine, port)
    finally:
        subprocess.run(down, env=environment, check=True, capture_output=True)


def has_image() -> bool:
    """Whether a Docker engine answers that has the image of the clusters."""
    try:
        asked = subprocess.run(["docker", "image", "inspect", "sash-cluster"], capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return asked.returncode == 0
