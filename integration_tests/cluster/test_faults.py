"""Kafka to Kafka on both engines, and a window in Redis, while parts of them die: nothing is lost, nothing is doubled.

Each stream runs through all of its tests, with a fault in each; the last one counts its rows.
"""

from __future__ import annotations

import pytest

from .engine import Host
from .faults import FAULTS, Fault, Stream, inflicted
from .flink import FlinkCluster
from .flink_stage import FlinkStage
from .kafka import Kafka
from .redis_stage import RedisStage
from .spark import SparkCluster
from .spark_stage import SparkStage


def faults_of(stream: str) -> pytest.MarkDecorator:
    """The faults of a stream; those that take long are for `make test-cluster` with SASH_TESTS=thorough."""
    faults = [fault for fault in FAULTS if fault.stream == stream]
    marked = [pytest.param(fault, marks=pytest.mark.thorough if fault.long else ()) for fault in faults]
    return pytest.mark.parametrize("fault", marked, ids=lambda fault: fault.name)


def count_rows(stream: Stream) -> None:
    found = stream.end()
    assert found.expected > 0
    assert (found.got, found.duplicates, found.losses) == (found.expected, 0, 0)


@pytest.fixture(scope="module")
def on_redis(host: Host) -> RedisStage:
    return RedisStage(host)


@faults_of("redis")
def test_redis_goes_on(on_redis: RedisStage, fault: Fault) -> None:
    inflicted(fault, on_redis)


def test_redis_has_every_row_once(on_redis: RedisStage) -> None:
    count_rows(on_redis)


@pytest.fixture(scope="module")
def on_flink(flink_cluster: FlinkCluster, kafka: Kafka) -> FlinkStage:
    return FlinkStage(flink_cluster, kafka)


@faults_of("flink")
def test_flink_goes_on(on_flink: FlinkStage, fault: Fault) -> None:
    inflicted(fault, on_flink)


def test_flink_has_every_row_once(on_flink: FlinkStage) -> None:
    count_rows(on_flink)


@pytest.fixture(scope="module")
def on_spark(spark_cluster: SparkCluster, kafka: Kafka) -> SparkStage:
    return SparkStage(spark_cluster, kafka)


@faults_of("spark")
def test_spark_goes_on(on_spark: SparkStage, fault: Fault) -> None:
    inflicted(fault, on_spark)


def test_spark_has_every_row_once(on_spark: SparkStage) -> None:
    count_rows(on_spark)
