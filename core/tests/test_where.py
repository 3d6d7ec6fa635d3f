"""``where="ok"``: only rows for which a boolean column is true, with every aggregation, in every way into Sash.

The definition: a row that the filter skips is one whose values are null. :class:`sash.Count` alone counts nulls.
"""

from __future__ import annotations

import pickle
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

import sash
from matrix import OWN, SHAPES, TYPES, Row, evaluate, query, stream, supported
from matrix_cells import compare
from matrix_ways import LOCAL
from sash.aggregators import DABA
from sash.query.file import parse_query
from sash.testing import naive

pytestmark = pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")


def filtered(aggregation: sash.Aggregation) -> sash.Aggregation:
    if aggregation.name == "newest":
        return sash.aggregation("x", **OWN, where="ok")
    return type(aggregation)(*aggregation.inputs, **aggregation._arguments(), where="ok")


def flags(rows: list[Row], nulls: bool) -> list[Any]:
    return [None if nulls and place % 5 == 3 else place % 3 != 1 for place in range(len(rows))]


@pytest.mark.parametrize("late", [False, True], ids=["", "late"])
@pytest.mark.parametrize("column", ["float64", "int32", "text", "timestamp[us, zone]", "bool", "decimal"])
@pytest.mark.parametrize("way", LOCAL)
def test_skipped_rows_are_null(way: str, column: str, late: bool) -> None:
    kind, run = TYPES[column], LOCAL[way]
    rows = stream(kind, "mixed")
    ok = flags(rows, nulls=True)
    schema = pa.schema({"k": pa.string(), "t": pa.int64(), "x": kind.arrow, "n": pa.int64(), "ok": pa.bool_()})
    given = [{name: row[name] for name in "ktxn"} | {"ok": flag} for row, flag in zip(rows, ok, strict=True)]
    nulled = [row if row["ok"] else row | {"x": None, "n": None} for row in given]
    if run.nan_is_null:
        nulled = [row | {"x": None if row["x"] != row["x"] else row["x"]} for row in nulled]
    entries = {name: entry for name, entry in supported(kind).items() if name != "Count()" and "Sketch" not in name}
    wanted = evaluate(query(entries, "several", late), nulled, run.mode)
    aggregates = {name: filtered(entry.aggregation) for name, entry in entries.items()}
    asked = query(entries, "several", late).using(aggregates=aggregates)
    found = run.run(asked, schema, given)
    assert not compare(kind, entries, wanted, found, run.typed, run.nan_is_null)


@pytest.mark.parametrize("way", LOCAL)
def test_count_counts_the_rows_for_which_it_is_true(way: str) -> None:
    rows = stream(TYPES["float64"], "mixed")
    given = [row | {"ok": flag} for row, flag in zip(rows, flags(rows, nulls=True), strict=True)]
    schema = pa.schema({"k": pa.string(), "t": pa.int64(), "x": pa.float64(), "ok": pa.bool_()})
    aggregates = {"n": sash.Count(where="ok"), "all": sash.Count(), "x": sash.Count("x", where="ok")}
    asked = sash.Query(key="k", windows=SHAPES["time"], aggregates=aggregates, time="t")
    found, _ = LOCAL[way].run(asked, schema, [{name: row[name] for name in schema.names} for row in given])
    wanted = evaluate(asked, given, LOCAL[way].mode)
    counts = ["n", "all"] if LOCAL[way].nan_is_null else ["n", "all", "x"]
    ours, theirs = (
        sorted([row["k"], int(row["window_end"]), *(int(row[name]) for name in counts)] for row in rows)
        for rows in (found, wanted)
    )
    assert ours == theirs and any(row[2] < row[3] for row in ours)


