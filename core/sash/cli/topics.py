"""Topics of Kafka as inputs and outputs of ``sash run``: ``kafka://host:9092/topic``, whose records are JSON objects.

    topic ── what it holds, or what a group has not read yet ──▶ a file of JSON lines ──▶ any engine
    results ── a transaction, with the offsets that were read ──▶ topic

So a group's offsets move exactly when the results of its records are there. Needs ``pip install 'sash[kafka]'``.
"""

from __future__ import annotations

import heapq
import json
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sash.cli.engines import DataError, InputError, UsageError
from sash.cli.writers import Writer, json_row

__all__ = ["Topic", "TopicReader", "TopicWriter", "row_of", "settings_of"]

_SCHEME = "kafka://"
_PATIENCE_S = 30
_TRANSACTION_MS = 15 * 60 * 1000
"""The longest that brokers allow by default: a slow run writes for long."""
_PIECE = 10_000
_READ = {"enable.auto.commit": False, "enable.partition.eof": True, "isolation.level": "read_committed"}

Settings = Mapping[str, str]


@dataclass(frozen=True)
class Topic:
    """A topic and the brokers to ask for it.

    >>> Topic.of("kafka://a:9092,b:9092/plugs")
    Topic(servers='a:9092,b:9092', name='plugs')
    >>> Topic.of("plugs.parquet") is None
    True
    """

    servers: str
    name: str

    @classmethod
    def of(cls, text: str) -> Topic | None:
        """The topic of a URL; None: it is something else."""
        if not text.startswith(_SCHEME):
            return None
        servers, _, name = text.removeprefix(_SCHEME).partition("/")
        if not servers or not name or "/" in name:
            raise UsageError(f"{text}: expected a topic such as kafka://localhost:9092/plugs")
        return cls(servers, name)

    def __str__(self) -> str:
        return f"{_SCHEME}{self.servers}/{self.name}"


