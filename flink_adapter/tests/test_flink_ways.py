"""Both ways in on streams that are awkward: keys that go silent, few operators alive, jobs of one's own, both modes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

import sash

if TYPE_CHECKING:
    from pyflink.datastream import DataStream, StreamExecutionEnvironment

Rows = list[tuple[Any, ...]]
NAMES = ["plug", "t", "load"]


def stream_of(env: StreamExecutionEnvironment, rows: Rows) -> DataStream:
    from pyflink.common import Types

    return env.from_collection(rows, Types.ROW_NAMED(NAMES, [Types.STRING(), Types.LONG(), Types.DOUBLE()]))


def collected(env: StreamExecutionEnvironment, streams: Mapping[str, DataStream]) -> dict[str, Rows]:
    """The rows of several streams of one job, in the order in which they come."""
    from sash_flink.results import Collected, pack_for_client

    found = {}
    for name, stream in streams.items():
        j_stream, schema = pack_for_client(stream)
        found[name] = Collected(j_stream.collectAsync(), schema)
    env.execute_async("ways")
    return {name: [tuple(row) for row in rows] for name, rows in found.items()}


def query(**options: Any) -> sash.Query:
    given: dict[str, Any] = {
        "key": "plug",
        "windows": sash.tumbling(10, on="t"),
        "aggregates": {"peak": sash.Max("load")},
        "time": "t",
    }
    return sash.Query(**given | options)


def one_record_a_bundle(env: StreamExecutionEnvironment) -> None:
    """PyFlink tells of time when a bundle is done."""
    from pyflink.common import Configuration

    settings = Configuration()
    settings.set_string("python.fn-execution.bundle.size", "1")
    env.configure(settings)


def test_time_passes_for_keys_that_are_silent_or_forgotten(flink: StreamExecutionEnvironment) -> None:
    """
    a  |3  .....................
    b  | . 5 . . . . . 6 . . . 7    time passes because of b: the window of a comes before the later ones of b

    With a ttl, a key that was silent for longer is a new one when it comes again: its values of before do not count.
    """
    import sash_flink

    one_record_a_bundle(flink)
    silent = query()
    rows: Rows = [("a", 0, 3.0), *(("b", t, float(t)) for t in range(1, 400, 7))]
    # One record a pack, so that each moves the time before the next one comes.
    packed: dict[str, Any] = {"latency": "1ms", "max_rows": 1}
    stream = sash_flink.with_watermarks(stream_of(flink, rows), silent, every_record=True)
    counts = query(windows=sash.sliding(2), aggregates={"n": sash.Sum("load")})
    again: Rows = [("a", 0, 1.0), ("b", 1, 1.0), ("b", 500, 2.0), ("b", 501, 2.0), ("a", 502, 4.0), ("a", 503, 8.0)]
    forgetful = sash_flink.with_watermarks(stream_of(flink, again), counts, every_record=True)
    found = collected(
        flink,
        {
            "packed": sash_flink.aggregate(stream, silent, buckets=7, **packed),
            "record": sash_flink.aggregate(stream, silent, packed=False),
            "ttl": sash_flink.aggregate(forgetful, counts, ttl="100ms", **packed),
            "ttl by record": sash_flink.aggregate(forgetful, counts, ttl="100ms", packed=False),
            "no ttl": sash_flink.aggregate(forgetful, counts, **packed),
        },
    )
    for way in ("packed", "record"):
        ends = [end for plug, _, end, _ in found[way] if plug == "b"]
        assert len(ends) == 40 and ends == sorted(ends)
        assert ("a", 0, 10, 3.0) in found[way][:20]
    for way in ("ttl", "ttl by record"):
        assert [row for row in found[way] if row[0] == "a"] == [("a", 0, 2, 12.0)]
    assert [row for row in found["no ttl"] if row[0] == "a"] == [("a", 0, 2, 5.0), ("a", 1, 3, 12.0)]


def test_the_first_records_do_not_even_import_numba(flink: StreamExecutionEnvironment) -> None:
    """A user's function looks, in workers that are new with each job."""
    from pyflink.common import Types

    import sash_flink

    looks = sash.aggregation("text", lift=len, combine=max, lower=lambda _: "numba" in sys.modules, name="looks")
    rows = [("a", t, t / 2, "x") for t in range(500)]
    kind = Types.ROW_NAMED([*NAMES, "text"], [Types.STRING(), Types.LONG(), Types.DOUBLE(), Types.STRING()])
    streams = {}
    for name, windows in {"count": sash.sliding(2), "time": sash.tumbling(10, on="t")}.items():
        asked = query(windows=windows, aggregates={"peak": sash.Max("load"), "mean": sash.Mean("load"), "numba": looks})
        stream = sash_flink.with_watermarks(flink.from_collection(rows, kind), asked, every_record=True)
        streams[f"{name} packed"] = sash_flink.aggregate(stream, asked)
        streams[f"{name} by record"] = sash_flink.aggregate(stream, asked, packed=False)
    for name, results in collected(flink, streams).items():
        assert len(results) == (499 if name.startswith("count") else 50) and {row[-1] for row in results} == {False}


