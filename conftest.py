"""The real engines that tests run on: each a fixture, started once a session, and only if a test asks."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyflink.datastream import StreamExecutionEnvironment
    from pyspark.sql import SparkSession

ENGINES = ("spark", "flink")
LONG = (
    *("flink", "spark", "matrix", "kafka", "test_rolling.py", "test_slicing_kernels.py", "browser"),
    *("test_experiments.py", "test_compiled_contenders.py", "test_bench_mta.py", "test_bench_local.py"),
)
"""The groups of tests that take longest, which begin first."""

THOROUGH = os.environ.get("SASH_TESTS") == "thorough"
"""Whether all examples and all tests run, as in ``make test-all``."""
FEWER, FEWEST = 3, 10
"""Without it, one of so many examples that a test asks for is tried, but never less than the fewest."""
# No deadline: a machine may be busy, and the first call of a kernel compiles it.
settings.register_profile("thorough", deadline=None)
settings.register_profile("ci", settings.get_profile("thorough"), max_examples=100 // FEWER)
settings.load_profile("thorough" if THOROUGH else "ci")

BRIEF_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For JVMs that end after minutes: the optimising compiler and parallel collectors cost more than they save."""


@pytest.hookimpl(tryfirst=True)  # before `-m` selects by marker and before xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark each test by the engine it uses, and group tests for xdist: one process runs all of a group.

    Tests of one engine are a group, so that one JVM does. Others are grouped by file: what a process has compiled
    for one of them serves the next.
    """
    for item in items:
        for engine in ENGINES:
            if engine in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.engine)
                item.add_marker(pytest.mark.xdist_group(engine))
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.name))
    if not THOROUGH:
        _keep_quick(config, items)
    _begin_with_the_longest(items)


def _begin_with_the_longest(items: list[pytest.Item]) -> None:
    """Sort groups, so that short ones are left for whichever process is free at the end.

    Those of the engines take minutes, and a file that starts a JVM of its own takes longer than its few tests tell.
    """
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        marker = item.get_closest_marker("xdist_group")
        groups.setdefault("" if marker is None else marker.args[0], []).append(item)

    def rank(group: str) -> tuple[int, bool, int]:
        place = LONG.index(group) if group in LONG else len(LONG)
        engine = any(item.get_closest_marker("engine") for item in groups[group])
        return place, not engine, -len(groups[group])

    items[:] = [item for group in sorted(groups, key=rank) for item in groups[group]]


def _keep_quick(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of ``make test-all``, and have Hypothesis try fewer examples."""
    left_out = [item for item in items if item.get_closest_marker("thorough") is not None]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    functions = {id(function): function for item in items if (function := getattr(item, "function", None)) is not None}
    for function in functions.values():
        asked = getattr(function, "_hypothesis_internal_use_settings", None)
        if asked is not None and asked.max_examples != settings.get_profile("ci").max_examples:
            fewer = min(asked.max_examples, max(asked.max_examples // FEWER, FEWEST))
            function._hypothesis_internal_use_settings = settings(asked, max_examples=fewer)


def pytest_configure(config: pytest.Config) -> None:
    os.environ.setdefault("SPARK_SUBMIT_OPTS", BRIEF_JVM)
    os.environ.setdefault("FLINK_ENV_JAVA_OPTS", f"{_flink_jvm_options()} {BRIEF_JVM}")
    if not hasattr(config, "workerinput"):  # not in xdist's workers, which have no terminal
        config.pluginmanager.register(_Failures(config))


def _flink_jvm_options() -> str:
    """What Flink's configuration has Java told: a variable would otherwise replace it. Nothing without PyFlink."""
    if (flink := importlib.util.find_spec("pyflink")) is None or flink.origin is None:
        return ""
    lines = (Path(flink.origin).parent / "conf" / "config.yaml").read_text(encoding="utf-8").splitlines()
    return next((line.partition("all:")[2].strip() for line in lines if line.strip().startswith("all:")), "")


class _Failures:
    """Shows a failure when it happens, not when all is done: a run that is ended from outside has then told why."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and terminal is not None:
            terminal.ensure_newline()
            terminal.write_line(f"{report.when} of {report.nodeid} failed after {report.duration:.0f} s")
            terminal.write_line(report.longreprtext[-6000:])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Run what is marked ``like_another`` as Python, whose text is the same, unless all tests run."""
    if THOROUGH or item.get_closest_marker("like_another") is None:
        return (yield)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sash.kernels.tiers.COMPILE_ROWS", 10**9)
        return (yield)


@pytest.fixture(scope="module")
def compile_at_once() -> Iterator[None]:
    """Compiled kernels whatever the rows, for tests of just these."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sash.kernels.tiers.COMPILE_ROWS", 0)
        yield


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local Spark with two workers, reachable from this machine only."""
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    with pytest.MonkeyPatch.context() as patch:
        # Otherwise the workers run the first `python3` on PATH, which need not be this environment's.
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        session = (
            SparkSession.builder.master("local[2]")
            .appName("sash-tests")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.local.dir", str(folder / "local"))
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.shuffle.partitions", 2)
            .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
            .config("spark.ui.enabled", False)
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()


@pytest.fixture(scope="session")
def flink_jvm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What PyFlink reads from the process's environment when it starts its JVM and its workers."""
    with pytest.MonkeyPatch.context() as patch:
        # Otherwise the logs land in site-packages.
        patch.setenv("FLINK_LOG_DIR", str(tmp_path_factory.mktemp("flink-logs")))
        # Otherwise the embedded cluster calls back into this process, and no real worker is ever tried.
        patch.setenv("_python_worker_execution_mode", "process")
        yield


@pytest.fixture
def flink(flink_jvm: None) -> StreamExecutionEnvironment:
    """An environment for one job, which runs on an embedded cluster with Python workers of their own."""
    import sash_flink

    return sash_flink.environment(1)
