"""The clusters, each started once a run and when it is first needed. Without a Docker engine their tests do not run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from . import engine
from .flink import FlinkCluster
from .kafka import Kafka
from .package import prepare
from .spark import SparkCluster

HERE = Path(__file__).parent
collect_ignore_glob = ["jobs/*"]  # scripts that run when they are imported


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One process runs them all, so that clusters are started once."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.cluster)
            item.add_marker(pytest.mark.xdist_group("cluster"))
            item.add_marker(pytest.mark.timeout(3 * engine.PATIENCE))


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[engine.Host]:
    if not engine.available():
        if os.environ.get("SASH_NEEDS_DOCKER"):
            pytest.fail("no Docker engine answers: integration_tests/docker-engine starts one")
        pytest.skip("no Docker engine answers: make test-cluster runs the cluster tests")
    engine.remove_leftovers()
    shared = tmp_path_factory.mktemp("cluster")
    prepare(shared)
    there = engine.Host(shared)
    try:
        yield there
    finally:
        engine.remove_leftovers()
        there.close()


@pytest.fixture(scope="session")
def kafka(host: engine.Host) -> Kafka:
    return Kafka(host)


@pytest.fixture(scope="session")
def flink_cluster(host: engine.Host) -> Iterator[FlinkCluster]:
    cluster = FlinkCluster(host)
    yield cluster
    cluster.stop()


@pytest.fixture(scope="session")
def spark_cluster(host: engine.Host) -> Iterator[SparkCluster]:
    cluster = SparkCluster(host)
    yield cluster
    cluster.stop()