def peeking() -> type[Any]:
    """Tells with each record what Flink has as its key's state before it is taken. Sent to the worker by value."""
    from pyflink.common import Row

    from sash_flink import WindowOperatorFunction

    class Peeking(WindowOperatorFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            snapshot, entries = self._journal.read()
            told = f"{snapshot is not None} {[records for _, records in entries if records is not None]}"
            super().process_element(value, ctx)
            return [Row(value[0], value[1], told)]

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            super().on_timer(timestamp, ctx)
            return []

    return Peeking


@pytest.mark.parametrize(("ttl", "left"), [(100, "False []"), (None, "False [('a', 0, 1.0)]")])
def test_of_a_forgotten_key_nothing_is_left_in_flinks_state(
    flink: StreamExecutionEnvironment, ttl: int | None, left: str
) -> None:
    from pyflink.common import Types

    import sash_flink

    one_record_a_bundle(flink)
    asked = query(windows=sash.sliding(3), aggregates={"n": sash.Sum("load")})
    rows: Rows = [("a", 0, 1.0), *(("b", t, 1.0) for t in range(1, 500, 7)), ("a", 502, 4.0)]
    read = pa.schema([("plug", pa.string()), ("t", pa.int64()), ("load", pa.float64())])
    results = pa.schema([("plug", pa.string()), ("window_start", "int64"), ("window_end", "int64"), ("n", "double")])
    stream = sash_flink.with_watermarks(stream_of(flink, rows), asked, every_record=True)
    keyed = stream.key_by(lambda row: row[0], Types.STRING())
    kind = Types.ROW_NAMED(["plug", "t", "told"], [Types.STRING(), Types.LONG(), Types.STRING()])
    with keyed.process(peeking()(asked, read, results, ttl=ttl), kind).execute_and_collect() as found:
        assert [told for plug, t, told in map(tuple, found) if (plug, t) == ("a", 502)] == [left]


def test_of_a_key_whose_rows_were_all_bad_or_late_nothing_is_left(flink: StreamExecutionEnvironment) -> None:
    """Each key's last record is told what is there of those before it."""
    from pyflink.common import Types

    import sash_flink

    one_record_a_bundle(flink)
    asked = query(aggregates={"n": sash.Sum("load")})
    early: list[Any] = [("b", t, 1.0) for t in range(0, 300, 7)]
    odd: list[Any] = [("bad", None, 1.0), ("late", 20, 1.0), ("fine", 400, 1.0)]
    last: list[Any] = [(plug, 502, 4.0) for plug in ("bad", "late", "fine")]
    read = pa.schema([("plug", pa.string()), ("t", pa.int64()), ("load", pa.float64())])
    results = pa.schema([("plug", pa.string()), ("window_start", "int64"), ("window_end", "int64"), ("n", "double")])
    stream = sash_flink.with_watermarks(stream_of(flink, early + odd + last), asked, every_record=True)
    keyed = stream.key_by(lambda row: row[0], Types.STRING())
    kind = Types.ROW_NAMED(["plug", "t", "told"], [Types.STRING(), Types.LONG(), Types.STRING()])
    with keyed.process(peeking()(asked, read, results), kind).execute_and_collect() as found:
        told = {plug: told for plug, t, told in map(tuple, found) if t == 502}
    assert told == {"bad": "False []", "late": "False []", "fine": "False [('fine', 400, 1.0)]"}


def test_a_row_that_is_late_in_one_order_is_kept_in_another(flink: StreamExecutionEnvironment) -> None:
    """The first of its key: late for the windows on time, not for those on another column, which have it."""
    from pyflink.common import Types

    import sash_flink

    asked = query(
        windows={"time": sash.tumbling(10, on="t"), "load": sash.tumbling(10, on="load")},
        aggregates={"n": sash.Count()},
    )
    rows: list[Any] = [*(("b", t, 1.0) for t in range(0, 300, 7)), ("new", 20, 5.0), ("new", 302, 6.0)]
    kind = Types.ROW_NAMED(["plug", "t", "load"], [Types.STRING(), Types.LONG(), Types.DOUBLE()])
    stream = sash_flink.with_watermarks(flink.from_collection(rows, kind), asked, every_record=True)
    results = sash_flink.aggregate(stream, asked, packed=False, latency="5ms")
    with results.execute_and_collect() as found:
        told = [tuple(row) for row in found if row[0] == "new"]
    assert sorted((row[1], row[-1]) for row in told) == [("load", 2), ("time", 1)]


def restarting(moments: set[int], ttl: int) -> type[Any]:
    """Begins anew with what Flink has as state, and with a ttl, before records of these times. Sent by value."""
    from sash_flink import WindowOperatorFunction

    class Restarting(WindowOperatorFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            if value[1] in moments:
                self._live.clear()
                self.ttl = ttl
            return super().process_element(value, ctx)

    return Restarting


def test_a_ttl_that_is_new_forgets_what_was_before_and_nothing_since(flink: StreamExecutionEnvironment) -> None:
    """The journal has records from before and from after the silence: they are read again, and again."""
    from pyflink.common import Types

    import sash_flink

    one_record_a_bundle(flink)
    asked = query(windows=sash.sliding(3), aggregates={"n": sash.Sum("load")})
    again: Rows = [("a", 502, 4.0), ("a", 503, 8.0), ("a", 504, 16.0)]
    rows: Rows = [("a", 0, 1.0), *(("b", t, 1.0) for t in range(1, 500, 70)), *again]
    read = pa.schema([("plug", pa.string()), ("t", pa.int64()), ("load", pa.float64())])
    results = pa.schema([("plug", pa.string()), ("window_start", "int64"), ("window_end", "int64"), ("n", "double")])
    stream = sash_flink.with_watermarks(stream_of(flink, rows), asked, every_record=True)
    keyed = stream.key_by(lambda row: row[0], Types.STRING())
    kind = Types.ROW_NAMED(results.names, [Types.STRING(), Types.LONG(), Types.LONG(), Types.DOUBLE()])
    function = restarting({503, 504}, 100)(asked, read, results)
    with keyed.process(function, kind).execute_and_collect() as found:
        assert [row for row in map(tuple, found) if row[0] == "a"] == [("a", 0, 3, 28.0)]


def test_few_operators_alive_equal_times_and_tuples(flink: StreamExecutionEnvironment) -> None:
    """Of one operator alive all others are read from Flink's state each time; rows of equal times stay in order."""
    from pyflink.common import Types

    import sash_flink

    rows: Rows = [(f"p{i % 5}", i // 20 * 10, float(i)) for i in range(300)]
    kind = Types.TUPLE([Types.STRING(), Types.LONG(), Types.DOUBLE()])
    asked = query(windows=sash.sliding(20, 10, on="t"), aggregates={"all": sash.Collect("load"), "n": sash.Count()})
    tuples = sash_flink.with_watermarks(flink.from_collection(rows, kind), asked, NAMES, every_record=True)
    found = collected(
        flink,
        {
            "packed": sash_flink.aggregate(tuples, asked, NAMES, buckets=4, cache=1, max_rows=3),
            "record": sash_flink.aggregate(tuples, asked, NAMES, packed=False, cache=1),
        },
    )
    expected = sash.run(asked, pa.table(dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))))
    for way in ("packed", "record"):
        assert sorted(found[way]) == sorted(tuple(row.values()) for row in expected.to_pylist())


@pytest.mark.parametrize("cached", [0, 2])
@pytest.mark.parametrize("alive", [1, 100])
def test_entries_that_pyflink_writes_before_a_bundle_ends(
    flink: StreamExecutionEnvironment, cached: int, alive: int
) -> None:
    """A key's entries go into one element until it is written: at once without a cache, or when others take its place.

    Of one operator alive, all others are read back from what has been written and what has not.
    """
    from pyflink.common import Configuration

    import sash_flink

    settings = Configuration()
    settings.set_string("python.state.cache-size", str(cached))
    flink.configure(settings)
    rows: Rows = [(f"p{i // 3 % 5}", i, float(i * 7919 % 101)) for i in range(400)]  # thrice the same, then another
    asked = sash.Query(key="plug", windows=sash.sliding(7), aggregates={"all": sash.Collect("load")})
    found = collected(flink, {"record": sash_flink.aggregate(stream_of(flink, rows), asked, packed=False, cache=alive)})
    expected = sash.run(asked, pa.table(dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))))
    assert sorted(found["record"]) == sorted(tuple(row.values()) for row in expected.to_pylist())


