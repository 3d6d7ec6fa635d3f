"""The tables of bench_rolling, made from its raw results: medians over the rounds, and which goals were reached."""

from __future__ import annotations

import json
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["KEY_RANGE", "KEY_ROWS", "PACKAGES", "ROWS", "SIZES", "WIDE", "Results", "power", "preamble"]

ROWS = 10_000_000
WIDE = 2**17  # the range of the workloads about slides and memory
SIZES = {
    "max": [2**4, 2**7, 2**10, 2**13, 2**15, 2**17, 2**20],
    "pba": [2**15, 2**17, 2**20],
    "aggregations": [2**10, 2**17],
    "own": [2**10],
}
PACKAGES = ["sash", "numpy", "numba", "bottleneck", "pandas", "polars", "scipy"]
KEY_ROWS, KEY_RANGE = 100, 10


def power(n: int) -> str:
    return f"2^{math.log2(n):g}" if n & (n - 1) == 0 else str(n)


@dataclass(frozen=True)
class Goal:
    """What was to be reached, and what was."""

    text: str
    limit: float
    at_least: bool
    ratios: dict[str, float]
    """What was measured, by where."""
    missing: Sequence[str] = ()
    """Where it should have been measured as well."""

    def line(self) -> str:
        sign = "at least" if self.at_least else "at most"
        text = f"| {self.text}: {sign} {self.limit:g}x |"
        if not self.ratios:
            return f"{text} | not measured |"
        worst = (min if self.at_least else max)(self.ratios, key=lambda where: self.ratios[where])
        reached = self.ratios[worst]
        met = reached >= self.limit if self.at_least else reached <= self.limit
        lacking = f"; {', '.join(self.missing)} not measured" if self.missing else ""
        verdict = "no" if not met else "not wholly measured" if self.missing else "yes"
        return f"{text} {reached:.2f}x ({worst}{lacking}) | {verdict} |"


