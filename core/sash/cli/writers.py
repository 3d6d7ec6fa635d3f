"""Writers of results to a file, a folder of part files, standard output or the console, a table at a time.

A file or folder appears under its name only when it is whole: a run writes into a scratch file or folder beside its
output and renames it at the end. The scratch name starts with a dot, so that no reader takes it for data, and has a
random part, so that two runs do not share it. A run that is interrupted or terminated removes it. One that is killed
leaves it behind, and the output as it was.
"""

from __future__ import annotations

import io
import json
import math
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO, cast

from sash.cli.engines import DataError, UsageError
from sash.cli.files import Format, arrow, compression_of, format_of, json_value

__all__ = [
    "SUCCESS",
    "Writer",
    "json_row",
    "new_file",
    "new_folder",
    "writing",
]

SUCCESS = "_SUCCESS"
"""The empty file that marks a whole folder, as Spark and Hadoop write it; readers skip it."""


class Writer:
    """Takes Arrow tables of one schema. Errors of writing name ``path``, as that of a full disk does not.

    An empty table is held back, since its types may be guesses, and is written only if no other comes.
    """

    path: Path | None = None
    _empty: Any = None
    _has_rows = False

    def write(self, table: Any) -> None:
        """Append the rows of a table."""
        if not len(table):
            self._empty = table
            return
        self._has_rows = True
        with self._naming_output():
            self._write(table)

    @property
    def commits_input(self) -> bool:
        """Whether :meth:`commit` also commits the offsets of the input."""
        return False

    def commit(self, metadata: str = "") -> None:
        """Hand on what was written so far; ``metadata`` goes with the offsets of the input."""
        with self._naming_output():
            self._flush()

    def close(self) -> None:
        """Finish the output."""
        with self._naming_output():
            if not self._has_rows and self._empty is not None:
                self._write(self._empty)
            self._close()

    @contextmanager
    def _naming_output(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if self.path is None:
                raise
            why = os.strerror(error.errno).lower() if error.errno else str(error)
            raise DataError(f"{self.path} cannot be written: {why}") from error

    def _write(self, table: Any) -> None:
        raise NotImplementedError

    def _close(self) -> None:
        pass

    def _flush(self) -> None:
        pass


@contextmanager
def writing(path: Path | None, wanted: str | None = None) -> Iterator[Writer]:
    """A writer to a file, to a folder (a path without a suffix), to standard output (``-``), or to the console."""
    if path is None and wanted is None:
        yield Console(sys.stdout)
        return
    if path is None or str(path) == "-":
        if wanted is None:
            raise UsageError("--output -: say in which format to write to standard output with --output-format")
        writer: Writer = Lines(sys.stdout) if wanted == "jsonl" else TableStream(_Pipe(), cast(Format, wanted))
        yield writer
        writer.close()
        return
    folder = path.is_dir() or (not path.suffix and not path.is_file())
    kind = format_of(path, wanted) or ("parquet" if folder else None)
    if kind is None:
        raise UsageError(
            f"{path}: the name does not say whether to write Parquet, CSV or JSON lines: add --output-format"
        )
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}")
    with new_folder(path) if folder else new_file(path) as scratch:
        writer = Parts(scratch, kind) if folder else _to_file(scratch, kind, path)
        writer.path = path
        try:
            yield writer
        except BaseException:
            with suppress(DataError, ValueError):  # what is raised already says why
                writer.close()
            raise
        writer.close()


def _to_file(path: Path, kind: Format, name: Path | None = None) -> Writer:
    """To a file that will have another ``name``, which says how it is compressed."""
    compression = None if kind == "parquet" else compression_of(name or path)
    stream = arrow().output_stream(str(path), compression=compression)
    return Lines(io.TextIOWrapper(stream, encoding="utf-8"), own=True) if kind == "jsonl" else TableStream(stream, kind)


class TableStream(Writer):
    """To a stream of bytes as Parquet or CSV. The first table with rows determines the types."""

    def __init__(self, stream: Any, kind: Format) -> None:
        self._stream, self._kind = stream, kind
        self._file: Any = None

    def _write(self, table: Any) -> None:
        if self._file is None:
            self._schema = table.schema
            self._file = self._open(table.schema)
        if len(table):
            self._file.write_table(table if table.schema == self._schema else table.cast(self._schema))

    def _open(self, schema: Any) -> Any:
        pa = arrow()
        if self._kind == "parquet":
            from pyarrow import parquet  # type: ignore[import-untyped]

            return parquet.ParquetWriter(self._stream, schema)
        from pyarrow import csv

        nested = [field.name for field in schema if pa.types.is_nested(field.type)]
        if nested:
            raise DataError(
                f"column {nested[0]!r} holds several values a row, which CSV cannot: write Parquet or JSON lines"
            )
        return csv.CSVWriter(self._stream, schema)

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._stream.close()


