"""The stream on Spark, with output that replaces itself, and what can happen to it."""

from __future__ import annotations

from collections.abc import Callable

from .engine import SHARED, wait_for
from .kafka import Kafka
from .spark import SparkCluster
from .stage import Stage
from .tail import Written

__all__ = ["SparkStage"]

Mend = Callable[[], None]


class SparkStage(Stage):
    """A driver in a container of its own, and executors on two workers, at times three."""

    name = "spark"

    def __init__(self, cluster: SparkCluster, kafka: Kafka) -> None:
        super().__init__(kafka)
        self.cluster = cluster
        self._start()
        self.begin()

    def _start(self) -> None:
        arguments = (self.kafka.inside, self.source, self.sink, self.dead, f"{SHARED}/spark-storage/checkpoint")
        self.driver = self.cluster.start("spark_kafka.py", *arguments)

    def kept(self, written: list[Written]) -> list[Written]:
        """Of each key the last one, as in a compacted topic; what it replaces must be the same, or counts too."""
        return list(dict.fromkeys(written))

    def whole(self) -> None:
        self.cluster.wait(len(self.cluster.workers))
        wait_for("Spark executors", lambda: self.cluster.executors() >= len(self.cluster.workers))

    def stop(self) -> None:
        self.driver.stop()

    # faults

    def kill_executor(self) -> None:
        self.cluster.workers[0].kill_process("[C]oarseGrainedExecutorBackend")

    def kill_worker(self) -> Mend:
        """And with it its executor."""
        worker = self.cluster.workers[-1]
        worker.kill()
        return worker.restart

    def kill_driver(self) -> None:
        """It goes on from its checkpoint."""
        self.driver.kill()
        self.driver.stop()
        self._start()

    def change_workers(self) -> None:
        """The driver dies, and goes on with three workers instead of two, or with two instead of three."""
        self.driver.kill()
        self.driver.stop()
        if len(self.cluster.workers) == 2:
            self.cluster.add_worker()
        else:
            self.cluster.remove_worker()
        self._start()

    def fill_storage(self) -> Mend:
        """The query fails as it writes its state or its logs; there is room again when it restarts."""
        storage = self.cluster.host.storages["spark"]
        storage.fill()

        def mend() -> None:
            wait_for("the end of the driver", self.driver.ended)
            storage.mend()
            self.driver.stop()
            self._start()

        return mend

    def fill_storage_in_recovery(self) -> Mend:
        """The driver dies, and the next one finds no room."""
        mend = self.fill_storage()
        self.kill_driver()
        return mend

    def kill_driver_and_worker(self) -> Mend:
        """The driver dies while it recovers from the loss of a worker."""
        mend = self.kill_worker()
        self.kill_driver()
        return mend

    def kill_executor_and_broker(self) -> None:
        """Both at once."""
        self.kill_executor()
        self.kafka.node.kill()
        self.kafka.node.restart()
