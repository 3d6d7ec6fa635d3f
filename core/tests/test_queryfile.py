"""Queries as TOML files: read, written, and complained about by line."""

from __future__ import annotations

import importlib
import json
import operator
import tomllib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sash
from sash.query.file import QueryFileError, dump_query, load_query, parse_query
from sash.query.read import lines_of

OWN = """
from dataclasses import dataclass
import sash

def lift(value):
    return (value, value)

def combine(a, b):
    return (min(a[0], b[0]), max(a[1], b[1]))

def stopped(speed):
    return speed == 0

ready = sash.aggregation("load", lift=lambda v: v, combine=lambda a, b: a + b)

class Range(sash.Aggregation):
    _lift = staticmethod(lift)
    _combine = staticmethod(combine)

@dataclass(frozen=True)
class Every(sash.windows.ContextFree):
    step: int = 1
    def next_edge(self, after):
        return after + self.step
    def windows(self, after, upto):
        return iter(())

class Odd(Every):
    def __init__(self, thing):
        object.__setattr__(self, "thing", thing)

quarter = Every(15)
number = 5
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("own")
    (folder / "sash_test_own.py").write_text(OWN)
    (folder / "sash_test_broken.py").write_text("1 / 0\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield importlib.import_module("sash_test_own")


FULL = """\
key = ["house", "plug"]
time = "ts"
watermark_delay = { ts = "2s", km = 0.5 }
allowed_lateness = "10s"
algorithm = "fiba"

[windows.hour]
type = "sliding"
range = "1h"
slide = "10s"
offset = "1s"

[windows.'the last "km"']
type = "tumbling"
range = 1.5
on = "km"

[windows.visit]
type = "session"
gap = "30s"

[windows.trip]
type = "punctuated"
when = "start"

[windows.recent]
type = "last"
count = 10
every = "5s"
partial = true

[aggregates]
n = { function = "Count" }
peak.function = "Max"
peak.columns = "load"

[aggregates.who]
function = "ArgMax"
columns = ["load", "house"]

