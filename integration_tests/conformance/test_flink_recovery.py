"""Exactly once on Flink: a job that fails again and again gives the definition's rows in its committed files."""

from __future__ import annotations

import json
import os
import pickle
import random
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sash

from .cases import Case
from .rows import sorted_rows

if TYPE_CHECKING:
    from pyflink.datastream import DataStream, StreamExecutionEnvironment

KEYS, STEPS = 4, 150
QUERY = sash.Query(
    key="k",
    windows={
        "sliding": sash.sliding(200, 70, on="t"),
        "count": sash.sliding(8, 3),
        "session": sash.session(9, on="t"),
    },
    aggregates={"sum": sash.Sum("x"), "all": sash.Concat("s"), "n": sash.Count()},
    time="t",
    watermark_delay=6,
)


def rows() -> list[dict[str, Any]]:
    """Out of order by up to 6, with gaps; keys keep step."""
    found = []
    for step in range(STEPS):
        t = step * 4 - (step * 7) % 3 * 2 + step // 40 * 30
        found += [{"k": key, "t": t, "x": (step * 5 + key) % 11 - 4, "s": chr(97 + step % 26)} for key in range(KEYS)]
    return found


STREAM = Case("flink-recovery", QUERY, {"k": "int", "t": "long", "x": "long", "s": "string"}, rows())
FAILURES = 3
HALF = len(STREAM.rows) // 2
SAVEPOINTS = Path(__file__).parent / "savepoints"


def failing(folder: Path, seed: int) -> Any:
    """Passes rows on, not too fast, and now and then raises instead: so many times in all, counted in files.

    The class is made inside a function so that it is sent to the worker by value.
    """
    from pyflink.datastream import MapFunction

    class Failing(MapFunction):  # type: ignore[misc]  # PyFlink has no types
        def open(self, runtime_context: Any) -> None:
            self.chance = random.Random(seed * 1000 + runtime_context.get_attempt_number())
            self.left = self.chance.randrange(60, 400)
            self.failed = len(list(folder.glob("failed-*")))

        def map(self, value: Any) -> Any:
            self.left -= 1
            if self.left % 8 == 0:
                time.sleep(0.01)
            if self.left == 0 and self.failed < FAILURES:
                (folder / f"failed-{time.time_ns()}").touch()
                raise RuntimeError("a failure that the test asked for")
            return value

    return Failing()


def write(rows: list[dict[str, Any]], path: Path) -> None:
    """Rows into a file, which is there at once or not at all."""
    hidden = path.with_name(f".{path.name}")
    hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
    hidden.rename(path)


def source(env: StreamExecutionEnvironment, path: Path, *options: str) -> DataStream:
    """The stream from a file or a folder."""
    from pyflink.table import StreamTableEnvironment

    t_env = StreamTableEnvironment.create(env)
    name = f"`in-{time.time_ns()}`"
    settings = ["'connector' = 'filesystem'", f"'path' = '{path}'", "'format' = 'json'", *options]
    t_env.execute_sql(
        f"CREATE TEMPORARY TABLE {name} (k INT, t BIGINT, x BIGINT, s STRING) WITH ({', '.join(settings)})"
    )
    return t_env.to_data_stream(t_env.from_path(name))


def to_files(results: DataStream, folder: Path, query: sash.Query = QUERY) -> None:
    """Rows as texts into files that are committed with checkpoints."""
    from pyflink.common import Encoder, Types
    from pyflink.datastream.connectors.file_system import FileSink, RollingPolicy

    names = list(query.results)
    lines = results.map(lambda row: json.dumps(dict(zip(names, _values(row), strict=True))), Types.STRING())
    policy = RollingPolicy.on_checkpoint_rolling_policy()
    sink = FileSink.for_row_format(str(folder / "out"), Encoder.simple_string_encoder()).with_rolling_policy(policy)
    lines.sink_to(sink.build())


def _values(row: Any) -> list[Any]:
    return [[*each] if hasattr(each, "_values") else each for each in row]


