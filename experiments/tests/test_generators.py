"""Made-up data: the shape that it is said to have, and the same for the same seed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sash.cli import main
from sash_experiments import generators


@pytest.mark.parametrize("make", [generators.debs12, generators.debs14, generators.uniform, generators.football])
def test_the_same_seed_gives_the_same_rows(make: object) -> None:
    assert callable(make)
    one, two, other = make(500), make(500), make(500, seed=99)
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert any(not np.array_equal(one[name], other[name]) for name in one)
    assert {len(column) for column in one.values()} == {500}
    assert {len(column) for column in make(0).values()} == {0}
    with pytest.raises(ValueError, match="rows must not be negative; got -1"):
        make(-1)


def test_debs12_is_one_machine_at_100_hertz_with_37_values() -> None:
    stream = generators.debs12(50_000)
    assert set(stream["key"]) == {0}
    assert set(np.diff(stream["ts"]).tolist()) == {np.timedelta64(10, "ms").astype("timedelta64[us]").item()}
    assert len(set(stream["mf01"].tolist())) == 37


@pytest.mark.parametrize("keys", [14, 84, 336])
def test_debs14_has_as_many_plugs_as_asked_for_and_they_report_unevenly(keys: int) -> None:
    stream = generators.debs14(20_000, keys)
    counts = np.bincount(stream["key"], minlength=keys)
    assert len(counts) == keys and counts.min() > 0
    plugs = counts.reshape(-1, 14).sum(axis=0)  # copies of the 14, with the same distribution
    assert plugs.argmax() == 0 and 2 < plugs.max() / plugs.min() < 3.5
    assert np.all(np.diff(stream["ts"]) >= np.timedelta64(0, "s"))
    assert np.all(stream["load"] > 0)


def test_football_is_seen_2000_times_a_second_and_lost_five_times_a_minute() -> None:
    ts = generators.football(2 * 2000 * 60)["ts"]
    gaps = np.flatnonzero(np.diff(ts) > 1000)
    assert len(gaps) == 2 * 5 - 1  # the last loss is after the end
    assert np.sum(ts < 1000) == 2000


@pytest.mark.parametrize(
    ("make", "lines", "load"),
    [
        (generators.debs12, generators.debs12_lines, generators.load_debs12),
        (generators.debs14, generators.debs14_lines, generators.load_debs14),
    ],
    ids=["debs12", "debs14"],
)
def test_original_files_are_read_as_what_they_were_made_of(tmp_path: Path, make: Any, lines: Any, load: Any) -> None:
    path, expected = tmp_path / "original", make(200)
    path.write_text("".join(line + "\n" for line in lines(200)), encoding="utf-8")
    found = load(path)
    assert list(found) == list(expected)
    for name in expected:
        if name == "key" and "house" in expected:  # a plug's number there tells its house, too
            assert np.array_equal(found[name] // 1_000_000 * 5 + found[name] % 1_000, expected[name])
        else:
            assert np.array_equal(found[name], expected[name]), name
    assert all(np.array_equal(load(path, 7)[name], found[name][:7]) for name in found)


def test_the_challenges_own_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "sorted.csv"
    path.write_text("2967740693,1379879533,82.042,0,1,0,12\n2967740694,1379879533,3.5,1,1,0,12\n")
    found = {name: column.tolist() for name, column in generators.load_debs14(path).items() if name != "ts"}
    assert found == {"key": [12_000_001], "house": [12], "seq": [2967740694], "load": [3.5]}
    path = tmp_path / "allData.txt"
    path.write_text("2012-02-22T16:46:28.9670320+00:00\t2556001\t0\t13056\t14406" + "\t1" * 61 + "\n")
    row = generators.load_debs12(path)
    assert str(row["ts"][0]) == "2012-02-22T16:46:28.967032" and row["mf02"].tolist() == [13056.0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1,2,3\n", "line 1: expected 7 columns or more; got 3"),
        ("1,2,3.0,1,0,0,0\n1,2,much,1,0,0,0\n", "line 2: expected a number; got 'much'"),
    ],
)
def test_lines_that_are_wrong_are_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "sorted.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=re.escape(said)):
        generators.load_debs14(path)
    path.write_text("yesterday\t1\t2\t3\t4\n")
    with pytest.raises(ValueError, match="line 1: expected a time in ISO 8601; got 'yesterday'"):
        generators.load_debs12(path)


def test_the_command_takes_rows_of_an_original_file_instead(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for dataset, name in (("debs12", "allData.txt"), ("debs14", "sorted.csv")):
        original, made, taken = tmp_path / name, tmp_path / f"{dataset}.csv", tmp_path / f"{dataset}-taken.csv"
        assert main(["generate", dataset, "--rows", "30", "--original", "--output", str(original)]) == 0
        assert main(["generate", dataset, "--rows", "20", "--output", str(made)]) == 0
        folder = ["--data-dir", str(tmp_path)]
        assert main(["generate", dataset, "--rows", "20", *folder, "--output", str(taken)]) == 0
        assert len(taken.read_text().splitlines()) == 21
        assert taken.read_text().splitlines()[0] == made.read_text().splitlines()[0]
        assert main(["generate", dataset, *folder, "--seed", "1"]) == 2
        assert main(["generate", dataset, "--data-dir", str(tmp_path / "no")]) == 1
    assert main(["generate", "uniform", "--data-dir", str(tmp_path)]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 5 and all(line.startswith("sash: ") for line in said)
    assert said[1] == f"sash: {tmp_path / 'no' / 'allData.txt'}: no such file or directory"


@pytest.mark.parametrize(("dataset", "columns", "separator"), [("debs12", 66, "\t"), ("debs14", 7, ",")])
def test_original_files_have_the_challenges_columns(
    tmp_path: Path, dataset: str, columns: int, separator: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "original"
    assert main(["generate", dataset, "--rows", "20", "--original", "--output", str(path)]) == 0
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 20 and {len(line.split(separator)) for line in lines} == {columns}
    for wrong in (["uniform", "--original", "--output", str(path)], [dataset, "--original"], ["debs12", "--keys", "3"]):
        assert main(["generate", *wrong]) == 2
    assert capsys.readouterr().err.count("\n") == 3


def test_the_generated_stream_is_the_same_every_time() -> None:
    a, b = generators.smart_home(1000), generators.smart_home(1000)
    assert all((a[name] == b[name]).all() for name in a)
    assert len(set(a["plug"].tolist())) == 14 and (np.diff(a["ts"]) >= 0).all()
    with pytest.raises(ValueError, match="plugs at least 1"):
        generators.smart_home(10, plugs=0)


@pytest.mark.parametrize("command", ["generate", "experiment"])
def test_the_commands_are_in_the_command_line(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^0$"):
        main([command, "--help"])
    assert f"usage: sash {command}" in capsys.readouterr().out
