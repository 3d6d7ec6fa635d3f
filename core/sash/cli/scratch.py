"""Outputs that appear under their name only when they are whole.

A run writes into a scratch file or folder beside its output and renames it at the end. The scratch name starts with a
dot, so that no reader takes it for data, and has a random part, so that two runs do not share it. A run that is
interrupted or terminated removes it. One that is killed leaves it behind, and the output as it was.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sash.cli.errors import UsageError

__all__ = ["SUCCESS", "new_file", "new_folder"]

SUCCESS = "_SUCCESS"
"""The empty file that marks a whole folder, as Spark and Hadoop write it; readers skip it."""


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
