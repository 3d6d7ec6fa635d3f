"""What a benchmark is: contenders that compute the same, measured in turn, and tables made from the raw results.

```
cases ──▶ every contender gives the answer of its oracle ──▶ rounds: each contender in turn ──▶ CSV and JSON ──▶ tables
```

A case is measured only once its contenders agree. Raw results, a row a measurement, go to ``experiments/results`` if
everything is run with the default sizes, else to ``build``; the commit, the machine and the versions go into a JSON
file beside them. ``--table`` makes the tables again from raw results.
"""

from __future__ import annotations

import argparse
import math
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sash_experiments.machine import facts
from sash_experiments.raw import read_rows, results_folder, saving
from sash_experiments.tables import insert

__all__ = ["Benchmark", "Case", "Contender", "Row", "check", "in_turn", "is_chosen", "run", "same", "say"]

Row = dict[str, Any]


@dataclass(frozen=True)
class Contender:
    """One way to compute something."""

    name: str
    measure: Callable[[], Iterable[Row]]
    """Measures once: the numbers by column, a row or several."""
    answer: Callable[[], Any] | None = None
    """What it computes; None: nothing that others compute, too."""
    oracle: Callable[[], Any] | None = None
    """What it should compute; without one, the first answer of its case."""


@dataclass(frozen=True)
class Case:
    """Contenders that are measured in the same rounds, and the columns that name the case."""

    labels: Row
    contenders: Sequence[Contender]

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.labels.items())


def same(expected: Any, found: Any) -> bool:
    """Whether two answers agree: numbers up to rounding, arrays as far as both reach.

    >>> same((np.array([1.0, 2.0]),), (np.array([1.0]),)), same([1, 2], [1]), same([0.3], [0.1 + 0.2])
    (True, False, True)
    """
    if isinstance(expected, np.ndarray) and isinstance(found, np.ndarray):
        size = min(len(expected), len(found))
        return size > 0 and np.allclose(expected[:size], found[:size], rtol=1e-6, atol=1e-9)
    if isinstance(expected, list | tuple) and isinstance(found, list | tuple):
        return len(expected) == len(found) and all(map(same, expected, found))
    if isinstance(expected, float) and isinstance(found, float):
        return math.isclose(expected, found, rel_tol=1e-6, abs_tol=1e-9)
    return bool(expected == found)


def check(case: Case) -> None:
    """Exit if contenders do not agree with their oracles, or with the first of them.

    >>> check(Case({"n": 1}, [Contender("a", list, lambda: 1), Contender("b", list, lambda: 2)]))
    Traceback (most recent call last):
    SystemExit: n 1: b computes 2, not 1: nothing to compare
    """
    first: Any = None
    for contender in case.contenders:
        if contender.answer is None:
            continue
        found = contender.answer()
        first = found if first is None else first
        expected = contender.oracle() if contender.oracle is not None else first
        if not same(expected, found):
            difference = f"{str(found)[:500]}, not {str(expected)[:500]}"
            raise SystemExit(f"{case}: {contender.name} computes {difference}: nothing to compare")


def in_turn(cases: Iterable[Case], rounds: int = 1) -> Iterator[Row]:
    """Check each case, then measure its contenders in turn: a busy moment of the machine hits all alike."""
    for case in cases:
        check(case)
        for number in range(rounds):
            for contender in case.contenders:
                for numbers in contender.measure():
                    yield {**case.labels, "contender": contender.name, "round": number, **numbers}
            say(f"{case}: round {number + 1} of {rounds}")


def is_chosen(name: str, only: str | None) -> bool:
    """Whether a name such as ``count-84-1024:sash packed`` is one of those that are asked for, all without ``only``.

    >>> [is_chosen("count-84-1024:sash", only) for only in (None, "count-84-", "count:SQL OVER", "time-;:sash")]
    [True, True, False, True]
    """
    case, _, contender = name.partition(":")
    patterns = [pattern.partition(":") for pattern in only.split(";")] if only else [("", "", "")]
    return any(case.startswith(begin) and who in ("", contender) for begin, _, who in patterns)


