"""The map of the source: the limits that are to hold do, and its rules find what they are for."""

from __future__ import annotations

import pytest

from codemap.__main__ import main
from codemap.counts import csa_lcs_copies, fills_lcs, lane_drivers, state_writers
from codemap.limits import LIMITS


def test_every_limit_that_is_enforced_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().out


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
