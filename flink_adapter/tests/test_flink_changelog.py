"""Corrections as changes of a table: whoever applies them has the windows of all rows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import sash

if TYPE_CHECKING:
    from pyflink.datastream import StreamExecutionEnvironment
    from pyflink.table import StreamTableEnvironment, Table

SECONDS = [0, 8, 60, 4, 120, 61, 130, 9]
"""Each record moves the watermark, so the fourth, the sixth and the last are late. Two sessions become one:

    0  4   8        gap 5
    x  x'  x
"""
QUERY = sash.Query(
    key="plug",
    windows={"session": sash.session("5s"), "ten": sash.tumbling("10s")},
    aggregates={"n": sash.Count(), "last": sash.Max("id")},
    time="ts",
    allowed_lateness="1h",
)


def records(t_env: StreamTableEnvironment, plug: str = "COALESCE(CAST(MOD(id, 1) AS STRING), '')") -> Table:
    t_env.get_config().set_local_timezone("UTC")
    bounds = f"'fields.id.kind' = 'sequence', 'fields.id.start' = '0', 'fields.id.end' = '{len(SECONDS) - 1}'"
    times = ", ".join(map(str, SECONDS))
    t_env.execute_sql(
        "CREATE TEMPORARY TABLE ids (id BIGINT, "
        f"ts AS TO_TIMESTAMP_LTZ(ARRAY[{times}][CAST(id AS INT) + 1] * 1000, 3), "
        f"WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen', {bounds})"
    )
    return t_env.sql_query(f"SELECT id, ts, {plug} AS plug FROM ids")


def test_sessions_that_became_one_are_deleted(flink: StreamExecutionEnvironment) -> None:
    from pyflink.common import RowKind
    from pyflink.table import StreamTableEnvironment

    import sash_flink

    t_env = StreamTableEnvironment.create(flink)
    results = sash_flink.aggregate_table(records(t_env), QUERY, t_env, changelog=True)
    assert "PRIMARY KEY (`plug`, `window`, `window_start`, `window_end`)" in str(results._j_table.getResolvedSchema())
    t_env.create_temporary_view("results", results)
    seconds = ", ".join(f"TIMESTAMPDIFF(SECOND, TO_TIMESTAMP_LTZ(0, 3), window_{end})" for end in ("start", "end"))
    standing: Counter[Any] = Counter()
    kinds = set()
    for row in t_env.execute_sql(f"SELECT `window`, {seconds}, n, `last` FROM results").collect():
        kinds.add(row.get_row_kind())
        added = row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER)
        standing[tuple(row)] += 1 if added else -1
        assert standing[tuple(row)] >= 0
    assert RowKind.DELETE in kinds
    assert sorted(standing.elements()) == sorted(expected())


def expected() -> list[tuple[Any, ...]]:
    rows = [{"plug": "0", "id": i, "ts": second} for i, second in sorted(enumerate(SECONDS), key=lambda pair: pair[1])]
    windows = {"session": sash.session(5, on="ts"), "ten": sash.tumbling(10, on="ts")}
    found = sash.run(QUERY.using(windows=windows, allowed_lateness=None), rows)
    return [tuple(row[name] for name in ("window", "window_start", "window_end", "n", "last")) for row in found]


def test_what_has_no_changelog(flink: StreamExecutionEnvironment) -> None:
    from pyflink.table import StreamTableEnvironment

    import sash_flink

    t_env = StreamTableEnvironment.create(flink)
    table = records(t_env, "CAST(id AS STRING)")
    with pytest.raises(ValueError, match="the key is the primary key of a changelog: declare 'plug' NOT NULL"):
        sash_flink.aggregate_table(table, QUERY, t_env, changelog=True)
    with pytest.raises(ValueError, match="a changelog is made of packed records"):
        sash_flink.aggregate_table(table, QUERY, t_env, changelog=True, packed=False)
    trailing = QUERY.using(windows=sash.trailing("5s"), key=None)
    with pytest.raises(ValueError, match="there is no changelog of these windows: the bounds of trailing 5s"):
        sash_flink.aggregate_table(table, trailing, t_env, changelog=True)
