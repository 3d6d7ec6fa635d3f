"""What each folder may import: the table, and every import of the repository that breaks it.

The folders of the core are in layers: each may import itself and those above it in the list. Imports inside functions
and those for type checkers count as others do.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "ADAPTERS", "CORE", "LAYERS", "ROOT", "TABLE", "Import", "graph", "imports", "imports_of", "python_files",
    "violations",
]  # fmt: skip

ROOT = Path(__file__).parents[2]
CORE = ROOT / "core" / "sash"
ADAPTERS = (ROOT / "flink_adapter" / "sash_flink", ROOT / "spark_adapter" / "sash_spark")
LAYERS = (
    "values", "aggregations", "aggregators", "windows", "query", "frames", "kernels", "state", "engine", "runtime",
    "pandas", "polars", "stores", "testing", "cli",
)  # fmt: skip
"""The folders of the core, from the bottom to the top."""

_FLINK = {"pyflink", "apache_beam", "grpc", "py4j", "pemja"}
_SPARK = {"pyspark"}
_CORE = {f"sash.{folder}" for folder in LAYERS}
_ALL = {"sash", "sash.spi", *_CORE}
_TESTS = {"sash", "sash.spi", "sash.testing", "sash.cli"}
TABLE: dict[str, set[str]] = {
    **{f"sash.{folder}": {f"sash.{lower}" for lower in LAYERS[:place]} for place, folder in enumerate(LAYERS)},
    "sash.cli": _ALL - {"sash.spi"},
    "sash": _CORE - {"sash.cli", "sash.pandas", "sash.polars"},
    "sash.__main__": {"sash.cli"},
    "sash.spi": _CORE,
    "sash_flink": {"sash", "sash.spi", *_FLINK},
    "sash_spark": {"sash", "sash.spi", *_SPARK},
    "core/tests": _ALL,
    "flink_adapter/tests": {*_TESTS, "sash_flink", *_FLINK},
    "spark_adapter/tests": {*_TESTS, "sash_spark", *_SPARK},
    "sash_experiments": {*_ALL, "sash_flink", "sash_spark", *_FLINK, *_SPARK},
    "experiments/tests": {*_ALL, "sash_experiments", *_SPARK},
    "integration_tests": {*_ALL, "sash_experiments", "sash_flink", "sash_spark", "codemap", *_FLINK, *_SPARK},
    "compose": {"sash.cli"},
    "examples": {"sash", "sash.pandas", "sash.polars", "sash_flink", "sash_spark", *_FLINK, *_SPARK},
    "conftest.py": {"sash_flink", "sash_spark", *_FLINK, *_SPARK},
    "scripts": {"codemap", "sash"},
}
"""Of the packages of this repository and of the engines, what each folder may import besides itself."""
WATCHED = {"sash", "sash_flink", "sash_spark", "sash_experiments", "integration_tests", "codemap", *_FLINK, *_SPARK}
_PACKAGES = {
    "core/sash": "sash",
    "flink_adapter/sash_flink": "sash_flink",
    "spark_adapter/sash_spark": "sash_spark",
    "experiments/sash_experiments": "sash_experiments",
}


class Import(NamedTuple):
    """An import: where it stands, the folder that this is in, and the folder or the package that it imports."""

    path: str
    line: int
    folder: str
    target: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.folder} imports {self.target}"


def violations(every: Iterable[Import]) -> list[Import]:
    """The imports that the table does not allow. O(imports)."""
    return [one for one in every if one.target not in TABLE.get(one.folder, ())]


def imports(root: Path = ROOT) -> Iterator[Import]:
    """Every import of a watched package from another folder, in all Python files of the repository."""
    for path in python_files(root):
        yield from imports_of(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))


def imports_of(path: str, source: str) -> Iterator[Import]:
    """The same of one file.

    >>> list(map(str, imports_of("core/sash/values/a.py", "def f():\\n    from sash import engine, run")))
    ['core/sash/values/a.py:2: sash.values imports sash.engine', 'core/sash/values/a.py:2: sash.values imports sash']
    """
    folder = _folder(path)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for target in dict.fromkeys(map(_target, _modules(node, path))):
                if target.partition(".")[0] in WATCHED and target != folder:
                    yield Import(path, node.lineno, folder, target)


def graph(every: Iterable[Import]) -> dict[str, dict[str, int]]:
    """By folder, how many imports of which others it has."""
    counts: dict[str, dict[str, int]] = {}
    for one in every:
        targets = counts.setdefault(one.folder, {})
        targets[one.target] = targets.get(one.target, 0) + 1
    return counts


def python_files(folder: Path) -> list[Path]:
    """The Python files in a folder, in the order of their names; hidden folders and what is built are left out."""
    left_out = {"build", "dist", "artifacts"}
    inside = ((path, path.relative_to(folder).parts) for path in sorted(folder.rglob("*.py")))
    return [path for path, parts in inside if not any(part[0] == "." or part in left_out for part in parts)]


def _folder(path: str) -> str:
    """The name of a file's folder in the table: ``sash.engine`` for core/sash/engine/rows/lane.py."""
    for place, package in _PACKAGES.items():
        if path.startswith(f"{place}/"):
            return package if package != "sash" else _part(path.removeprefix("core/").removesuffix(".py").split("/"))
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[1:2] == ["tests"] else parts[0]


def _part(names: list[str]) -> str:
    """The folder, or the module at the top level, of the core that a module is in."""
    return ".".join(names[:2]).removesuffix(".__init__")


def _target(module: str) -> str:
    names = module.split(".")
    if names[0] != "sash":
        return names[0]
    inside = (CORE / names[1]).is_dir() or (CORE / f"{names[1]}.py").exists() if len(names) > 1 else False
    return _part(names) if inside else "sash"


def _modules(node: ast.Import | ast.ImportFrom, path: str) -> Iterator[str]:
    """The full names of all that is imported, modules or what is in them."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    home = node.module or ""
    if node.level:
        package = path.split("/")[: -node.level]
        home = ".".join([*package[1 if package[0] == "core" else 0 :], *filter(None, [node.module])])
    yield from (f"{home}.{alias.name}" for alias in node.names)
