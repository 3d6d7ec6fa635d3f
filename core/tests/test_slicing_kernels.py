"""Kernels of slices, compiled and in Python, against the fold of rows that defines them."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from catalogue import BOOLEANS, CASES, INTEGERS, SKETCHES, Case, marks_of, same
from sash.kernels.fallback import PythonAggregate
from sash.kernels.inputs import InputColumns, as_columns
from sash.kernels.kinds import NotCompilable
from sash.kernels.ranges.aggregate import kernels_or_reason, ranges_aggregate
from sash.kernels.ranges.partials import SHORT, assign, by_level, one_level, slides, take
from sash.testing import Counted
from sash.values.columns import PartialColumn

pytestmark = pytest.mark.usefixtures("compile_at_once")

FLOAT = np.dtype(np.float64)
INT = np.dtype(np.int64)
COMPILED = {
    "Count", "Sum", "Min", "Max", "Mean", "GeometricMean", "MinCount", "MaxCount", "SampleStdDev", "PopulationStdDev",
    "ArgMin", "ArgMax", "First", "Last", "M4", "spread", "matrix_product", "SampleVariance", "PopulationVariance",
    "Skewness", "Kurtosis", "Covariance", "Correlation", "Slope", "WeightedMean", "ExponentialMean", "Product", "Any",
    "All",
}  # fmt: skip

Rows = list[Any]


def numeric(case: Case, rows: Rows) -> tuple[Rows, InputColumns]:
    """Rows as numbers of one type, which a column can hold, and the columns of them."""
    if case.aggregation.carried:
        rows = [(None if a is None else float(a), ord(b)) for a, b in rows]
        measures = np.array([math.nan if a is None else a for a, _ in rows])
        arrays: tuple[Any, ...] = (measures, np.array([b for _, b in rows], np.int64))
        nulls = [a is None for a, _ in rows]
    elif case.aggregation.arity == 2:
        rows = [tuple([None if value is None else float(value) for value in row]) for row in rows]
        arrays = tuple(np.array([math.nan if x is None else x for x in part]) for part in zip(*rows, strict=True))
        nulls = [None in row for row in rows]
    elif case.aggregation.lifts_booleans and case.values is BOOLEANS:
        arrays = (np.array([bool(row) for row in rows]),)
        nulls = [row is None for row in rows]
    else:
        rows = [None if row is None else float(row) for row in rows]
        arrays = (np.array([math.nan if row is None else row for row in rows], np.float64),)
        nulls = [row is None for row in rows]
    return rows, as_columns(case.aggregation, arrays, np.array(nulls, bool))


def objects(rows: Rows, arity: int) -> InputColumns:
    """Rows in columns of objects."""
    parts = [rows] if arity == 1 else [list(part) for part in zip(*rows, strict=True)] or [[], []]
    arrays = []
    for part in parts:
        array = np.empty(len(part), object)
        array[:] = part
        arrays.append(array)
    return InputColumns(tuple(arrays), None, None)


def prepared(case: Case, rows: Rows, compiled: bool) -> tuple[Any, Rows, InputColumns]:
    if not compiled:
        return PythonAggregate(case.aggregation), rows, objects(rows, case.aggregation.arity)
    rows, columns = numeric(case, rows)
    return ranges_aggregate(case.aggregation, columns.dtypes), rows, columns


def folded(aggregation: sash.Aggregation, partials: Rows) -> Any:
    return reduce(aggregation.combine, partials, None)


def results_of(totals: Any, fields: bool) -> Rows:
    """Results as a list with None for nulls."""
    rows = list(zip(*(part.tolist() for part in totals.results), strict=True)) if fields else totals.results.tolist()
    return (
        rows if totals.nulls is None else [None if null else row for row, null in zip(rows, totals.nulls, strict=True)]
    )


def plain(result: Any) -> Any:
    return tuple(result) if isinstance(result, tuple) else result


def cut(data: st.DataObject, size: int) -> list[int]:
    """Starts of segments, ending with the size."""
    inner = data.draw(st.sets(st.integers(1, size - 1), max_size=12)) if size > 1 else set()
    return sorted({0, size, *inner})


def ranges(data: st.DataObject, size: int) -> tuple[Any, Any]:
    pairs = data.draw(st.lists(st.tuples(st.integers(0, size - 1), st.integers(1, size)), max_size=25))
    lo = [min(a, b - 1) for a, b in pairs]
    hi = [max(a + 1, b) for a, b in pairs]
    if data.draw(st.booleans()):
        lo, hi = sorted(lo), sorted(hi)
    return np.array(lo, np.int64), np.array(hi, np.int64)


EVERY = [pytest.param(case, False) for case in CASES + SKETCHES] + [
    pytest.param(case, True, marks=marks_of(case.aggregation)) for case in CASES if case.aggregation.name in COMPILED
]
every = pytest.mark.parametrize(("case", "compiled"), EVERY, ids=lambda x: str(x) if isinstance(x, Case) else "CP"[x])


@every
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_it_is_the_fold_of_rows(case: Case, compiled: bool, data: st.DataObject) -> None:
    aggregation = case.aggregation
    rows = data.draw(st.lists(case.values, min_size=1, max_size=70))
    form, rows, columns = prepared(case, rows, compiled)
    assert form.compiled == compiled
    starts = cut(data, len(rows))
    wanted = [folded(aggregation, [aggregation.lift(row) for row in rows[a:b]]) for a, b in pairwise(starts)]

    def agree(partials: Rows, expected: Rows) -> bool:
        if case.exact:
            return all(map(same, partials, expected))
        if case in SKETCHES:  # what is estimated of totals magnifies their roundings
            return all(map(case.equal, partials, expected))
        return all(
            case.equal(aggregation.lower(a), aggregation.lower(b)) for a, b in zip(partials, expected, strict=True)
        )

    partials = form.reduce(columns, np.array(starts))
    assert agree(form.to_column(partials).to_list(), wanted)

    slots = np.repeat(np.arange(len(wanted)) * 2, np.diff(starts))
    scattered = form.to_column(form.scatter(columns, slots, 2 * len(wanted))).to_list()
    assert agree(scattered[::2], wanted) and set(scattered[1::2]) == {None}

    merged = form.merge(take(partials, slice(None, -1)), take(partials, slice(1, None)))
    assert agree(form.to_column(merged).to_list(), [aggregation.combine(a, b) for a, b in pairwise(wanted)])

    lo, hi = ranges(data, len(wanted))
    results = results_of(form.totals(partials, lo, hi), bool(aggregation.fields))
    expected = [aggregation.lower(folded(aggregation, wanted[a:b])) for a, b in zip(lo, hi, strict=True)]
    assert len(results) == len(expected)
    if case not in SKETCHES:
        assert all(case.equal(a, plain(b)) for a, b in zip(results, expected, strict=True))

    kept = form.to_column(form.partials(partials, lo, hi)).to_list()
    assert agree(kept, [folded(aggregation, wanted[a:b]) for a, b in zip(lo, hi, strict=True)])

    begins = np.array([data.draw(st.booleans()) for _ in wanted])
    begins[0] = True
    running = form.to_column(form.accumulate(partials, begins)).to_list()
    firsts = [int(np.flatnonzero(begins[: at + 1])[-1]) for at in range(len(wanted))]
    assert agree(running, [folded(aggregation, wanted[first : at + 1]) for at, first in enumerate(firsts)])

    back = form.from_column(PartialColumn.of(wanted))
    assert agree(form.to_column(tuple(map(np.append, back, form.empty(1)))).to_list(), [*wanted, None])


DIGITS = sash.aggregation(
    lift=lambda v: (int(v) % 10, 10),
    combine=lambda a, b: ((a[0] * b[1] + b[0]) % 1000003, a[1] * b[1] % 1000003),
    lower=lambda p: p[0],
    name="digits",
)


class TestRanges:
    """What totals costs, and that no order of ranges is too wild."""

    @settings(max_examples=150, deadline=None)
    @given(data=st.data())
    def test_any_ranges_in_any_order(self, data: st.DataObject) -> None:
        size = data.draw(st.integers(1, 120))
        values = np.arange(size) * 7 % 10
        lo, hi = ranges(data, size)
        form = ranges_aggregate(DIGITS, (INT,))
        totals = form.totals(form.reduce(as_columns(DIGITS, (values,), None), np.arange(size + 1)), lo, hi)
        lifted = [DIGITS.lift(value) for value in values.tolist()]
        assert totals.results.tolist() == [folded(DIGITS, lifted[a:b])[0] for a, b in zip(lo, hi, strict=True)]
        counted = Counted(sash.Collect())
        collect = PythonAggregate(counted)
        partials = collect.reduce(InputColumns((values,), None, None), np.arange(size + 1))
        before = counted.calls
        lists = collect.totals(partials, lo, hi)
        assert lists.results.tolist() == [values[a:b].tolist() for a, b in zip(lo, hi, strict=True)]
        assert lists.merges == counted.calls - before
        if one_level(lo, hi) is None and slides(lo, hi):  # by two stacks: each slice goes through both at most
            assert totals.merges <= len(lo) + 2 * size
        else:
            assert totals.merges == lists.merges
        levels = [level for level, _ in by_level(lo, hi) if level > SHORT]
        assert lists.merges <= 2 * len(lo) + 2 * size * len(levels)

    @pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 100, 127, 128, 129])
    def test_windows_that_slide_take_four_merges_at_most(self, n: int) -> None:
        size = 1000
        lo = np.arange(size - n + 1)
        form = ranges_aggregate(DIGITS, (INT,))
        partials = form.reduce(as_columns(DIGITS, (np.arange(size),), None), np.arange(size + 1))
        assert form.totals(partials, lo, lo + n).merges <= 4 * len(lo) + 2 * n

    @given(st.integers(0, 300), st.integers(1, 300))
    @settings(deadline=None)
    def test_a_range_that_is_alone_costs_what_its_slices_do(self, lo: int, n: int) -> None:
        form = ranges_aggregate(DIGITS, (INT,))
        partials = form.reduce(as_columns(DIGITS, (np.arange(lo + n),), None), np.arange(lo + n + 1))
        assert form.totals(partials, np.array([lo]), np.array([lo + n])).merges == n - 1

    def test_many_keys_and_lengths_at_once(self) -> None:
        rng = np.random.default_rng(4)
        starts = np.cumsum([0, *rng.integers(1, 300, 200)])
        key = rng.integers(0, 200, 5000)
        a, b = (starts[key] + (rng.random(5000) * (starts[key + 1] - starts[key])).astype(int) for _ in range(2))
        lo, hi = np.minimum(a, b), np.maximum(a, b) + 1
        values = rng.random(starts[-1])
        form = ranges_aggregate(sash.Max(), (FLOAT,))
        partials = form.reduce(as_columns(sash.Max(), (values,), None), np.arange(len(values) + 1))
        wanted = [values[i:j].max() for i, j in zip(lo, hi, strict=True)]
        assert form.totals(partials, lo, hi).results.tolist() == wanted

    def test_no_ranges_and_no_slices(self) -> None:
        none = np.array([], np.int64)
        for form in (ranges_aggregate(sash.M4(), (FLOAT,)), PythonAggregate(sash.M4())):
            totals = form.totals(form.empty(0), none, none)
            assert [len(part) for part in totals.results] == [0] * 4 and totals.merges == 0
            assert form.reduce(InputColumns((np.array([]),), None, None), np.array([0]))[0].tolist() == []
            assert len(form.merge(form.empty(0), form.empty(0))[0]) == 0


def reduced(aggregation: sash.Aggregation, column: Any, mask: Any = None) -> tuple[Any, Any]:
    """(its form, a partial for each row)."""
    form = ranges_aggregate(aggregation, (column.dtype,))
    return form, form.reduce(as_columns(aggregation, (column,), mask), np.arange(len(column) + 1))


def over_all(form: Any, partials: Any) -> Any:
    return form.totals(partials, np.array([0]), np.array([len(partials[0])]))


class TestTypes:
    @pytest.mark.parametrize("dtype", [*INTEGERS, np.float32, np.float16, np.bool_])
    def test_partials_are_those_of_rows_and_results_those_of_rolling(self, dtype: Any) -> None:
        column = np.array([0, 1, 1, 0, 1] if dtype == np.bool_ else [3, 1, 4, 1, 5]).astype(dtype)
        for aggregation in (sash.Max(), sash.Sum(), sash.Mean(), sash.MinCount(), sash.First(), sash.Count("x")):
            form, partials = reduced(aggregation, column)
            merged = form.merge(partials, partials)
            lifted = [aggregation.lift(value) for value in column.tolist()]
            rows = form.to_column(merged).to_list()
            assert all(map(same, rows, [aggregation.combine(partial, partial) for partial in lifted])), aggregation
            result = over_all(form, partials).results
            wanted = sash.rolling(column, aggregation, 5)
            assert result.tolist() == wanted.tolist()
            assert result.dtype == wanted.dtype or aggregation.result_column is None

    @pytest.mark.parametrize("dtype", INTEGERS)
    def test_integer_sums_are_widened_or_refused_never_wrong(self, dtype: Any) -> None:
        top, bottom = int(np.iinfo(dtype).max), int(np.iinfo(dtype).min)
        column = np.array([top, top, bottom, top, bottom, bottom], dtype)
        values = column.tolist()
        form, partials = reduced(sash.Sum(), column)
        windows = [(2, 3), (1, 3), (1, 4)] if np.dtype(dtype).itemsize == 8 else [(0, 1), (0, 2), (0, 6)]
        windows = [(a, b) for a, b in windows if sum(values[a:b]) in range(bottom, top + 1) or top < 1 << 62]
        lo, hi = np.array(windows).T
        assert form.totals(partials, lo, hi).results.tolist() == [sum(values[a:b]) for a, b in windows]
        if np.dtype(dtype).itemsize == 8:
            with pytest.raises(OverflowError, match=rf"Sum\(\): result 1 of this call does not fit {np.dtype(dtype)}"):
                form.totals(partials, np.array([1, 0]), np.array([3, 2]))
        twice = form.merge(partials, partials)
        rows = form.to_column(twice).to_list()
        assert rows == [(2 * value, 0, 0, 0, 0) for value in values]
        back = form.from_column(form.to_column(twice))
        assert form.to_column(back).to_list() == rows
        mean, means = reduced(sash.Mean(), column)
        assert mean.to_column(mean.merge(means, means)).to_list() == [(2, 2 * value, 0, 0, 0, 0) for value in values]
        assert mean.from_column(mean.to_column(means))[0].all()
        assert over_all(mean, means).results[0] == pytest.approx(sum(values) / 6, rel=1e-12, abs=1e-9 * top)

    def test_timestamps(self) -> None:
        days = np.array(["2024-01-03", "NaT", "2024-01-01", "2024-01-02"], "M8[ns]")
        form, partials = reduced(sash.Max(), days)
        assert form.to_column(partials).valid.tolist() == [True, False, True, True]
        totals = form.totals(partials, np.array([0, 1, 1]), np.array([4, 4, 2]))
        assert totals.results.dtype == days.dtype and totals.results[:2].tolist() == days[[0, 3]].tolist()
        assert totals.nulls.tolist() == [False, False, True]
        slow = PythonAggregate(sash.Max(), (days.dtype,))
        rows = slow.reduce(as_columns(sash.Max(), (days,), None), np.arange(5))
        assert slow.totals(rows, np.array([0]), np.array([4])).results.tolist() == days[:1].tolist()
        with pytest.raises(NotCompilable, match=r"a column is of type datetime64\[ns\], not of numbers"):
            ranges_aggregate(sash.Mean(), (days.dtype,))

    def test_the_compiler_is_asked_once_about_what_it_cannot_compile(self) -> None:
        collect, before = sash.Collect(), kernels_or_reason.cache_info().misses
        for _ in range(3):
            with pytest.raises(NotCompilable, match="combine does not return a partial of the type"):
                ranges_aggregate(collect, (INT,))
        assert kernels_or_reason.cache_info().misses == before + 1

    def test_uint64_beyond_int64_is_kept_as_objects(self) -> None:
        column = np.array([3, 1 << 63, 5], np.uint64)
        form, partials = reduced(sash.Max(), column)
        rows = form.to_column(partials)
        assert rows.objects == [3, 1 << 63, 5]
        assert [array.tolist() for array in form.from_column(rows)] == [array.tolist() for array in partials]

    def test_a_mixture_of_whole_numbers_and_floats_in_a_lambda(self) -> None:
        own = sash.aggregation(lift=lambda v: (1, v), combine=lambda a, b: (a[0] + b[0], a[1] / 2 + b[1] / 2))
        form, partials = reduced(own, np.array([4, 8, 16]))
        assert form.to_column(partials).shape == ("q", "d")
        assert form.to_column(form.merge(partials, partials)).to_list() == [(2, 4.0), (2, 8.0), (2, 16.0)]

    def test_several_columns(self) -> None:
        weighted = sash.aggregation(
            ["price", "amount"],
            lift=lambda price, amount: (price * amount, amount),
            combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
            lower=lambda p: p[0] / p[1],
        )
        columns = as_columns(weighted, (np.array([2.0, 4.0, 1.0]), np.array([1, 3, 1])), [False, False, True])
        form = ranges_aggregate(weighted, columns.dtypes)
        assert over_all(form, form.reduce(columns, np.array([0, 3]))).results.tolist() == [3.5]
        assert form.scatter(columns, np.array([0, 0, 1]), 2)[0].tolist() == [True, False]

    def test_rows_are_counted_without_a_column(self) -> None:
        for form in (ranges_aggregate(sash.Count(), ()), PythonAggregate(sash.Count())):
            bare = InputColumns((), None, None)
            partials = form.reduce(bare, np.array([0, 2, 3]))
            assert form.to_column(partials).to_list() == [2, 1]
            assert form.to_column(form.scatter(bare, np.array([1, 1]), 3)).to_list() == [None, 2, None]
            empty = form.totals(form.empty(1), np.array([0]), np.array([1]))
            assert empty.results.tolist() == [0] and empty.nulls is None

    def test_layouts(self) -> None:
        base = np.random.default_rng(3).random(3000)
        frozen = base.copy()
        frozen.flags.writeable = False
        starts = np.array([0, 400, 1000])
        starts.flags.writeable = False
        for view in (base[::3], base[::-1], frozen, base.astype(">f8")):
            aggregation = sash.Max()
            form = ranges_aggregate(aggregation, (view.dtype,))
            partials = form.reduce(as_columns(aggregation, (view[:1000],), None), starts)
            assert partials[1].tolist() == [view[:400].max(), view[400:1000].max()]
            assert over_all(form, take(partials, slice(None, None, -1))).results[0] == view[:1000].max()

    def test_results_that_are_tuples(self) -> None:
        nested = sash.aggregation(lift=lambda v: v, combine=max, lower=lambda v: (v, (v > 1, 0.5)), empty=())
        form, partials = reduced(nested, np.array([1, 2, 9]), [False, False, True])
        totals = form.totals(partials, np.array([0, 0, 2]), np.array([1, 2, 3]))
        assert totals.results.tolist() == [(1, (False, 0.5)), (2, (True, 0.5)), ()] and totals.nulls is None

    def test_assign(self) -> None:
        form, partials = reduced(sash.Mean(), np.array([1.0, 2.0, 3.0]))
        assign(partials, np.array([2, 0]), take(partials, np.array([0, 1])))
        assert form.to_column(partials).arrays[1].tolist() == [2.0, 2.0, 1.0]


class Named(NamedTuple):
    only: float


class TestFallback:
    @pytest.mark.parametrize(
        ("aggregation", "dtype", "reason"),
        [
            (sash.Max(), "O", "a column is of type object"),
            (sash.Concat(), "U1", "a column is of type <U1"),
            (sash.Collect(), "i8", "combine does not return a partial of the type"),
            (sash.Median(), "f8", "is not a plain function"),
            (sash.MomentSketch(), "f8", "is not a plain function"),
            (sash.aggregation(lift=lambda v: {v: 1}, combine=lambda a, b: {**a, **b}, lower=len), "i8", ""),
            (sash.aggregation(lift=Named, combine=lambda a, b: a), "i8", ""),
            (sash.aggregation(lift=float, combine=max, lower=lambda v: Named(v + 1)), "i8", "is a named tuple"),
        ],
        ids=lambda x: getattr(x, "name", ""),
    )
    def test_what_cannot_be_compiled_says_why(self, aggregation: sash.Aggregation, dtype: str, reason: str) -> None:
        with pytest.raises(NotCompilable) as raised:
            ranges_aggregate(aggregation, (np.dtype(dtype),))
        assert reason in str(raised.value) and "\n" not in str(raised.value)

    def test_partials_that_columns_cannot_hold(self) -> None:
        whole, floats = ranges_aggregate(sash.Sum(), (INT,)), ranges_aggregate(sash.Sum(), (FLOAT,))
        refused: list[tuple[Any, Rows]] = [
            (whole, [(1.5, 0.0, 0, 0, 0)]),
            (whole, [(0, 0, 1, 0, 0)]),
            (whole, [(1 << 100, 0, 0, 0, 0)]),
            (whole, [3]),
            (floats, [((1 << 53) + 1, 0, 0, 0, 0)]),
            (floats, ["abc"]),
            (floats, [(1.0, 0.0, 0, 0)]),
            (ranges_aggregate(sash.Max(), (INT,)), ["abc"]),
            (ranges_aggregate(sash.Max(), (INT,)), [1.5]),
        ]
        for form, rows in refused:
            with pytest.raises(NotCompilable, match="do not fit"):
                form.from_column(PartialColumn.of(rows))
        mixed = PartialColumn.of([(0, 0, 1, 0, 0), None, (1.5, 0.0, 0, 0, 0), (True, 0, 0, 0, 0)])
        assert mixed.objects is not None
        assert floats.to_column(floats.from_column(mixed)).to_list() == mixed.to_list()

    def test_results_in_python(self) -> None:
        form = PythonAggregate(sash.SampleStdDev())
        partials = form.reduce(InputColumns((np.array([1.0, 3.0, 5.0]),), None, None), np.array([0, 1, 3]))
        totals = form.totals(partials, np.array([0, 1]), np.array([1, 2]))
        assert totals.nulls is not None and totals.nulls.tolist() == [True, False]
        assert totals.results.dtype == FLOAT and totals.results[1] == 2**0.5
        huge = PythonAggregate(sash.Sum())
        sums = huge.reduce(InputColumns((np.array([1 << 62] * 4),), None, None), np.array([0, 4]))
        assert over_all(huge, sums).results.tolist() == [1 << 64]


class TestColumn:
    NUMBER = st.one_of(st.integers(-(1 << 63), (1 << 63) - 1), st.floats(), st.booleans())

    @settings(max_examples=200)
    @given(data=st.data())
    def test_it_gives_back_what_it_was_made_of(self, data: st.DataObject) -> None:
        leaf = st.sampled_from([st.integers(-5, 5), st.floats(), st.booleans(), st.integers(), self.NUMBER])
        parts = data.draw(st.lists(leaf, max_size=3))
        shapes = [st.tuples(*parts), st.tuples(st.tuples(*parts), data.draw(leaf)), data.draw(leaf), st.text()]
        shape = data.draw(st.sampled_from(shapes))
        rows = data.draw(st.lists(st.one_of(st.none(), shape), max_size=12))
        column = PartialColumn.of(rows)
        assert repr(column.to_list()) == repr(rows) and len(column) == len(rows)
        at = data.draw(st.integers(0, len(rows)))
        assert repr(column[:at].to_list()) == repr(rows[:at])
        mask = np.arange(len(rows)) % 2 == 0
        assert repr(column[mask].to_list()) == repr(rows[::2])
        assert repr(column[np.flatnonzero(mask)].to_list()) == repr(rows[::2])
        joint = PartialColumn.concatenate([column[:at], PartialColumn.of([None]), column[at:]])
        assert repr(joint.to_list()) == repr([*rows[:at], None, *rows[at:]])
        assert column == PartialColumn.of(rows) or any(row != row for row in rows)

    @pytest.mark.parametrize(("rows", "shape"), [
        ([1, 2], "q"),
        ([1.0, None], "d"),
        ([True], "?"),
        ([(1, (2.0, False)), (3, (0.5, True))], ("q", ("d", "?"))),
        ([(), ()], ()),
        ([1, 2.0], None),
        ([True, 1], None),
        ([1 << 63], None),
        ([(1,), (1, 2)], None),
        ([sash.M4().lower((1, 2, 3, 4))], None),
        ([[1], [2]], None),
        ([None], None),
        ([], None),
    ])  # fmt: skip
    def test_shapes(self, rows: Rows, shape: Any) -> None:
        assert PartialColumn.of(rows).shape == shape

    def test_concatenation_of_different_shapes(self) -> None:
        joint = PartialColumn.concatenate([PartialColumn.of([1]), PartialColumn.of([2.5]), PartialColumn.of(["a"])])
        assert joint.to_list() == [1, 2.5, "a"]
        assert PartialColumn.concatenate([]).to_list() == []

    def test_equality_is_to_the_bit(self) -> None:
        assert PartialColumn.of([math.nan, None]) == PartialColumn.of([math.nan, None])
        assert PartialColumn.of([0.0]) != PartialColumn.of([-0.0])
        assert PartialColumn.of([1]) != PartialColumn.of([1.0])
        assert PartialColumn.of([1]) != [1]
        assert PartialColumn.of(["a"]) == PartialColumn.of(["a"])


def test_what_is_compiled_is_kept_for_other_processes(tmp_path: Path) -> None:
    program = (
        "import numpy as np, sash\n"
        "from sash.kernels.inputs import InputColumns\n"
        "from sash.kernels.ranges.aggregate import ranges_aggregate\n"
        "form = ranges_aggregate(sash.Max('x'), (np.dtype('f8'),))\n"
        "form.reduce(InputColumns((np.arange(9.0),), None, None), np.array([0, 9]))\n"
        "assert form.cached and form.seconds > 0 and form.kernels.kernels['totals'].compiled is None\n"
        "assert ranges_aggregate(sash.Max('y'), (np.dtype('f8'),)).kernels is form.kernels\n"
        "stats = form.kernels.kernels['reduce'].compiled.stats\n"
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
