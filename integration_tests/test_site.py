"""The documentation site: it builds without a dead link, shows everything public, and loads nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import sash
from docs_site import docstrings, pages

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as ``make docs`` builds it: warnings are errors."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert built.returncode == 0, built.stderr
    return folder


def html(site: Path) -> dict[str, str]:
    return {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loads = re.compile(r"<(?:script|img|iframe|source)[^>]+src=\"(?:https?:)?//|<link[^>]+href=\"(?:https?:)?//")
    assert [name for name, text in html(site).items() if loads.search(text)] == []
    styles = [path for path in site.rglob("*.css") if re.search(r"url\(\"?(?:https?:)?//", path.read_text("utf-8"))]
    assert styles == []


def test_all_that_is_public_is_in_the_reference(site: Path) -> None:
    shown = set(re.findall(r'id="sash\.([\w.]+)"', "".join(html(site).values())))
    public = set(sash.__all__) - {"__version__", "aggregators", "stores", "windows"}
    assert sorted(public - shown) == []


def test_plots_are_part_of_the_site(site: Path) -> None:
    page = (site / "benchmarks" / "index.html").read_text(encoding="utf-8")
    assert 'src="../results/rolling.svg"' in page
    assert (site / "results" / "rolling.svg").read_bytes() == (pages.RESULTS / "rolling.svg").read_bytes()


def test_docstrings_become_markdown() -> None:
    text = "As::\n\n    a drawing\n\nSee :class:`~sash.Query`.\n\n>>> f()  # doctest: +SKIP\n1\n>>> g()\n\nAfter."
    fenced = "```pycon\n>>> f()\n1\n>>> g()\n```"
    assert docstrings.markdown(text) == f"As:\n\n    a drawing\n\nSee `sash.Query`.\n\n{fenced}\n\nAfter."
