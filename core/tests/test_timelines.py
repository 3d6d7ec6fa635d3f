"""Streams and their windows drawn as timelines: a column of the drawing is a unit of time.

    a..b....c       tuples that arrive, from left to right; capitals punctuate
    [----)          ab        a window from its start to its end, and the tuples in it
    .|              the watermark is advanced
    ..d             this one is late: it arrives after those of the lines above
    [----)          adb #1    the window again, with its revision
    [-]             0:3 adb   a window on counts: from its first tuple to its last one, and its positions
    close           the end of the stream

Each line of tuples is followed by the windows that it completes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from textwrap import dedent
from typing import Any

import pytest

import sash
from sash.testing import Evaluator

STREAMS: list[Callable[[sash.Query], Any]] = [Evaluator, sash.Operator]


def query(window: Any, **options: Any) -> sash.Query:
    aggregates = {"all": sash.Concat("x", separator=""), "times": sash.Collect("ts")}
    return sash.Query(windows=window, aggregates=aggregates, time="ts", **options)


def check(stream: Callable[[sash.Query], Any], asked: sash.Query, drawing: str) -> Any:
    """Play what arrives and draw what comes out: it has to be the drawing again."""
    op = stream(asked)
    expected = [_canonical(line) for line in dedent(drawing).strip("\n").splitlines()]
    drawn = []
    for line in expected:
        if not _is_result(line):
            drawn.append(line)
            drawn += [_drawn(result, asked) for result in _play(op, line)]
    assert drawn == expected, "\n" + "\n".join(drawn)
    return op


def _is_result(line: str) -> bool:
    return "[" in line


def _canonical(line: str) -> str:
    if not _is_result(line):
        return line.rstrip()
    until = max(line.rfind(")"), line.rfind("]")) + 1
    return f"{line[:until]}  {line[until:].strip()}"


def _play(op: Any, line: str) -> Iterator[dict[str, Any]]:
    if line == "close":
        yield from op.close()
        return
    for time, mark in enumerate(line):
        if mark == "|":
            yield from op.advance(time)
        elif mark.isalpha():
            yield from op.process({"ts": time, "x": mark, "capital": mark.isupper()})


def _drawn(result: dict[str, Any], asked: sash.Query) -> str:
    start, end = result["window_start"], result["window_end"]
    if isinstance(asked.windows, sash.windows.CountWindow):
        first, last = result["times"][0], result["times"][-1]
        bar = " " * first + "[" + "-" * (last - first - 1) + "]"
        words = [f"{start}:{end}", result["all"]]
    else:
        bar = " " * start + "[" + "-" * (end - start - 1) + ")"
        words = [result["all"]]
    if result.get("revision"):
        words.append(f"#{result['revision']}")
    return f"{bar}  {' '.join(words)}"


def late_dropped(op: Any) -> int:
    return int(op.late_dropped if isinstance(op, Evaluator) else op.metrics["late_dropped"])


@pytest.fixture(params=STREAMS, ids=lambda stream: stream.__name__)
def stream(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_tumbling_windows(stream: Any) -> None:
    """A window that no tuple falls into is not emitted."""
    check(
        stream,
        query(sash.tumbling(5, on="ts")),
        """
        a..b.c..........d..e
        [----)                ab
             [----)           c
        close
                       [----) de
        """,
    )


def test_sliding_windows_whose_slide_does_not_divide_their_range(stream: Any) -> None:
    check(
        stream,
        query(sash.sliding(5, 3, on="ts")),
        """
        ......a..bc.....d
           [----)             a
              [----)          abc
                 [----)       bc
        close
                    [----)    d
                       [----) d
        """,
    )


def test_tuples_at_one_time_are_in_the_order_of_arrival(stream: Any) -> None:
    check(
        stream,
        query(sash.tumbling(4, on="ts"), watermark_delay=4),
        """
        b..d
        .c
        a..e
        ..|
        ....|
        [---)   bacde
        """,
    )


def test_sessions_end_when_the_gap_is_reached(stream: Any) -> None:
    """Neighbours 2 apart are together, neighbours 3 apart are not."""
    check(
        stream,
        query(sash.session(3, on="ts")),
        """
        a.bc..d........e
        [-----)            abc
              [--)         d
        close
                       [--) e
        """,
    )


def test_sessions_that_merge_before_they_are_emitted(stream: Any) -> None:
    """The delay waits for the tuple that lies between."""
    check(
        stream,
        query(sash.session(3, on="ts"), watermark_delay=9),
        """
        a...b......c
        ..d
        ............|
        [------)              adb
        close
                   [--)       c
        """,
    )


def test_a_late_tuple_merges_two_sessions(stream: Any) -> None:
    check(
        stream,
        query(sash.session(3, on="ts"), allowed_lateness=20),
        """
        a...b.......c
        [--)                  a
            [--)              b
        ..d
        [------)              adb #1
        ......e
        [--------)            adbe #2
        close
                    [--)      c
        """,
    )


def test_a_late_tuple_joins_a_session_to_one_that_is_open(stream: Any) -> None:
    """The joint one is emitted when it is complete, and replaces the first."""
    check(
        stream,
        query(sash.session(4, on="ts"), allowed_lateness=20),
        """
        a.....b
        [---)                 a
        ...c
        ..........d
        [---------)           acb #1
        close
                  [---)       d
        """,
    )


def test_a_late_tuple_begins_a_session_of_its_own(stream: Any) -> None:
    check(
        stream,
        query(sash.session(2, on="ts"), allowed_lateness=20),
        """
        a.......b
        [-)                   a
        ....c
            [-)               c
        ...d
           [--)               dc #1
        ..e
          [---)               edc #2
        .f
        [-----)               afedc #3
        """,
    )


def test_late_tuples_correct_the_windows_they_fall_into(stream: Any) -> None:
    """Windows that were empty come for the first time; what is later than allowed is dropped."""
    op = check(
        stream,
        query(sash.sliding(4, 2, on="ts"), allowed_lateness=6),
        """
        ..a..........b
        [---)                 a
          [---)               a
        ......c
        .......d
            [---)             d
              [---)           d
        .........e
              [---)           de #1
                [---)         e
        ...........f
                [---)         ef #1
        close
                  [---)       fb
                    [---)     b
        """,
    )
    assert late_dropped(op) == 1


def test_punctuations_begin_and_end_windows(stream: Any) -> None:
    """What lies before the first or behind the last one is in no window."""
    check(
        stream,
        query(sash.punctuated("capital")),
        """
        a..B..c..D..E.f..g
           [-----)            Bc
                 [--)         D
        close
        """,
    )


def test_tuples_at_the_time_of_a_punctuation_are_in_the_window_that_it_begins(stream: Any) -> None:
    """Whether they come before or after it."""
    check(
        stream,
        query(sash.punctuated(str.isupper, "x"), watermark_delay=5),
        """
        A..b
        ..c
        ....d
        ....E
        ....f
        ......G
        close
        [---)                 Acb
            [-)               dEf
        """,
    )


def test_a_late_punctuation_splits_a_window(stream: Any) -> None:
    check(
        stream,
        query(sash.punctuated("capital"), allowed_lateness=20),
        """
        A..b....c.D
        [---------)           Abc
        ......E
        [-----)               Ab #1
              [---)           Ec #1
        .......f
              [---)           Efc #2
        ..G
        [-)                   A #2
          [---)               Gb #2
        """,
    )


def test_a_late_punctuation_before_the_first(stream: Any) -> None:
    """Tuples that were in no window now are in one."""
    check(
        stream,
        query(sash.punctuated("capital"), allowed_lateness=20),
        """
        ..a..b..C..d
        .E
         [------)             Eab
        """,
    )


def test_the_last_three_every_five(stream: Any) -> None:
    """Nothing is said before there are three, nor where nothing is new."""
    check(
        stream,
        query(sash.last(3, every=5, on="ts")),
        """
        ab.c...de....................f.g
        [----)                              abc
           [------)                         cde
               [----------------------)     def
        """,
    )


def test_the_last_three_every_five_partial_ones_too(stream: Any) -> None:
    check(
        stream,
        query(sash.last(3, every=5, on="ts", partial=True)),
        """
        .a....bc.d.............f
         [---)                      a
              [---)                 bcd
        close
               [-----------------)  cdf
        """,
    )


def test_a_late_tuple_among_the_last_three(stream: Any) -> None:
    """It pushes the oldest out, at every edge that sees it."""
    check(
        stream,
        query(sash.last(3, every=5, on="ts"), allowed_lateness=20),
        """
        ab.c...d...........e
        [----)                abc
         [--------)           bcd
        ..f
         [---)                bfc #1
          [-------)           fcd #1
        ..........g
           [-----------)      cdg
        """,
    )


def test_count_windows_wait_for_the_tuples_before(stream: Any) -> None:
    """In the order of time, whatever the order of arrival."""
    check(
        stream,
        query(sash.sliding(3, 2), watermark_delay=4),
        """
        a.c.e
        .b
        ...d.....f
        [-]             0:3 abc
          [-]           2:5 cde
        close
        """,
    )


def test_a_late_tuple_shifts_count_windows(stream: Any) -> None:
    """Every window from its position on is emitted again."""
    check(
        stream,
        query(sash.sliding(3, 2), allowed_lateness=20),
        """
        a.b.c.d.e.f
        [---]           0:3 abc
            [---]       2:5 cde
        .....x
            [-]         2:5 cxd #1
              [---]     4:7 def
        ..y
        [-]             0:3 aby #1
          [--]          2:5 ycx #2
             [--]       4:7 xde #1
        """,
    )


def test_a_late_tuple_shifts_partial_count_windows(stream: Any) -> None:
    check(
        stream,
        query(sash.sliding(4, 2, partial=True), allowed_lateness=20),
        """
        a.b.c.d
        [-]             0:2 ab
        [-----]         0:4 abcd
        .x
        []              0:2 ax #1
        [---]           0:4 axbc #1
        """,
    )
