"""The map of the source: the limits that are to hold do, and its rules find what they are for."""

from __future__ import annotations

import pytest

from codemap.__main__ import main
from codemap.counts import csa_lcs_copies, fills_lcs, lane_drivers, state_writers
from codemap.limits import LIMITS, Limit


def test_every_limit_that_is_enforced_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().out


def test_every_limit_is_enforced_or_has_a_ceiling_above_it() -> None:
    assert all(limit.enforced != (limit.ceiling is not None) for limit in LIMITS)
    assert all(limit.ceiling > limit.most for limit in LIMITS if limit.ceiling is not None)


@pytest.mark.parametrize(("figure", "status"), [(4, 0), (5, 1)])
def test_a_figure_above_its_ceiling_fails_the_check(
    figure: int, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("codemap.__main__.LIMITS", [Limit("riddles", 2, lambda: figure, ceiling=4)])
    assert main(["--check"]) == status
    assert ("no more than 4 enforced" in capsys.readouterr().out) == bool(status)


def test_the_layers_are_always_enforced() -> None:
    assert [limit.name for limit in LIMITS if limit.enforced][:1] == ["imports that break the layers"]


def test_rules_find_what_there_must_be_one_of() -> None:
    assert lane_drivers()
    assert state_writers()
    assert "aggregators/sba.py" in csa_lcs_copies()


@pytest.mark.parametrize(
    ("source", "fills"),
    [
        ("for j in range(n - 2, -1, -1):\n    g = combine({lift_j}, g)\n    {store_B_j}", True),
        ("for i in range(edge, 0, -1):\n    suffixes.append(self._merge(slices[i], suffixes[-1]))", True),
        ("for j in range(n - 2, 0, -1):\n    older, younger = rows[j], rows[j + 1]", True),
        ("for i in range(n):\n    begin, end = starts[i], starts[i + 1]", False),
        ("for j in range(n):\n    f = combine(f, {lift_j})", False),
        ("total = combine(first, total)", False),
    ],
)
def test_a_loop_fills_lcs_if_it_merges_from_the_right(source: str, fills: bool) -> None:
    assert fills_lcs(source) is fills