class Results:
    """Medians over the rounds, and the tables made of them."""

    def __init__(self, rows: Iterable[dict[str, str]]) -> None:
        numbers: dict[tuple[str, str, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for row in rows:
            number = row["ns_per_value"] or row["extra_mb"] or row["first_call_s"]
            key = (row["workload"], row["aggregation"], int(row["n"] or 0))
            numbers[key][row["contender"]].append(float(number))
        self.medians = {
            key: {name: statistics.median(each) for name, each in lines.items()} for key, lines in numbers.items()
        }

    def of(self, workload: str) -> dict[tuple[str, int], dict[str, float]]:
        """{(aggregation, n): {contender: median}} of a workload."""
        return {key[1:]: line for key, line in self.medians.items() if key[0] == workload}

    def missing(self, workload: str) -> list[str]:
        measured = {n for _, n in self.of(workload)}
        return [power(n) for n in SIZES[workload] if n not in measured]

    def first(self, label: str) -> str:
        seconds = self.of("first-call").get((label, 0), {}).get("nothing cached")
        return "" if seconds is None else f"{seconds:.2f}"

    def tables(self) -> Iterator[str]:
        yield from self._max()
        yield from self._pba()
        yield from self._aggregations()
        yield from self._own()
        yield from self._slides()
        yield from self._memory()
        yield from self._keys()
        yield from self._first_calls()
        yield from table("Goals", ["goal", "reached", "met"], [goal.line() for goal in self.goals()])

    def _max(self) -> Iterator[str]:
        names = ["sash", "sash, out=", "bottleneck", "pandas", "polars", "scipy", "copyto", "copy"]
        lines = []
        for (label, n), line in self.of("max").items():
            mine = line["sash"]
            ratios = [mine / line["copyto"], mine / line["copy"], fastest(line) / mine]
            lines.append(cells(power(n), *(line.get(name, "") for name in names), *ratios, self.first(label)))
        heads = ["memcpy (warm)", "copy (fresh pages)", "sash / memcpy", "sash / copy", "fastest peer / sash"]
        yield from table("max, slide 1, one thread: ns per value", ["n", *names[:6], *heads, "first call, s"], lines)

    def _pba(self) -> Iterator[str]:
        lines = [
            cells(power(n), line["sba"], line["pba"], line["sba"] / line["pba"])
            for (_, n), line in self.of("pba").items()
        ]
        yield from table(
            "max, two threads: ns per value", ["n", "SBA, one thread", "PBA, two threads", "SBA / PBA"], lines
        )

    def _aggregations(self) -> Iterator[str]:
        names = ["sash", "bottleneck", "pandas", "polars", "scipy"]
        lines = [
            cells(
                label,
                power(n),
                *(line.get(name, "") for name in names),
                fastest(line) / line["sash"],
                self.first(label),
            )
            for (label, n), line in self.of("aggregations").items()
        ]
        heads = ["aggregation", "n", *names, "fastest peer / sash", "first call, s"]
        yield from table("More aggregations, slide 1, one thread: ns per value", heads, lines)

    def _own(self) -> Iterator[str]:
        names = ["sash", "pandas apply, numba", "pandas apply, python"]
        lines = []
        for (label, n), line in self.of("own").items():
            ratios = [line[name] / line["sash"] for name in names[1:]]
            lines.append(cells(power(n), *(line[name] for name in names), *ratios, self.first(label)))
        heads = ["n", *names, "numba / sash", "python / sash", "first call, s"]
        yield from table("A user's own spread, slide 1, one thread: ns per value", heads, lines)

    def _slides(self) -> Iterator[str]:
        lines = [
            cells(name.removeprefix("slide "), number, number / line["slide 1"])
            for line in self.of("slides").values()
            for name, number in line.items()
        ]
        yield from table(
            f"max, range {power(WIDE)}, one thread: ns per input value", ["slide", "sash", "of slide 1"], lines
        )

    def _memory(self) -> Iterator[str]:
        lines = [cells(name, f"{number:.1f}") for line in self.of("memory").values() for name, number in line.items()]
        title = f"Peak memory beyond input and output, max, range {power(WIDE)}: MB (of 2^20 bytes)"
        yield from table(title, ["algorithm", "extra"], lines)

    def _keys(self) -> Iterator[str]:
        lines = [
            cells(name, number, number / line["one key"])
            for line in self.of("keys").values()
            for name, number in line.items()
        ]
        title = f"max by key, range {KEY_RANGE}, {KEY_ROWS} values a key: ns per value"
        yield from table(title, ["keys", "sash", "of one key"], lines)

    def _first_calls(self) -> Iterator[str]:
        lines = [
            cells(label, *(f"{line[name]:.2f}" for name in ("nothing cached", "cached")))
            for (label, _), line in self.of("first-call").items()
        ]
        heads = ["aggregation", "nothing cached", "cached by another process"]
        yield from table("First call less the second, Numba's import included: s", heads, lines)

    def goals(self) -> Iterator[Goal]:
        line_of, missing = self.of("max"), self.missing("max")
        faster = {f"n = {power(n)}": fastest(line) / line["sash"] for (_, n), line in line_of.items()}
        yield Goal("max: faster than the fastest peer at every n", 5, True, faster, missing)
        for name, text in (("copyto", "a memcpy into warm memory"), ("copy", "a copy into fresh pages")):
            slower = {f"n = {power(n)}": line["sash"] / line[name] for (_, n), line in line_of.items()}
            yield Goal(f"max: the time of {text} at every n", 3, False, slower, missing)
        aim = {
            f"n = {power(n)}": line["sash, out="] / line["copyto"]
            for (_, n), line in line_of.items()
            if "sash, out=" in line
        }
        yield Goal("max with out=: the time of a memcpy into warm memory at every n (aim)", 1.5, False, aim, missing)
        pba = {f"n = {power(n)}": line["sba"] / line["pba"] for (_, n), line in self.of("pba").items()}
        yield Goal("PBA on two threads: faster than SBA at every n", 1.4, True, pba, self.missing("pba"))
        yield from self._aggregation_goals()
        for name, limit in (("python", 100), ("numba", 3)):
            own = {
                f"n = {power(n)}": line[f"pandas apply, {name}"] / line["sash"]
                for (_, n), line in self.of("own").items()
            }
            yield Goal(f"spread: faster than pandas apply in {name}", limit, True, own, self.missing("own"))
        slides = {
            name: number / line["slide 1"]
            for line in self.of("slides").values()
            for name, number in line.items()
            if name != "slide 1"
        }
        yield Goal("slides 10 and 100: the time of slide 1", 1, False, slides)
        for base, text in (("one key", "one key"), ("rolling, no keys", "rolling without keys")):
            keys = {
                f"range {n}, sorted": line["many keys, sorted"] / line[base] for (_, n), line in self.of("keys").items()
            }
            yield Goal(f"sorted keys of {KEY_ROWS} values: the time of {text}", 2, False, keys)

    def _aggregation_goals(self) -> Iterator[Goal]:
        for wanted in ("mean", "sample std", "argmax", "M4"):
            faster = {
                f"n = {power(n)}": fastest(line) / line["sash"]
                for (label, n), line in self.of("aggregations").items()
                if label == wanted
            }
            missing = self.missing("aggregations")
            yield Goal(f"{wanted}: faster than the fastest peer at every n", 3, True, faster, missing)


def fastest(line: dict[str, float]) -> float:
    return min(number for name, number in line.items() if name not in ("sash", "sash, out=", "copyto", "copy"))


def cells(*parts: str | float) -> str:
    return "| " + " | ".join(part if isinstance(part, str) else f"{part:.2f}" for part in parts) + " |"


def table(title: str, heads: list[str], lines: list[str]) -> Iterator[str]:
    if lines:
        rule = "| --- |" + (" ---: |" * (len(heads) - 1) if title != "Goals" else " --- | --- |")
        yield from [f"\n{title}\n", f"| {' | '.join(heads)} |", rule, *lines]


def preamble(path: Path) -> str:
    known = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    versions = ", ".join(f"{name} {known[name]}" for name in ["python", *PACKAGES])
    short = "" if known["rows"] == ROWS else f" (the goals are set for {ROWS:,})"
    return (
        f"{versions}; {known['cores']} cores, {known['processor'] or known['machine']}, {known['system']}; "
        f"{known['rows']:,} random float64{short}, medians of {known['rounds']} rounds; one thread each "
        f"(POLARS_MAX_THREADS={known['polars_max_threads']}) except PBA; raw results in {path.name}"
    )
