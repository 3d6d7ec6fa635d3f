"""A query file runs no code but that of packages which the program allows: whatever it names, nothing is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sash
from sash.query.file import QueryFileError, QueryImportError, load_query, parse_query
from sash.query.import_paths import Imports

PACKAGE = """
import functools
import operator
import os
import subprocess
from os import system
from operator import add
from subprocess import run
from sash import Max
import sash

names = ["a"]
half = functools.partial(operator.mul, 0.5)
ready = sash.aggregation("load", lift=abs, combine=max)

def lift(value):
    return value

def combine(a, b):
    return a + b

class Sum(sash.Sum):
    @staticmethod
    def twice(value):
        return 2 * value

class Text(str):
    pass
"""
TOUCH = "import pathlib\npathlib.Path(__file__).with_name('TOUCHED').touch()\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path of modules with packages in it, and ``trap``: whoever imports it leaves a file there."""
    for name, content in {"house": PACKAGE, "houses": TOUCH, "trap": TOUCH}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(content)
    (tmp_path / "house" / "plugs.py").write_text("from house import *\ndef lift(value):\n    return value\n")
    (tmp_path / "house" / "__main__.py").write_text(TOUCH)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] in ("house", "houses", "trap")]:
        del sys.modules[name]


def touched(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*TOUCHED"))


def aggregate(table: str) -> str:
    return f'window = {{ type = "sliding", range = 3 }}\n[aggregates.x]\n{table}\n'


def window(table: str) -> str:
    return f'[window]\n{table}\n[aggregates.x]\nfunction = "Count"\n'


WAYS = {
    "a function": aggregate('function = "os:system"\ncolumns = "touch TOUCHED"'),
    "a module that does something": aggregate('function = "trap:x"'),
    "lift": aggregate('function = "aggregation"\nlift = "trap:x"\ncombine = "trap:x"\ncolumns = "a"'),
    "combine": aggregate('function = "aggregation"\ncombine = "trap:x"\ncolumns = "a"'),
    "lower": aggregate('function = "aggregation"\nlower = "trap:x"\ncolumns = "a"'),
    "invert": aggregate('function = "aggregation"\ninvert = "trap:x"\ncolumns = "a"'),
    "a window": window('type = "os:system"\ncommand = "touch TOUCHED"'),
    "a window of a module": window('type = "trap:x"'),
    "a punctuation": window('type = "punctuated"\nwhen = "trap:x"\ncolumns = "a"'),
    "a policy": window('type = "while"\npolicy = "trap:x"'),
    "built-in functions": aggregate("function = \"builtins:exec\"\ncolumns = \"open('TOUCHED', 'w')\""),
    "Sash's own modules": aggregate('function = "sash.query.import_paths:import_path"\ncolumns = "trap:x"'),
    "what Sash imports": aggregate('function = "sash.query.file:os.system"\ncolumns = "touch TOUCHED"'),
}


@pytest.mark.parametrize("text", WAYS.values(), ids=WAYS)
def test_a_query_file_runs_nothing(folder: Path, text: str) -> None:
    (folder / "q.toml").write_text(text)
    with pytest.raises(QueryFileError, match=r"q\.toml, line \d: .*is not allowed; .*say allow_imports=\['"):
        load_query(folder / "q.toml")
    with pytest.raises(QueryImportError):
        parse_query(text)
    assert touched(folder) == []


def test_the_error_names_the_path_and_the_remedy(folder: Path) -> None:
    with pytest.raises(QueryImportError) as caught:
        parse_query(WAYS["a function"], "peak.toml")
    assert str(caught.value) == (
        "peak.toml, line 3: 'os:system' names code of module 'os', which is not allowed; "
        "if you trust the file, say allow_imports=['os']"
    )
    assert caught.value.module == "os"


def test_names_without_a_module_are_aggregations_and_windows_only() -> None:
    """No name is looked up as an attribute of a module: what Sash imports or defines besides is not there."""
    for name in sorted({*dir(sash.aggregations), *dir(sash), *dir(sash.windows), "eval", "open"}):
        own = getattr(sash.aggregations, name, None)
        if not (isinstance(own, type) and issubclass(own, sash.Aggregation)) or own is sash.Aggregation:
            with pytest.raises(QueryFileError):
                parse_query(aggregate(f'function = "{name}"'))
        if name not in ("sliding", "tumbling", "cumulative", "trailing", "session", "last", "punctuated"):
            with pytest.raises(QueryFileError, match="unknown type"):
                parse_query(window(f'type = "{name}"'))


def test_a_package_that_is_allowed_and_those_below_it(folder: Path) -> None:
    for path in ("house:lift", "house.plugs:lift"):
        text = aggregate(f'function = "aggregation"\nlift = "{path}"\ncombine = "house:combine"\ncolumns = "a"')
        assert parse_query(text, allow_imports=["house"]).aggregates["x"].columns == ("a",)
    with pytest.raises(QueryImportError, match="'house:combine' names code of module 'house', which is not allowed"):
        parse_query(text, allow_imports=["house.plugs"])
    for name in ('"house:Sum"\ncolumns = "a"', '"house:Max"\ncolumns = "a"', '"house:ready"'):
        parse_query(aggregate(f"function = {name}"), allow_imports=["house"])


@pytest.mark.parametrize("path", ["houses:x", "houses.sub:x", "trap:x", "hous:x", "os:system"])
def test_a_prefix_is_of_whole_names(folder: Path, path: str) -> None:
    with pytest.raises(QueryImportError, match="is not allowed"):
        parse_query(aggregate(f'function = "{path}"'), allow_imports=["house"])
    assert touched(folder) == []


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("house:os.system", "os"),
        ("house:system", "posix"),
        ("house:run", "subprocess"),
        ("house:subprocess.Popen", "subprocess"),
        ("house.plugs:run", "subprocess"),
        ("house:functools.partial", "functools"),
        ("house:add", "_operator"),
        ("house:names.append", "builtins"),
        ("house:Text.upper", "builtins"),
        ("house:sash.query.file.os.system", "sash"),
        ("house:sash.run", "sash"),
    ],
)
def test_no_path_leads_from_a_package_that_is_allowed_to_another(folder: Path, path: str, owner: str) -> None:
    text = aggregate(f'function = "{path}"\ncolumns = "touch TOUCHED"')
    with pytest.raises(QueryImportError, match=f"'{path}' leads to code of module '{owner}', which is not allowed"):
        parse_query(text, allow_imports=["house"])
    assert touched(folder) == []


