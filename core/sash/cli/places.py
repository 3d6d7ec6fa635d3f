"""What ``--input`` and ``--output`` name: a path, ``-``, a topic of Kafka, or a URL that fsspec knows, such as
``s3://bucket/plugs/*.parquet``. Files behind URLs are copied to this machine, and results from it when they are whole.
"""

from __future__ import annotations

import glob
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from sash.cli.engines import DataError, InputError, UsageError, sentence
from sash.cli.topics import Settings, Topic, TopicReader, TopicWriter
from sash.cli.writers import SUCCESS, Writer, writing

__all__ = ["Place", "Url", "copy_input", "place", "writing_to"]


@dataclass(frozen=True)
class Url:
    """Files that a package of fsspec reaches."""

    text: str

    def __str__(self) -> str:
        return self.text

    def open(self) -> tuple[Any, str]:
        """The file system, and the path in it."""
        try:
            import fsspec  # type: ignore[import-untyped]
        except ImportError:
            raise UsageError(f"{self}: URLs are read and written with fsspec: pip install fsspec") from None
        try:
            fs, path = fsspec.core.url_to_fs(self.text)
        except (ImportError, ValueError) as error:  # no package for such URLs, or a URL of no kind
            raise UsageError(f"{self}: {error}") from error
        return fs, path


Place = Path | Topic | Url


def place(text: str) -> Place:
    """What a text on the command line names.

    >>> place("plugs.csv").name, place("kafka://localhost:9092/plugs").name, place("s3://bucket/plugs.csv")
    ('plugs.csv', 'plugs', Url(text='s3://bucket/plugs.csv'))
    """
    return Topic.of(text) or (Url(text) if "://" in text else Path(text))


def copy_input(source: Path | Url, wanted: str | None, streaming: bool, scratch: Path) -> Path:
    """Where the data is on this machine; standard input and files behind URLs are copied there first."""
    if isinstance(source, Url):
        return _fetch(source, streaming, scratch)
    if str(source) != "-":
        return source
    if wanted is None:
        raise UsageError("--input -: say in which format standard input is with --format")
    copy = scratch / f"standard-input.{wanted}"
    with copy.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return copy


def _fetch(url: Url, streaming: bool, scratch: Path) -> Path:
    fs, path = url.open()
    folder = scratch / "fetched"
    folder.mkdir()
    try:
        many = glob.has_magic(path) or fs.isdir(path)
        found = sorted(fs.glob(path) if glob.has_magic(path) else fs.ls(path, detail=False)) if many else [path]
        files = [name for name in found if PurePosixPath(name).name[0] not in "._" and fs.isfile(name)]
        if not files:
            raise InputError(f"{url}: there is no such file")
        for number, name in enumerate(files):
            target = folder / f"{number:08d}.{PurePosixPath(name).name}"
            fs.get_file(name, str(target))
            if streaming:  # which takes files in the order of their last writing
                moment = fs.modified(name).timestamp()
                os.utime(target, (moment, moment))
    except (OSError, NotImplementedError) as error:
        raise InputError(f"{url} cannot be read: {sentence(error)}") from error
    return folder if many else target


@contextmanager
def writing_to(
    target: Place | None,
    wanted: str | None,
    keys: Sequence[str],
    read: TopicReader | None,
    settings: Settings,
    scratch: Path,
) -> Iterator[Writer]:
    """A writer of results; ``keys`` and what is ``read`` matter to topics only."""
    if isinstance(target, Topic):
        out = TopicWriter(target, keys, read, settings)
        try:
            yield out
        except BaseException:
            out.abort()
            raise
        out.close()
    elif isinstance(target, Url):
        fs, path = target.open()
        copy = scratch / "output" / PurePosixPath(path).name
        copy.parent.mkdir()
        with writing(copy, wanted) as writer:
            yield writer
        _put(copy, fs, path, target)
    else:
        with writing(target, wanted) as writer:
            yield writer


def _put(copy: Path, fs: Any, path: str, url: Url) -> None:
    """Copy results to where they belong, the mark of a whole folder last."""
    try:
        if copy.is_file():
            fs.put_file(str(copy), path)
            return
        if fs.exists(path) and fs.find(path):
            raise UsageError(f"{url} is not empty: name a new folder, or a file")
        fs.makedirs(path, exist_ok=True)
        for file in sorted(copy.iterdir(), key=lambda file: (file.name == SUCCESS, file.name)):
            fs.put_file(str(file), f"{path.rstrip('/')}/{file.name}")
    except OSError as error:
        raise DataError(f"{url} cannot be written: {sentence(error)}") from error