[aggregates.p99]
function = "Quantile"
columns = "load"
q = 0.99
interpolation = "nearest"
"""


def test_a_file_says_what_a_query_says(tmp_path: Path) -> None:
    path = tmp_path / "peak.toml"
    path.write_text(FULL, encoding="utf-8")
    expected = sash.Query(
        key=["house", "plug"],
        time="ts",
        watermark_delay={"ts": "2s", "km": 0.5},
        allowed_lateness="10s",
        algorithm="fiba",
        windows={
            "hour": sash.sliding("1h", "10s", offset="1s"),
            'the last "km"': sash.tumbling(1.5, on="km"),
            "visit": sash.session("30s"),
            "trip": sash.punctuated("start"),
            "recent": sash.last(10, every="5s", partial=True),
        },
        aggregates={
            "n": sash.Count(),
            "peak": sash.Max("load"),
            "who": sash.ArgMax("load", "house"),
            "p99": sash.Quantile("load", q=0.99, interpolation="nearest"),
        },
    )
    assert load_query(path) == load_query(str(path)) == expected
    assert parse_query(dump_query(expected)) == expected


def test_users_own_functions_and_types_by_path(own: Any) -> None:
    aggregates = {
        "spread": sash.aggregation(
            "load", lift=own.lift, combine=own.combine, commutative=True, kind="holistic", empty=0
        ),
        "ready": own.ready,
        "type": own.Range("load"),
        "pair": sash.aggregation(["a", "b"], lift=operator.add, combine=max, name="pair"),
    }
    windows = {"stops": sash.punctuated(own.stopped, "speed"), "own": own.Every(3), "quarter": own.quarter}
    query = sash.Query(windows=windows, aggregates=aggregates, time="ts")
    text = dump_query(query)
    assert parse_query(text, allow_imports=["sash_test_own", "_operator", "builtins"]) == query
    tables = tomllib.loads(text)
    assert tables["aggregates"]["spread"]["lift"] == "sash_test_own:lift"
    assert tables["aggregates"]["ready"] == {"function": "sash_test_own:ready"}
    assert tables["aggregates"]["type"] == {"function": "sash_test_own:Range", "columns": "load"}
    assert tables["windows"]["own"] == {"type": "sash_test_own:Every", "step": 3}
    assert tables["windows"]["quarter"] == {"type": "sash_test_own:quarter"}
    assert tables["windows"]["stops"] == {"type": "punctuated", "when": "sash_test_own:stopped", "columns": ["speed"]}


NAMES = st.one_of(st.sampled_from(["a", "b-1", "ä b", 'q"uote', "new\nline", "", "a.b", "\x7f"]), st.text(max_size=5))
COLUMNS = NAMES.filter(lambda name: bool(name) and not name.endswith("!"))
DURATIONS = st.builds(lambda n, unit: f"{n}{unit}", st.integers(1, 99), st.sampled_from("ms s m h d".split()))
NUMBERS = st.one_of(st.integers(1, 10**20), st.floats(1e-9, 1e20))
WINDOWS = st.one_of(
    st.builds(lambda r, partial: sash.sliding(r, max(1, r // 3), partial=partial), st.integers(1, 99), st.booleans()),
    st.builds(sash.tumbling, st.integers(1, 99)),
    st.builds(lambda r, offset: sash.sliding(r, r, offset=offset), DURATIONS, DURATIONS),
    st.builds(lambda r, on: sash.sliding(r, r / 4, offset=r / 8, on=on), NUMBERS, st.just("km")),
    st.builds(sash.session, DURATIONS),
    st.builds(sash.session, NUMBERS, on=st.just("km")),
    st.builds(sash.punctuated, COLUMNS),
    st.builds(sash.last, st.integers(1, 9), every=DURATIONS, partial=st.booleans()),
)
AGGREGATES = st.one_of(
    st.builds(lambda kind, column: kind(column), st.sampled_from([sash.Max, sash.Sum, sash.Median, sash.M4]), COLUMNS),
    st.builds(sash.Count),
    st.builds(sash.ArgMin, COLUMNS, COLUMNS),
    st.builds(sash.Concat, COLUMNS, separator=st.text(st.characters(codec="utf-8"))),
    st.builds(sash.Quantile, COLUMNS, q=st.floats(0, 1)),
    st.builds(sash.MomentSketch, COLUMNS, k=st.integers(1, 20), q=st.lists(st.floats(0, 1), min_size=1).map(tuple)),
    st.builds(sash.Bloom, COLUMNS, capacity=st.integers(1, 10**6), error_rate=st.floats(0.001, 0.5)),
    st.builds(sash.aggregation, COLUMNS, lift=st.just(abs), combine=st.just(max), commutative=st.booleans()),
)


@given(
    windows=st.one_of(WINDOWS, st.dictionaries(NAMES, WINDOWS, min_size=1)),
    aggregates=st.dictionaries(NAMES.map(lambda name: f"{name}!"), AGGREGATES, min_size=1),
    key=st.one_of(st.none(), COLUMNS, st.lists(COLUMNS, max_size=3, unique=True)),
    delay=st.one_of(st.none(), DURATIONS),
)
def test_what_is_written_is_read_as_the_same(windows: Any, aggregates: Any, key: Any, delay: Any) -> None:
    query = sash.Query(windows=windows, aggregates=aggregates, key=key, time="ts")
    changes = {"watermark_delay": delay, "allowed_lateness": {"ts": "1s"}, "algorithm": "daba", "combine_time": "2us"}
    for changed in ({name: value} for name, value in changes.items()):
        try:
            query = query.using(**changed)
        except ValueError:
            continue
    assert parse_query(dump_query(query), allow_imports=["builtins"]) == query


def test_durations_are_written_as_texts() -> None:
    query = sash.Query(
        windows=sash.tumbling(timedelta(minutes=1)),
        aggregates={"n": sash.Count()},
        time="ts",
        watermark_delay=timedelta(seconds=90),
    )
    again = parse_query(dump_query(query))
    assert again.watermark_delay == "1m 30s" and again.lanes == query.lanes and again.windows == query.windows


class Local(sash.windows.ContextFree):
    def __init__(self) -> None:
        self.thing = object()

    def next_edge(self, after: Any) -> Any:
        return after

    def windows(self, after: Any, upto: Any) -> Any:
        return iter(())


def test_what_cannot_be_written() -> None:
    def local(a: Any, b: Any) -> Any:
        return a

    def query(windows: Any = None, **functions: Any) -> sash.Query:
        own = sash.aggregation("x", **{"lift": abs, "combine": max, **functions})
        return sash.Query(windows=windows or sash.tumbling(3), aggregates={"own": own}, time="ts")

    with pytest.raises(ValueError, match=r"aggregate 'own': combine is a local function.*put it into a module"):
        dump_query(query(combine=local))
    with pytest.raises(ValueError, match="aggregate 'own': lift is a lambda, which a file cannot name"):
        dump_query(query(lift=lambda value: value))
    with pytest.raises(ValueError, match="when is a lambda"):
        dump_query(query(windows=sash.punctuated(lambda x: True, "x")))
    with pytest.raises(ValueError, match="make Local a dataclass"):
        dump_query(query(windows=Local()))
    with pytest.raises(ValueError, match="of type object cannot be written"):
        dump_query(query(empty=object()))
    main: Any = type("Main", (sash.Max,), {"__module__": "__main__", "__qualname__": "Main"})
    with pytest.raises(ValueError, match="is defined in the program itself: put Main into a module"):
        dump_query(query().using(aggregates={"own": main("x")}))


GOOD = """\
time = "ts"

