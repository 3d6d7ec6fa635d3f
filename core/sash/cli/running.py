"""``sash run``: a query file over data files, on any engine."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sash.cli.engines import Job, engine, engines
from sash.cli.errors import DataError, UsageError, sentence
from sash.cli.files import Source, arrow, in_micros
from sash.cli.progress import shown, summary
from sash.cli.scratch import new_file
from sash.cli.writers import writing
from sash.query import Query
from sash.query.file import QueryFileError, QueryImportError, load_query
from sash.query.import_paths import Imports

__all__ = ["add", "query_of"]

FORMATS = ("parquet", "csv", "jsonl")


def add(commands: Any) -> None:
    """Add ``run`` and ``explain`` to the commands."""
    run = commands.add_parser(
        "run",
        help="run a query over files",
        description="Run a query file over Parquet, CSV or JSON lines files. The rows are the same on every engine.",
    )
    run.add_argument("--query", type=Path, required=True, metavar="Q.toml", help="the query file")
    run.add_argument("--input", type=Path, required=True, metavar="DATA", help="a file, or a folder of files")
    run.add_argument(
        "--output",
        type=Path,
        metavar="OUT",
        help="a file, or, without a suffix, a new folder of part files (default: the console)",
    )
    run.add_argument("--engine", default="local", help=f"{', '.join(engines())} (default %(default)s)")
    run.add_argument("--streaming", action="store_true", help="take the files as a stream, in the order of writing")
    run.add_argument("--parallelism", type=_positive, metavar="N", help="tasks at a time, on engines that have them")
    run.add_argument("--format", choices=FORMATS, help="of the input, where names do not tell")
    run.add_argument("--output-format", choices=FORMATS, help="of the output, where its name does not tell")
    run.add_argument("--summary", type=Path, metavar="FILE", help="also write the summary to this file, as JSON")
    run.add_argument("--quiet", action="store_true", help="no progress and no summary")
    _add_allow_imports(run)
    run.set_defaults(command=_run)
    explain = commands.add_parser("explain", help="tell how a query runs", description="The plan of a query, in words.")
    explain.add_argument("query", type=Path, metavar="Q.toml", help="the query file")
    _add_allow_imports(explain)
    explain.set_defaults(command=_explain)


def _add_allow_imports(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--allow-imports",
        type=_modules,
        action="extend",
        default=[],
        metavar="MODULE[,MODULE]",
        help="modules whose code the query file may name and run, each with those below it (default: none)",
    )


def _modules(text: str) -> tuple[str, ...]:
    try:
        return Imports(name.strip() for name in text.split(",")).allowed
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected module names, such as mypackage,other.module; got {text!r}"
        ) from None


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1; got {text!r}")
    return int(text)


def query_of(path: Path, allow_imports: Sequence[str] = ()) -> Query:
    """The query of a file. Code that it may name is found in this folder, too, here and in workers of this machine."""
    here = os.getcwd()
    if allow_imports and here not in sys.path:
        sys.path.insert(0, here)
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    try:
        return load_query(path, allow_imports=allow_imports)
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such query file") from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder, not a query file") from None
    except QueryImportError as error:
        remedy = "" if error.module is None else f"; if you trust the file, say --allow-imports {error.module}"
        raise UsageError(f"{path}, line {error.line}: {error.reason}{remedy}") from error
    except QueryFileError as error:
        raise UsageError(sentence(error)) from error


def _explain(options: argparse.Namespace) -> None:
    from sash.engine.planner import explain

    print(explain(query_of(options.query, options.allow_imports)))


def _run(options: argparse.Namespace) -> None:
    query, run = query_of(options.query, options.allow_imports), engine(options.engine)
    source = Source.of(options.input, options.format, options.streaming)
    missing = [name for name in query.columns if name not in source.schema.names]
    if missing:
        there = ", ".join(map(repr, source.schema.names))
        raise DataError(f"{options.input} has no column {missing[0]!r}, which the query reads; it has {there}")
    with tempfile.TemporaryDirectory(prefix="sash-run-") as scratch:
        job = Job(query, source, options.streaming, options.parallelism, Path(scratch))
        begin = time.perf_counter()
        with writing(options.output, options.output_format) as out, _shown(job, options.quiet):
            for table in run(job):
                job.tally.rows_out += len(table)
                out.write(_plain(table))
        seconds = time.perf_counter() - begin
    if not options.quiet:
        print(summary(job.tally, seconds, options.engine, options.streaming), file=sys.stderr)
    if options.summary is not None:
        told = asdict(job.tally) | {"seconds": round(seconds, 6), "engine": options.engine}
        del told["doing"]
        with new_file(options.summary) as scratch:
            scratch.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


def _plain(table: Any) -> Any:
    """With times in microseconds where none is finer, and every column nullable: the same types from every engine."""
    pa = arrow()
    finer = [field for field in table.schema if pa.types.is_timestamp(field.type) and field.type.unit == "ns"]
    schema = table.schema if finer else in_micros(table.schema)
    return table.cast(pa.schema([field.with_nullable(True) for field in schema]))


def _shown(job: Job, quiet: bool) -> AbstractContextManager[None]:
    return nullcontext() if quiet else shown(job.tally, job.source.rows())
