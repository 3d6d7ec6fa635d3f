"""The commands ``sash generate`` and ``sash experiment``: the latter re-runs the papers' tables and figures."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sash.cli.engines import UsageError, sentence
from sash_experiments import generating

__all__ = ["add"]

SCALES = ("smoke", "small", "paper")


def add(commands: Any) -> None:
    """Add ``generate`` and ``experiment`` to the commands. What the latter needs is imported when it is used."""
    generating.add(commands)
    command = commands.add_parser(
        "experiment",
        help="re-run the papers' experiments",
        description="The tables and figures of the five papers: list them, run them, and report them in one page.",
    )
    actions = command.add_subparsers(title="actions", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="what there is, and what has been run")
    listing.set_defaults(command=_list)
    running = actions.add_parser("run", help="run some, or all that are measured here")
    running.add_argument("names", nargs="+", metavar="NAME", help='such as pba-fig4, or "all"')
    running.add_argument("--scale", choices=SCALES, default="small", help="seconds, minutes, or as in the paper")
    running.add_argument(
        "--data-dir",
        type=Path,
        metavar="FOLDER",
        help="original data: allData.txt of DEBS 2012 (default: made up)",
    )
    running.add_argument("--resume", action="store_true", help="leave out what this commit has measured at this scale")
    running.set_defaults(command=_run)
    report = actions.add_parser("report", help="write one HTML page with every claim, plot and number")
    report.add_argument("--output", type=Path, default=Path("sash-report.html"), metavar="FILE")
    report.set_defaults(command=_report)
    for each in (listing, running, report):
        each.add_argument("--results", type=Path, metavar="FOLDER", help="where raw results are")


def _folder(options: argparse.Namespace) -> Path:
    from sash_experiments.raw import results_folder

    return options.results or results_folder()


def _list(options: argparse.Namespace) -> None:
    from sash_experiments.registry import EXPERIMENTS, stored

    for name, experiment in EXPERIMENTS.items():
        found = stored(experiment, _folder(options))
        told = [] if found is None else [found.facts.get("scale", "benchmark"), found.facts.get("date")]
        print(f"{name:<15} {', '.join(filter(None, told)) or 'not run':<22} {experiment.title}")


def _run(options: argparse.Namespace) -> None:
    from sash_experiments import registry

    everything = list(registry.EXPERIMENTS)
    try:
        chosen = [registry.find(name) for name in (everything if options.names == ["all"] else options.names)]
    except KeyError as error:
        raise UsageError(sentence(error)) from None
    measured = {each.name: each for experiment in chosen for each in registry.measured_by(experiment)}
    # one run of a benchmark has the rows of all its experiments
    benched = {each.bench: each for each in chosen if each.bench is not None}
    if options.scale != "smoke" and benched:
        left_out = [f"{each.name} is measured by a benchmark: run {each.bench}" for each in chosen if each.bench]
        if options.names != ["all"]:
            raise UsageError(left_out[0])
        print("\n".join(left_out), file=sys.stderr)
        benched = {}
    if options.data_dir is not None and not any(map(registry.reads_original, measured.values())):
        readers = ", ".join(name for name, each in registry.EXPERIMENTS.items() if registry.reads_original(each))
        raise UsageError(f"nothing that is run reads --data-dir: leave it out, or run one of {readers}")
    if options.resume:
        measured = {name: each for name, each in measured.items() if not _current(each, options)}
    failed = [each.name for each in measured.values() if not _finished(each.name, _measure, each, options)]
    failed += [bench for bench, each in benched.items() if not _finished(bench, _bench, each, options)]
    if failed:
        raise SystemExit(f"{', '.join(failed)} failed; the others are done")


def _current(experiment: Any, options: argparse.Namespace) -> bool:
    from sash_experiments import registry

    current = registry.is_current(experiment, options.scale, _folder(options))
    if current:
        print(f"{experiment.name}: measured by this commit already", file=sys.stderr)
    return current


def _finished(name: str, run: Callable[[Any, argparse.Namespace], str], experiment: Any, options: Any) -> bool:
    """Run it and report what came of it; False if its contenders do not agree or its benchmark fails."""
    begin, done = time.monotonic(), True
    try:
        outcome = run(experiment, options)
    except SystemExit as error:
        outcome, done = f"failed: {error}", False
    end = "\r\033[K" if sys.stderr.isatty() else ""
    print(f"{end}{name}: {outcome} in {time.monotonic() - begin:.0f} s", file=sys.stderr)
    return done


def _measure(experiment: Any, options: argparse.Namespace) -> str:
    from sash_experiments import registry

    count = 0
    for count, row in enumerate(registry.run(experiment, options.scale, _folder(options), options.data_dir), 1):
        if sys.stderr.isatty():
            print(f"\r\033[K{experiment.name}: {count} numbers, {row.series} at {row.x}", end="", file=sys.stderr)
    return f"{count} numbers"


def _bench(experiment: Any, options: argparse.Namespace) -> str:
    from sash_experiments import benches

    lacking = benches.missing(experiment)
    if lacking:
        return f"left out, because {', '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} not installed,"
    return f"{benches.run_smoke(experiment, _folder(options))} numbers"


def _report(options: argparse.Namespace) -> None:
    from sash_experiments.report import page
    from sash_experiments.verdicts import counts

    options.output.write_text(page(_folder(options)), encoding="utf-8")
    told = ", ".join(f"{verdict} {count}" for verdict, count in counts(_folder(options)).items())
    print(f"{options.output}: open it in any browser; it needs no network", file=sys.stderr)
    print(f"claims: {told}", file=sys.stderr)
