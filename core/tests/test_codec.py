"""States survive being bytes; what is damaged, foreign or of another query is refused in a sentence."""

from __future__ import annotations

import random
from collections.abc import Sequence
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
from sash.runtime.operator import KeyedOperator
from sash.state import Contents, read, read_parts, snapshot_format, write, write_parts
from sash.state.fingerprint import Fingerprint, compatible, fingerprint
from sash.state.key_states import KeyState, SliceState, gather, scatter
from sash.state.lane_state import BLOCK, LaneState, WindowState
from sash.state.snapshot_format import StateError
from sash.state.values import NotTagged, dumps, loads

QUERY = sash.Query(
    windows={"hour": sash.sliding("1h", "1s"), "visit": sash.session("30s")},
    aggregates={"peak": sash.Max("load"), "all": sash.Collect("load")},
    time="ts",
    allowed_lateness="10s",
)
PRINT = fingerprint(QUERY)
COLUMNS = ("load", "more")


def key_state(size: int, final: int = 0, numbered: int = 0, tuples: bool = True, mixed: bool = False) -> KeyState:
    """The state of a key of ``size`` slices, of two aggregates: numbers, and tuples of any length."""
    slices = []
    for i in range(numbered, numbered + size):
        first: Any = 10 * i + 0.5 if mixed and i % 2 else 10 * i
        partials = (None if i % 5 == 1 else i / 4, ("a",) * (i % 4))
        kept = [(first, (i, "x")), (first + 5, (None, "y"))] if tuples and i % 7 == 0 else None
        slices.append(SliceState(first, first + 5, 1 + i % 3, partials, kept))
    windows: dict[str | None, WindowState] = {
        "hour": WindowState(revisions={(0, 10): 2}),
        "visit": WindowState(since=5, since_count=2, edges=[1, 2, 3]),
    }
    pending: list[Any] = [(10**18, (1.5, "late")), (7, (None, "ä"))] if tuples else []
    return KeyState(99, 100, 12, slices, pending, windows, final=final, numbered=numbered, merges=7)


def lane(*states: KeyState, windows: Sequence[str | None] = ("hour", "visit"), values: Any = COLUMNS) -> LaneState:
    return gather(states, 2, values, windows, advanced=88, buffered=True)


def contents(*states: KeyState, extra: Any = None) -> Contents:
    return Contents(extra or {}, (len(states), {"k": (np.arange(len(states)), None)}), {"ts": lane(*states)})


def back(query: sash.Query, read: Contents, values: Sequence[str] = ("load",)) -> list[KeyState]:
    return scatter(read.lanes["ts"], list(query.aggregates.values()), values)


def unsaved(state: KeyState, values: Sequence[int] = (0,)) -> KeyState:
    """What comes back of a state: of tuples the columns that the query reads; what is final is for the writer only."""

    def chosen(tuples: list[Any]) -> list[Any]:
        return [(time, tuple(row[i] for i in values)) for time, row in tuples]

    slices = [replace(slice_, tuples=slice_.tuples and chosen(slice_.tuples)) for slice_ in state.slices]
    return replace(state, slices=slices, pending=chosen(state.pending), final=0)


@pytest.mark.parametrize("mixed", [False, True])
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
def test_a_state_comes_back_as_it_was(size: int, final: int, numbered: int, blocks: list[int], mixed: bool) -> None:
    state, extra = key_state(size, final, numbered, mixed=mixed), {"times": {"ts": "datetime us -"}}
    saved = contents(state, extra=extra)
    changes, kept = write_parts(QUERY, saved)
    assert [block for _, _, block in changes.written] == blocks and not changes.deleted
    for copy in (read_parts(QUERY, changes.header, changes.written), read(QUERY, write(QUERY, saved))):
        assert copy.extra == extra and list(copy.lanes) == ["ts"]
        assert (copy.lanes["ts"].advanced, copy.lanes["ts"].buffered) == (88, True)
        assert back(QUERY, copy) == [unsaved(state)]
        again = back(QUERY, copy)[0]
        assert [type(slice_.first) for slice_ in again.slices] == [type(slice_.first) for slice_ in state.slices]
    assert write_parts(QUERY, replace(saved, **kept._asdict()))[0].written == {}


