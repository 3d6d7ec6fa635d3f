"""Windows over a Kafka topic in plain Python, exactly once: results, offsets and state go into one transaction.

    python examples/kafka_exactly_once.py --brokers localhost:9092 \\
        --readings readings --results peaks --state peaks-state

Readings are JSON with plug, ts (milliseconds since 1970) and load. Each batch is one transaction: the
results, what could not be read (into the topic RESULTS-rejected), and the snapshot of the operator with the
offsets up to which it has taken readings. A process that is killed leaves a transaction open, which Kafka
aborts; the next one starts from the last snapshot that was committed. Read the results with
isolation.level=read_committed.

The topic of the state should be compacted. Run one process for each value of --state: a second one fences the
first off.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

import sash

QUERY = sash.Query(
    key="plug",
    windows=sash.sliding("10s", "5s"),
    aggregates={"peak": sash.Max("load"), "mean": sash.Mean("load"), "n": sash.Count()},
    time="ts",
    time_unit="ms",
    watermark_delay="2s",
)
BATCH, WAIT = 500, 0.2
"""Readings a transaction at most, and seconds to wait for them."""


class Pipeline:
    """The operator, and what keeps it in step with Kafka."""

    def __init__(self, brokers: str, readings: str, results: str, state: str) -> None:
        self.readings, self.results, self.state = readings, results, state
        common = {"bootstrap.servers": brokers, "group.id": state, "log_level": 0}
        self.consumer_settings = common | {
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
        self.producer = Producer(
            {"bootstrap.servers": brokers, "transactional.id": state, "log_level": 0, "transaction.timeout.ms": 60_000}
        )
        # Ends the transactions of earlier processes and fences these off: only then is the last snapshot the last one.
        self.producer.init_transactions(60)
        saved, self.offsets = self.last_snapshot()
        self.operator = sash.Operator(QUERY) if saved is None else sash.Operator.restore(QUERY, saved)
        self.consumer = Consumer(self.consumer_settings)
        partitions = self.consumer.list_topics(readings, timeout=30).topics[readings].partitions
        self.consumer.assign([TopicPartition(readings, number, self.offsets.get(number, 0)) for number in partitions])

    def last_snapshot(self) -> tuple[bytes | None, dict[int, int]]:
        """The newest message of the state's topic: the snapshot, and the offsets by partition that belong to it."""
        consumer = Consumer(self.consumer_settings)
        consumer.assign([TopicPartition(self.state, 0, 0)])
        saved, offsets = None, {}
        while True:
            message = consumer.poll(30)
            if message is None:
                raise TimeoutError(f"the topic {self.state} cannot be read")
            if message.error() and message.error().code() == KafkaError._PARTITION_EOF:
                consumer.close()
                return saved, offsets
            raise_if_failed(message)
            saved = message.value()
            offsets = {int(number): offset for number, offset in json.loads(dict(message.headers())["offsets"]).items()}

    def step(self) -> int:
        """Take a batch in one transaction; how many readings it had. If it fails, the next process repeats it."""
        messages = [one for one in self.consumer.consume(BATCH, WAIT) if not is_end(one)]
        if not messages:
            return 0
        self.producer.begin_transaction()
        for message in messages:
            raise_if_failed(message)
            self.offsets[message.partition()] = message.offset() + 1
            try:
                rows = self.operator.process(json.loads(message.value()))
            except (TypeError, ValueError, KeyError) as error:  # the operator is as before the reading
                self.producer.produce(f"{self.results}-rejected", message.value(), headers={"reason": str(error)})
                continue
            for row in rows:
                self.producer.produce(self.results, json.dumps(row).encode(), row["plug"].encode())
        headers = {"offsets": json.dumps(self.offsets)}
        self.producer.produce(self.state, self.operator.snapshot(), b"snapshot", partition=0, headers=headers)
        self.producer.commit_transaction(60)
        return len(messages)


def is_end(message: Message) -> bool:
    """Whether it says only that a partition has no more messages for now."""
    error = message.error()
    return error is not None and error.code() == KafkaError._PARTITION_EOF


def raise_if_failed(message: Message) -> None:
    if message.error():
        raise KafkaException(message.error())


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("brokers", "readings", "results", "state"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--until-idle", type=float, metavar="SECONDS", help="end when nothing comes for so long")
    options: Any = parser.parse_args(arguments)
    pipeline = Pipeline(options.brokers, options.readings, options.results, options.state)
    newest = time.monotonic()
    while options.until_idle is None or time.monotonic() - newest < options.until_idle:
        if pipeline.step():
            newest = time.monotonic()
            print(f"at {pipeline.offsets}, {pipeline.operator.metrics['late_dropped']} late", flush=True)


if __name__ == "__main__":
    main()
