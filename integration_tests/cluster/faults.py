"""The faults: what happens to whom, and how to know that it is over. Tests and ``make chaos`` inflict them all."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from .flink_stage import FlinkStage
from .redis_stage import RedisStage
from .spark_stage import SparkStage
from .tally import Tally

__all__ = ["FAULTS", "Fault", "Stream", "inflicted"]

BEFORE, AFTER = 6, 15
"""Seconds of the stream that come before a fault, and while it lasts: the second must close a window."""
HANGING = 15
"""Seconds for which a broker does not answer."""


class Stream(Protocol):
    """Something that is fed and gives results."""

    @property
    def now(self) -> datetime: ...

    def feed(self, steps: int) -> None: ...

    def wait_beyond(self, moment: datetime) -> None: ...

    def whole(self) -> None: ...

    def end(self) -> Tally: ...


def _results_go_on(stage: Any, moment: datetime) -> None:
    stage.wait_beyond(moment)


def _letters_are_there(stage: Any, moment: datetime) -> None:
    stage.wait_beyond(moment)
    stage.wait_for_letters()


@dataclass(frozen=True)
class Fault:
    """``inflict`` gives what mends it, if that does not happen by itself; it is over when ``recovered`` returns."""

    stream: str
    name: str
    inflict: Callable[[Any], Callable[[], None] | None]
    recovered: Callable[[Any, datetime], None] = _results_go_on
    long: bool = False
    """Whether it takes minutes on a busy machine: ``make chaos`` and all tests have it, the quick ones do not."""

    def __str__(self) -> str:
        return f"{self.stream}: {self.name}"


def _kill_broker(stage: Any) -> None:
    stage.kafka.node.kill()
    stage.kafka.node.restart()


def _pause_broker(stage: Any) -> None:
    stage.kafka.node.pause()
    time.sleep(HANGING)
    stage.kafka.node.unpause()


def _cut_off_broker(stage: Any) -> None:
    stage.kafka.node.cut_off()
    time.sleep(HANGING)
    stage.kafka.node.reconnect()
    stage.kafka.wait()


FAULTS = [
    Fault("flink", "TaskManager killed", FlinkStage.kill_taskmanager),
    Fault("flink", "TaskManager paused past the heartbeat", FlinkStage.pause_taskmanager),
    Fault("flink", "TaskManager cut off the network and back", FlinkStage.cut_off_taskmanager),
    Fault("flink", "Python worker killed", FlinkStage.kill_worker),
    Fault("flink", "JobManager killed, from the last checkpoint", FlinkStage.kill_jobmanager),
    Fault("flink", "savepoint, parallelism 1 → 2 or 2 → 1", FlinkStage.rescale),
    Fault("flink", "poison records", FlinkStage.poison, _letters_are_there),
    Fault("flink", "exception in the operator", FlinkStage.fail),
    Fault("flink", "savepoint, parallelism 2 → 1 or 1 → 2", FlinkStage.rescale),
    Fault("flink", "Kafka broker killed", _kill_broker),
    Fault("flink", "Kafka broker hangs", _pause_broker, long=True),
    Fault("flink", "Kafka broker cut off the network and back", _cut_off_broker, long=True),
    Fault("flink", "JobManager cut off the network and back", FlinkStage.cut_off_jobmanager, long=True),
    Fault("flink", "checkpoint storage full", FlinkStage.fill_storage),
    Fault("flink", "recovery without checkpoint storage", FlinkStage.lose_storage_in_recovery, long=True),
    Fault("flink", "TaskManager killed during recovery", FlinkStage.kill_taskmanager_in_recovery, long=True),
    Fault("flink", "Python worker and Kafka broker killed", FlinkStage.kill_worker_and_broker, long=True),
    Fault("spark", "executor killed", SparkStage.kill_executor),
    Fault("spark", "worker killed", SparkStage.kill_worker),
    Fault("spark", "driver killed, from the checkpoint", SparkStage.kill_driver),
    Fault("spark", "driver killed, another number of workers", SparkStage.change_workers),
    Fault("spark", "poison records", SparkStage.poison, _letters_are_there),
    Fault("spark", "Kafka broker killed", _kill_broker),
    Fault("spark", "Kafka broker hangs", _pause_broker, long=True),
    Fault("spark", "checkpoint storage full", SparkStage.fill_storage),
    Fault("spark", "recovery with checkpoint storage full", SparkStage.fill_storage_in_recovery, long=True),
    Fault("spark", "driver killed during recovery", SparkStage.kill_driver_and_worker, long=True),
    Fault("spark", "executor and Kafka broker killed", SparkStage.kill_executor_and_broker, long=True),
    Fault("redis", "server killed", RedisStage.kill),
    Fault("redis", "server hangs", RedisStage.pause),
    Fault("redis", "server killed during recovery", RedisStage.kill_in_recovery),
    Fault("redis", "server and the window's process killed", RedisStage.lose_the_window),
]


def inflicted(fault: Fault, stage: Stream) -> float:
    """Have it happen in the middle of a stream that goes on; the seconds until what came after it has results."""
    stage.whole()
    stage.feed(BEFORE)
    moment, begin = stage.now, time.monotonic()
    mend = fault.inflict(stage)
    stage.feed(AFTER)
    if mend is not None:
        mend()
    fault.recovered(stage, moment)
    return time.monotonic() - begin
