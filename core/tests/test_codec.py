"""States survive being bytes; what is damaged, foreign or of another query is refused in a sentence."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any
from zlib import crc32
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.state import envelope
from sash.state.fingerprint import Fingerprint, compatible, fingerprint
from sash.state.lane_bytes import BLOCK, Snapshot, StateError, decode, encode, from_bytes, to_bytes
from sash.state.lane_state import LaneState, SliceTable, WindowState
from sash.state.tagged import NotTagged
from sash.state.untagged import dumps, loads
from sash.values.partial_column import PartialColumn

QUERY = sash.Query(
    windows={"hour": sash.sliding("1h", "1s"), "visit": sash.session("30s")},
    aggregates={"peak": sash.Max("load"), "all": sash.Collect("load")},
    time="ts",
    allowed_lateness="10s",
)
PRINT = fingerprint(QUERY)


def lane(size: int, final: int = 0, numbered: int = 0, arrays: bool = False, tuples: bool = True) -> LaneState:
    """A state of ``size`` slices, of two aggregates: numbers, and tuples of any length."""
    first: Any = [10 * i for i in range(numbered, numbered + size)]
    last: Any = [time + 5 for time in first]
    count: Any = [1 + i % 3 for i in range(size)]
    peaks = PartialColumn.of([None if i % 5 == 1 else i / 4 for i in range(numbered, numbered + size)])
    lists = PartialColumn.of([("a",) * (i % 4) for i in range(numbered, numbered + size)])
    kept = {
        i: [(first[i], (i + numbered, "x")), (last[i], (None, "y"))] for i in range(size) if (numbered + i) % 7 == 0
    }
    if arrays:
        first, last, count = np.array(first), np.array(last), np.array(count)
    table = SliceTable(first, last, count, (peaks, lists), kept if tuples else {})
    windows: dict[str | None, WindowState] = {
        "hour": WindowState(revisions={(0, 10): 2}),
        "visit": WindowState(since=5, since_count=2, edges=[1, 2, 3]),
    }
    pending: list[Any] = [(10**18, (1.5, "late")), (7, (None, "ä"))]
    return LaneState(99, 100, 12, table, pending, windows, direct_until=None, final=final, numbered=numbered, merges=7)


def contents(state: LaneState) -> Any:
    slices = state.slices
    listed = [column.to_list() for column in slices.partials]
    times = [list(map(float, part)) for part in (slices.first, slices.last, slices.count)]
    return (times, listed, slices.tuples, replace(state, slices=None))  # type: ignore[arg-type]


@pytest.mark.parametrize("arrays", [False, True])
@pytest.mark.parametrize(
    ("size", "final", "numbered", "blocks"),
    [
        (0, 0, 0, []),
        (3, 0, 0, []),
        (3, 3, 0, []),
        (600, 511, 0, []),
        (600, 512, 0, [0]),
        (1500, 1400, 0, [0, 1]),
        (1500, 1400, 100, [0, 1]),
        (1500, 1400, 512, [1, 2]),
        (1500, 1400, 1000, [1, 2, 3]),
        (30, 30, 1010, [1]),
    ],
)
def test_a_state_comes_back_as_it_was(size: int, final: int, numbered: int, blocks: list[int], arrays: bool) -> None:
    state = lane(size, final, numbered, arrays)
    snapshot = encode(PRINT, {"ts": state}, {"times": {"ts": "datetime us -"}})
    assert [block % 2**40 for block in snapshot.blocks] == blocks and snapshot.live == tuple(snapshot.blocks)
    for copy in (snapshot, from_bytes(to_bytes(snapshot))):
        lanes, extra = decode(copy, PRINT)
        assert extra == {"times": {"ts": "datetime us -"}} and list(lanes) == ["ts"]
        assert contents(lanes["ts"]) == contents(state)
        assert type(lanes["ts"].slices.first) is type(state.slices.first)
        assert all(a == b for a, b in zip(lanes["ts"].slices.partials, state.slices.partials, strict=True))


def test_blocks_are_written_once() -> None:
    """A stream that goes on: each time only the header and new blocks are written, and old ones are deleted."""
    stored: dict[int, bytes] = {}
    numbered = 0
    for size, begin in [(400, 0), (1000, 0), (1600, 300), (1800, 600), (3000, 1600), (3000, 2990)]:
        numbered = begin
        state = lane(size - numbered, max(0, size - numbered - 20), numbered, arrays=size == 1600)
        snapshot = encode(PRINT, {"ts": state}, {}, known=stored.keys())
        assert not stored.keys() & snapshot.blocks.keys()
        stored = {block: body for block, body in (stored | snapshot.blocks).items() if block in snapshot.live}
        assert stored.keys() == set(snapshot.live)
        lanes, _ = decode(Snapshot(snapshot.header, stored), PRINT)
        assert contents(lanes["ts"]) == contents(state)
    assert len(snapshot.header) < 3000


def test_what_is_in_blocks_does_not_make_the_header_longer() -> None:
    few, many = (encode(PRINT, {"ts": lane(n * BLOCK, n * BLOCK)}, {}) for n in (1, 20))
    assert abs(len(few.header) - len(many.header)) < 10


def test_lanes_have_their_own_blocks() -> None:
    query = sash.Query(
        windows={"km": sash.sliding(5, 1, on="km"), "n": sash.sliding(3)}, aggregates={"peak": sash.Max("x")}
    )
    lanes = {order: lane(600, 600, n, tuples=False) for order, n in (("km", 0), ("", 512))}
    for order, state in lanes.items():
        state.windows = {"km" if order else "n": WindowState()}
        state.pending = []
    snapshot = from_bytes(to_bytes(encode(fingerprint(query), lanes, {})))
    assert len(snapshot.blocks) == 2
    read, _ = decode(snapshot, fingerprint(query))
    assert {order: contents(state) for order, state in read.items()} == {
        order: contents(state) for order, state in lanes.items()
    }
    left, _ = decode(snapshot, fingerprint(query.using(windows={"km": sash.sliding(5, 1, on="km")})))
    assert list(left) == ["km"]


def test_windows_may_be_added_and_removed() -> None:
    snapshot = encode(PRINT, {"ts": lane(10)}, {})
    start = sash.punctuated("start")
    query = QUERY.using(windows={"trip": start, "visit": sash.session("30s")})
    assert query.values == ("load", "start")
    lanes, _ = decode(snapshot, fingerprint(query))
    assert lanes["ts"].windows == {"visit": lane(10).windows["visit"], "trip": WindowState(since=100, since_count=12)}
    assert lanes["ts"].pending == [(10**18, (1.5, None)), (7, (None, None))]
    assert lanes["ts"].slices.tuples[0] == [(0, (0, None)), (5, (None, None))]


SMALL = encode(PRINT, {"ts": lane(3, 3)}, {"n": 1})


def test_every_damaged_byte_is_noticed() -> None:
    generator = random.Random(1)
    blob = to_bytes(SMALL)
    for position in range(len(blob)):
        for flip in (1, 128, generator.randrange(1, 256)):
            damaged = bytearray(blob)
            damaged[position] ^= flip
            with pytest.raises(StateError):
                decode(from_bytes(bytes(damaged)), PRINT)
    for position in range(len(SMALL.header)):
        damaged = bytearray(SMALL.header)
        damaged[position] ^= 255
        with pytest.raises(StateError):
            decode(Snapshot(bytes(damaged), {}), PRINT)


def test_every_truncation_is_noticed() -> None:
    blob = to_bytes(SMALL)
    for size in range(len(blob)):
        with pytest.raises(StateError):
            from_bytes(blob[:size])
    for size in range(len(SMALL.header)):
        with pytest.raises(StateError):
            decode(Snapshot(SMALL.header[:size], {}), PRINT)
    with pytest.raises(StateError, match="1 bytes follow its end"):
        from_bytes(blob + b"x")


@given(noise=st.binary(max_size=200), begin=st.sampled_from([b"", b"SASH", SMALL.header[:12], SMALL.header[:200]]))
def test_noise_is_refused(noise: bytes, begin: bytes) -> None:
    with pytest.raises(StateError):
        decode(Snapshot(begin + noise, {}), PRINT)
    with pytest.raises(StateError):
        from_bytes(begin + noise)


def test_nonsense_under_a_right_checksum_is_refused_too() -> None:
    """As if someone had made it on purpose."""
    generator = random.Random(2)
    sections = envelope.opened(SMALL.header, envelope.HEADER, 2)
    for _ in range(1500):
        changed = [bytearray(section) for section in sections]
        section = generator.choice(changed[:1] + changed[1:] * 4)
        for _ in range(generator.randrange(1, 4)):
            section[generator.randrange(len(section))] = generator.randrange(256)
        header = envelope.sealed(envelope.HEADER, list(map(bytes, changed)))
        try:
            decode(Snapshot(header, {}), PRINT)
        except StateError:
            continue


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda blob: b"", "the saved state is empty"),
        (lambda blob: b"PK\x03\x04" + blob, "this is not a saved state of Sash"),
        (lambda blob: b"SASH\x01", "is cut off: it has 5 bytes only"),
        (lambda blob: blob[:4] + b"\x02\x00" + blob[6:], "of format version 2, but this version of Sash reads up to 1"),
        (lambda blob: blob[:-10], "is cut off, or damaged: section 0 reaches beyond its end"),
        (lambda blob: blob[:-10] + b"0123456789", "is damaged: the checksum of section 0 does not match"),
        (lambda blob: from_bytes(blob).header, "not in the place where it belongs"),
        (lambda blob: "text", "a saved state is bytes; got str"),
    ],
)
def test_each_fault_has_a_sentence_of_its_own(damage: Any, words: str) -> None:
    with pytest.raises(StateError, match=words):
        from_bytes(damage(to_bytes(SMALL)))


def test_blocks_that_are_missing_or_mistaken() -> None:
    snapshot = encode(PRINT, {"ts": lane(1100, 1100)}, {})
    first, second = snapshot.blocks
    with pytest.raises(StateError, match="is incomplete: block 1 of the windows on 'ts' is missing"):
        decode(Snapshot(snapshot.header, {first: snapshot.blocks[first]}), PRINT)
    with pytest.raises(StateError, match="another block is in the place of block 0 of the windows on 'ts'"):
        decode(Snapshot(snapshot.header, dict.fromkeys((first, second), snapshot.blocks[second])), PRINT)
    with pytest.raises(StateError, match="not in the place where it belongs"):
        decode(Snapshot(snapshot.header, dict.fromkeys((first, second), snapshot.header)), PRINT)


def _odd(a: Any, b: Any) -> Any:
    return a


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, None),
        ({"key": "plug", "algorithm": "daba", "watermark_delay": "5s"}, None),
        ({"windows": {"hour": sash.sliding("1h", "1s")}}, None),
        ({"windows": {**QUERY.windows, "day": sash.tumbling("1d")}}, None),  # type: ignore[dict-item]
        ({"windows": {"hour": sash.sliding("60m", "1000ms")}}, None),
        ({"allowed_lateness": "5s"}, None),
        ({"allowed_lateness": "20s"}, "allowed_lateness for column 'ts' is more than in the saved state"),
        ({"windows": {"hour": sash.sliding("2h", "1s")}}, "window 'hour' is another one than in the saved state"),
        ({"windows": {"hour": sash.sliding(9, 1, on="km")}, "allowed_lateness": None}, "ordered by another column"),
        ({"aggregates": {"peak": sash.Max("load")}}, "aggregate 'all' of the saved state is not in the query"),
        ({"aggregates": {**QUERY.aggregates, "n": sash.Count()}}, "aggregate 'n' is not in the saved state"),
        ({"aggregates": {**QUERY.aggregates, "peak": sash.Max("x")}}, "aggregate 'peak' is another one"),
        (
            {"aggregates": dict(reversed(list(QUERY.aggregates.items())))},
            "another order; in the saved state it is peak, all",
        ),
    ],
)
def test_what_a_state_depends_on(change: dict[str, Any], reason: str | None) -> None:
    new = fingerprint(QUERY.using(**change))
    found = compatible(PRINT, new)
    if reason is None:
        assert found is None
        decode(SMALL, new)
    else:
        assert found is not None and reason in found
        with pytest.raises(StateError, match=f"the saved state is of another query: .*{reason}"):
            decode(SMALL, new)


def test_functions_count_by_name() -> None:
    def query(combine: Any, **more: Any) -> bytes:
        own = sash.aggregation("x", lift=abs, combine=combine, **more)
        return fingerprint(sash.Query(windows=sash.sliding(3), aggregates={"own": own}))

    assert query(_odd) == query(_odd) != query(max)
    assert query(_odd) != query(_odd, commutative=True)
    assert query(partial(_odd, 1)) == query(partial(_odd, 1)) != query(partial(_odd, 2))
    single = sash.Query(windows=sash.sliding(3), aggregates={"own": sash.Max("x")})
    reason = compatible(fingerprint(single), fingerprint(single.using(windows=sash.sliding(4))))
    assert reason is not None and reason.startswith("the window is another one")


class Every(sash.windows.ContextFree):
    """A user's window that is no dataclass."""

    def __init__(self, step: int) -> None:
        self.step = step

    def next_edge(self, after: Any) -> Any:
        return after + self.step

    def windows(self, after: Any, upto: Any) -> Any:
        return iter(())


