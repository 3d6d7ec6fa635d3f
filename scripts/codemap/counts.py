"""Counts from the source that say in how many places an idea is decided. The rule of each is its docstring.

The rules read structure and names, not comments. They cannot see an idea that is written in a new way: who adds one
adds it to the rule.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from codemap.layers import ADAPTERS, CORE, python_files

__all__ = ["adapter_imports", "csa_lcs_copies", "fills_lcs", "lane_drivers", "modules", "state_writers", "type_tests"]

KINDS = ("windows", "engine/rows/watches", "engine/columns/rules", "stores")
"""The folders whose classes are kinds of windows, watches, rules and stores; classes named for one count as well."""
_NAMED = re.compile(r"(Window|Watch|Rule|Store)s?$")
_MERGE = r"(?:self\.)?_?(?:combine|merge)\w*"
_FROM_THE_RIGHT = [
    re.compile(rf"\b(\w+) = {_MERGE}\(.+, \1\)"),  # g = combine(value, g)
    re.compile(rf"\b(\w+)\.append\({_MERGE}\(.+, \1\[-1\]\)\)"),
    re.compile(rf"\b(\w+)\[(\w+)\] = {_MERGE}\(.+, \1\[\2 \+ 1\]\)"),  # lcs[j] = combine(lcs[j], lcs[j + 1])
]
_NEIGHBOURS = re.compile(r"\b(\w+)\[(\w+)\], \1\[\2 \+ 1\]")
_LOOP = re.compile(r"\s*(for|while)\b.*:")
_BACKWARD = re.compile(r"\s*for\b.*, -1\):")


def modules(folder: Path = CORE) -> list[Path]:
    """All modules in a folder and those below it."""
    return python_files(folder)


def type_tests() -> list[str]:
    """Where the core asks which kind of window, watch, rule or store it has.

    Counted are calls of ``isinstance``, class patterns of ``match`` and comparisons of ``type(…)`` that name a class
    which is defined in one of :data:`KINDS` or is named for one (``…Window``, ``…Watch``, ``…Rule``, ``…Store``). The
    oracle in ``testing`` does not count: it has to read windows by itself.
    """
    kinds = _kinds()
    places = ((_name(path), *test) for path in modules() for test in _tested(_tree(path)))
    return [
        f"{name}:{line}" for name, line, names in places if not (name.startswith("testing/") or kinds.isdisjoint(names))
    ]


def _kinds() -> set[str]:
    kinds = set()
    for path in modules():
        inside = _name(path).startswith(KINDS)
        classes = [node.name for node in ast.walk(_tree(path)) if isinstance(node, ast.ClassDef)]
        kinds |= {name for name in classes if inside or _NAMED.search(name)}
    return kinds


def _tested(tree: ast.AST) -> Iterator[tuple[int, set[str]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) == "isinstance":
            yield node.lineno, _names(node.args[1])
        elif isinstance(node, ast.MatchClass):
            yield node.lineno, _names(node.cls)
        elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Call) and _called(node.left) == "type":
            yield node.lineno, set().union(*map(_names, node.comparators))


def adapter_imports() -> list[str]:
    """The modules inside the core that the adapters import: all but ``sash`` itself."""
    trees = (_tree(path) for adapter in ADAPTERS for path in modules(adapter))
    return sorted({module for tree in trees for module, _ in _from(tree) if module.startswith("sash.")})


def lane_drivers() -> list[str]:
    """The modules above ``engine`` that drive lanes.

    Counted are modules that import a lane, a class of ``engine`` with methods ``process`` and ``advance``, or one with
    a method that returns a lane, and call ``process`` of something.
    """
    classes = [node for path in modules(CORE / "engine") for node in _classes(path)]
    lanes = {node.name for node in classes if _is_lane(node)}
    lanes |= {node.name for node in classes if lanes & _returned(node)}
    return [_name(path) for path in modules() if not _name(path).startswith("engine/") and _drives(_tree(path), lanes)]


def _is_lane(node: ast.ClassDef) -> bool:
    return {"process", "advance"} <= {method.name for method in node.body if isinstance(method, ast.FunctionDef)}


def _returned(node: ast.ClassDef) -> set[str]:
    """The names in what its methods are annotated to return."""
    returns = [method.returns for method in node.body if isinstance(method, ast.FunctionDef) and method.returns]
    return {name.id for annotation in returns for name in ast.walk(annotation) if isinstance(name, ast.Name)}


def _drives(tree: ast.AST, lanes: set[str]) -> bool:
    imported = {name for module, name in _from(tree) if module.startswith("sash.engine")}
    calls = {_called(node) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return bool(lanes & imported) and "process" in calls


def state_writers() -> list[str]:
    """The modules that write the state of operators as bytes.

    Counted are those that import a function that returns bytes from the module of the envelope, which has ``b"SASH"``
    in it. The records of ``stores`` are not a state of operators.
    """
    envelopes = {path: name for path in modules(CORE / "state") if (name := _sealing(path))}
    writers = []
    for path in modules():
        imported = {(module, name) for module, name in _from(_tree(path))}
        sealed = any((_module(home), name) in imported for home, names in envelopes.items() for name in names)
        if sealed and not _name(path).startswith("stores/"):
            writers.append(_name(path))
    return writers or [_name(path) for path in envelopes]


def _sealing(path: Path) -> set[str]:
    """The functions of an envelope's module that return bytes; none of another module."""
    tree = _tree(path)
    if not any(isinstance(node, ast.Constant) and node.value == b"SASH" for node in ast.walk(tree)):
        return set()
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {node.name for node in functions if isinstance(node.returns, ast.Name) and node.returns.id == "bytes"}


