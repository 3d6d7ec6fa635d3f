"""Checkpoints of Spark as a release leaves them: for those that come after it, which must read or refuse them.

    python -m integration_tests.cluster.release FORMAT

writes one of the stream up to step 40, by this version of Sash, to ``checkpoints/spark-format-FORMAT.tar.gz``. It is
done once for each version of the state's format (docs/state.md).
"""

from __future__ import annotations

import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from . import engine
from .engine import SHARED, Node, wait_for
from .kafka import Kafka
from .package import prepare
from .spark import SparkCluster
from .stream import records, told
from .tail import Tail

__all__ = ["STEPS", "archive", "start", "unpack"]

STEPS = 40
FOLDER = "release-checkpoint"


def archive(version: int) -> Path:
    """Where a format's checkpoint is kept."""
    return Path(__file__).parent / "checkpoints" / f"spark-format-{version}.tar.gz"


def start(cluster: SparkCluster, kafka: Kafka, sash: str = "sash.zip") -> Node:
    """The job of the fault tests, on topics and a checkpoint of its own."""
    topics = [f"release-{part}" for part in ("in", "out", "dead")]
    return cluster.start("spark_kafka.py", kafka.inside, *topics, f"{SHARED}/{FOLDER}", sash=sash)


def unpack(version: int, shared: Path) -> None:
    """Put a kept checkpoint where the job looks for its own."""
    with tarfile.open(archive(version)) as packed:
        packed.extractall(shared / FOLDER, filter="data")


def main() -> None:
    version = int(sys.argv[1])
    engine.remove_leftovers()
    try:
        with TemporaryDirectory(prefix="sash-release-") as folder:
            shared = Path(folder)
            prepare(shared)
            host = engine.Host(shared)
            kafka, wanted = Kafka(host), len(told(STEPS))
            for part in ("in", "out", "dead"):
                kafka.topic(f"release-{part}")
            kafka.produce("release-in", records(0, STEPS))
            driver = start(SparkCluster(host), kafka)
            Tail(kafka, "release-out").wait("all results", lambda found: len(found) >= wanted)
            kept = shared / FOLDER / "release-out"
            wait_for("the last commit", lambda: _numbers(kept / "commits") == _numbers(kept / "offsets"))
            driver.kill()
            archive(version).parent.mkdir(exist_ok=True)
            with tarfile.open(archive(version), "w:gz") as packed:
                packed.add(kept, "release-out", filter=lambda file: None if ".tmp" in file.name else file)
    finally:
        engine.remove_leftovers()


def _numbers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.isdigit())


if __name__ == "__main__":
    main()
