"""What has been written to a topic, followed as it grows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from confluent_kafka import Consumer

from .engine import PATIENCE
from .kafka import Kafka

__all__ = ["Tail", "Written"]


@dataclass(frozen=True)
class Written:
    """A record as it is in Kafka."""

    key: str
    value: str


class Tail:
    """Reads what is committed of a topic, each record once, from its beginning. A broker that is away is waited for."""

    def __init__(self, kafka: Kafka, topic: str) -> None:
        self.topic = topic
        self.found: list[Written] = []
        self._consumer = Consumer(
            {
                "bootstrap.servers": kafka.outside,
                "group.id": f"tail-of-{topic}",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        self._consumer.assign(kafka.partitions(topic))

    def wait(self, what: str, enough: Callable[[list[Written]], bool], seconds: float = PATIENCE) -> None:
        """Until enough is there."""
        end = time.monotonic() + seconds
        while not enough(self.found):
            if time.monotonic() > end:
                raise TimeoutError(
                    f"{what}: not after {seconds} s; the topic {self.topic} has {len(self.found)} records"
                )
            self._read(0.5)

    def settle(self, seconds: float = 3) -> None:
        """Read on until nothing has come for so long: there may be more than was asked for."""
        while self._read(seconds):
            pass

    def close(self) -> None:
        self._consumer.close()

    def _read(self, seconds: float) -> int:
        before = len(self.found)
        for message in self._consumer.consume(1000, timeout=seconds):
            value = message.value()
            if message.error() is None and value is not None:
                self.found.append(Written((message.key() or b"").decode(), value.decode()))
        return len(self.found) - before
