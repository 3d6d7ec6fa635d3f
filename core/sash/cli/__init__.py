"""The command line: ``sash run``, ``explain``, ``size`` and what the entry point group ``sash.commands`` adds
(``generate``, ``experiment``). Also ``python -m sash``.

It exits with 0 on success, 1 for data that the query cannot take and 2 for invalid usage (arguments, the query file, an
input that cannot be read, a missing engine). An error is one sentence on standard error.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import Any

import sash
from sash.cli import completion, running, sizing
from sash.cli.engines import DATA, OK, USAGE, DataError, UsageError, sentence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    options = _parser().parse_args(arguments)  # exits with 2 itself
    try:
        with _orderly_termination():
            options.command(options)
            sys.stdout.flush()
    except UsageError as error:
        return _fail(error, USAGE)
    except BrokenPipeError:  # whoever read the results has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except (DataError, ValueError, TypeError, KeyError, ArithmeticError, OSError) as error:
        return _fail(error, DATA)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 130
    return OK


@contextmanager
def _orderly_termination() -> Iterator[None]:
    """End a command on SIGTERM as on Ctrl-C, so that unfinished output is removed; the exit code is 143."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return

    def end(number: int, _: Any) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _fail(error: Exception, code: int) -> int:
    print(f"sash: {sentence(error)}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sash", description="Aggregations over sliding windows, exactly.")
    parser.add_argument("--version", action="version", version=f"sash {sash.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    running.add(commands)
    sizing.add(commands)
    for point in sorted(entry_points(group="sash.commands")):
        point.load()(commands)
    completion.add(commands)
    return parser
