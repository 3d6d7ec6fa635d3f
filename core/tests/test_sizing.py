"""``sash size``: its formulas against operators that hold what they say, and what it prints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.cli import main
from sash.cli.sizing import Size, size
from sash.cli.sizing.sample import Sample, by_column
from sash.engine.sizes import slice_bytes, slices_a_key
from sash.runtime.operator import KeyedOperator

NEAR = pytest.approx
MINUTE = sash.sliding("1m", "1s")
FLOATS = {"peak": sash.Max("x"), "mean": sash.Mean("x")}
QUERIES = {
    "time": sash.Query(MINUTE, FLOATS, key="k", time="ts"),
    "delay and lateness": sash.Query(
        MINUTE, FLOATS, key="k", time="ts", watermark_delay="10s", allowed_lateness="20s", algorithm="auto"
    ),
    "two windows": sash.Query({"a": MINUTE, "b": sash.sliding("1m", "5s")}, FLOATS, key="k", time="ts"),
    "counts": sash.Query(sash.sliding(256), FLOATS, key="k"),
    "counts by 8": sash.Query(sash.sliding(256, 8), FLOATS, key="k"),
    "one stream": sash.Query(MINUTE, FLOATS, time="ts"),
    "numbers": sash.Query(sash.sliding(50, 1, on="km"), FLOATS, key="k"),
    "a measure of integers": sash.Query(sash.tumbling(40, on="n"), {"n": sash.Count()}, key="k"),
    "arrival": sash.Query(MINUTE, FLOATS, key="k", time=sash.arrival_time),
}
FORMULA = sorted(set(QUERIES) - {"one stream"})


def full(sample: Sample) -> KeyedOperator:
    """An operator in the middle of a sample's stream."""
    operator = KeyedOperator(sample.query, own_watermark=bool(sample.query.orders))
    for table in (*sample.filling(), *sample.batches(0, 1.0, 4)):
        operator.process_batch(table)
    return operator


@pytest.mark.parametrize("rate", [0.2, 2.0, 20.0])
@pytest.mark.parametrize("name", sorted(QUERIES))
def test_the_formula_of_slices_is_what_an_operator_holds(name: str, rate: float) -> None:
    sample = Sample.of(QUERIES[name], 200, rate)
    held = full(sample).metrics["slices_held"] / sample.keys
    assert sample.slices() == NEAR(held, rel=0.25, abs=1.5)


@given(
    st.integers(1, 40),
    st.integers(1, 8),
    st.integers(0, 30),
    st.integers(0, 30),
    st.sampled_from([0.3, 1.0, 5.0]),
)
@settings(max_examples=25, deadline=None)
def test_the_formula_of_slices_on_time(slices: int, slide: int, delay: int, lateness: int, rate: float) -> None:
    window = sash.sliding(f"{slices * slide}s", f"{slide}s")
    late: dict[str, Any] = {"watermark_delay": f"{delay}s", "allowed_lateness": f"{lateness}s"}
    query = sash.Query(window, {"n": sash.Count()}, key="k", time="ts", **late)
    sample = Sample.of(query, 100, rate)
    held = full(sample).metrics["slices_held"] / sample.keys
    assert sample.slices() == NEAR(held, rel=0.25, abs=2.5), "one slice is open, and its windows may close by a batch"


@pytest.mark.parametrize("name", ["time", "delay and lateness", "counts by 8"])
def test_bytes_of_a_slice_bound_the_snapshot_and_are_those_in_memory(name: str) -> None:
    sample = Sample.of(QUERIES[name], 500, 10.0)
    of_slice = slice_bytes(sample.query, by_column(sample.types))
    assert of_slice is not None
    operator = full(sample)
    slices = operator.metrics["slices_held"]
    assert len(operator.snapshot()) < slices * of_slice.saved
    measured, _ = size(sample, seconds=0.1)
    assert measured.held == NEAR(sample.slices() * of_slice.in_memory, rel=0.25)  # type: ignore[operator]