def test_the_operator_in_a_job_of_ones_own(flink: StreamExecutionEnvironment) -> None:
    from pyflink.common import Types

    import sash_flink

    asked = sash.Query(key="plug", windows=sash.sliding(2), aggregates={"peak": sash.Max("load")})
    read = pa.schema([("plug", pa.string()), ("load", pa.float64())])
    results = pa.schema([("plug", pa.string()), ("window_start", "int64"), ("window_end", "int64"), ("peak", "double")])
    rows = [("one", 3.0), ("two", 9.0), ("one", 5.0), ("two", 4.0), ("one", 1.0)]
    stream = flink.from_collection(rows, Types.ROW_NAMED(["plug", "load"], [Types.STRING(), Types.DOUBLE()]))
    keyed = stream.key_by(lambda row: row[0], Types.STRING())
    kind = Types.ROW_NAMED(results.names, [Types.STRING(), Types.LONG(), Types.LONG(), Types.DOUBLE()])
    found = keyed.process(sash_flink.WindowOperatorFunction(asked, read, results), kind)
    with found.execute_and_collect() as given:
        assert sorted(map(tuple, given)) == [("one", 0, 2, 5.0), ("one", 1, 3, 5.0), ("two", 0, 2, 9.0)]
    with pytest.raises(ValueError, match="read= must have the columns"):
        sash_flink.WindowOperatorFunction(asked, results, read)


