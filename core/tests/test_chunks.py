"""Theorems 1 and 2: the chunk size is the largest at which PBA's main thread never waits, shown by simulation."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sash import optimal_chunk, optimal_chunk_time
from sash.values.timestamps import nanoseconds


def waits(n: int, b: int, lcs_ready: list[Fraction], window_ends: list[Fraction]) -> bool:
    """Does any window begun in a chunk of b slices end before the lcs element that it begins with is there?

    ``window_ends[j]`` is the time from the boundary to the end of the window that begins at slice j of the chunk.
    """
    return any(lcs_ready[j] > window_ends[j] for j in range(1, b))


def simulate_count(r: int, s: int, b: int) -> bool:
    """Both threads merge once per unit of time from the boundary on; lcs[b-1] is a slice and needs no merge."""
    n, m = divmod(r, s)
    ready = [Fraction(b - 1 - j) for j in range(b)]
    # the window begun at slice j needs values up to j·s + r - 1 of those counted from the chunk's begin; of these
    # b·s are before the boundary; value i after it (from 0) has been merged by time i
    ends = [Fraction(j * s + n * s + m - b * s - 1) for j in range(b)]
    return waits(n, b, ready, ends)


@pytest.mark.parametrize("s", range(1, 12))
def test_theorem_1_is_the_largest_chunk_without_waiting(s: int) -> None:
    for r in range(s, 150):
        n = r // s
        best = optimal_chunk(r, s)
        assert 1 <= best <= n
        assert n // best == 1
        assert not simulate_count(r, s, best)
        assert best == n or all(simulate_count(r, s, b) for b in range(best + 1, n + 1))


def test_theorem_1_examples_of_the_paper() -> None:
    assert optimal_chunk(2**5) == 17
    assert optimal_chunk(2**20) == 524289
    assert all(optimal_chunk(n, 1) == (n + 2) // 2 for n in range(3, 2000))


def simulate_time(r: Fraction, s: Fraction, t: Fraction, b: int) -> bool:
    """A slice takes s to arrive and t to be merged into csa; lcs[j] is there after b - j merges of t."""
    n, m = divmod(r, s)
    ready = [(b - j) * t for j in range(b)]
    begun = m + t if m else Fraction(0)
    ends = [(j + n - b) * (s + t) + begun for j in range(b)]
    return waits(int(n), b, ready, ends)


@settings(deadline=None, max_examples=300)
@given(
    s=st.fractions(Fraction(1, 10), 20, max_denominator=10),
    n=st.integers(1, 60),
    rest=st.fractions(0, Fraction(99, 100), max_denominator=100),
    t=st.fractions(0, 30, max_denominator=10),
)
def test_theorem_2_is_the_largest_chunk_without_waiting(s: Fraction, n: int, rest: Fraction, t: Fraction) -> None:
    r = n * s + rest * s
    # exact in floats is not needed: the function takes what it is given exactly
    best = _chunk_time(r, s, t)
    assert 1 <= best <= n and n // best == 1
    assert not simulate_time(r, s, t, best)
    assert best == n or simulate_time(r, s, t, best + 1)


def _chunk_time(r: Fraction, s: Fraction, t: Fraction) -> int:
    scale = r.denominator * s.denominator * t.denominator
    return optimal_chunk_time(int(r * scale), int(s * scale), int(t * scale))


@settings(deadline=None, max_examples=300)
@given(data=st.data(), s=st.integers(1, 12), r=st.integers(1, 200))
def test_theorem_1_holds_however_tuples_arrive(data: st.DataObject, s: int, r: int) -> None:
    """Each tuple takes the main thread one merge, and comes when it does: gaps only give the other thread more time."""
    r = max(r, s)
    n, m = divmod(r, s)
    best = optimal_chunk(r, s)
    gaps = data.draw(st.lists(st.integers(0, 9), max_size=40), label="idle merges before a tuple")

    def waits_with(b: int, gaps: list[int]) -> bool:
        done, at = [], 0
        for i in range((2 * b + n + 2) * s + m):
            at += 1 + (gaps[i % len(gaps)] if gaps else 0)
            done.append(at)
        boundary = done[2 * b * s - 1]
        # the tuple that completes the window of slice b + j is still to be merged when lcs[j] is needed
        return any(done[(b + j) * s + r - 1] - 1 < boundary + b - 1 - j for j in range(1, b))

    assert not waits_with(best, [])
    assert not waits_with(best, gaps)
    assert best == n or waits_with(best + 1, [])


@settings(deadline=None, max_examples=300)
@given(
    s=st.fractions(Fraction(1, 10), 20, max_denominator=10),
    n=st.integers(1, 60),
    rest=st.fractions(0, Fraction(99, 100), max_denominator=100),
    t=st.fractions(0, 30, max_denominator=10),
    delays=st.lists(st.fractions(0, 30, max_denominator=10), min_size=1, max_size=20),
)
def test_theorem_2_holds_however_slices_are_delayed(
    s: Fraction, n: int, rest: Fraction, t: Fraction, delays: list[Fraction]
) -> None:
    """A slice takes s to arrive, more if tuples are delayed, and t to be merged."""
    m = rest * s
    best = _chunk_time(n * s + m, s, t)

    def waits_with(b: int, delays: list[Fraction]) -> bool:
        ends, at = [Fraction(0)], Fraction(0)
        for i in range(2 * b + n):
            at += s + t + delays[i % len(delays)]
            ends.append(at)  # of slice i, merged
        boundary, begun = ends[b], m + t if m else Fraction(0)
        return any(ends[j + n] + begun < boundary + (b - j) * t for j in range(1, b))

    assert not waits_with(best, [Fraction(0)])
    assert not waits_with(best, delays)
    assert best == n or waits_with(best + 1, [Fraction(0)])


def test_theorem_2_takes_durations_and_numbers() -> None:
    assert optimal_chunk_time("1h", "10ms", "100ns") == optimal_chunk_time(36 * 10**11, 10**7, 100)
    assert optimal_chunk_time(timedelta(hours=1), "10ms", "100ns") == optimal_chunk_time("1h", "10ms", "100ns")
    assert optimal_chunk_time(3600.0, 0.01, 0.0) == 3600 // 0.01  # free merges never make anyone wait
    # slow merges: csa and lcs advance alike, so the chunk is half a window, as for W[n, 1]
    assert optimal_chunk_time(1000, 1, 10**9) == 501


@pytest.mark.parametrize(
    ("r", "s", "error", "words"),
    [
        (5, 10, ValueError, "range 5 is below slide 10"),
        (0, 1, ValueError, "range must be at least 1"),
        (4, 0, ValueError, "slide must be at least 1"),
        (-3, 1, ValueError, "range must be at least 1; got -3"),
        (2.5, 1, TypeError, "range must be a whole number"),
        (True, 1, TypeError, "range must be a whole number"),
        (None, 1, TypeError, "range must be a whole number"),
        (float("nan"), 1, TypeError, "range must be a whole number"),
        ("10", 1, TypeError, "range must be a whole number"),
    ],
)
def test_a_window_that_is_none_is_refused(r: int, s: int, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        optimal_chunk(r, s)


@pytest.mark.parametrize(
    ("r", "s", "t", "error", "words"),
    [
        (1, 2, 1, ValueError, "range 1 is below slide 2"),
        (1, 0, 1, ValueError, "slide must be above 0"),
        (2, 1, -1, ValueError, "combine_time must not be negative"),
        (2, 1, float("nan"), TypeError, "combine_time must be a finite number"),
        (2, 1, None, TypeError, "combine_time must be a finite number"),
        ("1h", 1, "1ns", TypeError, "all numbers or all durations"),
        ("1 fortnight", "1h", "1ns", ValueError, "'1 fortnight' is not a duration"),
    ],
)
def test_a_time_window_that_is_none_is_refused(
    r: object, s: object, t: object, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        optimal_chunk_time(r, s, t)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1ns", 1), ("2us", 2000), ("2µs", 2000), ("1.5s", 15 * 10**8), ("1h30m", 5400 * 10**9), ("2 d", 172800 * 10**9)],
)
def test_durations(text: str, expected: int) -> None:
    assert nanoseconds(text) == expected


@pytest.mark.parametrize("text", ["", "h", "10", "1h x", "-1s", "0.5ns", "1e3s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a"):
        nanoseconds(text)
