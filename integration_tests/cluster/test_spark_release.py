"""A checkpoint of Spark whose state an earlier release has written is read; one of a later release is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from sash.state.snapshot_format import VERSION

from . import release
from .engine import wait_for
from .kafka import Kafka
from .package import pack
from .spark import SparkCluster
from .stream import expected, last, lines, records, told
from .tail import Tail

END = release.STEPS + 20


@pytest.fixture(scope="module")
def topics(kafka: Kafka) -> None:
    for part in ("in", "out", "dead"):
        kafka.topic(f"release-{part}")
    kafka.produce("release-in", records(0, END))
    kafka.produce("release-in", last(END))


@pytest.fixture
def shared(spark_cluster: SparkCluster) -> Path:
    folder = spark_cluster.host.shared
    shutil.rmtree(folder / release.FOLDER, ignore_errors=True)
    return folder


def test_every_format_so_far_is_kept() -> None:
    assert all(release.archive(version).exists() for version in range(1, VERSION + 1))


def test_a_newer_format_is_refused(spark_cluster: SparkCluster, kafka: Kafka, topics: None, shared: Path) -> None:
    """As an older release sees the checkpoint of this one."""
    older = {"sash/state/snapshot_format.py": (f"\nVERSION = {VERSION}\n", f"\nVERSION = {VERSION - 1}\n")}
    pack(shared / "older.zip", older)
    release.unpack(VERSION, shared)
    driver = release.start(spark_cluster, kafka, "older.zip")
    wait_for("the job's end", driver.ended)
    says = f"the saved state is of format version {VERSION}, but this version of Sash reads up to {VERSION - 1}"
    assert says in driver.log()
    driver.stop()


@pytest.mark.parametrize("version", range(1, VERSION + 1))
def test_an_earlier_format_is_read(
    version: int, spark_cluster: SparkCluster, kafka: Kafka, topics: None, shared: Path
) -> None:
    release.unpack(version, shared)
    driver = release.start(spark_cluster, kafka)
    results = Tail(kafka, "release-out")
    before = set(told(release.STEPS))
    wanted = [line for line in expected(END) if line not in before]
    results.wait("all results", lambda found: len(found) >= len(wanted))
    results.settle()
    driver.stop()
    assert lines(json.loads(each.value) for each in results.found) == wanted
