"""Two tiers of kernels: interpreted and compiled ones give the same rows, and few rows do not wait for a compiler."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.kernels import compiled_aggregate, disk_cache, partition, row_passes, tiers
from sash.kernels.compile import infer_kinds
from sash.kernels.inputs import as_columns
from sash.kernels.kinds import NotCompilable, builtin_kinds
from sash.kernels.ranges.aggregate import kernels_or_reason, ranges_aggregate
from sash.kernels.rolling import aggregate as rolling_aggregate
from sash.kernels.rolling import groups

BUILTIN = [
    sash.Count("x"), sash.Sum("x"), sash.Mean("x"), sash.Min("x"), sash.Max("x"), sash.GeometricMean("x"),
    sash.MinCount("x"), sash.MaxCount("x"), sash.SampleStdDev("x"), sash.PopulationStdDev("x"), sash.First("x"),
    sash.Last("x"), sash.M4("x"), sash.ArgMax("x", "y"), sash.ArgMin("x", "y"), sash.Collect("x"), sash.Median("x"),
    sash.SampleVariance("x"), sash.PopulationVariance("x"), sash.Skewness("x"), sash.Kurtosis("x"), sash.Product("x"),
    sash.Covariance("x", "y"), sash.Correlation("x", "y"), sash.Slope("x", "y"), sash.WeightedMean("x", "y"),
    sash.ExponentialMean("x", "y", half_life=3), sash.Any("x"), sash.Mode("x"), sash.ExactDistinctCount("x"),
]  # fmt: skip
HASH = sash.aggregation(
    "x", lift=lambda v: v, combine=lambda a, b: (a * 31 + b) % (2**61 - 1), lower=lambda p: p ^ (p << 7), name="hash"
)
RATIO = sash.aggregation(
    "x",
    lift=lambda v: (v, 1 if v > 0 else 0.5),
    combine=lambda a, b: (a[0] + b[0], min(a[1], b[1])),
    lower=lambda p: p[0] / (p[1] - 1),
    name="ratio",
)


@pytest.fixture
def forgotten() -> Any:
    """Nothing is compiled in this process, as far as the tiers know."""
    _forget()
    yield
    _forget()


def _forget() -> None:
    tiers._kernels.clear()
    compiled_aggregate._inferred.clear()
    kernels_or_reason.cache_clear()
    rolling_aggregate._aggregate.cache_clear()


@pytest.mark.parametrize("aggregation", BUILTIN, ids=lambda aggregation: aggregation.name)
def test_kinds_of_built_in_functions_are_those_that_numba_infers(aggregation: sash.Aggregation) -> None:
    for dtype in map(np.dtype, ("f8", "i8", "i4", "i1", "u8", "u1")):
        takes_tuples = aggregation.arity > 1 and aggregation._lifts_rows
        columnar = [aggregation.columnar(dtype.kind, clean) for clean in (True, False)]
        for functions in [aggregation.sliced(dtype.kind).functions, aggregation.full(dtype.kind), *columnar]:
            if functions is not None:
                shape = ((dtype,) * aggregation.arity, takes_tuples)
                assert _kinds(builtin_kinds, functions, shape) == _kinds(infer_kinds, functions, shape)


def _kinds(infer: Any, functions: Any, shape: Any) -> Any:
    try:
        return infer(functions, *shape)[:3]
    except NotCompilable:
        return None


@settings(max_examples=30)
@given(
    st.lists(st.one_of(st.floats(width=64), st.integers(-4, 4).map(float)), min_size=1, max_size=60),
    st.integers(0, 80),
    st.sampled_from([*BUILTIN[:13], RATIO]),
    st.integers(1, 6),
    st.integers(1, 20),
)
def test_rows_are_the_same_to_the_bit_at_any_threshold(
    values: list[float], rows: int, aggregation: sash.Aggregation, keys: int, size: int
) -> None:
    frame = {"k": np.arange(len(values)) % keys, "x": np.array(values)}
    query = sash.Query(key="k", windows=sash.sliding(size, 1 + size // 3), aggregates={"r": aggregation})
    _assert_same_rows(query, frame, rows)


@settings(max_examples=20)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=40), st.integers(0, 60))
def test_integers_of_users_functions_wrap_around_in_both_tiers(values: list[int], rows: int) -> None:
    query = sash.Query(windows=sash.sliding(5, 2), aggregates={"r": HASH})
    _assert_same_rows(query, {"x": np.array(values, np.int64)}, rows)


def _assert_same_rows(query: sash.Query, frame: dict[str, Any], rows: int) -> None:
    results = []
    for threshold in (0, rows, 1_000_000):
        _forget()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tiers, "COMPILE_ROWS", threshold)
            operator = sash.Operator(query)
            half = len(frame["x"]) // 2
            parts = [{name: column[:half] for name, column in frame.items()}]
            parts += [{name: column[half:] for name, column in frame.items()}]
            results.append([_bits(operator.process_batch(part)) for part in parts])
    assert results[0] == results[1] == results[2]


def _bits(table: Any) -> Any:
    masked: Any = np.ma
    return {
        name: (str(column.dtype), masked.getmaskarray(column).tolist(), _canonical(masked.getdata(column)))
        for name, column in table.items()
    }


def _canonical(column: Any) -> Any:
    """To the bit, but NaN is NaN."""
    if column.dtype.kind != "f":
        return column.tolist()
    return np.where(np.isnan(column), np.nan, column).view(np.int64).tolist()


def test_few_rows_do_not_even_import_numba(tmp_path: Path) -> None:
    program = (
        "import sys, numpy as np, sash\n"
        "aggregates = {'m': sash.Max('x'), 'a': sash.Mean('x')}\n"
        "query = sash.Query(key='k', windows=sash.sliding(16, 1), aggregates=aggregates)\n"
        "frame = {'k': np.arange(1000) % 7, 'x': np.random.default_rng(1).random(1000)}\n"
        "assert len(sash.run(query, frame)['m']) == 1000 - 7 * 15\n"
        "assert len(sash.rolling(frame['x'], sash.Sum(), 10)) == 991\n"
        "print('numba' in sys.modules)"
    )
    assert _run(program, tmp_path) == "False\n"


FIRST_BATCH = """
import sys, numpy as np, sash
rows = 500
frame = {"k": np.arange(rows) % 7, "t": np.arange(rows), "x": np.random.default_rng(1).random(rows)}
aggregates = {"max": sash.Max("x"), "mean": sash.Mean("x"), "median": sash.Median("x")}
for windows in [sash.sliding(16), sash.sliding(60, 10, on="t"), sash.session(5, on="t"), sash.trailing(20, on="t")]:
    query = sash.Query(key="k", windows=windows, aggregates=aggregates)
    assert len(sash.Operator(query).process_batch(frame)["max"]) > 30
    assert sash.Operator(query).process({name: column[0].item() for name, column in frame.items()}) == []
