"""What ``explain`` says is what runs, however Python was started."""

from __future__ import annotations

import html
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
    code = code % algorithm + "print(sash.explain(q, verbose=True))"
    shown = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == sash.explain(ask(sash.sliding(16), algorithm=algorithm), verbose=True)


def test_the_costs_are_those_of_the_table() -> None:
    rows = [line.split("|") for line in (aggregators.__doc__ or "").splitlines() if line.startswith("| ")]
    table = {row[1].strip(): row[2].strip() for row in rows[2:]}
    assert {name: cost for name, cost in table.items() if name in MERGES} == MERGES
    assert set(table) - set(MERGES) == {"SBA", "PBA"}


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sash.aggregators.pba.available_cores", lambda: 2)
    monkeypatch.setattr("sash.aggregators.pba.handover_ns", lambda: 50_000)


NATIVE = sash.aggregation("x", lift=float, combine=max, releases_gil=True)


def lengths_used(query: sash.Query, monkeypatch: pytest.MonkeyPatch, rows: int) -> set[int]:
    """The lengths of the chunks that second threads are given, once windows are full."""
    lengths: list[int] = []

    class Counted(SharedChunk):
        def __init__(self, combine: Any, saa: list[Any], whole: Any, pool: Any) -> None:
            lengths.append(len(saa))
            super().__init__(combine, saa, whole, pool)

    monkeypatch.setattr("sash.engine.rows.aggregate_store.SharedChunk", Counted)
    op = sash.Operator(query)
    for x in range(rows):
        if x == rows // 2:
            lengths.clear()
        op.process({"x": x, "ts": x})
    return set(lengths)