@pytest.mark.parametrize("name", ["time", "counts", "two windows"])
def test_the_state_of_many_keys_follows_from_a_few(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sash.cli.sizing.measured._MOST_ROWS", 100_000)
    sample = Sample.of(QUERIES[name], 2_000, 5.0)
    measured, each = size(sample, seconds=0.1)
    assert measured.keys < 1_000, "they were not all measured"
    operator = full(sample)
    assert each.saved == NEAR(len(operator.snapshot()), rel=0.25)
    assert each.slices == NEAR(operator.metrics["slices_held"], rel=0.25)
    half = Size.of(sample, measured, 1.0, 2)
    assert (half.slices, half.memory, half.results) == NEAR((each.slices / 2, each.memory / 2, each.results / 2))
    assert half.bytes_in == NEAR(each.bytes_in / 2)


def test_results_and_bytes_a_second_are_those_of_the_stream() -> None:
    sample = Sample.of(QUERIES["time"], 100, 10.0)
    _, each = size(sample, seconds=0.1)
    assert each.results == NEAR(100, rel=0.05), "each key has a result a second"
    assert each.bytes_in == NEAR(1000 * (4 + 11 + 8 + 8), rel=0.05), "a text of 11 letters, a time, a number"
    assert each.cores > 0
    assert each.memory > each.held > 0


def test_no_formula_for_windows_that_follow_the_data() -> None:
    query = sash.Query(sash.session("1s"), FLOATS, key="k", time="ts")
    assert slices_a_key(query, query.lanes[0], 1.0) is None
    _, each = size(Sample.of(query, 50, 2.0), seconds=0.1)
    assert each.slices > 0
    assert slice_bytes(sash.Query(MINUTE, {"m": sash.Median("x")}, time="ts"), {"x": "f8"}) is None


TOML = """
key = "plug"
time = "ts"
window = { type = "sliding", range = "10s", slide = "1s" }
aggregates.peak = { function = "Max", columns = "load" }
aggregates.who = { function = "ArgMax", columns = ["load", "house"] }
"""
Ran = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ran(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Ran:
    (tmp_path / "q.toml").write_text(TOML, encoding="utf-8")

    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(["size", str(tmp_path / "q.toml"), "--seconds", "100ms", *arguments])
        except SystemExit as error:
            code = int(error.code or 0)
        return code, *capsys.readouterr()

    return run


def test_the_command_prints_what_is_needed(ran: Ran, tmp_path: Path) -> None:
    rows = {"plug": [7], "ts": [pa.scalar(0, pa.timestamp("ms"))], "load": [5], "house": ["a house with a long name"]}
    pq.write_table(pa.table({name: pa.array(column) for name, column in rows.items()}), tmp_path / "rows.parquet")
    code, out, err = ran("--rate", "10k/s", "--keys", "1k", "--like", str(tmp_path / "rows.parquet"), "--workers", "2")
    assert (code, "measuring" in err) == (0, True)
    lines = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert list(lines) == ["rows", "workers", "state", "memory", "network", "cores", "measured"]
    assert lines["rows"].startswith("10,000 a second, of 1,000 keys; 1,0"), lines
    assert lines["network"].startswith("26"), "kB/s: 5,000 rows of three numbers and 4 + 24 bytes of text"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rate", "fast"], "expected rows by time, such as 100k/s or 2M/h; got 'fast'"),
        (["--rate", "0/s"], "expected rows by time"),
        (["--rate", "1/s", "--keys", "2.5"], "expected a whole number, such as 10000 or 10k; got '2.5'"),
        (["--rate", "1/s", "--every", "0s"], "expected a time above zero"),
        (["--rate", "1/s", "--engine", "storm"], "there is no engine 'storm'"),
        (["--rate", "1/s", "--like", "/nowhere"], "no such file or folder"),
        ([], "the following arguments are required: --rate"),
    ],
)
def test_invalid_usage_is_one_sentence(arguments: list[str], message: str, ran: Ran) -> None:
    code, _, err = ran(*arguments)
    assert (code, message in err) == (2, True), err