def test_duckdb_filters_alike() -> None:
    rng = np.random.default_rng(3)
    table = pa.table({
        "k": rng.integers(0, 3, 500), "t": np.arange(500), "x": rng.random(500).round(3), "y": rng.random(500),
        "ok": pa.array(rng.random(500) < 0.6, mask=rng.random(500) < 0.1),
    })  # fmt: skip
    aggregates = {
        "count(*)": sash.Count(where="ok"),
        "sum(x)": sash.Sum("x", where="ok"),
        "max(x)": sash.Max("x", where="ok"),
        "median(x)": sash.Median("x", where="ok"),
        "corr(x, y)": sash.Correlation("x", "y", where="ok"),
        "arg_max(y, x)": sash.ArgMax("x", "y", where="ok"),
        "count(distinct x)": sash.ExactDistinctCount("x", where="ok"),
    }
    asked = sash.Query(key="k", windows=sash.tumbling(25), aggregates=aggregates, time="t")
    asked = asked.using(windows=sash.tumbling(25, on="t"))
    found = sash.run(asked, table).sort_by([("k", "ascending"), ("window_start", "ascending")]).to_pylist()
    columns = ", ".join(f"{sql} filter (ok)" for sql in aggregates)
    with duckdb.connect() as connection:
        connection.register("rows", table)
        judged = connection.sql(f"select k, t // 25 * 25 as start, {columns} from rows group by all order by all")
        expected = judged.fetchall()
    assert len(found) == len(expected) == 60
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours["k"], ours["window_start"]) == theirs[:2]
        assert [ours[name] for name in aggregates] == [pytest.approx(value, nan_ok=True) for value in theirs[2:]]


FRAMES = {
    "rows": lambda columns: pd.DataFrame(columns).to_dict("records"),
    "arrays": lambda columns: columns,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "Arrow": pa.table,
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("values", [[1, 0, 1], ["yes", "no", "yes"], [1.0, 0.0, 1.0]], ids=["int", "text", "float"])
def test_a_filter_that_is_not_boolean_is_refused(kind: str, values: list[Any]) -> None:
    data = FRAMES[kind]({"x": np.array([1.0, 2.0, 3.0]), "ok": np.array(values, object if "yes" in values else None)})
    asked = sash.Query(windows=sash.tumbling(2), aggregates={"r": sash.Sum("x", where="ok")})
    with pytest.raises(TypeError, match=r"column 'ok'.*where= takes booleans"):
        sash.run(asked, data)
    op = sash.Operator(asked)
    with pytest.raises(TypeError, match=r"column 'ok'.*where= takes booleans"):
        op.process_batch(data)
    if kind == "rows":
        with pytest.raises(TypeError, match=r"Sum\('x', where='ok'\) cannot filter by column 'ok'"):
            op.process(data[0])
    assert op.process_batch(FRAMES[kind]({"x": np.array([1.0, 2.0]), "ok": np.array([True, False])})) is not None


def test_it_travels() -> None:
    for aggregation in (
        sash.Sum("x", where="ok"),
        sash.Count(where="ok"),
        sash.Quantile("x", 0.9, where="ok"),
        sash.Bloom("x", where="ok"),
        sash.ArgMax("x", "y", where="ok"),
    ):
        assert eval(repr(aggregation), vars(sash)) == aggregation == pickle.loads(pickle.dumps(aggregation))
        assert aggregation.unfiltered != aggregation and hash(aggregation) == hash(eval(repr(aggregation), vars(sash)))
        asked = sash.Query(windows=sash.tumbling(2), aggregates={"r": aggregation})
        assert parse_query(sash.dump_query(asked)) == asked
        assert "where" in sash.dump_query(asked) and "ok" in asked.columns
    text = '[window]\ntype = "tumbling"\nrange = 2\n[aggregates.r]\nfunction = "Sum"\ncolumns = "x"\nwhere = 3\n'
    with pytest.raises(sash.QueryFileError, match="line 7: where must be the name of a boolean column; got 3"):
        parse_query(text)


def test_outside_of_queries() -> None:
    total = sash.Sum("x", where="ok")
    assert naive(total, [(1, True), (2, False), (4, None), (8, True)]) == 9
    window = DABA(total)
    window.insert_many([(1, True), (2, False)])
    assert window.query() == 1
    with pytest.raises(TypeError, match="where= names a column of a query; mask arrays instead"):
        sash.rolling(np.arange(3.0), total, range=2)
    with pytest.raises(ValueError, match="names no column to read"):
        sash.Query(windows=sash.tumbling(2), aggregates={"r": sash.Sum(where="ok")})


def test_empty_tables_have_types() -> None:
    empty = pa.table({"x": pa.array([], pa.int32()), "ok": pa.array([], pa.bool_())})
    aggregates = {"max": sash.Max("x", where="ok"), "n": sash.Count(where="ok"), "mean": sash.Mean("x", where="ok")}
    schema = sash.run(sash.Query(windows=sash.tumbling(2), aggregates=aggregates), empty).schema
    assert [schema.field(name).type for name in aggregates] == [pa.int32(), pa.int64(), pa.float64()]