def settings_of(path: Path | None) -> dict[str, str]:
    """The settings of a properties file: a line ``name=value`` each, as librdkafka calls them; # begins comments."""
    if path is None:
        return {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    pairs = [line.partition("=") for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if wrong := [line for line, equals, _ in pairs if not equals]:
        raise UsageError(f"{path}: expected lines such as security.protocol=SSL; got {wrong[0]!r}")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _library() -> Any:
    try:
        import confluent_kafka
    except ImportError:
        raise UsageError("topics are read and written with confluent-kafka: pip install 'sash[kafka]'") from None
    return confluent_kafka


@contextmanager
def _naming(topic: Topic) -> Iterator[None]:
    """Name the topic in errors of Kafka."""
    try:
        yield
    except _library().KafkaException as error:
        why = error.args[0]
        raise DataError(f"{topic}: {why.str() if hasattr(why, 'str') else why}") from error


def _patiently(call: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a call of Kafka, which is tried again while brokers say that they will be ready soon."""
    kafka, end = _library(), time.monotonic() + _PATIENCE_S
    while True:
        try:
            return call(*arguments)
        except kafka.KafkaException as error:
            soon = error.args[0].retriable() or error.args[0].code() in (
                kafka.KafkaError.NOT_COORDINATOR,
                kafka.KafkaError.COORDINATOR_NOT_AVAILABLE,
                kafka.KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
            )
            if not soon or time.monotonic() > end:
                raise
            time.sleep(0.2)


class TopicReader:
    """Reads a topic from where a ``group`` has come to, or from its beginning, once :meth:`open` is called."""

    def __init__(self, topic: Topic, group: str | None, settings: Settings) -> None:
        kafka = _library()
        self.topic, self.group = topic, group
        named = {"bootstrap.servers": topic.servers, "group.id": group or f"sash-run-{secrets.token_hex(6)}"}
        try:
            self.consumer = kafka.Consumer({"log_level": 0, **settings, **_READ, **named})
        except kafka.KafkaException as error:
            raise UsageError(f"{topic}: {error.args[0].str()}") from error
        self.metadata: set[str] = set()
        """What was committed with the offsets of the group."""
        self.offsets: dict[int, int] = {}

    def open(self) -> None:
        """Go to where the group has come to. Make its writer before, which ends transactions that others left open."""
        kafka = _library()
        with _naming(self.topic):
            found = self._partitions()
            committed = _patiently(self.consumer.committed, found, _PATIENCE_S) if self.group else found
            self.metadata = {part.metadata for part in committed if self.group and part.offset >= 0}
            self.offsets = {part.partition: part.offset for part in committed}
            self.consumer.assign(
                [
                    kafka.TopicPartition(self.topic.name, number, max(offset, kafka.OFFSET_BEGINNING))
                    for number, offset in self.offsets.items()
                ]
            )

    def _partitions(self) -> list[Any]:
        kafka = _library()
        try:
            found = self.consumer.list_topics(self.topic.name, timeout=_PATIENCE_S).topics[self.topic.name]
        except kafka.KafkaException as error:
            raise InputError(f"{self.topic}: no broker answers: {error.args[0].str()}") from error
        if found.error is not None or not found.partitions:
            raise InputError(f"{self.topic}: there is no such topic")
        return [kafka.TopicPartition(self.topic.name, number) for number in sorted(found.partitions)]

    def poll(self, most: int, seconds: float) -> list[Any]:
        """Records that have come, and notes that partitions have no more of them."""
        with _naming(self.topic):
            messages: list[Any] = self.consumer.consume(most, seconds)
        for message in messages:
            error = message.error()
            if error is None:
                self.offsets[message.partition()] = message.offset() + 1
            elif error.code() == _library().KafkaError._PARTITION_EOF:
                self.offsets[message.partition()] = message.offset()
            else:
                raise DataError(f"{self.topic}: {error.str()}")
        return messages

    def copy(self, target: Path) -> int:
        """Write the records that there are now to a file of JSON lines, and return how many there are.

        Those of a partition are in their order; partitions are merged by the time of the records.
        """
        count, left, heard = 0, set(self.offsets), time.monotonic()
        parts = {number: target.with_name(f".{target.name}.{number}") for number in left}
        with ExitStack() as stack:
            files = {number: stack.enter_context(path.open("wb")) for number, path in parts.items()}
            while left:
                messages = self.poll(_PIECE, 1.0)
                heard = time.monotonic() if messages else heard
                if time.monotonic() - heard > _PATIENCE_S:
                    raise InputError(f"{self.topic}: no broker answers any more")
                for message in messages:
                    number = message.partition()
                    if number not in left:
                        self.offsets[number] = min(self.offsets[number], message.offset())  # it came later
                    elif message.error() is not None:
                        left.discard(number)
                        self.consumer.pause([_library().TopicPartition(self.topic.name, number)])
                    elif message.value() is not None:
                        count += 1
                        files[number].write(b"%d %s\n" % (message.timestamp()[1], _line(message, self.topic)))
        with ExitStack() as stack, target.open("wb") as merged:
            opened = [stack.enter_context(path.open("rb")) for path in parts.values()]
            for line in heapq.merge(*opened, key=lambda line: int(line.partition(b" ")[0])):
                merged.write(line.partition(b" ")[2])
        for path in parts.values():
            path.unlink()
        return count

    def sample(self, target: Path, most: int = _PIECE) -> int:
        """Write the first records that there are to a file of JSON lines, about ``most``; how many there are."""
        count, left, heard = 0, set(self.offsets), time.monotonic()
        with target.open("wb") as file:
            while left and count < most:
                messages = self.poll(most, 1.0)
                heard = time.monotonic() if messages else heard
                if time.monotonic() - heard > _PATIENCE_S:
                    raise InputError(f"{self.topic}: no broker answers any more")
                for message in messages:
                    if message.error() is not None:
                        left.discard(message.partition())
                    elif message.value() is not None:
                        count += 1
                        file.write(_line(message, self.topic) + b"\n")
        return count

    def positions(self, metadata: str = "") -> list[Any]:
        """The offsets up to which records were read, as they are committed."""
        kafka = _library()
        return [
            kafka.TopicPartition(self.topic.name, number, offset, metadata)
            for number, offset in self.offsets.items()
            if offset >= 0
        ]

    def commit(self, metadata: str = "") -> None:
        """Commit the offsets up to which records were read, for the group."""
        if self.group and (positions := self.positions(metadata)):
            with _naming(self.topic):
                _patiently(lambda: self.consumer.commit(offsets=positions, asynchronous=False))


def row_of(message: Any, topic: Topic) -> dict[str, Any]:
    """The value of a record."""
    where = f"{topic}, partition {message.partition()}, offset {message.offset()}"
    try:
        row = json.loads(message.value())
    except ValueError as error:
        raise InputError(f"{where}: this is not JSON: {error}") from None
    if not isinstance(row, dict):
        raise InputError(f'{where}: expected an object such as {{"ts": 1}}; got {str(row)[:40]}')
    return row


def _line(message: Any, topic: Topic) -> bytes:
    """The value of a record in one line; line ends inside JSON are only layout."""
    row_of(message, topic)  # raises what is wrong with it
    value: bytes = message.value()
    return value.replace(b"\n", b" ").replace(b"\r", b" ")


class TopicWriter(Writer):
    """To a topic, a record of JSON a row, with the key's columns as the record's key; all in a transaction.

    The offsets of ``read`` are committed with it, if it reads for a group.
    """

    def __init__(self, topic: Topic, keys: Sequence[str], read: TopicReader | None, settings: Settings) -> None:
        kafka = _library()
        self._topic, self._keys, self._began = topic, keys, False
        self._read = read if read is not None and read.group else None
        # Whoever goes on for a group fences off those who did before.
        name = f"sash-{self._read.group}-{self._read.topic.name}" if self._read else f"sash-{secrets.token_hex(8)}"
        named = {"bootstrap.servers": topic.servers, "transactional.id": name}
        try:
            self._producer = kafka.Producer(
                {"log_level": 0, "transaction.timeout.ms": _TRANSACTION_MS, "linger.ms": 20, **settings, **named}
            )
        except kafka.KafkaException as error:
            raise UsageError(f"{topic}: {error.args[0].str()}") from error
        with _naming(topic):
            _patiently(self._producer.init_transactions, _PATIENCE_S)

    @property
    def commits_input(self) -> bool:
        return self._read is not None

    def _write(self, table: Any) -> None:
        self._begin()
        with _naming(self._topic):
            for batch in table.to_batches(1 << 14):
                for row in batch.to_pylist():
                    self._produce(_key(row, self._keys), json_row(row).encode())

    def _begin(self) -> None:
        if not self._began:
            with _naming(self._topic):
                self._producer.begin_transaction()
            self._began = True

    def _produce(self, key: bytes | None, value: bytes) -> None:
        while True:
            try:
                self._producer.produce(self._topic.name, value, key)
            except BufferError:  # as many as it holds are on their way
                self._producer.poll(0.1)
            else:
                self._producer.poll(0)
                return

    def commit(self, metadata: str = "") -> None:
        """Make what was written so far visible, and the offsets of its input with it."""
        positions = [] if self._read is None else self._read.positions(metadata)
        if not self._began and not positions:
            return
        self._begin()
        with _naming(self._topic):
            if self._read is not None and positions:
                group = self._read.consumer.consumer_group_metadata()
                _patiently(self._producer.send_offsets_to_transaction, positions, group, _PATIENCE_S)
            _patiently(self._producer.commit_transaction, _TRANSACTION_MS / 1000)
        self._began = False

    def _close(self) -> None:
        self.commit()

    def abort(self) -> None:
        """Leave nothing of what was written since the last commit."""
        if self._began:
            with _naming(self._topic):
                self._producer.abort_transaction(_PATIENCE_S)


def _key(row: Mapping[str, Any], keys: Sequence[str]) -> bytes | None:
    """The key of a record: a text as it is, else JSON."""
    if not keys:
        return None
    values = [row[name] for name in keys]
    value = values[0] if len(values) == 1 else values
    return value.encode() if isinstance(value, str) else json.dumps(value, default=str).encode()
