"""Sash as a job takes it along: the clusters do not have it."""

from __future__ import annotations

import zipfile
from pathlib import Path

__all__ = ["ROOT", "pack"]

ROOT = Path(__file__).parents[2]
SOURCES = {
    "core": "sash",
    "spark_adapter": "sash_spark",
    "flink_adapter": "sash_flink",
    ".": "integration_tests",
}


def pack(path: Path) -> Path:
    """Everything that is imported, in one archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for root, package in SOURCES.items():
            for file in sorted((ROOT / root / package).rglob("*")):
                if file.is_file() and file.suffix in (".py", ".jar", ".html", ".toml"):
                    archive.write(file, file.relative_to(ROOT / root))
    return path