def committed(folder: Path) -> list[dict[str, Any]]:
    """The rows of the files that are not in progress any more."""
    found = []
    for path in (folder / "out").rglob("part-*"):
        if ".inprogress" not in path.name and not path.name.startswith("."):
            found += [_told(json.loads(line)) for line in path.read_text().splitlines()]
    return found


def _told(row: dict[str, Any]) -> dict[str, Any]:
    for name in ("window_start", "window_end"):
        if isinstance(row[name], list):
            (row[name],) = [value for value in row[name] if value is not None]
    return row


ROCKSDB = {"state.backend.type": "rocksdb"}
BACKENDS = {
    "hashmap": {"state.backend.type": "hashmap"},
    "rocksdb, incremental": ROCKSDB,
    "rocksdb, whole": ROCKSDB | {"execution.checkpointing.incremental": "false"},
    "unaligned": {"execution.checkpointing.unaligned.enabled": "true"},
    "changelog": {"state.changelog.enabled": "true"},
    "1 key group": {"pipeline.max-parallelism": "1"},
    "32768 key groups": {"pipeline.max-parallelism": "32768"},
}
"""Where Flink keeps state, and how it writes checkpoints."""


def prepared(
    env: StreamExecutionEnvironment, folder: Path, backend: str = "hashmap", restarts: int = 20, delay: str = "50ms"
) -> None:
    """With checkpoints and restarts."""
    from pyflink.common import Configuration

    settings = Configuration()
    for name, value in {
        "execution.checkpointing.interval": "200ms",
        "execution.checkpointing.dir": (folder / "checkpoints").as_uri(),
        "execution.checkpointing.incremental": "true",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": str(restarts),
        "restart-strategy.fixed-delay.delay": delay,
        **BACKENDS[backend],
    }.items():
        settings.set_string(name, value)
    env.configure(settings)


def expected() -> list[str]:
    return sorted_rows(QUERY, STREAM.streamed(close=True))


@pytest.mark.parametrize(
    ("packed", "seed", "backend"),
    [
        (True, 1, "unaligned"),
        (True, 2, "rocksdb, incremental"),
        (False, 3, "32768 key groups"),
        (False, 4, "rocksdb, whole"),
        (True, 5, "changelog"),
        (False, 6, "1 key group"),
        *(
            pytest.param(packed, 10 + number, backend, marks=pytest.mark.thorough)
            for number, (backend, packed) in enumerate(product(BACKENDS, [True, False]))
        ),
    ],
)
def test_a_job_that_throws_loses_and_doubles_nothing(
    flink: StreamExecutionEnvironment, tmp_path: Path, packed: bool, seed: int, backend: str
) -> None:
    import sash_flink

    prepared(flink, tmp_path, backend)
    write(STREAM.rows, tmp_path / "in.json")
    stream = source(flink, tmp_path / "in.json")
    failed = stream.map(failing(tmp_path, seed), stream.get_type())
    marked = sash_flink.with_watermarks(failed, QUERY, every_record=seed % 2 == 1)
    to_files(sash_flink.aggregate(marked, QUERY, packed=packed, latency="20ms", buckets=3), tmp_path)
    flink.execute("recovery")
    assert len(list(tmp_path.glob("failed-*"))) == FAILURES
    assert sorted_rows(QUERY, committed(tmp_path)) == expected()


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb, incremental"])
def test_a_stream_in_two_phases_that_throws_loses_and_doubles_nothing(
    flink: StreamExecutionEnvironment, tmp_path: Path, backend: str
) -> None:
    """The first phase has no state, the second one holds slices and windows in checkpoints."""
    import sash_flink

    windows = {"sliding": sash.sliding(200, 70, on="t"), "steps": sash.cumulative(60, 20, on="t")}
    aggregates = {"sum": sash.Sum("x"), "n": sash.Count(), "middle": sash.Median("x")}
    query = QUERY.using(windows=windows, aggregates=aggregates, early=50)
    prepared(flink, tmp_path, backend)
    write(STREAM.rows, tmp_path / "in.json")
    stream = source(flink, tmp_path / "in.json")
    failed = stream.map(failing(tmp_path, 5), stream.get_type())
    marked = sash_flink.with_watermarks(failed, query, every_record=True)
    results = sash_flink.aggregate(marked, query, salted=2, latency="20ms", buckets=3)
    to_files(results, tmp_path, query)
    assert "sash: slices" in flink.get_execution_plan()
    flink.execute("recovery in two phases")
    assert len(list(tmp_path.glob("failed-*"))) == FAILURES
    assert sorted_rows(query, committed(tmp_path)) == sorted_rows(query, replace(STREAM, query=query).streamed(True))


