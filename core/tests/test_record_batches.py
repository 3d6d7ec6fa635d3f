"""A stream of record batches gives what the whole table gives, in bounded memory; and other sources of Arrow's."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.dataset as ds  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sash
from sash.runtime import record_batches, sorted_batches
from strategies import aggregates, ordered_windows


def reader_of(table: pa.Table, rows: int) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=rows))


def in_order(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(map(repr, rows))


@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
@given(window=ordered_windows(), computed=aggregates(), rows=st.integers(1, 5), data=st.data())
def test_a_stream_has_the_results_of_the_table(
    window: Any, computed: dict[str, Any], rows: int, data: st.DataObject
) -> None:
    size = data.draw(st.integers(1, 40))
    numbers = st.lists(st.integers(0, 30), min_size=size, max_size=size)
    columns = {"k": data.draw(numbers), "ts": sorted(data.draw(numbers)), "x": data.draw(numbers)}
    columns["k"] = [key % 3 for key in columns["k"]]
    table = pa.table({**columns, "s": [f"t{x}" for x in columns["x"]], "mark": [x > 15 for x in columns["x"]]})
    query = sash.Query(key="k", windows=window, aggregates=computed, time="ts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_batches, "PIECE", data.draw(st.integers(1, 20)))
        patch.setattr(sorted_batches, "FIRST_ROWS", data.draw(st.integers(1, 20)))
        patch.setattr(sorted_batches, "MOST_RESULTS", data.draw(st.integers(1, 100)))
        results = sash.run(query, reader_of(table, rows))
        assert isinstance(results, pa.RecordBatchReader)
        streamed = results.read_all()
    whole = sash.run(query, table)
    assert in_order(streamed.to_pylist()) == in_order(whole.to_pylist())


QUERY = sash.Query(
    key="k", windows=sash.sliding(4, 2), aggregates={"peak": sash.Max("x"), "n": sash.Count()}, time="ts"
)


def test_types_are_those_of_the_table_even_without_a_row() -> None:
    table = pa.table({"k": ["a"], "ts": pa.array([3], pa.timestamp("ms", "UTC")), "x": pa.array([1.5], pa.float32())})
    query = QUERY.using(windows=sash.sliding("4s", "2s"))
    whole = sash.run(query, table)
    assert sash.run(query, reader_of(table, 1)).read_all().schema == whole.schema
    assert sash.run(query, reader_of(table.slice(0, 0), 1)).read_all().schema == whole.schema


def test_results_of_a_function_of_the_users_have_the_type_of_the_first() -> None:
    spread = sash.aggregation("x", lift=lambda v: (v, v), combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
                              lower=lambda p: p[1] - p[0], commutative=True)  # fmt: skip
    table = pa.table({"ts": [1, 2, 3, 9], "x": [1.0, 4.0, 2.0, 5.0]})
    query = sash.Query(windows=sash.tumbling(2, on="ts"), aggregates={"spread": spread})
    assert sash.run(query, reader_of(table, 1)).read_all().to_pydict() == sash.run(query, table).to_pydict()


def test_a_late_row_is_an_error_that_names_it_and_the_remedy() -> None:
    table = pa.table({"k": ["a"] * 4, "ts": [1, 9, 20, 3], "x": [1, 2, 3, 4]})
    with pytest.raises(ValueError, match=r"row 3 \(ts = 3\) comes too late.*watermark_delay.*read_all"):
        sash.run(QUERY, reader_of(table, 2)).read_all()
    waiting = QUERY.using(watermark_delay=17)
    assert in_order(sash.run(waiting, reader_of(table, 2)).read_all().to_pylist()) == in_order(
        sash.run(waiting, table).to_pylist()
    )


def test_a_missing_column_is_named_before_a_row_is_read() -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        raise AssertionError("nothing is to be read")
        yield

    reader = pa.RecordBatchReader.from_batches(pa.schema({"k": pa.string(), "ts": pa.int64()}), batches())
    with pytest.raises(KeyError, match="column 'x' is not in the data, which has 'k', 'ts'"):
        sash.run(QUERY, reader)


LARGE = """
import resource, sys
import numpy as np, pyarrow as pa, sash
kind = pa.schema([("k", pa.int64()), ("ts", pa.int64()), ("x", pa.float64())])
def batches():
    for number in range(400):
        at = np.arange(number << 16, (number + 1) << 16)
        yield pa.record_batch([at % 100, at, at * 0.5], kind)
query = sash.Query(key="k", windows=sash.sliding(6000, 600, on="ts"), aggregates={"peak": sash.Max("x")})
results = sash.run(query, pa.RecordBatchReader.from_batches(kind, batches()))
before, rows = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, sum(map(len, results))
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
print(rows, grown)
"""


def test_a_table_of_600_mb_passes_in_a_quarter_of_that() -> None:
    done = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows, grown = map(int, done.stdout.split())
    windows = (400 << 16) // 600 + 10  # the last tuple is in the last of them; the first 9 begin below 0
    assert rows == pytest.approx(100 * windows, rel=0.001)
    assert grown < 150 << 20


COLUMNS = {"k": [1, 1, 2, 1], "ts": [1, 2, 3, 8], "x": [4, 9, 2, 6], "unread": ["a", "b", "c", "d"]}


def test_sources_of_arrow_are_read_as_tables(tmp_path: Path) -> None:
    table = pa.table(COLUMNS)
    expected = sash.run(QUERY, table)
    relation = duckdb.from_arrow(table)
    assert sash.run(QUERY, relation).equals(expected)
    ds.write_dataset(table, tmp_path, format="parquet")
    assert sash.run(QUERY, ds.dataset(tmp_path)).equals(expected)
    lazy = pl.LazyFrame(COLUMNS)
    results = sash.run(QUERY, lazy)
    assert isinstance(results, pl.DataFrame)
    assert results.equals(sash.run(QUERY, lazy.collect()))


def test_a_source_without_a_column_says_what_it_has(tmp_path: Path) -> None:
    table = pa.table({"k": [1], "ts": [2]})
    ds.write_dataset(table, tmp_path, format="parquet")
    for data in (duckdb.from_arrow(table), ds.dataset(tmp_path), pl.LazyFrame({"k": [1], "ts": [2]})):
        with pytest.raises(KeyError, match="column 'x' is not in the data, which has 'k', 'ts'"):
            sash.run(QUERY, data)


def test_a_column_is_no_table() -> None:
    with pytest.raises(TypeError, match="Series is not a table"):
        sash.run(QUERY, pl.Series([1, 2]))