[window]
type = "sliding"
range = "1h"
slide = "1m"
[aggregates.peak]
function = "Max"
columns = "load"
"""
ALLOWED = ["sash_test_own", "sash_test_nowhere", "sash_test_broken", "builtins"]
WINDOW = 'type = "sliding"\nrange = "1h"\nslide = "1m"'


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('time = "ts"', "time = ", 1, "this is not TOML: Invalid value"),
        ('columns = "load"', 'columns = "load', 9, "this is not TOML"),
        ('columns = "load"', "columns = [", 10, "this is not TOML"),
        ('time = "ts"', 'tiem = "ts"', 1, "unknown key 'tiem'; did you mean 'time'"),
        ('time = "ts"', "time = 5", 1, "time must be a column name; got 5"),
        ('time = "ts"', "key = true", 1, "key must be a column name, or a list of them; got True"),
        ('time = "ts"', "key = [1]", 1, "key must be a column name"),
        ('time = "ts"', 'time = "ts"\nkey = "window_start"', 2, "key column 'window_start' has the name of a column"),
        ('time = "ts"', 'time = "ts"\nkey = ["a", "a"]', 2, "key names column 'a' twice"),
        ('time = "ts"', "", 1, "name its column with time="),
        ('time = "ts"', 'time = "ts"\nwatermark_delay = "2 parsecs"', 2, "is not a duration"),
        ('time = "ts"', 'time = "ts"\ncombine_time = "2 parsecs"', 2, "is not a duration"),
        ('time = "ts"', 'time = "ts"\ncombine_time = 2', 2, "must be a duration such as '2us'"),
        ('time = "ts"', 'time = "ts"\nallowed_lateness = -1', 2, "measured in durations and in plain numbers"),
        ("[window]", "[windwo]", 3, "unknown key 'windwo'; did you mean 'window'"),
        (
            "[window]",
            "[windows]",
            4,
            "expected a table with a type; got 'sliding'; one window is .window., several are",
        ),
        ("[aggregates.peak]", '[windows.x]\ntype = "session"\n[aggregates.peak]', 7, "either one .window. or several"),
        (
            'type = "sliding"',
            "",
            3,
            "expected type: one of sliding, tumbling, cumulative, trailing, session, last, punctuated, while",
        ),
        ('type = "sliding"', 'type = "slidng"', 4, "unknown type 'slidng'; did you mean 'sliding'"),
        ('type = "sliding"', 'type = "hopping!"', 4, "unknown type 'hopping!'; expected one of sliding, tumbling"),
        ('type = "sliding"', "type = 5", 4, "unknown type 5"),
        ('range = "1h"', "", 3, "missing 1 required positional argument: 'range'"),
        ('slide = "1m"', 'slid = "1m"', 6, "unknown key 'slid'; did you mean 'slide'"),
        ('slide = "1m"', 'slide = "1m"\ncolour = "red"', 7, "unknown key 'colour'; expected range, slide, offset, on"),
        ('slide = "1m"', 'slide = "2h"', 5, "range 1h is below slide 2h"),
        ('range = "1h"', 'range = "1 league"', 5, "range: '1 league' is not a duration"),
        ('slide = "1m"', 'slide = "1m"\npartial = true', 7, "partial=True is for windows on counts"),
        ("[aggregates.peak]", "[aggregate.peak]", 7, "unknown key 'aggregate'; did you mean 'aggregates'"),
        ('function = "Max"', "", 7, "expected function: one of"),
        ('function = "Max"', 'function = "Maximum"', 8, "unknown function 'Maximum'; did you mean"),
        ('function = "Max"', 'function = "Max"\nq = 0.5', 9, "unknown key 'q'; expected where"),
        ('function = "Max"', 'function = "Quantile"\nq = 7', 9, "q"),
        ('columns = "load"', "columns = 5", 9, "expected a column name, or a list of them; got 5"),
        ('columns = "load"', 'columns = ["load", "x"]', 9, "Max reads 1 column; got 2"),
        ('columns = "load"', "", 7, "aggregate 'peak': Max.. names no column"),
        (
            'function = "Max"',
            'function = "sash_test_own:Ragne"',
            8,
            "no 'Ragne' in 'sash_test_own'; did you mean 'Range'",
        ),
        ('function = "Max"', 'function = "sash_test_own:number"\n#', 8, "5 is ready and takes no arguments"),
        ('function = "Max"', 'function = "sash_test_nowhere:x"', 8, "cannot import 'sash_test_nowhere': No module"),
        (
            'function = "Max"',
            'function = "sash_test_broken:x"',
            8,
            "cannot import 'sash_test_broken': division by zero",
        ),
        ('function = "Max"', 'function = "sash_test_own:"', 8, "is not the path of an object"),
        ('function = "Max"', 'function = "sash_test_own:ready"', 9, "is ready and takes no arguments"),
        ('function = "Max"', 'function = "builtins:print"', 8, "expected an aggregation; 'builtins:print' is None"),
        ('function = "Max"', 'function = "aggregation"\nlift = 5', 9, "expected the path of a Python object"),
        ('function = "Max"', 'function = "aggregation"\nlift = "builtins:abs"', 7, "'combine'"),
        (WINDOW, 'type = "punctuated"', 3, "expected when: a boolean column"),
        (
            WINDOW,
            'type = "sash_test_own:number"',
            4,
            "expected a window; 'sash_test_own:number'",
        ),
        (WINDOW, 'type = "sash_test_own:Every"\nstop = 1', 5, "did you mean 'step'"),
    ],
)
def test_errors_point_at_the_line(own: Any, old: str, new: str, line: int, words: str) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new)
    if new.endswith("#"):
        text = text.replace('columns = "load"', "")
        words = "expected an aggregation; 'sash_test_own:number' is 5"
    with pytest.raises(QueryFileError, match=words) as caught:
        parse_query(text, "peak.toml", allow_imports=ALLOWED)
    assert (caught.value.path, caught.value.line) == ("peak.toml", line)
    assert str(caught.value).startswith(f"peak.toml, line {line}: ")


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "peak.toml"
    path.write_bytes(b'key = "a"\ntime = "\xff"\n')
    with pytest.raises(QueryFileError, match=r"peak\.toml, line 2: the file is not a text in UTF-8"):
        load_query(path)
    with pytest.raises(FileNotFoundError):
        load_query(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    {
        "digits": (f'time = "ts"\nwindow = {{ range = {"9" * 5_000} }}', 2, "the number is too long"),
        "arrays": (f'time = "ts"\nkey = {"[" * 5_000}{"]" * 5_000}', 2, "values are nested too deeply"),
        "tables": (f'time = "ts"\n\nkey = {"{a=" * 5_000}1{"}" * 5_000}', 3, "values are nested too deeply"),
        "parts": (f'time = "ts"\n{".".join(["a"] * 8_000)} = 1', 2, "the parts of its keys are nested too deeply"),
        "infinite": (
            'aggregates.n = { function = "Count" }\n'
            f'window = {{ type = "tumbling", on = "km", range = {"9" * 400} }}',
            2,
            "too large",
        ),
        "share": (
            f'aggregates.x = {{ function = "Quantile", columns = "x", q = {"9" * 400} }}\nwindow = {{ type = "last" }}',
            1,
            "too large",
        ),
        "algorithm": (
            'algorithm = "dabba"\nwindow = { type = "sliding", range = 2 }\naggregates.n = { function = "Count" }',
            1,
            "did you mean 'daba'",
        ),
    }.values(),
    ids=["digits", "arrays", "tables", "parts", "infinite", "share", "algorithm"],
)
def test_what_is_too_large_or_misspelt_is_refused_at_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(sash.QueryFileError, match=words) as caught:
        parse_query(text)
    assert caught.value.line == line


@pytest.mark.parametrize(
    "zone", ["America/" + "New_York" * 100, "America", "America/New_York/x", "\0", "/etc/passwd"], ids=range(5)
)
def test_a_zone_that_is_no_zone_is_refused_at_its_line(zone: str) -> None:
    window = json.dumps(zone).join(['window = { type = "tumbling", range = "1d", zone = ', " }"])
    with pytest.raises(sash.QueryFileError, match=r"query, line 2: time zone .* is not known here") as caught:
        parse_query(f'time = "ts"\n{window}\naggregates.n = {{ function = "Count" }}')
    assert len(str(caught.value)) < 2000


def test_an_error_quotes_long_texts_in_part() -> None:
    with pytest.raises(sash.QueryFileError) as caught:
        parse_query(f'time = "ts"\n{"x" * 100_000} = 1')
    assert len(str(caught.value)) < 2000


def test_lines_of_every_way_to_write_a_key() -> None:
    text = '''\
# a comment with [brackets] and = signs
plain = 1
"quoted \\"key\\"" = """
not = "a key"
[nor.a.table]
"""
literal.'dotted' . key = \'\'\'
nor = this
\'\'\'
array = [
  1, # comment ]
  { a = 0.5, b = [ "}", { c = 2024-01-01T00:00:00.5 } ], d = 1 },
  { a = 2 },
]
inline = { x = "=", y.z = { deep = true }, w = 'a,b' }
[ table . "sub" ]
key = "# no comment"
[[many]]
one = 1
'''
    tomllib.loads(text)
    lines = {".".join(path): line for path, line in lines_of(text).items()}
    assert lines == {
        "plain": 2,
        'quoted "key"': 3,
        "literal": 7,
        "literal.dotted": 7,
        "literal.dotted.key": 7,
        "array": 10,
        "array.a": 12,
        "array.b": 12,
        "array.b.c": 12,
        "array.d": 12,
        "inline": 15,
        "inline.x": 15,
        "inline.y": 15,
        "inline.y.z": 15,
        "inline.y.z.deep": 15,
        "inline.w": 15,
        "table": 16,
        "table.sub": 16,
        "table.sub.key": 17,
        "many": 18,
        "many.one": 19,
    }
