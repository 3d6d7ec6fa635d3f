"""The stream on Flink, exactly once, and what can happen to it."""

from __future__ import annotations

import time
from collections.abc import Callable

from .engine import Node, wait_for
from .flink import FlinkCluster
from .kafka import Kafka
from .stage import Stage
from .tail import Written
from .touchy import SIGN

__all__ = ["FlinkStage"]

Mend = Callable[[], None]


class FlinkStage(Stage):
    """A job of parallelism 1 at first: of two TaskManagers one is at work, and one to spare."""

    name = "flink"

    def __init__(self, cluster: FlinkCluster, kafka: Kafka) -> None:
        super().__init__(kafka)
        self.cluster = cluster
        self.parallelism = 1
        self._submit(None)
        self.begin()

    def _submit(self, state: str | None) -> None:
        arguments = (self.kafka.inside, self.source, self.sink, self.dead)
        self.job = self.cluster.submit("flink_kafka.py", *arguments, parallelism=self.parallelism, savepoint=state)

    def kept(self, written: list[Written]) -> list[Written]:
        """All: what is committed is there once."""
        return written

    def whole(self) -> None:
        self.cluster.wait(len(self.cluster.taskmanagers))
        wait_for("the Flink job", lambda: self.cluster.running(self.job))

    def stop(self) -> None:
        self.cluster.cancel(self.job)

    # faults

    def _busy(self) -> Node:
        """A TaskManager that is at work."""
        names = self.cluster.at_work(self.job)
        return next(node for node in self.cluster.taskmanagers if node.name in names)

    def _noticed(self) -> None:
        left = len(self.cluster.taskmanagers) - 1
        wait_for("the loss of a TaskManager", lambda: self.cluster.slots() <= left)

    def kill_taskmanager(self) -> Mend:
        node = self._busy()
        node.kill()
        return node.restart

    def pause_taskmanager(self) -> Mend:
        """Until the JobManager thinks that it is dead; then it comes back, and thinks that it is at work."""
        node = self._busy()
        node.pause()
        self._noticed()
        return node.unpause

    def cut_off_taskmanager(self) -> Mend:
        node = self._busy()
        node.cut_off()
        self._noticed()
        return node.reconnect

    def kill_worker(self) -> None:
        """kill -9 of the Python process only: the operator in the JVM fails."""
        self._busy().kill_process("[b]eam_boot")

    def kill_jobmanager(self) -> None:
        """With it the job is gone: it is begun again from the last checkpoint."""
        jobmanager = self.cluster.jobmanager
        jobmanager.kill()
        checkpoint = self.cluster.latest_checkpoint(self.job)
        jobmanager.restart()
        self.cluster.wait(len(self.cluster.taskmanagers))
        self._submit(checkpoint)

    def cut_off_jobmanager(self) -> None:
        """The halves of the cluster do not hear each other until both have given up waiting."""
        node = self.cluster.jobmanager
        node.cut_off()
        time.sleep(15)
        node.reconnect()
        wait_for("the JobManager", lambda: self.cluster.slots() >= 0)

    def fill_storage(self) -> Mend:
        """No checkpoint can be written: one has failed when this returns."""
        failed = self.cluster.failed_checkpoints(self.job)
        storage = self.cluster.host.storages["flink"]
        storage.fill()
        wait_for("a checkpoint that fails", lambda: self.cluster.failed_checkpoints(self.job) > failed)
        return storage.mend

    def lose_storage_in_recovery(self) -> Mend:
        """The worker dies, and for some seconds there is no checkpoint to start from."""
        storage = self.cluster.host.storages["flink"]
        storage.hide()
        self._lose_worker()
        wait_for("the failure", lambda: not self.cluster.running(self.job))
        time.sleep(5)  # restarts come twice a second
        return storage.mend

    def _lose_worker(self) -> None:
        """The JVM notices that its worker is gone when there is something to do for it."""
        self.kill_worker()
        self.feed(3)

    def kill_taskmanager_in_recovery(self) -> Mend:
        """The worker dies, and while the job starts again the TaskManager does, too."""
        node = self._busy()
        self._lose_worker()
        wait_for("the failure", lambda: not self.cluster.running(self.job))
        node.kill()
        self._noticed()
        return node.restart

    def kill_worker_and_broker(self) -> None:
        """Both at once."""
        self.kill_worker()
        self.kafka.node.kill()
        self.kafka.node.restart()

    def rescale(self) -> None:
        """Stop with a savepoint, and go on with 2 tasks instead of 1, or with 1 instead of 2."""
        wait_for("the Flink job", lambda: self.cluster.running(self.job))
        savepoint = self.cluster.stop_with_savepoint(self.job)
        self.parallelism = 3 - self.parallelism
        self._submit(savepoint)

    def fail(self) -> None:
        """An exception in the operator's own code."""
        (self.cluster.host.shared / SIGN).touch()
