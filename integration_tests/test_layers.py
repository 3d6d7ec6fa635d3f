"""Who may import whom: the core knows no engine, its folders are in layers, adapters import ``sash.spi`` only."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from codemap.layers import CORE, TABLE, imports, imports_of, violations

ENGINES = {"pyspark", "pyflink", "sash_spark", "sash_flink"}
# The core may use these where a user hands over their objects, but must not make everybody wait for them.
ON_DEMAND = {"pandas", "pyarrow"}


def imported_packages(source: str) -> Iterator[str]:
    """The top-level package of every absolute import in the source, those inside functions included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


def test_import_sash_loads_no_engine_and_no_data_frame_library() -> None:
    program = "import sys, sash; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "sash" in loaded
    assert loaded & (ENGINES | ON_DEMAND) == set()


def test_workers_import_no_command_line() -> None:
    program = "import sys, sash.spi; assert 'sash.cli' not in sys.modules; print(sash.spi.Job.__module__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "sash.cli.engines"


@pytest.mark.parametrize("path", sorted(CORE.rglob("*.py")), ids=lambda path: str(path.relative_to(CORE)))
def test_no_core_file_imports_an_engine(path: Path) -> None:
    assert set(imported_packages(path.read_text(encoding="utf-8"))) & ENGINES == set()


def test_the_check_itself_finds_an_import_inside_a_function() -> None:
    source = "def f():\n    from pyspark.sql import types\n    import pyflink.common"
    assert list(imported_packages(source)) == ["pyspark", "pyflink"]


def test_every_import_is_one_that_its_folder_may_have() -> None:
    assert list(map(str, violations(imports()))) == []


def test_adapters_have_nothing_of_the_core_but_its_public_names_and_the_interface_for_them() -> None:
    for adapter in ("sash_flink", "sash_spark"):
        assert {target for target in TABLE[adapter] if target.startswith("sash")} == {"sash", "sash.spi"}


@pytest.mark.parametrize(
    ("path", "source", "target"),
    [
        ("core/sash/values/a.py", "from sash.engine.lane import Lane", "sash.engine"),
        ("core/sash/values/a.py", "def f():\n    from sash import Query", "sash"),
        ("core/sash/frames/a.py", "if TYPE_CHECKING:\n    import sash.state.parts", "sash.state"),
        ("core/sash/engine/rows/a.py", "from ...runtime import run", "sash.runtime"),
        ("core/sash/runtime/a.py", "import sash_flink.cli", "sash_flink"),
        ("flink_adapter/sash_flink/a.py", "from sash.values.timestamps import nanoseconds", "sash.values"),
        ("flink_adapter/sash_flink/a.py", "from sash import stores", "sash.stores"),
        ("spark_adapter/sash_spark/a.py", "import pyflink", "pyflink"),
        ("spark_adapter/tests/test_a.py", "from sash.state.snapshot_format import StateError", "sash.state"),
    ],
)
def test_the_check_finds_what_the_table_does_not_allow(path: str, source: str, target: str) -> None:
    assert [violation.target for violation in violations(imports_of(path, source))] == [target]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("core/sash/engine/rows/a.py", "from sash.engine.lane import Lane\nfrom . import slicer"),
        ("core/sash/engine/a.py", "from sash import aggregators\nimport numpy"),
        ("flink_adapter/sash_flink/a.py", "from sash import Query, spi\nimport sash_flink, pyflink"),
        ("integration_tests/cluster/a.py", "from .engine import start\nfrom ..conformance.rows import rows"),
    ],
)
def test_the_check_allows_what_the_table_does(path: str, source: str) -> None:
    assert violations(imports_of(path, source)) == []