def test_windows_of_users_count_by_what_they_hold() -> None:
    def query(step: int) -> bytes:
        return fingerprint(sash.Query(windows=Every(step), aggregates={"own": sash.Max("x")}, time="ts"))

    assert query(1) == query(1) != query(2)
    assert Fingerprint.from_bytes(query(1)).windows[None][0] == "ts"
    for bad in (b"", dumps(1), dumps(({}, {}, {}))):
        with pytest.raises(ValueError, match=r"not the fingerprint of a query|ends too early"):
            Fingerprint.from_bytes(bad)


BERLIN = ZoneInfo("Europe/Berlin")
ZONES = st.sampled_from([UTC, BERLIN, timezone(timedelta(hours=-3, minutes=-30))])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**200), 2**200),
    st.floats(),
    st.complex_numbers(allow_nan=False),
    st.text(st.characters()),
    st.binary(),
    st.dates(),
    st.datetimes(),
    st.builds(
        lambda value, zone: value.replace(tzinfo=UTC).astimezone(zone),
        st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)),
        ZONES,
    ),
    st.timedeltas(),
    st.decimals(allow_nan=False),
    st.fractions(),
    st.sampled_from([np.int8(3), np.uint64(2**63), np.float32(0.1), np.True_, np.str_("ä"), np.bytes_(b"x")]),
    st.sampled_from([np.datetime64("2024-03-01T12", "ns"), np.timedelta64(3, "ms"), np.complex64(1j)]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(st.one_of(st.text(), st.integers()), inner),
        st.lists(st.integers(), min_size=6),
        st.lists(st.floats(), min_size=6).map(tuple),
    ),
    max_leaves=20,
)


