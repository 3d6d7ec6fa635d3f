"""A call happens or does not, wherever an exception interrupts it: Ctrl-C, no memory left, a user's function.

Each case is a stream of calls. Those calls are interrupted that run lines which no earlier call of the case has run: at
each of these lines, and at a sample of their others, for what has been done before a line differs:

    calls      0 1 2 3 4 5 6 7 …     reference: never interrupted
                     ^ KeyboardInterrupt at its line 1, 2, 3 …: the state is as before it; made again, it gives the same
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import sash
from sash.engine.rows.lane import RowLane
from sash.runtime.operator import KeyedOperator

SASH = str(Path(sash.__file__).parent)
FOLLOWING = 25
"""So many calls show whether the operator has gone on rightly."""
NEW = 80
"""At no more new lines of a call than that, chosen at random: a first batch of columns has a thousand."""
OTHERS = 5
"""At so many lines of a call besides the new ones."""

Call = tuple[str, Any]
Line = tuple[str, int]


class Stop(BaseException):
    """An exception that nobody knows."""


class Tracer:
    """Follows the lines of the library that a call runs, and raises ``error`` at line number ``stop`` of these."""

    def __init__(self, stop: int = -1, error: BaseException | None = None) -> None:
        self.lines: list[Line] = []
        self._stop, self._error = stop, error

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(SASH):
            return None
        if event == "line":
            self.lines.append((frame.f_code.co_filename, frame.f_lineno))
            if self._error is not None and len(self.lines) == self._stop:
                raise self._error
        return self

    def run(self, call: Callable[[], Any]) -> Any:
        before = sys.gettrace()
        sys.settrace(self)
        try:
            return call()
        finally:
            sys.settrace(before)


@dataclass(frozen=True)
class Case:
    query: dict[str, Any]
    calls: list[Call]
    own: Any = True
    make: Callable[..., Any] = sash.Operator
    aggregates: dict[str, sash.Aggregation] = field(default_factory=lambda: {"total": sash.Sum("x")})

    def operator(self) -> Any:
        return self.make(sash.Query(aggregates=self.aggregates, **self.query), own_watermark=self.own)


def made(op: Any, call: Call) -> Any:
    """Make a call; what it gives."""
    name, argument = call
    if name == "add_window":
        return op.add_window(*argument)
    if name in ("close", "close_values", "snapshot", "snapshot_parts"):
        return getattr(op, name)()
    return getattr(op, name)(argument)


def seen(op: Any) -> Any:
    """What can be seen of an operator from outside; merges are work that was done, whether or not it counted."""
    return {name: value for name, value in op.metrics.items() if name != "merges"}, list(op.dropped)


class Reference:
    """The operator that is never interrupted: what each call gave, and the state before it."""

    def __init__(self, case: Case) -> None:
        op = case.operator()
        for call in case.calls:  # once before: what is compiled, or made once a process, is there
            made(op, call)
        op = case.operator()
        self.case, self.results, self.states, self.lines = case, [], [], []
        for call in case.calls:
            self.states.append((op.snapshot(), seen(op)))
            tracer = Tracer()
            self.results.append(tracer.run(partial(made, op, call)))
            self.lines.append(tracer.lines)
        self.states.append((op.snapshot(), seen(op)))

    def interruptions(self, seed: int) -> Iterator[tuple[int, int]]:
        """(call, line of it)."""
        rng = random.Random(seed)
        known: set[Line] = set()
        for number, lines in enumerate(self.lines):
            new = [place for place, line in enumerate(lines) if line not in known and line not in lines[:place]]
            if new:
                new = new if len(new) <= NEW else rng.sample(new, NEW)
                others = [place for place in range(len(lines)) if place not in new]
                more = rng.sample(others, min(len(others), OTHERS))
                yield from ((number, place + 1) for place in sorted([*new, *more]))
            known.update(lines)


def check(case: Case, seed: int = 7) -> None:
    reference = Reference(case)
    tried = 0
    for number, line in reference.interruptions(seed):
        op = case.operator()
        for call in case.calls[:number]:
            made(op, call)
        error = (KeyboardInterrupt(), Stop())[line % 2]
        tracer = Tracer(line, error)
        where = f"call {number}, {case.calls[number]}, interrupted at its line {line}"
        try:
            tracer.run(partial(made, op, case.calls[number]))
        except (KeyboardInterrupt, Stop):
            pass
        else:  # the call has fewer lines than at first: what it looked up then is known now, or compiled
            assert len(tracer.lines) < line, where
            continue
        where += f", {tracer.lines[-1]}"
        if line % 3:  # saving a state might mend it
            assert (op.snapshot(), seen(op)) == reference.states[number], where
        for again, call in list(enumerate(case.calls))[number : number + FOLLOWING]:
            assert made(op, call) == reference.results[again], f"{where}: then call {again}"
        assert seen(op) == reference.states[min(number + FOLLOWING, len(case.calls))][1], where
        tried += 1
    assert tried > 20


# streams of calls


def rows(times: list[Any], way: str = "process", **columns: Callable[[int], Any]) -> list[Call]:
    calls: list[Call] = []
    for number, time in enumerate(times):
        row = {"t": time, "x": number * 7 % 11, **{name: of(number) for name, of in columns.items()}}
        calls.append((way, row if way == "process" else tuple(row.values())))
    return calls


def arrivals(count: int, way: str = "take") -> list[Call]:
    values = [number * 7 % 11 for number in range(count)]
    return [(way, (value,) if way == "take" else {"x": value}) for value in values]


def disorder(count: int, by: int, step: int = 1, seed: int = 3) -> list[int]:
    """Rising times, each moved back at random."""
    rng = random.Random(seed)
    return [number * step - rng.randint(0, by) for number in range(count)]


def batches(calls: list[Call], size: int) -> list[Call]:
    dicts = [row for _, row in calls]
    return [
        ("process_batch", {name: [row[name] for row in dicts[begin : begin + size]] for name in dicts[0]})
        for begin in range(0, len(dicts), size)
    ]


def with_watermarks(calls: list[Call], lag: int, every: int) -> list[Call]:
    """The calls, and every so many a watermark so far behind."""
    found: list[Call] = []
    for number, call in enumerate(calls):
        found.append(call)
        if number % every == every - 1:
            found.append(("advance", call[1]["t"] - lag))
    return found


CLOSE: Call = ("close", None)
IN_ORDER = [number * 2 // 3 for number in range(60)]


class Blocks(sash.windows.ContextFree):
    """Windows of an own type: 0–3, 3–10, 10–13 …"""

    on = "t"

    def next_edge(self, after: Any) -> Any:
        base = after // 10 * 10
        return base + 3 if after < base + 3 else base + 10

    def windows(self, after: Any, upto: Any) -> Iterator[tuple[Any, Any]]:
        start = after // 10 * 10
        while True:
            for extent in ((start, start + 3), (start + 3, start + 10)):
                if extent[1] > upto:
                    return
                if extent[1] > after:
                    yield extent
            start += 10


class Retold(sash.windows.ContextAware):
    """A tuple with a mark puts an edge two before it: forward context aware."""

    forward = True
    on = "t"
    columns = ("mark",)

    def observe(self, time: Any, row: Any, edges: Any) -> None:
        if row["mark"]:
            edges.add(time - 2)


def small(total: dict[str, Any], oldest: dict[str, Any]) -> bool:
    return bool(total["total"] > 20)


ORDERED: dict[str, sash.Aggregation] = {"texts": sash.Collect("x")}
TIME: dict[str, Any] = {"time": "t"}


def late(windows: Any) -> dict[str, Any]:
    return {"windows": windows, "time": "t", "watermark_delay": 1, "allowed_lateness": 6}


def keyed(calls: list[Call], keys: int = 3) -> list[Call]:
    return [(way, {**data, "k": [place % keys for place in range(len(data["x"]))]}) for way, data in calls]


CASES = {
    "count, slices of one": Case({"windows": sash.sliding(4, 1)}, arrivals(150)),
    "count, slices of three": Case({"windows": sash.sliding(6, 3)}, [*arrivals(40, "process"), CLOSE]),
    "count, long": Case({"windows": sash.sliding(24, 2)}, arrivals(230)),
    "count, edges apart": Case({"windows": sash.sliding(7, 3)}, [*arrivals(40), CLOSE]),
    "count, several": Case({"windows": {"a": sash.sliding(6, 3), "b": sash.sliding(5, 2)}}, arrivals(110)),
    "count, in order": Case({"windows": sash.sliding(6, 3)}, arrivals(40), aggregates=ORDERED),
    "pba": Case({"windows": sash.sliding(16, 1), "algorithm": "pba"}, arrivals(90)),
    "daba": Case({"windows": sash.sliding(5, 1), "algorithm": "daba"}, arrivals(90)),
    "time": Case({"windows": sash.sliding(6, 3, on="t"), **TIME}, [*rows(IN_ORDER), CLOSE]),
    "time, taken": Case(
        {"windows": sash.sliding(6, 3, on="t"), **TIME}, [*rows(IN_ORDER, "take"), ("close_values", None)]
    ),
    "time, evicted": Case({"windows": sash.sliding(2, 1, on="t"), **TIME}, rows(list(range(160)))),
    "time, several": Case(
        {"windows": {"a": sash.sliding(6, 2, on="t"), "b": sash.tumbling(9, on="t", offset=1)}, **TIME},
        [*rows(disorder(60, 2)), CLOSE],
    ),
    "time, disorder": Case(
        {"windows": sash.sliding(6, 3, on="t"), "watermark_delay": 3, **TIME}, [*rows(disorder(70, 5)), CLOSE]
    ),
    "time, watermarks from outside": Case(
        {"windows": sash.sliding(6, 3, on="t"), **TIME},
        [*with_watermarks(rows(disorder(60, 5)), 2, 4), CLOSE],
        own=False,
    ),
    "time, tuples wait": Case(
        {"windows": sash.sliding(6, 3, on="t"), "watermark_delay": 3, **TIME},
        [*rows(disorder(60, 5)), CLOSE],
        aggregates=ORDERED,
    ),
    "late": Case(late(sash.sliding(6, 3, on="t")), [*rows(disorder(70, 9)), CLOSE]),
    "late, in order": Case(late(sash.sliding(6, 3, on="t")), [*rows(disorder(70, 9)), CLOSE], aggregates=ORDERED),
    "late, evicted": Case(late(sash.sliding(2, 1, on="t")), rows(disorder(150, 9))),
    "late, counts": Case(late(sash.sliding(4, 2)), [*rows(disorder(60, 9)), CLOSE]),
    "late, counts in order": Case(late(sash.sliding(4, 2)), [*rows(disorder(60, 9)), CLOSE], aggregates=ORDERED),
    "late, counts and times": Case(
        late({"a": sash.sliding(4, 2), "b": sash.tumbling(5, on="t")}), [*rows(disorder(60, 9)), CLOSE]
    ),
    "sessions": Case({"windows": sash.session(3, on="t"), **TIME}, [*rows(disorder(60, 6, 2)), CLOSE]),
    "sessions, late": Case(late(sash.session(3, on="t")), [*rows(disorder(60, 9, 2)), CLOSE]),
    "sessions beside": Case(
        late({"a": sash.session(2, on="t"), "b": sash.tumbling(4, on="t")}), [*rows(disorder(110, 6, 2)), CLOSE]
    ),
    "sessions beside, merged": Case(
        late({"a": sash.session(30, on="t"), "b": sash.tumbling(1, on="t"), "c": sash.punctuated("mark")}),
        rows(disorder(230, 2), mark=lambda number: number % 40 == 0),
    ),
    "counts beside, merged": Case(
        {"windows": {"a": sash.session(3, on="t"), "b": sash.sliding(4, 1)}, **TIME}, rows(list(range(230)))
    ),
    "last": Case({"windows": sash.last(3, 4, on="t"), **TIME}, [*rows(IN_ORDER), CLOSE]),
    "last, late": Case(late(sash.last(3, 4, on="t")), [*rows(disorder(60, 9)), CLOSE]),
    "punctuated": Case(
        {"windows": sash.punctuated("mark"), **TIME}, [*rows(IN_ORDER, mark=lambda number: number % 5 == 0), CLOSE]
    ),
    "punctuated, late": Case(
        late(sash.punctuated("mark")), [*rows(disorder(90, 9), mark=lambda number: number % 2 == 0), CLOSE]
    ),
    "own windows": Case({"windows": Blocks(), "watermark_delay": 2, **TIME}, [*rows(disorder(60, 3)), CLOSE]),
    "own edges": Case(
        {"windows": Retold(), "watermark_delay": 2, **TIME},
        [*rows(disorder(60, 3), mark=lambda number: number % 7 == 0), CLOSE],
    ),
    "while": Case({"windows": sash.window_while(small)}, arrivals(90, "process")),
    "two lanes": Case(
        {"windows": {"a": sash.tumbling(6, on="t"), "b": sash.sliding(4, 2)}, "watermark_delay": 2},
        [*with_watermarks(rows(disorder(60, 4)), 1, 6), CLOSE],
    ),
    "two orders": Case(
        {"windows": {"a": sash.tumbling(6, on="t"), "b": sash.tumbling(20, on="km")}},
        [*rows(IN_ORDER, km=lambda number: number * 3), CLOSE],
    ),
    "a window that is added": Case(
        {"windows": {"a": sash.sliding(4, 2)}, "time": "t", "watermark_delay": 3},
        [
            *rows(disorder(20, 3)),
            ("add_window", ("b", sash.sliding(3, 1))),
            *rows([number + 18 for number in disorder(30, 3)]),
            CLOSE,
        ],
    ),
    "batches, late": Case(late(sash.sliding(6, 3, on="t")), [*batches(rows(disorder(60, 9)), 12), CLOSE]),
    "batches of texts, late": Case(
        late(sash.punctuated("mark")),
        [*batches(rows(disorder(60, 9), mark=lambda number: number % 4 == 0), 12), CLOSE],
        aggregates=ORDERED,
    ),
    "batches, two lanes": Case(
        {"windows": {"a": sash.tumbling(6, on="t"), "b": sash.sliding(4, 2)}, "watermark_delay": 2},
        [*batches(rows(disorder(60, 4)), 15), CLOSE],
    ),
    "columns": Case(
        {"windows": sash.sliding(6, 3, on="t"), "watermark_delay": 2, **TIME},
        [*batches(rows(disorder(60, 4)), 15), CLOSE],
    ),
    "columns and rows": Case(
        {"windows": sash.sliding(6, 3)},
        [*batches(arrivals(30, "process"), 10), *arrivals(8), *batches(arrivals(30, "process"), 10), CLOSE],
    ),
    "keys": Case(
        {"windows": sash.sliding(6, 3, on="t"), "key": "k", **TIME},
        [*keyed(batches(rows(disorder(40, 4)), 8)), ("snapshot_parts", None), ("advance", 20), CLOSE],
        own=False,
        make=KeyedOperator,
    ),
    "keys, row by row": Case(
        {**late(sash.sliding(6, 3, on="t")), "key": "k"},
        [*keyed(batches(rows(disorder(40, 4)), 8)), ("advance", 30), ("forget_silent", 37), CLOSE],
        make=KeyedOperator,
    ),
    "all keys, rows": Case(
        {"windows": sash.sliding(6, 3, on="t"), "key": "k", **TIME},
        [*rows(disorder(40, 4), k=lambda number: number * number % 5), ("advance", 30), ("forget_silent", 37), CLOSE],
    ),
    "all keys, rows and batches": Case(
        {"windows": {"a": sash.session(4, on="t"), "b": sash.tumbling(3)}, "key": "k", **TIME},
        [
            *keyed(batches(rows(disorder(16, 4)), 8)),
            *rows([time + 16 for time in disorder(16, 4)], k=lambda number: number % 6),
            *keyed(batches(rows([time + 32 for time in disorder(16, 4)]), 8)),
            CLOSE,
        ],
    ),
    "keys, two lanes": Case(
        {"windows": {"a": sash.tumbling(6, on="t"), "b": sash.punctuated("mark")}, "key": "k", **TIME},
        [
            *keyed(batches(rows(list(range(24)), mark=lambda number: number % 5 == 0), 8)),
            ("forget_silent", 22),
            ("advance", 20),
            CLOSE,
        ],
        own=False,
        make=KeyedOperator,
    ),
}


@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
@pytest.mark.parametrize("name", CASES)
def test_a_call_that_is_interrupted_at_any_line_has_not_been(name: str) -> None:
    check(CASES[name])


@pytest.mark.parametrize("fuse", [1, 2])
@pytest.mark.parametrize("name", ["count, slices of three", "time, tuples wait", "late", "two lanes"])
def test_an_undo_that_is_interrupted_too_is_done_before_anything_else(
    monkeypatch: pytest.MonkeyPatch, name: str, fuse: int
) -> None:
    """At first by the lane, then by the operator, then by the next call."""
    case = CASES[name]
    reference = Reference(case)
    prepare, number, left = RowLane.prepare, 30, 0

    def failing(lane: RowLane) -> None:
        nonlocal left
        if left:
            left -= 1
            raise Stop
        prepare(lane)

    for line in range(1, len(reference.lines[number]) + 1):
        op = case.operator()
        for call in case.calls[:number]:
            made(op, call)
        left = fuse
        with monkeypatch.context() as patched:
            patched.setattr(RowLane, "prepare", failing)
            with pytest.raises((KeyboardInterrupt, Stop)):
                Tracer(line, KeyboardInterrupt()).run(partial(made, op, case.calls[number]))
        assert (op.snapshot(), seen(op)) == reference.states[number]
        assert [made(op, call) for call in case.calls[number:]] == reference.results[number:]


SIGNALS = """
import random, signal, sys
import sash

