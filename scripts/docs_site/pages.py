"""MkDocs hooks: what pages need so that they read the same on the site and in the repository.

Plots lie beside their raw results in experiments/results, outside the site's folder. They are copied into it, and the
links to them changed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

RESULTS = Path(__file__).parents[2] / "experiments" / "results"


def on_files(files: Any, config: Any) -> Any:
    """Add the plots."""
    for path in sorted(RESULTS.glob("*.svg")):
        files.append(File.generated(config, f"results/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Point to the copied plots, colour doctests as a console, and leave out what only doctest reads."""
    markdown = re.sub(r"\]\(((?:\.\./)+)experiments/results/([\w-]+\.svg)\)", _image, markdown)
    markdown = re.sub(r"  # doctest: .*$", "", markdown, flags=re.MULTILINE)
    return re.sub(r"^```python\n(?=>>> )", "```pycon\n", markdown, flags=re.MULTILINE)


def _image(link: re.Match[str]) -> str:
    """The same link from the site's root, which is one folder nearer than the repository's."""
    return f"]({link[1][3:]}results/{link[2]})"
