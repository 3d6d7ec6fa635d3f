"""The commands ``sash generate`` and ``sash experiment``: the latter re-runs the papers' tables and figures."""

from __future__ import annotations

import argparse
import sys
import time
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

    names = [name for name, each in registry.EXPERIMENTS.items() if each.measure is not None]
    try:
        chosen = [registry.find(name) for name in (names if options.names == ["all"] else options.names)]
    except KeyError as error:
        raise UsageError(sentence(error)) from None
    for experiment in chosen:
        if not registry.measured_by(experiment):
            raise UsageError(f"{experiment.name} is measured by a benchmark: run {experiment.bench}")
    wanted = {each.name: each for experiment in chosen for each in registry.measured_by(experiment)}
    if options.data_dir is not None and not any(map(registry.reads_original, wanted.values())):
        readers = ", ".join(name for name, each in registry.EXPERIMENTS.items() if registry.reads_original(each))
        raise UsageError(f"nothing that is run reads --data-dir: leave it out, or run one of {readers}")
    for experiment in wanted.values():
        begin, count = time.monotonic(), 0
        for count, row in enumerate(registry.run(experiment, options.scale, _folder(options), options.data_dir), 1):
            if sys.stderr.isatty():
                print(f"\r\033[K{experiment.name}: {count} numbers, {row.series} at {row.x}", end="", file=sys.stderr)
        end = "\r\033[K" if sys.stderr.isatty() else ""
        print(f"{end}{experiment.name}: {count} numbers in {time.monotonic() - begin:.0f} s", file=sys.stderr)


def _report(options: argparse.Namespace) -> None:
    from sash_experiments.report import page

    options.output.write_text(page(_folder(options)), encoding="utf-8")
    print(f"{options.output}: open it in any browser; it needs no network", file=sys.stderr)
