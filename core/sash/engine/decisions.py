"""The decision trees of general stream slicing (figures 4 to 6): what a workload asks of the slices.

    Must tuples be kept?  (figure 4)                     Are slices split?  (figure 5)
      in order ──── forward context aware? ── yes: keep    in order ──── forward context aware? ── yes: split
        │                     └ no: drop                     │                     └ no: never
      out of order ─ not commutative? ─────── yes: keep    out of order ─ context aware, no session? ─ yes: split
              ├───── context aware, no session? yes: keep          └ no: never
              ├───── on counts? ───────────── yes: keep
              └ no: drop                                  How do tuples leave a slice?  (figure 6)
                                                            on counts and out of order?
                                                              no: never;  invertible: invert;  else: recompute

One thing is done better than the trees ask: a tuple that must be kept because of disorder waits, outside of any slice,
until the watermark has reached it. Then its place is settled, it is sliced in order, and unless results can still be
corrected (``allowed_lateness``) it is dropped. So slices hold tuples only for as long as they are late, and only those
that hold their tuples are split (figure 5).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from sash.aggregations.base import Aggregation
from sash.query import Query
from sash.query.lanes import Lane
from sash.windows import ContextClass, Window

__all__ = ["Decisions", "Removal", "decide", "needs_whole_keys", "unsupported", "why_not_replaced"]


class Removal(Enum):
    """How a tuple leaves a slice."""

    NEVER = "never"
    INVERT = "by invert"
    RECOMPUTE = "by recomputing the slice"


@dataclass(frozen=True)
class Decisions:
    """What follows from a workload."""

    in_order: bool
    """No tuple ever comes before another that was there first."""
    keeps: bool
    """Figure 4: tuples are kept, at least until they are settled."""
    why: str
    removal: tuple[Removal, ...]
    """Figure 6, for each aggregate."""
    forward: bool
    """A window is forward context aware: slices keep their tuples, even in order."""
    revises: bool
    """Results can be corrected: slices can change after they were used."""
    begins_only: bool
    """Slices begin only where windows begin: one that ends inside a slice is emitted before the slice goes on."""

    @cached_property
    def buffered(self) -> bool:
        """Tuples wait until they are settled."""
        return self.keeps and not self.in_order

    @property
    def slices_keep(self) -> bool:
        """Slices hold their tuples too, as long as they can change or be split."""
        return self.keeps and (self.forward or self.revises)


def decide(query: Query, lane: Lane, own_watermark: bool = True) -> Decisions:
    """The decisions for one lane of a query. Without its own watermark an operator cannot know that nothing is late."""
    windows = [query.named[name] for name in lane.names]
    arrival = lane.order is None
    in_order = arrival or (own_watermark and not lane.delay and not lane.lateness)
    forward = any(window.context_class(arrival) is ContextClass.FCA for window in windows)
    keeps, why = _keeps(in_order, forward, windows, query.aggregates.values())
    settled = lane.early is None and not any(window.follows_tuples for window in windows)
    shifts = not in_order and any(window.edges_are_positions for window in windows)
    return Decisions(
        in_order,
        keeps,
        why,
        tuple(_removal(aggregation, shifts) for aggregation in query.aggregates.values()),
        forward,
        bool(lane.lateness),
        in_order and not forward and settled,
    )


def _keeps(
    in_order: bool, forward: bool, windows: list[Window], aggregations: Iterable[Aggregation]
) -> tuple[bool, str]:
    """Figure 4."""
    if forward:
        return True, "a window is forward context aware: where it begins is known only afterwards"
    if in_order:
        return False, "tuples come in order"
    for aggregation in aggregations:
        if not aggregation.commutative:
            return True, f"{aggregation!r} is not commutative, and tuples may come out of order"
    for window in windows:
        if window.follows_tuples:
            return True, f"the edges of {window} depend on tuples that may come out of order"
        if window.edges_are_positions:
            return True, f"{window} counts tuples that may come out of order"
    return False, "context free windows or sessions, and all aggregates are commutative"


def _removal(aggregation: Aggregation, shifts: bool) -> Removal:
    """Figure 6. A tuple leaves at the young end: what is not commutative can be inverted only at the other."""
    if not shifts:
        return Removal.NEVER
    return Removal.INVERT if aggregation.invertible and aggregation.commutative else Removal.RECOMPUTE


def unsupported(query: Query, lane: Lane) -> str | None:
    """Why a lane cannot be run by columns; None: it can."""
    if lane.lateness and (reason := _corrected_by_rows(query, lane)) is not None:
        return f"results can be corrected (allowed_lateness), and {reason}"
    if lane.lateness and lane.early is not None:
        return "results can be corrected (allowed_lateness), and early ones hold what came before them"
    if query.algorithm.lower() not in ("auto", "sba", "pba"):
        return f"algorithm {query.algorithm!r} runs row by row"
    reasons = (query.named[name].rows_only_reason() for name in lane.names)
    return next((reason for reason in reasons if reason is not None), None)


def _corrected_by_rows(query: Query, lane: Lane) -> str | None:
    """Why late tuples have to correct results one by one; None: columns can do it."""
    for name in lane.names:
        if not query.named[name].corrected_by_columns:
            return f"{query.named[name]} is corrected tuple by tuple"
    for aggregation in query.aggregates.values():
        if not aggregation.commutative:
            return f"{aggregation!r} depends on the order of tuples"
    return None


def needs_whole_keys(query: Query, lane: Lane) -> str | None:
    """Why parts of a key's rows cannot be reduced to slices apart from each other; None: they can, in any order.

    Slices of parts are those of all rows once they are merged if edges do not depend on which rows come together, and
    partials can be merged in any order. O(windows).
    """
    if (reason := unsupported(query, lane)) is not None:
        return reason
    if lane.order is None:
        return "windows count rows in the order of arrival"
    decisions = decide(query, lane, own_watermark=False)
    if decisions.keeps:
        return decisions.why
    windows = (query.named[name] for name in lane.names)
    return next((f"each row is a slice of {window}" for window in windows if window.includes_end), None)


def why_not_replaced(query: Query, deletions: bool = False) -> str | None:
    """Why a later result of a window need not have the bounds of an earlier one; None: it has. O(windows).

    Where it has, whoever keeps the last result of each key, window and bounds keeps the right ones alone. With
    ``deletions`` the earlier ones may be deleted too.
    """
    for lane in query.lanes:
        for window in (query.named[name] for name in lane.names):
            if deletions and window.tells_replaced and query.early is None:
                continue
            if window.context_class(lane.order is None) is not ContextClass.CF:
                return (
                    f"the bounds of {window} depend on tuples, so a result may have other bounds than the one before it"
                )
    return None