OWN = sash.Operator.process.__code__
rng = random.Random(5)
interrupts = 0


def interrupt(number, frame):
    while frame is not None:
        if frame.f_code is OWN:  # and not when a result is on its way to whoever asked for it
            raise KeyboardInterrupt
        frame = frame.f_back


def run(query, rows, interrupted):
    global interrupts
    op, results = sash.Operator(query), []
    for row in rows:
        while True:
            try:
                if interrupted:
                    signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, 60e-6))
                results += op.process(row)
                break
            except KeyboardInterrupt:
                interrupts += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    metrics = {name: value for name, value in op.metrics.items() if name != "merges"}
    return results + op.close(), metrics


signal.signal(signal.SIGALRM, interrupt)
for settings in (
    {"windows": sash.sliding(8, 1)},
    {"windows": sash.sliding(12, 4)},
    {"windows": sash.sliding(6, 2, on="t"), "watermark_delay": 2},
    {"windows": sash.sliding(6, 2, on="t"), "watermark_delay": 1, "allowed_lateness": 5},
    {"windows": {"a": sash.tumbling(6, on="t"), "b": sash.sliding(4, 2)}},
):
    query = sash.Query(aggregates={"total": sash.Sum("x"), "all": sash.Collect("x")}, **settings)
    rows = [{"t": number // 2 - rng.randint(0, 4), "x": number % 17} for number in range(400)]
    assert run(query, rows, True) == run(query, rows, False), settings
print(interrupts)
"""


def test_signals_in_a_loop_of_rows_change_nothing() -> None:
    """As Ctrl-C comes: between any two steps of the interpreter, not just between lines."""
    done = subprocess.run([sys.executable, "-c", SIGNALS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100


@pytest.mark.parametrize("aggregation", [sash.Max(), sash.Sum(), sash.Collect()], ids=str)
@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
def test_a_rolling_window_that_is_interrupted_goes_on_or_says_so(aggregation: sash.Aggregation) -> None:
    batches = [np.arange(start, start + 5) for start in range(0, 20, 5)]

    def run(stop: int) -> tuple[list[Any], list[Line]]:
        window, tracer = sash.Rolling(aggregation, range=4), Tracer(stop, Stop())
        results = [window.push(batches[0]).tolist()]
        try:
            found = tracer.run(lambda: window.push(batches[1]))
        except Stop:
            found = window.push(batches[1])
        return [*results, found.tolist(), *(window.push(batch).tolist() for batch in batches[2:])], tracer.lines

    expected, lines = run(-1)
    refusals = []
    for stop in range(1, len(lines) + 1):
        try:
            found, _ = run(stop)
        except RuntimeError as error:
            refusals.append(str(error))
        else:
            assert found == expected, lines[stop - 1]
    assert all("was interrupted" in refusal for refusal in refusals) and len(refusals) < len(lines) / 2
