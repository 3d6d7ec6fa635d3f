"""The architecture page names files that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_all_files_that_the_page_names_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/]+\.py|[\w/]+/)`", page))
    roots = [ROOT, ROOT / "core", ROOT / "core" / "sash"]
    assert len(named) > 20
    assert [name for name in sorted(named) if not any((root / name).exists() for root in roots)] == []
