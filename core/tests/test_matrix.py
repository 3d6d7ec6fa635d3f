"""The conformance matrix in this process: every aggregation × column type × way, with and without lateness.

A failure names the cells: aggregation, column type, way, lateness, and what is wrong. The engines' part of the matrix
is ``integration_tests/conformance/test_matrix_engines.py``.
"""

from __future__ import annotations

import pytest

from matrix import AGGREGATES, LIKE_ANOTHER, TYPES, ColumnType
from matrix_cells import wrong_cells, wrong_refusals
from matrix_known import KNOWN, check, known_cells
from matrix_ways import LOCAL

pytestmark = [
    pytest.mark.filterwarnings("ignore::sash.PerformanceWarning"),
    pytest.mark.xdist_group("matrix"),  # what one process has compiled serves all types
]


COLUMNS = [
    pytest.param(column, False, id=name, marks=[pytest.mark.thorough] if name in LIKE_ANOTHER else [])
    for name, column in TYPES.items()
] + [pytest.param(TYPES[name], True, id=f"{name}, brief") for name in sorted(LIKE_ANOTHER)]


@pytest.mark.parametrize("late", [False, True], ids=["", "late"])
@pytest.mark.parametrize(("column", "brief"), COLUMNS)
@pytest.mark.parametrize("way", LOCAL)
def test_results_are_those_of_the_definition(way: str, column: ColumnType, brief: bool, late: bool) -> None:
    wrong = wrong_cells(LOCAL[way], column, late, known_cells(way, column.name, late), brief)
    check(way, column.name, late, wrong | wrong_refusals(LOCAL[way], column, late))


def test_known_cells_are_cells() -> None:
    for known in KNOWN:
        for _, kind, name, _ in known.cells():
            assert kind in TYPES and name in AGGREGATES, known
