"""Tables of every kind are read alike, and results come in the kind, and with the types, of the input."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.aggregations.ordered import M4Result
from sash.frames import Coded, columns_of, factorize, to_list

BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2024, 3, 1, 12)


def _reader(columns: dict[str, list[Any]]) -> Any:
    table = pa.table(columns)
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=2))


def _chunked(columns: dict[str, list[Any]]) -> Any:
    table = pa.table(columns)
    return pa.concat_tables([table.slice(0, 1), table.slice(1)])


def _rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


KINDS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": lambda columns: pd.DataFrame(
        {k: pd.Series(v, dtype=object).convert_dtypes() for k, v in columns.items()}
    ),
    "pandas on arrow": lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "table": pa.table,
    "chunked": _chunked,
    "batch": pa.record_batch,
    "reader": _reader,
    "polars": pl.DataFrame,
    "lists": dict,
    "arrays": lambda columns: {k: columns_of({k: v}, [k])[k] for k, v in columns.items()},
    "rows": _rows,
}

COLUMNS: dict[str, list[Any]] = {
    "int": [1, 2, 3],
    "int or null": [1, None, 3],
    "float": [0.5, -1.5, 2.0],
    "float or null": [None, 0.5, 2.0],
    "bool": [True, False, True],
    "bool or null": [True, None, False],
    "text": ["a", "b", "a"],
    "text or null": ["a", None, "ä"],
    "decimal": [Decimal("1.50"), None, Decimal("2.25")],
    "moment": [NOON, NOON + timedelta(seconds=1), NOON],
    "moment or null": [NOON, None, NOON],
    "day": [date(2024, 3, 1), date(2024, 3, 2), None],
    "span": [timedelta(seconds=1), None, timedelta(days=1)],
}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_read_alike_and_made_again(kind: str, column: str) -> None:
    data = KINDS[kind]({column: COLUMNS[column], "other": [0, 0, 0]})
    frame = columns_of(data, [column])
    assert len(frame) == 3 and list(frame.columns) == [column]
    array = frame[column]
    assert [plain(value) for value in to_list(array)] == COLUMNS[column]
    if column.split(maxsplit=1)[0] in ("int", "float", "bool"):
        assert array.dtype.kind == column[0]
        assert isinstance(array, np.ma.MaskedArray) == ("null" in column)
    made = frame.make({column: array[1:]}, like={column: column})
    if kind != "reader":
        assert type(made) is type(data)
    again = columns_of(made, [column])
    assert [plain(value) for value in to_list(again[column])] == COLUMNS[column][1:]
    if kind in ("table", "chunked", "batch"):
        assert made.schema == data.select([column]).schema
    if kind == "polars":
        assert made.schema == data.select(column).schema
    if kind.startswith("pandas"):
        assert made.dtypes.tolist() == data[[column]].dtypes.tolist()
    if kind == "lists":
        assert made == {column: COLUMNS[column][1:]}
    if kind == "rows":
        assert made == [{column: value} for value in COLUMNS[column][1:]]


def plain(value: Any) -> Any:
    """Python's own for what a library has of nanoseconds."""
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[us]").item()
    return value.astype("timedelta64[us]").item() if isinstance(value, np.timedelta64) else value


