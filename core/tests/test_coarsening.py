"""Windows side by side: each emits what it emits alone, and what is kept is bounded by what each of them needs.

session          |-------------------------------------------- open for the whole stream
W[20, 2]                                        |---|---|---|
slices kept      |             one              |   |   |   |
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import sash
from sash.runtime.operator import KeyedOperator

Row = dict[str, Any]
AGGREGATES = {"n": sash.Count(), "sum": sash.Sum("x"), "first": sash.First("x"), "last": sash.Last("x")}
WINDOWS: dict[str, Any] = {
    "session": sash.session(9, on="t"),
    "long session": sash.session(40, on="t"),
    "fine": sash.sliding(20, 2, on="t"),
    "uneven": sash.sliding(25, 10, on="t"),
    "day": sash.tumbling(5000, on="t"),
    "counts": sash.sliding(30, 3),
    "last": sash.last(12, every=15, on="t"),
    "marks": sash.punctuated("mark"),
}


class Thirds(sash.windows.ContextFree):
    """A user's own: the last third of every 30."""

    on = "t"

    def next_edge(self, after: Any) -> Any:
        start = after // 30 * 30
        return start + 20 if after < start + 20 else start + 30

    def windows(self, after: Any, upto: Any) -> Iterator[tuple[Any, Any]]:
        end = after // 30 * 30 + 30
        while end <= upto:
            yield end - 10, end
            end += 30


def stream(seed: int, size: int, disorder: int, quiet: float = 0.0) -> list[Row]:
    """Tuples close together, at most ``disorder`` behind the newest; ``quiet`` is how often there is a pause."""
    chance = random.Random(seed)
    time, rows = 0, []
    for number in range(size):
        time += chance.choice((0, 1, 1, 2, 5)) if chance.random() >= quiet else chance.randrange(8, 90)
        late = chance.randrange(disorder + 1) if chance.random() < 0.3 else 0
        rows.append({"t": time - late, "x": number, "mark": chance.random() < 0.002})
    return rows


def query(names: Any, **options: Any) -> sash.Query:
    windows = {name: WINDOWS[name] if isinstance(name, str) and name in WINDOWS else Thirds() for name in names}
    return sash.Query(windows=windows, aggregates=AGGREGATES, time="t", **options)


def by_rows(asked: sash.Query, rows: list[Row], restarts: frozenset[int] = frozenset()) -> list[Row]:
    op, results = sash.Operator(asked), []
    for number, row in enumerate(rows):
        if number in restarts:
            op = sash.Operator.restore(asked, op.snapshot())
        results += op.process(row)
    return results + op.close()


def by_batches(asked: sash.Query, rows: list[Row], seed: int) -> list[Row]:
    op, results, at, chance = sash.Operator(asked), [], 0, random.Random(seed)
    while at < len(rows):
        size = chance.choice((1, 40, 300))
        results += op.process_batch(rows[at : at + size])
        at += size
        if chance.random() < 0.2:
            op = sash.Operator.restore(asked, op.snapshot())
    return results + op.close()


def of(name: str, results: list[Row]) -> list[Row]:
    return [row for row in results if row["window"] == name]


def assert_as_alone(asked: sash.Query, results: list[Row], rows: list[Row]) -> None:
    assert isinstance(asked.windows, Mapping)
    for name, window in asked.windows.items():
        alone = by_rows(asked.using(windows={name: window}), rows)
        assert of(name, results) == alone, name


OPTIONS: dict[str, dict[str, Any]] = {
    "in order": {},
    "disorder": {"watermark_delay": 12},
    "corrected": {"allowed_lateness": 12},
    "both": {"watermark_delay": 4, "allowed_lateness": 25},
}
PAIRS = [*combinations((*WINDOWS, "thirds"), 2), ("session", "fine", "counts"), ("long session", "session", "fine")]


@pytest.mark.parametrize("names", PAIRS, ids=" and ".join)
@pytest.mark.parametrize("option", OPTIONS)
def test_windows_emit_side_by_side_what_they_emit_alone(names: tuple[str, ...], option: str) -> None:
    options = OPTIONS[option]
    asked = query(names, **options)
    rows = stream(len(names) + len(option), 700, sum(options.values()), quiet=0.005)
    results = by_rows(asked, rows)
    assert_as_alone(asked, results, rows)
    restarted = by_rows(asked, rows, frozenset(range(50, 700, 170)))
    assert restarted == results
    assert by_batches(asked, rows, 1) == results


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("seed", range(3))
def test_a_session_replaces_what_it_was_emitted_as(option: str, seed: int) -> None:
    """A late tuple joins an emitted session to an open one, which is its revision, however much later it is emitted."""
    options = OPTIONS[option]
    rows = stream(seed, 3000, sum(options.values()), quiet=0.02)
    asked = query(["session", "fine"], **options)
    assert_as_alone(asked, by_rows(asked, rows), rows)


