"""Tables in Parquet, CSV and JSON lines files: one file, a folder of them or a pattern, read piece by piece.

CSV and JSON lines may be compressed, as the last suffix of a name says. The files of a folder or a pattern are one
table in the order of their names. A stream reads them in the order of their last writing, those of the same millisecond
by name. Names that begin with a dot or an underscore are not data, as in Spark and Hadoop.
"""

from __future__ import annotations

import csv
import glob
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, cast

from sash.cli.engines import InputError, UsageError

__all__ = [
    "SUFFIXES",
    "Format",
    "Source",
    "arrow",
    "compression_of",
    "format_of",
    "in_micros",
    "json_value",
    "table_of",
    "with_times",
]

Format = Literal["parquet", "csv", "jsonl"]
SUFFIXES: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}
"""The compression of a text file, by the last suffix of its name."""
PIECE = 1 << 17
"""Rows that are read at a time."""
_MOST_DIGITS, _SHOWN_DIGITS = 20, 25
"""Digits and the sign of a whole number of 64 bits; those of a larger one that an error quotes."""


def arrow() -> Any:
    """The package pyarrow. Raises :class:`UsageError` if it is not installed."""
    try:
        import pyarrow  # type: ignore[import-untyped]
    except ImportError:
        raise UsageError("files are read and written with pyarrow: pip install 'sash[files]'") from None
    return pyarrow


def format_of(path: Path, wanted: str | None = None) -> Format | None:
    """The format ``wanted``, else that of the file's suffix, before that of its compression; None if it is unknown.

    >>> format_of(Path("plugs.csv.gz")), format_of(Path("plugs.parquet")), format_of(Path("plugs"))
    ('csv', 'parquet', None)
    """
    if wanted:
        return cast(Format, wanted)
    kind = SUFFIXES.get(path.suffix.lower())
    if kind is None and compression_of(path) is not None:
        kind = SUFFIXES.get(Path(path.stem).suffix.lower())
        return None if kind == "parquet" else kind  # which is compressed inside
    return kind


def compression_of(path: Path) -> str | None:
    """How a text file is compressed, by its name."""
    return COMPRESSIONS.get(path.suffix.lower())


@dataclass(frozen=True)
class Source:
    """Files of one format and one schema, in order."""

    files: tuple[Path, ...]
    format: Format
    schema: Any

    @classmethod
    def of(cls, path: Path, wanted: str | None = None, streaming: bool = False) -> Source:
        """The data in a file, in a folder or in the files of a pattern, such as ``plugs-*.csv``.

        Types of CSV and JSON lines come from the first piece of the first file.
        """
        files = _files(path, wanted)
        if streaming:
            files.sort(key=lambda file: (file.stat().st_mtime_ns // 10**6, file.name))
        formats = {format_of(file, wanted) for file in files}
        if len(formats) > 1:
            raise InputError(f"{path} holds files of several formats, {', '.join(sorted(map(str, formats)))}: name one")
        (kind,) = formats
        if kind is None:
            raise UsageError(f"{path}: the file name does not show the format: add --format parquet, csv or jsonl")
        with _naming(files[0], kind):
            return cls(tuple(files), kind, _schema(files[0], kind))

    def tables(self) -> Iterator[Any]:
        """All rows as Arrow tables, piece by piece."""
        for file in self.files:
            yield from self.tables_of(file)

    def tables_of(self, file: Path) -> Iterator[Any]:
        """The rows of one file, piece by piece."""
        with _naming(file, self.format):
            yield from _READERS[self.format](file, self.schema)

    def rows(self) -> int | None:
        """How many rows there are; None if that is unknown without reading them."""
        if self.format != "parquet":
            return None
        rows = 0
        for file in self.files:
            with _naming(file, self.format):
                rows += _parquet().read_metadata(file).num_rows
        return rows

    def table(self) -> Any:
        """All rows as one Arrow table."""
        return arrow().concat_tables([self.schema.empty_table(), *self.tables()])


def _files(path: Path, wanted: str | None) -> list[Path]:
    if not path.exists() and glob.has_magic(str(path)):
        found = map(Path, glob.glob(str(path), recursive=True))
        if files := sorted(file for file in found if _is_data(file)):
            return files
        raise InputError(f"{path}: no file matches")
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if _is_data(file))
    if wanted is None:
        files = [file for file in files if format_of(file) is not None]
    if not files:
        raise InputError(f"{path} holds no Parquet, CSV or JSON lines files")
    return files


def _is_data(file: Path) -> bool:
    return file.is_file() and file.name[0] not in "._"


@contextmanager
def _naming(file: Path, kind: Format) -> Iterator[None]:
    """Name the file in errors of reading it."""
    try:
        yield
    except (arrow().ArrowInvalid, arrow().ArrowTypeError, UnicodeDecodeError) as error:
        at = _first_ragged_line(file) if kind == "csv" and "columns, got" in str(error) else None
        where = file if at is None else f"{file}, line {at}:"
        raise InputError(f"{where} cannot be read as {kind}: {error}") from error
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}") from error