def test_blocks_are_written_once() -> None:
    """A stream that goes on: each time only the header and new blocks are written, and old ones are deleted."""
    stored: dict[Any, bytes] = {}
    _, kept = write_parts(QUERY, contents())
    for size, begin in [(400, 0), (1000, 0), (1600, 300), (1800, 600), (3000, 1600), (3000, 2990)]:
        states = [key_state(size - begin, max(0, size - begin - 20), begin), key_state(size)]
        changes, kept = write_parts(QUERY, replace(contents(*states), **kept._asdict()))
        assert not stored.keys() & changes.written.keys() and set(changes.deleted) <= stored.keys()
        stored = {name: block for name, block in (stored | changes.written).items() if name not in changes.deleted}
        copy = read_parts(QUERY, changes.header, stored)
        assert back(QUERY, copy) == [replace(unsaved(states[0]), merges=14), replace(unsaved(states[1]), merges=0)]


def test_what_is_in_blocks_does_not_make_the_header_longer() -> None:
    few, many = (write_parts(QUERY, contents(key_state(n * BLOCK, n * BLOCK)))[0] for n in (1, 20))
    assert abs(len(few.header) - len(many.header)) < 10


def test_lanes_have_their_own_blocks() -> None:
    query = sash.Query(
        windows={"km": sash.sliding(5, 1, on="km"), "n": sash.sliding(3)},
        aggregates={"peak": sash.Max("x"), "all": sash.Collect("x")},
    )
    states = {"km": key_state(600, 600, tuples=False), "": key_state(600, 600, 512, tuples=False)}
    for order, state in states.items():
        state.windows = {"km" if order else "n": WindowState()}
    lanes = {order: lane(state, windows=list(state.windows), values=("x",)) for order, state in states.items()}
    changes, _ = write_parts(query, Contents({}, (1, {}), lanes))
    assert sorted(changes.written) == [("", 0, 1), ("km", 0, 0)]
    copy = read_parts(query, changes.header, changes.written)
    for order, state in states.items():
        assert scatter(copy.lanes[order], list(query.aggregates.values()), ("x",)) == [replace(state, final=0)]
    left = read_parts(query.using(windows={"km": sash.sliding(5, 1, on="km")}), changes.header, changes.written)
    assert list(left.lanes) == ["km"]


def test_windows_may_be_added_and_removed() -> None:
    blob = write(QUERY, contents(key_state(10)))
    start = sash.punctuated("more")
    query = QUERY.using(windows={"trip": start, "visit": sash.session("30s")})
    assert query.values == ("load", "more")
    (state,) = back(query, read(query, blob), query.values)
    assert state.windows == {"visit": key_state(10).windows["visit"], "trip": WindowState(since=100, since_count=12)}
    assert state.pending == [(10**18, (1.5, "late")), (7, (None, "ä"))]
    query = QUERY.using(windows={"trip": sash.punctuated("start"), "visit": sash.session("30s")})
    (state,) = back(query, read(query, blob), query.values)
    assert state.pending == [(10**18, (1.5, None)), (7, (None, None))]
    assert state.slices[0].tuples == [(0, (0, None)), (5, (None, None))]


SMALL = write(QUERY, contents(key_state(3, 3), extra={"n": 1}))
PARTS = write_parts(QUERY, contents(key_state(3, 3), extra={"n": 1}))[0]


def test_every_damaged_byte_is_noticed() -> None:
    generator = random.Random(1)
    for position in range(len(SMALL)):
        for flip in (1, 128, generator.randrange(1, 256)):
            damaged = bytearray(SMALL)
            damaged[position] ^= flip
            with pytest.raises(StateError):
                read(QUERY, bytes(damaged))
    for position in range(len(PARTS.header)):
        damaged = bytearray(PARTS.header)
        damaged[position] ^= 255
        with pytest.raises(StateError):
            read_parts(QUERY, bytes(damaged), {})


def test_every_truncation_is_noticed() -> None:
    for size in range(len(SMALL)):
        with pytest.raises(StateError):
            read(QUERY, SMALL[:size])
    with pytest.raises(StateError, match="1 bytes follow its end"):
        read(QUERY, SMALL + b"x")


