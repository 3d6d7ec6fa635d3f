"""Tables in files: Parquet, CSV and JSON lines, one file or a folder of them, read and written piece by piece.

Files of a folder are one table in the order of their names. As a stream they arrive in the order in which they were
last written, those of the same millisecond in the order of their names. Names that begin with a dot or an underscore
are not data, as in Spark and Hadoop.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, cast

from sash.cli.errors import DataError, UsageError

__all__ = ["SUFFIXES", "Format", "Source", "arrow", "format_of", "in_micros", "json_value"]

Format = Literal["parquet", "csv", "jsonl"]
SUFFIXES: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
PIECE = 1 << 17
"""Rows that are held at a time while a file is read in pieces."""


def arrow() -> Any:
    """The package pyarrow, which reads and writes all of these files."""
    try:
        import pyarrow  # type: ignore[import-untyped]
    except ImportError:
        raise UsageError("files are read and written with pyarrow: pip install 'sash[files]'") from None
    return pyarrow


def format_of(path: Path, wanted: str | None = None) -> Format | None:
    """What a file is by its name, unless it is said; None: the name does not tell."""
    return cast(Format, wanted) if wanted else SUFFIXES.get(path.suffix.lower())


@dataclass(frozen=True)
class Source:
    """Files of one format and one schema, in order."""

    files: tuple[Path, ...]
    format: Format
    schema: Any

    @classmethod
    def of(cls, path: Path, wanted: str | None = None, streaming: bool = False) -> Source:
        """The data in a file or a folder. The types of CSV and JSON lines are told by the first file's first piece."""
        if not path.exists():
            raise DataError(f"{path}: there is no such file or folder")
        files = _files(path, wanted)
        if streaming:
            files.sort(key=lambda file: (file.stat().st_mtime_ns // 10**6, file.name))
        formats = {format_of(file, wanted) for file in files}
        if len(formats) > 1:
            raise DataError(f"{path} holds files of several formats, {', '.join(sorted(map(str, formats)))}: name one")
        (found,) = formats
        if found is None:
            raise UsageError(f"{path}: the name does not tell whether it is Parquet, CSV or JSON lines; say --format")
        return cls(tuple(files), found, _read(files[0], found, _schema, None))

    def tables(self) -> Iterator[Any]:
        """All rows as Arrow tables, piece by piece."""
        for file in self.files:
            yield from self.tables_of(file)

    def tables_of(self, file: Path) -> Iterator[Any]:
        """The rows of one file, piece by piece."""
        pieces = _read(file, self.format, _pieces, self.schema)
        while (piece := _read(file, self.format, lambda *_: next(pieces, None), None)) is not None:
            yield piece

    def rows(self) -> int | None:
        """How many rows there are, if that can be told without reading them."""
        if self.format != "parquet":
            return None
        read = _parquet().read_metadata
        counts: list[int] = [_read(file, self.format, lambda path, _: read(path).num_rows) for file in self.files]
        return sum(counts)

    def table(self) -> Any:
        """All rows as one Arrow table."""
        return arrow().concat_tables([self.schema.empty_table(), *self.tables()])


def _files(path: Path, wanted: str | None) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.is_file() and file.name[0] not in "._")
    if wanted is None:
        files = [file for file in files if format_of(file) is not None]
    if not files:
        raise DataError(f"{path} holds no Parquet, CSV or JSON lines files")
    return files


def _read(file: Path, kind: Format, what: Callable[..., Any], *arguments: Any) -> Any:
    """What a function gives of a file; what is wrong with the file is said with its name."""
    try:
        return what(file, kind, *arguments)
    except (arrow().ArrowInvalid, arrow().ArrowTypeError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read as {kind}: {error}") from error
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror or error}") from error


def _schema(file: Path, kind: Format, _: None) -> Any:
    if kind == "parquet":
        return _parquet().read_schema(file).remove_metadata()
    return next(_pieces(file, kind, None)).schema.remove_metadata()


def _pieces(file: Path, kind: Format, schema: Any) -> Iterator[Any]:
    return {"parquet": _of_parquet, "csv": _of_csv, "jsonl": _of_jsonl}[kind](file, schema)


def _parquet() -> Any:
    arrow()
    from pyarrow import parquet

    return parquet


def _of_parquet(file: Path, schema: Any) -> Iterator[Any]:
    pa = arrow()
    with _parquet().ParquetFile(file) as opened:
        for batch in opened.iter_batches(PIECE):
            yield pa.table(batch).cast(schema)


def _of_csv(file: Path, schema: Any) -> Iterator[Any]:
    pa = arrow()
    from pyarrow import csv

    types = None if schema is None else dict(zip(schema.names, schema.types, strict=True))
    # Types of an empty file are told by nothing.
    options = csv.ConvertOptions(column_types=types, timestamp_parsers=[csv.ISO8601])
    with csv.open_csv(file, read_options=csv.ReadOptions(block_size=1 << 22), convert_options=options) as reader:
        if schema is None:
            yield pa.table(reader.read_next_batch()) if _has_rows(file) else reader.schema.empty_table()
        for batch in reader:
            yield _as(pa.table(batch), schema)


def _has_rows(file: Path) -> bool:
    with file.open(encoding="utf-8") as lines:
        return len(list(islice(lines, 2))) == 2


def _of_jsonl(file: Path, schema: Any) -> Iterator[Any]:
    pa = arrow()
    with file.open(encoding="utf-8") as lines:
        first = 1
        while held := list(islice(lines, PIECE)):
            rows = [_parsed(file, number, line) for number, line in enumerate(held, first) if line.strip()]
            first += len(held)
            if schema is None:
                yield _inferred(pa.Table.from_pylist(rows))
                return
            yield _typed(file, rows, schema)
        if schema is None:
            raise DataError(f"{file} is empty: nothing tells its columns")


def _parsed(file: Path, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise DataError(f"{file}, line {number}: this is not JSON: {error}") from None
    if not isinstance(row, dict):
        raise DataError(f'{file}, line {number}: expected an object such as {{"ts": 1}}; got {line.strip()[:40]}')
    return row


def _inferred(table: Any) -> Any:
    """With texts that are all times in ISO 8601 as times: JSON has no type for them."""
    pa = arrow()
    for place, field in enumerate(table.schema):
        column = table.column(place)
        if field.type != pa.string() or column.null_count == len(column):
            continue
        for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
            try:
                table = table.set_column(place, field.name, column.cast(kind))
                break
            except pa.ArrowInvalid:
                continue
    return table


def _typed(file: Path, rows: list[dict[str, Any]], schema: Any) -> Any:
    pa = arrow()
    columns = []
    for field in schema:
        values = [row.get(field.name) for row in rows]
        if pa.types.is_timestamp(field.type):
            columns.append(pa.array(values, pa.string()).cast(field.type))
            continue
        try:
            columns.append(pa.array(values, field.type))
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise DataError(f"{file}, column {field.name!r}: {error}") from error
    return pa.Table.from_arrays(columns, schema=schema)


def _as(table: Any, schema: Any) -> Any:
    if schema is None or table.schema == schema:
        return table
    missing = [name for name in schema.names if name not in table.schema.names]
    if missing:
        raise arrow().ArrowInvalid(f"it has no column {missing[0]!r}, which the first file has")
    return table.select(schema.names).cast(schema)


def json_value(value: Any) -> Any:
    """Values that JSON does not know, as texts."""
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def in_micros(schema: Any) -> Any:
    """The same columns with times in microseconds, which is what engines have."""
    return arrow().schema([field.with_type(_in_micros(field.type)) for field in schema])


def _in_micros(kind: Any) -> Any:
    pa = arrow()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_in_micros(field.type)) for field in kind])
    return kind
