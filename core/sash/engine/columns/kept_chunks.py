"""PBA over batches: ``lcs`` is kept from batch to batch, and another thread computes it as soon as a chunk is closed.

The slices of a key are numbered, and every b of them are a chunk. A window that begins in a chunk is an element of its
``lcs`` and one of ``csa``, which goes on from the chunk's edge:

    slices of a key     | chunk 0 . . . . . . | chunk 1 . . . . . . | chunk 2 . . .
    main thread            a batch │ a batch │ a batch │ a batch │ a batch
    second thread                              lcs of chunk 0        lcs of chunk 1
    a window                        [lcs ─────|── csa ────]

Without it each batch computes again what its windows need, most of it from slices that earlier batches brought, if
windows are long beside the rows of a batch. All that is kept is derived from slices: an operator that is restored
computes it again.

Nothing is changed in place, so a call that is undone leaves what was kept before it as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from sash.aggregations.base import Kind
from sash.aggregators.costs import MergeTime, merge_time
from sash.aggregators.pba import WAITING, choose_second_thread, shared_pool, why_no_thread
from sash.engine.planner import merge_time_of
from sash.kernels.ranges.partials import Partials, RangeTotals, take
from sash.kernels.tiers import COMPILE_ROWS
from sash.query import Query

__all__ = ["KeptChunks", "SecondThread", "Slices"]

Array = np.ndarray[Any, Any]


class Slices(NamedTuple):
    """The slices that are held: the partials of one aggregate, where each key's begin, and the number of its first."""

    partials: Partials
    begins: Array
    numbers: Array


class _Lcs:
    """``lcs`` of a chunk from slice number ``first`` on, computed when it is asked for, or before by a ``pool``.

    Once it is there it lets go of what it was computed from: views of a table of slices, all of which they would keep.
    """

    __slots__ = ("_compute", "_elements", "_task", "first")

    def __init__(self, first: int, compute: Callable[[], Any], pool: Executor | None = None) -> None:
        self.first = first
        self._compute: Callable[[], Any] | None = compute
        self._elements: Any = None
        self._task = None if pool is None else pool.submit(self._run)

    def _run(self) -> None:
        if self._compute is not None:
            self._elements = self._compute()
            self._compute = None

    def elements(self) -> Any:
        """Wait for it, or compute it if no thread has begun to."""
        task = self._task
        if task is None or task.cancelled():
            self._run()
        elif task.done():
            task.result()  # which raises what combine has raised
        else:
            begin = perf_counter()
            if task.cancel():
                self._run()
            else:
                task.result()
            WAITING.add(perf_counter() - begin)
        self._task = None
        return self._elements


class _OfKey(NamedTuple):
    """What is kept of a key: the ``lcs`` of chunks by their number, and ``csa`` from ``edge`` to before ``known``."""

    lcs: Mapping[int, _Lcs]
    edge: int = -1
    known: int = -1
    csa: Partials = ()


@dataclass(frozen=True)
class KeptChunks:
    """What one aggregate keeps, by key. Chunks have ``length`` slices."""

    length: int
    keys: Mapping[int, _OfKey] = field(default_factory=dict)

    def totals(self, form: Any, slices: Slices, codes: Array, lo: Array, hi: Array) -> tuple[RangeTotals, KeptChunks]:
        """The results of slices lo[i] … hi[i] - 1 of key codes[i] for each i, as ``form.totals``, and what to keep.

        The slices before the last ``hi`` of a key must not change any more. Bounds of a key must never go back. At most
        1 merge a window, and for each slice 1 of ``csa`` and 1 of ``lcs``, or 2 and 1 where chunks are shorter than
        windows.
        """
        back = None
        if (codes[1:] < codes[:-1]).any():
            order = np.argsort(codes, kind="stable")
            codes, lo, hi, back = codes[order], lo[order], hi[order], np.argsort(order)
        outputs, keys, merges = form.outputs(len(lo)), dict(self.keys), 0
        runs: list[tuple[int, int, int, _Run]] = []
        for begin, end in _runs(codes):
            key = int(codes[begin])
            shift = int(slices.numbers[key] - slices.begins[key])
            run = _Run(form, slices.partials, shift, self.length, keys.get(key, _OfKey({})))
            run.begin(lo[begin:end], hi[begin:end], bool(runs))
            runs.append((key, begin, end, run))
        for key, begin, end, run in runs:
            run.fill(outputs, begin, lo[begin:end], hi[begin:end])
            keys[key] = run.end()
            merges += run.merges
        results, nulls = form.results(outputs, back)
        return RangeTotals(results, nulls, merges), replace(self, keys=keys)


def _runs(numbers: Array) -> Iterator[tuple[int, int]]:
    """Begin and end of each run of equal numbers."""
    return pairwise([0, *(np.flatnonzero(numbers[1:] != numbers[:-1]) + 1).tolist(), len(numbers)])


