"""The fuzzer itself: what it keeps holds, some inputs of each kind hold, and it finds faults that are there."""

from __future__ import annotations

import contextlib
import os
import time
from random import Random
from typing import Any

import pytest

from . import fuzz
from .fuzz import mutate
from .fuzz.run import bounded, search
from .fuzz.targets import TARGETS, Target, kept

INPUTS = {"states": 60, "blocks": 60, "queries": 300, "data": 60, "tables": 60}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.filterwarnings("ignore")
def test_inputs_of_each_kind(target: str) -> None:
    """Inputs that once showed a fault, and some new ones, the same each time."""
    inputs = [*kept(target), *(TARGETS[target].input(seed) for seed in range(INPUTS[target]))]
    for name, data in inputs:
        TARGETS[target].check(name, data)


@pytest.mark.parametrize("target", TARGETS)
def test_a_seed_always_makes_the_same_input(target: str) -> None:
    for seed in range(5):
        (name, data), (again, other) = (TARGETS[target].input(seed) for _ in range(2))
        assert name == again
        assert target == "tables" or data == other


def failing(fault: Any) -> Target:
    """Its third input in ten is at fault."""

    def check(name: str, data: int) -> None:
        if data == 3:
            fault()

    return Target(lambda chance: ("number", chance.randrange(10)), check)


def loop() -> None:
    while True:
        pass


def swallow() -> None:
    with contextlib.suppress(Exception):  # as code does that handles what it should not
        loop()


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (lambda: 1 / 0, "ZeroDivisionError"),
        (lambda: os._exit(7), "ends the process with 7"),
        (swallow, "takes more than"),
    ],
    ids=["raises", "ends", "hangs"],
)
def test_faults_are_found_with_their_seeds(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], fault: Any, words: str
) -> None:
    monkeypatch.setitem(TARGETS, "planted", failing(fault))
    monkeypatch.setattr(fuzz.run, "CPU_S", 0.05)
    assert search("planted", seed=1, seconds=60, most=2) == 2
    first = next(seed for seed in range(1, 1000) if Random(seed).randrange(10) == 3)
    said = capfd.readouterr().out
    assert f"planted, seed {first}: " in said and words in said


def test_an_input_in_bounds_is_no_fault() -> None:
    assert bounded(lambda name, data: time.sleep(0), "name", 1) is None


def test_forged_states_have_right_checksums() -> None:
    from sash.state import snapshot_format

    from .fuzz.states import inputs

    state = next(iter(inputs().values()))
    changed = {mutate.forge(state, Random(seed)) for seed in range(20)}
    assert len(changed - {state}) > 10
    for forged in changed:
        snapshot_format.open_envelope(forged)
