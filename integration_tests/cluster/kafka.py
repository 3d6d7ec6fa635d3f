"""A Kafka broker in a container, and a client of it in this process."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from ..ports import free_ports
from .engine import PATIENCE, SHARED, Host, wait_for

__all__ = ["Kafka"]

ROOT = Path(__file__).parents[2]


class Kafka:
    """One broker. ``inside`` is its address for the other containers."""

    inside = "kafka:9092"

    def __init__(self, host: Host) -> None:
        subprocess.run([ROOT / "scripts" / "kafka-jars"], check=True)
        shutil.copytree(ROOT / "build" / "kafka", host.shared / "kafka", dirs_exist_ok=True)
        shutil.copytree(ROOT / "compose" / "kafka", host.shared / "kafka", dirs_exist_ok=True)
        (port,) = free_ports(1)
        self.outside = f"127.0.0.1:{port}"
        command = [f"{SHARED}/kafka/start", f"{SHARED}/kafka/broker", self.outside]
        self.node = host.node("kafka", command, {19092: port}).start()
        self._admin = AdminClient({"bootstrap.servers": self.outside, "log_level": 0})
        self.wait()

    def wait(self) -> None:
        """Until it answers."""

        def answers() -> bool:
            try:
                return bool(self._admin.list_topics(timeout=2).brokers)
            except KafkaException:
                return False

        wait_for("Kafka's answer", answers)

    def topic(self, name: str, partitions: int = 2) -> str:
        """A new topic."""
        (made,) = self._admin.create_topics([NewTopic(name, partitions, 1)]).values()
        made.result(30)
        wait_for(f"the topic {name}", lambda: len(self.partitions(name)) == partitions)
        return name

    def produce(self, topic: str, records: Iterable[tuple[str, Mapping[str, Any] | str]]) -> int:
        """Send records, a key and a value each; how many. All are acknowledged when it returns."""
        patience = {"message.timeout.ms": int(PATIENCE * 1000)}  # a busy machine needs minutes to restart a broker
        settings = {"bootstrap.servers": self.outside, "enable.idempotence": True, "log_level": 0}
        producer = Producer({**settings, **patience})
        count = 0
        for key, value in records:
            producer.produce(topic, (value if isinstance(value, str) else json.dumps(value)).encode(), key.encode())
            producer.poll(0)
            count += 1
        left = producer.flush(PATIENCE)
        assert not left, f"{left} records were not acknowledged"
        return count

    def partitions(self, topic: str) -> list[TopicPartition]:
        """All of a topic, from their beginnings."""
        found = self._admin.list_topics(topic, timeout=30).topics[topic].partitions
        return [TopicPartition(topic, number, 0) for number in found]
