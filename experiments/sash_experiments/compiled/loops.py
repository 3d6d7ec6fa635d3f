"""The loops that drive an algorithm: each takes values, and answers after each, or after each slide.

Both write the newest answers into a ring, so that no answer can be left out by the compiler. Where there is room in
``taken``, the ticks of each step are written there; reading the counter twice is in them.
"""

from __future__ import annotations

from typing import Any

from sash_experiments.compiled.atomics import ticks
from sash_experiments.compiled.jit import loop
from sash_experiments.compiled.operations import Operations
from sash_experiments.compiled.registers import hold
from sash_experiments.compiled.steps import Steps

__all__ = ["ANSWERS", "PLACE", "PROGRESS", "by_slice", "by_value"]

PLACE, ANSWERS, SLICES, FILLED = 0, 1, 2, 3  # places in ``progress``
PROGRESS = 4  # its length


def by_value(operations: Operations, steps: Steps) -> Any:
    """Of windows over what ``source`` holds, at slide 1: the first ``fill`` fill the window, the last of them answers.

    ``progress`` keeps where in the source the next value is, and how many answers there have been.
    """
    lower, insert, evict, query = operations.lower, steps.insert, steps.evict, steps.query
    take, leave = hold(steps)

    @loop
    def run(kept: Any, progress: Any, source: Any, fill: int, count: int, answers: Any, taken: Any) -> None:
        state = take(kept)
        place, made, mask = progress[PLACE], progress[ANSWERS], answers.shape[0] - 1
        for i in range(fill):
            insert(state, source, place)
            place = place + 1 if place + 1 < source.shape[0] else 0
            if i == fill - 1:
                query(state, answers, made & mask)
                lower(answers, made & mask)
                made += 1
        for i in range(count):
            if taken is not None:
                before = ticks()
            evict(state)
            insert(state, source, place)
            query(state, answers, made & mask)
            lower(answers, made & mask)
            if taken is not None:
                taken[i] = ticks() - before
            place = place + 1 if place + 1 < source.shape[0] else 0
            made += 1
        leave(state, kept)
        progress[PLACE], progress[ANSWERS] = place, made

    return run


def by_slice(operations: Operations, steps: Steps) -> Any:
    """Of windows of ``size`` slices of ``slide`` values and ``rest`` more: ``count`` values, first made into slices.

    The algorithm takes slices, so its ``lift`` is ``copy``; ``open_slice`` has a row for the slice and one for a value.
    """
    lift, absorb, lower = operations.lift, operations.absorb, operations.lower
    insert, evict, query = steps.insert, steps.evict, steps.query
    take, leave = hold(steps)

    @loop
    def run(
        kept: Any,
        progress: Any,
        source: Any,
        size: int,
        slide: int,
        rest: int,
        count: int,
        answers: Any,
        open_slice: Any,
    ) -> None:
        state = take(kept)
        place, made, slices, filled = progress[PLACE], progress[ANSWERS], progress[SLICES], progress[FILLED]
        mask = answers.shape[0] - 1
        for _ in range(count):
            lift(open_slice, min(filled, 1), source, place)
            if filled:
                absorb(open_slice, 0, open_slice, 1)
            place = place + 1 if place + 1 < source.shape[0] else 0
            filled += 1
            if filled == slide:
                if slices >= size:
                    evict(state)
                insert(state, open_slice, 0)
                slices += 1
                filled = 0
            if filled == rest and slices >= size:
                query(state, answers, made & mask)
                if rest:
                    absorb(answers, made & mask, open_slice, 0)
                lower(answers, made & mask)
                made += 1
        leave(state, kept)
        progress[PLACE], progress[ANSWERS], progress[SLICES], progress[FILLED] = place, made, slices, filled

    return run
