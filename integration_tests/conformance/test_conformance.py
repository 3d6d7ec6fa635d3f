"""Each runtime gives each case's rows, to the row."""

from __future__ import annotations

import pytest

from .cases import Case
from .rows import sorted_rows
from .runtimes import Runtime


@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
def test_the_rows_are_those_of_the_definition(runtime: Runtime, case: Case, request: pytest.FixtureRequest) -> None:
    expected = case.streamed(runtime.closes) if runtime.streams else case.settled()
    assert sorted_rows(case.query, runtime.rows(case, request)) == sorted_rows(case.query, expected)
    assert expected or case.empty