@given(value=VALUES)
def test_values_of_every_type_come_back(value: Any) -> None:
    data = dumps(value)
    back = loads(data)
    assert type(back) is type(value) and repr(back) == repr(value)  # to tell 1 from True, and NaN from NaN
    if isinstance(value, datetime) and value.tzinfo is not None:
        assert back.utcoffset() == value.utcoffset()


def test_sets_come_back() -> None:
    for value in ({1, "a"}, set(), frozenset({(1, 2), None})):
        back = loads(dumps(value))
        assert back == value and type(back) is type(value)


@given(noise=st.binary(max_size=100), start=st.sampled_from(b"NTFiIdcsb(<[l{SZDMPtxrnaop"))
@settings(max_examples=500)
def test_noise_is_no_value(noise: bytes, start: int) -> None:
    try:
        loads(bytes([start]) + noise)
    except NotTagged:
        return


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3)[:, ::2],
        np.array(5),
        np.array([], ">i4"),
        np.array([1, 2], ">u2"),
        np.array(["a", "ä"]),
        np.array([[None, (1, "x")]], object),
        np.array(["2024-03-01"], "M8[D]"),
    ],
)
def test_arrays_come_back(array: Any) -> None:
    back = loads(dumps(array))
    assert back.shape == array.shape and back.dtype == array.dtype.newbyteorder("<")
    assert back.tolist() == array.tolist() and (back.flags.writeable or not back.ndim)