def csa_lcs_copies() -> list[str]:
    """The modules that compute ``lcs``, in Python or as the text of a kernel.

    Counted are modules with a loop that merges a value into what lies to the right of it, as ``lcs`` is filled: into a
    running value, into the last of a list, or into the next of an array, by ``combine`` or, where a loop runs
    backward over neighbours, by anything. Of ``aggregators`` and ``stores`` only modules that name ``lcs`` count: the
    others are other algorithms.
    """
    texts = {_name(path): path.read_text(encoding="utf-8") for path in modules()}
    return [
        name
        for name, text in texts.items()
        if ("lcs" in text or not name.startswith(("aggregators/", "stores/"))) and fills_lcs(text)
    ]


def fills_lcs(text: str) -> bool:
    """Whether a source has such a loop.

    >>> fills_lcs("for j in range(b - 2, 0, -1):\\n    lcs[j] = combine(lcs[j], lcs[j + 1])")
    True
    >>> fills_lcs("for j in range(1, b):\\n    csa = combine(csa, saa[j])")
    False
    """
    lines = text.splitlines()
    return any(_merges_from_the_right(line, _loop(lines, place)) for place, line in enumerate(lines))


def _merges_from_the_right(line: str, loop: str) -> bool:
    if loop and any(rule.search(line) for rule in _FROM_THE_RIGHT):
        return True
    return bool(_BACKWARD.match(loop) and _NEIGHBOURS.search(line))


def _loop(lines: list[str], place: int) -> str:
    """The head of the loop that a line is in, by its indentation, as in templates; nothing if it is in none."""
    depth = _depth(lines[place])
    for line in reversed(lines[:place]):
        if line.strip() and _depth(line) < depth:
            depth = _depth(line)
            if _LOOP.match(line):
                return line
    return ""


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _name(path: Path) -> str:
    return path.relative_to(CORE).as_posix()


def _module(path: Path) -> str:
    return ".".join(path.relative_to(CORE.parent).with_suffix("").parts).removesuffix(".__init__")


def _classes(path: Path) -> Iterator[ast.ClassDef]:
    return (node for node in ast.walk(_tree(path)) if isinstance(node, ast.ClassDef))


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _names(node: ast.AST) -> set[str]:
    """All names in an expression, those of attributes included."""
    inside = list(ast.walk(node))
    return {part.id for part in inside if isinstance(part, ast.Name)} | {
        part.attr for part in inside if isinstance(part, ast.Attribute)
    }


def _from(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The modules, and the names in them, that are imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "sash":
            inside = {folder.stem for folder in CORE.iterdir()}
            yield from ((f"sash.{alias.name}", "") for alias in node.names if alias.name in inside)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)
