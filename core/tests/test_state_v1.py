"""States that versions 0.1 saved are restored, and go on with the rows of a stream that was never interrupted."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest

import sash
from sash.runtime.operator import KeyedOperator, KeyOperator
from sash.state.snapshot_format import StateError
from sash.testing import evaluate
from state_v1.cases import KEYED, OPERATOR, Case, Row, run

FOLDER = Path(__file__).with_name("state_v1")
VERSIONS = sorted(path.stem for path in FOLDER.glob("*.zip"))
pytestmark = pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")


@cache
def files(version: str) -> dict[str, bytes]:
    with ZipFile(FOLDER / f"{version}.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def saved(kind: str) -> list[tuple[str, str]]:
    """(version, path) of each state of a kind."""
    return [
        (version, name.removesuffix("/whole"))
        for version in VERSIONS
        for name in files(version)
        if name.startswith(f"{kind}/") and name.endswith("/whole")
    ]


def blocks(version: str, path: str) -> dict[Any, bytes]:
    prefix = f"{path}/block "
    return {
        literal_eval(name.removeprefix(prefix)): content
        for name, content in files(version).items()
        if name.startswith(prefix)
    }


def windows_at_cut(case: Case) -> Mapping[Any, Any]:
    added = {name: window for _, name, window in (event for event in case.events[: case.cut] if event[0] == "add")}
    return {**case.query.named, **added, **case.later}


def query_at_cut(case: Case) -> sash.Query:
    windows = windows_at_cut(case)
    return case.query.using(windows=windows.get(None, windows))


@cache
def expected(name: str) -> list[str]:
    """The results of the events behind the cut."""
    case = OPERATOR[name]
    added = [("add", window, of) for window, of in case.later.items()]
    before, after = [*case.events[: case.cut], *added], [*case.events[case.cut :], ("close",)]
    if case.oracle:
        return in_any_order(evaluate(case.query, [*before, *after])[len(evaluate(case.query, before)) :])
    op = sash.Operator(case.query)
    list(run(op, before, 0))
    return in_any_order(run(op, after, 0))


@pytest.mark.parametrize("parts", [False, True], ids=["whole", "parts"])
@pytest.mark.parametrize("size", [0, 9], ids=["rows", "batches"])
@pytest.mark.parametrize(("version", "path"), saved("operator"))
def test_operator_goes_on(version: str, path: str, size: int, parts: bool) -> None:
    name = path.split("/")[1]
    case, query = OPERATOR[name], query_at_cut(OPERATOR[name])
    if parts:
        header, own = files(version)[f"{path}/header"], blocks(version, path)
        op = sash.Operator.restore_parts(query, header, own, trusted=True)
    else:
        op = sash.Operator.restore(query, files(version)[f"{path}/whole"], trusted=True)
    assert in_any_order(run(op, [*case.events[case.cut :], ("close",)], size)) == expected(name)


@cache
def expected_by_key(name: str) -> list[str]:
    """The results of the events behind the cut, sorted: each key's by itself."""
    case = KEYED[name]
    before, after = case.events[: case.cut], case.events[case.cut :]
    if not case.oracle:
        op = KeyedOperator(case.query, own_watermark="key")
        list(run(op, before, 100))
        return in_any_order(run(op, [*after, ("close",)], 100))
    results: list[Row] = []
    query = case.query.using(key=None)
    for key in dict.fromkeys(repr(row["k"]) for _, row in case.events):
        own_before = [event for event in before if repr(event[1]["k"]) == key]
        own_after = [event for event in after if repr(event[1]["k"]) == key]
        value = next(row["k"] for _, row in case.events if repr(row["k"]) == key)
        own_before += [("add", window, of) for window, of in case.later.items() if own_before]
        asked = query if own_before or not case.later else query.using(windows=windows_at_cut(case))
        all_of_it = evaluate(asked, [*own_before, *own_after, ("close",)])
        results += [{"k": value, **row} for row in all_of_it[len(evaluate(asked, own_before)) :]]
    return in_any_order(results)


def in_any_order(rows: Any) -> list[str]:
    return sorted(repr([(name, plain(value)) for name, value in row.items()]) for row in rows)


def plain(value: Any) -> Any:
    """Equal values alike, whether they come from rows or from columns."""
    if isinstance(value, datetime | np.datetime64):
        return pd.Timestamp(value).isoformat()
    return int(value) if isinstance(value, float) and value.is_integer() else value


@pytest.mark.parametrize("parts", [False, True], ids=["whole", "parts"])
@pytest.mark.parametrize(("version", "path"), saved("keyed"))
def test_keyed_operator_goes_on(version: str, path: str, parts: bool) -> None:
    name = path.split("/")[1]
    case, query = KEYED[name], query_at_cut(KEYED[name])
    if parts:
        header, own = files(version)[f"{path}/header"], blocks(version, path)
        op = KeyedOperator.restore_parts(query, header, own, own_watermark="key", trusted=True)
    else:
        op = KeyedOperator.restore(query, files(version)[f"{path}/whole"], own_watermark="key", trusted=True)
    assert in_any_order(run(op, [*case.events[case.cut :], ("close",)], 9)) == expected_by_key(name)


@pytest.mark.parametrize(("version", "path"), [state for state in saved("keyed") if "/blocks" in state[1]])
def test_blocks_of_version_1_stay_under_a_header_of_version_2(version: str, path: str) -> None:
    """A block is written once, so a state that goes on refers to those that an older version wrote."""
    name = path.split("/")[1]
    case, own = KEYED[name], blocks(version, path)
    op = KeyedOperator.restore_parts(
        case.query, files(version)[f"{path}/header"], own, own_watermark="key", trusted=True
    )
    rest, results = [*case.events[case.cut :], ("close",)], list[Row]()
    for begin in range(0, len(rest), 40):
        results += run(op, rest[begin : begin + 40], 9)
        header, written, deleted = op.snapshot_parts(trusted=True)
        assert not own.keys() & written.keys() and set(deleted) <= own.keys()
        own = {block: content for block, content in (own | written).items() if block not in deleted}
        op = KeyedOperator.restore_parts(case.query, header, own, own_watermark="key", trusted=True)
    assert in_any_order(results) == expected_by_key(name)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_state_of_one_key_is_not_that_of_all(version: str) -> None:
    """Version 0.1 ran one key an operator, whatever the query's key: engines that keep keys apart go on from that."""
    case, blob = OPERATOR["waiting"], files(version)["operator/waiting/0/whole"]
    query = case.query.using(key="name")
    op = KeyOperator.restore(query, blob)
    assert in_any_order(run(op, [*case.events[case.cut :], ("close",)], 0)) == expected("waiting")
    with pytest.raises(StateError, match="its key is \\[\\], that of the query is \\['name'\\]"):
        sash.Operator.restore(query, blob)


def test_states_are_there() -> None:
    assert len(saved("operator")) >= 60 and len(saved("keyed")) >= 25