def test_numbers_are_not_copied() -> None:
    numbers = np.arange(4.0)
    for data in (
        {"x": numbers},
        pd.DataFrame({"x": numbers}, copy=False),
        pa.table({"x": numbers}),
        pa.record_batch({"x": numbers}),
        pl.DataFrame({"x": numbers}),
    ):
        array = columns_of(data, ["x"])["x"]
        if isinstance(data, pa.Table | pa.RecordBatch):
            assert array.__array_interface__["data"][0] == data["x"].to_numpy().__array_interface__["data"][0]
        elif not isinstance(data, pl.DataFrame):
            assert np.shares_memory(array, numbers)
        else:
            assert not array.flags.owndata


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC", "+02:00"])
def test_zones_are_remembered(zone: str) -> None:
    tz: Any = "Europe/Berlin" if zone == "Europe/Berlin" else zone
    frame = pd.DataFrame({"ts": pd.to_datetime([NOON, NOON]).tz_localize("UTC").tz_convert(tz)})
    table = pa.table({"ts": pa.array([NOON, NOON], pa.timestamp("ms", tz=zone))})
    tables: list[Any] = [frame, table]
    if zone != "+02:00":
        tables.append(
            pl.DataFrame({"ts": pl.Series([NOON, NOON]).dt.replace_time_zone("UTC").dt.convert_time_zone(zone)})
        )
    for data in tables:
        read = columns_of(data, ["ts"])
        assert read.zone("ts") == zone
        assert read["ts"].astype("M8[s]").tolist() == [NOON, NOON]
        made = read.make({"window_start": read["ts"][:1], "n": np.array([1])}, like={"window_start": "ts"})
        back = columns_of(made, ["window_start"])
        assert back.zone("window_start") == zone
        assert (back["window_start"] == read["ts"][:1]).all()
        plain = read.make({"window_start": read["ts"][:1]})
        assert columns_of(plain, ["window_start"]).zone("window_start") is None
    rows = columns_of({"ts": table["ts"]}, ["ts"])
    made = rows.make({"ts": rows["ts"]}, like={"ts": "ts"})
    assert made["ts"][0] == NOON.replace(tzinfo=UTC) and made["ts"][0].tzinfo is not None


@pytest.mark.parametrize("unit", "D h m s ms us ns".split())
def test_edges_of_every_unit_can_be_made(unit: str) -> None:
    edges = np.array(["2024-03-01", "2024-03-02"], f"datetime64[{unit}]")
    for kind, make in KINDS.items():
        frame = columns_of(make({"ts": [NOON], "day": [NOON.date()]}), ["ts", "day"])
        for like in ({"e": "ts"}, {"e": "day"}, {}):
            made = frame.make({"e": edges}, like=like)
            read = columns_of(made, ["e"])["e"]
            values = [plain(value) for value in to_list(read)]
            assert [value.day for value in values] == [1, 2], (kind, like)


def test_what_arrow_encodes_is_read_as_its_values() -> None:
    texts = pa.array(["a", None, "b", "a"])
    data = pa.table({
        "dictionary": texts.dictionary_encode(),
        "large": texts.cast(pa.large_string()),
        "binary": texts.cast(pa.binary()),
        "null": pa.nulls(4),
        "list": pa.array([[1], None, [2, 3], []]),
        "struct": pa.array([{"x": 1}, None, {"x": 2}, {"x": None}]),
        "time": pa.array([time(12), None, time(13), time(14)]),
        "half": pa.array(np.arange(4, dtype=np.float16)),
        "runs": pa.RunEndEncodedArray.from_arrays([2, 4], pa.array([1, 2])),
    })  # fmt: skip
    frame = columns_of(data, data.schema.names)
    for name in data.schema.names:
        expected = [1, 1, 2, 2] if name == "runs" else data[name].to_pylist()
        assert to_list(frame[name]) == expected, name
    made = frame.make(
        {name: frame[name] for name in ("dictionary", "large", "list", "struct")},
        like={name: name for name in data.schema.names},
    )
    assert made.schema.field("dictionary").type == data.schema.field("dictionary").type
    assert made == data.select(made.schema.names)


def test_halves_with_nulls_are_read() -> None:
    halves = pa.array([np.float16(0.5), None, np.float16("inf"), np.float16("nan")], pa.float16())
    array = columns_of(pa.table({"x": halves}), ["x"])["x"]
    assert repr(to_list(array)) == "[0.5, None, inf, nan]"


@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view()])
def test_keys_may_be_views(kind: Any) -> None:
    texts = ["a", "b", "a", None]
    query = sash.Query(key="k", windows=sash.tumbling(1), aggregates={"n": sash.Count()})
    results = sash.run(query, pa.table({"k": pa.array(texts, kind)}))
    assert results.schema.field("k").type == kind
    assert results.column("n").to_pylist() == sash.run(query, {"k": texts})["n"]


