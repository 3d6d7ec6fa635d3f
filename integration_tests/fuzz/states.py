"""Saved states: restoring any bytes gives an operator or a StateError, within bounds of time and memory."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache
from random import Random
from typing import Any

import numpy as np

import sash
from integration_tests.conformance.cases import CASES, Case
from sash import PerformanceWarning, StateError
from sash.runtime.operator import KeyedOperator, KeyOperator

from .mutate import forge, of_bytes

__all__ = ["check", "check_blocks", "inputs", "mutated", "mutated_blocks"]

BY_NAME = {case.name: case for case in CASES}
LONG = sash.Query(key="k", windows=sash.sliding(1500), aggregates={"n": sash.Sum("x")})
"""A window of so many slices that some are in blocks."""


@cache
def inputs() -> Mapping[str, bytes]:
    """A state of each case, saved after half of its rows, by rows and by columns."""
    states = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)
        for name, case in BY_NAME.items():
            first, _ = case.batches()
            by_rows, by_columns = sash.Operator(case.query), KeyedOperator(case.query, own_watermark="key")
            for row in first:
                by_rows.process(row)
            by_columns.process_batch(first)
            states[f"{name} rows"] = by_rows.snapshot(trusted=True)
            states[f"{name} columns"] = by_columns.snapshot(trusted=True)
    return states


def mutated(chance: Random) -> tuple[str, bytes]:
    """A state, mostly with other values in it."""
    name = chance.choice(list(inputs()))
    state = inputs()[name]
    return name, forge(state, chance) if chance.random() < 0.95 else of_bytes(state, chance)


def check(name: str, state: bytes) -> None:
    """Restore it in every kind of operator."""
    case: Case = BY_NAME[name.rpartition(" ")[0]]
    kinds: Any = (sash.Operator, KeyedOperator, KeyOperator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)
        for kind in kinds:
            try:
                kind.restore(case.query, state)
            except StateError:
                continue


@cache
def _parts() -> tuple[bytes, Mapping[Any, bytes]]:
    op = KeyedOperator(LONG)
    op.process_batch({"k": ["a", "b"] * 1300, "x": np.arange(2600)})
    changes = op.snapshot_parts()
    assert len(changes.written) == 4
    return changes.header, changes.written


def mutated_blocks(chance: Random) -> tuple[str, bytes]:
    """A header, or one of its blocks, with other values in it; the name says which."""
    header, blocks = _parts()
    place = chance.randrange(-1, len(blocks))
    return str(place), forge(header if place < 0 else [*blocks.values()][place], chance)


def check_blocks(name: str, part: bytes) -> None:
    """Restore the header and the blocks, one of which was changed."""
    header, blocks = _parts()
    if name == "-1":
        header = part
    else:
        blocks = blocks | {[*blocks][int(name)]: part}  # type: ignore[operator]  # a dict
    try:
        KeyedOperator.restore_parts(LONG, header, blocks)
    except StateError:
        return
