"""A Spark cluster of containers: a master and workers; drivers run in a container of their own."""

from __future__ import annotations

import importlib.util
import json
import sys
import urllib.request
from pathlib import Path
from typing import Any

from .engine import SHARED, Host, Node, wait_for

__all__ = ["SparkCluster"]


class SparkCluster:
    """``workers`` of one core each. A driver is a process in the container ``driver``."""

    def __init__(self, host: Host, workers: int = 2) -> None:
        found = importlib.util.find_spec("pyspark")
        assert found is not None and found.origin is not None
        self.home = str(Path(found.origin).parent)
        self.host = host
        self.master = self._node(
            "spark-master", "org.apache.spark.deploy.master.Master", "--host", "spark-master", "--port", "7077",
            "--webui-port", "8080", ports=[8080],
        )  # fmt: skip
        self.workers: list[Node] = []
        self._drivers = 0
        for _ in range(workers):
            self.add_worker()
        self.driver = host.node("spark-driver", ["sleep", "infinity"], environment=self._environment()).start()
        self.wait(workers)

    def _environment(self) -> dict[str, str]:
        return {
            "SPARK_HOME": self.home,
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_DIRS": "/var/tmp",
            # a dead worker is noticed at once by its connection, and one that hangs after so many seconds; workers have
            # to know it too, for they report four times as often
            "SPARK_DAEMON_JAVA_OPTS": "-Dspark.worker.timeout=10",
            "SPARK_DAEMON_MEMORY": "256m",
        }

    def _node(self, name: str, role: str, *options: str, ports: Any = ()) -> Node:
        command = [f"{self.home}/bin/spark-class", role, *options]
        return self.host.node(name, command, ports, self._environment()).start()

    def add_worker(self) -> None:
        """One more."""
        name = f"spark-worker-{len(self.workers)}"
        options = ["--host", name, "--cores", "1", "--memory", "1g", "--work-dir", "/var/tmp/work"]
        role = "org.apache.spark.deploy.worker.Worker"
        self.workers.append(self._node(name, role, *options, "spark://spark-master:7077"))

    def remove_worker(self) -> None:
        """One less."""
        self.workers.pop().stop()
        wait_for("one Spark worker less", lambda: self.alive() <= len(self.workers))

    def _state(self) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.master.port(8080)}/json/", timeout=5) as answer:
            return json.load(answer)

    def alive(self) -> int:
        """How many workers the master knows to be there."""
        return sum(worker["state"] == "ALIVE" for worker in self._state()["workers"])

    def executors(self) -> int:
        """On how many of them jobs have cores."""
        return sum(worker["state"] == "ALIVE" and worker["coresused"] > 0 for worker in self._state()["workers"])

    def wait(self, workers: int) -> None:
        wait_for(f"{workers} Spark workers", lambda: self.alive() >= workers)

    def command(self, job: str, *arguments: str, sash: str = "sash.zip", **settings: str) -> list[str]:
        """What submits a job of the folder ``jobs``, Sash and all."""
        defaults = {
            "spark.executor.memory": "640m",
            "spark.driver.memory": "640m",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.session.timeZone": "UTC",
            "spark.ui.enabled": "false",
            "spark.log.level": "WARN",
            "spark.network.timeout": "20s",
            "spark.network.timeoutInterval": "5s",
            "spark.executor.heartbeatInterval": "2s",
            "spark.jars": ",".join(f"{SHARED}/kafka/spark/{jar}" for jar in self._jars()),
        }
        told = [f"--conf={name}={value}" for name, value in (defaults | settings).items() if value]
        where = ["--master", "spark://spark-master:7077", "--py-files", f"{SHARED}/{sash}"]
        return [f"{self.home}/bin/spark-submit", *where, *told, f"{SHARED}/jobs/{job}", *arguments]

    def _jars(self) -> list[str]:
        folder = self.host.shared / "kafka" / "spark"
        return sorted(path.name for path in folder.glob("*.jar"))

    def run(self, job: str, *arguments: str, **settings: str) -> str:
        """Run a job to its end."""
        return self.driver.run(*self.command(job, *arguments, **settings))

    def start(self, job: str, *arguments: str, **settings: str) -> Node:
        """Have a job run in a container of its own, which can be killed."""
        self._drivers += 1
        name = f"spark-job-{self._drivers}"
        return self.host.node(name, self.command(job, *arguments, **settings), (), self._environment()).start()

    def stop(self) -> None:
        for node in [self.driver, *self.workers, self.master]:
            node.stop()
