"""The experiments: declared completely, run at the smallest scale, their raw results read back, and judged."""

from __future__ import annotations

import csv
import json
from array import array
from contextlib import suppress
from pathlib import Path

import pytest

from sash.cli import main
from sash.generators import debs12_lines
from sash_experiments.claims import CLAIMS, Unshown, Verdict
from sash_experiments.claims.claim import line, logarithmic, ratio
from sash_experiments.experiment import PAPERS, SCALES
from sash_experiments.raw import FIELDS, Measured, Results
from sash_experiments.registry import EXPERIMENTS, run, stored
from sash_experiments.timing import spikes, summary

ISSUED = """pba-fig4 pba-fig5 pba-fig6 pba-tab2 pba-tab3 pba-fig7 pba-fig8 daba-tab1 daba-tab2 daba-fig18
slicing-fig8 slicing-fig9 slicing-fig10 slicing-fig11 slicing-fig12 slicing-fig13 slicing-fig14 slicing-fig15
slicing-fig16 slicing-fig17 ra-tab3 ra-fig6 ra-fig7 ra-fig8 ra-fig9 ra-fig10 ra-fig11 mta-exp1 mta-exp2 mta-exp3
mta-exp4""".split()
MEASURED = [name for name, each in EXPERIMENTS.items() if each.measure is not None]


def test_every_table_and_figure_is_declared() -> None:
    assert sorted(EXPERIMENTS) == sorted(ISSUED)
    for experiment in EXPERIMENTS.values():
        assert experiment.paper in PAPERS and experiment.workload
        assert tuple(experiment.sizes) == (SCALES if experiment.measure else ())
        assert experiment.measure or experiment.bench
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
    assert found.medians().keys() == {(row.panel, row.x, row.series) for row in rows}
    assert all(row.value >= 0 for row in rows)
    for claim in CLAIMS:
        if claim.experiment == name and claim.check is not None:
            with suppress(Unshown):
                assert isinstance(claim.check(found), Verdict)


def test_original_data_is_taken_where_there_is_some(tmp_path: Path) -> None:
    (tmp_path / "allData.txt").write_text("".join(line + "\n" for line in debs12_lines(500)), encoding="utf-8")
    for name in ("pba-fig5", "pba-fig6"):
        assert list(run(EXPERIMENTS[name], "smoke", tmp_path, tmp_path))
        assert json.loads((tmp_path / f"{name}.smoke.json").read_text())["original_data"] is True
    folders = ["--results", str(tmp_path), "--data-dir", str(tmp_path / "no")]
    assert main(["experiment", "run", "pba-fig5", "--scale", "smoke", *folders]) == 1
    assert not list(tmp_path.glob("*.part"))


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
    assert main(["experiment", "run", "ra-fig11", *folder]) == 2
    assert "ra-fig11 is not measured by itself: Not run: Sash does not have" in capsys.readouterr().err
