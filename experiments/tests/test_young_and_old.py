"""Windows of several lengths that share their parts give what each gives by itself, in the space of the longest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sash
from sash.testing import Counted, naive
from sash_experiments.young_and_old import Separate, YoungAndOld

lengths = st.lists(st.integers(1, 20), min_size=1, max_size=5, unique=True).map(sorted)


@pytest.mark.parametrize("aggregation", [sash.Concat(), sash.Max(), sash.Sum()], ids=str)
@given(lengths=lengths, values=st.lists(st.integers(-9, 9), max_size=60))
def test_every_length_gives_what_the_definition_says(
    aggregation: sash.Aggregation, lengths: list[int], values: list[int]
) -> None:
    given_values = [str(value) for value in values] if isinstance(aggregation, sash.Concat) else values
    shared, separate = YoungAndOld(aggregation, lengths), Separate(aggregation, lengths)
    for end, value in enumerate(given_values, 1):
        shared.insert(value)
        separate.insert(value)
        expected = [naive(aggregation, given_values[max(end - length, 0) : end]) for length in lengths]
        assert shared.query() == separate.query() == expected


@pytest.mark.parametrize("lengths", [[7], [3, 5, 9], [1, 2, 3, 4], [10, 100, 1000]])
def test_it_costs_and_holds_what_is_stated(lengths: list[int]) -> None:
    counted, k = Counted(sash.Max()), len(lengths)
    windows, inserts = YoungAndOld(counted, lengths), []
    for value in range(3 * max(lengths) + 50):
        before = counted.calls
        windows.insert(value)
        inserts.append(counted.calls - before)
        before = counted.calls
        windows.query()
        assert counted.calls - before <= 2 * k - 1
        assert windows.partials <= 2 * max(lengths) + 2 * k
    assert max(inserts) <= 5 * k and sum(inserts) <= 3 * k * len(inserts)


@pytest.mark.parametrize("lengths", [[], [0, 3], [3, 3], [5, 2]])
def test_lengths_rise(lengths: list[int]) -> None:
    with pytest.raises(ValueError, match="each more than the one before"):
        YoungAndOld(sash.Max(), lengths)
