"""How a query is run, and why: the planner, and what ``explain`` tells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sash import aggregators
from sash.aggregations.base import Kind
from sash.aggregators import AMTA, FIFO, PBA, FifoAggregator
from sash.aggregators.chunk_size import optimal_chunk
from sash.aggregators.thread_pool import shared_pool
from sash.engine.decisions import Decisions, Removal, decide, unsupported
from sash.engine.rows.aggregate_store import Chunks, Eager, Lazy, Queues, Store, half_or_less
from sash.engine.rows.bundle import Bundle
from sash.query import Query
from sash.query.lanes import Lane, OwnWatermark, watermark_of
from sash.windows import Window

__all__ = ["LanePlan", "Plan", "explain", "plan"]

_BY_NAME = {algorithm.__name__.lower(): algorithm for algorithm in FIFO}
_FEW = 8
"""Up to so many slices, all sums that chunks hold of growing partials are hardly more than the partials themselves."""
_NAMES = ("auto", "lazy", "eager", "sba", "pba", "fiba", *_BY_NAME)


@dataclass(frozen=True)
class LanePlan:
    """What was chosen for the windows of one order."""

    lane: Lane
    decisions: Decisions
    algorithm: str
    reason: str
    store: Callable[[Bundle], Store]


@dataclass(frozen=True)
class Plan:
    """What was chosen for a query; as a text, what ``explain`` tells."""

    query: Query
    lanes: tuple[LanePlan, ...]

    @property
    def algorithm(self) -> str:
        """The merging algorithm of the first lane, mostly the only one."""
        return self.lanes[0].algorithm

    @property
    def slices(self) -> int:
        """The slices of the longest window of a fixed length; 0 if there is none."""
        return max(_longest(self.query, each.lane) for each in self.lanes)

    def __str__(self) -> str:
        return "\n".join(line for lane in self.lanes for line in _lines(self.query, lane, len(self.lanes) > 1))


def plan(query: Query, own_watermark: OwnWatermark = True) -> Plan:
    """Choose how to run ``query``. O(windows). ``own_watermark``: tuples move it; else only who calls ``advance``.

    >>> import sash
    >>> peak = sash.Query(windows=sash.sliding(16), aggregates={"peak": sash.Max("load")}, algorithm="daba")
    >>> plan(peak).algorithm
    'DABA'
    """
    return Plan(
        query, tuple(_plan_lane(query, lane, watermark_of(own_watermark, lane) is not None) for lane in query.lanes)
    )


def _plan_lane(query: Query, lane: Lane, own_watermark: bool) -> LanePlan:
    decisions = decide(query, lane, own_watermark)
    name = query.algorithm.lower().replace("_", "") if isinstance(query.algorithm, str) else ""
    if name not in _NAMES:
        raise ValueError(
            f"algorithm must be 'auto' or one of {', '.join(map(repr, _NAMES[1:]))}; got {query.algorithm!r}"
        )
    bundle = Bundle(query)
    if policies := [query.named[each] for each in lane.names if query.named[each].required_algorithm]:
        if name not in ("auto", "amta"):
            raise ValueError(f"algorithm {query.algorithm!r} cannot be used here: {policies[0]}, which AMTA finds out")
        if len(policies) == len(lane.names):
            why = "it searches for what a slide policy lets go"
            return LanePlan(lane, decisions, "AMTA", why, _queues(AMTA))
    changing = decisions.revises or decisions.forward
    why = "slices change when tuples come late" if decisions.revises else "slices are split behind the watermark"
    if name in ("lazy", "eager", "fiba") or (name == "auto" and changing):
        store, algorithm = (Lazy, "Lazy") if name == "lazy" else (Eager, "FiBA")
        return LanePlan(lane, decisions, algorithm, why if name == "auto" else "as asked for", _over(store))
    if name == "auto" and query.together.kind is Kind.HOLISTIC and _longest(query, lane) > _FEW:
        why = "partials grow with what they cover, and a tree holds few long ones"
        return LanePlan(lane, decisions, "FiBA", why, _over(Eager))
    if changing:
        raise ValueError(f"algorithm {query.algorithm!r} cannot be used here: {why}; use 'auto', 'eager' or 'lazy'")
    if name in _BY_NAME:
        queue = _BY_NAME[name]
        queue(bundle.merging)  # an algorithm that cannot serve the aggregates says so now
        return LanePlan(lane, decisions, queue.__name__, "as asked for", _queues(queue))
    return _chunked(query, lane, decisions, name, bundle)


def _over(store: type[Lazy] | type[Eager]) -> Callable[[Bundle], Store]:
    return lambda bundle: store(bundle.merging)


def _queues(algorithm: type[FifoAggregator]) -> Callable[[Bundle], Store]:
    return lambda bundle: Queues(bundle.merging, algorithm)


def _chunked(query: Query, lane: Lane, decisions: Decisions, name: str, bundle: Bundle) -> LanePlan:
    """SBA, or PBA if its second thread is of use."""
    longest = _longest(query, lane)
    parallel, reason = False, "windows have no fixed length"
    if longest:
        pba = PBA(bundle.merging, longest)
        parallel, reason = pba.parallel, pba.reason
    asked = "as asked for, " if name != "auto" else ""
    if name != "sba" and parallel:
        fixed = len(lane.names) == 1

        def in_two_threads(bundle: Bundle) -> Store:
            return Chunks(bundle.merging, optimal_chunk_of if fixed else None, shared_pool(), _expected(query, lane))

        return LanePlan(lane, decisions, "PBA", f"{asked}a second thread helps: {reason}", in_two_threads)
    reason = f"{asked}PBA's second thread would not help: {reason}" if name != "sba" else "as asked for"

    def in_one_thread(bundle: Bundle) -> Store:
        return Chunks(bundle.merging, expected=_expected(query, lane))

    return LanePlan(lane, decisions, "PBA" if name == "pba" else "SBA", reason, in_one_thread)


def optimal_chunk_of(slices: int) -> int:
    """Theorem 1 for windows of so many slices."""
    return optimal_chunk(slices, 1)


def _expected(query: Query, lane: Lane) -> list[int]:
    """How many slices windows will have, where that is sure before the first is complete."""
    slices = query.named[lane.names[0]].exact_slices
    return [] if len(lane.names) > 1 or slices is None else [slices]


def _longest(query: Query, lane: Lane) -> int:
    """The slices of the longest window of a fixed length; 0 if there is none."""
    return max((query.named[name].slices_a_window or 0 for name in lane.names), default=0)


def _lines(query: Query, plan: LanePlan, titled: bool) -> Iterator[str]:
    lane, decisions = plan.lane, plan.decisions
    windows = {name: query.named[name] for name in lane.names}
    if titled:
        yield f"in the order of {lane.order or 'arrival'}"
    for name, window in list(windows.items())[:5]:
        named = "" if name is None else f"{name}: "
        yield f"windows    {named}{window.explain_words(lane.order is None)}"
    if len(windows) > 5:
        yield f"           … and {len(windows) - 5} more, all sharing the same slices"
    yield f"order      {_order(lane, decisions)}"
    for name, window in list(windows.items())[:5]:
        if window.slices_a_window is not None:
            yield f"slices     {'' if name is None else name + ': '}{window.slices_words()}"
    yield f"tuples     {_tuples(decisions)}"
    yield f"algorithm  {plan.algorithm}: {plan.reason}"
    yield from _chunk_line(plan, windows)
    yield f"merges     {_merges(plan.algorithm)}"
    yield f"state      {_state(query, windows)}"
    yield f"compiled   {_compiled(query, lane)}"


def _order(lane: Lane, decisions: Decisions) -> str:
    if lane.order is None:
        return "that of arrival: nothing is late"
    late = f"; results are corrected for {lane.lateness} more" if lane.lateness else "; what comes later is dropped"
    unit = " ns" if lane.unit == "duration" else ""
    return f"by {lane.order}, the watermark {lane.delay}{unit} behind the newest{late}{unit if lane.lateness else ''}"


def _tuples(decisions: Decisions) -> str:
    if not decisions.keeps:
        return f"dropped once they are in their slice: {decisions.why}"
    until = "kept in their slice" if decisions.slices_keep else "kept until the watermark reaches them"
    removal = {way for way in decisions.removal if way is not Removal.NEVER} if decisions.revises else set()
    ways = " and ".join(sorted(way.value for way in removal))
    return f"{until}: {decisions.why}" + (f"; a late one shifts others to the next slice {ways}" if ways else "")


def _chunk_line(plan: LanePlan, windows: dict[str | None, Window]) -> Iterator[str]:
    counts = [count for window in windows.values() if (count := window.slices_a_window) is not None and count > 1]
    if plan.algorithm not in ("SBA", "PBA") or not counts:
        return
    longest = max(counts)
    best = optimal_chunk(longest, 1)
    chunk = best if plan.algorithm == "PBA" and "helps" in plan.reason else half_or_less(longest)
    yield (
        f"chunk      {chunk} slices for windows of {longest}, of which {longest // chunk} whole at most; b* = {best}, "
        f"k = {longest // best}"
    )


def _merges(algorithm: str) -> str:
    if algorithm in ("SBA", "PBA"):
        lcs = "and lcs on another thread" if algorithm == "PBA" else "and 1 for lcs"
        return f"at most 3 a slide, {lcs}; 2 more once a chunk"
    if algorithm == "Lazy":
        return "one a slice that a window covers, when it is complete"
    row = next(line for line in (aggregators.__doc__ or "").splitlines() if line.startswith(f"| {algorithm} |"))
    return row.split("|")[2].strip() + " per slide, amortised / worst"


def _state(query: Query, windows: dict[str | None, Window]) -> str:
    counts = [count for window in windows.values() if (count := window.slices_a_window) is not None]
    size = {
        Kind.DISTRIBUTIVE: "a partial is as large as a result",
        Kind.ALGEBRAIC: "a partial has a fixed size",
        Kind.HOLISTIC: "a partial grows with what it covers",
    }[query.together.kind]
    about = f"about {max(counts)} slices a key" if counts else "as many slices as lie in open windows"
    return f"{about}, {size}"


def _compiled(query: Query, lane: Lane) -> str:
    if lane.lateness:
        return "no: corrections are made row by row"
    reason = unsupported(query, lane)
    return f"no: {reason}" if reason else "batches by Numba's kernels where the types allow it, rows in Python"


def explain(query: Query) -> str:
    """The plan in words.

    >>> import sash
    >>> query = sash.Query(windows=sash.sliding(10, 2), aggregates={"peak": sash.Max("load")})
    >>> print(sash.explain(query))
    windows    W[10, 2]; context free, on counts
    order      that of arrival: nothing is late
    slices     5 a window
    tuples     dropped once they are in their slice: tuples come in order
    algorithm  SBA: PBA's second thread would not help: handing over a task costs more than the merges of a chunk of 3
    chunk      2 slices for windows of 5, of which 2 whole at most; b* = 3, k = 1
    merges     at most 3 a slide, and 1 for lcs; 2 more once a chunk
    state      about 5 slices a key, a partial is as large as a result
    compiled   batches by Numba's kernels where the types allow it, rows in Python
    """
    return str(plan(query))
