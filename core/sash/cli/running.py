"""``sash run``, a query file over data files on any engine, with its progress; ``sash explain``; ``sash warm``."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sash.cli.engines import DataError, Engine, Follow, InputError, Job, Tally, UsageError, engine, engines
from sash.cli.files import Source, arrow, in_micros
from sash.cli.following import States, follow
from sash.cli.options import add_allow_imports, positive, query_of
from sash.cli.places import Place, copy_input, place, writing_to
from sash.cli.topics import Topic, TopicReader, settings_of
from sash.cli.writers import Writer, new_file
from sash.query import Query

__all__ = ["add", "line", "summary"]

FORMATS = ("parquet", "csv", "jsonl")
_TICK_S = 0.2
_BAR_WIDTH = 24


def add(commands: Any) -> None:
    """Add ``run``, ``explain`` and ``warm`` to the commands."""
    run = commands.add_parser(
        "run",
        help="run a query over files",
        description="Run a query file over Parquet, CSV or JSON lines files. The rows are the same on every engine.",
    )
    query = run.add_mutually_exclusive_group(required=True)
    query.add_argument("query", type=Path, nargs="?", metavar="Q.toml", help="the query file")
    query.add_argument("--query", type=Path, dest="named_query", metavar="Q.toml", help="the same")
    run.add_argument(
        "--input",
        required=True,
        metavar="DATA",
        help="a file, a folder of files, a pattern such as 'plugs-*.csv', a URL of fsspec, a topic such as "
        "kafka://localhost:9092/plugs, or - for standard input",
    )
    run.add_argument(
        "--output",
        metavar="OUT",
        help="a file, without a suffix a new folder of part files, a URL of fsspec, a topic, or - for standard output "
        "(default: the console)",
    )
    run.add_argument("--engine", default="local", help=f"{', '.join(engines())} (default %(default)s)")
    run.add_argument("--streaming", action="store_true", help="take the files as a stream, in the order of writing")
    run.add_argument("--group", metavar="NAME", help="read what this group has not read of the topic, and commit it")
    run.add_argument("--follow", action="store_true", help="take the topic as it grows, until interrupted")
    run.add_argument("--state", type=Path, metavar="FOLDER", help="where --follow keeps the state of the group")
    run.add_argument(
        "--jars", type=Path, metavar="FOLDER", help="with --follow: the connector for Kafka, if the engine lacks it"
    )
    run.add_argument("--kafka-config", type=Path, metavar="FILE", help="settings of Kafka's clients, name=value a line")
    run.add_argument("--parallelism", type=positive, metavar="N", help="tasks at a time, on engines that have them")
    run.add_argument("--format", choices=FORMATS, help="of the input, if file names do not show it")
    run.add_argument("--output-format", choices=FORMATS, help="of the output, if its name does not show it")
    run.add_argument("--summary", type=Path, metavar="FILE", help="also write the summary to this file, as JSON")
    run.add_argument("--quiet", action="store_true", help="no progress and no summary")
    add_allow_imports(run)
    run.set_defaults(command=_run)
    warm = commands.add_parser(
        "warm",
        help="compile ahead",
        description="Compile the kernels of a query, or the usual ones, for images and CI: later processes load them.",
    )
    warm.add_argument("query", type=Path, nargs="?", metavar="Q.toml", help="the query file")
    add_allow_imports(warm)
    warm.set_defaults(command=_warm)
    explain = commands.add_parser("explain", help="show how a query runs", description="The plan of a query, in words.")
    explain.add_argument("query", type=Path, metavar="Q.toml", help="the query file")
    explain.add_argument("--verbose", action="store_true", help="say why, in the words of the papers")
    add_allow_imports(explain)
    explain.set_defaults(command=_explain)


def _warm(options: argparse.Namespace) -> None:
    from sash.kernels.warm import COMMON, warm

    query = None if options.query is None else query_of(options.query, options.allow_imports)
    for line_ in warm(COMMON if query is None else tuple(query.aggregates.values())):
        print(line_, flush=True)


def _explain(options: argparse.Namespace) -> None:
    from sash.engine.explain import explain

    print(explain(query_of(options.query, options.allow_imports), verbose=options.verbose))


def _run(options: argparse.Namespace) -> None:
    query, run = query_of(options.query or options.named_query, options.allow_imports), engine(options.engine)
    source, target = place(options.input), None if options.output is None else place(options.output)
    _check_topics(options, source, target)
    settings, read, begin = settings_of(options.kafka_config), None, time.perf_counter()
    if options.follow and options.engine != "local":
        assert isinstance(source, Topic) and isinstance(target, Topic)
        _follow_on_engine(options, query, run, source, target, settings)
        return
    with tempfile.TemporaryDirectory(prefix="sash-run-") as scratch:
        if isinstance(source, Topic):
            read = TopicReader(source, options.group, settings)
        try:
            with writing_to(target, options.output_format, query.keys, read, settings, Path(scratch)) as out:
                tally = _run_job(options, query, run, source, read, out, Path(scratch))
        except NothingNewError as note:
            print(f"sash: {note}", file=sys.stderr)
            return
        if read is not None and not out.commits_input:
            read.commit()
    _report(options, tally, time.perf_counter() - begin)


def _report(options: argparse.Namespace, tally: Tally, seconds: float) -> None:
    if not options.quiet:
        print(summary(tally, seconds, options.engine, options.streaming), file=sys.stderr)
    if options.summary is not None:
        figures = asdict(tally) | {"seconds": round(seconds, 6), "engine": options.engine}
        del figures["doing"]
        with new_file(options.summary) as file:
            file.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def _check_topics(options: argparse.Namespace, source: Place, target: Place | None) -> None:
    """Refuse options that do not go together."""
    for option in ("group", "follow"):
        if getattr(options, option) and not isinstance(source, Topic):
            raise UsageError(f"--{option} is for topics, such as --input kafka://localhost:9092/plugs")
    if options.follow and options.engine != "local" and not (isinstance(target, Topic) and options.state):
        raise UsageError(
            f"--follow on {options.engine} writes to a topic: say --output, --group NAME and --state FOLDER"
        )
    if options.jars is not None and not (options.follow and options.jars.is_dir() and options.engine != "local"):
        raise UsageError("--jars names a folder, with --follow on an engine that reads topics itself")
    if options.follow and not (target is None or isinstance(target, Topic) or str(target) == "-"):
        raise UsageError(f"--follow never ends, so {target} would never be whole: write to a topic or to -")
    if (options.state is not None) != bool(options.follow and options.group):
        raise UsageError("--state FOLDER goes with --follow and --group, and they with it")


def _follow_on_engine(
    options: argparse.Namespace, query: Query, run: Engine, source: Topic, target: Topic, settings: Mapping[str, str]
) -> None:
    """Have an engine follow a topic. Ends only by an exception, such as Ctrl-C.

    Columns have the types of the topic's first records, which stay in the folder of the state.
    """
    options.state.mkdir(parents=True, exist_ok=True)
    sample = options.state / "sample.jsonl"
    if not sample.exists():
        read = TopicReader(source, None, settings)
        read.open()
        with new_file(sample) as file:
            if not read.sample(file):
                raise InputError(f"{source} has no records, so its columns are unknown")
    jars = () if options.jars is None else tuple(sorted(options.jars.glob("*.jar")))
    follow = Follow(source, target, options.group, options.state.resolve(), settings, jars)
    with tempfile.TemporaryDirectory(prefix="sash-run-") as scratch:
        records = _source_of(options, query, sample)
        job = Job(query, records, True, options.parallelism, Path(scratch), follow=follow)
        for _ in run(job):
            pass


def _source_of(options: argparse.Namespace, query: Query, data: Path) -> Source:
    """The data, which has the columns that the query reads."""
    source = Source.of(data, options.format, options.streaming)
    missing = [name for name in query.columns if name not in source.schema.names]
    if missing:
        there = ", ".join(map(repr, source.schema.names))
        raise DataError(f"{options.input} has no column {missing[0]!r}, which the query reads; it has {there}")
    return source


def _run_job(
    options: argparse.Namespace,
    query: Query,
    run: Engine,
    place: Place,
    read: TopicReader | None,
    out: Writer,
    scratch: Path,
) -> Tally:
    if read is not None:
        read.open()
    if read is not None and options.follow:
        tally = Tally()
        with nullcontext() if options.quiet else _progress_line(tally, None):
            follow(query, read, out, States(options.state), tally)
    source = _source_of(options, query, _data(options, place, read, scratch))
    job = Job(query, source, options.streaming, options.parallelism, scratch)
    with nullcontext() if options.quiet else _progress_line(job.tally, source.rows()):
        for table in run(job):
            job.tally.rows_out += len(table)
            out.write(_plain(table))
    return job.tally


def _data(options: argparse.Namespace, place: Place, read: TopicReader | None, scratch: Path) -> Path:
    """The data as files on this machine."""
    if read is None:
        assert not isinstance(place, Topic)
        return copy_input(place, options.format, options.streaming, scratch)
    copy = scratch / "records.jsonl"
    if not read.copy(copy):
        if read.group:
            raise NothingNewError(f"{place} has no record that group {read.group!r} has not read")
        raise InputError(f"{place} has no records, so its columns are unknown")
    return copy


class NothingNewError(Exception):
    """A group has read all records."""


def _plain(table: Any) -> Any:
    """Times in microseconds unless one is finer, all columns nullable: the same types from every engine."""
    pa = arrow()
    finer = [field for field in table.schema if pa.types.is_timestamp(field.type) and field.type.unit == "ns"]
    schema = table.schema if finer else in_micros(table.schema)
    return table.cast(pa.schema([field.with_nullable(True) for field in schema]))


@contextmanager
def _progress_line(tally: Tally, total: int | None) -> Iterator[None]:
    """Show a line on the terminal, if there is one, with a bar if ``total`` rows are known, while something runs."""
    if not sys.stderr.isatty():
        yield
        return
    ended, begin = threading.Event(), time.monotonic()

    def tick() -> None:
        while not ended.wait(_TICK_S):
            print(f"\r\033[K{line(tally, total, time.monotonic() - begin)}", end="", file=sys.stderr, flush=True)

    ticker = threading.Thread(target=tick, daemon=True)
    ticker.start()
    try:
        yield
    finally:
        ended.set()
        ticker.join()
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def line(tally: Tally, total: int | None, seconds: float) -> str:
    """The progress so far.

    >>> line(Tally("streaming", 500, 20), 1000, 3.0)
    '[############------------]  50 %  streaming, 500 rows in, 20 out, 3 s'
    """
    bar = ""
    if total:
        done = min(tally.rows_in / total, 1)
        filled = int(done * _BAR_WIDTH)
        bar = f"[{'#' * filled}{'-' * (_BAR_WIDTH - filled)}] {done:4.0%}  ".replace("%", " %")
    return f"{bar}{tally.doing}, {tally.rows_in:,} rows in, {tally.rows_out:,} out, {seconds:.0f} s"


def summary(tally: Tally, seconds: float, where: str, streaming: bool = False) -> str:
    """The summary of a run in a few lines. Only a stream has state.

    >>> print(summary(Tally("", 1000, 20, 0), 0.5, "local"))
    rows in       1,000
    rows out      20
    late rows     0
    state         none kept
    time          0.50 s on local, 2,000 rows/s
    """
    rate = f", {tally.rows_in / seconds:,.0f} rows/s" if tally.rows_in and seconds > 0 else ""
    unknown = "not reported by the engine"
    no_state = unknown if streaming else "none kept"
    lines = {
        "rows in": f"{tally.rows_in:,}",
        "rows out": f"{tally.rows_out:,}",
        "late rows": unknown if tally.late is None else f"{tally.late:,}",
        "state": no_state if tally.state_bytes is None else f"{tally.state_bytes:,} bytes",
        "time": f"{seconds:.2f} s on {where}{rate}",
    }
    return "\n".join(f"{name:<13} {value}" for name, value in lines.items())