@given(noise=st.binary(max_size=200), begin=st.sampled_from([b"", b"SASH", SMALL[:12], SMALL[:200]]))
def test_noise_is_refused(noise: bytes, begin: bytes) -> None:
    with pytest.raises(StateError):
        read(QUERY, begin + noise)
    with pytest.raises(StateError):
        read_parts(QUERY, begin + noise, {})


def nonsense(blob: bytes, sections: list[bytes], generator: random.Random) -> bytes:
    """A state of which some bytes were changed, under a right checksum: as if someone had made it on purpose."""
    changed = [bytearray(section) for section in sections]
    section = generator.choice(changed[:1] + changed[1:] * 4)
    for _ in range(generator.randrange(1, 4)):
        section[generator.randrange(len(section))] = generator.randrange(256)
    version, kind, _ = snapshot_format.open_envelope(blob)
    again = snapshot_format.seal(kind, list(map(bytes, changed)))
    return with_version(again, version)


def with_version(blob: bytes, version: int) -> bytes:
    """An envelope as another version would have sealed it."""
    _, kind, sections = snapshot_format.open_envelope(blob)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshot_format, "VERSION", version)
        return snapshot_format.seal(kind, sections)


def test_nonsense_under_a_right_checksum_is_refused_or_is_a_state() -> None:
    """Checksums are against accidents: what someone made on purpose is refused, or is the state of some stream."""
    generator = random.Random(2)
    op = sash.Operator(QUERY.using(allowed_lateness="5s"))
    for second in range(30):
        op.process({"ts": datetime(2024, 3, 1, 12, 0, second), "load": second % 7})
    blob, refused = op.snapshot(), 0
    sections = snapshot_format.open_envelope(blob).sections
    for _ in range(3000):
        try:
            restored = sash.Operator.restore(op.query, nonsense(blob, sections, generator))
        except StateError:
            refused += 1
            continue
        again = restored.snapshot()
        assert sash.Operator.restore(op.query, again).snapshot() == again
    assert 2000 < refused < 3000


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda blob: b"", "the saved state is empty"),
        (lambda blob: b"PK\x03\x04" + blob, "this is not a saved state of Sash"),
        (lambda blob: b"SASH\x01", "is cut off: it has 5 bytes only"),
        (lambda blob: blob[:4] + b"\x03\x00" + blob[6:], "of format version 3, but this version of Sash reads up to 2"),
        (lambda blob: blob[:-10], r"is cut off, or damaged: section \d reaches beyond its end"),
        (lambda blob: blob[:-10] + b"0123456789", r"is damaged: the checksum of section \d does not match"),
        (lambda blob: PARTS.header, "not in the place where it belongs"),
        (lambda blob: "text", "a saved state is bytes; got str"),
    ],
)
def test_each_fault_has_a_sentence_of_its_own(damage: Any, words: str) -> None:
    with pytest.raises(StateError, match=words):
        read(QUERY, damage(SMALL))


def test_blocks_that_are_missing_or_mistaken() -> None:
    header, blocks, _ = write_parts(QUERY, contents(key_state(1100, 1100)))[0]
    first, second = blocks
    with pytest.raises(StateError, match="is incomplete: block 1 of key number 0 is missing"):
        read_parts(QUERY, header, {first: blocks[first]})
    with pytest.raises(StateError, match="another block is in the place of block 0 of key number 0"):
        read_parts(QUERY, header, dict.fromkeys((first, second), blocks[second]))
    with pytest.raises(StateError, match="not in the place where it belongs"):
        read_parts(QUERY, header, dict.fromkeys((first, second), header))


@pytest.mark.parametrize("keys", [10**12, 5, -1])
def test_a_number_of_keys_that_is_not_true_is_refused(keys: int) -> None:
    """Columns that are one number take no bytes for each key."""
    saved = contents(key_state(0, tuples=False))
    pairs: list[Any] = [(keys, saved.keys[1]), (keys, {})]
    for forged in pairs:
        with pytest.raises(StateError, match="keys are of different lengths"):
            read(QUERY, write(QUERY, replace(saved, keys=forged)))


