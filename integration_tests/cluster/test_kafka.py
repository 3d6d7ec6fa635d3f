"""Kafka to Kafka on both engines, with faults on the way: nothing is lost, nothing comes twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from .engine import SHARED, wait_for
from .flink import FlinkCluster
from .kafka import Kafka
from .spark import SparkCluster
from .stream import POISON, expected, key_of, last, lines, records

STEPS = 60
pytestmark = pytest.mark.skip(
    reason="not finished: on Flink the job runs but completes no checkpoint, on Spark it has not been tried"
)


def topics(kafka: Kafka, name: str) -> tuple[str, str, str]:
    return kafka.topic(f"{name}-in"), kafka.topic(f"{name}-out"), kafka.topic(f"{name}-dead")


def stream_with(kafka: Kafka, source: str, faults: list[Callable[[], None]]) -> None:
    """The whole stream, with a fault after each part of it."""
    part = STEPS // (len(faults) + 1)
    for number, fault in enumerate(faults):
        kafka.produce(source, records(number * part, (number + 1) * part))
        fault()
    kafka.produce(source, records(len(faults) * part, STEPS))
    kafka.produce(source, last(STEPS))


def test_flink_is_exactly_once_whatever_dies(flink_cluster: FlinkCluster, kafka: Kafka) -> None:
    cluster = flink_cluster
    source, sink, dead = topics(kafka, "flink")
    job = cluster.submit("flink_kafka.py", kafka.inside, source, sink, dead)
    wait_for("the job", lambda: cluster.running(job))
    state = {"job": job}

    def ready() -> None:
        wait_for("the job", lambda: cluster.running(state["job"]), 120)
        done = cluster.checkpoints(state["job"])
        wait_for("a checkpoint", lambda: cluster.checkpoints(state["job"]) > done + 1, 60)

    def poison() -> None:
        kafka.produce(source, (("plug-1", text) for text in POISON))
        ready()

    def kill_a_taskmanager() -> None:
        ready()
        for node in cluster.taskmanagers:
            node.kill()
            node.restart()
        ready()

    def rescale() -> None:
        ready()
        savepoint = cluster.stop_with_savepoint(state["job"])
        arguments = ["flink_kafka.py", kafka.inside, source, sink, dead]
        state["job"] = cluster.submit(*arguments, parallelism=2, savepoint=savepoint)
        ready()

    stream_with(kafka, source, [poison, kill_a_taskmanager, rescale])
    wanted = expected(STEPS)
    found = kafka.consume(sink, lambda rows: len(rows) >= len(wanted))
    cluster.cancel(state["job"])
    assert lines(found) == wanted
    assert sorted(_texts(kafka, dead)) == sorted(POISON)


def test_spark_replaces_what_it_writes_again(spark_cluster: SparkCluster, kafka: Kafka) -> None:
    cluster = spark_cluster
    source, sink, dead = topics(kafka, "spark")
    arguments = ["spark_kafka.py", kafka.inside, source, sink, dead, f"{SHARED}/spark-kafka"]
    driver = cluster.start(*arguments)

    def some_results(more: int) -> None:
        kafka.consume(sink, lambda rows: len(rows) >= more)

    def poison() -> None:
        kafka.produce(source, (("plug-1", text) for text in POISON))

    def kill_a_worker() -> None:
        some_results(1)
        cluster.workers[0].kill()
        cluster.workers[0].restart()

    def kill_the_driver() -> None:
        nonlocal driver
        driver.kill()
        driver = cluster.start(*arguments)

    stream_with(kafka, source, [poison, kill_a_worker, kill_the_driver])
    wanted = expected(STEPS)
    found = kafka.consume(sink, lambda rows: len({key_of(row) for row in rows}) >= len(wanted), 240)
    driver.kill()
    by_key: dict[str, Any] = {key_of(row): row for row in found}
    assert lines(by_key.values()) == wanted
    twice = Counter(map(key_of, found))
    assert all(len(set(lines(row for row in found if key_of(row) == key))) == 1 for key, n in twice.items() if n > 1)
    assert set(_texts(kafka, dead)) == set(POISON)


def _texts(kafka: Kafka, topic: str) -> list[str]:
    return kafka.texts(topic, len(POISON))
