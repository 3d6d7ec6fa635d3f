"""The core knows no engine: it imports none, neither when it is loaded nor anywhere in its source."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CORE = Path(__file__).parents[1] / "core" / "sash"
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


@pytest.mark.parametrize("path", sorted(CORE.rglob("*.py")), ids=lambda path: str(path.relative_to(CORE)))
def test_no_core_file_imports_an_engine(path: Path) -> None:
    assert set(imported_packages(path.read_text(encoding="utf-8"))) & ENGINES == set()


def test_the_check_itself_finds_an_import_inside_a_function() -> None:
    source = "def f():\n    from pyspark.sql import types\n    import pyflink.common"
    assert list(imported_packages(source)) == ["pyspark", "pyflink"]