def counting(at_once: bool) -> type[Any]:
    """Has a state besides, from the begin or from some record on: how many of the key there were. Sent by value."""
    from pyflink.common import Row, Types
    from pyflink.datastream.state import ValueStateDescriptor

    from sash_flink import WindowOperatorFunction

    class Counting(WindowOperatorFunction):
        def open(self, runtime_context: Any) -> None:
            super().open(runtime_context)
            self.seen = 0
            self.context = runtime_context
            if at_once:
                self.count = self.context.get_state(ValueStateDescriptor("count", Types.LONG()))

        def process_element(self, value: Any, ctx: Any) -> Any:
            found = super().process_element(value, ctx)
            self.seen += 1
            if not at_once and self.seen == 99:
                self.count = self.context.get_state(ValueStateDescriptor("count", Types.LONG()))
            if at_once or self.seen >= 99:
                self.count.update((self.count.value() or 0) + 1)
                found.append(Row(ctx.get_current_key(), -1, self.count.value(), 0.0))
            return found

    return Counting


@pytest.mark.parametrize("at_once", [True, False])
def test_states_of_ones_own_are_of_the_records_key(flink: StreamExecutionEnvironment, at_once: bool) -> None:
    """Sash does not ask for a key's state with every record; another state is nevertheless that of the right key."""
    from pyflink.common import Types

    rows = [(f"p{i * 7 % 5}", float(i * 7919 % 101)) for i in range(400)]
    asked = sash.Query(key="plug", windows=sash.sliding(7), aggregates={"peak": sash.Max("load")})
    read = pa.schema([("plug", pa.string()), ("load", pa.float64())])
    results = pa.schema([("plug", pa.string()), ("window_start", "int64"), ("window_end", "int64"), ("peak", "double")])
    stream = flink.from_collection(rows, Types.ROW_NAMED(["plug", "load"], [Types.STRING(), Types.DOUBLE()]))
    keyed = stream.key_by(lambda row: row[0], Types.STRING())
    kind = Types.ROW_NAMED(results.names, [Types.STRING(), Types.LONG(), Types.LONG(), Types.DOUBLE()])
    with keyed.process(counting(at_once)(asked, read, results), kind).execute_and_collect() as found:
        told = list(map(tuple, found))
    expected = sash.run(asked, pa.table(dict(zip(read.names, map(list, zip(*rows, strict=True)), strict=True))))
    assert sorted(row for row in told if row[1] >= 0) == sorted(tuple(row.values()) for row in expected.to_pylist())
    counted = rows if at_once else rows[98:]
    each = {plug: sum(row[0] == plug for row in counted) for plug, _ in rows}
    assert {plug: max(row[2] for row in told if row[:2] == (plug, -1)) for plug in each} == each


