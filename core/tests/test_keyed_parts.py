"""The state of many keys in parts: the same results, and what is written is what is new."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import sash
from sash.runtime.operator import KeyedOperator
from sash.state import blocks as state_blocks
from sash.state.snapshot_format import StateError
from strategies import DISORDER, corrected_queries, queries
from test_keyed import Player, Stream, expected, streams

pytestmark = pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
SUM = sash.Query(key="k", windows=sash.sliding(2000), aggregates={"n": sash.Sum("x")})


@pytest.fixture(scope="module", autouse=True)
def _small_blocks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state_blocks, "BLOCK", 2)
        yield


class Parts(Player):
    """Whose state is kept in parts."""

    blocks: dict[Any, bytes]

    def reload(self) -> None:
        self.op, self.blocks = reloaded(self.op, getattr(self, "blocks", {}), self.own)


def reloaded(op: KeyedOperator, blocks: dict[Any, bytes], own: Any = False) -> tuple[KeyedOperator, dict[Any, bytes]]:
    """The operator saved and restored; blocks are never written twice, and only those that are there are deleted."""
    header, written, deleted = op.snapshot_parts(trusted=True)
    assert not written.keys() & blocks.keys()
    assert set(deleted) <= blocks.keys()
    blocks = {name: block for name, block in (blocks | written).items() if name not in deleted}
    again = KeyedOperator.restore_parts(op.query, header, blocks, own_watermark="key" if own else False, trusted=True)
    assert (again.keys, again.metrics) == (op.keys, op.metrics)
    return again, blocks


@settings(max_examples=60)
@given(streams(queries(latenesses=(None, None, 5))))
def test_results_are_those_of_the_evaluator(stream: Stream) -> None:
    check_parts(stream)


@settings(max_examples=100)
@given(streams(corrected_queries(), paces=[DISORDER]))
def test_results_that_late_rows_correct(stream: Stream) -> None:
    check_parts(stream)


def check_parts(stream: Stream) -> None:
    player = Parts(stream)
    for begin, end in zip([0, *stream.cuts], [*stream.cuts, len(stream.events)], strict=True):
        player.play(stream.events[begin:end])
        player.reload()
    assert player.results == expected(stream)[0]


def test_keys_that_are_forgotten_take_their_blocks_with_them() -> None:
    query = sash.Query(key="k", windows=sash.sliding(50), aggregates={"n": sash.Sum("x")}, time="ts")
    op = KeyedOperator(query, own_watermark="key")
    blocks: dict[Any, bytes] = {}
    for begin, names in [(0, "abc"), (100, "bc"), (200, "bc"), (300, "cd"), (400, "d")]:
        for name in names:
            op.process_batch({"k": [name] * 20, "ts": list(range(begin, begin + 20)), "x": [1] * 20})
        op.forget_silent(begin - 50)
        op, blocks = reloaded(op, blocks, True)
        held = {serial for _, serial, _ in blocks}
        assert len(held) == op.keys
    assert (op.keys, held) == (1, {3})


def test_a_window_that_is_added_and_one_that_is_removed() -> None:
    query = SUM.using(windows={"long": sash.sliding(2000), "short": sash.sliding(5)})
    op = KeyedOperator(query)
    op.process_batch({"k": ["a", "b"] * 300, "x": list(range(600))})
    header, blocks, _ = op.snapshot_parts()
    other = query.using(windows={"short": sash.sliding(5), "new": sash.tumbling(3)})
    again = KeyedOperator.restore_parts(other, header, blocks)
    whole = KeyedOperator.restore(other, op.snapshot())
    more = {"k": ["b", "a"] * 5, "x": list(range(10))}
    assert again.process_batch(more) == whole.process_batch(more)
    _, written, deleted = again.snapshot_parts()
    assert set(deleted) <= blocks.keys()
    assert len(blocks) - len(deleted) + len(written) < 10


def test_blocks_of_rows_that_columns_cut_anew_are_not_taken_for_theirs() -> None:
    """Without lateness columns run the query: slices that keep their tuples are cut to one tuple each."""
    windows = {"n": sash.sliding(40), "t": sash.sliding(60, 20, on="ts")}
    query = sash.Query(key="k", windows=windows, aggregates={"n": sash.Sum("x")}, time="ts", allowed_lateness=4)
    batches = [{"k": ["a", "b"] * 30, "ts": list(range(b, b + 60)), "x": list(range(60))} for b in range(0, 600, 60)]
    op, blocks = reloaded(KeyedOperator(query, own_watermark="key"), {}, "key")
    for batch in batches[:4]:
        op.process_batch(batch)
        op, blocks = reloaded(op, blocks, "key")
    assert blocks
    header, written, deleted = op.snapshot_parts(trusted=True)
    blocks = {name: block for name, block in (blocks | written).items() if name not in deleted}
    strict = query.using(allowed_lateness=None)
    op = KeyedOperator.restore_parts(strict, header, blocks, own_watermark="key", trusted=True)
    whole = KeyedOperator.restore_parts(strict, header, blocks, own_watermark="key", trusted=True)
    for batch in batches[4:]:
        assert op.process_batch(batch) == whole.process_batch(batch)
        op, blocks = reloaded(op, blocks, "key")


def test_what_is_missing_or_in_another_place_is_seen() -> None:
    op = KeyedOperator(SUM)
    op.process_batch({"k": ["a", "b"] * 10, "x": list(range(20))})
    header, blocks, _ = op.snapshot_parts()
    name, other = list(blocks)[:2]
    with pytest.raises(StateError, match="incomplete: block 0 of key number 0 is missing"):
        KeyedOperator.restore_parts(SUM, header, {key: block for key, block in blocks.items() if key != name})
    with pytest.raises(StateError, match="another block is in the place"):
        KeyedOperator.restore_parts(SUM, header, blocks | {name: blocks[other]})
    with pytest.raises(StateError):
        KeyedOperator.restore_parts(SUM, op.snapshot(), blocks)


def test_a_window_of_a_million_slices_is_not_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_blocks, "BLOCK", 512)
    op = KeyedOperator(SUM.using(windows=sash.sliding(2**20)))
    op.process_batch({"k": np.zeros(2**20, np.int64), "x": np.arange(2**20)})
    op.snapshot_parts()
    for _ in range(3):
        op.process_batch({"k": np.zeros(1000, np.int64), "x": np.arange(1000)})
        header, written, deleted = op.snapshot_parts()
        assert len(written) in (1, 2) and len(deleted) in (1, 2)
        assert len(header) + sum(map(len, written.values())) < 90_000 < len(op.snapshot()) / 100


def parts_of(op: KeyedOperator, blocks: dict[Any, bytes]) -> tuple[bytes, dict[Any, bytes]]:
    header, written, deleted = op.snapshot_parts()
    return header, {name: block for name, block in (blocks | written).items() if name not in deleted}


def test_blocks_of_another_stream_are_refused() -> None:
    saved = []
    for x in (1, 5):
        op = KeyedOperator(SUM)
        op.process_batch({"k": ["a"] * 20, "x": [x] * 20})
        saved.append(parts_of(op, {}))
    (header, own), (_, others) = saved
    assert own.keys() == others.keys()
    for name in own:
        with pytest.raises(StateError, match="not those of its header, but of another stream"):
            KeyedOperator.restore_parts(SUM, header, own | {name: others[name]})


def test_blocks_of_a_fork_of_the_stream_are_refused() -> None:
    op = KeyedOperator(SUM)
    op.process_batch({"k": ["a"] * 20, "x": [1] * 20})
    header, blocks = parts_of(op, {})
    forks = []
    for x in (1, 5):
        fork = KeyedOperator.restore_parts(SUM, header, blocks)
        fork.process_batch({"k": ["a"] * 20, "x": [x] * 20})
        forks.append(parts_of(fork, blocks))
    (one, _), (_, others) = forks
    with pytest.raises(StateError, match="not those of its header"):
        KeyedOperator.restore_parts(SUM, one, others)
    assert KeyedOperator.restore_parts(SUM, *forks[1]).metrics["tuples_in"] == 40


def test_blocks_that_a_header_does_not_know_may_be_there() -> None:
    op = KeyedOperator(SUM)
    op.process_batch({"k": ["a"] * 20, "x": [1] * 20})
    header, blocks = parts_of(op, {})
    op.process_batch({"k": ["a"] * 20, "x": [1] * 20})
    later = blocks | op.snapshot_parts().written  # written, but the new header is not
    assert len(later) > len(blocks)
    assert KeyedOperator.restore_parts(SUM, header, later).metrics["tuples_in"] == 20


def test_a_lane_that_is_no_longer_asked_for_leaves_its_blocks() -> None:
    windows = {"n": sash.sliding(100), "km": sash.sliding(100, 10, on="km")}
    query = sash.Query(key="k", windows=windows, aggregates={"n": sash.Sum("x")})
    op = KeyedOperator(query, own_watermark="key")
    op.process_batch({"k": ["a"] * 20, "x": [1] * 20, "km": list(range(0, 400, 20))})
    header, blocks = parts_of(op, {})
    assert {order for order, _, _ in blocks} == {"", "km"}
    fewer = KeyedOperator.restore_parts(query.using(windows={"n": windows["n"]}), header, blocks)
    fewer.process_batch({"k": ["a"] * 20, "x": [1] * 20})
    header, blocks = parts_of(fewer, blocks)
    assert {order for order, _, _ in blocks} == {""}
    assert KeyedOperator.restore_parts(fewer.query, header, blocks).metrics["tuples_in"] == 40
