"""``sash generate``: made-up data with the shape of the papers' data sets."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sash.cli.engines import UsageError
from sash.cli.files import arrow
from sash.cli.writers import new_file, writing
from sash_experiments import generators

__all__ = ["add"]

MADE: dict[str, Callable[..., dict[str, Any]]] = {
    "debs12": generators.debs12,
    "debs14": generators.debs14,
    "uniform": generators.uniform,
    "football": generators.football,
}
LOADED: dict[str, tuple[str, Callable[..., dict[str, Any]]]] = {
    "debs12": ("allData.txt", generators.load_debs12),
    "debs14": ("sorted.csv", generators.load_debs14),
}
"""The challenges' own files, and what reads them."""
ORIGINAL = {"debs12": generators.debs12_lines, "debs14": generators.debs14_lines}


def add(commands: Any) -> None:
    """Add ``generate`` to the commands."""
    command = commands.add_parser(
        "generate",
        help="make data up",
        description="Made-up data with the schema, the rate, the number of keys and the skew of the papers' data sets.",
    )
    command.add_argument("dataset", choices=list(MADE), help="which data set it is to be like")
    command.add_argument("--rows", type=int, default=1000, metavar="N", help="how many (default %(default)s)")
    command.add_argument("--keys", type=int, metavar="N", help="how many keys (debs14: 14, uniform: 1)")
    command.add_argument("--seed", type=int, metavar="N", help="the same seed gives the same rows")
    command.add_argument("--output", type=Path, metavar="OUT", help="a file or folder (default: the console)")
    command.add_argument("--output-format", choices=("parquet", "csv", "jsonl"), help="where the name does not tell")
    command.add_argument("--files", type=int, default=1, metavar="N", help="cut a folder's rows into so many files")
    command.add_argument(
        "--original", action="store_true", help="write the challenge's own file format (debs12, debs14)"
    )
    command.add_argument(
        "--data-dir",
        type=Path,
        metavar="FOLDER",
        help="take the first rows of the challenge's own file there instead (allData.txt, sorted.csv)",
    )
    command.set_defaults(command=_generate)


def _generate(options: argparse.Namespace) -> None:
    make: Any = ORIGINAL.get(options.dataset) if options.original else MADE[options.dataset]
    if make is None:
        raise UsageError(
            f"{options.dataset} is no challenge's data set: only {', '.join(ORIGINAL)} have --original files"
        )
    given = {"seed": options.seed, "keys": options.keys}
    given = {name: value for name, value in given.items() if value is not None}
    if "keys" in given and "keys" not in inspect.signature(make).parameters:
        raise UsageError(f"{options.dataset} has one key: leave --keys out")
    if options.rows < 0 or options.files < 1 or given.get("keys", 1) < 1:
        raise UsageError("--rows must not be negative, --keys and --files at least 1")
    if options.data_dir is not None:
        table = arrow().table(_loaded(options, given))
    elif options.original:
        _write_lines(make(options.rows, **given), options.output)
        return
    else:
        table = arrow().table(make(options.rows, **given))
    step = max(-(-len(table) // options.files), 1)
    with writing(options.output, options.output_format) as out:
        for start in range(0, max(len(table), 1), step):
            out.write(table.slice(start, step))


def _loaded(options: argparse.Namespace, given: dict[str, int]) -> dict[str, Any]:
    if options.dataset not in LOADED:
        raise UsageError(f"{options.dataset} is no challenge's data set: only {', '.join(LOADED)} have a --data-dir")
    if given or options.original:
        raise UsageError("what is in --data-dir is taken as it is: leave --keys, --seed and --original out")
    name, load = LOADED[options.dataset]
    return load(options.data_dir / name, options.rows)


def _write_lines(lines: Any, path: Path | None) -> None:
    if path is None:
        raise UsageError("--original writes a file: name it with --output")
    with new_file(path) as scratch, scratch.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in lines)
