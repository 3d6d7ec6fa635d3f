"""The experiments: declared completely, run at the smallest scale, their raw results read back, and judged."""

from __future__ import annotations

import csv
import gc
import json
import random
import subprocess
from array import array
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sash
from sash.cli import main
from sash_experiments import machine, registry
from sash_experiments.base_intervals import BaseIntervals
from sash_experiments.breakeven import NEVER, break_evens
from sash_experiments.claims import CLAIMS, Unshown, Verdict
from sash_experiments.claims.claim import line, logarithmic, ratio
from sash_experiments.claims.counted import CLAIMS as COUNTED
from sash_experiments.compiled.rung import SPIKE
from sash_experiments.dashboard import buckets_of, query_of
from sash_experiments.experiment import PAPERS, SCALES
from sash_experiments.generators import debs12_lines, football
from sash_experiments.pba_latency import BY_CLOCK
from sash_experiments.raw import COMPILED, FIELDS, PYTHON, WAITS, Measured, Results, saving
from sash_experiments.registry import EXPERIMENTS, run, stored
from sash_experiments.timing import spikes, summary
from sash_experiments.verdicts import Judged, counts, judged
from sash_experiments.waiting_merges import CHAINS, chains

ISSUED = """pba-fig4 pba-fig5 pba-fig6 pba-tab2 pba-tab3 pba-fig7 pba-fig8 daba-tab1 daba-tab2 daba-fig18 daba-sharing
slicing-fig8 slicing-fig9 slicing-fig10 slicing-fig11 slicing-fig12 slicing-fig13 slicing-fig14 slicing-fig15
slicing-fig16 slicing-fig17 ra-tab3 ra-fig6 ra-fig7 ra-fig8 ra-fig9 ra-fig10 ra-fig11 ra-fig12 mta-exp1 mta-exp2
mta-exp3 mta-exp4 mta-exp5""".split()
BOTH_RUNGS = {
    *("pba-fig4", "pba-fig5", "pba-fig6", "pba-tab2", "pba-tab3"),
    *("daba-tab1", "daba-tab2", "daba-fig18", "ra-tab3", "ra-fig6", "ra-fig7"),
}
"""Those that are measured in Python and compiled."""
MEASURED = [name for name, each in EXPERIMENTS.items() if each.measure is not None]


