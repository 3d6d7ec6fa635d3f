"""Sash as a job takes it along: the clusters do not have it."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path

__all__ = ["ROOT", "pack", "prepare"]

ROOT = Path(__file__).parents[2]
SOURCES = {
    "core": "sash",
    "spark_adapter": "sash_spark",
    "flink_adapter": "sash_flink",
    ".": "integration_tests",
}


def pack(path: Path, changed: Mapping[str, tuple[str, str]] | None = None) -> Path:
    """Everything that is imported, in one archive; ``changed`` files have one text in place of another."""
    left = dict(changed or {})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for root, package in SOURCES.items():
            for file in sorted((ROOT / root / package).rglob("*")):
                if file.is_file() and file.suffix in (".py", ".jar", ".html", ".toml"):
                    name = file.relative_to(ROOT / root)
                    archive.writestr(str(name), _changed(file.read_bytes(), left.pop(str(name), None)))
    assert not left, f"not in the archive: {left}"
    return path


def _changed(content: bytes, change: tuple[str, str] | None) -> bytes:
    if change is None:
        return content
    old, new = (text.encode() for text in change)
    assert content.count(old) == 1, f"{old!r} is there {content.count(old)} times"
    return content.replace(old, new)


def prepare(shared: Path) -> None:
    """What all containers find in the folder that they share: the jobs, and Sash."""
    shared.chmod(0o777)
    shutil.copytree(Path(__file__).parent / "jobs", shared / "jobs")
    pack(shared / "sash.zip")
