"""A Kafka broker as a process of this machine, on loopback, for tests that need no cluster."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from .ports import free_ports

__all__ = ["Broker"]

ROOT = Path(__file__).parents[1]
PATIENCE_S = 90


class Broker:
    """One broker that is its own controller; its settings are those of the clusters, its ports are free ones."""

    def __init__(self, folder: Path) -> None:
        subprocess.run([ROOT / "scripts" / "kafka-jars"], check=True)
        client, inside, controller = free_ports(3)
        self.servers = f"127.0.0.1:{client}"
        settings = (ROOT / "compose" / "kafka" / "server.properties").read_text(encoding="utf-8")
        settings = settings.replace("0.0.0.0:19092", self.servers).replace("127.0.0.1:19092", self.servers)
        settings = settings.replace("0.0.0.0:9092", f"127.0.0.1:{inside}").replace("kafka:9092", f"127.0.0.1:{inside}")
        settings = settings.replace("127.0.0.1:9093", f"127.0.0.1:{controller}")
        (folder / "server.properties").write_text(settings.replace("/var/tmp/kafka", str(folder / "data")))
        self._folder, self._log = folder, (folder / "log").open("wb")
        tool = ("kafka.tools.StorageTool", "format", "--cluster-id", "sash-broker-0000000000", "--config")
        subprocess.run(self._java(*tool), check=True, stdout=self._log, stderr=self._log)
        self._process = subprocess.Popen(self._java("kafka.Kafka"), stdout=self._log, stderr=self._log)
        self._admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        self._wait()

    def _java(self, *command: str) -> list[str]:
        jars, home = str(ROOT / "build" / "kafka" / "broker" / "*"), os.environ.get("JAVA_HOME")
        java = "java" if home is None else f"{home}/bin/java"
        return [java, "-Xmx384m", "-cp", jars, *command, str(self._folder / "server.properties")]

    def _wait(self) -> None:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            assert self._process.poll() is None, (self._folder / "log").read_text()
            try:
                if self._admin.list_topics(timeout=2).brokers:
                    return
            except KafkaException:
                time.sleep(0.2)
        raise TimeoutError(f"the broker did not start: {(self._folder / 'log').read_text()}")

    def stop(self) -> None:
        """End the broker."""
        self._process.kill()
        self._process.wait()
        self._log.close()

    def topic(self, name: str, partitions: int = 2) -> str:
        """A new topic, by its URL."""
        (made,) = self._admin.create_topics([NewTopic(name, partitions, 1)]).values()
        made.result(30)
        return f"kafka://{self.servers}/{name}"

    def produce(self, topic: str, rows: Iterable[Mapping[str, Any] | str], key: str = "key") -> None:
        """Send rows as JSON, by the key of one of their columns, or texts as they are, without one."""
        producer = Producer({"bootstrap.servers": self.servers, "enable.idempotence": True, "log_level": 0})
        for row in rows:
            text, by = (row, None) if isinstance(row, str) else (json.dumps(row), str(row[key]).encode())
            producer.produce(topic.rpartition("/")[2], text.encode(), by)
        assert not producer.flush(60)

    def read(self, topic: str, isolation: str = "read_committed") -> list[tuple[bytes | None, dict[str, Any]]]:
        """The keys and rows of all records that there are now."""
        name = topic.rpartition("/")[2]
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": "reader",
                "isolation.level": isolation,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "log_level": 0,
            }
        )
        parts = consumer.list_topics(name, timeout=30).topics[name].partitions
        consumer.assign([TopicPartition(name, number, 0) for number in parts])
        found: list[tuple[bytes | None, dict[str, Any]]] = []
        left, end = set(parts), time.monotonic() + PATIENCE_S
        while left:
            assert time.monotonic() < end, f"partitions {left} of {name} have no end"
            for message in consumer.consume(1000, 1.0):
                if message.error() is None:
                    found.append((message.key(), json.loads(message.value() or b"")))
                else:
                    left.discard(message.partition())  # which may have come to its end twice
        consumer.close()
        return found
