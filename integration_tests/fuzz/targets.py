"""What is fuzzed: how an input is made from a seed, what must hold of it, and what is kept of those that failed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from . import files, states, tables

__all__ = ["CORPUS", "TARGETS", "Target", "kept"]

CORPUS = Path(__file__).with_name("corpus")


class Target(NamedTuple):
    """``mutated`` makes an input and its name; ``check`` raises if a rule does not hold of them."""

    mutated: Callable[[Random], tuple[str, Any]]
    check: Callable[[str, Any], None]

    def input(self, seed: int) -> tuple[str, Any]:
        """The input of a seed, always the same."""
        return self.mutated(Random(seed))


TARGETS = {
    "states": Target(states.mutated, states.check),
    "blocks": Target(states.mutated_blocks, states.check_blocks),
    "queries": Target(files.mutated_query, files.check_query),
    "data": Target(files.mutated, files.check),
    "tables": Target(tables.mutated, tables.check),
}


def kept(target: str) -> list[tuple[str, bytes]]:
    """The inputs of the corpus, by name: those that once failed, and those that others are made from."""
    folder = CORPUS / target
    if not folder.is_dir():
        return []
    return [
        (
            path.name.partition("~")[0].replace("_", " ") if target in ("states", "blocks") else path.name,
            path.read_bytes(),
        )
        for path in sorted(folder.iterdir())
    ]
