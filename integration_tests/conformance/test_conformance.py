"""Each runtime gives each case's rows, to the row."""

from __future__ import annotations

import pytest

import sash
from sash.query.file import parse_query

from .cases import CASES, Case
from .rows import sorted_rows
from .runtimes import Runtime


@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
def test_the_rows_are_those_of_the_definition(runtime: Runtime, case: Case, request: pytest.FixtureRequest) -> None:
    expected = case.streamed(runtime.closes) if runtime.streams else case.settled()
    assert sorted_rows(case.query, runtime.rows(case, request)) == sorted_rows(case.query, expected)
    assert expected or case.empty


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
def test_each_query_goes_through_a_file_and_into_words(case: Case) -> None:
    text = sash.dump_query(case.query)
    assert parse_query(text, allow_imports=[Case.__module__]) == case.query
    assert sash.explain(case.query, verbose=True).count("windows    ") == len(case.query.named)