def probing(path: Path, last: int) -> type[Any]:
    """Tells which threads there are when the last record has come, and when the operator is closed.

    The class is made inside a function so that it is sent to the worker by value.
    """
    from sash_flink import WindowOperatorFunction

    class Probing(WindowOperatorFunction):
        def told(self, when: str) -> None:
            names = sorted(each.name for each in threading.enumerate() if each.name.startswith("sash-lcs"))
            (path / when).write_text(f"{self.algorithm} {' '.join(names)}")

        def process_element(self, value: Any, ctx: Any) -> Any:
            found = super().process_element(value, ctx)
            self.algorithm = next(iter(self._live.values())).op.plan.algorithm
            if value[1] == last:
                self.told("open")
                (path / "targets").write_text(
                    " ".join(repr(vars(each)["_target"]) for each in threading.enumerate()[1:])
                )
            return found

        def close(self) -> None:
            super().close()
            self.told("closed")

    return Probing


@pytest.mark.parametrize(("threads", "said"), [(1, "PBA sash-lcs_0"), (0, "SBA ")])
def test_one_pool_computes_lcs_for_all_keys_and_ends_with_the_operator(
    flink: StreamExecutionEnvironment, tmp_path: Path, threads: int, said: str
) -> None:
    from pyflink.common import Types

    each, window = 1300, 1024
    asked = sash.Query(key="plug", windows=sash.sliding(window), aggregates={"seen": sash.Bloom("load")})
    read = pa.schema([("plug", pa.string()), ("load", pa.int64())])
    results = pa.schema([("plug", pa.string()), ("window_start", "int64"), ("window_end", "int64"), ("seen", "binary")])
    rows = [(f"p{i % 3}", i) for i in range(3 * each)]
    stream = flink.from_collection(rows, Types.ROW_NAMED(["plug", "load"], [Types.STRING(), Types.LONG()]))
    kind = Types.ROW_NAMED(
        results.names, [Types.STRING(), Types.LONG(), Types.LONG(), Types.PRIMITIVE_ARRAY(Types.BYTE())]
    )
    function = probing(tmp_path, rows[-1][1])(asked, read, results, threads=threads)
    keyed = stream.key_by(lambda row: row[0], Types.STRING())
    ends = keyed.process(function, kind).map(lambda row: row[2], Types.LONG())
    with ends.execute_and_collect() as found:
        assert sum(1 for _ in found) == 3 * (each - window + 1)
    assert (tmp_path / "open").read_text() == said
    assert (tmp_path / "closed").read_text() == f"{said.split(maxsplit=1)[0]} "
    targets = (tmp_path / "targets").read_text()
    assert "GrpcDataChannel" in targets and "StateSampler" not in targets  # none that the end of a bundle waits for