@pytest.mark.parametrize(
    ("before", "after", "packed"),
    [
        ((1, "hashmap"), (2, "rocksdb, incremental"), True),
        ((2, "rocksdb, whole"), (1, "hashmap"), True),
        ((2, "hashmap"), (1, "rocksdb, whole"), False),
    ],
)
def test_a_savepoint_goes_on_at_another_parallelism_and_backend(
    flink: StreamExecutionEnvironment, tmp_path: Path, before: tuple[int, str], after: tuple[int, str], packed: bool
) -> None:
    """A job is stopped when it has read half of its input; another one goes on with the rest.

    Its first row is too late, by the watermark of the first job, and the only one of its key: no keyed state shows it.
    """
    path = saved(flink, tmp_path, *before, packed)
    late = {"k": KEYS, "t": 1, "x": 0, "s": "late"}
    write([late, *STREAM.rows[HALF:]], tmp_path / "in" / "1.json")
    restored_from(flink, path)
    second = endless(flink, tmp_path, *after, packed=packed)
    whole = sorted_rows(QUERY, STREAM.streamed())
    found = waited_for(whole, tmp_path)
    second.cancel().result()
    assert found == whole


def saved(env: StreamExecutionEnvironment, folder: Path, parallelism: int, backend: str, packed: bool) -> str:
    """Where the savepoint of a job is that has read half of its input."""
    from pyflink.java_gateway import get_gateway

    (folder / "in").mkdir()
    write(STREAM.rows[:HALF], folder / "in" / "0.json")
    job = endless(env, folder, parallelism, backend, packed)
    some = sorted_rows(QUERY, replace(STREAM, rows=STREAM.rows[:HALF]).streamed())
    assert waited_for(some, folder) == some
    # PyFlink's own stop_with_savepoint calls a method that is no more.
    form = get_gateway().jvm.org.apache.flink.core.execution.SavepointFormatType.CANONICAL
    path: str = job._j_job_client.stopWithSavepoint(False, str(folder / "savepoint"), form).get()
    return path


def restored_from(env: StreamExecutionEnvironment, path: str, **options: str) -> None:
    """Have a job go on from a savepoint."""
    from pyflink.common import Configuration

    settings = Configuration()
    settings.set_string("execution.state-recovery.path", path)
    for name, value in options.items():
        settings.set_string(f"execution.state-recovery.{name.replace('_', '-')}", value)
    env.configure(settings)


def with_the_rest(
    env: StreamExecutionEnvironment, folder: Path, savepoint: Path, packed: bool, restarts: int = 20
) -> None:
    """Run the second half of the stream from the state of our operator in a savepoint, and from nothing else in it."""
    import sash_flink

    prepared(env, folder, restarts=restarts)
    restored_from(env, str(savepoint), ignore_unclaimed_state="true")
    write(STREAM.rows[HALF:], folder / "rest.json")
    marked = sash_flink.with_watermarks(source(env, folder / "rest.json"), QUERY)
    to_files(sash_flink.aggregate(marked, QUERY, packed=packed, buckets=4, uid="windows"), folder)
    env.execute("the rest")


