"""A Flink cluster of containers: a JobManager and TaskManagers of one slot each, driven by its REST interface."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import sys
import urllib.request
from pathlib import Path
from typing import Any

from .engine import SHARED, Host, Node, wait_for

__all__ = ["FlinkCluster"]

ROOT = Path(__file__).parents[2]
OF_JOBS = {
    "execution.checkpointing.interval": "1s",
    "execution.checkpointing.dir": f"file://{SHARED}/flink-storage/checkpoints",
    "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    "state.backend.type": "hashmap",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "1000",
    "restart-strategy.fixed-delay.delay": "500ms",
}
"""What a job asks for by itself: the client sends its own settings, and those of the JobManager do not count."""


class FlinkCluster:
    """Checkpoints, every second, and savepoints are in the folder that all share."""

    def __init__(self, host: Host, taskmanagers: int = 2) -> None:
        found = importlib.util.find_spec("pyflink")
        assert found is not None and found.origin is not None
        self.home = str(Path(found.origin).parent)
        self.host = host
        shutil.copytree(ROOT / "flink_adapter" / "sash_flink" / "lib", host.shared / "lib", dirs_exist_ok=True)
        self._link_jars()
        self.jobmanager = self._node("jobmanager", ports=[8081])
        self.taskmanagers = [self.taskmanager(number) for number in range(taskmanagers)]
        self.wait(taskmanagers)

    def _link_jars(self) -> None:
        """Flink's own, and that of Python's runtime: loaded anew by each job that starts, it fills the metaspace."""
        jars = self.host.shared / "flink-lib"
        jars.mkdir(exist_ok=True)
        for jar in [*Path(self.home, "lib").glob("*.jar"), *Path(self.home, "opt").glob("flink-python-*.jar")]:
            (jars / jar.name).symlink_to(jar)

    def _node(self, name: str, ports: Any = ()) -> Node:
        role = "jobmanager" if name == "jobmanager" else "taskmanager"
        options = {
            "jobmanager.rpc.address": "jobmanager",
            "jobmanager.bind-host": "0.0.0.0",
            "jobmanager.memory.process.size": "768m",
            "rest.address": "jobmanager",
            "rest.bind-address": "0.0.0.0",
            "taskmanager.host": name,
            "taskmanager.resource-id": name,
            "taskmanager.bind-host": "0.0.0.0",
            "taskmanager.numberOfTaskSlots": "1",
            "taskmanager.memory.process.size": "1300m",
            # Some seconds, not fifty, until a fault is noticed; but a busy machine is none, and has time to start.
            "heartbeat.interval": "2000",
            "heartbeat.timeout": "10000",
            "pekko.startup-timeout": "5min",
            "pekko.ask.timeout": "60s",
            "python.executable": sys.executable,
            "python.client.executable": sys.executable,
        }
        if role == "jobmanager":
            options = {key: value for key, value in options.items() if not key.startswith("taskmanager.")}
        told = [word for key, value in options.items() for word in ("-D", f"{key}={value}")]
        command = [f"{self.home}/bin/{role}.sh", "start-foreground", *told]
        environment = {"FLINK_LOG_DIR": "/var/tmp", "FLINK_LIB_DIR": f"{SHARED}/flink-lib"}
        return self.host.node(name, command, ports, environment).start()

    def taskmanager(self, number: int) -> Node:
        """One more TaskManager."""
        return self._node(f"taskmanager-{number}")

    # what the REST interface tells

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.jobmanager.port(8081)}{path}", timeout=10) as answer:
            return json.load(answer)

    def post(self, path: str, body: Any) -> Any:
        url = f"http://127.0.0.1:{self.jobmanager.port(8081)}{path}"
        request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def slots(self) -> int:
        """How many there are."""
        return int(self.get("/overview")["slots-total"])

    def wait(self, slots: int) -> None:
        wait_for(f"{slots} slots", lambda: self.slots() >= slots)

    def at_work(self, job: str) -> set[str]:
        """The names of the TaskManagers that run tasks of a job."""
        vertices = [vertex["id"] for vertex in self.get(f"/jobs/{job}")["vertices"]]
        tasks = [task for vertex in vertices for task in self.get(f"/jobs/{job}/vertices/{vertex}")["subtasks"]]
        return {task["taskmanager-id"] for task in tasks}

    def state(self, job: str) -> str:
        told: str = self.get(f"/jobs/{job}")["state"]
        return told

    def running(self, job: str) -> bool:
        """Whether all tasks of a job are at work."""
        told = self.get(f"/jobs/{job}")
        return told["state"] == "RUNNING" and all(vertex["status"] == "RUNNING" for vertex in told["vertices"])

    def checkpoints(self, job: str) -> int:
        """How many have been completed."""
        return int(self.get(f"/jobs/{job}/checkpoints")["counts"]["completed"])

    def failed_checkpoints(self, job: str) -> int:
        """How many have failed."""
        return int(self.get(f"/jobs/{job}/checkpoints")["counts"]["failed"])

    def exceptions(self, job: str) -> str:
        """What made a job fail last."""
        told = self.get(f"/jobs/{job}/exceptions")["exceptionHistory"]["entries"]
        return "\n".join(entry["stacktrace"] for entry in told[:1])

    # jobs

    def submit(self, job: str, *arguments: str, parallelism: int = 1, savepoint: str | None = None) -> str:
        """Start a job of the folder ``jobs``, Sash and all; its number."""
        told = self._client(job, *arguments, detached=True, parallelism=parallelism, savepoint=savepoint)
        found = re.search(r"JobID (\w{32})", told)
        if found is None:
            raise RuntimeError(told[-4000:])
        return found[1]

    def run(self, job: str, *arguments: str, parallelism: int = 1) -> str:
        """Run a job to its end; what it printed."""
        return self._client(job, *arguments, parallelism=parallelism)

    def _client(
        self, job: str, *arguments: str, detached: bool = False, parallelism: int = 1, savepoint: str | None = None
    ) -> str:
        python = ["-pyclientexec", sys.executable, "-pyexec", sys.executable, "-pyfs", f"{SHARED}/sash.zip"]
        how = [*(["-d"] if detached else []), *(["-s", savepoint] if savepoint else []), "-p", str(parallelism)]
        settings = [f"-D{name}={value}" for name, value in OF_JOBS.items()]
        command = [f"{self.home}/bin/flink", "run", "-m", "jobmanager:8081", *settings, *how, *python]
        return self.jobmanager.run(*command, "-py", f"{SHARED}/jobs/{job}", *arguments, FLINK_LOG_DIR="/var/tmp")

    def stop_with_savepoint(self, job: str) -> str:
        """Stop a job; where its savepoint is."""
        folder = f"file://{SHARED}/savepoints"
        asked = self.post(f"/jobs/{job}/stop", {"drain": False, "targetDirectory": folder})["request-id"]

        def done() -> Any:
            told = self.get(f"/jobs/{job}/savepoints/{asked}")
            return told if told["status"]["id"] == "COMPLETED" else None

        told = wait_for("a savepoint", done)["operation"]
        if "location" not in told:
            raise RuntimeError(json.dumps(told)[-4000:])
        return str(told["location"])

    def cancel(self, job: str) -> None:
        url = f"http://127.0.0.1:{self.jobmanager.port(8081)}/jobs/{job}?mode=cancel"
        with urllib.request.urlopen(urllib.request.Request(url, method="PATCH"), timeout=30):
            pass
        wait_for("the end of a job", lambda: self.state(job) in ("CANCELED", "FAILED", "FINISHED"))

    def latest_checkpoint(self, job: str) -> str:
        """Where the newest one lies, by the files: the JobManager need not be there."""
        folder = self.host.shared / "flink-storage" / "checkpoints" / job
        whole = [path for path in folder.glob("chk-*") if (path / "_metadata").exists()]
        newest = max(whole, key=lambda path: int(path.name.removeprefix("chk-")))
        return f"file://{SHARED}/flink-storage/checkpoints/{job}/{newest.name}"

    def stop(self) -> None:
        for node in [*self.taskmanagers, self.jobmanager]:
            node.stop()
