"""Prints the cells of the matrix that are wrong in this process, as entries of the table in :mod:`matrix_known`.

python core/tests/matrix_report.py [way | way ...]
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from collections.abc import Iterable

from matrix import AGGREGATES, TYPES
from matrix_cells import wrong_cells, wrong_refusals
from matrix_ways import LOCAL

Cell = tuple[str, str, str, bool]


def entries(cells: Iterable[Cell]) -> list[tuple[str, str, str, str]]:
    """Cells as few products of aggregations, types, ways and latenesses."""
    late: dict[tuple[str, str, str], set[bool]] = defaultdict(set)
    for way, kind, name, lateness in cells:
        late[way, kind, name].add(lateness)
    types: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for (way, kind, name), latenesses in sorted(late.items(), key=lambda item: list(TYPES).index(item[0][1])):
        types[way, name, "both" if len(latenesses) == 2 else "yes" if True in latenesses else "no"].append(kind)
    ways: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for (way, name, told), kinds in types.items():
        ways[name, told, " | ".join(kinds)].append(way)
    names: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for (name, told, kind), some in sorted(ways.items(), key=lambda item: list(AGGREGATES).index(item[0][0])):
        names[kind, " | ".join(some), told].append(name)
    return [(" | ".join(some), kind, way, told) for (kind, way, told), some in names.items()]


def main(ways: list[str]) -> None:
    warnings.simplefilter("ignore")
    problems: dict[Cell, str] = {}
    for way in ways:
        for column in TYPES.values():
            for late in (False, True):
                wrong = wrong_cells(LOCAL[way], column, late) | wrong_refusals(LOCAL[way], column, late)
                problems |= {(way, column.name, name, late): problem for name, problem in wrong.items()}
    for name, kind, way, told in entries(problems):
        first = next(
            problem
            for (of_way, of_kind, of_name, _), problem in problems.items()
            if of_way in way.split(" | ") and of_kind in kind.split(" | ") and of_name in name.split(" | ")
        )
        print(f"Known(\n    {name!r},\n    {kind!r},\n    {way!r},\n    {told!r},\n    {first[:150]!r},\n),")


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]).split(" | ") if len(sys.argv) > 1 else list(LOCAL))
