"""``sash size``: the state, memory, network and cores that a query needs, from costs measured on this machine."""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sash.cli.engines import engine, engines
from sash.cli.files import Source
from sash.cli.options import add_allow_imports, positive, query_of
from sash.cli.sizing.measured import Measured, job_seconds, measure
from sash.cli.sizing.sample import Sample, by_column
from sash.engine.sizes import slice_bytes
from sash.values.timestamps import nanoseconds

__all__ = ["Size", "add", "size", "words"]

_MULTIPLES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
_SECONDS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([kMG]?)(?:/(s|min|m|h|d))?")
_JOB_ROWS = 150_000
"""A batch of an engine's job has at most so many rows; beyond, some of the keys are measured."""


def add(commands: Any) -> None:
    """Add ``size`` to the commands."""
    command = commands.add_parser(
        "size",
        help="estimate state, memory, network and cores",
        description="Estimate what a query needs at a rate, from a run of some seconds over generated rows on this "
        "machine. Nothing is written.",
    )
    command.add_argument("query", type=Path, metavar="Q.toml", help="the query file")
    command.add_argument("--rate", type=_rate, required=True, metavar="ROWS/s", help="of all keys, such as 100k/s")
    command.add_argument("--keys", type=_whole, default=1, metavar="N", help="keys at a time, such as 10k (default 1)")
    command.add_argument("--workers", type=positive, default=1, metavar="N", help="that share the keys (default 1)")
    command.add_argument(
        "--every", type=_duration, default=1.0, metavar="TIME", help="between two batches of rows (default 1s)"
    )
    command.add_argument("--engine", default="local", help=f"{', '.join(engines())} (default %(default)s)")
    command.add_argument(
        "--like", type=Path, metavar="DATA", help="files whose types and values the generated rows have"
    )
    command.add_argument("--seconds", type=_duration, default=1.0, metavar="TIME", help="to measure for (default 1s)")
    add_allow_imports(command)
    command.set_defaults(command=_size)


def _rate(text: str) -> float:
    """Rows a second.

    >>> _rate("100k/s"), _rate("1.5M/h"), _rate("20")
    (100000.0, 416.66..., 20.0)
    """
    match = _AMOUNT.fullmatch(text.strip())
    if match is None or not float(match[1]):
        raise argparse.ArgumentTypeError(f"expected rows by time, such as 100k/s or 2M/h; got {text!r}")
    return float(match[1]) * _MULTIPLES[match[2]] / _SECONDS[match[3] or ""]


def _whole(text: str) -> int:
    match = _AMOUNT.fullmatch(text.strip())
    number = 0.0 if match is None or match[3] else float(match[1]) * _MULTIPLES[match[2]]
    if number < 1 or number != int(number):
        raise argparse.ArgumentTypeError(f"expected a whole number, such as 10000 or 10k; got {text!r}")
    return int(number)


def _duration(text: str) -> float:
    try:
        seconds = nanoseconds(text) / 1e9
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"expected a time above zero, such as 1s; got {text!r}")
    return seconds


@dataclass(frozen=True)
class Size:
    """What a query needs on each of some workers."""

    slices: float
    """Of all keys of a worker."""
    saved: float
    """Bytes of a snapshot."""
    held: float
    """Bytes in memory between batches."""
    memory: float
    """Bytes at the worst moment of a batch."""
    bytes_in: float
    """A second."""
    bytes_out: float
    results: float
    """Rows a second."""
    cores: float
    """Busy all the time."""

    @classmethod
    def of(cls, sample: Sample, measured: Measured, interval: float, workers: int) -> Size:
        """What each of some workers needs of an operator that was measured."""
        keys = max(1, round(sample.keys / workers))
        expected = sample.slices()
        grows = 1.0 if measured.full or not expected else expected / measured.slices
        results = measured.results * keys / interval
        return cls(
            slices=measured.slices * keys * grows,
            saved=measured.saved.of(keys) * grows,
            held=measured.held * keys * grows,
            memory=measured.memory * keys * grows,
            bytes_in=sample.rate * keys * measured.row_bytes,
            bytes_out=results * measured.result_bytes,
            results=results,
            cores=measured.batch_s.of(keys) / interval,
        )


