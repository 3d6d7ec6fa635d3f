"""Checks the laws of aggregations that the merging algorithms rely on, and shows values that break them.

The laws are checked on the lifted samples and on combinations of them: many a wrong ``combine`` is right on single
values, such as a mean of means.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, product
from typing import Any

from sash.aggregations.base import Aggregation

__all__ = ["LawError", "check_laws"]

_MOST_PARTIALS = 14  # 14³ = 2744 triples: thorough, and well under a second for a cheap combine


class LawError(ValueError):
    """An aggregation breaks laws that it must keep or claims to keep; ``violations`` lists them in words."""

    def __init__(self, aggregation: Aggregation, violations: list[str]) -> None:
        self.violations = violations
        super().__init__("\n  ".join([f"{aggregation!r} breaks what merging relies on:", *violations]))


def check_laws(
    aggregation: Aggregation, samples: Iterable[Any], equal: Callable[[Any, Any], bool] | None = None
) -> None:
    """Raise :class:`LawError`, with the values that prove it, unless ``aggregation`` keeps its laws on ``samples``.

    ``combine`` must be associative, not change its arguments and not return None; ``commutative``, ``selective`` and
    ``invert`` must hold if offered. ``equal`` compares results; by default floats may differ by a relative 1e-9. Costs
    some thousand calls of ``combine``, however many samples there are.

    >>> import sash
    >>> sash.check_laws(sash.Max(), [3, 1, 2])
    >>> mean = sash.aggregation(lift=float, combine=lambda a, b: (a + b) / 2)
    >>> sash.check_laws(mean, [0, 4, 8])
    Traceback (most recent call last):
    ...
    sash.aggregations.laws.LawError: aggregation() breaks what merging relies on:
      combine is not associative: with a = 0.0, b = 0.0, c = 4.0, (a ⊕ b) ⊕ c = 2.0 but a ⊕ (b ⊕ c) = 1.0
    """
    same = equal or alike
    partials, mutation = _partials(aggregation, samples)
    violations = [mutation] if mutation else []
    if not mutation:  # after a mutation, comparisons mean nothing
        for law in (_closed, _associative, _commutative, _selective, _invertible):
            violations += islice(law(aggregation, partials, same), 1)
    if violations:
        raise LawError(aggregation, violations)


def alike(a: Any, b: Any) -> bool:
    """Equality of values, tuples and lists, in which NaN equals NaN and floats may differ by a relative 1e-9."""
    if isinstance(a, float) or isinstance(b, float):
        try:
            return (a != a and b != b) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
        except TypeError:
            return False
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(alike, a, b))
    return bool(a == b)


def _partials(aggregation: Aggregation, samples: Iterable[Any]) -> tuple[list[Any], str | None]:
    """Lifted samples and combinations of neighbours, and a violation if ``combine`` changes its arguments."""
    lifted = [partial for partial in map(aggregation.lift, samples) if partial is not None][:_MOST_PARTIALS]
    if not lifted:
        raise ValueError("check_laws needs at least one sample that is not null")
    combined: list[Any] = []
    for a, b in zip(lifted, [*lifted[1:], lifted[0]], strict=True):
        before = copy.deepcopy((a, b))
        result = aggregation.combine(a, b)
        for name, now, then in (("first", a, before[0]), ("second", b, before[1])):
            if not _is_unchanged(now, then):
                return [], f"combine changes its {name} argument: it was {then!r} and is {now!r} after the call"
        combined.append(result)
    half = (_MOST_PARTIALS + 1) // 2
    return lifted[:half] + combined[: _MOST_PARTIALS - half], None


def _is_unchanged(now: Any, then: Any) -> bool:
    """Whether both are equal; objects without ``__eq__`` are compared by their contents."""
    if alike(now, then):
        return True
    state = getattr(now, "__dict__", None)
    without_equality = getattr(type(now), "__eq__", None) is object.__eq__
    return without_equality and state is not None and alike([*state.items()], [*vars(then).items()])


Same = Callable[[Any, Any], bool]


def _closed(aggregation: Aggregation, partials: list[Any], same: Same) -> Iterator[str]:
    for a, b in product(partials, repeat=2):
        if aggregation.combine(a, b) is None:
            yield f"combine returns None, which stands for an empty window: with a = {a!r}, b = {b!r}"


def _associative(aggregation: Aggregation, partials: list[Any], same: Same) -> Iterator[str]:
    combine = aggregation.combine
    for a, b, c in product(partials, repeat=3):
        left, right = combine(combine(a, b), c), combine(a, combine(b, c))
        if not same(left, right):
            yield (
                f"combine is not associative: with a = {a!r}, b = {b!r}, c = {c!r}, "
                f"(a ⊕ b) ⊕ c = {left!r} but a ⊕ (b ⊕ c) = {right!r}"
            )


def _commutative(aggregation: Aggregation, partials: list[Any], same: Same) -> Iterator[str]:
    combine = aggregation.combine
    for a, b in product(partials if aggregation.commutative else [], repeat=2):
        forth, back = combine(a, b), combine(b, a)
        if not same(forth, back):
            yield f"commutative=True does not hold: with a = {a!r}, b = {b!r}, a ⊕ b = {forth!r} but b ⊕ a = {back!r}"


def _selective(aggregation: Aggregation, partials: list[Any], same: Same) -> Iterator[str]:
    for a, b in product(partials if aggregation.selective else [], repeat=2):
        result = aggregation.combine(a, b)
        if result is not a and result is not b:
            yield f"selective=True does not hold: with a = {a!r}, b = {b!r}, a ⊕ b = {result!r} is neither of the two"


def _invertible(aggregation: Aggregation, partials: list[Any], same: Same) -> Iterator[str]:
    for a, b in product(partials if aggregation.invertible else [], repeat=2):
        total = aggregation.combine(a, b)
        rest = aggregation.invert(total, a)
        if not same(rest, b):
            yield (
                f"invert is wrong: with a = {a!r}, b = {b!r}, a ⊕ b = {total!r}, "
                f"invert(a ⊕ b, a) = {rest!r} but should be b"
            )
