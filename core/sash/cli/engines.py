"""Engines, which run queries over files: their jobs, and the errors that end a command, with its exit codes.

Each is a function that the entry point group ``sash.engines`` names. ``local`` is here; ``spark`` and ``flink`` are in
their adapters, so that this package need not import them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sash.query import Query
from sash.runtime.operator import KeyedOperator
from sash.runtime.run import run

if TYPE_CHECKING:
    from sash.cli.files import Source
    from sash.cli.topics import Topic

__all__ = [
    "DATA",
    "OK",
    "USAGE",
    "DataError",
    "Engine",
    "Follow",
    "InputError",
    "Job",
    "Tally",
    "UsageError",
    "engine",
    "engines",
    "root_cause",
    "run_local",
    "sentence",
]

OK, DATA, USAGE = 0, 1, 2
"""Exit codes: success, data that a query cannot take, invalid usage."""
_LONGEST = 600


@dataclass
class Tally:
    """What a run has done so far; None: not known. Engines write it, the progress line and the summary read it."""

    doing: str = "starting"
    rows_in: int = 0
    rows_out: int = 0
    late: int | None = None
    """Rows that came too late and were dropped."""
    state_bytes: int | None = None
    """What would have to be kept to go on later."""


@dataclass(frozen=True)
class Follow:
    """Topics that a job goes on from and to until it is interrupted, by the engine's own connector for Kafka."""

    source: Topic
    target: Topic
    group: str
    state: Path
    """The folder of the engine's checkpoints."""
    settings: Mapping[str, str]
    jars: tuple[Path, ...]
    """Those of the connector; none where the engine has them already."""


@dataclass(frozen=True)
class Job:
    """What an engine has to do."""

    query: Query
    source: Source
    streaming: bool = False
    parallelism: int | None = None
    scratch: Path = Path()
    """A folder of its own, which is removed afterwards."""
    tally: Tally = field(default_factory=Tally)
    follow: Follow | None = None
    """What is followed instead of the source, which has some of its records; None: the source is all."""


Engine = Callable[[Job], Iterator[Any]]
"""Yields the results as Arrow tables of one schema, at least one, perhaps empty, keys in any order."""


def engines() -> list[str]:
    """The names of all engines, also of those whose packages are missing."""
    return sorted({point.name for point in entry_points(group="sash.engines")} | {"local"})


def engine(name: str) -> Engine:
    """An engine by its name."""
    if name == "local":
        return run_local
    points = [point for point in entry_points(group="sash.engines") if point.name == name]
    if not points:
        raise UsageError(f"there is no engine {name!r}; there are {', '.join(engines())}")
    try:
        loaded: Engine = points[0].load()
    except ModuleNotFoundError as error:
        raise UsageError(f"engine {name!r} needs {error.name}: pip install 'sash[{name}]'") from None
    return loaded


def run_local(job: Job) -> Iterator[Any]:
    """The results of a job here: all rows at once by :func:`sash.run`, or file after file by a keyed operator."""
    return _run_stream(job) if job.streaming else _run_batch(job)


def _run_batch(job: Job) -> Iterator[Any]:
    job.tally.doing = "reading"
    table = job.source.table()
    job.tally.rows_in, job.tally.doing = len(table), "computing"
    job.tally.late = 0  # all rows are there: nothing is late
    yield run(job.query, table)


def _run_stream(job: Job) -> Iterator[Any]:
    """Each key has its own watermark: a file may hold one key after the other."""
    operator, empty = KeyedOperator(job.query, own_watermark="key"), job.source.schema.empty_table()
    job.tally.doing, job.tally.late = "streaming", 0
    yield operator.process_batch(empty)
    for table in job.source.tables():
        yield operator.process_batch(table)
        job.tally.rows_in += len(table)
        job.tally.late += len(operator.dropped)
    job.tally.state_bytes = len(operator.snapshot(trusted=True))
    yield operator.close(like=empty)


class UsageError(Exception):
    """Invalid usage: arguments, the query file, an engine that is not installed."""


class InputError(UsageError):
    """An input that cannot be read: no such file, or not of its format."""


class DataError(Exception):
    """Data that a query cannot take: a column that is missing or of a wrong type."""


def sentence(error: BaseException) -> str:
    """An error in one line."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        text = f"{error.filename}: {error.strerror[0].lower()}{error.strerror[1:]}"
    elif isinstance(error, KeyError) and error.args:  # whose text is a representation, quotes and all
        text = str(error.args[0])
    else:
        text = str(error)
    line = " ".join(text.split()) or type(error).__name__
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def root_cause(texts: Iterable[str]) -> str:
    """The most helpful sentence of the messages of an engine's error and its causes, with or without traces.

    >>> root_cause(["Could not execute", "[Internal error, <Exception on server side:\\na.B: no\\n\\tat a.B.c(B:1)\\n"
    ...             "Caused by: java.io.IOException: no room\\n\\t... 3 more\\n\\nEnd of exception on server side>]"])
    'no room'
    >>> root_cause(["Job aborted", "Traceback:\\n  File x\\nValueError: column 'load', row 3: too large"])
    "column 'load', row 3: too large"
    """
    lines = [line.strip() for text in texts for line in text.splitlines()]
    messages = [
        line for line in lines if line and not line.startswith(("at ", "... ")) and "on server side" not in line
    ]
    ours = [line for line in messages if line.startswith(("TypeError:", "ValueError:", "KeyError:", "OverflowError:"))]
    if ours:
        return ours[-1].partition(": ")[2]
    return re.sub(r"^(Caused by: )?([\w$]+\.)+[\w$]+: ", "", messages[-1]) if messages else "it gives no reason"
