"""The framework of the benchmarks: contenders are checked and measured in turn; raw results are kept and read."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sash_experiments import benchmarks, compare
from sash_experiments.benchmark import Benchmark, Case, Contender, Row, in_turn, run
from sash_experiments.raw import read_rows, results_folder
from sash_experiments.tables import grid, medians


def rows(options: argparse.Namespace) -> Iterator[Row]:
    for n in options.sizes:
        contenders = [
            Contender(name, partial(list, [{"us": us * n}]), lambda: sum(range(10)), lambda: 45)
            for name, us in (("ours", 1), ("theirs", 3))
        ]
        yield from in_turn([Case({"n": n}, contenders)], options.rounds)


def tables(found: list[dict[str, str]], facts: Mapping[str, Any]) -> Iterator[str]:
    lines: dict[str, dict[str, float]] = {}
    for (name, n), us in medians(found, "us", "contender", "n").items():
        lines.setdefault(name, {})[n] = us
    yield from grid("Time, µs", "contender", lines)


TOY = Benchmark(
    "toy",
    "A toy.",
    ("n", "contender", "round", "us"),
    ("n", "contender"),
    rows,
    tables,
    rounds=2,
    arguments=lambda parser: parser.add_argument("--sizes", type=int, nargs="+", default=[4, 8]),
)


def test_raw_results_are_kept_with_the_commit_and_make_the_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, page = tmp_path / "toy.csv", tmp_path / "page.md"
    page.write_text("<!-- toy: begin -->\n<!-- toy: end -->\n")
    run(TOY, ["--output", str(path), "--docs", str(page)])
    found, facts = read_rows(path)
    turns = [(row["contender"], row["round"]) for row in found if row["n"] == "4"]
    assert turns == [("ours", "0"), ("theirs", "0"), ("ours", "1"), ("theirs", "1")]
    assert {"commit", "cores", "load_before", "date", "sash"} <= facts.keys() and facts["sizes"] == [4, 8]
    shown = capsys.readouterr().out
    assert "| theirs | 12.0 | 24.0 |" in shown and "| theirs | 12.0 | 24.0 |" in page.read_text()
    run(TOY, ["--table", str(path)])
    assert capsys.readouterr().out == shown


def test_what_is_run_again_replaces_the_same_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "toy.csv"
    run(TOY, ["--output", str(path)])
    run(TOY, ["--output", str(path), "--again", "--sizes", "8", "16", "--rounds", "1"])
    found, facts = read_rows(path)
    assert sorted((row["n"], row["round"]) for row in found if row["contender"] == "ours") == [
        ("16", "0"),
        ("4", "0"),
        ("4", "1"),
        ("8", "0"),
    ]
    assert [again["sizes"] for again in facts["again"]] == [[8, 16]]


def test_nothing_is_measured_where_contenders_disagree() -> None:
    measured: list[str] = []
    contenders = [
        Contender("ours", lambda: [{}], lambda: (1, 2.0)),
        Contender("theirs", lambda: measured.append("theirs") or [{}], lambda: (1, 2.5)),  # type: ignore[func-returns-value]
    ]
    with pytest.raises(SystemExit, match=r"n 4: theirs computes \(1, 2.5\), not \(1, 2.0\)"):
        list(in_turn([Case({"n": 4}, contenders)]))
    assert not measured


@pytest.mark.parametrize("name", benchmarks.NAMES)
def test_kept_results_make_tables(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    benchmark = benchmarks.find(name)
    found, facts = read_rows(results_folder() / f"{name}.csv")
    assert set(benchmark.key) <= found[0].keys() and set(found[0]) <= set(benchmark.fields)
    assert "| --- |" in "\n".join(benchmark.tables(found, facts))


def test_a_checkout_of_scripts_and_one_of_modules_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The base writes wall times: it is run with a clock of CPU time."""
    script = tmp_path / "experiments" / "bench_rolling.py"
    script.parent.mkdir()
    script.write_text(
        "import sys, time\nassert time.perf_counter is time.process_time and sys.argv[1:3] == ['--rows', '9']\n"
        "open(sys.argv[-1], 'w').write('workload,aggregation,n,contender,ns_per_value\\nmax,max,16,sash,4\\n"
        "max,max,16,scipy,6\\n')\n"
    )
    words = compare.command(compare.HERE, "rolling", tmp_path / "out.csv", ["--rows", "9"])
    assert words[3:6] == ["sash_experiments", "bench", "rolling"]
    monkeypatch.setattr(compare, "HERE", tmp_path / "." / "experiments" / "..")
    compare.main([str(tmp_path), "rolling", "--turns", "2", "--args", "--rows 9"])
    shown = capsys.readouterr().out
    assert "| max, max, 16, sash | 4.00 | 4.00 | 1.00 |" in shown
    assert "| geometric mean, control: this / base |  |  | 1.00 |" in shown