@pytest.mark.parametrize(("number", "pool"), [(1, {"sash-lcs_0"}), (0, set())])
def test_packed_records_have_lcs_on_the_slots_pool_too(
    flink: StreamExecutionEnvironment, number: int, pool: set[str]
) -> None:
    """The threads that merged what a window holds: the task's own, and those of the pool, as many as were asked for."""
    import sash_flink
    from sash.testing import count_windows

    def merged_here(a: frozenset[str], b: frozenset[str]) -> frozenset[str]:
        return a | b | {threading.current_thread().name}

    threads = sash.aggregation(
        "load", lift=lambda load: frozenset(), combine=merged_here, lower=lambda names: ",".join(sorted(names))
    )
    rows: Rows = [(plug, t, float(t * 7 % 31)) for t in range(400) for plug in ("a", "b", "c")]
    asked = sash.Query(
        key="plug",
        windows=sash.sliding(40),
        aggregates={"peak": sash.Max("load"), "threads": threads},
        algorithm="pba",
    )
    stream = sash_flink.aggregate(
        stream_of(flink, rows), asked, threads=number, max_rows=50, buckets=2, types={"threads": pa.string()}
    )
    found = collected(flink, {"all": stream})["all"]
    expected = sorted(
        (plug, end - 40, end, max(window))
        for plug in ("a", "b", "c")
        for end, window in enumerate(count_windows([load for key, _, load in rows if key == plug], 40), 40)
    )
    assert sorted(row[:4] for row in found) == expected
    assert {name for row in found for name in row[4].split(",") if name.startswith("sash")} == pool


def test_null_arguments_booleans_and_times_are_values_both_ways(flink: StreamExecutionEnvironment) -> None:
    """A null argument of ArgMax is a result: its row is rejected in no way, and counts in every aggregate."""
    from datetime import datetime, timedelta

    from pyflink.common import Types

    import sash_flink

    start = datetime(2024, 3, 1, 12)
    names = ["plug", "load", "house", "on", "at"]
    kinds = [Types.STRING(), Types.LONG(), Types.LONG(), Types.BOOLEAN(), Types.SQL_TIMESTAMP()]
    rows: list[Any] = [
        ("a", 1, 7, True, start),
        ("a", 5, None, None, start + timedelta(seconds=4)),
        ("a", 3, 9, False, start + timedelta(seconds=1)),
    ]
    asked = sash.Query(
        key="plug",
        windows=sash.tumbling(3),
        aggregates={
            "who": sash.ArgMax("load", "house"),
            "total": sash.Sum("load"),
            "switched": sash.Collect("on"),
            "middle": sash.Median("at"),
        },
    )
    stream = flink.from_collection(rows, Types.ROW_NAMED(names, kinds))
    ways = {str(packed): sash_flink.aggregate(stream, asked, packed=packed) for packed in (True, False)}
    sides = {f"rejected {name}": way.get_side_output(sash_flink.REJECTED) for name, way in ways.items()}
    found = collected(flink, ways | sides)
    expected = ("a", 0, 3, None, 9, [True, False], start + timedelta(seconds=1))
    assert found == {"True": [expected], "False": [expected], "rejected True": [], "rejected False": []}
    assert all(type(value) is bool for way in ways for value in found[way][0][5])
