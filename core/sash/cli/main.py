"""The commands, and how each of them ends."""

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
from sash.cli import generating, running
from sash.cli.errors import DATA, OK, USAGE, DataError, UsageError, sentence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)  # exits with 2 itself
    try:
        with _orderly_termination():
            options.command(options)
            sys.stdout.flush()
    except UsageError as error:
        return _failed(error, USAGE)
    except (DataError, ValueError, TypeError, KeyError, ArithmeticError) as error:
        return _failed(error, DATA)
    except BrokenPipeError:  # whoever read the results has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except OSError as error:
        return _failed(error, DATA)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 130
    return OK


@contextmanager
def _orderly_termination() -> Iterator[None]:
    """SIGTERM ends a command as Ctrl-C does, so that what it has not finished is removed, with exit code 143."""
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


def _failed(error: Exception, code: int) -> int:
    print(f"sash: {sentence(error)}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sash", description="Aggregations over sliding windows, exactly.")
    parser.add_argument("--version", action="version", version=f"sash {sash.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    running.add(commands)
    generating.add(commands)
    for point in sorted(entry_points(group="sash.commands")):
        point.load()(commands)
    return parser
