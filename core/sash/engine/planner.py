"""The planner: which merging algorithm runs the windows of each lane, with what chunks, and why. Facts only.

:mod:`sash.engine.explain` puts them into words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import partial

from sash.aggregations.base import Kind
from sash.aggregators import AMTA, FIFO, FifoAggregator, TwoStacksLite
from sash.aggregators.chunk_size import BestChunk
from sash.aggregators.costs import MergeTime, merge_time
from sash.aggregators.pba import choose_second_thread, shared_pool
from sash.engine.decisions import Decisions, decide
from sash.engine.rows.aggregate_store import Chunks, Eager, Lazy, Queues, Store, half_or_less
from sash.engine.rows.bundle import Bundle
from sash.query import Query
from sash.query.html import preformatted
from sash.query.lanes import Lane, OwnWatermark, watermark_of
from sash.values.timestamps import nanoseconds
from sash.windows import Window

__all__ = ["LanePlan", "Plan", "Reason", "best_chunk", "chunk_of_batches", "merge_time_of", "plan"]

_BY_NAME = {algorithm.__name__.lower(): algorithm for algorithm in FIFO}
_FEW = 8
"""Up to so many slices, the sums that chunks hold of growing partials are hardly larger than the partials."""

_LEAST_CHUNK = 64
"""Batches keep no shorter chunks, unless that is asked for: their merges take less than keeping them."""


class Reason(Enum):
    """Why an algorithm runs a lane."""

    ASKED = "the query asks for it"
    SLIDE_POLICY = "it searches for what a slide policy lets go"
    LATE_TUPLES = "late tuples change slices"
    EARLY_RESULTS = "early results use slices of open windows"
    SPLIT_SLICES = "slices are split behind the watermark"
    VARYING_WINDOWS = "windows cover different numbers of slices"
    GROWING_PARTIALS = "partials grow with what they cover, and a tree holds few long ones"
    SECOND_THREAD = "a second thread helps"
    NO_SECOND_THREAD = "a second thread would not help"
    THREADS_ASKED = "as asked for"


@dataclass(frozen=True)
class LanePlan:
    """What was chosen for the windows of one order."""

    lane: Lane
    decisions: Decisions
    algorithm: str
    reason: Reason
    store: Callable[[Bundle], Store]
    detail: str = ""
    """What makes a second thread help or not."""
    asked: bool = False
    """Whether the query names the algorithm."""
    chunks: Mapping[str | None, int] = field(default_factory=dict)
    """How many slices the chunks have that a window is merged from, by its name; none without chunks."""
    parallel: bool = False
    """Whether a second thread computes ``lcs``."""


@dataclass(frozen=True)
class Plan:
    """What was chosen for a query; as a text, what ``explain`` says."""

    query: Query
    lanes: tuple[LanePlan, ...]

    @property
    def algorithm(self) -> str:
        """The merging algorithm of the first lane, mostly the only one."""
        return self.lanes[0].algorithm

    @property
    def slices(self) -> int:
        """The slices of the longest window of a fixed length; 0 if there is none. O(windows)."""
        return max(_longest(_windows(self.query, planned.lane)) for planned in self.lanes)

    def __str__(self) -> str:
        from sash.engine.explain import describe  # which needs this module

        return describe(self)

    def _repr_html_(self) -> str:
        return preformatted(str(self))


def plan(query: Query, own_watermark: OwnWatermark = True, parallel: bool | None = None) -> Plan:
    """Choose how to run ``query``. ``own_watermark``: tuples move it; else only who calls ``advance``. O(windows).

    ``parallel`` says whether PBA has its second thread; by default it does where that saves more than it costs.

    >>> import sash
    >>> peak = sash.Query(windows=sash.sliding(16), aggregates={"peak": sash.Max("load")}, algorithm="daba")
    >>> plan(peak).algorithm, plan(peak).lanes[0].reason.name
    ('DABA', 'ASKED')
    """
    return Plan(
        query,
        tuple(_plan_lane(query, lane, watermark_of(own_watermark, lane) is not None, parallel) for lane in query.lanes),
    )


def _plan_lane(query: Query, lane: Lane, own_watermark: bool, parallel: bool | None) -> LanePlan:
    decisions = decide(query, lane, own_watermark)
    name = query.algorithm_name
    windows = _windows(query, lane)
    if policies := [window for window in windows.values() if window.required_algorithm]:
        if name not in ("auto", "amta"):
            raise ValueError(f"algorithm {query.algorithm!r} cannot be used here: {policies[0]}, which AMTA finds out")
        if len(policies) == len(windows):
            return LanePlan(lane, decisions, "AMTA", Reason.SLIDE_POLICY, _queues(AMTA))
    changing = _changing(lane, decisions)
    if name in ("lazy", "eager", "fiba"):
        store, algorithm = (Lazy, "Lazy") if name == "lazy" else (Eager, "FiBA")
        return LanePlan(lane, decisions, algorithm, Reason.ASKED, _over(store), asked=True)
    if name == "auto" and changing is not None:
        return LanePlan(lane, decisions, "FiBA", changing, _over(Eager))
    vary = any(window.slices_vary for window in windows.values())
    if name == "auto" and query.together.kind is Kind.HOLISTIC and (vary or _longest(windows) > _FEW):
        return LanePlan(lane, decisions, "FiBA", Reason.GROWING_PARTIALS, _over(Eager))
    if name == "auto" and vary and changing is None:
        return LanePlan(lane, decisions, "TwoStacksLite", Reason.VARYING_WINDOWS, _queues(TwoStacksLite))
    if changing is not None:
        raise ValueError(
            f"algorithm {query.algorithm!r} cannot be used here: {changing.value}; use 'auto', 'eager' or 'lazy'"
        )
    if name in _BY_NAME:
        queue = _BY_NAME[name]
        queue(Bundle(query).merging)  # an algorithm that cannot serve the aggregates says so now
        return LanePlan(lane, decisions, queue.__name__, Reason.ASKED, _queues(queue), asked=True)
    return _plan_chunks(query, lane, decisions, name, parallel)


def _changing(lane: Lane, decisions: Decisions) -> Reason | None:
    """Why slices change after windows used them, or windows use them in any order; None: they do not."""
    if decisions.revises:
        return Reason.LATE_TUPLES
    if lane.early is not None:
        return Reason.EARLY_RESULTS
    return Reason.SPLIT_SLICES if decisions.forward else None


def _over(store: type[Lazy] | type[Eager]) -> Callable[[Bundle], Store]:
    return lambda bundle: store(bundle.merging)


def _queues(algorithm: type[FifoAggregator]) -> Callable[[Bundle], Store]:
    return lambda bundle: Queues(bundle.merging, algorithm)


def _plan_chunks(query: Query, lane: Lane, decisions: Decisions, name: str, asked: bool | None) -> LanePlan:
    """SBA, or PBA if its second thread helps."""
    windows = _windows(query, lane)
    sizes = _chunks_of_pba(query, windows)
    parallel, detail = False, "windows have no fixed length"
    settled = asked is not None and bool(sizes)
    if settled:
        parallel, detail = bool(asked), ""
    elif sizes:
        releases_gil = Bundle(query).merging.releases_gil
        parallel, detail = choose_second_thread(releases_gil, max(sizes.values()), lambda: merge_time_of(query))
    parallel = parallel and name != "sba"
    if not parallel:
        sizes = _shared_chunks(windows)
    chunk_of = partial(_largest_chunk, next(iter(sizes.values()))) if parallel and len(windows) == 1 else half_or_less
    reason = Reason.SECOND_THREAD if parallel else Reason.NO_SECOND_THREAD
    reason = Reason.THREADS_ASKED if settled else reason

    def store(bundle: Bundle) -> Store:
        return Chunks(bundle.merging, chunk_of, shared_pool() if parallel else None, _expected(windows))

    return LanePlan(
        lane,
        decisions,
        "PBA" if parallel or name == "pba" else "SBA",
        Reason.ASKED if name == "sba" else reason,
        store,
        detail,
        name != "auto",
        sizes,
        parallel,
    )


def _chunks_of_pba(query: Query, windows: Mapping[str | None, Window]) -> dict[str | None, int]:
    """The slices in the chunks of each window of a fixed length: b* of a single window, else what windows share."""
    ((name, window),) = windows.items() if len(windows) == 1 else ((None, None),)
    if window is None or window.slices_a_window is None or window.slices_a_window < 2:
        return _shared_chunks(windows)
    return {name: best_chunk(query, window).chunk}  # windows that cut slices in two never wait for fewer merges either


def _shared_chunks(windows: Mapping[str | None, Window]) -> dict[str | None, int]:
    covered = {name: window.slices_covered or 0 for name, window in windows.items()}
    return {name: half_or_less(slices) for name, slices in covered.items() if slices > 1}


def _largest_chunk(best: int, slices: int) -> int:
    """b*, but where windows are shorter, as the first ones and those with gaps are."""
    return best if best <= slices else half_or_less(slices)


def best_chunk(query: Query, window: Window) -> BestChunk:
    """b* of a window of a fixed length.

    By Theorem 1 on tuples, Theorem 2 on time. Elsewhere a slice takes one merge at least, so Theorem 1 of slices holds.

    >>> import sash
    >>> window = sash.sliding("1h", "1s")
    >>> query = sash.Query(window, {"max": sash.Max("x")}, time="ts", combine_time="2us")
    >>> best_chunk(query, window).chunk, best_chunk(query, sash.sliding(10240, 10)).chunk
    (3600, 931)
    """
    best = window.best_chunk(lambda: merge_time_of(query).ns)
    return BestChunk.of_counts(window.slices_a_window or 1, 1) if best is None else best


def chunk_of_batches(query: Query, lane: Lane, decisions: Decisions) -> int:
    """The slices of a chunk of PBA over batches: b* of the only window of a lane. 0: it has no use for chunks.

    Slices that windows have used must not change any more.

    >>> import sash
    >>> from sash.engine.decisions import decide
    >>> query = sash.Query(windows=sash.sliding(10240, 10), aggregates={"max": sash.Max("x")})
    >>> (lane,) = query.lanes
    >>> chunk_of_batches(query, lane, decide(query, lane))
    931
    """
    windows = _windows(query, lane)
    if query.algorithm_name == "sba" or len(windows) > 1 or _changing(lane, decisions) is not None:
        return 0
    (window,) = windows.values()
    chunk = best_chunk(query, window).chunk if window.slices_a_window else 0
    by_default = query.algorithm_name == "auto" and query.combine_time is None
    return chunk if chunk >= (_LEAST_CHUNK if by_default else 2) else 0


def merge_time_of(query: Query) -> MergeTime:
    """T of Theorem 2: the time of one merge of all aggregates of a query."""
    if query.combine_time is not None:
        return MergeTime(nanoseconds(query.combine_time), "given")
    return merge_time(query.together)


def _windows(query: Query, lane: Lane) -> dict[str | None, Window]:
    return {name: query.named[name] for name in lane.names}


def _expected(windows: Mapping[str | None, Window]) -> list[int]:
    """How many slices the windows will have, where that is certain before the first is complete."""
    exact = [window.exact_slices for window in windows.values()]
    return [] if len(exact) > 1 or exact[0] is None else [exact[0]]


def _longest(windows: Mapping[str | None, Window]) -> int:
    """The slices of the longest window of a fixed length; 0 if there is none."""
    return max((window.slices_a_window or 0 for window in windows.values()), default=0)
