"""Query files and data files: a query, or an error of one line that says where; never a traceback."""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
import warnings
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from random import Random

import sash
from sash.cli import main
from sash.query.file import QueryFileError, dump_query, parse_query

from .mutate import of_text

__all__ = ["check", "check_query", "data", "mutated", "mutated_query", "queries"]

CORPUS = Path(__file__).with_name("corpus")
QUERY = b"""key = "k"
time = "ts"
window = { type = "tumbling", range = "10s" }
[aggregates.n]
function = "Count"
[aggregates.x]
function = "Max"
columns = "x"
"""


def _files(folder: str) -> Mapping[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((CORPUS / folder).iterdir())}


@cache
def queries() -> Mapping[str, bytes]:
    """Query files."""
    return _files("queries")


@cache
def data() -> Mapping[str, bytes]:
    """Data files, by names whose suffix is their format."""
    return _files("data")


def mutated_query(chance: Random) -> tuple[str, bytes]:
    """A query file with other bytes, words or lines."""
    name = chance.choice(list(queries()))
    return name, of_text(queries()[name], chance)


def check_query(name: str, text: bytes) -> None:
    """Read it; what was read can be written, and read again as the same."""
    try:
        query = parse_query(text.decode("utf-8", "replace"))
    except QueryFileError as error:
        if len(str(error)) > 3000:
            raise AssertionError(f"an error of {len(str(error))} characters") from None
        return
    try:
        again = dump_query(query)
    except (TypeError, ValueError):  # what has no form in TOML
        return
    assert parse_query(again).results == query.results, again


def mutated(chance: Random) -> tuple[str, bytes]:
    """A data file with other bytes, words or lines, or one with the suffix of another format."""
    name = chance.choice(list(data()))
    suffix = chance.choice([".csv", ".jsonl", ".parquet", ".csv.gz"]) if chance.random() < 0.05 else Path(name).suffix
    return Path(name).stem + suffix, of_text(data()[name], chance)


def check(name: str, content: bytes) -> None:
    """``sash run`` over it exits with 0, 1 or 2, and says why in one line that names the file, a column or a row."""
    with tempfile.TemporaryDirectory(prefix="sash-fuzz-") as folder:
        query, file, out = (Path(folder) / part for part in ("q.toml", name, "out.jsonl"))
        query.write_bytes(QUERY)
        file.write_bytes(content)
        said = io.StringIO()
        with contextlib.redirect_stderr(said), warnings.catch_warnings():
            warnings.simplefilter("ignore", sash.PerformanceWarning)
            code = main(["run", str(query), "--input", str(file), "--output", str(out), "--quiet"])
        text = said.getvalue()
        assert code in (0, 1, 2), f"exit code {code}"
        if code:
            assert text.count("\n") == 1 and text.startswith("sash: "), text
            assert re.search(rf"{re.escape(name)}|column|row \d|key", text), f"it does not say where: {text}"
        left = {path.name for path in Path(folder).iterdir()} - {"q.toml", name}
        assert left == ({out.name} if code == 0 else set()), f"files are left: {left}"