def say(text: str) -> None:
    """Report progress on standard error."""
    print(f"  {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Benchmark:
    """A benchmark as ``python -m sash_experiments bench NAME`` runs it."""

    name: str
    """Also the stem of the files with its raw results."""
    about: str | None
    fields: Sequence[str]
    """The columns of the raw results."""
    key: Sequence[str]
    """Those that name what is measured: ``--again`` replaces rows with the same key."""
    measure: Callable[[argparse.Namespace], Iterator[Row]]
    tables: Callable[[list[dict[str, str]], Mapping[str, Any]], Iterator[str]]
    """Lines of Markdown from raw results and what they depend on."""
    packages: Sequence[str] = ("sash", "numpy", "numba")
    rounds: int = 1
    arguments: Callable[[argparse.ArgumentParser], object] = lambda parser: None
    """Adds the sizes that can be chosen."""
    complete: Callable[[argparse.Namespace], bool] = lambda options: True
    """Whether the machine allows to run everything."""
    facts: Callable[[], Mapping[str, Any]] = dict
    """What else the numbers depend on."""
    page: str = "docs/benchmarks/index.md"
    """Where the tables are shown, between the marks of ``mark``."""
    mark: str = ""
    plots: Callable[[list[dict[str, str]]], Iterable[tuple[str, str]]] = field(default=lambda rows: ())
    """(name, SVG) of the plots that are kept beside the raw results."""


def run(benchmark: Benchmark, arguments: Sequence[str] | None = None) -> None:
    """Measure, unless only the tables are asked for, and print the tables."""
    parser = _parser(benchmark)
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    if options.table is not None and not options.table.exists():
        parser.error(f"there is no file {options.table}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))  # jobs end with it, as by Ctrl-C
    path = options.table or _measure(benchmark, parser, options)
    rows, about = read_rows(path)
    lines = [*_preamble(about, path), *benchmark.tables(rows, about)]
    print("\n".join(lines))
    for name, drawn in benchmark.plots(rows):
        path.with_name(f"{name}.svg").write_text(drawn, encoding="utf-8")
    if options.docs:
        insert("\n".join(lines), options.docs, benchmark.mark or benchmark.name)


def _parser(benchmark: Benchmark) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m sash_experiments bench {benchmark.name}",
        description=benchmark.about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kept = results_folder() / f"{benchmark.name}.csv"
    benchmark.arguments(parser)
    common = parser.add_argument_group("all benchmarks")
    common.add_argument("--rounds", type=int, default=benchmark.rounds, help="default %(default)s")
    common.add_argument("--output", "--out", type=Path, help=f"default: {kept}, or build/ if not everything is run")
    common.add_argument("--again", action="store_true", help="keep the results there of what is not run now")
    common.add_argument("--table", type=Path, nargs="?", const=kept, help="measure nothing: print the tables of FILE")
    page = results_folder().parents[1] / benchmark.page
    common.add_argument(
        "--docs", "--readme", "--page", type=Path, nargs="?", const=page, help="put the tables into FILE"
    )
    return parser


COMMON = ("rounds", "output", "again", "table", "docs")


def _measure(benchmark: Benchmark, parser: argparse.ArgumentParser, options: argparse.Namespace) -> Path:
    sizes = {name: value for name, value in vars(options).items() if name not in COMMON}
    whole = options.again or all(value == parser.get_default(name) for name, value in sizes.items())
    folder = results_folder()
    if not (whole and benchmark.complete(options)):
        folder = folder.parents[1] / "build"
    path: Path = options.output or folder / f"{benchmark.name}.csv"
    about = facts(benchmark.packages, **sizes, rounds=options.rounds, **benchmark.facts())
    for _ in saving(path, benchmark.fields, benchmark.measure(options), about, benchmark.key if options.again else ()):
        pass
    return path


def _preamble(about: Mapping[str, Any], path: Path) -> Iterator[str]:
    """What the numbers depend on, in a paragraph."""
    if about:
        machine = f"{about['cores']} cores of {about.get('processor') or about['machine']}"
        settings = ("machine", "processor", "cores", "load_before", "system", "date", "again")
        others = ", ".join(
            f"{name} {value}" for name, value in about.items() if name not in settings and value is not None
        )
        load = f"{about['load_before']:.1f}" if "load_before" in about else "unknown"
        yield f"{about['date']}, {others}; {machine}, load {load} before; raw results in {path.name}."