@pytest.mark.parametrize("packed", [True, False])
def test_savepoints_of_earlier_versions_are_read(
    flink: StreamExecutionEnvironment, tmp_path: Path, packed: bool
) -> None:
    """Those in ``savepoints/`` were written when version 1 of the state in Flink came, and can be read for ever."""
    with_the_rest(flink, tmp_path, SAVEPOINTS / f"1-{'packed' if packed else 'record'}", packed)
    before = Counter(sorted_rows(QUERY, replace(STREAM, rows=STREAM.rows[:HALF]).streamed()))
    assert Counter(sorted_rows(QUERY, committed(tmp_path))) == Counter(expected()) - before


def test_a_savepoint_of_a_newer_version_is_refused_and_nothing_is_written(
    flink: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    """One of version 1 in which every element of the state says that it is of version 99."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

    from sash_flink.journal import VERSION

    def element(version: int) -> bytes:  # how a pickled tuple begins that has the version first
        return pickle.dumps((version, None), protocol=4)[11:13]

    given = (SAVEPOINTS / "1-record" / "_metadata").read_bytes()
    newer = re.sub(rb"(\x80\x04\x95.{8})" + re.escape(element(1)), rb"\1" + element(99), given, flags=re.DOTALL)
    assert newer != given
    (tmp_path / "newer").mkdir()
    (tmp_path / "newer" / "_metadata").write_bytes(newer)
    with pytest.raises(Py4JJavaError) as error:
        with_the_rest(flink, tmp_path, tmp_path / "newer", packed=False, restarts=0)
    assert f"the state in Flink is of version 99, but this version of Sash reads up to {VERSION}" in str(error.value)
    assert not committed(tmp_path)


@pytest.mark.parametrize("packed", [True, False])
def test_a_worker_that_is_killed_is_replaced(flink: StreamExecutionEnvironment, tmp_path: Path, packed: bool) -> None:
    (tmp_path / "in").mkdir()
    write(STREAM.rows[:HALF], tmp_path / "in" / "0.json")
    job = endless(flink, tmp_path, 1, packed=packed)
    some = sorted_rows(QUERY, replace(STREAM, rows=STREAM.rows[:HALF]).streamed())
    assert waited_for(some, tmp_path) == some
    killed = list(workers())
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    write(STREAM.rows[HALF:], tmp_path / "in" / "1.json")
    whole = sorted_rows(QUERY, STREAM.streamed())
    found = waited_for(whole, tmp_path)
    job.cancel().result()
    assert killed
    assert found == whole


def workers() -> Iterator[int]:
    """The Python workers of Flink's that this process has started, by way of a JVM."""
    parents, lines = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat, lines[int(entry.name)] = (entry / "stat").read_text(), (entry / "cmdline").read_text()
            except OSError:  # it has just ended
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    for pid, line in lines.items():
        above = pid
        while above in parents and above != os.getpid():
            above = parents[above]
        if above == os.getpid() and "pyflink.fn_execution" in line:
            yield pid


def endless(
    env: StreamExecutionEnvironment,
    folder: Path,
    parallelism: int,
    backend: str = "hashmap",
    packed: bool = True,
    delay: str = "50ms",
) -> Any:
    """A job that looks for new files for ever."""
    import sash_flink

    env.set_parallelism(parallelism)
    env.disable_operator_chaining()  # what is chained, and so what operators are called, depends on the parallelism
    prepared(env, folder, backend, delay=delay)
    stream = source(env, folder / "in", "'source.monitor-interval' = '200ms'")
    marked = sash_flink.with_watermarks(stream, QUERY)
    marked._j_data_stream.setParallelism(1)
    to_files(sash_flink.aggregate(marked, QUERY, latency="20ms", packed=packed, buckets=4, uid="windows"), folder)
    return env.execute_async(f"savepoint at {parallelism}")


def waited_for(rows: list[str], folder: Path) -> list[str]:
    """The rows that are committed, when there are as many as these, or when that takes too long."""
    end = time.monotonic() + 200
    while len(found := committed(folder)) < len(rows) and time.monotonic() < end:
        time.sleep(0.2)
    return sorted_rows(QUERY, found)