def test_categories_are_read_as_their_values() -> None:
    frame = pd.DataFrame({
        "text": pd.Categorical(["b", None, "a"], categories=["b", "a", "unused"]),
        "number": pd.Categorical([3, None, 1]),
        "none": pd.Categorical([None, None, None]),
    })  # fmt: skip
    read = columns_of(frame, list(frame.columns))
    assert [to_list(read[name]) for name in frame.columns] == [["b", None, "a"], [3, None, 1], [None] * 3]
    made = read.make({"text": read["text"][::-1]}, like={"text": "text"})
    assert made["text"].tolist() == ["a", np.nan, "b"] or made["text"].isna().tolist() == [False, True, False]
    assert made["text"].dtype == frame["text"].dtype
    for kind in (pl.Categorical, pl.Enum(["b", "a"])):
        table = pl.DataFrame({"k": pl.Series(["b", None, "a"]).cast(kind)})
        again = columns_of(table, ["k"])
        assert to_list(again["k"]) == ["b", None, "a"]
        assert again.make({"k": again["k"]}, like={"k": "k"}).equals(table)


def test_missing_texts_in_pandas_are_null() -> None:
    data = pd.DataFrame({"k": ["a", np.nan, None], "s": pd.array(["a", pd.NA, "b"], dtype="string")})
    frame = columns_of(data, ["k", "s"])
    assert to_list(frame["k"]) == ["a", None, None] and to_list(frame["s"]) == ["a", None, "b"]


def test_named_levels_of_an_index_are_columns() -> None:
    index = pd.MultiIndex.from_arrays([pd.to_datetime([NOON, NOON]), ["a", "b"]], names=["ts", "k"])
    frame = columns_of(pd.DataFrame({"x": [1, 2]}, index=index), ["ts", "k", "x"])
    assert to_list(frame["k"]) == ["a", "b"] and frame["ts"].dtype.kind == "M"
    codes, distinct = factorize(frame, ["k"])
    assert codes.tolist() == [0, 1] and distinct["k"].tolist() == ["a", "b"]


def test_results_of_several_parts() -> None:
    low, high = np.array([1, 2]), np.array([3, 4])
    nothing = (masked(low, [False, True]), masked(high, [False, True]))
    for kind, make in KINDS.items():
        frame = columns_of(make({"x": [1, 2]}), ["x"])
        for parts, second in (((low, high, low, high), (2, 4, 2, 4)), ((*nothing, *nothing), None)):
            made = frame.make({"chart": parts}, fields={"chart": M4Result})
            value: Any
            if kind in ("pandas", "pandas on arrow"):
                value = made["chart"].tolist()
                assert isinstance(value[0], M4Result)
            elif kind == "rows":
                value = [row["chart"] for row in made]
            elif kind == "arrays":
                assert made["chart"].dtype.names == M4Result._fields
                value = [row and (None if all(part is None for part in row) else row) for row in made["chart"].tolist()]
            elif kind == "lists":
                value = made["chart"]
            else:
                value = made["chart"].to_list() if kind == "polars" else made["chart"].to_pylist()
                value = [row and tuple(row.values()) for row in value]
            assert value == [(1, 3, 1, 3), second], kind
    objects = np.array([None, None], object)
    objects[0] = M4Result(1, 2, 3, 4)
    for kind in ("table", "polars"):
        made = columns_of(KINDS[kind]({"x": [1]}), ["x"]).make({"chart": objects})
        assert made["chart"].to_pylist()[0]["first"] == 3 if kind == "table" else made["chart"][0]["first"] == 3
    assert columns_of({"x": np.arange(2)}, []).make({"c": (low, high)}, fields={"c": ["a", "b"]})["c"][
        "b"
    ].tolist() == [3, 4]


def masked(data: Any, mask: list[bool]) -> Any:
    return np.ma.MaskedArray(data, mask)  # type: ignore[no-untyped-call]


def test_a_name_of_an_input_column_does_not_bind_a_result_to_its_type() -> None:
    for make in KINDS.values():
        frame = columns_of(make({"x": [1, 2]}), ["x"])
        assert to_list(columns_of(frame.make({"x": np.array([0.5])}), ["x"])["x"]) == [0.5]
        odd = frame.make({"x": np.array([0.5])}, like={"x": "x"})
        assert to_list(columns_of(odd, ["x"])["x"]) == [0.5]