MILLISECONDS = {"time": "ts", "time_unit": "ms"}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (ask(sash.sliding(700)), {sash.optimal_chunk(700)}),
        (ask(sash.sliding(900, 3)), {sash.optimal_chunk(900, 3)}),
        (ask({"long": sash.sliding(700), "short": sash.sliding(300)}), {256, 128}),
        (ask(sash.sliding("700ms", "1ms"), combine_time="1us", **MILLISECONDS), {700}),
        (
            ask(sash.sliding("700ms", "1ms"), combine_time="100us", **MILLISECONDS),
            {sash.optimal_chunk_time("700ms", "1ms", "100us")},
        ),
        (ask(sash.sliding("700ms", "1ms"), combine_time="10s", **MILLISECONDS), {351}),
        (ask(sash.sliding(700, on="ts")), {sash.optimal_chunk(700)}),
    ],
    ids=["count", "slide", "several", "quick merges", "slower merges", "slow merges", "measure"],
)
def test_the_chunks_are_those_that_are_used(
    query: sash.Query, expected: set[int], two_cores: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = query.using(aggregates={"peak": NATIVE})
    shown = sash.explain(query, verbose=True)
    assert chunk_lengths(shown) == expected
    assert lengths_used(query, monkeypatch, 6000) == expected
    assert "second thread helps" in shown


def test_chunks_of_windows_that_are_cut_where_they_end(two_cores: None, monkeypatch: pytest.MonkeyPatch) -> None:
    query = ask(sash.sliding(901, 3), aggregates={"peak": NATIVE})
    best = sash.optimal_chunk(901, 3)
    assert chunk_lengths(sash.explain(query, verbose=True)) == {best}
    assert lengths_used(query, monkeypatch, 9000) == {best}
    one_thread = ask(sash.sliding(901, 3), algorithm="sba")
    assert chunk_lengths(sash.explain(one_thread, verbose=True)) == {256}  # of 601 slices


def test_the_numbers_of_the_theorems_are_shown() -> None:
    hour = sash.Query(sash.sliding("1h", "1s"), {"m": sash.Max("x")}, time="ts")
    assert "Theorem 1 with n = 1024, m = 0, s = 10: b* = 931" in sash.explain(
        ask(sash.sliding(10240, 10)), verbose=True
    )
    given = sash.explain(hour.using(combine_time="2us"), verbose=True)
    assert "Theorem 2 with n = 3600, m = 0s, s = 1s, T = 2us (given): b* = 3600" in given
    assert re.search(r"T = \w+ \(measured\): b\* = 3600", sash.explain(hour, verbose=True))
    own = sash.aggregation("x", lift=float, combine=max)
    assert "T = 1us (assumed)" in sash.explain(hour.using(aggregates={"m": own}), verbose=True)
    slow = sash.explain(hour.using(windows=sash.sliding("1h 1s", "2s"), combine_time="1h"), verbose=True)
    assert "Theorem 2 with n = 1800, m = 1s, s = 2s, T = 1h (given): b* = 901" in slow


def test_costs_decide_on_a_second_thread(two_cores: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sash.aggregators.pba.handover_ns", lambda: 50_000)
    query = ask(sash.sliding(100), aggregates={"peak": NATIVE})  # b* = 51, so 49 merges
    assert plan(query.using(combine_time="1020ns")).lanes[0].algorithm == "SBA"
    assert plan(query.using(combine_time="1021ns")).lanes[0].algorithm == "PBA"
    for parallel, algorithm in ((True, "PBA"), (False, "SBA")):
        (lane,) = plan(query, parallel=parallel).lanes
        assert (lane.algorithm, lane.parallel, lane.reason) == (algorithm, parallel, Reason.THREADS_ASKED)
        assert f"{algorithm}: as asked for" in sash.explain(query, parallel=parallel, verbose=True)


def test_pba_over_batches_is_told(two_cores: None) -> None:
    kept = "batches    lcs of 351 slices is kept between them, and computed on another thread"
    assert kept + "\n" in sash.explain(ask(sash.sliding(700), algorithm="pba"), verbose=True)
    by_cost = sash.explain(ask(sash.sliding(700), aggregates={"peak": NATIVE}), verbose=True)
    assert kept + ", if that costs less than it saves" in by_cost
    for query in (
        ask(sash.sliding(700), algorithm="sba"),
        ask({"a": sash.sliding(700), "b": sash.sliding(300)}, algorithm="pba"),
        ask(sash.session(5, on="ts"), algorithm="pba"),
    ):
        assert "batches    " not in sash.explain(query, verbose=True)


def test_chunks_of_one_thread() -> None:
    windows = {"a": sash.sliding(700), "b": sash.sliding(300), "c": sash.sliding(260), "d": sash.sliding(1)}
    assert chunk_lengths(sash.explain(ask(windows, algorithm="sba"), verbose=True)) == {256, 128}
    assert chunk_lengths(sash.explain(ask(sash.sliding(16), algorithm="daba"), verbose=True)) == set()


def test_a_plan_with_threads_is_shown_only_where_there_can_be_one() -> None:
    sessions = ask(sash.session(5, on="ts"))
    assert "SBA: a second thread would not help: windows have no fixed length" in sash.explain(
        sessions, parallel=True, verbose=True
    )
    with pytest.raises(TypeError, match="parallel must be True, False or None; got 'yes'"):
        sash.explain(sessions, parallel="yes", verbose=True)  # type: ignore[arg-type]


def test_a_plan_is_facts(two_cores: None) -> None:
    (lane,) = plan(ask(sash.sliding(10_000, 3), aggregates={"peak": NATIVE})).lanes
    assert (lane.algorithm, lane.reason, lane.asked, lane.chunks) == ("PBA", Reason.SECOND_THREAD, False, {None: 2501})
    (lane,) = plan(ask(sash.sliding(16))).lanes
    assert (lane.algorithm, lane.reason, lane.chunks) == ("SBA", Reason.NO_SECOND_THREAD, {None: 8})
    (lane,) = plan(ask(sash.sliding(16), algorithm="pba")).lanes
    assert (lane.algorithm, lane.reason, lane.asked) == ("PBA", Reason.NO_SECOND_THREAD, True)
    (lane,) = plan(ask(sash.sliding(16), algorithm="daba")).lanes
    assert (lane.algorithm, lane.reason, lane.chunks) == ("DABA", Reason.ASKED, {})


def test_notebooks_show_queries_plans_and_explanations() -> None:
    query = sash.Query(
        key="<plug>", windows={"h": sash.sliding("1h", "1s")}, aggregates={"peak": sash.Max("load")}, time="ts"
    )
    table = query._repr_html_()
    assert "&lt;plug&gt;" in table
    assert "<plug>" not in table
    for text in ("window h", "Max(", "ts"):
        assert text in table
    assert '<td style="text-align:left">10s</td>' in query.using(early="10s")._repr_html_()
    assert "watermark_delay" not in table
    words = sash.explain(query, verbose=True)
    assert words._repr_html_() == f"<pre>{html.escape(words)}</pre>" == plan(query)._repr_html_()


def test_filters_and_times_of_arrival_are_shown() -> None:
    aggregates = {"n": sash.Count(where="ok"), "peak": sash.Max("x", where="ok"), "all": sash.Count()}
    words = sash.explain(
        sash.Query(windows=sash.tumbling("1m"), aggregates=aggregates, time=sash.arrival_time), verbose=True
    )
    assert "filters    n, peak: rows for which ok is true\n" in words
    assert "order      by the time of arrival, by the clock: no tuple is late\n" in words


@pytest.mark.parametrize("nothing", [0, "0s"])
def test_merges_that_take_no_time_are_refused(nothing: Any) -> None:
    with pytest.raises(ValueError, match="combine_time must be positive"):
        ask(sash.sliding(3), combine_time=nothing)


PAPERS = re.compile(r"\bslices?\b|chunk|lcs|context|Theorem|FCA|lift|W\[")


@pytest.mark.parametrize(
    ("window", "words"),
    [
        (sash.sliding("1h", "1m"), "the last 1h, every 1m"),
        (sash.tumbling("1h"), "1h, one window after the other"),
        (sash.tumbling("1d"), "1d, one window after the other; days are those of UTC or, for times without a zone, of"),
        (sash.sliding("7d", "1d", zone="Europe/Oslo"), "the last 7d, every 1d; days are those of Europe/Oslo"),
        (sash.sliding(10, 2, on="km"), "the last 10 of km, every 2 of km"),
        (sash.sliding(1024), "the last 1024 rows, at every row"),
        (sash.sliding(10, 5), "the last 10 rows, at every 5 rows"),
        (sash.tumbling(10), "10 rows, one window after the other"),
        (sash.session("30s"), "runs of rows less than 30s apart"),
        (sash.trailing("5m"), "the last 5m, at every row"),
        (sash.cumulative("1d", "1h"), "from each multiple of 1d on, every 1h"),
        (sash.last(3, "5s"), "the newest 3 rows, every 5s"),
        (sash.punctuated("stop"), "punctuated by stop"),
    ],
)
def test_a_newcomer_reads_no_word_of_the_papers(window: Any, words: str) -> None:
    query = ask(window, time="ts", watermark_delay={"km": 1} if getattr(window, "on", None) else "2s")
    said = sash.explain(query)
    assert said.startswith(f"windows    {words}")
    assert not PAPERS.search(said)
    assert PAPERS.search(sash.explain(query, verbose=True))


def test_what_becomes_of_late_rows_is_said_with_what_to_do() -> None:
    minutes = ask(sash.tumbling("1m"), time="ts")
    assert "late rows  rows older than the newest are late, and dropped; watermark_delay= waits" in sash.explain(
        minutes
    )
    delayed = minutes.using(watermark_delay="5s")
    assert "rows more than 5s older than the newest are late, and dropped; allowed_late" in sash.explain(delayed)
    assert "results    when ts has passed the end of a window by 5s" in sash.explain(delayed)
    late = sash.explain(delayed.using(allowed_lateness="1h"))
    assert "for 1h they correct results (revision 1, 2, …), then they are dropped" in late
    assert "late rows  none" in sash.explain(ask(sash.sliding(3)))


def test_what_it_costs_is_said_plainly() -> None:
    assert "memory     partial results a key: about 3,600, each as large as a result; no rows" in sash.explain(
        ask(sash.sliding("1h", "1s"), time="ts")
    )
    assert "rows too (verbose=True says why)" in sash.explain(ask(sash.last(3, "5s"), time="ts"))
    slow = sash.explain(ask(sash.sliding(10), algorithm="daba"))
    assert "speed      row by row in Python, which is slower: algorithm 'daba' runs row by row" in slow
    assert "cost       merges a slide, amortised / at worst: 4 / 6 (algorithm DABA)" in slow
    several = sash.explain(ask({f"w{i}": sash.tumbling(i + 2) for i in range(7)}))
    assert "… and 2 more, which share all work" in several
