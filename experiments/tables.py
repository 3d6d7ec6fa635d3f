"""What the benchmarks share: tables that go into Markdown files by script and not by hand."""

from __future__ import annotations

from pathlib import Path

__all__ = ["insert"]


def insert(table: str, path: Path, mark: str) -> None:
    """Put a table between the marks ``<!-- mark: begin -->`` and ``<!-- mark: end -->`` of a Markdown file."""
    begin, end = f"<!-- {mark}: begin -->\n", f"<!-- {mark}: end -->"
    before, rest = path.read_text(encoding="utf-8").split(begin)
    path.write_text(f"{before}{begin}{table.strip()}\n{end}{rest.split(end)[1]}", encoding="utf-8")