def test_a_session_emitted_early_is_revised_after_its_slices_were_merged() -> None:
    """times 0, 4 | 3 joins both | 5 … 99: the session [0, 4) was emitted, so that of all is its revision 1."""
    windows = {"session": sash.session(4, on="t"), "each": sash.tumbling(1, on="t")}
    asked = sash.Query(windows=windows, aggregates={"n": sash.Count()}, allowed_lateness=6)
    op, results = sash.Operator(asked), []
    for time in [0, 4, 3, *range(5, 100)]:
        results += op.process({"t": time})
    sessions = of("session", results + op.close())
    assert [(row["window_start"], row["window_end"], row["revision"]) for row in sessions] == [(0, 4, 0), (0, 103, 1)]


# what is kept

SIZES = (4000, 16000)
BESIDE = [("session", "counts"), ("session", "fine"), ("day", "fine"), ("marks", "fine"), ("session", "last")]


def endless(size: int) -> dict[str, Any]:
    return {"t": np.arange(size), "x": np.arange(size), "mark": np.arange(size) == 1}


@pytest.mark.parametrize("options", [{}, {"watermark_delay": 7}, {"allowed_lateness": 7}], ids=str)
@pytest.mark.parametrize("names", BESIDE, ids=" and ".join)
def test_rows_keep_what_windows_need_whatever_runs_beside_them(names: tuple[str, ...], options: Any) -> None:
    asked, held = query(names, **options), []
    for size in SIZES:
        op = sash.Operator(asked)
        columns = endless(size)
        for t, x, mark in zip(*(column.tolist() for column in columns.values()), strict=True):
            op.process({"t": t, "x": x, "mark": mark})
        held.append((op.metrics["slices_held"], op.metrics["tuples_held"], len(op.snapshot())))
    (slices, tuples, size), (later, tuples_later, later_size) = held
    assert slices < 400 and later < 400 and tuples < 1000 and tuples_later < 1000
    assert later_size < size + 16000


@pytest.mark.parametrize("options", [{}, {"watermark_delay": 7}], ids=str)
@pytest.mark.parametrize("names", BESIDE, ids=" and ".join)
def test_columns_keep_what_windows_need_whatever_runs_beside_them(names: tuple[str, ...], options: Any) -> None:
    asked, held = query(names, **options), []
    for size in SIZES:
        op = sash.Operator(asked)
        columns = endless(size)
        for at in range(0, size, 500):
            op.process_batch({name: column[at : at + 500] for name, column in columns.items()})
        held.append(op.metrics["slices_held"])
    assert max(held) < 800


def test_many_keys_keep_what_windows_need_and_blocks_are_written_once() -> None:
    """Sealed blocks are immutable: slices that were merged are in blocks of new numbers, and the old ones go."""
    windows = {"session": WINDOWS["session"], "wide": sash.sliding(2500, 2, on="t")}
    asked = sash.Query(key="k", windows=windows, aggregates=AGGREGATES, time="t")
    op = KeyedOperator(asked, own_watermark="key")
    blocks: dict[Any, bytes] = {}
    deleted = 0
    results: list[Row] = []
    for at in range(0, 24000, 3000):
        every = np.arange(at, at + 3000)
        results += op.process_batch([{"k": x % 3, "t": x // 3, "x": x} for x in every.tolist()])
        changes = op.snapshot_parts()
        assert not set(changes.written) & set(blocks)
        blocks.update(changes.written)
        for name in changes.deleted:
            del blocks[name]
        deleted += len(changes.deleted)
        op = KeyedOperator.restore_parts(asked, changes.header, blocks, own_watermark="key")
        assert op.metrics["slices_held"] < 3 * 2600
    assert blocks and deleted > 12
    results += op.close(like=[])
    for key in range(3):
        rows = [{"t": x // 3, "x": x} for x in range(key, 24000, 3)]
        one = sash.Operator(asked.using(key=None))
        alone = one.process_batch(rows) + one.close()
        assert [{name: row[name] for name in alone[0]} for row in results if row["k"] == key] == alone


def test_one_key_writes_blocks_once() -> None:
    windows = {"session": WINDOWS["session"], "wide": sash.sliding(2500, 2, on="t")}
    asked = sash.Query(windows=windows, aggregates=AGGREGATES, time="t")
    op, uncut = sash.Operator(asked), sash.Operator(asked)
    blocks: dict[Any, bytes] = {}
    results, expected, deleted = [], [], 0
    for x in range(8000):
        results += op.process({"t": x, "x": x})
        expected += uncut.process({"t": x, "x": x})
        if x % 900 == 899:
            changes = op.snapshot_parts()
            assert not set(changes.written) & set(blocks)
            blocks.update(changes.written)
            for name in changes.deleted:
                del blocks[name]
            deleted += len(changes.deleted)
            op = sash.Operator.restore_parts(asked, changes.header, blocks)
            assert op.metrics["slices_held"] < 2600
    assert blocks and deleted > 4
    assert results + op.close() == expected + uncut.close()