print("numba" in sys.modules)
"""


def test_the_first_batch_and_the_first_row_do_not_even_import_numba(tmp_path: Path) -> None:
    assert _run(FIRST_BATCH, tmp_path) == "False\n"


def test_nothing_is_compiled_with_the_compiler_disabled(tmp_path: Path) -> None:
    program = (
        "import numpy as np, sash\n"
        "from sash.kernels import tiers\n"
        "tiers.COMPILE_ROWS = 0\n"
        "own = sash.aggregation(lift=lambda v: v, combine=max, lower=lambda p: p + 1)\n"
        "print(sash.rolling(np.arange(9.0), own, 3).tolist())\n"
        "print(sash.rolling(np.arange(4, dtype='f4'), sash.Sum(), 2).sum())"
    )
    assert _run(program, tmp_path, NUMBA_DISABLE_JIT="1") == "[3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]\n9.0\n"


OWN = """
import sys, numpy as np, sash
from sash.kernels import tiers
for _ in range(3):
    own = sash.aggregation(lift=lambda v: (v, 2), combine=lambda a, b: (a[0] + b[0], a[1]), lower=lambda p: p[0] * p[1])
    result = sash.rolling(np.arange(6.0), own, 3).tolist()
kernels, = tiers._kernels.values()
stats = kernels.kernels["by_value"].compiled.stats
print(result, len(kernels.kernels["by_value"].compiled.signatures), *map(lambda c: sum(c.values()), stats[1:]))
"""


def test_a_damaged_or_foreign_cache_is_rebuilt_and_fresh_lambdas_share_it(tmp_path: Path) -> None:
    expected = "[6.0, 12.0, 18.0, 24.0] 1"
    compiled, loaded = f"{expected} 0 1\n", f"{expected} 1 0\n"
    assert _run(OWN, tmp_path, SASH_COMPILE_ROWS="0") == compiled
    assert _run(OWN, tmp_path, SASH_COMPILE_ROWS="0") == loaded
    (path,) = (tmp_path / "sash").glob("*by_value.kernel")
    whole = path.read_bytes()
    for damaged in (b"", whole[:-1], whole[:200] + bytes([whole[200] ^ 1]) + whole[201:], b"not a kernel"):
        path.write_bytes(damaged)
        assert _run(OWN, tmp_path, SASH_COMPILE_ROWS="0") == compiled
        assert path.read_bytes()[:14] == whole[:14]
    path.chmod(0o666)  # anyone could have written to it
    assert _run(OWN, tmp_path, SASH_COMPILE_ROWS="0") == compiled


def test_files_of_others_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "some.kernel"
    disk_cache._write(path, b"content")
    assert disk_cache._read(path) == b"content"
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert (disk_cache._read(path) is None) == (os.getuid() != 0)
    link = tmp_path / "link.kernel"
    link.symlink_to(path)
    assert disk_cache._read(link) is None


@pytest.mark.usefixtures("forgotten")
def test_what_is_compiled_is_logged(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "is_on_disk", lambda digest: False)
    monkeypatch.setattr(tiers, "COMPILE_ROWS", 0)
    with caplog.at_level(logging.INFO, "sash"):
        sash.rolling(np.arange(9.0), sash.Max(), 3)
    assert "compiling Max for float64, once on this machine" in caplog.text


def _run(program: str, folder: Path, **variables: str) -> str:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), **variables}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


QUERY = """
window = { type = "sliding", range = 4 }
[aggregates.peak]
function = "Max"
columns = "x"
"""


def test_warm_compiles_ahead(tmp_path: Path) -> None:
    query = tmp_path / "query.toml"
    query.write_text(QUERY, encoding="utf-8")
    program = f"import sys; from sash.cli import main; sys.exit(main(['warm', {str(query)!r}]))"
    assert _run(program, tmp_path) == "Max('x') over float64\nMax('x') over int64\n"
    names = {path.name.partition("-")[2] for path in (tmp_path / "sash").glob("*.kernel")}
    assert {"reduce.kernel", "merge.kernel", "by_value.kernel", "groups_by_slice.kernel"} <= names


@pytest.mark.parametrize("seed", range(20))
def test_passes_by_numpy_give_what_their_loops_give(seed: int) -> None:
    random = np.random.default_rng(seed)
    keys, size = int(random.integers(1, 9)), int(random.integers(1, 200))
    codes, times = random.integers(0, keys, size), random.integers(-20, 40, size)
    edges = np.unique(random.integers(-15, 30, int(random.integers(0, 12))))
    starts = partition.Partition(codes, keys).starts
    places = starts[:-1] + random.integers(0, 3, keys).cumsum()
    values = np.concatenate([np.sort(times[codes == code]) for code in range(keys)])
    sizes = (size, *[(len(edges) + 1) * keys] * 3)
    cases: list[tuple[Any, tuple[Any, ...], list[np.ndarray[Any, Any]]]] = [
        (row_passes._search, (values, starts, random.integers(0, keys, size), times), [np.zeros(size, np.int64)]),
        (partition._count, (codes,), [np.zeros(keys, np.int64)]),
        (partition._scatter, (times, codes, places), [np.zeros(size + 3 * keys, np.int64)]),
        (groups.number_windows, (starts, 2, 3, 5), [np.zeros(size, np.int64), np.zeros(size, np.int64)]),
        (partition._locate_slots, (times, codes, edges, keys), [np.zeros(many, np.int64) for many in sizes]),
    ]  # fmt: skip
    for both, inputs, outputs in cases:
        by_numpy = [array.copy() for array in outputs]
        both._interpreted(*map(np.copy, inputs), *by_numpy)
        both._python(*inputs, *outputs)
        assert [array.tolist() for array in by_numpy] == [array.tolist() for array in outputs], both.__name__


def test_a_compiled_function_of_the_user_raises_with_the_values_that_it_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "COMPILE_ROWS", 0)

    def refuse(a: float, b: float) -> float:
        if b > 5.0:
            raise ValueError("too large", b)
        return a + b

    aggregation = sash.aggregation("x", lift=lambda v: v, combine=refuse, lower=lambda p: p, name="refuse")
    with pytest.raises(ValueError, match="too large") as error:
        sash.rolling(np.arange(10.0), aggregation, 3)
    assert error.value.args == ("too large", 7.0)


def _fresh_query() -> sash.Query:
    own = sash.aggregation("x", lift=lambda v: v, combine=lambda a, b: a + b, lower=lambda p: p * 0.5, name="own")
    return sash.Query(sash.sliding(4), {"own": own})


def test_queries_with_fresh_functions_share_their_kernels(monkeypatch: pytest.MonkeyPatch, forgotten: Any) -> None:
    from numba.core import event

    monkeypatch.setattr(tiers, "COMPILE_ROWS", 0)
    data = {"x": np.arange(50.0)}
    expected = sash.run(_fresh_query(), data)["own"]
    sizes = len(tiers._kernels), len(compiled_aggregate._inferred)
    with event.install_recorder("numba:compile") as recorder:
        for _ in range(200):
            assert np.array_equal(sash.run(_fresh_query(), data)["own"], expected)
    assert not recorder.buffer
    assert (len(tiers._kernels), len(compiled_aggregate._inferred)) == sizes
    assert kernels_or_reason.cache_info().currsize <= 256


LEAK = """
import gc, numpy as np, sash
from pathlib import Path

