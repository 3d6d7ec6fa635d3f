"""Raw results: a CSV file with a row a measurement, and a JSON file with what they depend on; medians of them."""

from __future__ import annotations

import csv
import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["FIELDS", "Measured", "Results", "load", "saving"]


class Measured(NamedTuple):
    """One number: what it is of (``series``) in which part of a figure (``panel``) at which place (``x``)."""

    panel: str
    x: str
    series: str
    round: int
    unit: str
    value: float


FIELDS = Measured._fields


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

    @property
    def load(self) -> float | None:
        """How busy the machine was, if that is known."""
        found: float | None = self.facts.get("load_before", self.facts.get("load"))
        return found

    @property
    def panels(self) -> dict[str, str]:
        """The unit of each panel, in order."""
        return {row.panel: row.unit for row in self.rows}


def saving(path: Path, rows: Iterable[Measured], facts: dict[str, Any]) -> Iterator[Measured]:
    """Write rows as they come, and the facts beside them. Until all are there, what was there before stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    try:
        with unfinished.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(FIELDS)
            for row in rows:
                writer.writerow(row._replace(value=float(f"{row.value:.6g}")))
                yield row
        path.with_suffix(".json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def load(path: Path) -> Results | None:
    """What was saved; None if there is nothing."""
    about = path.with_suffix(".json")
    if not path.exists() or not about.exists():
        return None
    with path.open(newline="", encoding="utf-8") as file:
        rows = tuple(_measured(row) for row in csv.DictReader(file))
    return Results(rows, json.loads(about.read_text(encoding="utf-8")))


def _measured(row: dict[str, str]) -> Measured:
    return Measured(row["panel"], row["x"], row["series"], int(row["round"]), row["unit"], float(row["value"]))
