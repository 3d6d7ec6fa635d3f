"""``sash run`` over topics of a real Kafka broker."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import sash
from sash.cli import main
from sash.cli.topics import TopicReader

from .kafka_broker import ROOT, Broker

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("kafka"), pytest.mark.timeout(300)]
QUERY = """
key = "key"
time = "ts"
time_unit = "ms"
[window]
type = "tumbling"
range = "10s"
[aggregates.peak]
function = "Max"
columns = "load"
[aggregates.n]
function = "Count"
"""
_NUMBERS = count()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    if shutil.which("mvn") is None:
        pytest.skip("no Maven, which fetches Kafka: on Debian, apt-get install maven")
    broker = Broker(tmp_path_factory.mktemp("kafka"))
    yield broker
    broker.stop()


@pytest.fixture
def topics(broker: Broker) -> tuple[str, str]:
    number = next(_NUMBERS)
    return broker.topic(f"in-{number}"), broker.topic(f"out-{number}")


@pytest.fixture
def query(tmp_path: Path) -> Path:
    path = tmp_path / "q.toml"
    path.write_text(QUERY, encoding="utf-8")
    return path


def rows(begin: int, end: int) -> list[dict[str, Any]]:
    """Of four keys, a second apart."""
    return [{"key": f"plug-{i % 4}", "ts": 1_700_000_000_000 + i * 1000, "load": i * 7 % 23} for i in range(begin, end)]


def expected(query: Path, data: list[dict[str, Any]]) -> list[str]:
    return plain(sash.run(sash.load_query(query), data))


def plain(results: Any) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in results)


def written(broker: Broker, topic: str) -> list[str]:
    return plain(row for _, row in broker.read(topic))


def test_a_topic_in_and_a_topic_out(broker: Broker, topics: tuple[str, str], query: Path) -> None:
    source, target = topics
    broker.produce(source, rows(0, 200))
    assert main(["run", str(query), "--input", source, "--output", target]) == 0
    assert written(broker, target) == expected(query, rows(0, 200))
    assert all(key == row["key"].encode() for key, row in broker.read(target))


@pytest.mark.parametrize("engine", ["spark", "flink"])
@pytest.mark.parametrize("streaming", [[], ["--streaming"]], ids=["batch", "streaming"])
def test_engines_read_and_write_topics(
    broker: Broker, topics: tuple[str, str], query: Path, request: Any, engine: str, streaming: list[str]
) -> None:
    request.getfixturevalue(engine)
    source, target = topics
    broker.produce(source, rows(0, 200))
    assert main(["run", str(query), "--input", source, "--output", target, "--engine", engine, *streaming]) == 0
    assert written(broker, target) == expected(query, rows(0, 200))


def test_a_group_reads_each_record_once(
    broker: Broker, topics: tuple[str, str], query: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = topics
    command = ["run", str(query), "--input", source, "--output", target, "--group", f"g-{source[-4:]}"]
    broker.produce(source, rows(0, 40))
    assert main(command) == 0
    broker.produce(source, rows(40, 80))
    assert main(command) == 0
    capsys.readouterr()
    assert main(command) == 0
    assert "has no record that group" in capsys.readouterr().err
    assert written(broker, target) == sorted(expected(query, rows(0, 40)) + expected(query, rows(40, 80)))


def test_offsets_of_a_group_that_writes_a_file(
    broker: Broker, topics: tuple[str, str], query: Path, tmp_path: Path
) -> None:
    source, _ = topics
    broker.produce(source, rows(0, 40))
    command = ["run", str(query), "--input", source, "--group", f"f-{source[-4:]}", "--output"]
    assert main([*command, str(tmp_path / "a.jsonl")]) == 0
    broker.produce(source, rows(40, 80))
    assert main([*command, str(tmp_path / "b.jsonl")]) == 0
    found = plain(json.loads(line) for line in (tmp_path / "b.jsonl").read_text().splitlines())
    assert found == expected(query, rows(40, 80))


def test_a_run_that_fails_leaves_nothing_and_no_offset(broker: Broker, topics: tuple[str, str], query: Path) -> None:
    source, target = topics
    command = ["run", str(query), "--input", source, "--output", target, "--group", f"x-{source[-4:]}"]
    broker.produce(source, [*rows(0, 40), "this is no JSON"])
    assert main(command) == 2
    assert broker.read(target, "read_uncommitted") == []
    broker.produce(source, rows(40, 80))
    assert main(command) == 2  # it is still there


class Following:
    """``sash run --follow`` in a process of its own."""

    def __init__(self, query: Path, topics: tuple[str, str], *options: str) -> None:
        source, target = topics
        command = [sys.executable, "-m", "sash", "run", str(query), "--input", source, "--output", target, "--follow"]
        command += ["--group", f"follow-{source[-4:]}", "--state", str(query.with_name("state")), "--quiet", *options]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    def __enter__(self) -> Following:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def wait(self, enough: Callable[[], bool], seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not enough():
            assert time.monotonic() < end
            assert self._process.poll() is None, self._process.stderr and self._process.stderr.read()
            time.sleep(0.1)

    def end(self, number: signal.Signals) -> int:
        self._process.send_signal(number)
        return self._process.wait(30)


@pytest.mark.parametrize("ended_by", [signal.SIGKILL, signal.SIGTERM])
def test_results_of_a_topic_that_grows_come_once_whatever_happens(
    broker: Broker, topics: tuple[str, str], query: Path, ended_by: signal.Signals
) -> None:
    """Windows are open when the process ends, and go on in the next one."""
    source, target = topics
    ahead = 0
    for begin in range(0, 240, 60):
        with Following(query, topics) as following:
            broker.produce(source, rows(begin, begin + 60))
            ahead = len(emitted(query, rows(0, begin + 60)))
            following.wait(lambda: len(broker.read(target)) >= ahead)  # noqa: B023
            assert following.end(ended_by) in (-signal.SIGKILL, 143)
    assert written(broker, target) == plain(emitted(query, rows(0, 240)))
    assert len(list(query.with_name("state").iterdir())) <= 2


def test_flink_that_follows_a_topic_goes_on_after_it_was_killed(
    broker: Broker, topics: tuple[str, str], query: Path
) -> None:
    """Windows are open when the process is killed. Rows of a far time in every partition close them at the end."""
    source, target = topics
    jars = str(ROOT / "build" / "kafka" / "flink")
    far = [{"key": f"plug-{i}", "ts": 1_800_000_000_000, "load": 0} for i in range(4)]
    pieces = [rows(0, 80), rows(80, 160), [*rows(160, 240), *far]]
    for number, piece in enumerate(pieces):
        if number == 0:
            broker.produce(source, piece)
        with Following(query, topics, "--engine", "flink", "--jars", jars) as following:
            if number:
                broker.produce(source, piece)
            so_far = [row for part in pieces[: number + 1] for row in part]
            enough = len(closed(query, so_far))
            following.wait(lambda: len(broker.read(target)) >= enough, 180)  # noqa: B023
            following.end(signal.SIGKILL)
    assert written(broker, target) == plain(closed(query, [row for piece in pieces for row in piece]))


def test_spark_that_follows_a_topic_goes_on_at_least_once(broker: Broker, topics: tuple[str, str], query: Path) -> None:
    """Each key has its own watermark; what was written before a failure may come again."""
    source, target = topics
    jars = str(ROOT / "build" / "kafka" / "spark")
    for begin in range(0, 160, 80):
        broker.produce(source, rows(begin, begin + 80))
        with Following(query, topics, "--engine", "spark", "--jars", jars) as following:
            ahead = set(plain(emitted(query, rows(0, begin + 80))))
            following.wait(lambda: set(written(broker, target)) >= ahead, 150)  # noqa: B023
            following.end(signal.SIGKILL)
    assert set(written(broker, target)) == ahead


def closed(query: Path, data: list[dict[str, Any]]) -> list[Any]:
    """The results of the windows that every key has passed."""
    asked = sash.load_query(query)
    upto = min(max(row["ts"] for row in data if row["key"] == key) for key in {row["key"] for row in data})
    return [result for result in sash.run(asked, data) if result["window_end"] <= upto]


def emitted(query: Path, data: list[dict[str, Any]]) -> list[Any]:
    """The results when nothing is closed: each key has its own watermark."""
    results: list[Any] = []
    for key in sorted({row["key"] for row in data}):
        op = sash.Operator(sash.load_query(query))
        results += [result for row in data if row["key"] == key for result in op.process(row)]
    return results


def test_a_group_without_its_state_is_refused(
    broker: Broker, topics: tuple[str, str], query: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = topics
    broker.produce(source, rows(0, 40))
    command = ["run", str(query), "--input", source, "--output", target, "--group", f"s-{source[-4:]}"]
    assert main(command) == 0
    assert main([*command, "--follow", "--state", str(query.with_name("other"))]) == 2
    assert "has offsets without a state: name a new group" in capsys.readouterr().err


def test_a_damaged_state_is_refused(
    broker: Broker, topics: tuple[str, str], query: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = topics
    with Following(query, topics) as following:
        broker.produce(source, rows(0, 60))
        following.wait(lambda: len(broker.read(target)) >= len(emitted(query, rows(0, 60))))
    command = ["run", str(query), "--input", source, "--output", target, "--follow", "--group", f"follow-{source[-4:]}"]
    for state in query.with_name("state").iterdir():
        state.write_bytes(state.read_bytes()[:20])
    assert main([*command, "--state", str(query.with_name("state"))]) == 2
    assert "is damaged: start with a new group" in capsys.readouterr().err


def test_a_broker_that_goes_away_is_named(
    broker: Broker, tmp_path: Path, query: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mortal = Broker(tmp_path)
    source = mortal.topic("mortal")
    mortal.produce(source, rows(0, 40))
    monkeypatch.setattr("sash.cli.topics._PATIENCE_S", 5)
    open_ = TopicReader.open

    def open_and_stop(reader: TopicReader) -> None:
        open_(reader)
        mortal.stop()

    monkeypatch.setattr(TopicReader, "open", open_and_stop)
    assert main(["run", str(query), "--input", source]) == 2
    assert "no broker answers any more" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--input", "kafka://127.0.0.1:1/x"], "no broker answers"),
        (["--input", "kafka://broker"], "expected a topic such as kafka://localhost:9092/plugs"),
        (["--input", "TOPIC-missing"], "there is no such topic"),
        (["--input", "TOPIC"], "has no records, so its columns are unknown"),
        (["--input", "in.csv", "--group", "g"], "--group is for topics"),
        (
            ["--input", "TOPIC", "--follow", "--engine", "flink"],
            "--follow on flink writes to a topic: say --output",
        ),
        (["--input", "TOPIC", "--follow", "--jars", "."], "--jars names a folder, with --follow on an engine"),
        (["--input", "TOPIC", "--follow", "--output", "out.csv"], "--follow never ends"),
        (["--input", "TOPIC", "--follow", "--group", "g"], "--state FOLDER goes with --follow and --group"),
        (["--input", "TOPIC", "--kafka-config", "CONFIG"], "No such configuration property"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    topics: tuple[str, str],
    query: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    said: str,
) -> None:
    monkeypatch.setattr("sash.cli.topics._PATIENCE_S", 5)
    config = query.with_name("kafka.properties")
    config.write_text("# of no client\nsecurity.protocl = SSL\n")
    options = [option.replace("TOPIC", topics[0]).replace("CONFIG", str(config)) for option in options]
    assert main(["run", str(query), *options]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
