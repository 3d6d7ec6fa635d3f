"""A job starts without trouble: real workers, the right interpreter, logs out of the way, both execution modes."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pyflink
import pytest

PRELUDE = """
import sash, sash_flink
from pyflink.common import Types
from pyflink.datastream import MapFunction

rows = [("a", 0, 3.0), ("b", 1, 9.0), ("a", 12, 5.0), ("b", 14, 4.0), ("a", 30, 2.0)]
query = sash.Query(key="plug", windows=sash.tumbling(10, on="t"), aggregates={"peak": sash.Max("load")}, time="t")

def loads(env):
    names = ["plug", "t", "load"]
    return env.from_collection(rows, Types.ROW_NAMED(names, [Types.STRING(), Types.LONG(), Types.DOUBLE()]))
"""
BOTH = """
env = sash_flink.environment(1, {settings})
stream = sash_flink.with_watermarks(loads(env), query, every_record=True)
ways = [sash_flink.aggregate(stream, query, packed=packed) for packed in (True, False)]
with ways[0].union(ways[1]).map(lambda row: str(tuple(row)), Types.STRING()).execute_and_collect() as found:
    print(sorted(found))
"""
WORKERS = """
import os
env = sash_flink.environment(1)
with loads(env).map(lambda row: os.getpid(), Types.LONG()).execute_and_collect() as found:
    print([os.getpid() in set(found), os.environ["FLINK_LOG_DIR"]])
"""
ROWS = ["('a', 0, 10, 3.0)", "('a', 10, 20, 5.0)", "('a', 30, 40, 2.0)", "('b', 0, 10, 9.0)", "('b', 10, 20, 4.0)"]


def ran(script: str) -> tuple[Any, str]:
    """What a process of its own, in which nobody has prepared anything, prints as its result, and says besides."""
    clean = {name: value for name, value in os.environ.items() if "FLINK" not in name and name[:7] != "_python"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PRELUDE + script],
        env=clean,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return ast.literal_eval(done.stdout), done.stderr


@pytest.mark.engine
@pytest.mark.xdist_group("flink")
def test_an_embedded_cluster_has_workers_of_its_own_and_is_quiet() -> None:
    (shared, logs), said = ran(WORKERS)
    assert shared is False
    assert said == ""
    assert Path(logs).is_dir() and "site-packages" not in logs


@pytest.mark.engine
@pytest.mark.xdist_group("flink")
def test_threads_of_the_jvm_instead_of_worker_processes() -> None:
    """``python.execution-mode: thread``, for those who want it: the same rows, both ways."""
    rows, _ = ran(BOTH.format(settings="{'python.execution-mode': 'thread'}"))
    assert rows == sorted(ROWS * 2)


def test_a_worker_does_not_look_for_garbage_among_what_is_loaded() -> None:
    counts, said = ran(
        "import gc\n"
        "from sash_flink.worker import freeze_loaded_objects\n"
        "before = gc.get_freeze_count()\n"
        "freeze_loaded_objects()\n"
        "print([before, gc.get_freeze_count(), len(gc.get_objects()), gc.get_threshold()[2]])\n"
    )
    before, frozen, left, full_after = counts
    assert (before, said) == (0, "")
    assert frozen > 20_000 > 1_000 > left  # whatever is imported with Sash and PyFlink
    assert full_after == 100


def test_a_bundle_does_not_wait_for_a_thread_that_notes_what_it_is_at() -> None:
    """Beam's own sampler, bundle after bundle: one that it had begun is ended as it was, none is begun after."""
    threads, said = ran(
        "import threading\n"
        "from apache_beam.runners.worker.statesampler import StateSampler, get_current_tracker\n"
        "from apache_beam.utils.counters import CounterFactory\n"
        "from sash_flink.worker import end_bundles_at_once\n"
        "sampler, counts = StateSampler('bundle', CounterFactory()), [threading.active_count()]\n"
        "for each in range(3):\n"
        "    sampler.start()\n"
        "    counts.append(threading.active_count())\n"
        "    end_bundles_at_once()\n"
        "    assert get_current_tracker() is sampler\n"
        "    sampler.stop_if_still_running()\n"
        "    assert get_current_tracker() is None\n"
        "    counts.append(threading.active_count())\n"
        "    assert sampler.finished\n"
        "    sampler.reset()\n"
        "print(counts)\n"
    )
    before = threads[0]
    assert (threads, said) == ([before, before + 1, *[before] * 5], "")


def test_servers_of_an_unknown_beam_are_not_changed() -> None:
    """A class file without the call that binds a port on all interfaces: there is nothing to change, and it is said."""
    from sash_flink.beam_servers import CLASS, bind_to_address

    folder = Path(pyflink.__file__).parent / "opt"
    (jar,) = folder.glob("flink-python-*.jar")
    with zipfile.ZipFile(jar) as archive:
        content = archive.read(CLASS.replace(".", "/") + ".class")
    changed = bind_to_address(content)
    assert b"forAddress" in changed and b"forAddress" not in content
    with pytest.raises(ValueError, match="does not bind a port as expected"):
        bind_to_address(changed)
    with pytest.raises(ValueError, match="does not bind a port as expected"):
        bind_to_address(content.replace(b"forPort", b"forPart"))