def run_fresh():
    own = sash.aggregation("x", lift=lambda v: v, combine=lambda a, b: a + b, lower=lambda p: p * 0.5, name="own")
    op = sash.Operator(sash.Query(sash.sliding(4), {"own": own}))
    op.process_batch({"x": np.arange(50.0)})
    op.process({"x": 1.0})

def resident():
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))

for _ in range(50):
    run_fresh()
before = resident()
for _ in range(200):
    run_fresh()
print(resident() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("compile_rows", ["0", "200000"])
def test_queries_with_fresh_functions_do_not_leak(compile_rows: str, tmp_path: Path) -> None:
    kilobytes = int(_run(LEAK, tmp_path, SASH_COMPILE_ROWS=compile_rows))
    assert kilobytes < 20_000  # 0.1 kept 14 MB of each


def test_explain_says_that_kernels_run_as_python_so_far(monkeypatch: pytest.MonkeyPatch, forgotten: Any) -> None:
    monkeypatch.setattr(tiers, "COMPILE_ROWS", 200_000)
    op = sash.Operator(sash.Query(sash.sliding(4), {"max": sash.Max("x")}))
    op.process_batch({"x": np.arange(50.0)})
    assert "compiled   max: yes, once 200,000 rows have come; kernels run as Python so far" in op.explain()


@given(
    st.lists(st.lists(st.floats(width=64), min_size=1, max_size=4), min_size=1, max_size=12),
    st.sampled_from([sash.Max("x"), sash.Sum("x"), sash.Mean("x"), sash.SampleStdDev("x"), sash.PopulationStdDev("x")]),
)
def test_single_partials_are_lowered_at_once_as_one_by_one(
    windows: list[list[float]], aggregation: sash.Aggregation
) -> None:
    form = ranges_aggregate(aggregation, (np.dtype("f8"),))
    values = np.array([value for window in windows for value in window])
    starts = np.cumsum([0, *map(len, windows)])
    partials = form.reduce(as_columns(aggregation, (values,), None), starts)
    which = np.arange(len(windows))
    at_once = form.totals(partials, which, which + 1)
    nothing = form.empty(1)  # among which kernels look at each
    together = tuple(np.concatenate(arrays) for arrays in zip(partials, nothing, strict=True))
    one_by_one = form.totals(together, which, which + 1)
    assert _canonical(at_once.results) == _canonical(one_by_one.results)
    nulls = [np.zeros(len(windows)) if totals.nulls is None else totals.nulls for totals in (at_once, one_by_one)]
    assert (nulls[0] == nulls[1]).all()
    assert at_once.merges == one_by_one.merges == 0


@given(st.lists(st.integers(0, 6), min_size=1, max_size=12))
def test_starts_of_groups_are_the_same_in_both_tiers(codes: list[int]) -> None:
    array, starts = np.array(codes), [np.empty(codes[-1] + 2, np.int64) for _ in range(2)]
    fill = groups._fill_starts
    ascend = [fill._interpreted(array, starts[0]), fill._python(array, starts[1])]
    assert ascend == [codes == sorted(codes)] * 2
    if ascend[0]:
        assert starts[0].tolist() == starts[1].tolist() == np.searchsorted(array, np.arange(codes[-1] + 2)).tolist()
