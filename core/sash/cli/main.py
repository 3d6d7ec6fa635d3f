"""The commands, and how each of them ends."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points

import sash
from sash.cli import generating, running
from sash.cli.errors import DATA, OK, USAGE, DataError, UsageError, sentence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)  # exits with 2 itself
    try:
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
