"""NaN in pandas: null where a column has no other null, a value where it has one, as in the CSV file it came from."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

import sash
from sash.cli import main
from sash.runtime.operator import KeyedOperator

NAN = math.nan
AGGREGATES = {
    "n": sash.Count(),
    "some": sash.Count("x"),
    "total": sash.Sum("x"),
    "peak": sash.Max("x"),
    "mean": sash.Mean("x"),
    "first": sash.First("x"),
    "all": sash.Collect("x"),
    "half": sash.Median("x"),
}
QUERY = sash.Query(key="k", windows=sash.tumbling(2), aggregates=AGGREGATES)
VALUES = [1.0, NAN, NAN, NAN, 4.0, 5.0]
FRAME = pd.DataFrame({"k": ["a", "a", "b", "b", "a", "a"], "x": VALUES})
NULLS = [{"k": k, "x": None if math.isnan(x) else x} for k, x in zip(FRAME.k, VALUES, strict=True)]


def plain(value: Any) -> Any:
    """Nulls and NaN of results as None: what they are is told by the aggregates that skip the one, not the other."""
    if isinstance(value, list | np.ndarray):
        return [plain(item) for item in value]
    return None if value is None or value is pd.NA or value != value else value


def rows_of(results: pd.DataFrame) -> list[dict[str, Any]]:
    return [dict(zip(results.columns, map(plain, row), strict=True)) for row in results.itertuples(index=False)]


def by_batch(query: sash.Query, frame: Any, **options: Any) -> Any:
    op = KeyedOperator(query)
    return pd.concat([op.process_batch(frame[:3], **options), op.process_batch(frame[3:], **options)])


def sorted_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (str(row["k"]), row["window_start"]))


@pytest.mark.parametrize("kind", ["float64", "float32", object])
@pytest.mark.parametrize("run", [sash.run, by_batch])
def test_nan_is_null_in_columns_that_have_no_null_of_their_own(run: Any, kind: Any) -> None:
    found = rows_of(run(QUERY, FRAME.astype({"x": kind})))
    assert sorted_rows(found) == sorted_rows(sash.run(QUERY, NULLS))
    assert [row["some"] for row in sorted_rows(found)] == [1, 2, 0]


@pytest.mark.parametrize("kind", ["float64", object])
@pytest.mark.parametrize("run", [sash.run, by_batch])
def test_nan_is_a_value_if_it_is_said_so(run: Any, kind: Any) -> None:
    found = rows_of(run(QUERY, FRAME.astype({"x": kind}), nan="value"))
    expected = sash.run(QUERY, FRAME.to_dict("records"))
    assert sorted_rows(found) == sorted_rows([{name: plain(value) for name, value in row.items()} for row in expected])
    assert [row["some"] for row in sorted_rows(found)] == [2, 2, 2]


def test_objects_keep_nan_apart_from_null_if_it_is_said_so() -> None:
    frame = pd.DataFrame({"x": pd.Series([NAN, None, pd.NA, pd.NaT, Decimal("NaN"), np.float64("nan")], dtype=object)})
    query = sash.Query(windows=sash.tumbling(6), aggregates={"some": sash.Count("x")})
    assert sash.run(query, frame)["some"].tolist() == [0]
    assert sash.run(query, frame, nan="value")["some"].tolist() == [3]


def test_a_column_with_a_null_of_its_own_has_nan_as_a_value() -> None:
    zero = pd.Series([0.0, 0.0, None], dtype="Float64")
    arrow = pd.Series(pd.arrays.ArrowExtensionArray(pa.array([NAN, NAN, None], pa.float64())))  # type: ignore[attr-defined]
    query = sash.Query(windows=sash.tumbling(3), aggregates={"some": sash.Count("x"), "peak": sash.Max("x")})
    for column in (zero / zero, arrow):
        results = sash.run(query, pd.DataFrame({"x": column}))
        assert results["some"].tolist() == [2] and math.isnan(results["peak"].to_numpy(np.float64)[0])


def test_series_in_a_dict_are_columns_of_pandas_too() -> None:
    data = {"k": FRAME.k, "x": FRAME.x}
    assert sorted(map(int, sash.run(QUERY, data)["some"])) == [0, 1, 2]
    assert sorted(map(int, sash.run(QUERY, data, nan="value")["some"])) == [2, 2, 2]
    keys = {"k": pd.Series([NAN, 1.0, NAN, 1.0]), "x": pd.Series([1.0, 2.0, 3.0, 4.0])}
    assert sash.run(QUERY, keys)["k"].tolist() == [None, 1.0]
    assert str(sash.run(QUERY, keys, nan="value")["k"].tolist()) == "[nan, 1.0]"


def test_arrays_and_rows_have_nan_as_a_value() -> None:
    arrays = {"k": FRAME.k.to_numpy(), "x": FRAME.x.to_numpy()}
    assert sash.run(QUERY, arrays)["some"].tolist() == [2, 2, 2]
    op = sash.Operator(QUERY.using(key=None))
    assert [row["some"] for x in VALUES for row in op.process({"x": x})] == [2, 2, 2]


def test_an_operator_of_one_key_has_the_option_too() -> None:
    query = QUERY.using(key=None)
    assert sash.Operator(query).process_batch(FRAME)["some"].tolist() == [1, 0, 2]
    assert sash.Operator(query).process_batch(FRAME, nan="value")["some"].tolist() == [2, 2, 2]


def test_results_come_as_the_column_did() -> None:
    results = sash.run(QUERY, pd.DataFrame({"k": [1.0, NAN, 1.0, NAN], "x": [1.0, NAN, 2.0, NAN]}))
    assert str(results["k"].tolist()) == "[1.0, nan]"
    for name in ("k", "peak", "first"):
        assert results[name].dtype == np.float64, name


def test_a_time_that_is_nan_is_missing() -> None:
    query = sash.Query(windows=sash.tumbling(2, on="t"), aggregates={"n": sash.Count()})
    with pytest.raises(ValueError, match="column 't', row 1: every row needs a time"):
        sash.run(query, pd.DataFrame({"t": [1.0, NAN]}))


@pytest.mark.parametrize("nan", ["nil", None, True])
def test_an_option_that_is_none(nan: Any) -> None:
    with pytest.raises(ValueError, match="nan must be 'null' or 'value'; got"):
        sash.run(QUERY, FRAME, nan=nan)
    with pytest.raises(ValueError, match="nan must be 'null' or 'value'; got"):
        sash.Operator(QUERY).process_batch(FRAME, nan=nan)


def test_the_command_line_gives_the_rows_of_run_over_the_same_file(tmp_path: Path) -> None:
    data, query, out = tmp_path / "data.csv", tmp_path / "query.toml", tmp_path / "out.csv"
    data.write_text("k,x\na,1.0\na,NaN\nb,\nb,nan\na,4.0\na,5.0\n")
    plain_query = QUERY.using(aggregates={name: QUERY.aggregates[name] for name in ("n", "some", "peak", "mean")})
    query.write_text(sash.dump_query(plain_query))
    assert main(["run", "--query", str(query), "--input", str(data), "--output", str(out), "--quiet"]) == 0
    assert rows_of(pd.read_csv(out)) == rows_of(sash.run(plain_query, pd.read_csv(data)))


def test_the_data_stays_as_it_is() -> None:
    frame = FRAME.astype(object)
    sash.run(QUERY, frame)
    assert [type(value) for value in frame.x] == [float] * 6
