"""The tables of ``bench rolling``, made from its raw results: medians over the rounds, and which goals were reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sash_experiments.benchmarks.rolling.contenders import KEY_RANGE, KEY_ROWS
from sash_experiments.tables import Goal, goals, medians, number_or_power, table

__all__ = ["PACKAGES", "ROWS", "SIZES", "WIDE", "tables"]

ROWS = 10_000_000
WIDE = 2**17
"""The range of the workloads about slides and memory."""
SIZES = {
    "max": [2**4, 2**7, 2**10, 2**13, 2**15, 2**17, 2**20],
    "pba": [2**15, 2**17, 2**20],
    "aggregations": [2**10, 2**17],
    "own": [2**10],
    "slides": [WIDE],
    "keys": [KEY_RANGE],
}
PACKAGES = ("sash", "numpy", "numba", "bottleneck", "pandas", "polars", "scipy")
Line = dict[str, float]


def power(n: int | str) -> str:
    return number_or_power(str(n))


def fastest(line: Line) -> float:
    return min(number for name, number in line.items() if name not in ("sash", "sash, out=", "copyto", "copy"))


class Results:
    """Medians over the rounds, and the tables made of them."""

    def __init__(self, rows: list[dict[str, str]]) -> None:
        self.lines: dict[str, dict[tuple[str, str], Line]] = {}
        for column in ("ns_per_value", "extra_mb", "first_call_s"):
            found = medians(rows, column, "workload", "aggregation", "n", "contender")
            for (workload, label, n, name), number in found.items():
                self.lines.setdefault(workload, {}).setdefault((label, n), {})[name] = number

    def of(self, workload: str) -> dict[tuple[str, str], Line]:
        """{(aggregation, n): {contender: median}} of a workload, smallest windows first."""
        return self.lines.get(workload, {})

    def first(self, label: str) -> float | str:
        return self.of("first-call").get((label, ""), {}).get("nothing cached", "")

    def by_contender(self, workload: str, base: str) -> Iterator[list[Any]]:
        """Each contender, its number and how many times that of the base it is."""
        for line in self.of(workload).values():
            for name, number in line.items():
                yield [name.removeprefix("slide "), number, number / line[base]]

    def ratios(self, workload: str, over: str, under: str, label: str = "") -> dict[str, float]:
        """By window size, how many times as long one takes as another; ``peer`` is the fastest of them."""
        return {
            f"n = {power(n)}": (fastest(line) if over == "peer" else line[over]) / line[under]
            for (name, n), line in self.of(workload).items()
            if label in ("", name) and {over, under} - {"peer"} <= line.keys()
        }


def tables(rows: list[dict[str, str]], facts: Mapping[str, Any]) -> Iterator[str]:
    """All tables that there are results for."""
    results = Results(rows)
    yield from _max(results)
    lines: list[list[Any]] = [
        [power(n), line["sba"], line["pba"], line["sba"] / line["pba"]] for (_, n), line in results.of("pba").items()
    ]
    heads = ["n", "SBA, one thread", "PBA, two threads", "SBA / PBA"]
    yield from table("max, two threads: ns per value", heads, lines)
    yield from _aggregations(results)
    yield from _own(results)
    title = f"max, range {power(WIDE)}, one thread: ns per input value"
    yield from table(title, ["slide", "sash", "of slide 1"], results.by_contender("slides", "slide 1"))
    lines = [[name, f"{size:.1f}"] for line in results.of("memory").values() for name, size in line.items()]
    title = f"Peak memory beyond input and output, max, range {power(WIDE)}: MB (of 2^20 bytes)"
    yield from table(title, ["algorithm", "extra"], lines)
    title = f"max by key, range {KEY_RANGE}, {KEY_ROWS} values a key: ns per value"
    yield from table(title, ["keys", "sash", "of one key"], results.by_contender("keys", "one key"))
    lines = [[label, line["nothing cached"], line["cached"]] for (label, _), line in results.of("first-call").items()]
    heads = ["aggregation", "nothing cached", "cached by another process"]
    yield from table("First call less the second, Numba's import included: s", heads, lines)
    yield from goals(_goals(results), f"Goals, set for {ROWS:,} values")


def _max(results: Results) -> Iterator[str]:
    names = ["sash", "sash, out=", "bottleneck", "pandas", "polars", "scipy", "copyto", "copy"]
    lines = []
    for (label, n), line in results.of("max").items():
        ratios = [line["sash"] / line["copyto"], line["sash"] / line["copy"], fastest(line) / line["sash"]]
        lines.append([power(n), *(line.get(name, "") for name in names), *ratios, results.first(label)])
    heads = ["memcpy (warm)", "copy (fresh pages)", "sash / memcpy", "sash / copy", "fastest peer / sash"]
    yield from table("max, slide 1, one thread: ns per value", ["n", *names[:6], *heads, "first call, s"], lines)


def _aggregations(results: Results) -> Iterator[str]:
    names = ["sash", "bottleneck", "pandas", "polars", "scipy"]
    lines = [
        [label, power(n), *(line.get(name, "") for name in names), fastest(line) / line["sash"], results.first(label)]
        for (label, n), line in results.of("aggregations").items()
    ]
    heads = ["aggregation", "n", *names, "fastest peer / sash", "first call, s"]
    yield from table("More aggregations, slide 1, one thread: ns per value", heads, lines)


def _own(results: Results) -> Iterator[str]:
    names = ["sash", "pandas apply, numba", "pandas apply, python"]
    lines = []
    for (label, n), line in results.of("own").items():
        ratios = [line[name] / line["sash"] for name in names[1:]]
        lines.append([power(n), *(line[name] for name in names), *ratios, results.first(label)])
    heads = ["n", *names, "numba / sash", "python / sash", "first call, s"]
    yield from table("A user's own spread, slide 1, one thread: ns per value", heads, lines)


def _goals(results: Results) -> Iterator[Goal]:
    def missing(workload: str) -> list[str]:
        measured = {n for _, n in results.of(workload)}
        return [power(n) for n in SIZES[workload] if str(n) not in measured]

    def ratio(text: str, limit: float, workload: str, over: str, under: str, at_least: bool, label: str = "") -> Goal:
        return _goal(text, limit, at_least, results.ratios(workload, over, under, label), missing(workload))

    yield ratio("max: faster than the fastest peer at every n", 5, "max", "peer", "sash", True)
    for name, text in (("copyto", "a memcpy into warm memory"), ("copy", "a copy into fresh pages")):
        yield ratio(f"max: the time of {text} at every n", 3, "max", "sash", name, False)
    aim = "max with out=: the time of a memcpy into warm memory at every n (aim)"
    yield ratio(aim, 1.5, "max", "sash, out=", "copyto", False)
    yield ratio("PBA on two threads: faster than SBA at every n", 1.4, "pba", "sba", "pba", True)
    for label in ("mean", "sample std", "argmax", "M4"):
        yield ratio(f"{label}: faster than the fastest peer at every n", 3, "aggregations", "peer", "sash", True, label)
    for name, limit in (("python", 100), ("numba", 3)):
        text = f"spread: faster than pandas apply in {name}"
        yield ratio(text, limit, "own", f"pandas apply, {name}", "sash", True)
    slides = {f"slide {name}": times for name, _, times in results.by_contender("slides", "slide 1") if name != "1"}
    yield _goal("slides 10 and 100: the time of slide 1", 1, False, slides)
    for base, text in (("one key", "one key"), ("rolling, no keys", "rolling without keys")):
        title = f"sorted keys of {KEY_ROWS} values: the time of {text}"
        yield ratio(title, 2, "keys", "many keys, sorted", base, False)


def _goal(text: str, limit: float, at_least: bool, ratios: dict[str, float], missing: Sequence[str] = ()) -> Goal:
    """The worst of what was measured, by where, beside what was to be reached everywhere."""
    text = f"{text}: {'at least' if at_least else 'at most'} {limit:g}x"
    if not ratios:
        return text, "", "not measured"
    worst = (min if at_least else max)(ratios, key=lambda where: ratios[where])
    met = ratios[worst] >= limit if at_least else ratios[worst] <= limit
    lacking = f"; {', '.join(missing)} not measured" if missing else ""
    reached = f"{ratios[worst]:.2f}x ({worst}{lacking})"
    return text, reached, "not wholly measured" if met and missing else met
