"""``explain``: the facts of a plan in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sash.aggregations.base import Kind
from sash.aggregators.chunk_size import BestChunk
from sash.engine.decisions import Decisions, Removal, unsupported
from sash.engine.planner import LanePlan, Plan, Reason, best_chunk, chunk_of_batches, merge_time_of, plan
from sash.query import Query, arrival_time
from sash.query.html import preformatted
from sash.query.lanes import Lane
from sash.values.timestamps import as_duration
from sash.windows import Window

__all__ = ["MERGES", "Explanation", "describe", "explain"]

_MOST = 5
"""So many windows of a lane are described."""
MERGES = {
    "Recalc": "n / n",
    "SubtractOnEvict": "2 / 2",
    "TwoStacks": "3 / n",
    "TwoStacksLite": "3 / n",
    "ABA": "3 / n",
    "DABA": "4 / 6",
    "DABALite": "4 / 6",
    "FlatFAT": "O(log n)",
    "FlatFIT": "3 / n",
    "SlickDeque": "< 2 / n",
    "SlideSide": "3 / n",
    "LogMTA": "O(log n)",
    "AMTA": "6 / O(log n)",
    "FiBA": "O(log d), d from an end / O(log n)",
}
"""Merges per slide, amortised / worst, by algorithm: those of the table in :mod:`sash.aggregators`."""
_MANY = 1000
"""Slices of a chunk from which on a second thread can pay for compiled merges, of some nanoseconds each."""
_PARTIALS = {
    Kind.DISTRIBUTIVE: "a partial is as large as a result",
    Kind.ALGEBRAIC: "a partial has a fixed size",
    Kind.HOLISTIC: "a partial grows with what it covers",
}
_COMPILED = "batches run in Numba kernels where the types allow it, single rows in Python"
_SIZES = {
    Kind.DISTRIBUTIVE: "each as large as a result",
    Kind.ALGEBRAIC: "each of a fixed size",
    Kind.HOLISTIC: "which grow with the rows that they cover",
}


class Explanation(str):
    """A text that notebooks show line by line."""

    def _repr_html_(self) -> str:
        return preformatted(self)


def explain(query: Query, *, parallel: bool | None = None, verbose: bool = False) -> Explanation:
    """How ``query`` runs, in words: what comes out when, what becomes of late rows, what it costs. O(windows).

    ``verbose`` says why, in the words of the papers: slices, merging algorithms and chunks. ``parallel`` shows the plan
    with PBA's second thread, or without it; by default the one that costs decide.

    >>> import sash
    >>> query = sash.Query(windows=sash.sliding(10, 2), aggregates={"peak": sash.Max("load")})
    >>> print(sash.explain(query))
    windows    the last 10 rows, at every 2 rows
    results    when the last row of a window arrives
    late rows  none: rows count in the order in which they arrive
    cost       at most 3 merges a result, however long the window (algorithm SBA)
    memory     partial results a key: about 5, each as large as a result; no rows
    speed      batches run in Numba kernels where the types allow it, single rows in Python
    >>> print(sash.explain(query, verbose=True))  # doctest: +ELLIPSIS
    windows    W[10, 2]; context free, on counts
    order      arrival: no tuple is late
    slices     5 a window
    tuples     merged into their slice and dropped: tuples come in order
    algorithm  SBA: a second thread would not help: ...
    chunks     2 slices; a window of 5 covers at most 2 whole chunks; Theorem 1 with n = 5, m = 0, s = 2: b* = 4
    merges     at most 3 per slide and 1 for lcs, 2 more once per chunk
    state      about 5 slices per key; a partial is as large as a result
    compiled   batches run in Numba kernels where the types allow it, single rows in Python
    """
    if parallel is not None and not isinstance(parallel, bool):
        raise TypeError(f"parallel must be True, False or None; got {parallel!r}")
    made = plan(query, parallel=parallel)
    return describe(made) if verbose else _in_words(made, _summary)


def describe(plan: Plan) -> Explanation:
    """A plan in the words of the papers. O(windows)."""
    return _in_words(plan, _lines)


def _in_words(plan: Plan, lines: Callable[[Query, LanePlan], Iterator[str]]) -> Explanation:
    text: list[str] = []
    for lane in plan.lanes:
        text += [f"in the order of {lane.lane.order or 'arrival'}"] * (len(plan.lanes) > 1)
        text += lines(plan.query, lane)
    return Explanation("\n".join(text))


def _what_is_asked(query: Query, lane: Lane) -> Iterator[str]:
    """What both forms say alike: early results, and the filters of aggregates."""
    if lane.early is not None:
        yield f"early      open windows are emitted every {_amount(lane, lane.early.range)}, marked final=False"
    for column, names in _filters(query).items():
        yield f"filters    {', '.join(names)}: rows for which {column} is true"


def _summary(query: Query, plan: LanePlan) -> Iterator[str]:
    """What somebody wants to know who has never read the papers."""
    lane, windows = plan.lane, [(name, query.named[name]) for name in plan.lane.names]
    for name, window in windows[:_MOST]:
        yield f"windows    {_prefix(name)}{window.plain_words()}"
    if len(windows) > _MOST:
        yield f"           … and {len(windows) - _MOST} more, which share all work"
    yield f"results    {_results(lane)}"
    yield from _what_is_asked(query, lane)
    yield f"late rows  {_late_rows(lane)}"
    yield f"cost       {_cost(plan)}"
    yield f"memory     {_memory(query, plan, [window for _, window in windows])}"
    yield f"speed      {_speed(query, lane)}"


def _speed(query: Query, lane: Lane) -> str:
    reason = unsupported(query, lane)
    return _COMPILED if reason is None else f"row by row in Python, which is slower: {reason}"


def _results(lane: Lane) -> str:
    if lane.order is None:
        return "when the last row of a window arrives"
    behind = f" by {_amount(lane, lane.delay)}" if lane.delay else ""
    return f"when {lane.order} has passed the end of a window{behind}"


def _late_rows(lane: Lane) -> str:
    if lane.order is None:
        return "none: rows count in the order in which they arrive"
    waits = f"more than {_amount(lane, lane.delay)} " if lane.delay else ""
    late = f"rows {waits}older than the newest are late"
    if lane.lateness:
        return (
            f"{late}: for {_amount(lane, lane.lateness)} they correct results (revision 1, 2, …), then they are dropped"
        )
    return f"{late}, and dropped; " + (
        "allowed_lateness= corrects results" if lane.delay else "watermark_delay= waits for them"
    )


def _cost(plan: LanePlan) -> str:
    if plan.algorithm in ("SBA", "PBA"):
        thread = ", with a second thread" if plan.parallel else ""
        return f"at most 3 merges a result, however long the window (algorithm {plan.algorithm}{thread})"
    if plan.algorithm == "Lazy":
        return "a merge for each slice of a window (algorithm Lazy)"
    return f"merges a slide, amortised / at worst: {MERGES[plan.algorithm]} (algorithm {plan.algorithm})"


def _memory(query: Query, plan: LanePlan, windows: list[Window]) -> str:
    counts = [count for window in windows if (count := window.slices_a_window) is not None]
    partials = f"partial results a key: about {max(counts):,}" if counts else "the partial results of open windows"
    rows = "rows too (verbose=True says why)" if plan.decisions.keeps else "no rows"
    return f"{partials}, {_SIZES[query.together.kind]}; {rows}"


def _lines(query: Query, plan: LanePlan) -> Iterator[str]:
    lane, windows = plan.lane, [(name, query.named[name]) for name in plan.lane.names]
    for name, window in windows[:_MOST]:
        yield f"windows    {_prefix(name)}{window.explain_words(lane.order is None)}"
    if len(windows) > _MOST:
        yield f"           … and {len(windows) - _MOST} more, all sharing the same slices"
    yield f"order      {_order(lane)}"
    yield from _what_is_asked(query, lane)
    for name, window in windows[:_MOST]:
        if window.slices_a_window is not None:
            yield f"slices     {_prefix(name)}{window.slices_words(plan.decisions.begins_only)}"
    yield f"tuples     {_tuples(plan.decisions)}"
    yield f"algorithm  {plan.algorithm}: {_reason(plan)}"
    for name, window in windows[:_MOST]:
        if name in plan.chunks:
            yield f"chunks     {_prefix(name)}{_chunks(query, window, plan.chunks[name])}"
    yield f"merges     {_merges(plan)}"
    yield from _batches(query, plan)
    yield f"state      {_state([window for _, window in windows])}; {_PARTIALS[query.together.kind]}"
    yield f"compiled   {_compiled(query, lane)}"


def _prefix(name: str | None) -> str:
    return "" if name is None else f"{name}: "


def _filters(query: Query) -> dict[str, list[str]]:
    """The aggregates that each boolean column filters the rows of."""
    filtered = dict[str, list[str]]()
    for name, aggregation in query.aggregates.items():
        if aggregation.where is not None:
            filtered.setdefault(aggregation.where, []).append(name)
    return filtered


def _order(lane: Lane) -> str:
    if lane.order is None:
        return "arrival: no tuple is late"
    if lane.order == arrival_time:
        return "by the time of arrival, by the clock: no tuple is late"
    if not lane.delay and not lane.lateness:
        return f"by {lane.order}; tuples older than the newest are dropped"
    waits = f"tuples may be {_amount(lane, lane.delay)} older than the newest"
    corrects = f"; results are corrected for {_amount(lane, lane.lateness)} more" if lane.lateness else ""
    return f"by {lane.order}; {waits}{corrects}; older ones are dropped"


def _amount(lane: Lane, amount: float) -> str:
    return as_duration(f"{amount}ns", "delay") if lane.unit == "duration" else str(amount)


def _tuples(decisions: Decisions) -> str:
    if not decisions.keeps:
        return f"merged into their slice and dropped: {decisions.why}"
    until = "kept in their slice" if decisions.slices_keep else "kept until the watermark reaches them"
    removal = {way for way in decisions.removal if way is not Removal.NEVER} if decisions.revises else set()
    ways = " and ".join(sorted(way.value for way in removal))
    return f"{until}: {decisions.why}" + (f"; a late one shifts others to the next slice {ways}" if ways else "")


def _reason(plan: LanePlan) -> str:
    if plan.reason not in (Reason.SECOND_THREAD, Reason.NO_SECOND_THREAD):
        return str(plan.reason.value)
    asked = f"{Reason.ASKED.value}; " if plan.asked else ""
    return f"{asked}{plan.reason.value}: {plan.detail}"


def _chunks(query: Query, window: Window, chunk: int) -> str:
    covered, best = window.slices_covered or 0, best_chunk(query, window)
    return (
        f"{chunk} slices; a window of {covered} covers at most {covered // chunk} whole chunks; "
        f"Theorem {best.theorem} with {', '.join(_numbers_of(query, best))}: b* = {best.chunk}"
    )


def _numbers_of(query: Query, best: BestChunk) -> Iterator[str]:
    yield f"n = {best.n}"
    if best.theorem == 1:
        yield f"m = {best.m}, s = {best.slide}"
        return
    time = merge_time_of(query)
    m, slide, merge = (as_duration(f"{amount}ns", "amount") for amount in (best.m, best.slide, time.ns))
    yield f"m = {m}, s = {slide}, T = {merge} ({time.source})"


def _merges(plan: LanePlan) -> str:
    if plan.algorithm in ("SBA", "PBA"):
        lcs = ", lcs on another thread" if plan.parallel else " and 1 for lcs"
        return f"at most 3 per slide{lcs}, 2 more once per chunk"
    if plan.algorithm == "Lazy":
        return "one for each slice of a window, when it is complete"
    return f"{MERGES[plan.algorithm]} per slide, amortised / worst"


def _batches(query: Query, plan: LanePlan) -> Iterator[str]:
    """What PBA is over batches; what costs decide there is only known once merges have been measured."""
    chunk = chunk_of_batches(query, plan.lane, plan.decisions)
    if (plan.algorithm == "PBA" or chunk >= _MANY) and chunk and unsupported(query, plan.lane) is None:
        when = "" if plan.asked else ", if that costs less than it saves, by the merges of the first batches"
        yield f"batches    lcs of {chunk} slices is kept between them, and computed on another thread{when}"


def _state(windows: list[Window]) -> str:
    counts = [count for window in windows if (count := window.slices_a_window) is not None]
    return f"about {max(counts)} slices per key" if counts else "the slices of open windows"


def _compiled(query: Query, lane: Lane) -> str:
    reason = unsupported(query, lane)
    return _COMPILED if reason is None else f"no: {reason}"
