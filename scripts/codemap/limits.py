"""What the source must come to: figures, their limits, and what ``make lint`` enforces by now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from codemap import counts
from codemap.layers import ADAPTERS, CORE, imports, violations
from codemap.visits import visits

__all__ = ["LIMITS", "Limit"]


@dataclass(frozen=True)
class Limit:
    """A figure of the source, a number or the places that it counts, and the most that it may be."""

    name: str
    most: int
    figure: Callable[[], int | list[str]]
    enforced: bool = False
    """Whether ``make lint`` fails above the limit. Switch it on as soon as the limit holds."""
    ceiling: int | None = None
    """For a limit that does not hold yet: what the figure has come down to. ``make lint`` fails above it. Lower it with
    the figure; raise it only for something that is worth it, and say in the commit what that is."""

    @property
    def bound(self) -> int | None:
        """What ``make lint`` compares the figure with; None: nothing."""
        return self.most if self.enforced else self.ceiling


def _top_level() -> list[str]:
    return [path.name for path in counts.modules() if path.parent == CORE]


def _largest_folder() -> list[str]:
    """The modules of the folder that has most, those in folders below it not counted."""
    by_folder: dict[Path, list[str]] = {}
    for path in counts.modules():
        by_folder.setdefault(path.parent, []).append(path.relative_to(CORE).as_posix())
    return max(by_folder.values(), key=len)


def _lines(*folders: Path) -> int:
    paths = (path for folder in folders for path in counts.modules(folder))
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def _visited(what: str) -> list[str]:
    if not _VISITS:
        _VISITS.update(visits())
    return _VISITS[what]


_VISITS: dict[str, list[str]] = {}

LIMITS = [
    Limit("imports that break the layers", 0, lambda: list(map(str, violations(imports()))), enforced=True),
    Limit("internal modules that adapters import", 1, counts.adapter_imports, enforced=True),
    Limit("modules of the core", 150, lambda: len(counts.modules()), ceiling=222),
    Limit("modules at its top level", 3, _top_level, enforced=True),
    Limit("modules in its largest folder", 20, _largest_folder, enforced=True),
    Limit("lines of the core", 21_500, partial(_lines, CORE), ceiling=39_500),
    Limit("lines of the two adapters", 3_700, partial(_lines, *ADAPTERS), ceiling=4_650),
    Limit("isinstance on windows, watches, rules, stores", 8, counts.type_tests, enforced=True),
    Limit("lane drivers", 1, counts.lane_drivers, enforced=True),
    Limit("writers of state", 1, counts.state_writers, enforced=True),
    Limit("copies of csa–lcs", 3, counts.csa_lcs_copies, enforced=True),
    Limit("files visited by a quiet row", 5, partial(_visited, "quiet row"), enforced=True),
    Limit("files visited by a row that completes a window", 10, partial(_visited, "completing row"), enforced=True),
    Limit("files visited by a batch", 16, partial(_visited, "batch"), ceiling=30),
]
"""The table. Those that trace a run take some seconds."""