def test_a_column_of_codes_is_made_of_its_values() -> None:
    codes = np.array([1, 0, 1, 1])
    for make in KINDS.values():
        data = make({"k": ["a", None, "a"], "n": [1, 2, 1]})
        frame = columns_of(data, ["k", "n"])
        _, distinct = factorize(frame, ["k", "n"])
        columns = {"x": np.arange(4), **{name: Coded(values, codes) for name, values in distinct.items()}}
        made = columns_of(frame.make(columns, like={"k": "k", "n": "n"}), ["k", "n", "x"])
        assert to_list(made["k"]) == [None, "a", None, None] and to_list(made["n"]) == [2, 1, 2, 2]
        assert to_list(made["x"]) == [0, 1, 2, 3]


def test_rows_may_be_made_as_they_are_read() -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield {"x": 1}
        yield {"x": 2, "more": True}

    frame = columns_of(rows(), ["x"])
    assert len(frame) == 2 and frame["x"].tolist() == [1, 2]
    assert len(columns_of(rows(), [])) == 2
    assert columns_of([], ["x"]).make({"x": np.array([])}) == []
    assert len(columns_of({"unused": [1, 2]}, [])) == 2
    assert len(columns_of(pa.table({"unused": [1, 2]}), [])) == 2
    assert len(columns_of(pd.DataFrame(index=range(3)), [])) == 3


def test_lists_of_numbers_that_no_array_can_hold_stay_as_they_are() -> None:
    for values in ([2**63, 1], [2**53 + 1, 0.5], [1, True], [[1], [2]], [np.float64(1), 1]):
        assert columns_of({"x": values}, ["x"])["x"].tolist() == values
        assert columns_of({"x": values}, ["x"])["x"].dtype == object


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        ({"y": [1], "z": [2]}, KeyError, "column 'x' is not in the data, which has 'y', 'z'"),
        (pd.DataFrame({"y": [1]}), KeyError, "column 'x' is not in the data, which has 'y'"),
        (pa.table({"y": [1]}), KeyError, "column 'x' is not in the data, which has 'y'"),
        (pl.DataFrame({"y": [1]}), KeyError, "column 'x' is not in the data, which has 'y'"),
        ({}, KeyError, "which has none"),
        ([{"x": 1, "k": 1}, {"k": 1}], KeyError, "row 1 has no column 'x'; it has 'k'"),
        ([{"x": 1, "k": 1}, 5], TypeError, "row 1 must be a mapping of column names to values; got 5"),
        ([(1, 2)], TypeError, "row 0 must be a mapping"),
        ({"x": [1], "k": [1, 2]}, ValueError, "different lengths: {'x': 1, 'k': 2}"),
        ({"x": "text", "k": "text"}, TypeError, "column 'x' must be an array or a list; got 'text'"),
        ({"x": 5, "k": [1]}, TypeError, "column 'x' must be an array or a list; got 5"),
        ({"x": np.zeros((2, 2)), "k": [1, 2]}, ValueError, r"'x' must have one dimension; it has the shape \(2, 2\)"),
        (5, TypeError, "data must be a DataFrame of pandas or polars.*got int"),
        ("text", TypeError, "got str"),
        (np.arange(3), TypeError, "got ndarray"),
        (pd.DataFrame([[1, 2, 3]], columns=["x", "x", "k"]), ValueError, "column 'x' is in the data more than once"),
        (pa.table([[1], [2], [3]], names=["x", "x", "k"]), ValueError, "column 'x' is in the data more than once"),
    ],
)
def test_data_that_is_no_table(data: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        columns_of(data, ["x", "k"])["x"]


VALUES = st.one_of(
    st.lists(st.one_of(st.none(), st.integers(-3, 3))),
    st.lists(st.one_of(st.none(), st.integers(-(2**62), 2**62))),
    st.lists(st.one_of(st.none(), st.sampled_from(["a", "b", "", "ä"]))),
    st.lists(st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("inf")]))),
    st.lists(st.one_of(st.none(), st.booleans())),
    st.lists(st.one_of(st.none(), st.sampled_from([NOON, NOON + timedelta(1)]))),
    st.lists(st.one_of(st.none(), st.sampled_from([Decimal(1), Decimal("2.5")]))),
)


def _key(value: Any) -> Any:
    return "NaN" if value != value else value


