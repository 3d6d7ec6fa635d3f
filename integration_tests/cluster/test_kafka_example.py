"""examples/kafka_exactly_once.py against a real broker, killed over and over: each result is there once."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError

import sash

from ..test_examples import program
from .kafka import Kafka

PROGRAM = Path(__file__).parents[2] / "examples" / "kafka_exactly_once.py"
READINGS, KILLS = 6000, 4


def read(kafka: Kafka, topic: str) -> list[bytes]:
    """All committed messages of a topic."""
    settings = {"bootstrap.servers": kafka.outside, "group.id": "reader", "log_level": 0}
    consumer = Consumer(settings | {"isolation.level": "read_committed", "enable.partition.eof": True})
    left = kafka.partitions(topic)
    consumer.assign(left)
    ended, values = 0, []
    while ended < len(left):
        message = consumer.poll(30)
        assert message is not None, f"{topic} cannot be read"
        if (error := message.error()) is None:
            values.append(message.value() or b"")
        else:
            assert error.code() == KafkaError._PARTITION_EOF
            ended += 1
    consumer.close()
    return values


def test_results_are_there_once_though_the_process_is_killed(kafka: Kafka) -> None:
    chance = random.Random(11)
    readings: list[dict[str, Any]] = [
        {"plug": f"plug {i % 5}", "ts": i * 50 - chance.randrange(1000), "load": chance.random()}
        for i in range(READINGS)
    ]
    topics = {name: kafka.topic(f"example-{name}", 1) for name in ("readings", "peaks", "peaks-rejected", "state")}
    arguments = ["--brokers", kafka.outside, "--readings", topics["readings"], "--results", topics["peaks"]]
    command = [sys.executable, str(PROGRAM), *arguments, "--state", topics["state"]]
    lines = [(reading["plug"], reading) for reading in readings]
    for number in range(KILLS):
        part = slice(number * READINGS // KILLS, (number + 1) * READINGS // KILLS)
        kafka.produce(topics["readings"], [*lines[part], ("plug 0", "not JSON")])
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        process.stdout.readline()  # it has committed a transaction
        time.sleep(chance.random() / 10)
        process.kill()
        process.wait()
        process.stdout.close()
    subprocess.run([*command, "--until-idle", "3"], check=True, timeout=120)

    operator = sash.Operator(program("kafka_exactly_once").QUERY)
    expected = [result for reading in readings for result in operator.process(reading)]
    assert len(expected) > 200
    assert sorted(map(str, map(json.loads, read(kafka, topics["peaks"])))) == sorted(map(str, expected))
    assert read(kafka, topics["peaks-rejected"]) == [b"not JSON"] * KILLS