def _schema(file: Path, kind: Format) -> Any:
    schema = _parquet().read_schema(file) if kind == "parquet" else next(_READERS[kind](file, None)).schema
    return schema.remove_metadata()


def _parquet() -> Any:
    arrow()
    from pyarrow import parquet

    return parquet


def _read_parquet(file: Path, schema: Any) -> Iterator[Any]:
    pa = arrow()
    with _parquet().ParquetFile(file) as reader:
        for batch in reader.iter_batches(PIECE):
            yield pa.table(batch).cast(schema)


def _read_csv(file: Path, schema: Any) -> Iterator[Any]:
    pa = arrow()
    from pyarrow import csv as arrow_csv

    types = None if schema is None else dict(zip(schema.names, schema.types, strict=True))
    options = arrow_csv.ConvertOptions(column_types=types, timestamp_parsers=[arrow_csv.ISO8601])
    blocks = arrow_csv.ReadOptions(block_size=1 << 22)
    with _open(file) as bytes_, arrow_csv.open_csv(bytes_, read_options=blocks, convert_options=options) as reader:
        if schema is None:
            first = next(iter(reader), None) if _has_rows(file) else None  # lines may be empty
            yield reader.schema.empty_table() if first is None else pa.table(first)
        for batch in reader:
            yield _cast(pa.table(batch), schema)


def _first_ragged_line(file: Path) -> int | None:
    """The first line of a CSV file that has more or fewer values than its header."""
    with _lines(file, errors="replace") as lines:
        reader = csv.reader(lines)
        try:
            columns = len(next(reader, ()))
            return next((reader.line_num for row in reader if row and len(row) != columns), None)
        except csv.Error:  # such as a value that never ends
            return reader.line_num


def _has_rows(file: Path) -> bool:
    with _lines(file) as lines:
        return len(list(islice(lines, 2))) == 2


def _open(file: Path) -> Any:
    """The bytes of a file, decompressed."""
    return arrow().input_stream(str(file), compression=compression_of(file))


def _lines(file: Path, errors: str = "strict") -> io.TextIOWrapper:
    return io.TextIOWrapper(_open(file), encoding="utf-8", errors=errors)


def _read_jsonl(file: Path, schema: Any) -> Iterator[Any]:
    pa = arrow()
    with _lines(file) as lines:
        first = 1
        while block := list(islice(lines, PIECE)):
            rows = [_parse(file, number, line) for number, line in enumerate(block, first) if line.strip()]
            first += len(block)
            if schema is None:
                yield with_times(pa.Table.from_pylist(rows))
                return
            yield table_of(file, rows, schema)
        if schema is None:
            raise InputError(f"{file} is empty, so its columns are unknown")


_READERS = {"parquet": _read_parquet, "csv": _read_csv, "jsonl": _read_jsonl}
"""By format: the rows of a file as tables of a schema; of CSV and JSON lines without one, a first table to infer it."""


def _parse(file: Path, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line, parse_int=_parse_int)
    except json.JSONDecodeError as error:
        raise InputError(f"{file}, line {number}: this is not JSON: {error}") from None
    except OverflowError as error:
        raise InputError(f"{file}, line {number}: {error}") from None
    except RecursionError:
        raise InputError(f"{file}, line {number}: values are nested too deeply to be read") from None
    if not isinstance(row, dict):
        raise InputError(f'{file}, line {number}: expected an object such as {{"ts": 1}}; got {line.strip()[:40]}')
    return row


def _parse_int(digits: str) -> int:
    """A whole number of a column, which holds 64 bits."""
    if len(digits) > _MOST_DIGITS or not -(1 << 63) <= (number := int(digits)) < 1 << 63:
        shown = digits if len(digits) <= _SHOWN_DIGITS else f"{digits[:_SHOWN_DIGITS]}…"
        raise OverflowError(f"{shown} is not a whole number of 64 bits: write it with a decimal point, or as a text")
    return number


def with_times(table: Any) -> Any:
    """The table with columns of ISO 8601 texts as times, for which JSON has no type."""
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


def table_of(name: Path | str, rows: list[dict[str, Any]], schema: Any) -> Any:
    """Rows of JSON as a table of a schema; ``name`` says in errors where they are from."""
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
            raise InputError(f"{name}, column {field.name!r}: {error}") from error
    return pa.Table.from_arrays(columns, schema=schema)


def _cast(table: Any, schema: Any) -> Any:
    if schema is None or table.schema == schema:
        return table
    missing = [name for name in schema.names if name not in table.schema.names]
    if missing:
        raise arrow().ArrowInvalid(f"it has no column {missing[0]!r}, which the first file has")
    return table.select(schema.names).cast(schema)


def json_value(value: Any) -> Any:
    """The text of a value that JSON has no type for."""
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def in_micros(schema: Any) -> Any:
    """The schema with times in microseconds, as engines have them."""
    return arrow().schema([field.with_type(_in_micros(field.type)) for field in schema])


def _in_micros(kind: Any) -> Any:
    pa = arrow()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_in_micros(field.type)) for field in kind])
    return kind