@pytest.mark.parametrize("kind", ["pandas objects", "pandas on arrow", "table", "batch", "polars", "lists", "rows"])
@given(first=VALUES, second=VALUES, several=st.booleans())
@settings(max_examples=40)
def test_codes_number_keys_as_they_appear(kind: str, first: list[Any], second: list[Any], several: bool) -> None:
    size = min(len(first), len(second))
    columns = {"a": first[:size], "b": second[:size]}
    keys = ["a", "b"] if several else ["a"]
    if kind == "pandas objects":
        data = pd.DataFrame(columns, dtype=object)
        columns = {key: [None if value != value else value for value in columns[key]] for key in columns}
    else:
        data = KINDS[kind](columns)
    codes, distinct = factorize(columns_of(data, keys), keys)
    expected: dict[Any, int] = {}
    rows = list(zip(*(map(_key, columns[key]) for key in keys), strict=True))
    assert codes.dtype == np.int64
    assert codes.tolist() == [expected.setdefault(row, len(expected)) for row in rows]
    found = zip(*([_key(plain(value)) for value in to_list(distinct[key])] for key in keys), strict=True)
    assert list(found) == list(expected)


def test_codes_of_arrays_of_every_type() -> None:
    for dtype in "? b h i q B H I Q e f d g F D U3 S3 O M8[s] m8[ns] >i4 >M8[us]".split():
        keys = np.array([1, 0, 1, 0, 0]).astype(dtype)
        for array in (keys, keys[::-1]):
            codes, distinct = factorize(columns_of({"k": array}, ["k"]), ["k"])
            assert (distinct["k"][codes] == array).all() and codes.max() == 1 and codes[0] == 0
    codes, distinct = factorize(columns_of({"k": np.array([5, 5])}, []), [])
    assert codes.tolist() == [0, 0] and distinct == {}


def test_codes_of_dictionaries_and_categories() -> None:
    twice = pa.DictionaryArray.from_arrays(pa.array([2, 0, None, 1, 2]), pa.array(["a", "b", "a"]))
    texts = ["a", "a", None, "b", "a"]
    for data in (
        pa.table({"k": twice}),
        pa.chunked_array([twice.slice(0, 2), twice.slice(2)]),
        pd.DataFrame({"k": pd.Categorical(texts, categories=["b", "a"])}),
        pl.DataFrame({"k": pl.Series(texts, dtype=pl.Categorical)}),
    ):
        frame = columns_of({"k": data} if isinstance(data, pa.ChunkedArray) else data, ["k"])
        codes, distinct = factorize(frame, ["k"])
        assert codes.tolist() == [0, 0, 1, 2, 0] and distinct["k"].tolist() == ["a", None, "b"]


def test_many_columns_of_many_keys_do_not_overflow() -> None:
    generator = np.random.default_rng(0)
    columns = {f"k{i}": generator.integers(-(2**62), 2**62, 5000) for i in range(8)}
    columns = {name: np.concatenate([values, values]) for name, values in columns.items()}
    codes, _ = factorize(columns_of(columns, list(columns)), list(columns))
    assert codes.tolist() == [*range(5000), *range(5000)]


def test_what_cannot_be_a_key() -> None:
    with pytest.raises(TypeError, match=r"column 'k', row 1: \[1\] cannot be a key"):
        factorize(columns_of({"k": ["a", [1]]}, ["k"]), ["k"])
    with pytest.raises(TypeError, match=r"column 'k', row 1: \[1\] cannot be a key"):
        factorize(columns_of(pd.DataFrame({"k": ["a", [1]]}), ["k"]), ["k"])


def test_no_library_is_imported() -> None:
    program = """
import sys, numpy as np
from sash.frames import Coded, columns_of, factorize
frame = columns_of({"k": np.array([5, 10**12, 5]), "s": ["a", "b", "a"]}, ["k", "s"])
assert factorize(frame, ["k", "s"])[0].tolist() == [0, 1, 0]
assert frame.make({"n": np.array([1])})["n"].tolist() == [1]
assert not {"pandas", "pyarrow", "polars"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("kind", [pa.large_string(), pa.dictionary(pa.int32(), pa.large_string())], ids=str)
def test_no_keys_of_any_text(kind: pa.DataType) -> None:
    rows = pa.table({"k": pa.chunked_array([], kind), "x": pa.chunked_array([], pa.int64())})
    query = sash.Query(key="k", windows=sash.sliding(2), aggregates={"max": sash.Max("x")})
    assert sash.run(query, rows).num_rows == 0