class _Pipe(io.RawIOBase):
    """Standard output as a stream of bytes that counts them, since a pipe does not know where it is."""

    def __init__(self) -> None:
        self._written = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._written += memoryview(data).nbytes
        sys.stdout.buffer.write(data)
        return memoryview(data).nbytes

    def tell(self) -> int:
        return self._written

    def flush(self) -> None:
        sys.stdout.buffer.flush()


def json_row(row: dict[str, Any]) -> str:
    """A row as JSON, with null for NaN and infinities, which it lacks."""
    try:
        return json.dumps(row, default=json_value, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(row), default=json_value, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Lines(Writer):
    """To a text file or the console, a JSON object a row."""

    def __init__(self, file: TextIO, own: bool = False) -> None:
        self._file, self._own = file, own

    def _write(self, table: Any) -> None:
        for batch in table.to_batches(1 << 14):
            self._file.writelines(json_row(row) + "\n" for row in batch.to_pylist())

    def _flush(self) -> None:
        self._file.flush()

    def _close(self) -> None:
        if self._own:
            self._file.close()
        else:
            self._file.flush()


class Parts(Writer):
    """To a folder, one file a table."""

    def __init__(self, folder: Path, kind: Format) -> None:
        self._folder, self._kind, self._count = folder, kind, 0

    def _write(self, table: Any) -> None:
        part = _to_file(self._folder / f"part-{self._count:05d}.{self._kind}", self._kind)
        try:
            part.write(table)
        finally:
            part.close()
        self._count += 1


class Console(Writer):
    """To the console, in aligned columns as wide as the first rows need."""

    SHOWN = 24

    def __init__(self, file: TextIO) -> None:
        self._file, self._widths = file, list[int]()

    def _write(self, table: Any) -> None:
        for batch in table.to_batches(1 << 14):
            cells = [[_cell(value) for value in row.values()] for row in batch.to_pylist()]
            if not self._widths and cells:
                head = list(table.schema.names)
                self._widths = [max(map(len, column)) for column in zip(head, *cells[: self.SHOWN], strict=True)]
                self._line(head)
            for row in cells:
                self._line(row)

    def _flush(self) -> None:
        self._file.flush()

    def _line(self, cells: list[str]) -> None:
        text = "  ".join(cell.rjust(width) for cell, width in zip(cells, self._widths, strict=True))
        print(text, file=self._file)


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A scratch file that replaces ``path`` at the end, unless something is raised."""
    scratch = _beside(path)
    try:
        yield scratch
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A scratch folder that becomes ``path`` at the end, with a file ``_SUCCESS``, unless something is raised.

    ``path`` must hold no data, neither now nor at the end: old and new results would be one table.
    """
    path = path.resolve()
    _check_no_data(path)
    move = _replace if _is_replaceable(path) else _fill
    scratch = _beside(path) if move is _replace else path / _beside(path).name
    scratch.mkdir()
    try:
        yield scratch
        (scratch / SUCCESS).touch()
        _check_no_data(path)
        move(scratch, path)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name[:40]}.{secrets.token_hex(6)}.part")


def _check_no_data(path: Path) -> None:
    if path.exists() and any(file.name[0] not in "._" for file in path.iterdir()):
        raise _not_empty(path)


def _not_empty(path: Path) -> UsageError:
    return UsageError(f"{path} is not empty: name a new folder, or a file")


def _is_replaceable(path: Path) -> bool:
    """Whether another folder can be renamed to this one."""
    if not path.exists():
        return True
    return not os.path.ismount(path) and os.access(path.parent, os.W_OK) and not any(path.iterdir())


def _replace(scratch: Path, path: Path) -> None:
    if path.exists():
        shutil.copymode(path, scratch)
    try:
        os.rename(scratch, path)  # replaces an empty folder only
    except OSError:
        _check_no_data(path)  # of another run, meanwhile
        raise


def _fill(scratch: Path, path: Path) -> None:
    """Move all files into the folder, ``_SUCCESS`` last: it marks the folder as whole."""
    (path / SUCCESS).unlink(missing_ok=True)
    moved = list[Path]()
    try:
        for file in sorted(scratch.iterdir(), key=lambda file: (file.name == SUCCESS, file.name)):
            target = path / file.name
            if not moved:
                target.touch(exist_ok=False)  # only one of two runs can
            moved.append(target)
            os.replace(file, target)
    except FileExistsError:
        raise _not_empty(path) from None
    except BaseException:
        for target in moved:
            with suppress(OSError):
                target.unlink()
        raise
