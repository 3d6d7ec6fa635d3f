"""``sash run --follow``: a topic as it grows, until it is interrupted.

    topic ── some records ──▶ operator ── results ──▶ topic
                                 │                       │ one transaction: results, offsets, the number of the state
                                 └── state, numbered ──▶ folder

A state is written before the transaction that names it. So whoever goes on, after a crash at any point, finds the
offsets, the results and the state of one moment.
"""

from __future__ import annotations

import os
import re
import secrets
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sash.cli.engines import Tally, UsageError
from sash.cli.files import arrow, table_of, with_times
from sash.cli.topics import TopicReader, row_of
from sash.cli.writers import Writer, new_file
from sash.query import Query
from sash.runtime.operator import KeyedOperator

__all__ = ["States", "follow"]

_PIECE, _SECONDS = 20_000, 1.0
"""As many records, or those of as long, are taken at a time."""
_NAME = re.compile(r"state-(\d+)-[0-9a-f]+\.sash")


class States:
    """The states of a group in a folder, by number."""

    def __init__(self, folder: Path | None) -> None:
        self._folder, self._own = folder, secrets.token_hex(4)  # nobody who was fenced off writes over these
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def load(self, metadata: set[str], group: str | None) -> tuple[int, Any, bytes | None]:
        """The number of the state that was committed, the schema of rows and the snapshot; 0 and None: none yet."""
        if self._folder is None or not metadata:
            return 0, None, None
        match = next((match for text in metadata if (match := _NAME.fullmatch(text))), None)
        if match is None or len(metadata) > 1:
            raise UsageError(f"group {group!r} has offsets without a state: name a new group")
        path = self._folder / match[0]
        if not path.exists():
            raise UsageError(f"group {group!r} goes on from {path}, which is missing: name its folder with --state")
        content = path.read_bytes()
        (size,) = struct.unpack_from("<Q", content.ljust(8, b"\0"))
        if not 0 < size <= len(content) - 8:
            raise UsageError(f"{path} is damaged: start with a new group")
        schema = arrow().ipc.read_schema(arrow().py_buffer(content[8 : 8 + size]))
        return int(match[1]), schema, content[8 + size :]

    def save(self, number: int, schema: Any, snapshot: bytes) -> str:
        """Write a state, and return its name."""
        name = f"state-{number}-{self._own}.sash"
        if self._folder is not None:
            head = schema.serialize().to_pybytes()
            with new_file(self._folder / name) as scratch, scratch.open("wb") as file:
                file.write(struct.pack("<Q", len(head)) + head + snapshot)
                file.flush()
                os.fsync(file.fileno())
        return name

    def remove_before(self, number: int) -> None:
        """Remove the states before one, which is committed."""
        for path in [] if self._folder is None else self._folder.iterdir():
            if (match := _NAME.fullmatch(path.name)) and int(match[1]) < number:
                path.unlink(missing_ok=True)


def follow(query: Query, read: TopicReader, out: Writer, states: States, tally: Tally) -> None:
    """Take records as they come. Ends only by an exception, such as Ctrl-C."""
    number, schema, snapshot = states.load(read.metadata, read.group)
    if snapshot is None:
        operator = KeyedOperator(query, own_watermark="key")
    else:
        operator = KeyedOperator.restore(query, snapshot, own_watermark="key")
    tally.doing, tally.late = "following", 0
    for rows in _rows(read):
        table = (
            with_times(arrow().Table.from_pylist(rows)) if schema is None else table_of(str(read.topic), rows, schema)
        )
        schema = table.schema
        results = operator.process_batch(table)
        number += 1
        out.write(results)
        _commit(out, read, states.save(number, schema, operator.snapshot()) if read.group else "")
        states.remove_before(number)
        tally.rows_in, tally.rows_out = tally.rows_in + len(table), tally.rows_out + len(results)
        tally.late += len(operator.dropped)


def _commit(out: Writer, read: TopicReader, metadata: str) -> None:
    out.commit(metadata)
    if not out.commits_input:
        read.commit(metadata)


def _rows(read: TopicReader) -> Iterator[list[dict[str, Any]]]:
    while True:
        messages = [message for message in read.poll(_PIECE, _SECONDS) if message.error() is None]
        if rows := [row_of(message, read.topic) for message in messages if message.value() is not None]:
            yield rows