@pytest.mark.parametrize(
    "path",
    [
        "house:__builtins__",
        "house:lift.__globals__",
        "house:lift.__class__",
        "house:Sum.__subclasses__",
        "house:Sum.__init__.__globals__",
        "house:__loader__.load_module",
        "house:__spec__",
        "house.__main__:x",
        "house.__init__:lift",
    ],
)
def test_inner_parts_of_python_are_refused(folder: Path, path: str) -> None:
    with pytest.raises(QueryImportError, match="inner part"):
        parse_query(aggregate(f'function = "{path}"\ncolumns = "a"'), allow_imports=["house"])
    assert touched(folder) == []


@pytest.mark.parametrize("path", [":x", "house:", "house", ".house:x", "house..plugs:x", "house./trap:x", "house:a..b"])
def test_what_is_no_path(folder: Path, path: str) -> None:
    with pytest.raises(QueryFileError, match=r"is not the path of an object|unknown function"):
        parse_query(aggregate(f'function = "{path}"'), allow_imports=["house"])


def test_objects_and_methods_of_a_package_are_its_own(folder: Path) -> None:
    own = Imports(["house"])
    assert own.load("house:half")(4) == 2.0
    assert own.load("house:Sum.twice")(4) == 8
    assert own.load("house:Max") is sash.Max
    assert Imports(["house", "operator"]).load("house:add")(1, 2) == 3


@pytest.mark.parametrize("allowed", ["house", ["house:lift"], [""], ["house."], ["*"], [None]])
def test_what_cannot_be_allowed(allowed: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="allow_imports must be"):
        parse_query(WAYS["a function"], allow_imports=allowed)


def ran(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = Path(sys.executable).with_name("sash")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path and path != str(folder))
    return subprocess.run(
        [script, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


RUN = ["run", "--query", "q.toml", "--input", "in.csv", "--quiet"]


@pytest.mark.parametrize("command", [RUN, ["explain", "q.toml"]], ids=["run", "explain"])
def test_the_command_line_runs_nothing(folder: Path, command: list[str]) -> None:
    (folder / "in.csv").write_text("a\n1\n2\n3\n")
    (folder / "q.toml").write_text(WAYS["a function"])
    done = ran(folder, *command)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "sash: q.toml, line 3: 'os:system' names code of module 'os', which is not allowed; "
        "if you trust the file, say --allow-imports os\n"
    )
    (folder / "q.toml").write_text(WAYS["a module that does something"])
    assert ran(folder, *command, "--allow-imports", "house,traps").returncode == 2
    assert touched(folder) == []


@pytest.mark.parametrize("allowed", [["house,operator"], ["operator", "house"]], ids=["commas", "repeated"])
def test_the_command_line_allows_modules(folder: Path, allowed: list[str]) -> None:
    (folder / "in.csv").write_text("a\n1\n2\n3\n4\n")
    (folder / "q.toml").write_text(
        aggregate('function = "aggregation"\nlift = "house:lift"\ncombine = "operator:add"\ncolumns = "a"')
    )
    options = [option for module in allowed for option in ("--allow-imports", module)]
    done = ran(folder, *RUN, *options)
    assert done.returncode == 0, done.stderr
    assert [line.split()[-1] for line in done.stdout.splitlines()] == ["x", "6", "9"]
    assert ran(folder, *RUN, "--allow-imports", "house;x").returncode == 2


def test_the_command_line_imports_nothing_of_the_folder_that_it_runs_in(folder: Path) -> None:
    """A module there could have the name of one that Sash imports when it needs it."""
    for name in ("pyarrow", "numba", "sash_mine"):
        (folder / f"{name}.py").write_text(TOUCH)
    (folder / "in.csv").write_text("a\n1\n2\n3\n")
    (folder / "q.toml").write_text(aggregate('function = "Sum"\ncolumns = "a"'))
    done = ran(folder, *RUN)
    assert (done.returncode, done.stderr) == (0, "")
    assert touched(folder) == []
