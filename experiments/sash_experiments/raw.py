"""Raw results: a CSV file with a row a measurement, and a JSON file with what they depend on; medians of them."""

from __future__ import annotations

import csv
import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

__all__ = [
    "COMPILED",
    "FIELDS",
    "PYTHON",
    "WAITS",
    "Measured",
    "Results",
    "load",
    "read_rows",
    "results_folder",
    "saving",
]


PYTHON, COMPILED = "python", "compiled"
"""The rungs of the ladder of implementations: row by row in Python, and in one loop of machine code."""


WAITS = "waits for lcs"
"""How the panels end that say of how many of a hundred chunks PBA's main thread has waited for ``lcs``."""


class Measured(NamedTuple):
    """One number: what it is of (``series``) in which part of a figure (``panel``) at which place (``x``)."""

    panel: str
    x: str
    series: str
    round: int
    unit: str
    value: float
    rung: str = PYTHON


FIELDS = Measured._fields
RowT = TypeVar("RowT", Measured, dict[str, Any])


@dataclass(frozen=True)
class Results:
    """The numbers of an experiment, and what they depend on."""

    rows: tuple[Measured, ...]
    facts: dict[str, Any]

    def medians(self) -> dict[tuple[str, str, str], float]:
        """By panel, x and series: medians over the rounds."""
        found: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        for row in self.rows:
            found[row.panel, row.x, row.series].append(row.value)
        return {key: statistics.median(values) for key, values in found.items()}

    def panel(self, name: str) -> dict[str, dict[str, float]]:
        """{series: {x: median}} of a panel."""
        found: dict[str, dict[str, float]] = defaultdict(dict)
        for (panel, x, series), value in self.medians().items():
            if panel == name:
                found[series][x] = value
        return dict(found)

    def on(self, rung: str) -> Results:
        """The numbers of a rung."""
        return Results(tuple(row for row in self.rows if row.rung == rung), self.facts)

    @property
    def rungs(self) -> list[str]:
        """The rungs that were measured, in order."""
        return list(dict.fromkeys(row.rung for row in self.rows))

    @property
    def load(self) -> float | None:
        """How busy the machine was, if that is known."""
        found: float | None = self.facts.get("load_before", self.facts.get("load"))
        return found

    @property
    def panels(self) -> dict[str, str]:
        """The unit of each panel, in order."""
        return {row.panel: row.unit for row in self.rows}


def results_folder() -> Path:
    """Where raw results are: ``experiments/results`` in a checkout of Sash, elsewhere a folder here."""
    beside = Path(__file__).parents[1] / "results"
    return beside if beside.is_dir() else Path("sash-results").absolute()


def saving(
    path: Path, fields: Sequence[str], rows: Iterable[RowT], facts: dict[str, Any], key: Sequence[str] = ()
) -> Iterator[RowT]:
    """Write rows as they come, and the facts beside them. Until all are there, what was there before stays.

    With a ``key``, so do rows whose columns of that name say something else than those of all new rows, and the new
    facts are listed as ``again`` in those that were there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    kept: list[dict[str, str]] = []
    known: dict[str, Any] = {}
    if key and path.exists():
        kept, known = read_rows(path)
    unfinished, replaced = path.with_suffix(".part"), set()
    try:
        with unfinished.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fields)
            writer.writeheader()
            for row in rows:
                cells = _cells(row)
                writer.writerow(cells)
                file.flush()
                replaced.add(tuple(str(cells.get(name, "")) for name in key))
                yield row
            writer.writerows(row for row in kept if tuple(row[name] for name in key) not in replaced)
        about = {**known, "again": [*known.get("again", []), facts]} if known else facts
        path.with_suffix(".json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _cells(row: Measured | dict[str, Any]) -> dict[str, Any]:
    return row._replace(value=float(f"{row.value:.6g}"))._asdict() if isinstance(row, Measured) else row


def read_rows(path: Path) -> tuple[list[dict[str, str]], dict[str, Any]]:
    """Raw results as they were written, and what they depend on, if that is known."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    about = path.with_suffix(".json")
    return rows, json.loads(about.read_text(encoding="utf-8")) if about.exists() else {}


def load(path: Path) -> Results | None:
    """The saved results of an experiment; None if there are none."""
    if not path.exists() or not path.with_suffix(".json").exists():
        return None
    rows, facts = read_rows(path)
    return Results(tuple(measured(row) for row in rows), facts)


def measured(row: Mapping[str, str]) -> Measured:
    """A row of an experiment's raw results."""
    rung = row.get("rung", PYTHON)  # results of before there were rungs
    return Measured(row["panel"], row["x"], row["series"], int(row["round"]), row["unit"], float(row["value"]), rung)
