"""Results of a query as a view of SQL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sash

if TYPE_CHECKING:
    from pyflink.datastream import StreamExecutionEnvironment

LOADS = "SELECT * FROM (VALUES ('a', 3), ('b', 9), ('a', 5)) AS r(plug, `load`)"
NAMES = ("by_query", "by_file", "by_text")


def test_a_view_of_a_query_a_file_and_a_text(flink: StreamExecutionEnvironment, tmp_path: Path) -> None:
    from pyflink.table import StreamTableEnvironment

    import sash_flink

    t_env = StreamTableEnvironment.create(flink)
    t_env.execute_sql(f"CREATE TEMPORARY VIEW loads AS {LOADS}")
    query = sash.Query(key="plug", windows=sash.sliding(2), aggregates={"peak": sash.Max("load")})
    path = tmp_path / "peak.toml"
    path.write_text(sash.dump_query(query), encoding="utf-8")
    sash_flink.create_view(t_env, "by_query", "loads", query)
    sash_flink.create_view(t_env, "by_file", LOADS, str(path))
    sash_flink.create_view(t_env, "by_text", "loads", path.read_text(encoding="utf-8"))
    selects = " UNION ALL ".join(f"SELECT '{name}', plug, peak FROM {name}" for name in NAMES)
    found = sorted(tuple(row) for row in t_env.execute_sql(selects).collect())
    assert found == [("by_file", "a", 5), ("by_query", "a", 5), ("by_text", "a", 5)]


def test_a_text_imports_nothing(flink: StreamExecutionEnvironment, tmp_path: Path) -> None:
    from pyflink.table import StreamTableEnvironment

    import sash_flink

    t_env = StreamTableEnvironment.create(flink)
    touched = tmp_path / "touched"
    text = f"""window = {{ type = "sliding", range = 3 }}
[aggregates.x]
function = "os:system"
columns = "touch {touched}"
"""
    with pytest.raises(ValueError, match=r"line 3: 'os:system' names code .*not allowed in SQL; load such"):
        sash_flink.create_view(t_env, "stolen", LOADS, text)
    assert not touched.exists()
    with pytest.raises(TypeError, match=r"query must be a sash\.Query, a file or a TOML text; got int"):
        sash_flink.create_view(t_env, "view", LOADS, 3)  # type: ignore[arg-type]
