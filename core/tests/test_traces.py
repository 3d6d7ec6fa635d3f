"""The worked examples of the papers, for readers who have them at hand.

The figures are images; what the text says of their states is asserted here, on the window 2, 6, 3, 5, 3 of the DABA
paper, to which 1 is inserted first.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

import sash
from sash.aggregators import ABA, DABA, FIFO, PBA, SBA, DABALite, FifoAggregator, FlatFAT, SubtractOnEvict, TwoStacks
from sash.testing import Counted, count_windows

# Figure 1:  (a) 2 6 3 5 3 → (b) evict → (c) insert 1 → (d) evict → (e) insert 0 → (f) evict → (g) insert 4 → …
STATES = {
    "a": [2, 6, 3, 5, 3],
    "b": [6, 3, 5, 3],
    "c": [6, 3, 5, 3, 1],
    "d": [3, 5, 3, 1],
    "e": [3, 5, 3, 1, 0],
    "f": [5, 3, 1, 0],
    "g": [5, 3, 1, 0, 4],
    "h": [3, 1, 0, 4],
    "i": [3, 1, 0, 4, 2],
}


def step_to(window: FifoAggregator, state: str) -> None:
    values = STATES[state]
    if len(window) == 5:
        window.evict()
    else:
        window.insert(values[-1])
    assert len(window) == len(values)
    assert window.query() == max(values)


@pytest.mark.parametrize("algorithm", [a for a in FIFO if a is not SubtractOnEvict])
def test_figure_1_the_sliding_window_data_type(algorithm: type[FifoAggregator]) -> None:
    window = algorithm(sash.Max())
    window.insert_many(STATES["a"])
    assert window.query() == 6
    for state in "bcdefghi":
        step_to(window, state)


def test_figure_3_two_stacks() -> None:
    window = TwoStacks(sash.Max())
    window.insert_many([9, 2, 6])
    window.evict()  # turns the back over: 2 and 6 are now the front
    window.insert_many([3, 5, 3])
    # (val, agg) from the bottom up; the oldest value is on top of the front
    assert window._front == [(6, 6), (2, 6)]
    assert window._back == [(3, 3), (5, 5), (3, 5)]
    for state in "bcde":
        step_to(window, state)
    assert window._front == []
    assert window._back == [(3, 3), (5, 5), (3, 5), (1, 5), (0, 5)]
    step_to(window, "f")  # flips, then pops 3
    assert window._front == [(0, 0), (1, 1), (3, 3), (5, 5)]
    assert window._back == []


def test_figure_9_aba() -> None:
    window = ABA(sash.Max())
    window.insert_many([9, 2, 6])
    window.evict()
    window.insert_many([3, 5, 3])

    def entries() -> tuple[list[int], list[int], int]:
        f, e = window._f, window._e
        return window._vals.between(f, e), window._aggs.between(f, e), window._b - f

    #                     F     B
    assert entries() == ([2, 6, 3, 5, 3], [6, 6, 3, 5, 5], 2)
    for state in "bcde":
        step_to(window, state)
    assert entries() == ([3, 5, 3, 1, 0], [3, 5, 5, 5, 5], 0)
    step_to(window, "f")  # only aggs were rewritten, and B is at the end
    assert entries() == ([5, 3, 1, 0], [5, 3, 1, 0], 4)


class TestFigure15:
    """DABA from state (a), with l_L = 6, l_R = 3, l_A = 5 3 and the front 2, whose sum reaches to the end."""

    # How the text of section 6.3 names the step into each state.
    STEPS = ("shrink", "ride", "ride", "ride", "flip, shrink", "shrink", "ride", "ride")

    @pytest.fixture
    def daba(self) -> DABA:
        window = DABA(sash.Max())
        self.reach_a(window)
        return window

    @staticmethod
    def reach_a(window: DABA | DABALite) -> None:
        """State (a) comes up when a flip of 3 and 3 values has gone two steps."""
        window.insert_many([9, 8, 2, 6, 3])
        window.evict()
        window.insert(5)
        window.insert(3)
        window.evict()

    @staticmethod
    def sizes(window: DABA | DABALite) -> dict[str, int]:
        pointers = [window._f, window._l, window._r, window._a, window._b, window._e]
        lengths = [high - low for low, high in pairwise(pointers)]
        return dict(zip(["front", "L", "R", "A", "B"], lengths, strict=True))

    def test_state_a(self, daba: DABA) -> None:
        assert self.sizes(daba) == {"front": 1, "L": 1, "R": 1, "A": 2, "B": 0}
        assert daba._vals.between(daba._f, daba._e) == [2, 6, 3, 5, 3]
        assert daba._aggs.between(daba._f, daba._e) == [6, 6, 3, 5, 3]

    @pytest.mark.parametrize("algorithm", [DABA, DABALite])
    def test_steps(self, algorithm: type[DABA | DABALite]) -> None:
        window = algorithm(sash.Max())
        self.reach_a(window)
        for state, step in zip("bcdefghi", self.STEPS, strict=True):
            before = self.sizes(window)
            boundary = window._b
            step_to(window, state)
            after = self.sizes(window)
            window._check()
            if step == "flip, shrink":
                assert window._b > boundary and after == {"front": 1, "L": 1, "R": 1, "A": 1, "B": 0}
            elif step == "shrink":
                assert (after["L"], after["R"], after["A"]) == (before["L"] - 1, before["R"] - 1, before["A"] + 1)
            else:
                assert (after["L"], after["R"], after["A"]) == (0, 0, before["A"] - 1)


class TestPBAFigures:
    VALUES = (3, 1, 4, 1, 5, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6)  # two chunks of W[10, 2]

    def test_figure_1_sum_over_w_10_2(self) -> None:
        window = SBA(sash.Sum(), 10, 2)
        assert window.insert_many(self.VALUES) == [sum(w) for w in count_windows(self.VALUES, 10, 2)]
        # a slice of 2 values is shared by 5 windows: 10 values cost 5 slices, not 25
        assert window.range // window.slide == 5

    def test_figure_2_max_over_w_10_2_in_chunks_of_5(self) -> None:
        window = SBA(sash.Max(), 10, 2, chunk=5)
        for value in self.VALUES[:10]:
            window.insert(value)
        assert window.query() == 6  # w0 begins at the boundary: csa alone
        (chunk,) = window._closed
        window.insert_many(self.VALUES[10:16])  # w1, w2, w3
        assert window._saa == [9, 9, 3] and window._csa == 9  # saa1 so far, csa1[2]
        assert chunk.lcs[1:] == [6, 6, 6, 5]  # lcs0[1] … lcs0[4], right to left over saa0 = 3 4 5 6 5
        assert window.query() == max(chunk.lcs[3], window._csa) == 9  # w3 = lcs0[3] ⊕ csa1[2]
        window.insert_many(self.VALUES[16:])
        assert window._closed[-1].lcs[0] == 9  # ca1 = csa1[4]

    def test_figure_3_chunks_of_4_in_w_16_1(self) -> None:
        """k = 4: window 1 is lcs0[1] ⊕ ca1 ⊕ ca2 ⊕ ca3 ⊕ csa4[0], five parts and four merges."""
        counted = Counted(sash.Concat(separator=""))
        window = SBA(counted, 16, 1, chunk=4)
        window.insert_many("abcdefghijklmnop")
        window.insert("q")
        first, *whole = window._closed
        first.complete()
        assert first.lcs[1] == "bcd"
        assert [chunk.lcs[0] for chunk in whole] == ["efgh", "ijkl", "mnop"]
        assert window._csa == "q"
        before = counted.calls
        assert window.query() == "bcdefghijklmnopq"
        assert counted.calls - before == 4

    def test_section_5_a_chunk_of_17_is_15_merges(self) -> None:
        counted = Counted(sash.Max())
        window = PBA(counted, 32, parallel=False)
        assert window.chunk == 17
        for value in range(34):
            window.insert(value)
        assert counted.calls == 32  # csa: one a value, but none for the first of a chunk
        window._closed[-1].complete()
        assert counted.calls == 32 + 15


class TestFlatFATFigures:
    def test_figure_4_updating_1_2_4_and_7_recomputes_six_nodes(self) -> None:
        counted = Counted(sash.Concat(separator=""))
        window = FlatFAT(counted)
        window.insert_many("abcdefgh")
        before = counted.calls
        leaves = {8 + slot: letter for slot, letter in ((0, "A"), (1, "B"), (3, "D"), (6, "G"))}
        changed = window._changes(leaves)
        assert counted.calls - before == 6
        assert sorted(set(changed) - set(leaves)) == [1, 2, 3, 4, 5, 7]
        assert changed[1] == "ABcDefGh"

    def test_figure_5_the_inverted_buffer(self) -> None:
        window = FlatFAT(sash.Concat(separator=""))

        def slots() -> list[str | None]:
            return window._tree[window._capacity :]

        def ends() -> tuple[int, int]:
            return window._front % 4 + 1, (window._end - 1) % 4 + 1  # F and B, from 1 as in the paper

        for event, (expected, front_back) in {
            "4": (["4", None, None, None], (1, 1)),
            "7": (["4", "7", None, None], (1, 2)),
            "3": (["4", "7", "3", None], (1, 3)),
            "2": (["4", "7", "3", "2"], (1, 4)),
        }.items():
            window.insert(event)
            assert (slots(), ends()) == (expected, front_back)
        window.evict()
        assert (slots(), ends()) == ([None, "7", "3", "2"], (2, 4))
        window.insert("9")
        assert (slots(), ends()) == (["9", "7", "3", "2"], (2, 1))
        assert window._tree[1] == "9732"  # what the root says is in the array's order, not the window's
        assert window.query() == "7329"  # suffix(F) ⊕ prefix(B)
