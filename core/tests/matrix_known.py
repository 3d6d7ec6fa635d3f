"""The cells of the matrix that are known to be wrong, and why. A cell that comes right has to leave this table.

``python core/tests/matrix_report.py`` prints the cells that are wrong today, in the form of this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Known:
    """Cells that are wrong: all pairs of these aggregations and column types, in these ways."""

    aggregates: str
    types: str
    ways: str
    late: str
    reason: str

    def cells(self) -> set[tuple[str, str, str, bool]]:
        """Way, column type, aggregation, and whether with lateness."""
        latenesses = {"no": [False], "yes": [True], "both": [False, True]}[self.late]
        return {
            (way, kind, name, late)
            for way in self.ways.split(" | ")
            for kind in self.types.split(" | ")
            for name in self.aggregates.split(" | ")
            for late in latenesses
        }


NO_PRECISION = "never: the types of a DataStream have no precision; in lists and structures digits are lost"
KNOWN: list[Known] = [
    Known(
        "Sum | Mean",
        "decimal",
        "Flink by record | Flink packed",
        "both",
        NO_PRECISION,
    ),
    Known(
        "Median | Quantile",
        "decimal | timestamp[s] | timestamp[ms] | timestamp[us] | timestamp[ms, zone] | timestamp[us, zone]",
        "Flink by record | Flink packed",
        "both",
        NO_PRECISION,
    ),
    Known(
        "Min | Max | Mode | ArgMin with it | ArgMax with it | First | Last | Quantile lower | own",
        "decimal | time | timestamp[s] | timestamp[ms] | timestamp[us] | timestamp[ms, zone] | timestamp[us, zone]",
        "Flink by record | Flink packed",
        "both",
        NO_PRECISION,
    ),
    Known(
        "Collect | CollectDistinct | M4",
        "decimal | time | timestamp[s] | timestamp[us] | timestamp[ms, zone]",
        "Flink by record | Flink packed",
        "both",
        NO_PRECISION,
    ),
]


@cache
def known_cells(way: str, kind: str, late: bool) -> dict[str, str]:
    """The aggregations of which a cell is known to be wrong, and why."""
    return {name: each.reason for each in KNOWN for w, k, name, x in each.cells() if (w, k, x) == (way, kind, late)}


def check(way: str, kind: str, late: bool, wrong: dict[str, str]) -> None:
    """Fail unless exactly the known cells of a way, a type and a lateness are ``wrong``, which says what is."""
    known = known_cells(way, kind, late)
    cell = f"{kind}, {way}{', allowed_lateness' * late}"
    told = [f"{name} of {cell}: {problem}" for name, problem in wrong.items() if name not in known]
    told += [f"{name} of {cell} is right now: take it out of KNOWN" for name in known if name not in wrong]
    assert not told, "\n".join(told)