def test_timestamps_in_blocks_take_the_unit_of_the_header() -> None:
    """A column may change its type after a block was written."""
    query = sash.Query(windows=sash.sliding(600), aggregates={"last": sash.Max("at")})
    op = KeyedOperator(query)
    blocks: dict[Any, bytes] = {}
    for begin, unit in ((0, "s"), (550, "ms")):
        op.process_batch({"at": np.arange(begin, begin + 550).astype("datetime64[s]").astype(f"datetime64[{unit}]")})
        header, written, deleted = op.snapshot_parts()
        blocks = {name: block for name, block in (blocks | written).items() if name not in deleted}
    more = {"at": np.array([7], "datetime64[ms]")}
    assert (
        KeyedOperator.restore_parts(query, header, blocks).process_batch(more)["last"] == op.process_batch(more)["last"]
    )


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
        ({"windows": {"hour": sash.sliding("2h", "1s")}}, "window 'hour' differs from the one in the saved state"),
        ({"windows": {"hour": sash.sliding(9, 1, on="km")}, "allowed_lateness": None}, "ordered by another column"),
        ({"aggregates": {"peak": sash.Max("load")}}, "aggregate 'all' of the saved state is not in the query"),
        ({"aggregates": {**QUERY.aggregates, "n": sash.Count()}}, "aggregate 'n' is not in the saved state"),
        ({"aggregates": {**QUERY.aggregates, "peak": sash.Max("x")}}, "aggregate 'peak' differs from the one"),
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
        read(QUERY.using(**change), SMALL)
    else:
        assert found is not None and reason in found
        with pytest.raises(StateError, match=f"the saved state is of another query: .*{reason}"):
            read(QUERY.using(**change), SMALL)


def test_functions_count_by_name() -> None:
    def query(combine: Any, **more: Any) -> bytes:
        own = sash.aggregation("x", lift=abs, combine=combine, **more)
        return fingerprint(sash.Query(windows=sash.sliding(3), aggregates={"own": own}))

    assert query(_odd) == query(_odd) != query(max)
    assert query(_odd) != query(_odd, commutative=True)
    assert query(partial(_odd, 1)) == query(partial(_odd, 1)) != query(partial(_odd, 2))
    single = sash.Query(windows=sash.sliding(3), aggregates={"own": sash.Max("x")})
    reason = compatible(fingerprint(single), fingerprint(single.using(windows=sash.sliding(4))))
    assert reason is not None and reason.startswith("the window differs from the one")


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
def test_noise_is_refused_or_is_a_value(noise: bytes, start: int) -> None:
    data = bytes([start]) + noise
    try:
        value = loads(data)
    except NotTagged:
        return
    assert start != ord("p"), "a pickle must not be read"
    assert repr(loads(dumps(value))) == repr(value)
    with pytest.raises(NotTagged, match="goes on after its end"):
        loads(data + b"N")


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
    state = key_state(2)
    state.slices = [replace(slice_, partials=(1, Own(i))) for i, slice_ in enumerate(state.slices)]
    with pytest.raises(ValueError, match="only inside an engine's state"):
        write(QUERY, contents(state))
    blob = write(QUERY, contents(state), trusted=True)
    with pytest.raises(StateError, match="the saved state cannot be read: it holds Python objects"):
        read(QUERY, blob)
    assert [slice_.partials[1] for slice_ in back(QUERY, read(QUERY, blob, trusted=True))[0].slices] == [Own(0), Own(1)]
    odd = datetime(2024, 3, 1, tzinfo=timezone(timedelta(microseconds=5)))
    with pytest.raises(NotTagged, match="datetime can be saved only"):
        dumps(odd)
    with pytest.raises(NotTagged, match="cannot be read"):
        loads(b"p" + (3).to_bytes(4, "little") + b"abc", trusted=True)


def test_the_format_does_not_change_unnoticed() -> None:
    """The bytes of version 2, so that states that were saved can be read for ever."""
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
    blob = snapshot_format.seal(snapshot_format.WHOLE, [b"abc", b""])
    assert blob.hex() == "53415348020003000200000003000000000000006162636d7c8c6d000000000000000003b7d40d"