def test_pandas_timestamps_come_back() -> None:
    for value in (pd.Timestamp(123456789), pd.Timestamp("2024-10-27 01:30", tz="UTC").tz_convert("Europe/Berlin")):
        back = loads(dumps(value))
        assert back == value and isinstance(back, pd.Timestamp) and back.utcoffset() == value.utcoffset()


class Own:
    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own) and self.value == other.value

    __hash__ = None  # type: ignore[assignment]


def test_objects_of_other_types_only_where_bytes_are_trusted() -> None:
    with pytest.raises(NotTagged, match=r"a value of type .*\.Own can be saved only inside an engine's state"):
        dumps([Own(1)])
    data = dumps([Own(1)], trusted=True)
    assert loads(data, trusted=True) == [Own(1)]
    with pytest.raises(NotTagged, match="reading runs code"):
        loads(data)
    state = lane(2)
    state.slices.partials = (state.slices.partials[0], PartialColumn.of([Own(1), Own(2)]))
    with pytest.raises(ValueError, match="only inside an engine's state"):
        encode(PRINT, {"ts": state}, {})
    snapshot = encode(PRINT, {"ts": state}, {}, trusted=True)
    with pytest.raises(StateError, match="the saved state cannot be read: it holds Python objects"):
        decode(snapshot, PRINT)
    assert decode(snapshot, PRINT, trusted=True)[0]["ts"].slices.partials[1].to_list() == [Own(1), Own(2)]
    odd = datetime(2024, 3, 1, tzinfo=timezone(timedelta(microseconds=5)))
    with pytest.raises(NotTagged, match="datetime can be saved only"):
        dumps(odd)
    with pytest.raises(NotTagged, match="cannot be read"):
        loads(b"p" + (3).to_bytes(4, "little") + b"abc", trusted=True)


def test_the_format_does_not_change_unnoticed() -> None:
    """The bytes of version 1, so that states that were saved can be read for ever."""
    everything = (None, True, 1, -(2**70), 0.5, "ä", b"x", (1,) * 9, [1.5] * 8, {"k": {1}}, date(2024, 3, 1))
    more = (
        datetime(2024, 3, 1, tzinfo=BERLIN),
        timedelta(1),
        Decimal("1.50"),
        Fraction(1, 3),
        np.int8(3),
        np.arange(3.0),
    )
    assert f"{crc32(dumps((*everything, *more))):08x}" == "eaf584a0"
    blob = envelope.sealed(envelope.WHOLE, [b"abc", b""])
    assert blob.hex() == "5341534801000300020000000300000000000000616263c4fadace0000000000000000c09a40be"