class _Run:
    """The windows of one key in one batch. Slices are meant by their number, ``shift`` more than their place."""

    def __init__(self, form: Any, partials: Partials, shift: int, length: int, kept: _OfKey) -> None:
        self._form, self._partials, self._shift, self._length = form, partials, shift, length
        self._kept = kept
        self._lcs = dict(kept.lcs)
        self._low = 0
        self.merges = 0

    def begin(self, lo: Array, hi: Array, busy: bool) -> None:
        """Have another thread begin with the ``lcs`` that windows need; ``busy``: this one has other work first."""
        low, last = lo + self._shift, int(hi[-1]) + self._shift
        for chunk in np.unique(low // self._length).tolist():
            if chunk not in self._lcs and busy and (chunk + 1) * self._length < last:
                self._lcs[chunk] = self._begin(chunk, max(int(low[0]), chunk * self._length))
            busy = True

    def fill(self, outputs: Any, place: int, lo: Array, hi: Array) -> None:
        """Put the results of windows into the outputs, from a place on."""
        low, high = lo + self._shift, hi + self._shift
        chunks = low // self._length
        self._low = int(low[-1])
        for begin, end in _runs(chunks):
            chunk = int(chunks[begin])
            edge = (chunk + 1) * self._length
            behind = begin + int(np.searchsorted(high[begin:end], edge, "right"))
            if begin < behind:  # they end in the chunk that they begin in
                which, part = slice(place + begin, place + behind), slice(begin, behind)
                self.merges += self._form.fill_ranges(outputs, which, self._partials, lo[part], hi[part])
            if behind < end:
                which = slice(place + behind, place + end)
                self._fill_chunk(outputs, which, chunk, low[behind:end], high[behind:end])

    def end(self) -> _OfKey:
        """What is to be kept for the windows to come; their ``lcs`` is begun if all of its chunk is there."""
        first, known = self._low // self._length, self._kept.known
        for chunk in [chunk for chunk in self._lcs if chunk < first]:
            del self._lcs[chunk]
        for chunk in range(first, known // self._length):
            if chunk not in self._lcs:
                self._lcs[chunk] = self._begin(chunk, max(self._low, chunk * self._length))
        return self._kept._replace(lcs=self._lcs)

    def _fill_chunk(self, outputs: Any, which: slice, chunk: int, low: Array, high: Array) -> None:
        """Windows that begin in a chunk and end behind it."""
        kept, edge, last = self._kept, (chunk + 1) * self._length, int(high[-1])
        lcs = self._lcs.get(chunk)
        if lcs is None or lcs.first > low[0]:
            lcs = self._lcs[chunk] = _Lcs(int(low[0]), self._suffixes(chunk, int(low[0])))
        known, csa = kept.known, kept.csa
        if kept.edge != edge or known > high[0]:
            known, csa = edge + 1, self._slices(edge, edge + 1)
        slices = self._slices(known, last)
        csa, merges = self._form.fill_chunk(outputs, which, lcs.elements(), csa, slices, low - lcs.first, high - known)
        self.merges += merges
        self._kept = kept._replace(edge=edge, known=last, csa=csa)

    def _begin(self, chunk: int, first: int) -> _Lcs:
        """Have another thread compute ``lcs``."""
        WAITING.tasks += 1
        return _Lcs(first, self._suffixes(chunk, first), shared_pool())

    def _suffixes(self, chunk: int, first: int) -> Callable[[], Any]:
        """What computes ``lcs`` of a chunk from a slice on."""
        end = (chunk + 1) * self._length
        self.merges += end - first - 1
        return partial(self._form.suffixes, self._slices(first, end))

    def _slices(self, first: int, end: int) -> Partials:
        return take(self._partials, slice(first - self._shift, end - self._shift))


_HANDOVERS = 3
"""To keep a chunk costs so many times what handing one over does: each batch calls more kernels for each key."""


class SecondThread:
    """The choice for each aggregate of a lane, by its name, once it can be made. ``chunk``: the slices of a chunk.

    Compiled merges are measured as they run. With the choices of the same costs rows are the same.
    """

    def __init__(self, query: Query, chunk: int) -> None:
        self.chunk = chunk
        self._by_costs = query.algorithm_name != "pba"
        self._given = None if query.combine_time is None else merge_time_of(query)
        self._choices: dict[str, tuple[bool, str]] = {}

    def pays(self, name: str, aggregate: Any) -> bool:
        """Whether to keep ``lcs`` of this aggregate. O(1)."""
        choice = self._choices.get(name)
        if choice is None and (choice := self._choose(aggregate.aggregation, aggregate.form)) is not None:
            self._choices[name] = choice
        return choice is not None and choice[0]

    def _choose(self, aggregation: Any, form: Any) -> tuple[bool, str] | None:
        """None: nothing has been measured so far."""
        if aggregation.kind is Kind.HOLISTIC:
            return False, "partials grow with what they cover"
        measured = not form.compiled or form.merge_ns is not None or self._given is not None
        if self._by_costs and not measured:
            return None
        if (reason := why_no_thread()) is not None:
            return False, reason
        if not self._by_costs:
            return True, "as asked for"
        native = form.compiled or aggregation.releases_gil or aggregation.flat() is not None
        return choose_second_thread(native, self.chunk, lambda: self._merge_time(aggregation, form), _HANDOVERS)

    def _merge_time(self, aggregation: Any, form: Any) -> MergeTime:
        if self._given is not None:
            return self._given
        return MergeTime(max(1, round(form.merge_ns)), "measured") if form.compiled else merge_time(aggregation)

    def words(self, name: str) -> str:
        """What was chosen and why, in words."""
        if name not in self._choices:
            return f"SBA: no merges have been measured yet, as they are once {COMPILE_ROWS:,} rows have come"
        parallel, reason = self._choices[name]
        helps = "a second thread keeps lcs" if parallel else "a second thread would not help"
        return f"{'PBA' if parallel else 'SBA'}, chunks of {self.chunk} slices: {helps}: {reason}"
