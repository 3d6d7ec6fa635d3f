"""A compiled contender: an algorithm over a window, with its second thread where it has one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import numpy as np

import sash
from sash import Aggregation
from sash_experiments.compiled.aba import aba
from sash_experiments.compiled.daba import daba
from sash_experiments.compiled.daba_lite import daba_lite
from sash_experiments.compiled.flatfat import flatfat
from sash_experiments.compiled.loops import ANSWERS, PLACE, PROGRESS, by_slice, by_value
from sash_experiments.compiled.operations import Array, Operations, operations
from sash_experiments.compiled.pba import WAITS, pba
from sash_experiments.compiled.recalc import read_size, recalc
from sash_experiments.compiled.sba import CLOSED, sba
from sash_experiments.compiled.slick_deque import slick_deque
from sash_experiments.compiled.slick_moments import slick_moments
from sash_experiments.compiled.slide_side import slide_side
from sash_experiments.compiled.steps import Steps
from sash_experiments.compiled.two_stacks import two_stacks
from sash_experiments.compiled.two_stacks_lite import two_stacks_lite
from sash_experiments.contenders import UNCACHED

__all__ = ["ALGORITHMS", "Window", "is_admitted"]

ALGORITHMS: dict[str, Callable[[Operations], Steps]] = {
    "Recalc": recalc,
    "TwoStacks": two_stacks,
    "TwoStacksLite": two_stacks_lite,
    "ABA": aba,
    "DABA": daba,
    UNCACHED: partial(daba, cached=False),
    "DABALite": daba_lite,
    "FlatFAT": flatfat,
    "SlickDeque": slick_deque,
    "SlideSide": slide_side,
    "SBA": sba,
    "PBA": pba,
}
INVERTING = {"SlickDeque", "SlideSide"}
UNTIMED = None


def is_admitted(name: str, aggregation: Aggregation) -> bool:
    """Whether an algorithm of this name can merge the aggregation."""
    try:
        _built(name, aggregation, "values")
    except TypeError:  # it needs an inverse or a selective combine, and says so
        return False
    return True


@cache
def _built(name: str, aggregation: Aggregation, kind: str) -> tuple[Operations, Steps, Any]:
    """The operations, the steps and the loop of windows over ``kind``: values, their slices, or ready partials."""
    found = operations(aggregation, invertible=name in INVERTING and aggregation.invertible)
    moments = name == "SlickDeque" and type(aggregation) is sash.MomentSketch
    ready = found._replace(lift=found.copy)
    counts = name == "Recalc" and type(aggregation) is sash.Count
    steps = (slick_moments if moments else read_size if counts and kind == "values" else ALGORITHMS[name])(
        found if kind == "values" else ready
    )
    if kind == "slices":
        return found, steps, by_slice(found, steps)
    found = found if kind == "values" else ready
    return found, steps, by_value(found, steps)


@contextmanager
def _two_processors() -> Iterator[tuple[set[int], set[int]]]:
    """One for each thread, so that on a busy machine the two do not share one; this thread may use all again after."""
    if not hasattr(os, "sched_getaffinity"):  # Linux only
        yield set(), set()
        return
    allowed = os.sched_getaffinity(0)
    first, second = sorted(allowed)[0], sorted(allowed)[-1]
    try:
        yield {first}, {second}
    finally:
        os.sched_setaffinity(0, allowed)


def _bind(processors: set[int]) -> None:
    """Let this thread run on these only."""
    if processors:
        os.sched_setaffinity(0, processors)


class Window:
    """Windows W[range, slide] by the algorithm of this name; TypeError if it cannot merge the aggregation.

    ``answers`` is how many of the newest answers are kept, a power of two. With ``partials`` it takes rows of partials
    instead of values, at slide 1.
    """

    def __init__(
        self,
        name: str,
        aggregation: Aggregation,
        range: int,
        slide: int = 1,
        *,
        chunk: int | None = None,
        partials: bool = False,
        answers: int = 1,
    ) -> None:
        kind = "partials" if partials else "values" if slide == 1 else "slices"
        self.operations, self._steps, self._loop = _built(name, aggregation, kind)
        self._aggregation, self._partials = aggregation, partials
        self.range, self.slide = range, slide
        if name == "PBA" and chunk is None:
            chunk = sash.optimal_chunk(range, slide)
        size = range // slide
        self.state = self._steps.arrays(size) if chunk is None else self._steps.arrays(size, chunk)
        self._answers = self.operations.rows(answers)
        self._progress = np.zeros(PROGRESS, np.int64)
        self._open = self.operations.rows(2)
        if self._steps.second is not None:  # compile it now: the main thread waits for it
            self._stop(1)
            self._steps.second(self.state)

    @property
    def waits(self) -> int:
        """How often PBA's main thread has waited for ``lcs``."""
        return int(self.state[3][WAITS]) if self._steps.second is not None else 0

    @property
    def waits_percent(self) -> float | None:
        """Of how many of a hundred chunks; None if there is no second thread to wait for."""
        return None if self._steps.second is None else 100 * self.waits / max(int(self.state[0][CLOSED]), 1)

    def source(self, values: Sequence[Any]) -> Array:
        """Values as the loops take them."""
        return self.operations.source(values)

    def fill(self, source: Array) -> None:
        """Fill the window."""
        self._take(source, 0, 0, UNTIMED)  # compiles the loop while no second thread waits for it
        with self._second_thread():
            self._take(source, self.range, 0, UNTIMED)

    def run(self, source: Array, count: int, taken: Array | None = UNTIMED) -> None:
        """Take ``count`` values, on from where the source was left and again from its start after its end."""
        with self._second_thread():
            self._take(source, 0, count, taken)

    def _take(self, source: Array, fill: int, count: int, taken: Array | None) -> None:
        if self.slide == 1:
            self._loop(self.state, self._progress, source, fill, count, self._answers, taken)
        else:
            size, rest = divmod(self.range, self.slide)
            sizes = (size, self.slide, rest, fill + count)
            self._loop(self.state, self._progress, source, *sizes, self._answers, self._open)

    def results(self) -> list[Any]:
        """The newest results, oldest first."""
        made, room = int(self._progress[ANSWERS]), len(self._answers)
        return [self.operations.result(self._answers[i % room]) for i in range(max(made - room, 0), made)]

    def recalculated(self, source: Array) -> Any:
        """What the newest answer should be. The last value taken has to have completed a window."""
        window = Window("Recalc", self._aggregation, self.range, partials=self._partials)
        window._progress[PLACE] = (self._progress[PLACE] - self.range) % len(source)
        window.fill(source)
        return window.results()[0]

    @contextmanager
    def _second_thread(self) -> Iterator[None]:
        if self._steps.second is None:
            yield
            return
        self._stop(0)
        with _two_processors() as (here, there):

            def second() -> None:
                _bind(there)
                self._steps.second(self.state)

            thread = threading.Thread(target=second, name="lcs")
            thread.start()
            _bind(here)
            try:
                yield
            finally:
                self._stop(1)
                thread.join()

    def _stop(self, stopped: int) -> None:
        self._steps.stop(self.state, stopped)
