"""What several commands share: the query file, and options that go with it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from sash.cli.engines import UsageError, sentence
from sash.query import Query
from sash.query.file import QueryFileError, QueryImportError, load_query
from sash.query.import_paths import Imports

__all__ = ["add_allow_imports", "positive", "query_of"]


def add_allow_imports(command: argparse.ArgumentParser) -> None:
    """Add the option that lets a query file name code."""
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


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1; got {text!r}")
    return int(text)


def query_of(path: Path, allow_imports: Sequence[str] = ()) -> Query:
    """The query of a file. Allowed imports are also searched in the current folder, here and in local workers."""
    here = os.getcwd()
    if allow_imports and here not in sys.path:
        sys.path.insert(0, here)
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    try:
        return load_query(path, allow_imports=allow_imports)
    except FileNotFoundError:
        raise UsageError(f"{path}: no such query file") from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder, not a query file") from None
    except OSError as error:
        raise UsageError(f"{path}: the query file cannot be read: {error.strerror or error}") from None
    except QueryImportError as error:
        remedy = "" if error.module is None else f"; if you trust the file, say --allow-imports {error.module}"
        raise UsageError(f"{path}, line {error.line}: {error.reason}{remedy}") from error
    except QueryFileError as error:
        raise UsageError(sentence(error)) from error
