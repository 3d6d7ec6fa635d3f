"""What ``explain`` says is what runs, however Python was started."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest

import sash
from sash import aggregators
from sash.aggregators.pba import SharedChunk
from sash.engine.explain import MERGES
from sash.engine.planner import Reason, plan


def ask(windows: Any, **changes: Any) -> sash.Query:
    return sash.Query(windows=windows, **{"aggregates": {"peak": sash.Max("x")}} | changes)


def chunk_lengths(text: str) -> set[int]:
    """The lengths of chunks that the lines ``chunks`` name."""
    return {int(length) for length in re.findall(r"^chunks +(?:\w+: )?(\d+) slices", text, re.MULTILINE)}


@pytest.mark.parametrize("algorithm", ["auto", "daba", "fiba", "lazy", "pba"])
def test_without_docstrings_it_says_the_same(algorithm: str) -> None:
    code = "import sash; q = sash.Query(windows=sash.sliding(16), aggregates={'peak': sash.Max('x')}, algorithm=%r)\n"
    code = code % algorithm + "print(sash.explain(q))"
    shown = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == sash.explain(ask(sash.sliding(16), algorithm=algorithm))


def test_the_costs_are_those_of_the_table() -> None:
    rows = [line.split("|") for line in (aggregators.__doc__ or "").splitlines() if line.startswith("| ")]
    table = {row[1].strip(): row[2].strip() for row in rows[2:]}
    assert {name: cost for name, cost in table.items() if name in MERGES} == MERGES
    assert set(table) - set(MERGES) == {"SBA", "PBA"}


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sash.aggregators.pba.available_cores", lambda: 2)


@pytest.mark.parametrize(
    "windows",
    [sash.sliding(700), {"long": sash.sliding(700), "short": sash.sliding(300)}],
    ids=["one", "several"],
)
def test_the_chunks_are_those_that_are_used(windows: Any, two_cores: None, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = set()

    class Counted(SharedChunk):
        def __init__(self, combine: Any, saa: list[Any], whole: Any, pool: Any) -> None:
            lengths.add(len(saa))
            super().__init__(combine, saa, whole, pool)

    monkeypatch.setattr("sash.engine.rows.aggregate_store.SharedChunk", Counted)
    native = sash.aggregation("x", lift=float, combine=max, releases_gil=True)
    query = ask(windows, aggregates={"peak": native})
    op = sash.Operator(query)
    for x in range(3000):
        op.process({"x": x})
    assert chunk_lengths(sash.explain(query)) == lengths
    assert "second thread" in sash.explain(query)


def test_chunks_of_one_thread() -> None:
    windows = {"a": sash.sliding(700), "b": sash.sliding(300), "c": sash.sliding(260), "d": sash.sliding(1)}
    assert chunk_lengths(sash.explain(ask(windows, algorithm="sba"))) == {256, 128}
    assert chunk_lengths(sash.explain(ask(sash.sliding(16), algorithm="daba"))) == set()


def test_a_plan_is_facts(two_cores: None) -> None:
    native = sash.aggregation("x", lift=float, combine=max, releases_gil=True)
    (lane,) = plan(ask(sash.sliding(10_000, 3), aggregates={"peak": native})).lanes
    assert (lane.algorithm, lane.reason, lane.asked, lane.chunks) == ("PBA", Reason.SECOND_THREAD, False, {None: 1667})
    (lane,) = plan(ask(sash.sliding(16))).lanes
    assert (lane.algorithm, lane.reason, lane.chunks) == ("SBA", Reason.NO_SECOND_THREAD, {None: 8})
    (lane,) = plan(ask(sash.sliding(16), algorithm="pba")).lanes
    assert (lane.algorithm, lane.reason, lane.asked) == ("PBA", Reason.NO_SECOND_THREAD, True)
    (lane,) = plan(ask(sash.sliding(16), algorithm="daba")).lanes
    assert (lane.algorithm, lane.reason, lane.chunks) == ("DABA", Reason.ASKED, {})
