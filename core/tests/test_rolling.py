"""Columns: compiled kernels against the definition, for every type, mask, cut and layout."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
import tracemalloc
import warnings
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from catalogue import INTEGERS, marks_of
from sash.aggregations.laws import alike
from sash.testing import count_windows, naive

pytestmark = pytest.mark.usefixtures("compile_at_once")

COMPILED = [
    sash.Count(),
    sash.Sum(),
    sash.Min(),
    sash.Max(),
    sash.Mean(),
    sash.GeometricMean(),
    sash.MinCount(),
    sash.MaxCount(),
    sash.SampleStdDev(),
    sash.PopulationStdDev(),
    sash.SampleVariance(),
    sash.PopulationVariance(),
    sash.Skewness(),
    sash.Kurtosis(),
    sash.Product(),
    sash.ExactDistinctCount(),
    sash.Mode(),
    sash.First(),
    sash.Last(),
    sash.M4(),
    sash.aggregation(
        lift=lambda v: (v, v),
        combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
        lower=lambda p: p[1] - p[0],
        name="spread",
    ),
    # an order that shows: the digits of a number, and how many they are
    sash.aggregation(
        lift=lambda v: (int(v) % 10, 10),
        combine=lambda a, b: ((a[0] * b[1] + b[0]) % 1000003, a[1] * b[1] % 1000003),
        lower=lambda p: p[0],
        name="digits",
    ),
]
each_compiled = pytest.mark.parametrize(
    "aggregation", [pytest.param(each, marks=marks_of(each)) for each in COMPILED], ids=lambda each: each.name
)
MaskedArray: Any = np.ma.MaskedArray  # NumPy has no types for it
SHAPES = [(1, 1), (2, 1), (5, 1), (8, 1), (6, 2), (7, 2), (7, 3), (4, 3), (5, 5), (9, 4)]


def _within_a_context(value: Any) -> Any:
    """Of bytecode that Numba does not know."""
    with nullcontext(value) as inside:
        return inside


def as_rows(result: Any) -> list[Any]:
    """Results as a list, nulls as None, several parts as tuples."""
    if isinstance(result, tuple):
        rows = zip(*map(as_rows, result), strict=True)
        return [None if all(part is None for part in row) else row for row in rows]
    return list(result.tolist())


def early_windows(values: list[Any], r: int, s: int) -> list[list[Any]]:
    """The windows that are not yet full: those that end before the first full one does, on the same grid."""
    ends = [end for end in range(1, min(r, len(values) + 1)) if (end - r) % s == 0]
    return [values[:end] for end in ends]


def expected(aggregation: sash.Aggregation, values: list[Any], r: int, s: int, partial: bool) -> list[Any]:
    windows = (early_windows(values, r, s) if partial else []) + count_windows(values, r, s)
    return [tuple(y) if isinstance(y := naive(aggregation, window), tuple) else y for window in windows]


def agree(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(map(alike, a, b))


PLAIN = st.integers(0, 9).map(float)
NUMBERS = st.one_of(st.integers(-9, 9).map(float), st.sampled_from([math.nan, math.inf, -math.inf, 0.5]))


@each_compiled
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_columns_give_the_rows_of_the_definition_however_they_are_cut(
    aggregation: sash.Aggregation, data: st.DataObject
) -> None:
    kind = PLAIN if aggregation.name in ("digits", "spread") else NUMBERS  # whose combine is none with NaN
    values = data.draw(st.lists(kind, max_size=60))
    r, s = data.draw(st.sampled_from(SHAPES))
    partial = data.draw(st.booleans())
    column = np.array(values, np.float64)
    whole = as_rows(sash.rolling(column, aggregation, r, s, partial))
    assert agree(whole, expected(aggregation, values, r, s, partial))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(values)), max_size=5)))
    window = sash.Rolling(aggregation, r, s, partial)
    batches = [window.push(part) for part in np.split(column, cuts)]
    rows = [row for batch in batches for row in as_rows(batch)]
    assert repr(rows) == repr(whole)  # to the bit


@each_compiled
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_nulls_are_skipped(aggregation: sash.Aggregation, data: st.DataObject) -> None:
    kind = PLAIN if aggregation.name in ("digits", "spread") else NUMBERS  # whose combine is none with NaN
    values = data.draw(st.lists(st.one_of(st.none(), kind), max_size=40))
    r, s = data.draw(st.sampled_from(SHAPES))
    cut = data.draw(st.integers(0, len(values)))
    mask = np.array([value is None for value in values], bool)
    column = np.array([math.nan if value is None else value for value in values], np.float64)
    named = sash.Count("x") if aggregation.name == "Count" else aggregation  # which counts values, not rows
    wanted = expected(named, values, r, s, False)
    assert agree(as_rows(sash.rolling(column, named, r, s, mask=mask)), wanted)
    window = sash.Rolling(named, r, s)  # the first batch may be without nulls, the second with
    first = as_rows(window.push(MaskedArray(column[:cut], mask[:cut])))
    assert agree(first + as_rows(window.push(column[cut:], mask=mask[cut:])), wanted)


def test_count_counts_rows_or_values() -> None:
    masked = MaskedArray([1, 2, 3, 4], [True, False, True, True])
    assert sash.rolling(masked, sash.Count("x"), 2).tolist() == [1, 1, 0]
    assert sash.rolling(masked, sash.Count(), 2).tolist() == [2, 2, 2]


@pytest.mark.parametrize("dtype", [*INTEGERS, np.float32, np.float16, np.bool_])
def test_types(dtype: Any) -> None:
    column = np.array([0, 1, 1, 0, 1, 1, 1, 0]) if dtype == np.bool_ else np.array([3, 1, 4, 1, 5, 9, 2, 6])
    column = column.astype(dtype)
    values = column.tolist()
    for aggregation in (sash.Max(), sash.Sum(), sash.Mean(), sash.MinCount()):
        result = sash.rolling(column, aggregation, 3)
        assert agree(result.tolist(), expected(aggregation, values, 3, 1, False)), aggregation
    assert sash.rolling(column, sash.Max(), 3).dtype == (np.float32 if dtype == np.float16 else dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_sums_are_widened_or_refused_never_wrong(dtype: Any) -> None:
    top, bottom = np.iinfo(dtype).max, np.iinfo(dtype).min
    column = np.array([top, top, bottom, top, bottom, bottom], dtype)
    if np.dtype(dtype).itemsize < 8:
        assert sash.rolling(column, sash.Sum(), 2).tolist() == [int(a) + int(b) for a, b in pairwise(column)]
    else:
        assert sash.rolling(column[1:4], sash.Sum(), 2).tolist() == [int(top) + int(bottom)] * 2
        with pytest.raises(OverflowError, match=rf"Sum\(\): result 0 of this call does not fit {np.dtype(dtype)}"):
            sash.rolling(column, sash.Sum(), 2)
    mean = sash.rolling(column, sash.Mean(), 6)[0]
    assert mean == pytest.approx((3 * int(top) + 3 * int(bottom)) / 6, rel=1e-12, abs=1e-6 * int(top) * 2.0**-40)


def test_a_batch_that_fails_has_not_been() -> None:
    sums = sash.Rolling(sash.Sum(), 2)
    assert sums.push(np.array([1, 2])).tolist() == [3]
    for _ in range(3):
        with pytest.raises(OverflowError):
            sums.push(np.array([1 << 62, 1 << 62, 1 << 62]))
    assert sums.push(np.array([5, 6, 7])).tolist() == [7, 11, 13]

    def picky(value: float) -> float:
        if value < 0:
            raise ValueError("negative")
        return value

    own = sash.Rolling(sash.aggregation(lift=picky, combine=lambda a, b: a + b), 2)
    assert own.push(np.array([1.0, 2.0])).tolist() == [3]
    with pytest.raises(ValueError, match="negative"):
        own.push(np.array([4.0, 5.0, 6.0, -1.0]))
    assert own.push(np.array([5.0])).tolist() == [7]
    rows = sash.Rolling(sash.aggregation(lift=lambda v: [picky(v)], combine=lambda a, b: a + b, lower=sum), 2)
    with pytest.warns(sash.PerformanceWarning):
        rows.push(np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="negative"):
        rows.push(np.array([4.0, -1.0]))
    assert rows.push(np.array([5.0])).tolist() == [7]


def test_an_interrupted_batch_is_not_gone_on_from(monkeypatch: pytest.MonkeyPatch) -> None:
    window = sash.Rolling(sash.Max(), 2)
    window.push(np.zeros(3))

    def interrupted(*_: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(window._runner.runner, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        window.push(np.zeros(3))
    with pytest.raises(RuntimeError, match="start a new Rolling"):
        window.push(np.zeros(3))


def test_a_null_argument_is_a_result() -> None:
    house = MaskedArray([7, 8, 9], [True, False, False])
    with pytest.warns(sash.PerformanceWarning, match="of type object"):
        result = sash.rolling((np.array([3.0, 1.0, 2.0]), house), sash.ArgMax(), 2)
    assert result.tolist() == [None, 9]


def test_timestamps() -> None:
    days = np.array(["2024-01-03", "NaT", "2024-01-01", "2024-01-02"], "M8[ns]")
    assert sash.rolling(days, sash.Max(), 2).astype("M8[D]").astype(str).tolist() == [
        "2024-01-03",
        "2024-01-01",
        "2024-01-02",
    ]
    assert sash.rolling(days[2:], sash.Min(), 2).dtype == days.dtype
    gaps = np.array([3, 1, 2], "m8[s]")
    assert sash.rolling(gaps, sash.Last(), 2).tolist() == gaps[1:].tolist()
    with pytest.raises(TypeError, match=r"Mean\(\) cannot aggregate .* of type datetime: timestamps cannot be added"):
        sash.rolling(days, sash.Mean(), 2)
    with pytest.raises(TypeError, match=r"Mean\('ts'\) cannot aggregate .* timestamps cannot be added"):
        sash.rolling(days, sash.Mean("ts"), 2)


def test_several_columns() -> None:
    load = np.array([3.0, 9.0, math.nan, 9.0, 1.0, 2.0])
    house = np.arange(6)
    rows = list(zip(load.tolist(), house.tolist(), strict=True))
    for aggregation in (sash.ArgMax(), sash.ArgMin()):
        assert sash.rolling((load, house), aggregation, 3).tolist() == expected(aggregation, rows, 3, 1, False)
    weighted = sash.aggregation(
        ["price", "amount"],
        lift=lambda price, amount: (price * amount, amount),
        combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lower=lambda p: p[0] / p[1],
    )
    assert sash.rolling((np.array([2.0, 4.0, 1.0]), np.array([1, 3, 1])), weighted, 2).tolist() == [3.5, 3.25]
    with pytest.raises(TypeError, match="reads 2 columns, given as a tuple of arrays; got 1"):
        sash.rolling(load, sash.ArgMax(), 3)


def test_layouts() -> None:
    base = np.random.default_rng(3).random(300_000)
    frozen = base.copy()
    frozen.flags.writeable = False
    views = {"strided": base[::3], "reversed": base[::-1], "read-only": frozen, "foreign": base.astype(">f8")}
    for name, view in views.items():
        plain = np.array(view, np.float64)
        for r, s in ((1000, 1), (100_000, 1), (1000, 7)):
            assert (sash.rolling(view, sash.Max(), r, s) == sash.rolling(plain, sash.Max(), r, s)).all(), name
    assert sash.rolling([3, 1, 2], sash.Max(), 2).tolist() == [3, 2]
    assert sash.rolling(np.array([]), sash.Max(), 2).tolist() == []


@pytest.mark.parametrize("slide", [1, 10, 64])
@pytest.mark.parametrize("n", [64, 1000, 70_000])
def test_nan_is_found_wherever_it_is(n: int, slide: int) -> None:
    rng = np.random.default_rng(n + slide)
    for many in (1, 7, 100_000):
        column = rng.random(300_000)
        column[rng.integers(0, len(column), many)] = math.nan
        counts = np.cumsum(np.isnan(column))
        inside = (counts[n - 1 :] - np.concatenate([[0], counts[:-n]]))[::slide]
        window = sash.Rolling(sash.Max(), n, slide)
        found = np.concatenate([window.push(part) for part in np.split(column, [150_001])])
        assert (np.isnan(found) == (inside > 0)).all()
        plain = np.concatenate([[0], np.nan_to_num(column)])  # where no NaN is, NumPy's maximum is the same
        ends = np.flatnonzero(inside == 0)[:50] * slide + n
        assert [found[(end - n) // slide] for end in ends] == [plain[end - n + 1 : end + 1].max() for end in ends]


@pytest.mark.parametrize("aggregation", [sash.Sum(), sash.Mean(), sash.Max()], ids=lambda a: a.name)
@pytest.mark.parametrize("n", [31, 32, 100, 1000])
def test_chunks_side_by_side_give_the_bits_of_chunks_alone(aggregation: sash.Aggregation, n: int) -> None:
    rng = np.random.default_rng(n)
    column = rng.normal(size=12 * n + 7) * 10.0 ** rng.integers(-9, 9, 12 * n + 7)
    for spoilt in ([], [5 * n + 3], [n - 1, 3 * n, 9 * n + n // 2]):
        column[spoilt] = math.nan
        window = sash.Rolling(aggregation, n)
        alone = [window.push(part) for part in np.array_split(column, 6)]  # two chunks at most, which go one by one
        together = sash.rolling(column, aggregation, n)
        assert np.concatenate(alone).tobytes() == together.tobytes()


def test_a_sum_side_by_side_does_not_drift() -> None:
    n, column = 256, np.concatenate([np.full(3000, 1e15), np.random.default_rng(3).normal(size=3000)])
    for end, total in enumerate(sash.rolling(column, sash.Sum(), n).tolist(), n):
        window = column[end - n : end]
        # each sum adds n values in a row at most
        assert abs(total - math.fsum(window)) <= n * 2.0**-53 * math.fsum(abs(window))


def test_nan_in_groups() -> None:
    codes, values = np.repeat(np.arange(5000), 20), np.random.default_rng(8).random(100_000)
    values[[77_777, 90_000]] = math.nan
    for partial in (False, True):
        ends, results = sash.rolling_by(codes, values, sash.Max(), 4, partial=partial)
        wanted = {row for nan in (77_777, 90_000) for row in range(nan, nan + 4) if codes[row] == codes[nan]}
        assert set(ends[np.isnan(results)].tolist()) == wanted & set(ends.tolist())


@pytest.mark.parametrize("aggregation", [sash.Max(), sash.Mean(), sash.M4(), COMPILED[-1]], ids=lambda a: a.name)
@pytest.mark.parametrize("n", [2, 3, 1000, 131_072, 200_001])
def test_two_threads_give_the_results_of_one(aggregation: sash.Aggregation, n: int) -> None:
    column = np.round(np.random.default_rng(n).random(900_000) * 1000)
    alone = sash.rolling(column, aggregation, n, algorithm="sba")
    window = sash.Rolling(aggregation, n, algorithm="pba")
    batches = [window.push(part) for part in np.split(column, [n // 2, 700_003])]
    together = (
        [np.concatenate(parts) for parts in zip(*batches, strict=True)]
        if aggregation.fields
        else np.concatenate(batches)
    )
    assert np.array_equal(np.array(alone), np.array(together), equal_nan=True)
    assert "PBA, two threads: as asked for" in window.explain()


def test_results_go_where_they_are_wanted() -> None:
    column = np.arange(9.0)
    room = np.empty(7)
    assert np.shares_memory(sash.rolling(column, sash.Max(), 3, out=room), room)
    assert room.tolist() == [2, 3, 4, 5, 6, 7, 8]
    four = tuple(np.empty(7) for _ in range(4))
    sash.rolling(column, sash.M4(), 3, out=four)
    assert four[0].tolist() == column[:7].tolist()
    sums = np.empty(2, np.int64)
    sash.rolling(np.array([1, 2, 3]), sash.Sum(), 2, out=sums)
    assert sums.tolist() == [3, 5]
    texts = np.empty(1, object)
    with pytest.warns(sash.PerformanceWarning):
        sash.rolling(np.array(["a", "b"]), sash.Concat(), 2, out=texts)
    assert texts.tolist() == ["a,b"]
    for wrong, error, words in [
        (np.empty(6), TypeError, r"out must be of the type float64 and the shape \(7,\)"),
        (np.empty(7, np.int64), TypeError, "out must be of the type float64"),
        (four, TypeError, "out must have 1 arrays"),
        (np.empty(14)[::2], ValueError, "out must be contiguous and writeable"),
    ]:
        with pytest.raises(error, match=words):
            sash.rolling(column, sash.Max(), 3, out=wrong)


@pytest.mark.parametrize("mean", [0.0, 1e9, 1e15])
def test_deviations_do_not_cancel(mean: float) -> None:
    rng = np.random.default_rng(11)
    column = mean + rng.integers(-99, 99, 20_000)
    column[7000:7100] += 1e6
    for n in (2, 100, 1000):
        found = sash.rolling(column, sash.SampleStdDev(), n)
        for start in range(0, len(found), 501):
            assert found[start] == pytest.approx(np.std(column[start : start + n] - mean, ddof=1), rel=1e-9, abs=1e-9)
    still = np.full(3000, mean + 0.1)
    still[1000] = -1e300
    flat = sash.rolling(still, sash.PopulationStdDev(), 10)
    assert not flat[:991].any() and not flat[1001:].any() and np.isinf(flat[991:1001]).all()


def test_kernels_release_the_gil() -> None:
    """No thread is interrupted for so long, so another one has turns only when a kernel lets it."""
    column = np.random.default_rng(1).random(4_000_000)
    sash.rolling(column, sash.SampleStdDev(), 1000)  # compiles
    turns, stop, interval = [0], threading.Event(), sys.getswitchinterval()

    def count() -> None:
        while not stop.wait(0.001):
            turns[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    sys.setswitchinterval(100)
    try:
        for _ in range(100):  # a busy machine may give that thread no core for a while
            sash.rolling(column, sash.SampleStdDev(), 1000)
            if turns[0] > 5:
                break
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()
    assert turns[0] > 5


class TestChoice:
    def test_auto(self, monkeypatch: pytest.MonkeyPatch) -> None:
        column = np.zeros(1 << 16)
        for cores, cost, r, s, words in [
            (
                2,
                1.0,
                1 << 15,
                1,
                "PBA, two threads: 2 cores; a chunk of 32768 values saves 21.8 µs (1 ns a value, measured)",
            ),
            (
                2,
                20.0,
                2000,
                1,
                "PBA, two threads: 2 cores; a chunk of 2000 values saves 26.7 µs (20 ns a value, measured)",
            ),
            (
                2,
                1.0,
                2000,
                1,
                "SBA, one thread: a chunk of 2000 values saves 1.33 µs (1 ns a value, measured), and to hand work",
            ),
            (1, 1.0, 1 << 15, 1, "SBA, one thread: one core: a second thread"),
            (2, 1.0, 1 << 21, 1, "SBA, one thread: two threads with 16 MB of lcs each would share too small a cache"),
            (2, 1.0, 1 << 17, 10, "SBA, one thread: with slide 10 most merges make slices"),
        ]:
            monkeypatch.setattr("sash.kernels.rolling.windows.available_cores", lambda cores=cores: cores)
            monkeypatch.setattr("sash.aggregators.pba.available_cores", lambda cores=cores: cores)
            monkeypatch.setattr("sash.kernels.rolling.windows.handover_ns", lambda: 20_000)
            monkeypatch.setattr("sash.kernels.rolling.windows.CompiledRolling._cost", lambda *_, cost=cost: cost)
            monkeypatch.setattr("sash.kernels.rolling.aggregate.RollingAggregate.cost", lambda _, measure: measure())
            window = sash.Rolling(sash.Max(), r, s)
            assert "no batch yet" in window.explain()
            window.push(column[:10])
            assert ("no batch yet of enough values" in window.explain()) == (cores > 1 and s == 1)
            window.push(column)
            assert words in window.explain()
            assert "compiled   yes, kept on disk, in " in window.explain()

    @pytest.mark.parametrize(("arguments", "error", "words"), [
        ({"range": 2, "slide": 3}, ValueError, "range 2 is below slide 3"),
        ({"range": 0}, ValueError, "range must be at least 1"),
        ({"range": 2.5}, TypeError, "range must be a whole number"),
        ({"range": 2, "algorithm": "daba"}, ValueError, "algorithm must be 'auto', 'sba' or 'pba'; got 'daba'"),
    ])  # fmt: skip
    def test_bad_windows(self, arguments: dict[str, Any], error: type[Exception], words: str) -> None:
        with pytest.raises(error, match=words):
            sash.rolling(np.zeros(3), sash.Max(), **arguments)

    def test_bad_columns(self) -> None:
        for values, mask, words in [
            (np.zeros((2, 2)), None, r"column 0 must have one dimension; it has the shape \(2, 2\)"),
            (np.zeros(3), [True], "columns and mask must be of one length"),
        ]:
            with pytest.raises(ValueError, match=words):
                sash.rolling(values, sash.Max(), 2, mask=mask)
        window = sash.Rolling(sash.Max(), 2)
        window.push(np.zeros(3))
        with pytest.raises(TypeError, match="were of type float64 in earlier batches and are of type int64"):
            window.push(np.zeros(3, np.int64))
        with pytest.raises(TypeError, match="rolling needs an aggregation"):
            sash.rolling(np.zeros(3), max, 2)  # type: ignore[arg-type]


class TestFallback:
    @pytest.mark.parametrize(
        ("aggregation", "values", "reason"),
        [
            (sash.Max(), np.array(["b", "a", "c", None], object)[:3], "a column is of type object"),
            (sash.Concat(), np.array(["b", "a", "c"]), "a column is of type <U1"),
            (sash.Collect(), np.array([1, 2, 3]), "combine does not return a partial of the type"),
            (
                sash.aggregation(lift=lambda v: {v: 1}, combine=lambda a, b: {**a, **b}, lower=len, name="own"),
                np.array([1, 1, 2]),
                "",
            ),
            (
                sash.aggregation(lift=_within_a_context, combine=max, lower=float, name="with"),
                np.array([1, 1, 2]),
                "",
            ),
        ],
        ids=lambda x: getattr(x, "name", ""),
    )
    def test_what_cannot_be_compiled_runs_in_python_and_says_so(
        self, aggregation: sash.Aggregation, values: Any, reason: str
    ) -> None:
        with pytest.warns(sash.PerformanceWarning, match=reason) as caught:
            result = sash.rolling(values, aggregation, 2, partial=True)
        (warning,) = caught
        assert "\n" not in str(warning.message) and warning.filename == __file__
        assert result.tolist() == expected(aggregation, values.tolist(), 2, 1, True)

    def test_nulls_and_parts_in_python(self) -> None:
        strange = sash.aggregation(lift=lambda v: {v: 1}, combine=lambda a, b: {**a, **b}, lower=len, name="own")
        with pytest.warns(sash.PerformanceWarning):
            result = sash.rolling(np.array([1, 1, 2]), strange, 1, mask=[True, False, False])
        assert result.tolist() == [None, 1, 1]
        with pytest.warns(sash.PerformanceWarning):
            low, high, first, last = sash.rolling(np.array(["b", "a"], object), sash.M4(), 2)
        assert (low[0], high[0], first[0], last[0]) == ("a", "b", "b", "a")

    def test_builtin_functions_compile(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            own = sash.aggregation(lift=float, combine=max)
            assert sash.rolling(np.array([1, 3, 2]), own, 2).tolist() == [3.0, 3.0]


def test_what_is_compiled_is_kept_for_other_processes(tmp_path: Path) -> None:
    program = (
        "import numpy as np, sash\n"
        "from sash.kernels.rolling.aggregate import rolling_aggregate\n"
        "assert sash.rolling(np.arange(9.0), sash.Mean(), 3).tolist() == [1, 2, 3, 4, 5, 6, 7]\n"
        "kernels = rolling_aggregate(sash.Mean(), (np.dtype('f8'),), False, True).kernels.kernels\n"
        "stats = kernels['by_value'].compiled.stats\n"
        "print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "SASH_COMPILE_ROWS": "0"}
    runs = [
        subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert [run.split() for run in runs] == [["0", "1"], ["1", "0"]]


def test_memory_beyond_input_and_output_grows_with_the_window_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sash.kernels.rolling.aggregate.MOST", 0)  # nothing is kept of the first call for the second
    n = 50_000
    peaks = []
    for size in (4_000_000, 8_000_000):
        column = np.random.default_rng(1).random(size)
        sash.rolling(column[:10], sash.Max(), 50_001)
        tracemalloc.start()
        result = sash.rolling(column, sash.Max(), n)
        peaks.append(tracemalloc.get_traced_memory()[1] - result.nbytes)
        tracemalloc.stop()
    assert max(peaks) < 8 * 8 * n + 6_000_000  # two buffers, or five and what a task takes
    assert abs(peaks[1] - peaks[0]) < 1_000_000


class TestByGroup:
    @settings(max_examples=40, deadline=None)
    @given(data=st.data())
    def test_it_is_rolling_group_by_group(self, data: st.DataObject) -> None:
        rows = data.draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=60))
        if data.draw(st.booleans()):
            rows.sort(key=lambda row: row[0])
        r, s = data.draw(st.sampled_from(SHAPES))
        partial = data.draw(st.booleans())
        codes = np.array([code for code, _ in rows], np.int64)
        values = np.array([value for _, value in rows], np.float64)
        ends, results = sash.rolling_by(codes, values, sash.Last(), r, s, partial)
        assert (values[ends] == results).all()
        _, sums = sash.rolling_by(codes, values, sash.Sum(), r, s, partial)
        wanted = [expected(sash.Sum(), values[codes == code].tolist(), r, s, partial) for code in range(5)]
        assert sums.tolist() == [y for group in wanted for y in group]
        groups = codes[ends].tolist() if len(ends) else []
        assert groups == [code for code, group in enumerate(wanted) for _ in group]

    def test_many_small_groups(self) -> None:
        codes = np.repeat(np.arange(100_000), 3)
        values = np.arange(300_000.0)
        ends, results = sash.rolling_by(codes, values, sash.Mean(), 3)
        assert (results == values[1::3]).all() and (ends == np.arange(2, 300_000, 3)).all()

    def test_what_cannot_be_compiled(self) -> None:
        with pytest.warns(sash.PerformanceWarning, match="a column is of type <U1"):
            ends, results = sash.rolling_by(np.array([0, 1, 0, 1, 1]), np.array(list("abcde")), sash.Concat(), 2)
        assert ends.tolist() == [2, 3, 4] and results.tolist() == ["a,c", "b,d", "d,e"]

    def test_nulls(self) -> None:
        values = MaskedArray([1.0, 2.0, 3.0, 4.0], [False, True, True, True])
        _, results = sash.rolling_by(np.array([0, 0, 1, 1]), values, sash.Max(), 2)
        assert results.tolist() == [1.0, None]

    @pytest.mark.parametrize(("codes", "error", "words"), [
        ([0, -1, 0], ValueError, "codes must not be negative; row 1 has -1"),
        ([0.0, 1.0, 2.0], TypeError, "codes must be whole numbers"),
        ([0, 1], ValueError, "codes and values must be of one length; got 2 and 3"),
        ([0, 1, 10**9], ValueError, "codes must be numbered from 0 on"),
    ])  # fmt: skip
    def test_bad_codes(self, codes: Any, error: type[Exception], words: str) -> None:
        with pytest.raises(error, match=words):
            sash.rolling_by(np.array(codes), np.zeros(3), sash.Max(), 2)
