"""Notebooks without Jupyter: runs the cells, and returns or stores what they show.

``python -m integration_tests.notebooks examples/windows.ipynb`` stores the pictures, so that readers of the file see
them.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

__all__ = ["pictures", "run_notebook"]


def run_notebook(path: Path) -> list[Any]:
    """The values of the last expressions of the code cells, None where a cell ends in a statement."""
    names: dict[str, Any] = {"__name__": "__main__"}
    return [_run("".join(cell["source"]), names) for cell in code_cells(path)]


def _run(source: str, names: dict[str, Any]) -> Any:
    tree = ast.parse(source)
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        exec(compile(tree, "notebook", "exec"), names)
        return None
    exec(compile(ast.Module(tree.body[:-1], []), "notebook", "exec"), names)
    return eval(compile(ast.Expression(last.value), "notebook", "eval"), names)


def code_cells(path: Path) -> list[dict[str, Any]]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def pictures(path: Path) -> list[str]:
    """What a notebook's file shows: the pictures that are stored in it."""
    return [
        "".join(output["data"]["text/html"])
        for cell in code_cells(path)
        for output in cell["outputs"]
        if "text/html" in output["data"]
    ]


def store(path: Path) -> None:
    """Put what the cells show into the file, if it is a picture: all else may differ from machine to machine."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    shown = run_notebook(path)
    for cell, value in zip((cell for cell in notebook["cells"] if cell["cell_type"] == "code"), shown, strict=True):
        cell["outputs"] = []
        if str(value).startswith("<svg"):
            data = {"text/html": value._repr_html_().splitlines(keepends=True), "text/plain": ["<a picture>"]}
            cell["outputs"] = [{"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": None}]
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    store(Path(sys.argv[1]))
