"""Fingerprints of queries with users' own windows, whose classes travel to workers by value."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import cloudpickle
import pytest

import sash
import sash.state
from sash.runtime.operator import KeyedOperator
from sash.state.fingerprint import fingerprint
from sash.state.snapshot_format import StateError
from sash.windows import ContextAware, Edges


def query_of(least: int) -> sash.Query:
    """A query with a window whose class is known by its value only, as one of a script or a notebook is."""

    @dataclass(frozen=True)
    class Jumps(ContextAware):
        least: int = 0
        on: str | None = None
        columns: tuple[str, ...] = ("x",)

        def observe(self, time: Any, row: Mapping[str, Any], edges: Edges) -> None:
            if row["x"] >= self.least:
                edges.add(time)

    return sash.Query(windows=Jumps(least), aggregates={"n": sash.Count()}, time="t")


def brought_along(query: sash.Query) -> sash.Query:
    """The query, as a worker has it."""
    found: sash.Query = pickle.loads(cloudpickle.dumps(query))
    return found


def test_a_class_that_comes_by_value_keeps_the_fingerprint() -> None:
    query = query_of(3)
    before = fingerprint(query)
    again = brought_along(query)
    assert fingerprint(again) == fingerprint(query) == before
    assert fingerprint(brought_along(query_of(4))) != before


def test_cloudpickle_2_loses_fields() -> None:
    """Once this fails, ``sash.state.fingerprint`` needs no way of its own to find them."""
    (window,) = brought_along(query_of(3)).named.values()
    lost = int(cloudpickle.__version__.split(".")[0]) < 3
    assert bool(fields(window)) is not lost  # type: ignore[arg-type]


def test_states_of_workers_that_had_lost_the_fields_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    query = query_of(3)
    op = KeyedOperator(query, own_watermark="key")
    op.process_batch({"t": [1, 2], "x": [1, 5]})
    with monkeypatch.context() as patch:
        patch.setattr(sash.state, "fingerprint", lambda query, fields=True: fingerprint(query, fields=False))
        blob = op.snapshot(trusted=True)
    KeyedOperator.restore(query, blob, own_watermark="key", trusted=True)
    with pytest.raises(StateError, match="the window differs from the one"):
        KeyedOperator.restore(query_of(4), op.snapshot(trusted=True), own_watermark="key", trusted=True)
    with pytest.raises(StateError, match="aggregate 'n' of the saved state"):
        KeyedOperator.restore(query.using(aggregates={"m": sash.Count()}), blob, own_watermark="key", trusted=True)