def size(sample: Sample, interval: float = 1.0, workers: int = 1, seconds: float = 1.0) -> tuple[Measured, Size]:
    """Measure a stream's operator for some seconds; what each of some workers needs."""
    measured = measure(sample, interval, seconds)
    return measured, Size.of(sample, measured, interval, workers)


def _size(options: argparse.Namespace) -> None:
    query, run = query_of(options.query, options.allow_imports), engine(options.engine)
    like = None if options.like is None else next(Source.of(options.like).tables())
    sample = Sample.of(query, options.keys, options.rate / options.keys, like)
    print("measuring this query over generated rows, on this machine …", file=sys.stderr, flush=True)
    measured, each = size(sample, options.every, options.workers, options.seconds)
    of_engine = None
    if options.engine != "local":
        print(f"running it on {options.engine}, five times …", file=sys.stderr, flush=True)
        of_engine = _of_engine(run, sample, options.every, options.workers)
    for line in words(sample, measured, each, options.every, options.workers):
        print(line)
    if of_engine is not None:
        print(f"{options.engine:<9} {of_engine:.2g} cores in all, JVM and workers, sources and sinks of files included")


def _of_engine(run: Any, sample: Sample, interval: float, workers: int) -> float:
    """The cores that a job of an engine keeps busy."""
    fits = min(1.0, _JOB_ROWS / (sample.rate * sample.keys * interval), 2_000_000 / sample.rows_to_fill())
    keys = max(1, int(sample.keys * fits))
    with tempfile.TemporaryDirectory(prefix="sash-size-") as scratch:
        seconds = job_seconds(run, sample.of_keys(keys), interval, workers, Path(scratch))
    return seconds * sample.keys / keys / interval


def words(sample: Sample, measured: Measured, each: Size, interval: float, workers: int) -> Iterator[str]:
    """The lines that ``sash size`` prints."""
    rows, shown = sample.rate * sample.keys, _bytes
    yield f"rows      {rows:,.0f} a second, of {sample.keys:,} keys; {each.results * workers:,.0f} results a second"
    if workers > 1:
        yield f"workers   {workers}; what follows is for each of them"
    slices = f"{each.slices:,.0f} slices, {measured.slices:,.1f} a key"
    yield f"state     {shown(each.saved)} saved: {slices}{_bound(sample)}"
    most, process = shown(each.memory), shown(measured.process)
    yield f"memory    {most} at most, {shown(each.held)} between batches; and {process} for the process"
    yield f"network   {shown(each.bytes_in)}/s of rows in, {shown(each.bytes_out)}/s of results out"
    a_row = f"{each.cores / (rows / workers) * 1e6:.2g} µs a row"
    yield f"cores     {each.cores:.2g} busy with the operator, {a_row}; an engine's own work is not in it"
    drawn_out = "" if measured.full else "; too few rows to fill their windows: the formula says the rest"
    yield f"measured  {measured.keys:,} keys, batches of {interval:g} s{drawn_out}"


def _bound(sample: Sample) -> str:
    """The formula's bytes of a slice, if its partials have a fixed size."""
    of_slice = slice_bytes(sample.query, by_column(sample.types))
    return "" if of_slice is None else f", at most {of_slice.saved} bytes each"


def _bytes(number: float) -> str:
    """
    >>> _bytes(1234), _bytes(98_765_432), _bytes(3.2e9)
    ('1.2 kB', '99 MB', '3.2 GB')
    """
    for unit, step in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= step:
            return f"{number / step:.2g} {unit}" if number < 100 * step else f"{number / step:,.0f} {unit}"
    return f"{number:.0f} bytes"