@pytest.fixture(autouse=True, scope="module")
def _small_heap() -> Iterator[None]:
    """Measuring collects garbage each time: not in what other tests have left behind."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def test_every_table_and_figure_is_declared() -> None:
    assert sorted(EXPERIMENTS) == sorted(ISSUED)
    for experiment in EXPERIMENTS.values():
        assert experiment.paper in PAPERS and experiment.workload
        assert tuple(experiment.sizes) == (SCALES if experiment.measure else ())
        assert experiment.measure or experiment.bench or experiment.drawn_from
    assert {claim.experiment for claim in CLAIMS} <= set(EXPERIMENTS)
    assert all((claim.check is None) == bool(claim.cannot) for claim in CLAIMS)
    assert {EXPERIMENTS[claim.experiment].paper for claim in CLAIMS} == set(PAPERS)


@pytest.mark.parametrize("name", MEASURED)
def test_it_runs_at_the_smallest_scale_and_keeps_its_raw_results(name: str, tmp_path: Path) -> None:
    experiment = EXPERIMENTS[name]
    rows = list(run(experiment, "smoke", tmp_path))
    with (tmp_path / f"{name}.smoke.csv").open(newline="") as file:
        kept = list(csv.DictReader(file))
    assert list(kept[0]) == list(FIELDS) and len(kept) == len(rows)
    known = json.loads((tmp_path / f"{name}.smoke.json").read_text())
    assert known["scale"] == "smoke" and known["sizes"] == experiment.sizes["smoke"]
    assert {"python", "sash", "numpy", "processor", "cores", "load_before", "date"} <= set(known)
    found = stored(experiment, tmp_path)
    assert found is not None
    assert set(found.rungs) == ({PYTHON, COMPILED} if name in BOTH_RUNGS else {PYTHON})
    assert found.medians().keys() == {(row.panel, row.x, row.series) for row in rows}
    assert all(row.value >= 0 for row in rows)
    for claim in CLAIMS:
        if claim.experiment == name and claim.check is not None:
            for rung in found.rungs:
                with suppress(Unshown):
                    assert isinstance(claim.check(found.on(rung)), Verdict)


def test_original_data_is_taken_where_there_is_some(tmp_path: Path) -> None:
    (tmp_path / "allData.txt").write_text("".join(line + "\n" for line in debs12_lines(500)), encoding="utf-8")
    for name in ("pba-fig5", "pba-fig6"):
        assert list(run(EXPERIMENTS[name], "smoke", tmp_path, tmp_path))
        assert json.loads((tmp_path / f"{name}.smoke.json").read_text())["original_data"] is True
    folders = ["--results", str(tmp_path), "--data-dir", str(tmp_path / "no")]
    assert main(["experiment", "run", "pba-fig5", "--scale", "smoke", *folders]) == 1
    assert main(["experiment", "run", "ra-fig6", "--scale", "smoke", *folders]) == 2  # it reads none
    assert not list(tmp_path.glob("*.part"))


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *arguments], check=True)


def test_the_commit_of_results_says_whether_code_was_changed_since(tmp_path: Path) -> None:
    assert machine.commit(tmp_path) is None
    _git(tmp_path, "init", "-q")
    (tmp_path / "experiments" / "results").mkdir(parents=True)
    code, result = tmp_path / "code.py", tmp_path / "experiments" / "results" / "a.small.csv"
    for path in (code, result):
        path.write_text("1")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "-qm", "Add code")
    clean = machine.commit(tmp_path)
    assert clean is not None and len(clean) == 12
    result.write_text("2")
    assert machine.commit(tmp_path) == clean
    code.write_text("2")
    assert machine.commit(result.parent) == f"{clean}+"


def test_what_a_commit_has_measured_is_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["experiment", "run", "ra-fig6", "ra-fig7", "--scale", "smoke", "--results", str(tmp_path)]

    def measured(commit: str, *options: str) -> list[str]:
        for module in (machine, registry):
            monkeypatch.setattr(module, "commit", lambda: commit)
        capsys.readouterr()
        assert main([*command, *options]) == 0
        return [line.partition(":")[0] for line in capsys.readouterr().err.splitlines() if "numbers" in line]

    assert measured("abc") == ["ra-fig6", "ra-fig7"]
    (tmp_path / "ra-fig7.smoke.csv").unlink()
    assert measured("abc", "--resume") == ["ra-fig7"]
    assert measured("abc", "--resume") == []
    assert measured("def", "--resume") == ["ra-fig6", "ra-fig7"]
    assert measured("def+") == measured("def+", "--resume") == ["ra-fig6", "ra-fig7"]  # it may have changed since


def test_the_largest_scale_is_what_counts_and_an_interrupted_run_does_not(tmp_path: Path) -> None:
    experiment = EXPERIMENTS["ra-fig6"]
    list(run(experiment, "smoke", tmp_path))
    for suffix in ("csv", "json"):
        (tmp_path / f"ra-fig6.small.{suffix}").write_bytes((tmp_path / f"ra-fig6.smoke.{suffix}").read_bytes())
    about = json.loads((tmp_path / "ra-fig6.small.json").read_text()) | {"scale": "small"}
    (tmp_path / "ra-fig6.small.json").write_text(json.dumps(about))
    found = stored(experiment, tmp_path)
    assert found is not None and found.facts["scale"] == "small"
    begun = run(EXPERIMENTS["ra-fig7"], "smoke", tmp_path)
    next(begun)
    begun.close()
    assert stored(EXPERIMENTS["ra-fig7"], tmp_path) is None


def test_a_figure_of_what_others_measure_is_run_and_drawn_with_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figure = EXPERIMENTS["pba-fig7"]
    assert stored(figure, tmp_path) is None
    assert main(["experiment", "run", "pba-fig7", "--scale", "smoke", "--results", str(tmp_path)]) == 0
    told = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in told] == ["pba-tab2", "pba-tab3"]
    found = stored(figure, tmp_path)
    assert found is not None and all(panel.endswith("in time") for panel in found.panels)
    assert {panel.partition(":")[0].partition(",")[0] for panel in found.panels} == {"2^5", "2^6", "0.01 h", "0.02 h"}


def test_throughput_by_parallelism_is_read_from_its_benchmark(tmp_path: Path) -> None:
    figure = EXPERIMENTS["pba-fig8"]
    assert stored(figure, tmp_path) is None and figure.command == "make scalability"
    head = "engine,where,contender,aggregate,parallelism,keys,range,rows,seconds,cpu_seconds,state_bytes,repeat\n"
    rows = [
        "FPBA packed,max,1,84,1024,1000,2,3,9,0",
        "FPBA packed,max,2,84,1024,1000,1,3,9,0",
        "SBA packed,max,1,84,1024,1000,0.1,3,9,0",
        "SQL OVER,max,1,84,1024,1000,10,3,,0",
    ]
    (tmp_path / "scalability.csv").write_text(head + "".join(f"flink,local,{row}\n" for row in rows))
    (tmp_path / "scalability.json").write_text('{"cores": 2}')
    found = stored(figure, tmp_path)
    assert found is not None
    panel = "flink, local, 84 keys, max, W[1024, 1]"
    assert list(found.panels) == [panel, f"CPU: {panel}"]
    packed = {"FPBA packed": {"1": 500, "2": 1000}, "SBA packed": {"1": 10_000}}
    assert found.panel(panel) == {**packed, "SQL OVER": {"1": 100}}
    told = {each.claim.text: each for each in judged(tmp_path) if each.claim.experiment == "pba-fig8"}
    ahead, grows = (next(each for text, each in told.items() if part in text) for part in ("one machine", "instances"))
    assert (ahead.verdict, ahead.ours) == ("holds", "5.0× to 5.0× the fastest other")
    assert (grows.verdict, grows.ours) == ("needs a larger scale or more cores", "FPBA packed: 2.0× from 1 to 2")
    assert "more cores than the 2" in grows.why
    cluster = next(each for text, each in told.items() if "cluster" in text)
    assert cluster.verdict == "needs a larger scale or more cores" and "flink was not run on a cluster" in cluster.why
    (tmp_path / "scalability.csv").write_text(head + "".join(f"flink,local,{row}\n" for row in rows[2:]))
    ahead = next(each for each in judged(tmp_path) if "one machine, PBA" in each.claim.text)
    assert ahead.verdict == "needs a larger scale or more cores" and "FPBA was not run there" in ahead.why


def test_base_intervals_give_what_the_window_holds() -> None:
    chance = random.Random(3)
    for most in (1, 2, 3, 8, 13):
        window, expected = BaseIntervals(sash.Collect(), most), list[int]()
        for value in range(300):
            if expected and (len(expected) == most or chance.random() < 0.3):
                count = chance.randint(1, len(expected))
                window.evict_many(count)
                del expected[:count]
            window.insert(value)
            expected.append(value)
            assert list(window.query()) == expected and len(window) == len(expected)


def test_the_dashboards_buckets_give_what_slices_give() -> None:
    stream = football(60_000)
    operator, buckets = sash.Operator(query_of(5)), buckets_of(5)
    ours, theirs = list[Any](), list[Any]()
    for ts, ball in zip(stream["ts"].tolist(), stream["ball"].tolist(), strict=True):
        ours += operator.process({"ts": ts, "ball": ball})
        theirs += buckets.process({"ts": ts, "ball": ball})
    found, expected = (sorted(tuple(row[name] for name in theirs[0]) for row in rows) for rows in (ours, theirs))
    assert found == expected and len(found) > 30


def test_claims_that_are_counted_hold_on_any_machine() -> None:
    nothing = Results((), {})
    assert all(claim.check is not None and claim.check(nothing).holds for claim in COUNTED)


def _kept(folder: Path, rows: list[Measured]) -> None:
    for _ in saving(folder / "pba-fig4.small.csv", FIELDS, rows, {"scale": "small", "cores": 2}):
        pass


def _verdicts(folder: Path) -> dict[str, tuple[str, str]]:
    return {
        each.claim.text: (each.verdict, each.ours) for each in judged(folder) if each.claim.experiment == "pba-fig4"
    }


ABOVE = "From windows of 2^15 on, PBA's throughput is above Two-Stacks'"


def test_a_verdict_separates_the_direction_from_the_size(tmp_path: Path) -> None:
    for factor, verdict, ours in (
        (2.6, "holds", "2.6×"),
        (1.4, "direction only", "PBA is ahead, by 1.4× where the paper has 2.5×"),
        (0.9, "does not hold", "0.9×"),
    ):
        rates = {"PBA": factor * 1e6, "TwoStacks": 1e6}
        _kept(tmp_path, [Measured("uniform", "32768", name, 0, "values/s", rate) for name, rate in rates.items()])
        assert _verdicts(tmp_path)[ABOVE] == (verdict, ours)


def test_numbers_that_do_not_reach_the_claim_need_a_larger_scale(tmp_path: Path) -> None:
    rows = [Measured("uniform", "64", name, 0, "values/s", 1e6) for name in ("PBA", "TwoStacks")]
    for _ in saving(tmp_path / "pba-fig4.smoke.csv", FIELDS, rows, {"scale": "smoke", "cores": 2}):
        pass
    (above,) = (each for each in judged(tmp_path) if each.claim.text == ABOVE)
    assert above.verdict == "needs a larger scale or more cores"
    assert above.why == "the results of scale smoke do not reach so far: nothing is measured from 32768 on"
    assert counts(tmp_path)["not run"] > 80 and sum(counts(tmp_path).values()) == len(CLAIMS)


def test_a_verdict_on_the_smallest_scale_says_so(tmp_path: Path) -> None:
    for last, verdict in ((3e6, "holds"), (1e5, "needs a larger scale or more cores")):
        rows = [Measured("DEBS12", x, "SBA", 0, "values/s", rate) for x, rate in (("1", 1e6), ("10", last))]
        for _ in saving(tmp_path / "pba-fig5.smoke.csv", FIELDS, rows, {"scale": "smoke"}):
            pass
        (longer,) = (each for each in judged(tmp_path) if each.claim.text.startswith("Longer slides"))
        assert (longer.verdict, longer.why) == (verdict, "measured at the smallest scale")


def test_benchmarks_are_run_at_the_smallest_scale_for_their_experiments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    splits = replace(EXPERIMENTS["slicing-fig15"], bench_smoke=("--tiny", "--rounds", "1", "--only", "15"))
    monkeypatch.setitem(EXPERIMENTS, "slicing-fig15", splits)
    folder = ["--results", str(tmp_path)]
    assert main(["experiment", "run", "slicing-fig15", "--scale", "smoke", *folder]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["slicing.smoke.csv", "slicing.smoke.json"]
    found = stored(splits, tmp_path)
    assert found is not None and found.facts["scale"] == "smoke" and list(found.panels) == ["a split"]
    monkeypatch.setitem(EXPERIMENTS, "slicing-fig15", replace(splits, bench_smoke=("--only", "no such figure")))
    with pytest.raises(SystemExit, match="make bench-slicing failed; the others are done"):
        main(["experiment", "run", "slicing-fig15", "ra-fig7", "--scale", "smoke", *folder])
    assert stored(EXPERIMENTS["ra-fig7"], tmp_path) is not None and stored(splits, tmp_path) is not None
    assert "invalid choice: 'no such figure'" in capsys.readouterr().err


def test_a_benchmark_whose_programs_are_not_installed_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["experiment", "run", "mta-exp1", "--scale", "smoke", "--results", str(tmp_path)]) == 0
    assert "make bench-mta: left out, because redis-server is not installed" in capsys.readouterr().err


def test_a_direction_comes_with_what_was_measured(tmp_path: Path) -> None:
    spikes_ns = {"PBA": 2000.0, "SBA": 3000.0}
    rows = [Measured(f"2^14{BY_CLOCK}", SPIKE, name, 0, "ns", value, COMPILED) for name, value in spikes_ns.items()]

    def told_of(rows: list[Measured]) -> Judged:
        for _ in saving(tmp_path / "pba-tab2.small.csv", FIELDS, rows, {"scale": "small", "cores": 2}):
            pass
        return next(each for each in judged(tmp_path) if each.claim.text.startswith("PBA has no latency spikes"))

    told = told_of(rows)
    assert told.verdict == "direction only"
    expected = "PBA's are lower, by 1.5× where the paper has 0.5 against 31 µs: 2.0 against 3.0 µs (compiled)"
    assert told.ours == expected and told.why == ""  # no cause is supposed of what is compiled
    waits = Measured(f"2^14{BY_CLOCK}: {WAITS}", "waits", "PBA", 0, "% of chunks", 12.5, COMPILED)
    assert told_of([*rows, waits]).why == "PBA's main thread waited for lcs at 12.5 % of the chunks (median, measured)"


def test_a_cause_is_told_on_the_compiled_rung_if_it_was_measured(tmp_path: Path) -> None:
    rates = {("ABA", "4"): 5e8, ("ABA", "256"): 2.5e8}
    rows = [Measured("Sum", x, name, 0, "values/s", value, COMPILED) for (name, x), value in rates.items()]
    grows = {chain: 1.0 + place for place, chain in enumerate(CHAINS)}
    waits = [
        Measured(chain, x, "ABA", 0, "ns", nanoseconds, COMPILED)
        for chain, large in grows.items()
        for x, nanoseconds in (("4", 1.0), ("256", large))
    ]

    def told_of(rows: list[Measured]) -> Judged:
        for _ in saving(tmp_path / "daba-fig18.small.csv", FIELDS, rows, {"scale": "small", "cores": 2}):
            pass
        return next(each for each in judged(tmp_path) if "flips become rarer" in each.claim.text)

    assert (told_of(rows).verdict, told_of(rows).why) == ("does not hold", "")
    assert told_of([*rows, *waits]).why.startswith(
        "measured: from n = 4 to 256 the time of a slide, with as many merges, grows 1.0× if merges do not wait for "
        "each other, 2.0× if each merge waits for an addition, 3.0× if each merge waits for a square root (ABA"
    )


def test_merges_that_wait_for_each_other_are_measured() -> None:
    rows = list(chains([4, 32], 1, 0.001))
    assert {row.panel for row in rows} == set(CHAINS) and {row.x for row in rows} == {"4", "32"}


@pytest.mark.parametrize("make", [sash.Count, sash.Collect])
def test_reevaluation_reads_off_what_it_holds(make: Any) -> None:
    """As in the papers: a count is the size, a collection a copy. So nothing is ever faster, up to 2,048 values."""
    numbers = list(break_evens({"it": make}, ("FlatFAT",), [64, 2048], {"break-even": 1}, 256, 0.02, 0))
    assert {row.value for row in numbers if row.rung == PYTHON} == {NEVER}


def test_claims_are_judged_on_the_compiled_rung_where_it_is_there(tmp_path: Path) -> None:
    numbers = {
        PYTHON: {"PBA": 1e6, "TwoStacks": 2e6, "PBA columns": 9e8, "SBA columns": 9e8, "SlickDeque": 1e5, "SBA": 1e5},
        COMPILED: {"PBA": 9e8, "TwoStacks": 1e8, "SBA": 6e8},
    }
    _kept(tmp_path, [Measured("uniform", "32768", name, 0, "values/s", rate, rung)
                     for rung, rates in numbers.items() for name, rate in rates.items()])  # fmt: skip
    found = _verdicts(tmp_path)
    assert found[ABOVE] == ("holds", "9.0× (compiled)")
    assert found["For large windows a second thread pays: PBA is faster than SBA"] == ("holds", "1.5× (compiled)")
    assert found[ABOVE.replace("Two-Stacks'", "SlickDeque's")] == ("holds", "10.0×")  # not measured compiled
    assert found["PBA holds (3n + 13) / 2 partials (Table 1)"][0] == "holds"  # counted, not measured
    stored_results = stored(EXPERIMENTS["pba-fig4"], tmp_path)
    assert stored_results is not None and stored_results.rungs == [PYTHON, COMPILED]


def test_results_of_before_there_were_rungs_are_of_python(tmp_path: Path) -> None:
    path = tmp_path / "pba-fig4.small.csv"
    path.write_text("panel,x,series,round,unit,value\nuniform,8,PBA,0,values/s,5\n", encoding="utf-8")
    path.with_suffix(".json").write_text("{}", encoding="utf-8")
    found = stored(EXPERIMENTS["pba-fig4"], tmp_path)
    assert found is not None and found.rungs == [PYTHON]


def test_medians_ratios_and_fits() -> None:
    rows = [Measured("p", str(x), name, number, "s", value * x + number) for x in (2, 4, 8, 16)
            for name, value in (("a", 2), ("b", 1)) for number in (0, 0, 0)]  # fmt: skip
    results = Results(tuple(rows), {})
    assert line(results, "p", "a") == {2: 4, 4: 8, 8: 16, 16: 32}
    assert ratio(results, "p", "a", "b") == 2
    assert logarithmic({2.0: 1, 4.0: 2, 8.0: 3, 16.0: 4}) == pytest.approx(1)
    with pytest.raises(Unshown, match="nothing is measured from 32 on"):
        ratio(results, "p", "a", "b", 32)
    with pytest.raises(Unshown, match="there is no c"):
        line(results, "p", "c")


def test_latencies_are_summarised_and_keep_their_spikes() -> None:
    taken = array("q", [10, 20, 30, 40, 1000])
    assert summary(taken) == pytest.approx(
        {"Min": 10, "Max": 1000, "Avg": 220, "Std": 390.13, "LQ": 20, "Med": 30, "HQ": 40}, abs=0.01
    )
    assert max(value for _, value in spikes(array("q", [1] * 500 + [99] + [1] * 499), points=10)) == 99


def test_the_command_line_lists_runs_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, page = ["--results", str(tmp_path)], tmp_path / "page.html"
    assert main(["experiment", "run", "ra-fig6", "--scale", "smoke", *folder]) == 0
    assert main(["experiment", "list", *folder]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == list(EXPERIMENTS)
    assert [line.split()[0] for line in listed if "smoke" in line] == ["ra-fig6"]
    assert main(["experiment", "report", "--output", str(page), *folder]) == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    capsys.readouterr()
    assert main(["experiment", "run", "pba-fig99", *folder]) == 2
    assert "there is no experiment 'pba-fig99'; there are pba-fig4" in capsys.readouterr().err
    assert main(["experiment", "run", "slicing-fig8", *folder]) == 2
    assert "slicing-fig8 is measured by a benchmark: run make bench-slicing" in capsys.readouterr().err


def test_a_report_that_cannot_be_written_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "no" / "page.html"
    assert main(["experiment", "report", "--output", str(path), "--results", str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"sash: {path}: no such file or directory\n"
