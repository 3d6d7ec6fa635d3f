"""Moments, statistics of two columns and the like: compared with exact rational arithmetic and with other libraries.

The definition, :func:`sash.testing.naive`, uses the very functions that are tested here. So what these return is
compared with the textbook's formulas in fractions, and with DuckDB and pandas as independent judges.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sash
from sash.aggregators import DABA

pytestmark = pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")


# exact rational arithmetic


def central(values: Sequence[Fraction], power: int) -> Fraction:
    mean = sum(values, Fraction(0)) / len(values)
    return sum(((value - mean) ** power for value in values), Fraction(0))


def product(xs: Sequence[Fraction], ys: Sequence[Fraction]) -> Fraction:
    x, y = (sum(values, Fraction(0)) / len(values) for values in (xs, ys))
    return sum(((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)), Fraction(0))


def root(square: Fraction) -> float:
    """The square root, to the digits of a float."""
    scaled = square * 2**400
    return float(Fraction(math.isqrt(scaled.numerator // scaled.denominator), 2**200))


def skewness(x: Sequence[Fraction]) -> float:
    n, m2, m3 = len(x), central(x, 2), central(x, 3)
    return float(Fraction(n, (n - 1) * (n - 2)) * m3 / (m2 / (n - 1))) / root(m2 / (n - 1))


def kurtosis(x: Sequence[Fraction]) -> float:
    n, variance = len(x), central(x, 2) / (len(x) - 1)
    scale = Fraction(n * (n + 1), (n - 1) * (n - 2) * (n - 3))
    return float(scale * central(x, 4) / variance**2 - Fraction(3 * (n - 1) ** 2, (n - 2) * (n - 3)))


EXACT: dict[str, tuple[sash.Aggregation, Callable[..., float]]] = {
    "sample variance": (sash.SampleVariance("x"), lambda x, y: float(central(x, 2) / (len(x) - 1))),
    "population variance": (sash.PopulationVariance("x"), lambda x, y: float(central(x, 2) / len(x))),
    "skewness": (sash.Skewness("x"), lambda x, y: skewness(x)),
    "kurtosis": (sash.Kurtosis("x"), lambda x, y: kurtosis(x)),
    "covariance": (sash.Covariance("x", "y"), lambda x, y: float(product(x, y) / (len(x) - 1))),
    "correlation": (
        sash.Correlation("x", "y"),
        lambda x, y: float(product(x, y)) / root(central(x, 2) * central(y, 2)),
    ),
    "slope": (sash.Slope("y", "x"), lambda x, y: float(product(x, y) / central(x, 2))),
    "weighted mean": (
        sash.WeightedMean("x", "w"),
        lambda x, y: float(sum(v * (i % 4) for i, v in enumerate(x)) / sum(i % 4 for i in range(len(x)))),
    ),
    "product": (sash.Product("p"), lambda x, y: float(math.prod(Fraction(p) for p in factors(len(x))))),
}


def factors(size: int) -> list[float]:
    return [1e200, 1e-200, 1.5, 0.75, -1.25] * (size // 5) + [2.0] * (size % 5)


def frame_of(size: int, offset: float) -> dict[str, Any]:
    rng = np.random.default_rng(size)
    x = offset + np.round(rng.gamma(2.0, size=size), 6)
    y = -offset + np.round(2.0 * (x - offset) + rng.standard_normal(size), 6)
    return {"x": x, "y": y, "w": np.arange(size) % 4, "p": np.array(factors(size))}


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9, -1e12])
@pytest.mark.parametrize("name", EXACT)
def test_they_are_the_textbooks_in_exact_arithmetic(name: str, offset: float) -> None:
    """Digits are lost only of what the mean has more than the spread, and few of those: see the module of moments."""
    aggregation, definition = EXACT[name]
    frame = frame_of(500, offset)
    x, y = ([Fraction(value) for value in frame[column].tolist()] for column in "xy")
    exact = definition(x, y)
    window = DABA(aggregation)  # merged as a tree
    columns = [frame[column].tolist() for column in aggregation.columns]
    window.insert_many(columns[0] if len(columns) == 1 else list(zip(*columns, strict=True)))
    assert window.query() == pytest.approx(exact, rel=1e-13)

    query = sash.Query(windows=sash.tumbling(500), aggregates={"r": aggregation})
    assert sash.run(query, frame)["r"].tolist() == [pytest.approx(exact, rel=1e-13)]
    arrays = tuple(frame[column] for column in aggregation.columns)
    rolled = sash.rolling(arrays if len(arrays) > 1 else arrays[0], type(aggregation)(), range=500)
    assert rolled.tolist() == [pytest.approx(exact, rel=1e-13)]


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=40), st.sampled_from([0.5, 3.0, 100.0]))
def test_the_exponential_mean_weighs_by_age(values: list[int], half_life: float) -> None:
    times = np.cumsum([abs(value) % 7 for value in values])
    weights = [0.5 ** ((times[-1] - time) / half_life) for time in times.tolist()]
    expected = math.fsum(w * v for w, v in zip(weights, values, strict=True)) / math.fsum(weights)
    window = DABA(sash.ExponentialMean(half_life=half_life))
    window.insert_many(list(zip(values, times.tolist(), strict=True)))
    assert window.query() == pytest.approx(expected, rel=1e-9, abs=1e-9)


# other libraries

ROWS = 400
KEYS = 3


@pytest.fixture(scope="module")
def table() -> Any:
    """Numbers with nulls, a column of few values, booleans and times, for a few keys."""
    rng = np.random.default_rng(5)
    moments = pd.Timestamp("2024-03-01") + pd.to_timedelta(np.cumsum(rng.integers(0, 5000, ROWS)), "ms")

    def with_nulls(values: Any) -> Any:
        return pa.array(values, mask=rng.random(ROWS) < 0.1)

    return pa.table({
        "i": np.arange(ROWS),
        "k": rng.integers(0, KEYS, ROWS),
        "t": pa.array(moments, pa.timestamp("us")),
        "x": with_nulls(rng.normal(1e6, 3.0, ROWS)),
        "y": with_nulls(rng.normal(-50.0, 2.0, ROWS)),
        "few": with_nulls(rng.integers(0, 6, ROWS)),
        "ok": with_nulls(rng.random(ROWS) < 0.9),
        "w": rng.integers(1, 9, ROWS).astype(float),
    })  # fmt: skip


JUDGED = {
    "var_samp(x)": sash.SampleVariance("x"),
    "var_pop(x)": sash.PopulationVariance("x"),
    "covar_samp(x, y)": sash.Covariance("x", "y"),
    "corr(x, y)": sash.Correlation("x", "y"),
    "regr_slope(y, x)": sash.Slope("y", "x"),
    "skewness(x)": sash.Skewness("x"),
    "kurtosis(y)": sash.Kurtosis("y"),
    "sum(x * w) / sum(w) filter (x is not null)": sash.WeightedMean("x", "w"),
    "product(y)": sash.Product("y"),
    "bool_or(ok)": sash.Any("ok"),
    "bool_and(ok)": sash.All("ok"),
    "count(distinct few)": sash.ExactDistinctCount("few"),
}


def test_duckdb_agrees(table: Any) -> None:
    """Windows of 30 s a key, some with few values."""
    query = sash.Query(
        key="k", windows=sash.tumbling("30s"), time="t", aggregates={f"r{i}": a for i, a in enumerate(JUDGED.values())}
    )
    found = sash.run(query, table).sort_by([("k", "ascending"), ("window_start", "ascending")]).to_pylist()
    columns = ", ".join(f"{sql} as r{i}" for i, sql in enumerate(JUDGED))
    with duckdb.connect() as connection:
        connection.register("t", table)
        judged = connection.sql(
            f"select k, time_bucket(interval 30 second, t.t) as start, {columns} from t group by all order by all"
        )
        expected = [dict(zip(judged.columns, row, strict=True)) for row in judged.fetchall()]
    assert [row["window_start"] for row in found] == [row["start"] for row in expected] and len(found) > 30
    for i, sql in enumerate(JUDGED):
        for ours, theirs in zip(found, expected, strict=True):
            result, expected_result = ours[f"r{i}"], theirs[f"r{i}"]
            if result is None and sql.startswith(("corr", "regr")):
                expected_result = None if math.isnan(expected_result) else expected_result  # of one pair, as in SQL
            assert result == pytest.approx(expected_result, rel=1e-6, nan_ok=True), (sql, ours, theirs)


def test_pandas_agrees_on_rolling_windows(table: Any) -> None:
    x, y = (table[name].combine_chunks().drop_null()[:300].to_numpy() for name in "xy")
    frame = pd.DataFrame({"x": x, "y": y})
    rolled = frame["x"].rolling(20)
    for ours, theirs in [
        (sash.rolling(x, sash.SampleVariance(), range=20), rolled.var()),
        (sash.rolling(y, sash.Skewness(), range=20), frame["y"].rolling(20).skew()),
        (sash.rolling(y, sash.Kurtosis(), range=20), frame["y"].rolling(20).kurt()),
        (sash.rolling((x, y), sash.Covariance(), range=20), rolled.cov(frame["y"])),
        (sash.rolling((x, y), sash.Correlation(), range=20), rolled.corr(frame["y"])),
    ]:
        np.testing.assert_allclose(ours, theirs[19:], rtol=1e-5)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_pandas_agrees_on_exponential_means(table: Any, unit: str) -> None:
    """pandas has one over all rows so far: that of a window as long as the column."""
    frame = table.select(["t", "y"]).to_pandas().dropna()
    frame["t"] = frame["t"].astype(f"datetime64[{unit}]")
    theirs = frame["y"].ewm(halflife="20s", times=frame["t"]).mean()
    query = sash.Query(
        windows=sash.sliding(len(frame), partial=True),
        aggregates={"r": sash.ExponentialMean("y", "t", half_life="20s")},
    )
    by_batch = sash.run(query, frame)["r"]
    np.testing.assert_allclose(by_batch, theirs, rtol=1e-9)
    op = sash.Operator(query)
    by_row = [result["r"] for row in frame.head(50).to_dict("records") for result in op.process(row)]
    np.testing.assert_allclose(by_row, theirs[:50], rtol=1e-9)


def test_the_mode_is_the_smallest_of_the_most_frequent(table: Any) -> None:
    query = sash.Query(windows=sash.sliding(12, 5), aggregates={"r": sash.Mode("few")})
    values = table["few"].to_pylist()
    found = sash.run(query, table)["r"].to_pylist()
    for start, mode in zip(range(0, ROWS, 5), found, strict=False):
        counts = Counter(value for value in values[start : start + 12] if value is not None)
        assert mode == min(counts, key=lambda value: (-counts[value], value))
        assert mode == pd.Series(values[start : start + 12]).mode()[0]
