"""Users' own aggregations, and the check that tells them what they got wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sash
from sash.aggregations import Kind, LawError
from sash.aggregators import DABA, PBA, SlickDeque, SubtractOnEvict
from sash.testing import naive


def test_three_functions_are_enough() -> None:
    spread = sash.aggregation(
        "load",
        lift=lambda v: (v, v),
        combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
        lower=lambda p: p[1] - p[0],
        commutative=True,
    )
    assert PBA(spread, 3).insert_many([1, 5, 2, 2, 2]) == [4, 3, 0]
    assert spread.columns == ("load",) and spread.commutative and not spread.invertible
    assert spread.kind is Kind.ALGEBRAIC
    assert naive(spread, [None, 4, None]) == 0
    assert naive(spread, []) is None


def test_several_columns_are_several_arguments() -> None:
    weighted = sash.aggregation(
        ["price", "amount"],
        lift=lambda price, amount: (price * amount, amount),
        combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lower=lambda p: p[0] / p[1],
    )
    assert naive(weighted, [(2.0, 1), (None, 5), (4.0, 3), (4.0, None)]) == 3.5
    with pytest.raises(TypeError, match=r"aggregation\('price', 'amount'\) takes 2 values a row; got \(1, 2, 3\)"):
        weighted.lift((1, 2, 3))


def test_offers_are_taken_up() -> None:
    longest = sash.aggregation(lift=str, combine=lambda a, b: b if len(b) > len(a) else a, selective=True, empty="")
    window = SlickDeque(longest)
    window.insert_many(["aa", "b", "cccc", "dd"])
    assert window.query() == "cccc" and window.partials == 2
    window.evict_many(4)
    assert window.query() == ""
    total = sash.aggregation(lift=int, combine=lambda a, b: a + b, invert=lambda t, a: t - a)
    summed = SubtractOnEvict(total)
    summed.insert_many([1, 2, 3])
    summed.evict()
    assert summed.query() == 5


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"lift": None, "combine": max}, "lift must be a function; got None"),
        ({"lift": int, "combine": "max"}, "combine must be a function; got 'max'"),
        ({"lift": int, "combine": max, "invert": 0}, "invert must be a function; got 0"),
        ({"lift": int, "combine": max, "columns": [3]}, "takes column names"),
    ],
)
def test_what_is_not_a_function_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        sash.aggregation(**wrong)


class TestCheckLaws:
    def violations(self, samples: list[Any], **functions: Any) -> str:
        with pytest.raises(LawError) as caught:
            sash.check_laws(sash.aggregation(**functions), samples)
        (violation,) = caught.value.violations
        assert violation in str(caught.value)
        return str(violation)

    def test_not_associative(self) -> None:
        said = self.violations([8, 4, 1], lift=int, combine=lambda a, b: a - b)
        assert said.startswith("combine is not associative: with a = 8, b = 8, c = 8, (a ⊕ b) ⊕ c = -8 but")
        assert "a ⊕ (b ⊕ c) = 8" in said

    def test_associative_on_single_values_only(self) -> None:
        """A mean of means is right for two values; it takes merged partials to see that it is wrong."""
        said = self.violations([0, 2, 4], lift=float, combine=lambda a, b: (a + b) / 2)
        assert "not associative" in said

    def test_not_commutative(self) -> None:
        said = self.violations(["x", "y"], lift=str, combine=lambda a, b: a + b, commutative=True)
        assert said == "commutative=True does not hold: with a = 'x', b = 'y', a ⊕ b = 'xy' but b ⊕ a = 'yx'"

    def test_wrong_invert(self) -> None:
        said = self.violations(
            [1, 2], lift=int, combine=lambda a, b: a + b, invert=lambda total, oldest: total, commutative=True
        )
        assert said.startswith("invert is wrong: with a = 1, b = 1, a ⊕ b = 2, invert(a ⊕ b, a) = 2 but should be b")

    def test_invert_must_take_out_the_older_part(self) -> None:
        said = self.violations(
            ["x", "yy"], lift=str, combine=lambda a, b: a + b, invert=lambda total, a: total[: -len(a)]
        )
        assert said.startswith("invert is wrong: with a = 'x', b = 'yy'")

    def test_not_selective(self) -> None:
        said = self.violations([1, 2], lift=int, combine=lambda a, b: a + b, selective=True)
        assert said.startswith("selective=True does not hold: with a = 1, b = 1, a ⊕ b = 2 is neither")

    @pytest.mark.parametrize(("changed", "combine"), [
        ("first", lambda a, b: a.extend(b) or a),
        ("second", lambda a, b: b.insert(0, a[0]) or b),
    ])  # fmt: skip
    def test_a_changed_argument(self, changed: str, combine: Any) -> None:
        said = self.violations([1, 2], lift=lambda v: [v], combine=combine)
        assert said.startswith(f"combine changes its {changed} argument: it was [")

    def test_a_changed_object(self) -> None:
        class Box:
            def __init__(self, v: int) -> None:
                self.v = v

        def combine(a: Box, b: Box) -> Box:
            a.v += b.v
            return a

        assert self.violations([1, 2], lift=Box, combine=combine).startswith("combine changes its first argument")

    def test_returning_none(self) -> None:
        said = self.violations([1], lift=int, combine=lambda a, b: None)
        assert said.startswith("combine returns None, which stands for an empty window")

    def test_several_at_once(self) -> None:
        wrong = sash.aggregation(lift=int, combine=lambda a, b: a - b, commutative=True, selective=True)
        with pytest.raises(LawError) as caught:
            sash.check_laws(wrong, [3, 1])
        assert len(caught.value.violations) == 3

    def test_floats_may_differ_by_rounding(self) -> None:
        total = sash.aggregation(lift=float, combine=lambda a, b: a + b, commutative=True)
        sash.check_laws(total, [0.1, 0.2, 0.3, 1e16])

    def test_ones_own_equality(self) -> None:
        shouted = sash.aggregation(lift=str, combine=lambda a, b: (a + b).upper(), invert=lambda t, a: t[len(a) :])
        with pytest.raises(LawError, match="invert is wrong"):
            sash.check_laws(shouted, ["a", "b"])
        sash.check_laws(shouted, ["a", "b"], equal=lambda x, y: x.upper() == y.upper())

    def test_nothing_to_check(self) -> None:
        with pytest.raises(ValueError, match="needs at least one sample"):
            sash.check_laws(sash.Max(), [None])

    def test_window_results_follow_from_the_laws(self) -> None:
        """What check_laws passes, DABA gets right, though it merges in quite another order."""
        tent = sash.aggregation(lift=lambda v: (v, v), combine=lambda a, b: (a[0], b[1]), lower=lambda p: p[1] - p[0])
        sash.check_laws(tent, range(5))
        window = DABA(tent)
        window.insert_many([3, 9, 4, 8])
        window.evict()
        assert window.query() == -1


def test_functions_of_code_without_a_module() -> None:
    """As ``exec`` of a text makes them, in notebooks of some kinds."""
    names: dict[str, Any] = {"sash": sash}
    exec("largest = sash.aggregation('x', lift=lambda v: v, combine=lambda a, b: max(a, b))", names)
    query = sash.Query(windows=sash.sliding(2), aggregates={"x": names["largest"]})
    op = sash.Operator(query)
    assert [row["x"] for x in (3.0, 1.0, 2.0) for row in op.process({"x": x})] == [3.0, 2.0]
    assert sash.run(query, {"x": [3.0, 1.0, 2.0]})["x"] == [3.0, 2.0]
    assert sash.rolling(np.array([3.0, 1.0, 2.0]), names["largest"], 2).tolist() == [3.0, 2.0]
